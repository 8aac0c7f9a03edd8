"""The calibration of a Rosario sequence: from its file, and what that lacks from the authors' numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.spec import Extrinsic
from fieldplay.geometry.camera_model import CameraModel
from fieldplay.io.calibration_files import CalibrationEntries, Issue, entries_from_yaml
from fieldplay.messages.rectification import rectify_pair

Floats = NDArray[np.float64]
LEFT, RIGHT, IMU, BASE, GPS = "left_camera", "right_camera", "imu", "base_link", "gps"


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


def calibration_from_bytes(data: bytes, issue: Issue) -> Calibration:
    """Parse a calibration file; `issue` receives kind and message of what is missing or wrong in it."""
    entries = entries_from_yaml(data, issue, sections=("cam0", "cam1", "imu", "gps"))
    return Calibration() if entries is None else _calibration(entries)


def _calibration(entries: CalibrationEntries) -> Calibration:
    return Calibration(
        left=entries.camera("cam0"),
        right=entries.camera("cam1"),
        left_t_imu=entries.transform("cam0", "T_cam_imu"),
        right_t_imu=entries.transform("cam1", "T_cam_imu"),
        right_t_left=entries.transform("cam1", "T_cn_cnm1"),
        acc_offset_mg=entries.numbers("imu", "acc_offset", sizes=(3,)),
        gyro_offset_deg_s=entries.numbers("imu", "gyro_offset", sizes=(3,)),
        imu_in_base=entries.pose("imu", "position_imu_baselink", "rotation_imu_baselink"),
        gps_in_base=entries.pose("gps", "position_gps_baselink", "orientation_gps_baselink"),
    )


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
    defaults = _calibration(CalibrationEntries(constants["calibration"], lambda kind, message: None))
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
    return [
        Extrinsic.from_transform(camera, IMU, matrix)
        for camera, matrix in ((LEFT, left), (RIGHT, right))
        if matrix is not None
    ]


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
        archive.notes.append(f"base_link -> imu: the authors' rotation of sequence {sequence}, as no file gives it")
        return replace(known, rotation=tuple(map(float, sequences[sequence]["imu_xyzw"])))
    archive.notes.append(
        "warning: base_link -> imu differs by up to 13 degrees between sequences, and neither a calibration nor the "
        f"name nor the time identifies this one: {known.source} is used"
    )
    return known


def issue_reporter(archive: Archive, file: str) -> Callable[[str, str], None]:
    """Make a function that reports issues of a calibration file as defects of the archive."""
    other = "; the authors' own number is taken, where there is one"

    def report(kind: str, message: str) -> None:
        archive.defects(Defect(file=file, kind=kind, message=message + other))

    return report
