"""The calibration file of Rosario, and where its numbers put the sensors.

The published numbers name the right camera twice, by the IMU (T_cam_imu) and by the left camera (T_cn_cnm1), 1.5 mm and
0.29 degrees apart. The right camera of the sample stands where T_cn_cnm1 says: that of the pictures' CameraInfo. The tf
tree, which follows T_cam_imu, is that much beside it, as with the real data.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from scipy.spatial.transform import Rotation

from fieldplay_samples.motion.frames import Floats, floats, inverse, transform
from fieldplay_samples.sensors.camera import Intrinsics, camera_from_numbers

CAMERAS = {"left": "cam0", "right": "cam1"}


@dataclass(frozen=True, eq=False, kw_only=True)
class Rig:
    """The calibration (its file's content), the true places of the sensors (4, 4) on base_link, and the cameras."""

    calibration: dict[str, Any]
    base_T_imu: Floats
    base_T_gps: Floats
    base_T_camera: dict[str, Floats]
    cameras: dict[str, Intrinsics]


def rig_of(calibration: dict[str, Any], imu_xyzw: list[float]) -> Rig:
    """The rig of a sequence, whose IMU has this rotation in base_link."""
    complete = {**calibration, "imu": {**calibration["imu"], "rotation_imu_baselink": imu_xyzw}}
    imu, gps = complete["imu"], complete["gps"]
    base_T_imu = _pose(imu["position_imu_baselink"], imu["rotation_imu_baselink"])
    base_T_left = base_T_imu @ inverse(rigid(complete["cam0"]["T_cam_imu"]))
    base_T_right = base_T_left @ inverse(rigid(complete["cam1"]["T_cn_cnm1"]))
    return Rig(
        calibration=complete,
        base_T_imu=base_T_imu,
        base_T_gps=_pose(gps["position_gps_baselink"], gps["orientation_gps_baselink"]),
        base_T_camera={"left": base_T_left, "right": base_T_right},
        cameras={side: _camera(complete[name]) for side, name in CAMERAS.items()},
    )


def write_calibration(path: Path, rig: Rig) -> None:
    """Write the calibration file."""
    path.write_text(yaml.safe_dump(rig.calibration, default_flow_style=None, sort_keys=True), "utf-8", newline="")


def rigid(matrix: Any) -> Floats:
    """A transform (4, 4) from printed numbers, whose rotation is the nearest true one."""
    printed = floats(matrix)
    return transform(Rotation.from_matrix(printed[:3, :3]).as_matrix(), printed[:3, 3])


def _pose(position: list[float], xyzw: list[float]) -> Floats:
    return transform(floats(Rotation.from_quat(xyzw).as_matrix()), position)


def _camera(entry: dict[str, Any]) -> Intrinsics:
    width, height = entry["resolution"]
    return camera_from_numbers(width, height, tuple(entry["intrinsics"]), (*entry["distortion_coeffs"], 0.0))
