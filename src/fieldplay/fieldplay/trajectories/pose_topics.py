"""Poses of topics as trajectories, with the frames that they are about."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.geodesy import enu_from_geodetic
from fieldplay.messages.records import (
    Fix,
    Odometry,
    Paths,
    Pose,
    Record,
)
from fieldplay.trajectories.trajectory import Trajectory, trajectory_from_rows

PATH, FIX = "nav_msgs/msg/Path", "sensor_msgs/msg/NavSatFix"
NO_FIX = 0  # a status below it
FARTHEST_M = 1e8  # no robot goes there: what lies beyond is no position
UNKNOWN_VARIANCE = 1e5  # a rotation with more about all axes is not known
POSITIONS = [0, 7, 14]  # variances of the position in a covariance of 6 x 6
ROTATIONS = [21, 28, 35]  # their variances in a covariance of 6 x 6
RADIANS = np.array([np.pi / 180, np.pi / 180, 1.0])

Array = NDArray[np.float64]


TYPES = (
    "nav_msgs/msg/Odometry",
    "geometry_msgs/msg/PoseStamped",
    "geometry_msgs/msg/PoseWithCovarianceStamped",
    "geometry_msgs/msg/TransformStamped",
    "geometry_msgs/msg/PointStamped",
    FIX,
    PATH,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class TopicTrajectory:
    """A trajectory that a topic published.

    Args:
        topic: its name.
        parent: the frame of reference; empty where it is not known.
        child: the frame that moves; empty where it is not known.
        trajectory: the poses.
    """

    topic: str
    parent: str
    child: str
    trajectory: Trajectory


@dataclass(eq=False)
class PoseRows:
    """Collects the poses of a topic.

    Args:
        topic: its name.
        rows: times (n,), x y z and a quaternion (n, 7), NaN or 0 where unknown, and standard deviations (n,), by
            record.
        frames: parent and child.
        origin: latitude, longitude in degrees and altitude in m (3,) of the first satellite fix, the origin of its ENU.
    """

    topic: str
    rows: list[tuple[NDArray[np.int64], Array, Array]] = field(default_factory=list)
    frames: tuple[str, str] = ("", "")
    origin: Array | None = None

    def add(self, record: Record, frame: str, child_frame: str) -> None:
        """Add rows.

        Each path is complete, so the newest replaces the others; a satellite fix gives positions of its own frame.

        Args:
            record: of Odometry, Pose, Paths or Fix; others are ignored.
            frame: the frame of the messages.
            child_frame: their child frame.
        """
        frame, child_frame = frame.lstrip("/"), child_frame.lstrip("/")
        if isinstance(record, Paths):
            path = record.last()
            poses = np.concatenate([path.position_m, path.orientation_xyzw], axis=1)
            self.rows = [(path.stamp_ns, poses, np.full(len(poses), np.nan))]
            self.frames = frame, ""
        elif isinstance(record, Fix):
            self.rows.append((record.stamp_ns, self._fixes(record), position_std_of_record(record)))
            self.frames = "", frame
        elif isinstance(record, Odometry | Pose):
            self.rows.append((record.stamp_ns, poses_of_record(record), position_std_of_record(record)))
            self.frames = frame, child_frame

    def trajectory(self) -> TopicTrajectory:
        """Make a trajectory of all rows.

        Returns:
            The trajectory with its frames.
        """
        stamps = np.concatenate([np.zeros(0, np.int64), *(stamp_ns for stamp_ns, _, _ in self.rows)])
        rows = np.concatenate([np.zeros((0, 7)), *(values for _, values, _ in self.rows)])
        std_m = np.concatenate([np.zeros(0), *(std_m for _, _, std_m in self.rows)])
        trajectory = trajectory_from_rows(stamps, rows[:, :3], rows[:, 3:], std_m=std_m)
        return TopicTrajectory(topic=self.topic, parent=self.frames[0], child=self.frames[1], trajectory=trajectory)

    def _fixes(self, record: Fix) -> Array:
        """East, north, up from the first fix."""
        geodetic = np.stack([record.latitude_deg, record.longitude_deg, record.altitude_m], axis=-1)
        geodetic[record.status < NO_FIX] = np.nan
        positions, self.origin = enu_of_fixes(geodetic, self.origin)
        return np.concatenate([positions, np.zeros((len(positions), 4))], axis=1)


def enu_of_fixes(geodetic: Array, origin: Array | None) -> tuple[Array, Array | None]:
    """Convert satellite fixes to positions about an origin, the first fix where there is none yet.

    Args:
        geodetic: latitude, longitude in degrees and altitude in m (n, 3), NaN where there is no fix.
        origin: that of earlier fixes (3,), or None.

    Returns:
        East, north, up in m (n, 3), NaN where there is no fix; and the origin.
    """
    there = np.isfinite(geodetic).all(axis=1)
    positions = np.full((len(geodetic), 3), np.nan)
    if there.any():
        origin = geodetic[there][0] if origin is None else origin
        positions[there] = enu_from_geodetic(geodetic[there] * RADIANS, origin * RADIANS)
    return positions, origin


def poses_of_record(record: Odometry | Pose) -> Array:
    """Convert odometry or poses to rows.

    Args:
        record: n rows.

    Returns:
        x y z and a quaternion (n, 7): NaN for impossible positions, a quaternion of 0 where the covariance says that
        the rotation is unknown.
    """
    position, quaternion = record.position_m.copy(), record.orientation_xyzw.copy()
    position[~(np.abs(position) < FARTHEST_M)] = np.nan
    covariance = record.pose_covariance if isinstance(record, Odometry) else record.covariance
    if covariance is not None:
        flat = covariance.reshape(-1, 36)
        quaternion[(flat[:, ROTATIONS] >= UNKNOWN_VARIANCE).all(axis=1)] = 0.0
    return np.concatenate([position, quaternion], axis=1)


def position_std_of_record(record: Odometry | Pose | Fix) -> Array:
    """Compute the reported uncertainty of positions.

    Args:
        record: n rows.

    Returns:
        Standard deviations (n,) in m along the worst axis; NaN where none is reported.
    """
    if isinstance(record, Fix):
        covariance, indices = record.covariance_m2, [0, 4, 8]
    else:
        covariance = record.pose_covariance if isinstance(record, Odometry) else record.covariance
        indices = POSITIONS
    if covariance is None:
        return np.full(len(record), np.nan)
    variances = covariance.reshape(len(record), -1)[:, indices]
    is_known = (variances >= 0).all(axis=1) & (variances > 0).any(axis=1) & (variances < UNKNOWN_VARIANCE).all(axis=1)
    return np.where(is_known, np.sqrt(np.maximum(variances.max(axis=1), 0.0)), np.nan)
