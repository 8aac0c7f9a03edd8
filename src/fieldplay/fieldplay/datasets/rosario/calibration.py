"""The calibration of a Rosario sequence: from its file, and what that lacks from the authors' numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import cv2
import numpy as np
import yaml
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.core.yaml_safe import value_of_yaml
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.spec import Extrinsic
from fieldplay.messages.stream_spec import Camera

Floats = NDArray[np.float64]
LEFT, RIGHT, IMU, BASE, GPS = "left_camera", "right_camera", "imu", "base_link", "gps"
MODELS = {"radtan": ("plumb_bob", 5), "equidistant": ("equidistant", 4)}
TURN_ERROR = 1e-2  # a matrix that is further from a rotation than this is none
OPENCV_BEGIN = b"%YAML"
MOST_PX = 65_535  # no picture is wider or higher


@dataclass(frozen=True, kw_only=True, eq=False)
class Calibration:
    """What a calibration says, None where it says nothing. Offsets are in the units of imu.log."""

    left: Camera | None = None
    right: Camera | None = None
    left_t_imu: Floats | None = None  # (4, 4): points of the IMU to the camera
    right_t_imu: Floats | None = None
    right_t_left: Floats | None = None
    acc_offset_mg: Floats | None = None
    gyro_offset_deg_s: Floats | None = None
    imu_in_base: tuple[Floats, Floats] | None = None  # position (3,), quaternion x y z w
    gps_in_base: tuple[Floats, Floats] | None = None


def calibration_from_bytes(data: bytes, issue: Callable[[str, str], None]) -> Calibration:
    """A calibration file; fault hears the kind and the message of what is missing or wrong in it."""
    if data.startswith(OPENCV_BEGIN):
        data = data.partition(b"\n")[2]
    try:
        content = value_of_yaml(data)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        issue("unreadable_calibration", f"expected YAML: {' '.join(str(error).split())}")
        return Calibration()
    if not isinstance(content, Mapping):
        issue("unreadable_calibration", f"expected a mapping with cam0, cam1, imu, gps, got {type(content).__name__}")
        return Calibration()
    return _calibration(_Entries(content, issue))


def _calibration(entries: "_Entries") -> Calibration:
    return Calibration(
        left=entries.camera("cam0"),
        right=entries.camera("cam1"),
        left_t_imu=entries.transform("cam0", "T_cam_imu"),
        right_t_imu=entries.transform("cam1", "T_cam_imu"),
        right_t_left=entries.transform("cam1", "T_cn_cnm1"),
        acc_offset_mg=entries.numbers("imu", "acc_offset", 3),
        gyro_offset_deg_s=entries.numbers("imu", "gyro_offset", 3),
        imu_in_base=entries.pose("imu", "position_imu_baselink", "rotation_imu_baselink"),
        gps_in_base=entries.pose("gps", "position_gps_baselink", "orientation_gps_baselink"),
    )


@dataclass(frozen=True)
class _Entries:
    """The entries of a file, each None where it is missing or wrong, which is told."""

    content: Mapping[str, Any]
    fault: Callable[[str, str], None]

    def entry(self, part: str, name: str) -> Any:
        section = self.content.get(part)
        value = section.get(name) if isinstance(section, Mapping) else None
        if value is None:
            self.fault("missing_key", f"expected an entry {part}.{name}, got none")
        return value

    def numbers(self, part: str, name: str, *sizes: int) -> Floats | None:
        """A list of so many numbers, whatever lists it is parted into."""
        value = self.entry(part, name)
        if value is None:
            return None
        try:
            found = np.array(value, float).reshape(-1)
        except (TypeError, ValueError, OverflowError):
            found = np.zeros(0)
        if len(found) not in sizes or not np.isfinite(found).all():
            expected = " or ".join(map(str, sizes))
            self.fault("bad_value", f"{part}.{name}: expected {expected} numbers, got {_shown(value)}")
            return None
        return found

    def transform(self, part: str, name: str) -> Floats | None:
        found = self.numbers(part, name, 12, 16)
        if found is None:
            return None
        matrix = np.vstack([found[:12].reshape(3, 4), [0, 0, 0, 1]])
        turn = matrix[:3, :3]
        if np.abs(turn @ turn.T - np.eye(3)).max() > TURN_ERROR or np.linalg.det(turn) < 0:
            self.fault("bad_value", f"{part}.{name}: expected a rotation in its first three columns, got none")
            return None
        return matrix

    def pose(self, part: str, position: str, rotation: str) -> tuple[Floats, Floats] | None:
        place, turn = self.numbers(part, position, 3), self.numbers(part, rotation, 4)
        if turn is not None and abs(np.linalg.norm(turn) - 1) > TURN_ERROR:
            self.fault("bad_value", f"{part}.{rotation}: expected a unit quaternion, got {_shown(turn.tolist())}")
            turn = None
        return None if place is None or turn is None else (place, turn)

    def camera(self, part: str) -> Camera | None:
        intrinsics, size = self.numbers(part, "intrinsics", 4), self.numbers(part, "resolution", 2)
        distortion, model = self.numbers(part, "distortion_coeffs", 4, 5), self.entry(part, "distortion_model")
        if intrinsics is None or size is None or distortion is None or model is None:
            return None
        if model not in MODELS:
            self.fault("bad_value", f"{part}.distortion_model: expected {' or '.join(MODELS)}, got {_shown(model)}")
            return None
        name, count = MODELS[model]
        fx, fy, cx, cy = map(float, intrinsics)
        if min(fx, fy, *size) <= 0 or max(size) > MOST_PX:
            requested = f"focal lengths and a resolution above 0, this up to {MOST_PX}"
            self.fault("bad_value", f"{part}: expected {requested}, got {_shown(intrinsics)} and {_shown(size)}")
            return None
        return Camera(
            width=int(size[0]), height=int(size[1]), fx=fx, fy=fy, cx=cx, cy=cy, distortion_model=name,
            distortion=(*map(float, distortion), *[0.0] * count)[:count], source="the calibration file",
        )  # fmt: skip


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:37] + "..."


@dataclass(frozen=True, kw_only=True)
class OfBag:
    """What a bag itself says of cameras and static frames: that counts."""

    cameras: Mapping[str, Camera] = field(default_factory=dict)
    extrinsics: Sequence[Extrinsic] = ()


def describe(archive: Archive, found: Calibration, sequence: int | None, *, of_bag: OfBag) -> None:
    """Put cameras, as a rectified pair, and extrinsics into the archive's description.

    They come from the bag, else from the calibration, else from the description's own numbers, those of the sequence
    where it is known.
    """
    spec, constants = archive.spec, archive.spec.constants
    given = _calibration(_Entries(constants["calibration"], lambda kind, message: None))
    left, right = found.left or spec.cameras[LEFT], found.right or spec.cameras[RIGHT]
    right_t_left = given.right_t_left if found.right_t_left is None else found.right_t_left
    if right_t_left is None:
        raise ArchiveError("constants.calibration: expected cam1.T_cn_cnm1")
    try:
        left, right = rectified_pair(left, right, right_t_left)
    except ArchiveError as error:
        archive.defects(Defect(file=archive.root.name, kind="bad_calibration", message=f"{error}; they play without"))
    rows = [*spec.extrinsics]
    if not any(row.child == IMU for row in of_bag.extrinsics):
        rows.append(_imu_row(archive, found, sequence))
    if archive.parameters["extrinsics_from"] == "calibration":
        rows += _camera_rows(found, given)
        rows += [_pose_row(GPS, pose) for pose in (found.gps_in_base or given.gps_in_base,) if pose is not None]
        rows += of_bag.extrinsics
    else:
        rows += [row for row in of_bag.extrinsics if row.child == IMU]
    cameras = {**spec.cameras, LEFT: left, RIGHT: right, **of_bag.cameras}
    archive.spec = replace(spec, cameras=cameras, extrinsics=latest_rows(rows))


def latest_rows(rows: Sequence[Extrinsic]) -> tuple[Extrinsic, ...]:
    """Of the rows between two frames the last one."""
    return tuple({frozenset((row.parent, row.child)): row for row in rows}.values())


def _camera_rows(found: Calibration, given: Calibration) -> list[Extrinsic]:
    left = given.left_t_imu if found.left_t_imu is None else found.left_t_imu
    right = given.right_t_imu if found.right_t_imu is None else found.right_t_imu
    return [_matrix_row(camera, matrix) for camera, matrix in ((LEFT, left), (RIGHT, right)) if matrix is not None]


def _matrix_row(camera: str, camera_t_imu: Floats) -> Extrinsic:
    x, y, z = (float(value) for value in camera_t_imu[:3, 3])
    turn = tuple(float(value) for value in camera_t_imu[:3, :3].reshape(-1))
    return Extrinsic(parent=camera, child=IMU, convention="m_matrix", translation=(x, y, z), rotation=turn)


def _pose_row(child: str, pose: tuple[Floats, Floats]) -> Extrinsic:
    x, y, z = (float(value) for value in pose[0])
    turn = tuple(float(value) for value in pose[1])
    return Extrinsic(parent=BASE, child=child, convention="m_quaternion_xyzw", translation=(x, y, z), rotation=turn)


def _imu_row(archive: Archive, found: Calibration, sequence: int | None) -> Extrinsic:
    """Where the IMU is: by the calibration, else by the number of the sequence, else as the description has it."""
    (known,) = (row for row in archive.spec.extrinsics if (row.parent, row.child) == (BASE, IMU))
    if found.imu_in_base is not None:
        return _pose_row(IMU, found.imu_in_base)
    sequences = archive.spec.constants["sequences"]
    if sequence in sequences:
        archive.notes.append(f"base_link -> imu: the authors' rotation of sequence {sequence}, as no file tells it")
        return replace(known, rotation=tuple(map(float, sequences[sequence]["imu_xyzw"])))
    archive.notes.append(
        "warning: base_link -> imu differs by up to 13 degrees between sequences, and neither a calibration nor the "
        f"name nor the time tells which this is: {known.source} is taken"
    )
    return known


def report_of(archive: Archive, file: str) -> Callable[[str, str], None]:
    """Reports a fault of a calibration file as a defect of the archive."""
    other = "; the authors' own number is taken, where there is one"

    def fault(kind: str, message: str) -> None:
        archive.defects(Defect(file=file, kind=kind, message=message + other))

    return fault


def rectified_pair(left: Camera, right: Camera, right_t_left: NDArray[np.float64]) -> tuple[Camera, Camera]:
    """Both cameras with R and P of the rectified pair: no pixel of a rectified picture lies outside the camera's.

    right_T_left (4, 4) takes points of the left camera to the right one, in metres. P[3] of the right camera is -fx
    times the baseline, where it stands at the right of the left one. ArchiveError where they are no such pair.
    """
    turn, way = np.ascontiguousarray(right_t_left[:3, :3]), np.ascontiguousarray(right_t_left[:3, 3:])
    cameras = (_intrinsics(left), np.array(left.distortion), _intrinsics(right), np.array(right.distortion))
    size = (left.width, left.height)
    try:
        found = cv2.stereoRectify(*cameras, size, turn, way, flags=cv2.CALIB_ZERO_DISPARITY, alpha=0)
    except cv2.error as error:
        raise ArchiveError(f"expected two cameras that can be rectified, got others: {error.msg}") from None
    if not all(np.isfinite(matrix).all() for matrix in found[:4]):
        raise ArchiveError("expected two cameras that can be rectified, got numbers that lead to none")
    left_r, right_r, left_p, right_p = (tuple(float(value) for value in np.ravel(matrix)) for matrix in found[:4])
    return (
        replace(left, rectification=left_r, projection=left_p),
        replace(right, rectification=right_r, projection=right_p),
    )


def _intrinsics(camera: Camera) -> NDArray[np.float64]:
    return np.array([[camera.fx, 0, camera.cx], [0, camera.fy, camera.cy], [0, 0, 1.0]])
