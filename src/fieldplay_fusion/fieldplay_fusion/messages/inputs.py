"""Messages as values of ports: pictures with their cameras, clouds, poses, numbers."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay_fusion.dfn.values import Cloud, Frame, State, Wrench
from fieldplay_fusion.projection.cameras import CameraModel
from fieldplay_kinematics.transforms import rotation_from_quaternion, transform_from_rotation
from fieldplay_messages import records
from fieldplay_messages.cdr.picture_pixels import SHAPES, decoded, pixels_from_image
from fieldplay_messages.errors import ArchiveError
from fieldplay_messages.records import Record
from fieldplay_messages.spec import Camera

IMAGE, COMPRESSED, INFO = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage", "sensor_msgs/msg/CameraInfo"
CLOUD, ODOMETRY, POSE = "sensor_msgs/msg/PointCloud2", "nav_msgs/msg/Odometry", "geometry_msgs/msg/PoseStamped"
WRENCH, NUMBER, TRUTH = "geometry_msgs/msg/WrenchStamped", "std_msgs/msg/Float64", "std_msgs/msg/Bool"
FURTHEST_M = 1e4  # a point that is further is none
SAME = 1e-6  # by which a matrix may differ from the identity
PLAIN = {"mono8", "mono16", "16UC1", "16SC1", "32FC1", "8UC1"}


def frame_of_picture(record: Record, camera: "StereoCamera | None" = None) -> Frame:
    """The first row of pictures as a frame, rectified where its camera belongs to a pair that is not yet."""
    if not isinstance(record, records.Pictures):
        raise ArchiveError(f"expected pictures, got {type(record).__name__}")
    data = record.load(0)
    image, encoding = _pixels(data)
    frame = Frame(image=image, encoding=encoding, stamp_ns=int(record.stamp_ns[0]))
    return frame if camera is None else camera.seen(frame)


def _pixels(data: "bytes | records.Pixels") -> tuple[NDArray[Any], str]:
    if isinstance(data, records.Pixels):
        if data.encoding in PLAIN and not data.is_bigendian:
            kind = np.dtype(SHAPES[data.encoding][0])
            rows = np.frombuffer(data.data, np.uint8)
            if len(rows) >= data.step * data.height > 0 and data.step >= data.width * kind.itemsize:
                rows = rows[: data.step * data.height].reshape(data.height, data.step)
                return np.ascontiguousarray(rows[:, : data.width * kind.itemsize]).view(kind), data.encoding
        return pixels_from_image(data), "bgr8"
    found = decoded(data)
    if found is None:
        raise ArchiveError(f"its {len(data)} bytes do not decode as a picture")
    if found.ndim == 2:
        return found, "mono8" if found.dtype == np.uint8 else "16UC1"
    return np.ascontiguousarray(found[:, :, :3]), "bgr8"


class StereoCamera:
    """What a CameraInfo says of one camera, and pictures of it as a rectified pair has them."""

    def __init__(self, info: Camera) -> None:
        self.info = info
        matrix = np.array([[info.fx, 0, info.cx], [0, info.fy, info.cy], [0, 0, 1.0]])
        if not (info.fx > 0 and info.fy > 0) or np.array_equal(matrix, np.eye(3)):
            raise ArchiveError(f"expected a camera matrix with focal lengths in pixels, got K = {matrix.tolist()}")
        self._matrix = matrix
        turn = np.array(info.rectification or np.eye(3).reshape(-1)).reshape(3, 3)
        projection = np.array(info.projection or np.zeros(12)).reshape(3, 4)
        if not projection[0, 0]:
            projection = np.hstack([matrix, np.zeros((3, 1))])
        self._turn, self._projection = turn, projection
        self.baseline_m = -float(projection[0, 3] / projection[0, 0])
        self._bends = bool(np.nan_to_num(np.array(info.distortion, float)).any())
        is_turned = np.abs(turn - np.eye(3)).max() > SAME and turn.any()
        self.turn: NDArray[np.float64] | None = turn if is_turned else None  # the camera in its rectified self
        is_other = np.abs(projection[:, :3] - matrix).max() > SAME
        self.rectifies = bool(self._bends or is_turned or is_other)
        self.camera = CameraModel(
            matrix=projection[:, :3].copy(), distortion=np.zeros(0), model="", width=info.width, height=info.height
        )

    @cached_property
    def _maps(self) -> tuple[NDArray[Any], NDArray[Any]]:
        size = (self.info.width, self.info.height)
        bends = np.array(self.info.distortion, float)
        turn, target = self._turn, self._projection[:, :3]
        if self.info.distortion_model in ("equidistant", "fisheye"):
            return cv2.fisheye.initUndistortRectifyMap(self._matrix, bends, turn, target, size, cv2.CV_16SC2)
        return cv2.initUndistortRectifyMap(self._matrix, bends, turn, target, size, cv2.CV_16SC2)

    def seen(self, frame: Frame) -> Frame:
        """The frame with its camera, rectified if it is not."""
        height, width = frame.image.shape[:2]
        if (width, height) != (self.info.width, self.info.height):
            expected = f"{self.info.width} x {self.info.height}"
            raise ArchiveError(f"its CameraInfo is of pictures of {expected}, this one has {width} x {height} pixels")
        image = cv2.remap(frame.image, *self._maps, cv2.INTER_LINEAR) if self.rectifies else frame.image
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
    "Frame": ((IMAGE, COMPRESSED), frame_of_picture),
    "Pointcloud": ((CLOUD,), cloud_of_record),
    "Pose": ((POSE, ODOMETRY), _pose_of_record),
    "RigidBodyState": ((ODOMETRY,), _state_of_record),
    "Wrench": ((WRENCH,), _wrench_of_record),
    "float": ((NUMBER,), _number_of_record),
    "bool": ((TRUTH,), _truth_of_record),
}
