"""The path of an odometry, as a selection of its poses."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldplay.geometry.transforms import Array
from fieldplay.kinematics.computation import (
    Computation,
    Input,
    Output,
    OutputRecords,
    Setting,
)
from fieldplay.kinematics.pose_records import (
    Indices,
    PathGrowth,
    PathLimits,
    ThinnedPath,
    extend_path,
    odometry_of,
    paths_record,
)
from fieldplay.messages.records import Record


@dataclass(frozen=True, kw_only=True, eq=False)
class PathState:
    """The state of a path of poses in space.

    Args:
        path: the poses that are kept.
        stamp_ns: time of the last row.
        position: its position (3,).
    """

    path: ThinnedPath
    stamp_ns: int
    position: Array


def path_from_poses(
    limits: PathLimits, before: PathState | None, stamp_ns: Indices, poses: Array
) -> tuple[list[PathGrowth], PathState]:
    """Extend a path by poses.

    Args:
        limits: how dense it is.
        before: the path so far, or None.
        stamp_ns: times (n,), n > 0.
        poses: x, y, z and a quaternion x y z w (n, 7).

    Returns:
        The growth, and the new state.

    Raises:
        ValueError: a pose is not finite.
    """
    positions = poses[:, :3]
    if not np.isfinite(poses).all():
        raise ValueError(f"expected finite poses, got {poses[~np.isfinite(poses).all(axis=1)][0].tolist()}")
    earlier = positions[:1] if before is None else before.position[None]
    lengths = np.linalg.norm(np.diff(positions, axis=0, prepend=earlier), axis=1)
    path = None if before is None else before.path
    growths, path = extend_path(path, limits, stamp_ns=stamp_ns, poses=poses, lengths_m=lengths)
    return growths, PathState(path=path, stamp_ns=int(stamp_ns[-1]), position=positions[-1])


class OdometryPath(Computation):
    """The path of odometry, on path: as few poses as are needed to see it."""

    name = "odometry_path"
    is_stateful = True
    settings = (
        Setting("frame_prefix", "", "put before the name of each frame"),
        Setting("odometry", "odom", "the topic whose poses form the path"),
        Setting("path_step_m", 1.0, "distance between poses of the path, about"),
        Setting("path_poses", 1000, "and no more of them than this: then every other one goes"),
        Setting("frame", "odom", "frame of the odometry"),
    )

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self._limits = PathLimits(step_m=self.setting_values["path_step_m"], poses=self.setting_values["path_poses"])
        self._path = Output(topic="path", type="nav_msgs/msg/Path", frame=self.frame_of("frame"), latched=True)
        self.inputs = (Input(name="odometry", topic=self.setting_values["odometry"], msgtype="nav_msgs/msg/Odometry"),)
        self.outputs = (self._path,)
        self._state: PathState | None = None

    def step(self, name: str, record: Record) -> OutputRecords:
        odometry = odometry_of(record)
        poses = np.concatenate([odometry.position_m, odometry.orientation_xyzw], axis=1)
        self.follow(record.stamp_ns)
        growths, self._state = path_from_poses(self._limits, self._state, record.stamp_ns, poses)
        if growths:
            yield self._path, paths_record(growths)

    def reset(self) -> None:
        super().reset()
        self._state = None
