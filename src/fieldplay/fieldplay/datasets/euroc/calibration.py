"""Cameras, frames and the IMU's noise of a recording in the ASL layout: each sensor's `sensor.yaml`, or Kalibr's chain.

`T_BS` takes points of the sensor S to the body B, base_link; Kalibr's `T_cam_imu` those of the IMU to a camera.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.spec import ImuNoise
from fieldplay.geometry.camera_model import CameraModel
from fieldplay.geometry.transforms import inverse_from_transform
from fieldplay.io.calibration_files import CalibrationEntries, entries_from_yaml
from fieldplay.io.containers import Files
from fieldplay.messages.rectification import rectify_pair

BASE, IMU, CAMERAS = "base_link", "imu0", ("cam0", "cam1")
SENSOR_FILE = r"sensor\.yaml"
KALIBR_CAMERAS, KALIBR_IMU = r".*cam_?chain.*\.ya?ml", r"(.*imu_?chain|imu\d?|imu_config)\.ya?ml"
Floats = NDArray[np.float64]


@dataclass
class Calibration:
    """What the files say.

    Args:
        cameras: by name.
        base_t_sensor: base_link_T_sensor (4, 4) in m by the name of the sensor.
        noise: of the IMU; None where it is not known.
        files: the names of the files that were read.
    """

    cameras: dict[str, CameraModel] = field(default_factory=dict)
    base_t_sensor: dict[str, Floats] = field(default_factory=dict)
    noise: ImuNoise | None = None
    files: list[str] = field(default_factory=list)


def read_calibration(archive: Archive, files: Files, every_file: Files) -> Calibration:
    """Read the calibration of a sequence.

    Args:
        archive: the archive, to which issues are reported.
        files: the files of the sequence.
        every_file: all files of the archive, of which one may be Kalibr's.

    Returns:
        What the files say.
    """
    calibration = Calibration()
    for sensor in (IMU, *CAMERAS):
        name = next(iter(files_of_sensor(files, sensor, SENSOR_FILE)), None)
        entries = None if name is None else sensor_entries(archive, every_file, name, sensor)
        if name is None or entries is None:
            continue
        calibration.files.append(name)
        transform = entries.transform("T_BS")
        if transform is not None:
            calibration.base_t_sensor[sensor] = transform
        if sensor == IMU:
            calibration.noise = _noise(entries)
        elif (camera := entries.camera(source=name)) is not None:
            calibration.cameras[sensor] = camera
    _read_chain(archive, every_file, calibration)
    if IMU not in calibration.base_t_sensor:
        archive.notes.append(f"no T_BS of {IMU}: it is taken for the body, base_link")
        calibration.base_t_sensor[IMU] = np.eye(4)
    return calibration


def files_of_sensor(files: Files, sensor: str, pattern: str) -> list[str]:
    """Find files that lie directly in the folder of a sensor.

    Args:
        files: the files of the sequence.
        sensor: the name of the folder.
        pattern: a regular expression of the name of the file.

    Returns:
        Their names.
    """
    return [name for name in files.matching(pattern) if f"/{name}".split("/")[-2] == sensor]


def sensor_entries(archive: Archive, files: Files, name: str, sensor: str) -> CalibrationEntries | None:
    """Read a YAML file of a sensor; what is wrong with it is reported.

    Args:
        archive: the archive, to which issues are reported.
        files: where the file is.
        name: of the file.
        sensor: the id of the stream that it is about, for reports.

    Returns:
        Its entries; None where it cannot be read.
    """

    def report(kind: str, message: str) -> None:
        archive.defects(Defect(file=name, kind=kind, stream=sensor or None, message=message))

    try:
        return entries_from_yaml(files.read(name), report)
    except ArchiveError as error:
        report("unreadable_calibration", str(error))
        return None


def _noise(entries: CalibrationEntries, *path: str, rate: str = "rate_hz") -> ImuNoise | None:
    values = {}
    for item in fields(ImuNoise):
        numbers = entries.numbers(*path, rate if item.name == "rate_hz" else item.name, sizes=(1,))
        if numbers is None or numbers[0] < 0:
            return None
        values[item.name] = float(numbers[0])
    return ImuNoise(**values)


def _read_chain(archive: Archive, files: Files, calibration: Calibration) -> None:
    """Take what no `sensor.yaml` has from Kalibr's files, whose IMU is the body."""
    missing = [camera for camera in CAMERAS if camera not in calibration.cameras]
    for name in files.matching(KALIBR_CAMERAS)[:1] if missing else ():
        entries = sensor_entries(archive, files, name, "cameras")
        calibration.files.append(name)
        for camera in missing if entries is not None else ():
            if entries is not None and entries.has(camera):
                _read_kalibr_camera(entries, camera, calibration, name)
        archive.notes.append(f"calibration of {' and '.join(missing)}: {name}")
    for name in files.matching(KALIBR_IMU)[:1] if calibration.noise is None else ():
        entries = sensor_entries(archive, files, name, IMU)
        calibration.files.append(name)
        if entries is not None:
            calibration.noise = _noise(entries, *([IMU] if entries.has(IMU) else []), rate="update_rate")


def _read_kalibr_camera(entries: CalibrationEntries, camera: str, calibration: Calibration, name: str) -> None:
    model = entries.camera(camera, source=name)
    if model is not None:
        calibration.cameras[camera] = model
    is_inverse = entries.has(camera, "T_imu_cam")  # as OpenVINS writes it
    transform = entries.transform(camera, "T_imu_cam" if is_inverse else "T_cam_imu")
    if transform is not None:
        calibration.base_t_sensor[camera] = transform if is_inverse else inverse_from_transform(transform)


def rectified_cameras(archive: Archive, calibration: Calibration) -> dict[str, CameraModel]:
    """Give the cameras R and P of a rectified pair, where they are one.

    Args:
        archive: the archive, to which it is reported that they are none.
        calibration: what the files say.

    Returns:
        The cameras by name.
    """
    cameras, frames = dict(calibration.cameras), calibration.base_t_sensor
    if set(CAMERAS) <= cameras.keys() & frames.keys():
        right_t_left = inverse_from_transform(frames[CAMERAS[1]]) @ frames[CAMERAS[0]]
        try:
            pair = rectify_pair(cameras[CAMERAS[0]], cameras[CAMERAS[1]], right_t_left)
            cameras |= dict(zip(CAMERAS, pair, strict=True))
        except ArchiveError as error:
            message = f"{error}; they are no pair"
            archive.defects(Defect(file=calibration.files[-1], kind="bad_calibration", message=message))
    return cameras


def note_missing_calibration(archive: Archive, calibration: Calibration, streams: Mapping[str, object]) -> None:
    """Note the cameras whose images play without a CameraInfo.

    Args:
        archive: the archive.
        calibration: what the files say.
        streams: the streams of the archive by id.
    """
    for camera in (name for name in CAMERAS if name in streams and name not in calibration.cameras):
        message = "expected its intrinsics, got none; its images play without a CameraInfo"
        archive.note_missing(f"{camera}/sensor.yaml", message, stream=camera)
