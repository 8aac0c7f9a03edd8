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
from fieldplay.geometry.camera_model import CameraModel

Floats = NDArray[np.float64]
LEFT, RIGHT, IMU, BASE, GPS = "left_camera", "right_camera", "imu", "base_link", "gps"
MODELS = {"radtan": ("plumb_bob", 5), "equidistant": ("equidistant", 4)}
TURN_ERROR = 1e-2  # a matrix that is further from a rotation than this is none
OPENCV_START = b"%YAML"
MAX_PX = 65_535  # no picture is wider or higher


@dataclass(frozen=True, kw_only=True, eq=False)
class Calibration:
    """What a calibration says, None where it says nothing. Offsets are in the units of imu.log."""

    left: CameraModel | None = None
    right: CameraModel | None = None
    left_t_imu: Floats | None = None  # (4, 4): points of the IMU to the camera
    right_t_imu: Floats | None = None
    right_t_left: Floats | None = None
    acc_offset_mg: Floats | None = None
    gyro_offset_deg_s: Floats | None = None
    imu_in_base: tuple[Floats, Floats] | None = None  # position (3,), quaternion x y z w
    gps_in_base: tuple[Floats, Floats] | None = None


def calibration_from_bytes(data: bytes, issue: Callable[[str, str], None]) -> Calibration:
    """Parse a calibration file; `issue` receives kind and message of what is missing or wrong in it."""
    if data.startswith(OPENCV_START):
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
    """The entries of a file, each None where it is missing or wrong, which is reported."""

    content: Mapping[str, Any]
    report: Callable[[str, str], None]

    def entry(self, part: str, name: str) -> Any:
        section = self.content.get(part)
        value = section.get(name) if isinstance(section, Mapping) else None
        if value is None:
            self.report("missing_key", f"expected an entry {part}.{name}, got none")
        return value

    def numbers(self, part: str, name: str, *sizes: int) -> Floats | None:
        """A list of so many numbers, whatever lists it is parted into."""
        value = self.entry(part, name)
        if value is None:
            return None
        try:
            numbers = np.array(value, float).reshape(-1)
        except (TypeError, ValueError, OverflowError):
            numbers = np.zeros(0)
        if len(numbers) not in sizes or not np.isfinite(numbers).all():
            expected = " or ".join(map(str, sizes))
            self.report("bad_value", f"{part}.{name}: expected {expected} numbers, got {_short_text(value)}")
            return None
        return numbers

    def transform(self, part: str, name: str) -> Floats | None:
        numbers = self.numbers(part, name, 12, 16)
        if numbers is None:
            return None
        matrix = np.vstack([numbers[:12].reshape(3, 4), [0, 0, 0, 1]])
        rotation = matrix[:3, :3]
        if np.abs(rotation @ rotation.T - np.eye(3)).max() > TURN_ERROR or np.linalg.det(rotation) < 0:
            self.report("bad_value", f"{part}.{name}: expected a rotation in its first three columns, got none")
            return None
        return matrix

    def pose(self, part: str, position: str, rotation: str) -> tuple[Floats, Floats] | None:
        translation, quaternion = self.numbers(part, position, 3), self.numbers(part, rotation, 4)
        if quaternion is not None and abs(np.linalg.norm(quaternion) - 1) > TURN_ERROR:
            self.report(
                "bad_value", f"{part}.{rotation}: expected a unit quaternion, got {_short_text(quaternion.tolist())}"
            )
            quaternion = None
        return None if translation is None or quaternion is None else (translation, quaternion)

    def camera(self, part: str) -> CameraModel | None:
        intrinsics, size = self.numbers(part, "intrinsics", 4), self.numbers(part, "resolution", 2)
        distortion, model = self.numbers(part, "distortion_coeffs", 4, 5), self.entry(part, "distortion_model")
        if intrinsics is None or size is None or distortion is None or model is None:
            return None
        if model not in MODELS:
            self.report(
                "bad_value", f"{part}.distortion_model: expected {' or '.join(MODELS)}, got {_short_text(model)}"
            )
            return None
        name, count = MODELS[model]
        fx, fy, cx, cy = map(float, intrinsics)
        if min(fx, fy, *size) <= 0 or max(size) > MAX_PX:
            requested = f"focal lengths and a resolution above 0, this up to {MAX_PX}"
            self.report(
                "bad_value", f"{part}: expected {requested}, got {_short_text(intrinsics)} and {_short_text(size)}"
            )
            return None
        return CameraModel(
            width=int(size[0]), height=int(size[1]), fx=fx, fy=fy, cx=cx, cy=cy, distortion_model=name,
            distortion=(*map(float, distortion), *[0.0] * count)[:count], source="the calibration file",
        )  # fmt: skip


def _short_text(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:37] + "..."


@dataclass(frozen=True, kw_only=True)
class OfBag:
    """What a bag itself says of cameras and static frames: that counts."""

    cameras: Mapping[str, CameraModel] = field(default_factory=dict)
    extrinsics: Sequence[Extrinsic] = ()


