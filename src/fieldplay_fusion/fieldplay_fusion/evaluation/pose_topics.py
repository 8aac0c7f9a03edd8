"""Poses of topics as trajectories, with the frames that they are about."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fieldplay_fusion.evaluation.trajectories import Trajectory, trajectory_from_rows
from fieldplay_kinematics.geodesy import enu_from_geodetic
from fieldplay_messages.batches import Batch
from fieldplay_messages.cdr.columns import Columns, Decoder, decoded
from fieldplay_messages.stamps import NS_PER_S

PATH, FIX = "nav_msgs/msg/Path", "sensor_msgs/msg/NavSatFix"
NO_FIX = 0  # a status below it
FARTHEST_M = 1e8  # no robot goes there: what lies beyond is no position
UNKNOWN_VARIANCE = 1e5  # a rotation with more about all axes is not known
ROTATIONS = [21, 28, 35]  # their variances in a covariance of 6 x 6
RADIANS = np.array([np.pi / 180, np.pi / 180, 1.0])

Array = NDArray[np.float64]


@dataclass(frozen=True)
class _Places:
    """Where position, orientation and covariance stand in a message; empty where it has none."""

    position: str
    orientation: str = ""
    covariance: str = ""


TYPES: Mapping[str, _Places] = {
    "nav_msgs/msg/Odometry": _Places("pose.pose.position", "pose.pose.orientation", "pose.covariance"),
    "geometry_msgs/msg/PoseStamped": _Places("pose.position", "pose.orientation"),
    "geometry_msgs/msg/PoseWithCovarianceStamped": _Places(
        "pose.pose.position", "pose.pose.orientation", "pose.covariance"
    ),
    "geometry_msgs/msg/TransformStamped": _Places("transform.translation", "transform.rotation"),
    "geometry_msgs/msg/PointStamped": _Places("point"),
    FIX: _Places(""),
    PATH: _Places(""),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Way:
    """Where `child` was in `parent`, as a topic tells; a frame without a name is not known."""

    topic: str
    parent: str
    child: str
    trajectory: Trajectory


@dataclass(eq=False)
class PoseRows:
    """Takes the messages of a topic; rows are time, x y z and a quaternion, NaN or 0 where it is not told."""

    topic: str
    msgtype: str
    decoder: Decoder = field(init=False)
    rows: list[tuple[NDArray[np.int64], Array]] = field(default_factory=list)
    frames: tuple[str, str] = ("", "")
    origin: Array | None = None

    def __post_init__(self) -> None:
        self.decoder = Decoder(self.msgtype)

    def add(self, batch: Batch) -> None:
        """Further messages; of a Path, which tells all of it each time, the last is enough."""
        if self.msgtype == PATH:
            *_, (_, data) = batch.messages()
            self._take_path(data)
            return
        for columns in self.decoder.columns(batch.parts):
            rows = self._fixes(columns) if self.msgtype == FIX else poses_of_columns(columns, TYPES[self.msgtype])
            self.rows.append((columns.time_ns(), rows))
            child = columns.text("header.frame_id" if self.msgtype == FIX else "child_frame_id").lstrip("/")
            self.frames = "" if self.msgtype == FIX else columns.text("header.frame_id").lstrip("/"), child

    def way(self) -> Way:
        """All of it."""
        stamps = np.concatenate([np.zeros(0, np.int64), *(stamp_ns for stamp_ns, _ in self.rows)])
        rows = np.concatenate([np.zeros((0, 7)), *(values for _, values in self.rows)])
        trajectory = trajectory_from_rows(stamps, rows[:, :3], rows[:, 3:])
        return Way(topic=self.topic, parent=self.frames[0], child=self.frames[1], trajectory=trajectory)

    def _fixes(self, columns: Columns) -> Array:
        """East, north, up from the first fix."""
        geodetic = columns.numbers("latitude", "longitude", "altitude")
        geodetic[columns.rows["status.status"] < NO_FIX] = np.nan
        there = np.isfinite(geodetic).all(axis=1)
        rows = np.full((len(geodetic), 7), np.nan)
        if there.any():
            self.origin = geodetic[there][0] if self.origin is None else self.origin
            rows[there, :3] = enu_from_geodetic(geodetic[there] * RADIANS, self.origin * RADIANS)
        rows[:, 3:] = 0.0
        return rows

    def _take_path(self, data: NDArray[np.uint8]) -> None:
        message = decoded(PATH, data)
        if message is None:
            self.decoder.failed += 1
            return
        stamps = [pose.header.stamp.sec * NS_PER_S + pose.header.stamp.nanosec for pose in message.poses]
        places = [(pose.pose.position, pose.pose.orientation) for pose in message.poses]
        rows = [[at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w] for at, turn in places]
        self.rows = [(np.array(stamps, np.int64), np.array(rows, np.float64).reshape(-1, 7))]
        self.frames = str(message.header.frame_id).lstrip("/"), ""


def poses_of_columns(columns: Columns, places: _Places) -> Array:
    """Rows (n, 7) of x y z, NaN where that is none, and a quaternion, which is 0 where no rotation is known."""
    position = columns.axes(places.position)
    position[~(np.abs(position) < FARTHEST_M)] = np.nan
    quaternion = np.zeros((len(position), 4))
    if places.orientation:
        quaternion = columns.axes(places.orientation, "xyzw")
    if places.covariance:
        unknown = (columns.rows[places.covariance][:, ROTATIONS] >= UNKNOWN_VARIANCE).all(axis=1)
        quaternion[unknown] = 0.0
    return np.concatenate([position, quaternion], axis=1)
