"""Outputs of a pipeline as messages: poses, point clouds, images, maps, numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.geometry.axes import diagonal
from fieldplay.geometry.extrinsics import Edge
from fieldplay.geometry.transforms import quaternion_from_rotation, rotation_from_vector, transform_from_rotation
from fieldplay.kinematics.computation import ON_TF, TF
from fieldplay.kinematics.pose_records import with_floor
from fieldplay.kinematics.robots import UNKNOWN_VARIANCE
from fieldplay.messages import records
from fieldplay.messages.cdr_layout import layout_of
from fieldplay.messages.point_clouds import CLOUD, cloud_message
from fieldplay.messages.records import Record
from fieldplay.messages.stream_spec import StreamSpec
from fieldplay.streams.image_topics import image_message
from fieldplay.streams.message_block import RawMessage
from fieldplay.streams.topic_stream import message_bytes
from fieldplay.trajectories.trajectory import Trajectory
from fieldplay_cdff.pipeline.pipeline_graph import PosedBody
from fieldplay_cdff.steps.values import (
    Cloud,
    ElevationGrid,
    Frame,
    PoseEstimate,
    State,
)

ODOMETRY, POSES, IMAGE = "nav_msgs/msg/Odometry", "geometry_msgs/msg/PoseArray", "sensor_msgs/msg/Image"
NUMBER, TRUTH, METADATA = "std_msgs/msg/Float64", "std_msgs/msg/Bool", "nav_msgs/msg/MapMetaData"
PATH_TYPE = "nav_msgs/msg/Path"
CLOSURES = "closures"  # next to the keyframes of a map: two poses of each loop closure
TYPES = {  # of messages, by those of ports
    "Pose": ODOMETRY, "TransformWithCovariance": ODOMETRY, "RigidBodyState": ODOMETRY, "PosesSequence": POSES,
    "Pointcloud": CLOUD, "Frame": IMAGE, "Map": IMAGE, "bool": TRUTH, "float": NUMBER, "double": NUMBER,
    "Trajectory": PATH_TYPE, "KeyframeMap": POSES,
}  # fmt: skip
NAMES = {"pointCloud": "cloud", "pointcloud": "cloud", "outputPointCloud": "cloud", "estimatedPose": "pose"}
STATIC = "/tf_static"
UNKNOWN = np.full(6, UNKNOWN_VARIANCE)
VARIANCE = np.full(6, 1e-2)  # of a pose whose step reports no covariance: a decimetre, some degrees


@dataclass(frozen=True, kw_only=True)
class OutTopics:
    """Topics and frames of a pipeline's outputs: `ports` are types by name, for those that have a message type.

    Poses are those of the camera in `scene`; on tf it has a frame of its own below the scene, for the camera's has a
    parent already.
    """

    ports: Mapping[str, str]
    prefix: str  # prefix of the topic names
    scene: str
    tf: bool = True
    bodies: Mapping[str, PosedBody] = field(default_factory=dict)  # whose poses ports are, where not the camera's

    @property
    def moving(self) -> str:
        return self.scene.rpartition("/")[0] + "/camera"

    def topics(self) -> dict[str, str]:
        """Types of messages by topic."""
        topics = {self.topic(port): TYPES[kind] for port, kind in self.ports.items() if kind in TYPES}
        topics |= {f"{self.topic(port)}_metadata": METADATA for port, kind in self.ports.items() if kind == "Map"}
        topics |= {self._closures(port): POSES for port, kind in self.ports.items() if kind == "KeyframeMap"}
        has_pose = ODOMETRY in topics.values()
        return {**topics, TF: ON_TF.type} if self.tf and has_pose else topics

    def topic(self, port: str) -> str:
        """Return the topic of a port."""
        return f"{self.prefix}/{NAMES.get(port, port)}"

    def _closures(self, port: str) -> str:
        return f"{self.topic(port).rpartition('/')[0]}/{CLOSURES}"

    def messages(self, port: str, value: Any, stamp_ns: int, camera: str = "") -> list[RawMessage]:
        """Convert a value to messages, `camera` being the frame of the images; empty if no message type holds it."""
        kind = self.ports.get(port, "")
        if kind not in TYPES:
            return []
        topic = self.topic(port)
        if kind == "Pointcloud":
            return [RawMessage(topic, stamp_ns, cloud_bytes(value, stamp_ns, self.scene))]
        if kind == "Frame":
            return [RawMessage(topic, stamp_ns, b"".join(image_message(_pixels(value), stamp_ns, camera)))]
        if kind == "Map":
            return [
                RawMessage(topic, stamp_ns, b"".join(image_message(_heights(value), stamp_ns, self.scene))),
                RawMessage(f"{topic}_metadata", stamp_ns, metadata_bytes(value, stamp_ns)),
            ]
        if kind == "KeyframeMap":
            both = ((topic, value.poses), (self._closures(port), value.closure_poses()))
            spec = StreamSpec(id=port, topic=topic, type=POSES, frame=self.scene)
            return [RawMessage(at, stamp_ns, data) for at, poses in both
                    for data in message_bytes(_poses(poses, stamp_ns), spec)]  # fmt: skip
        record = RECORDS[kind](value, stamp_ns)
        frame, child, on_tf = self._frames(port, camera)
        spec = StreamSpec(id=port, topic=topic, type=TYPES[kind], frame=frame, child_frame=child)
        messages = [RawMessage(topic, stamp_ns, data) for data in message_bytes(record, spec)]
        if self.tf and isinstance(record, records.Odometry):
            messages += [RawMessage(TF, stamp_ns, data) for data in message_bytes(_edge(record, frame, on_tf), ON_TF)]
        return messages

    def _frames(self, port: str, camera: str) -> tuple[str, str, str]:
        """The frame of a pose, what it is the pose of, and what that is called on tf."""
        body = self.bodies.get(port)
        if body is None:
            return self.scene, camera or self.moving, self.moving
        child = f"{self.scene.rpartition('/')[0]}/{body.name}"
        return camera if body.is_in_camera and camera else self.scene, child, child


def _edge(record: records.Odometry, parent: str, child: str) -> records.Transforms:
    return transforms(parent, child, record.position_m, record.orientation_xyzw, record.stamp_ns)


def static_messages(edges: Sequence[Edge], stamp_ns: int) -> list[RawMessage]:
    """Transforms that do not move, for /tf_static."""
    messages = []
    for edge in edges:
        turn = quaternion_from_rotation(edge.parent_t_child[None, :3, :3])
        at_ns = np.array([stamp_ns], np.int64)
        record = transforms(edge.parent, edge.child, edge.parent_t_child[None, :3, 3], turn, at_ns)
        messages += [RawMessage(STATIC, stamp_ns, data) for data in message_bytes(record, ON_TF)]
    return messages


def transforms(
    parent: str, child: str, position_m: NDArray[np.float64], xyzw: NDArray[np.float64], stamp_ns: NDArray[np.int64]
) -> records.Transforms:
    """One frame in another (n,)."""
    return records.Transforms(
        stamp_ns=stamp_ns, parents=(parent,), children=(child,),
        translation_m=position_m[:, None], rotation_xyzw=xyzw[:, None],
    )  # fmt: skip


def cloud_bytes(cloud: Cloud, stamp_ns: int, frame: str) -> bytes:
    """A dense sensor_msgs/PointCloud2 of a cloud."""
    good = np.asarray(np.isfinite(cloud.points).all(axis=1))
    cloud = cloud if good.all() else cloud.subset(good)
    fields = [(axis, "<f4") for axis in "xyz"]
    fields += [("intensity", "<f4")] if cloud.intensity is not None else []
    fields += [("rgb", "<u4")] if cloud.colors is not None else []
    rows = np.zeros(len(cloud), np.dtype(fields))
    for axis, column in zip("xyz", cloud.points.T, strict=True):
        rows[axis] = column
    if cloud.intensity is not None:
        rows["intensity"] = cloud.intensity
    if cloud.colors is not None:
        red, green, blue = cloud.colors.T.astype(np.uint32)
        rows["rgb"] = red << 16 | green << 8 | blue
    return b"".join(bytes(block) for block in cloud_message(rows, stamp_ns, frame))


def _times(stamp_ns: int) -> dict[str, NDArray[np.int64]]:
    return {"stamp_ns": np.array([stamp_ns], np.int64)}


def _odometry(pose: NDArray[np.float64], stamp_ns: int, covariance: NDArray[np.float64] | None = None) -> Record:
    known = diagonal(VARIANCE) if covariance is None else with_floor(covariance)
    return records.Odometry(
        **_times(stamp_ns),
        position_m=pose[None, :3, 3],
        orientation_xyzw=quaternion_from_rotation(pose[None, :3, :3]),
        pose_covariance=known.reshape(1, 6, 6),
        linear_velocity_m_s=np.zeros((1, 3)),
        angular_velocity_rad_s=np.zeros((1, 3)),
        twist_covariance=diagonal(UNKNOWN).reshape(1, 6, 6),
    )


def _estimate(value: PoseEstimate, stamp_ns: int) -> Record:
    return _odometry(value.pose, stamp_ns, value.covariance)


def _state(value: State, stamp_ns: int) -> Record:
    pose = transform_from_rotation(rotation_from_vector(value.values[:3]), value.values[3:6])
    order = [3, 4, 5, 0, 1, 2]
    known = value.covariance[:6, :6][np.ix_(order, order)]
    odometry = _odometry(pose, stamp_ns, known if known.any() else None)
    assert isinstance(odometry, records.Odometry)
    odometry.angular_velocity_rad_s[0], odometry.linear_velocity_m_s[0] = value.values[6:9], value.values[9:]
    of_twist = value.covariance[6:, 6:][np.ix_(order, order)]
    if of_twist.any():
        odometry.twist_covariance[0] = of_twist
    return odometry


def _poses(value: NDArray[np.float64], stamp_ns: int) -> Record:
    turns = quaternion_from_rotation(value[:, :3, :3])
    return records.Poses(**_times(stamp_ns), position_m=value[None, :, :3, 3], orientation_xyzw=turns[None])


def _path(value: Trajectory, stamp_ns: int) -> Record:
    turns = quaternion_from_rotation(value.poses[:, :3, :3])
    path = records.Pose(
        stamp_ns=value.stamp_ns, position_m=value.positions_m, orientation_xyzw=turns,
        covariance=np.zeros((len(value), 6, 6)),
    )  # fmt: skip
    count = np.array([len(value)])
    return records.Paths(**_times(stamp_ns), paths=(path,), path_index=np.zeros(1, np.int64), count=count)


def _heights(grid: ElevationGrid) -> records.Pixels:
    """Mean heights in m, the lowest y in the first row; NaN for empty cells."""
    return _pixels(Frame(image=grid.mean.astype(np.float32), encoding="32FC1"))


def metadata_bytes(grid: ElevationGrid, stamp_ns: int) -> bytes:
    """The geometry of a grid: the corner of its first cell, the grid's size and the cell size."""
    data, rows = layout_of(METADATA, {}).rows(1)
    rows["map_load_time.sec"], rows["map_load_time.nanosec"] = divmod(stamp_ns, NS_PER_S)
    rows["height"], rows["width"] = grid.mean.shape
    rows["resolution"], rows["origin.orientation.w"] = grid.resolution_m, 1.0
    rows["origin.position.x"], rows["origin.position.y"] = grid.x_m, grid.y_m
    return data.tobytes()


def _pixels(value: Frame) -> records.Pixels:
    height, width = value.image.shape[:2]
    data = np.ascontiguousarray(value.image)
    step = data.nbytes // height
    return records.Pixels(height=height, width=width, encoding=value.encoding, step=step, data=data.tobytes())


def _truth(value: bool, stamp_ns: int) -> Record:
    return records.Integers(**_times(stamp_ns), values=np.array([int(value)]))


def _number(value: float, stamp_ns: int) -> Record:
    return records.Scalars(**_times(stamp_ns), values=np.array([float(value)]))


RECORDS: Mapping[str, Callable[[Any, int], Record]] = {
    "Pose": _odometry, "TransformWithCovariance": _estimate, "RigidBodyState": _state, "PosesSequence": _poses,
    "bool": _truth, "float": _number, "double": _number, "Trajectory": _path,
}  # fmt: skip