def describe(archive: Archive, calibration: Calibration, sequence: int | None, *, of_bag: OfBag) -> None:
    """Put cameras, as a rectified pair, and extrinsics into the archive's description.

    They come from the bag, else from the calibration, else from the description's own numbers, those of the sequence
    where it is known.
    """
    spec, constants = archive.spec, archive.spec.constants
    defaults = _calibration(_Entries(constants["calibration"], lambda kind, message: None))
    left, right = calibration.left or spec.cameras[LEFT], calibration.right or spec.cameras[RIGHT]
    right_t_left = defaults.right_t_left if calibration.right_t_left is None else calibration.right_t_left
    if right_t_left is None:
        raise ArchiveError("constants.calibration: expected cam1.T_cn_cnm1")
    try:
        left, right = rectify_pair(left, right, right_t_left)
    except ArchiveError as error:
        archive.defects(Defect(file=archive.root.name, kind="bad_calibration", message=f"{error}; they play without"))
    rows = [*spec.extrinsics]
    if not any(row.child == IMU for row in of_bag.extrinsics):
        rows.append(_imu_row(archive, calibration, sequence))
    if archive.parameters["extrinsics_from"] == "calibration":
        rows += _camera_rows(calibration, defaults)
        rows += [
            _pose_row(GPS, pose) for pose in (calibration.gps_in_base or defaults.gps_in_base,) if pose is not None
        ]
        rows += of_bag.extrinsics
    else:
        rows += [row for row in of_bag.extrinsics if row.child == IMU]
    cameras = {**spec.cameras, LEFT: left, RIGHT: right, **of_bag.cameras}
    archive.spec = replace(spec, cameras=cameras, extrinsics=latest_rows(rows))


def latest_rows(rows: Sequence[Extrinsic]) -> tuple[Extrinsic, ...]:
    """Of the rows between two frames the last one."""
    return tuple({frozenset((row.parent, row.child)): row for row in rows}.values())


def _camera_rows(calibration: Calibration, defaults: Calibration) -> list[Extrinsic]:
    left = defaults.left_t_imu if calibration.left_t_imu is None else calibration.left_t_imu
    right = defaults.right_t_imu if calibration.right_t_imu is None else calibration.right_t_imu
    return [_matrix_row(camera, matrix) for camera, matrix in ((LEFT, left), (RIGHT, right)) if matrix is not None]


def _matrix_row(camera: str, camera_t_imu: Floats) -> Extrinsic:
    x, y, z = (float(value) for value in camera_t_imu[:3, 3])
    rotation = tuple(float(value) for value in camera_t_imu[:3, :3].reshape(-1))
    return Extrinsic(parent=camera, child=IMU, convention="m_matrix", translation=(x, y, z), rotation=rotation)


def _pose_row(child: str, pose: tuple[Floats, Floats]) -> Extrinsic:
    x, y, z = (float(value) for value in pose[0])
    quaternion = tuple(float(value) for value in pose[1])
    return Extrinsic(
        parent=BASE, child=child, convention="m_quaternion_xyzw", translation=(x, y, z), rotation=quaternion
    )


def _imu_row(archive: Archive, calibration: Calibration, sequence: int | None) -> Extrinsic:
    """Where the IMU is: by the calibration, else by the number of the sequence, else as the description has it."""
    (known,) = (row for row in archive.spec.extrinsics if (row.parent, row.child) == (BASE, IMU))
    if calibration.imu_in_base is not None:
        return _pose_row(IMU, calibration.imu_in_base)
    sequences = archive.spec.constants["sequences"]
    if sequence in sequences:
        archive.notes.append(f"base_link -> imu: the authors' rotation of sequence {sequence}, as no file tells it")
        return replace(known, rotation=tuple(map(float, sequences[sequence]["imu_xyzw"])))
    archive.notes.append(
        "warning: base_link -> imu differs by up to 13 degrees between sequences, and neither a calibration nor the "
        f"name nor the time tells which this is: {known.source} is taken"
    )
    return known


def issue_reporter(archive: Archive, file: str) -> Callable[[str, str], None]:
    """Make a function that reports issues of a calibration file as defects of the archive."""
    other = "; the authors' own number is taken, where there is one"

    def report(kind: str, message: str) -> None:
        archive.defects(Defect(file=file, kind=kind, message=message + other))

    return report


def rectify_pair(
    left: CameraModel, right: CameraModel, right_t_left: NDArray[np.float64]
) -> tuple[CameraModel, CameraModel]:
    """Both cameras with R and P of the rectified pair: no pixel of a rectified picture lies outside the camera's.

    right_T_left (4, 4) takes points of the left camera to the right one, in metres. P[3] of the right camera is -fx
    times the baseline, where it stands at the right of the left one. ArchiveError where they are no such pair.
    """
    rotation, translation = np.ascontiguousarray(right_t_left[:3, :3]), np.ascontiguousarray(right_t_left[:3, 3:])
    cameras = (left.matrix, left.coefficients, right.matrix, right.coefficients)
    size = (left.width, left.height)
    try:
        matrices = cv2.stereoRectify(*cameras, size, rotation, translation, flags=cv2.CALIB_ZERO_DISPARITY, alpha=0)
    except cv2.error as error:
        raise ArchiveError(f"expected two cameras that can be rectified, got others: {error.msg}") from None
    if not all(np.isfinite(matrix).all() for matrix in matrices[:4]):
        raise ArchiveError("expected two cameras that can be rectified, got numbers that lead to none")
    left_r, right_r, left_p, right_p = (tuple(float(value) for value in np.ravel(matrix)) for matrix in matrices[:4])
    return (
        replace(left, rectification=left_r, projection=left_p),
        replace(right, rectification=right_r, projection=right_p),
    )
