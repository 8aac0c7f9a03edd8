"""Cameras and frames of KITTI: the three files of a raw drive's day, or `calib.txt` of an odometry sequence.

`R_rect_00` turns the left grey camera's axes to those of all rectified images; `P_rect_i` then projects points of that
rectified camera, so its last column gives the position of camera i. Unrectified cameras are where `R_i` and `T_i` say.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.camera_model import CameraModel
from fieldplay.geometry.extrinsics import OPTICAL_FROM_FLU
from fieldplay.geometry.transforms import inverse_from_transform, transform_from_rotation
from fieldplay.io.calibration_files import KittiCalibration

BASE, IMU, LIDAR = "base_link", "imu_link", "lidar"
CAMERAS = ("camera_gray_left", "camera_gray_right", "camera_color_left", "camera_color_right")  # image_00 to image_03
RAW_FILES = CAMERA_FILE, LIDAR_FILE, IMU_FILE = "calib_cam_to_cam.txt", "calib_velo_to_cam.txt", "calib_imu_to_velo.txt"
Floats = NDArray[np.float64]


@dataclass
class Rig:
    """Cameras by name, and frames: parent_T_child (4, 4) in m by parent and child.

    `camera_t_base` is of the left grey camera, rectified; None where it is not known.
    """

    cameras: dict[str, CameraModel] = field(default_factory=dict)
    frames: dict[str, dict[str, Floats]] = field(default_factory=dict)
    camera_t_base: Floats | None = None


def rig_of_drive(files: Mapping[str, KittiCalibration], *, is_rectified: bool) -> Rig:
    """Read cameras and frames of a raw drive, whose base_link is the OXTS unit.

    Args:
        files: the calibration files that are there, by their names.
        is_rectified: whether the images are (`_sync`), or are as the cameras took them (`_extract`).

    Returns:
        The contents of the files. Cameras that nothing joins to base_link are below the lidar.
    """
    rig = Rig(frames={BASE: {IMU: np.eye(4)}})
    lidar_t_imu = files[IMU_FILE].transform("R", "T") if IMU_FILE in files else None
    camera_t_lidar = files[LIDAR_FILE].transform("R", "T") if LIDAR_FILE in files else None
    first_t_camera = _place_cameras(files[CAMERA_FILE], rig, is_rectified) if CAMERA_FILE in files else {}
    below = {}
    if camera_t_lidar is not None:
        below = {name: inverse_from_transform(camera_t_lidar) @ each for name, each in first_t_camera.items()}
    if lidar_t_imu is None:
        rig.frames[LIDAR] = below
        return rig
    base_t_lidar = inverse_from_transform(lidar_t_imu)
    rig.frames[BASE] |= {LIDAR: base_t_lidar, **{name: base_t_lidar @ each for name, each in below.items()}}
    return rig


def _place_cameras(calibration: KittiCalibration, rig: Rig, is_rectified: bool) -> dict[str, Floats]:
    """Add the cameras to the rig; where each is in the axes of the left grey one before rectification (4, 4)."""
    first_t_cameras = {}
    rectifying = calibration.matrix("R_rect_00", 3, 3)
    projections = [calibration.projection(f"P_rect_{index:02d}") for index in range(len(CAMERAS))]
    for index, (name, projection) in enumerate(zip(CAMERAS, projections, strict=True)):
        number, left = f"{index:02d}", projections[index - index % 2]
        size = calibration.size(f"S_rect_{number}")
        if projection is not None and left is not None and size is not None:
            camera = calibration.rectified_camera(size, projection, left)
            raw = camera if is_rectified else calibration.raw_camera(number, camera)
            rig.cameras |= {} if raw is None else {name: raw}
        if is_rectified and projection is not None and rectifying is not None:
            first_t_cameras[name] = transform_from_rotation(rectifying.T, np.zeros(3)) @ _rectified_t_camera(projection)
        elif not is_rectified and (camera_t_first := calibration.transform(f"R_{number}", f"T_{number}")) is not None:
            first_t_cameras[name] = inverse_from_transform(camera_t_first)
    return first_t_cameras


def rig_of_sequence(calibration: KittiCalibration | None, sizes: Mapping[str, tuple[int, int]]) -> Rig:
    """Read cameras and frames of an odometry sequence, whose base_link is the Velodyne.

    Args:
        calibration: `calib.txt`, if it is there.
        sizes: width and height of the images by camera, which the file does not have.

    Returns:
        The calibration. Without `Tr` base_link is the left grey camera, turned to x forward, and has no lidar.
    """
    rig = Rig(frames={BASE: {LIDAR: np.eye(4)}})
    if calibration is None:
        return rig
    if "Tr" in calibration.lines:
        rig.camera_t_base = calibration.rigid("Tr")
    else:
        rig.frames[BASE].clear()
        rig.camera_t_base = transform_from_rotation(OPTICAL_FROM_FLU, np.zeros(3))
    projections = [calibration.projection(f"P{index}") for index in range(len(CAMERAS))]
    for index, (camera, projection) in enumerate(zip(CAMERAS, projections, strict=True)):
        left = projections[index - index % 2]
        if projection is not None and left is not None and camera in sizes:
            rig.cameras[camera] = calibration.rectified_camera(sizes[camera], projection, left)
        if projection is not None and rig.camera_t_base is not None:
            base_t_first = inverse_from_transform(rig.camera_t_base)
            rig.frames[BASE][camera] = base_t_first @ _rectified_t_camera(projection)
    return rig


def _rectified_t_camera(projection: Floats) -> Floats:
    """Where a camera is in the rectified left grey one (4, 4)."""
    return transform_from_rotation(np.eye(3), -np.linalg.solve(projection[:, :3], projection[:, 3]))
