"""What happens in a sample of Rosario: the drive along the furrows and the clock; all else is measured from it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldplay_samples.errors import SampleError
from fieldplay_samples.motion.plan import DriveLimits, plan_drive
from fieldplay_samples.motion.ride import GroundDrive, drive_over
from fieldplay_samples.robots.ackermann import Ackermann, AckermannMotion, ackermann_motion
from fieldplay_samples.sensors.gnss import LocalOrigin
from fieldplay_samples.world.named import terrain_named
from fieldplay_samples.world.scene import Scene
from fieldplay_samples.world.terrain import Terrain
from fieldplay_samples.writers.rosario.calibration import Rig, rig_of
from fieldplay_samples.writers.scenarios import Scenario, numbers_of, origin_at, scene_beside_drive
from fieldplay_samples.writers.tables import NS_PER_S


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
    return scene_beside_drive(scenario, scenario.terrain, scenario.drive)


def _check(settings: dict[str, Any], numbers: dict[str, Any]) -> None:
    if settings["sequence"] not in numbers["sequences"]:
        raise SampleError(f"sequence: expected 1 to {len(numbers['sequences'])}, got {settings['sequence']}")
    if settings["bag_compression"] not in ("bz2", "none"):
        raise SampleError(f"bag_compression: expected bz2 or none, got {settings['bag_compression']!r}")
