"""What happens in a sample of Rosario: the drive along the furrows and the clock; all else is measured from it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.spatial.transform import Rotation

from fieldplay_samples.data import numbers_of
from fieldplay_samples.motion.plan import DriveLimits, plan_drive
from fieldplay_samples.motion.ride import GroundDrive, drive_over
from fieldplay_samples.motion.rotations import (
    Floats,
    floats,
    inverse,
    transform,
)
from fieldplay_samples.output_folder import SampleError
from fieldplay_samples.robots.ackermann import Ackermann, AckermannMotion, ackermann_motion
from fieldplay_samples.sensors.camera import Intrinsics, camera_from_numbers
from fieldplay_samples.sensors.gnss import LocalOrigin
from fieldplay_samples.world.scene import Scene
from fieldplay_samples.world.terrain import Terrain, terrain_named
from fieldplay_samples.writers.scenarios import Scenario, origin_at, scene_along_drive
from fieldplay_samples.writers.text_tables import NS_PER_S

CAMERAS = {"left": "cam0", "right": "cam1"}


# The calibration file of Rosario, and where its numbers put the sensors.
#
# The published numbers name the right camera twice, by the IMU (T_cam_imu) and by the left camera (T_cn_cnm1), 1.5 mm
# and 0.29 degrees apart. The right camera of the sample stands where T_cn_cnm1 says: that of the images' CameraInfo.
# The tf tree, which follows T_cam_imu, is that much beside it, as with the real data.


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


@dataclass(frozen=True, eq=False, kw_only=True)
class RosarioScenario(Scenario):
    """A sample's robot, ground and motion."""

    rig: Rig
    robot: Ackermann
    terrain: Terrain
    drive: GroundDrive
    wheels: AckermannMotion

    @property
    def name(self) -> str:
        """The number of the sequence, as the files have it."""
        return f"{self.settings['sequence']:02d}"

    @property
    def start_ns(self) -> int:
        """The unix time at which the sequence starts."""
        return int(self.numbers["sequences"][self.settings["sequence"]]["start_unix_s"]) * NS_PER_S

    @property
    def origin(self) -> LocalOrigin:
        """The map's origin."""
        return origin_at(self.numbers["origin"])


def make_scenario(seed: int, seconds: float, settings: dict[str, Any]) -> RosarioScenario:
    """The sample's scenario, deterministic by seed."""
    numbers = numbers_of("rosario")
    _check(settings, numbers)
    robot, terrain = Ackermann(**numbers["robot"]), terrain_named("ploughed_field", seed=seed)
    x, y, heading = numbers["start_xy_heading"]
    drive = drive_over(
        plan_drive(seconds, np.random.default_rng([seed, 4]), DriveLimits(**numbers["limits"])),
        terrain.height_m,
        robot.stance(),
        start_xy_m=(x, y),
        start_heading_rad=heading,
    )
    return RosarioScenario(
        seed=seed,
        seconds=seconds,
        settings=settings,
        numbers=numbers,
        rig=rig_of(numbers["calibration"], numbers["sequences"][settings["sequence"]]["imu_xyzw"]),
        robot=robot,
        terrain=terrain,
        drive=drive,
        wheels=ackermann_motion(drive, robot),
    )


def make_world(scenario: RosarioScenario) -> Scene:
    """The field with a few stones and poles off the robot's way; the robot itself is behind the cameras."""
    return scene_along_drive(scenario, scenario.terrain, scenario.drive)


def _check(settings: dict[str, Any], numbers: dict[str, Any]) -> None:
    if settings["sequence"] not in numbers["sequences"]:
        raise SampleError(f"sequence: expected 1 to {len(numbers['sequences'])}, got {settings['sequence']}")
    if settings["bag_compression"] not in ("bz2", "none"):
        raise SampleError(f"bag_compression: expected bz2 or none, got {settings['bag_compression']!r}")
