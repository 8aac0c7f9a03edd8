"""Messages as values of ports: pictures with their cameras, clouds, poses, numbers."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.geometry.transforms import rotation_from_quaternion, transform_from_rotation
from fieldplay.messages import records
from fieldplay.messages.records import Record
from fieldplay.messages.rectification import Rectification, image_of_image
from fieldplay.messages.stream_spec import Camera
from fieldplay.projection.cameras import CameraModel
from fieldplay_cdff.steps.values import (
    Cloud,
    Frame,
    State,
    Wrench,
)

IMAGE, COMPRESSED, INFO = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage", "sensor_msgs/msg/CameraInfo"
CLOUD, ODOMETRY, POSE = "sensor_msgs/msg/PointCloud2", "nav_msgs/msg/Odometry", "geometry_msgs/msg/PoseStamped"
WRENCH, NUMBER, TRUTH = "geometry_msgs/msg/WrenchStamped", "std_msgs/msg/Float64", "std_msgs/msg/Bool"
FURTHEST_M = 1e4  # a point that is further is none


def frame_of_image(record: Record, camera: "StereoCamera | None" = None) -> Frame:
    """The first row of pictures as a frame, rectified where its camera belongs to a pair that is not yet."""
    if not isinstance(record, records.Pictures):
        raise ArchiveError(f"expected pictures, got {type(record).__name__}")
    data = record.load(0)
    image, encoding = image_of_image(data)
    frame = Frame(image=image, encoding=encoding, stamp_ns=int(record.stamp_ns[0]))
    return frame if camera is None else camera.seen(frame)


class StereoCamera:
    """What a CameraInfo says of one camera, and pictures of it as a rectified pair has them."""

    def __init__(self, info: Camera) -> None:
        self.info = info
        self._rectification = Rectification(info)
        projection = self._rectification.projection
        self.baseline_m = -float(projection[0, 3] / projection[0, 0])
        is_turned, turn = self._rectification.is_rotated, self._rectification.rotation
        self.turn: NDArray[np.float64] | None = turn if is_turned else None  # the camera in its rectified self
        self.rectifies = self._rectification.is_needed
        self.camera = CameraModel(
            matrix=projection[:, :3].copy(), distortion=np.zeros(0), model="", width=info.width, height=info.height
        )

    def seen(self, frame: Frame) -> Frame:
        """The frame with its camera, rectified if it is not."""
        image = self._rectification.image(frame.image)
        return replace(frame, image=image, camera=self.camera, baseline_m=self.baseline_m)


def cloud_of_record(record: Record) -> Cloud:
    """The first of clouds; points that are no numbers or too far are left out, ArchiveError where that are all."""
    if not isinstance(record, records.Clouds):
        raise ArchiveError(f"expected clouds, got {type(record).__name__}")
    rows = record.load(0)
    points = np.stack([rows[axis].astype(np.float64) for axis in "xyz"], axis=-1).reshape(-1, 3)
    good = np.isfinite(points).all(axis=1) & (np.abs(points) < FURTHEST_M).all(axis=1)
    if not good.any():
        raise ArchiveError(f"none of its {len(points)} points has numbers within {FURTHEST_M:g} m")
    names = rows.dtype.names or ()
    intensity = rows["intensity"].astype(np.float32)[good] if "intensity" in names else None
    return Cloud(points=points[good], intensity=intensity, stamp_ns=int(record.stamp_ns[0]))


def _pose_of_record(record: Record) -> NDArray[np.float64]:
    if not isinstance(record, records.Odometry | records.Pose):
        raise ArchiveError(f"expected poses, got {type(record).__name__}")
    position, quaternion = record.position_m[0], record.orientation_xyzw[0]
    if not np.isfinite(position).all() or not np.linalg.norm(quaternion) > 0:  # which NaN is not
        raise ArchiveError(f"expected a pose, got the position {position.tolist()} and turn {quaternion.tolist()}")
    return transform_from_rotation(rotation_from_quaternion(quaternion), position)


def _state_of_record(record: Record) -> State:
    if not isinstance(record, records.Odometry):
        raise ArchiveError(f"expected odometry, got {type(record).__name__}")
    pose = _pose_of_record(record)
    turn = cv2.Rodrigues(pose[:3, :3])[0].reshape(3)
    values = np.concatenate([turn, pose[:3, 3], record.angular_velocity_rad_s[0], record.linear_velocity_m_s[0]])
    order = [3, 4, 5, 0, 1, 2]
    covariance = np.zeros((12, 12))
    covariance[:6, :6] = record.pose_covariance[0].reshape(6, 6)[np.ix_(order, order)]
    covariance[6:, 6:] = record.twist_covariance[0].reshape(6, 6)[np.ix_(order, order)]
    return State(values=values, covariance=covariance, stamp_ns=int(record.stamp_ns[0]))


def _wrench_of_record(record: Record) -> Wrench:
    if not isinstance(record, records.Wrench):
        raise ArchiveError(f"expected forces, got {type(record).__name__}")
    force, torque = record.force_n[0], record.torque_nm[0]
    if not np.isfinite([force, torque]).all():
        raise ArchiveError(f"expected forces and torques, got {force.tolist()} and {torque.tolist()}")
    return Wrench(force=force, torque=torque, stamp_ns=int(record.stamp_ns[0]))


def _number_of_record(record: Record) -> float:
    if not isinstance(record, records.Scalars):
        raise ArchiveError(f"expected numbers, got {type(record).__name__}")
    value = float(record.values[0])
    if not np.isfinite(value):
        raise ArchiveError(f"expected a number, got {value}")
    return value


def _truth_of_record(record: Record) -> bool:
    if not isinstance(record, records.Integers):
        raise ArchiveError(f"expected true or false, got {type(record).__name__}")
    return bool(record.values[0])


VALUES: Mapping[str, tuple[tuple[str, ...], Callable[[Record], Any]]] = {  # of a port's type: messages that fit
    "Frame": ((IMAGE, COMPRESSED), frame_of_image),
    "Pointcloud": ((CLOUD,), cloud_of_record),
    "Pose": ((POSE, ODOMETRY), _pose_of_record),
    "RigidBodyState": ((ODOMETRY,), _state_of_record),
    "Wrench": ((WRENCH,), _wrench_of_record),
    "float": ((NUMBER,), _number_of_record),
    "bool": ((TRUTH,), _truth_of_record),
}
