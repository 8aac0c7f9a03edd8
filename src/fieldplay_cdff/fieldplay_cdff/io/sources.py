"""Inputs of a pipeline: topics, the cameras of their images, and the conversion of messages to port values."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.geometry.camera_model import CameraModel
from fieldplay.geometry.extrinsics import Edge
from fieldplay.geometry.transforms import rotation_from_quaternion, transform_from_rotation
from fieldplay.messages import records
from fieldplay.messages.codec import FramedRecord
from fieldplay.messages.message_batches import Part
from fieldplay.messages.record_decoder import RecordDecoder
from fieldplay.messages.records import CameraInfos, Clouds, Record
from fieldplay.messages.rectification import RECTIFIED, Rectification, array_and_encoding, camera_of_images
from fieldplay_cdff.steps.values import (
    Array,
    Cloud,
    Frame,
    State,
    Wrench,
)
from fieldplay_cdff.stereo.refusals import Reason

DARK, SPREAD = 3.0, 1.5  # grey values of a dark image: the mean, and the standard deviation
MAX_PX = 1.0  # by which lines of a rectified pair may differ
REFUSED_PX = 3.0  # with which no point of one line is found in the other
FEATURES, MIN_FEATURES = 800, 30
DARK_IMAGE, DAMAGED = str(Reason.DARK), str(Reason.DAMAGED)
LOOKS = 3  # pairs that may show too little
IMAGE, COMPRESSED, INFO = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage", "sensor_msgs/msg/CameraInfo"
CLOUD, ODOMETRY, POSE = "sensor_msgs/msg/PointCloud2", "nav_msgs/msg/Odometry", "geometry_msgs/msg/PoseStamped"
WRENCH, NUMBER, TRUTH = "geometry_msgs/msg/WrenchStamped", "std_msgs/msg/Float64", "std_msgs/msg/Bool"
FURTHEST_M = 1e4  # a point that is further is none
FRAME = "Frame"
SIDES = ("left", "right")
LONGEST_BASELINE_M = 5.0  # that a robot may have


# Issues of stereo images that can be detected from the images alone.


class UnusableInputError(ArchiveError):
    """An input that the steps cannot use, and why in a word, for counts."""

    def __init__(self, text: str, *, reason: str) -> None:
        super().__init__(text)
        self.reason = reason


def reason_of(error: ArchiveError) -> str:
    """Return the reason why an input is refused, in a word."""
    return error.reason if isinstance(error, UnusableInputError) else DAMAGED


class StereoIssues:
    """Rejects images without texture, and measures once whether a pair is rectified."""

    def __init__(self) -> None:
        self.issue: Reason | None = None  # that makes the pairs unusable
        self._last: dict[str, Frame] = {}
        self._left = LOOKS

    def require_light(self, frame: Frame) -> None:
        """Raise ArchiveError if an image is black or has a uniform grey value."""
        small = frame.image[::8, ::8]
        if small.dtype == np.uint8 and (small.mean() < DARK or small.std() < SPREAD):
            message = f"nothing is to be seen in it: grey values {small.mean():.1f} +- {small.std():.1f}"
            raise UnusableInputError(message, reason=DARK_IMAGE)

    def add(self, port: str, frame: Frame) -> str:
        """Return a warning once both images of a pair have arrived; "" where there is none."""
        if not self._left:
            return ""
        self._last[port] = frame
        pair = [self._last.get(name) for name in sorted(self._last) if name.lower().startswith(("left", "right"))]
        if len(pair) != 2 or pair[0] is None or pair[1] is None or pair[0].stamp_ns != pair[1].stamp_ns:
            return ""
        self._left -= 1
        shifts = feature_shifts(pair[0], pair[1])
        if len(shifts) < MIN_FEATURES:
            if self._left:
                return ""
            return f"left and right show little of the same: {len(shifts)} features of pair {LOOKS} are in both"
        self._left = 0
        aside, middle = float(np.median(shifts[:, 0])), float(np.median(np.abs(shifts[:, 1])))
        basis = f"(the middle of {len(shifts)} features; expected"
        if aside > MAX_PX:
            self.issue = Reason.SWAPPED
            return (
                f"left and right may be swapped: features lie {aside:.1f} px further right in the right one {basis} 0)"
            )
        if middle <= MAX_PX:
            return ""
        self.issue = Reason.UNRECTIFIED if middle > REFUSED_PX else None
        return (
            f"the pair is not rectified: left and right differ by {middle:.1f} px from line to line {basis} "
            f"{MAX_PX:g} at most)"
        )


def feature_shifts(left: Frame, right: Frame) -> Array:
    """Return the offset of features in the right image from the left one, to the right and down (n, 2), in px."""
    finder = cv2.ORB.create(FEATURES)
    points, descriptors = zip(*(finder.detectAndCompute(_grey(frame), None) for frame in (left, right)), strict=True)
    if any(each is None for each in descriptors):
        return np.zeros((0, 2))
    matches = cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True).match(*descriptors)
    good = [match for match in matches if match.distance < 40]
    shifts = [np.subtract(points[1][m.trainIdx].pt, points[0][m.queryIdx].pt) for m in good]
    return np.array(shifts, np.float64).reshape(-1, 2)


def _grey(frame: Frame) -> NDArray[Any]:
    image: NDArray[Any] = frame.image
    if image.ndim == 3:
        image = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY if frame.encoding == "rgb8" else cv2.COLOR_BGR2GRAY)
    if image.dtype != np.uint8:
        image = np.clip(image.astype(np.float64) * (255.0 / max(float(np.nanmax(image)), 1.0)), 0, 255).astype(np.uint8)
    return image


# Messages as port values: images with their cameras, point clouds, poses, numbers.


def frame_of_image(record: Record, camera: Rectification | None = None) -> Frame:
    """Return the first of the images as a frame, rectified if its camera belongs to an unrectified pair."""
    if not isinstance(record, records.Images):
        raise ArchiveError(f"expected images, got {type(record).__name__}")
    data = record.load(0)
    image, encoding = array_and_encoding(data)
    frame = Frame(image=image, encoding=encoding, stamp_ns=int(record.stamp_ns[0]))
    if camera is None:
        return frame
    model = camera.rectified
    return replace(frame, image=camera.image(image), camera=model, baseline_m=model.baseline_m)


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


@dataclass(frozen=True, kw_only=True)
class PortSource:
    """An input of a type, its topic, and the CameraInfo topic of an image topic; "" if there is none."""

    port: str
    kind: str
    topic: str
    msgtype: str
    info: str = ""

    @property
    def side(self) -> str:
        """Return the side of a pair that the camera is; "" if it is none."""
        if self.kind != FRAME:
            return ""
        name = self.port.lower()
        return next((side for side in SIDES if name.startswith(side) or name.endswith(side)), "")


class PortRecord(NamedTuple):
    """A message for a port, whose value is not looked at yet; the stamp of its header, else when it was logged."""

    source: PortSource
    record: Record
    stamp_ns: int


class EveryNth:
    """Selects every n-th set of inputs, where the images of a set arrive one after the other."""

    def __init__(self, every: int) -> None:
        self._every, self._number, self._seen = every, -1, set[str]()

    def takes(self, port: str) -> bool:
        """Whether the next of a port belongs to a set that is taken."""
        if not self._seen or port in self._seen:
            self._number, self._seen = self._number + 1, set()
        self._seen.add(port)
        return self._number % self._every == 0


class PortReader:
    """Converts messages to port values; images once their cameras are known."""

    def __init__(self, sources: Sequence[PortSource], every: int = 1) -> None:
        self.sources = {source.topic: source for source in sources}
        self.cameras: dict[str, Rectification] = {}
        self.notes: list[str] = []  # properties found in the images
        self.points_lost = Counter[str]()  # of point clouds, by topic: NaN, or too far away
        self.camera_frame = ""  # of the images of the first port, after rectification
        self.refuses_issues = False  # whether pairs that are swapped or not rectified are refused, not just reported
        self.edges: list[Edge] = []  # from the camera to its rectified frame, where the orientation differs
        self._nth, self._stereo = EveryNth(every), StereoIssues()
        self._decoders: dict[str, RecordDecoder] = {}

    def add_camera_info(self, source: PortSource, data: bytes, log_ns: int) -> None:
        """Add a CameraInfo; raise ArchiveError if it is invalid."""
        framed = self._record_with_frame(INFO, data, log_ns)
        if framed is None or not isinstance(framed.record, CameraInfos):
            raise ArchiveError(f"{source.info}: its bytes cannot be read as {INFO}")
        try:
            camera = Rectification(camera_of_images(source.topic, framed.record.camera))
            camera.rectified.require_projection()
        except (ArchiveError, ValueError) as error:
            raise ArchiveError(f"{source.info}: {error}") from None
        self.cameras[source.port] = camera

    @property
    def awaited(self) -> list[PortSource]:
        """Sources whose cameras are not known yet."""
        return [each for each in self.sources.values() if each.info and each.port not in self.cameras]

    def require_stereo(self) -> None:
        """ArchiveError where left and right are no rectified pair: no camera, other sizes, no baseline."""
        sides = {source.side: source for source in self.sources.values() if source.side}
        if len(sides) < len(SIDES):
            return
        for side, source in sides.items():
            if source.port not in self.cameras:
                raise ArchiveError(f"{source.topic}: expected the CameraInfo of the {side} camera, got none")
        left, right = (self.cameras[sides[side].port] for side in SIDES)
        names = [sides[side].info for side in SIDES]
        sizes = [(each.camera.width, each.camera.height) for each in (left, right)]
        if sizes[0] != sizes[1]:
            text = " and ".join(
                f"{name} {width} x {height}" for name, (width, height) in zip(names, sizes, strict=True)
            )
            raise ArchiveError(f"expected images of one size, got {text}")
        if not right.rectified.baseline_m > 0:
            raise ArchiveError(
                f"{names[1]}: expected P[3] = -fx * baseline below 0 of the right camera of a rectified pair, "
                f"got a baseline of {right.rectified.baseline_m + 0.0:g} m"
            )
        if right.rectified.baseline_m > LONGEST_BASELINE_M:
            self.notes.append(
                f"{names[1]}: a baseline of {right.rectified.baseline_m:g} m: is its P in pixels and metres?"
            )

    def models(self) -> tuple[dict[str, CameraModel], float]:
        """The cameras as pipelines know them, `left` and `right`, and the baseline of the pair."""
        cameras = {each.side: self.cameras[each.port] for each in self.sources.values() if each.port in self.cameras}
        models = {side: camera.rectified for side, camera in cameras.items() if side}
        baseline_m = models["right"].baseline_m if "right" in models else 0.0
        return models, baseline_m

    def read(self, topic: str, data: bytes, log_ns: int) -> PortRecord | None:
        """Decode a message and its stamp; None where it is not used."""
        source = self.sources[topic]
        if source.kind == FRAME and not self._nth.takes(source.port):
            return None
        framed = self._record_with_frame(source.msgtype, data, log_ns)
        if framed is None:
            raise ArchiveError("its bytes cannot be read")
        if source is next(iter(self.sources.values())):
            self._add_transforms(source, framed.frame)
        return PortRecord(source, framed.record, int(framed.record.stamp_ns[0]))

    def _add_transforms(self, source: PortSource, frame: str) -> None:
        camera = self.cameras.get(source.port)
        if camera is None or not camera.is_rotated:
            self.camera_frame = frame
        elif not self.edges:
            self.camera_frame = f"{frame}{RECTIFIED}"
            self.edges = [Edge(frame, self.camera_frame, transform_from_rotation(camera.rotation.T, np.zeros(3)))]

    def value(self, message: PortRecord) -> Any:
        """Return the value for the port; ArchiveError names its issue."""
        source, record = message.source, message.record
        if source.kind != FRAME:
            value = VALUES[source.kind][1](record)
            if isinstance(value, Cloud) and isinstance(record, Clouds):
                self.points_lost[source.topic] += len(record.load(0)) - len(value)
            return value
        frame = frame_of_image(record, self.cameras.get(source.port))
        self._stereo.require_light(frame)
        warning = self._stereo.add(source.port, frame)
        self.notes += [warning] if warning else []
        if self.refuses_issues and self._stereo.issue is not None and source.side:
            raise UnusableInputError(f"the pair is refused: {self._stereo.issue}", reason=str(self._stereo.issue))
        return frame

    def _record_with_frame(self, msgtype: str, data: bytes, log_ns: int) -> FramedRecord | None:
        decoder = self._decoders.get(msgtype)
        if decoder is None:
            decoder = self._decoders[msgtype] = RecordDecoder(msgtype)
        return next(decoder.records([Part(np.array([log_ns]), np.frombuffer(data, np.uint8)[None])]), None)
