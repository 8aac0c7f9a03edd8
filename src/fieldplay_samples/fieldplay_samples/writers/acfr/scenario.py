"""What happens in a sample of ACFR's datasets: the drive or the standing, the air, the clock; all else is measured."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldplay_samples.errors import SampleError
from fieldplay_samples.motion.frames import Floats, floats
from fieldplay_samples.motion.path import Path, knots_s
from fieldplay_samples.motion.plan import DriveLimits, plan_drive
from fieldplay_samples.motion.ride import GroundDrive, drive_over, ride
from fieldplay_samples.motion.rigid import motion_through
from fieldplay_samples.motion.splines import spline_through
from fieldplay_samples.robots.argo import Argo, load_argo
from fieldplay_samples.sensors.weather import Weather
from fieldplay_samples.world.named import terrain_named
from fieldplay_samples.world.terrain import Terrain
from fieldplay_samples.writers.acfr.air import weather_of
from fieldplay_samples.writers.scenarios import Scenario, numbers_of
from fieldplay_samples.writers.tables import Stamps

NS_PER_MS = 1_000_000
YAW_REFERENCES = ("grid", "true")


@dataclass(frozen=True, eq=False, kw_only=True)
class AcfrScenario(Scenario):
    """A sample's vehicle, ground, motion and air."""

    robot: Argo
    terrain: Terrain
    drive: GroundDrive
    weather: Weather

    @property
    def is_static(self) -> bool:
        """Whether the vehicle stands before the published scene."""
        return bool(self.settings["static"])

    @property
    def start_ns(self) -> int:
        """The unix time at which it starts: that of a published dataset of its kind."""
        kind = "static" if self.is_static else "dynamic"
        return int(self.numbers["start_unix_ms"][kind][self.settings["condition"]]) * NS_PER_MS

    def poses_at(self, time_s: Floats) -> Floats:
        """Poses world_T_base (n, 4, 4) at times (n,)."""
        return self.drive.motion.pose_at(time_s)

    def jitter_s(self, name: str, count: int, latency: tuple[float, float]) -> Floats:
        """Delays (count,) of a mean and a deviation, never more than thrice that from the mean."""
        mean, deviation = latency
        return floats(mean + deviation * np.clip(self.rng(f"delay {name}").standard_normal(count), -3.0, 3.0))

    def stamps_of(self, time_s: Floats) -> Stamps:
        """Unix times (n,) in ns; no two are the same, nor goes one back."""
        stamps = self.unix_ns(time_s)
        steps = np.arange(len(stamps)) * 1000
        return np.asarray(np.maximum.accumulate(stamps - steps) + steps, np.int64)


def make_scenario(seed: int, seconds: float, settings: dict[str, Any]) -> AcfrScenario:
    """The sample's scenario, deterministic by seed."""
    numbers, robot = numbers_of("acfr"), load_argo()
    _check(settings, numbers)
    terrain = terrain_named("grassland", seed=seed)
    drive = (_standing if settings["static"] else _driving)(seed, seconds, numbers, robot=robot, terrain=terrain)
    weather = weather_of(
        numbers,
        settings["condition"],
        drive,
        seconds=seconds,
        height_m=terrain.height_m,
        rng=np.random.default_rng([seed, *b"air"]),
    )
    return AcfrScenario(
        seed=seed,
        seconds=seconds,
        settings=settings,
        numbers=numbers,
        robot=robot,
        terrain=terrain,
        drive=drive,
        weather=weather,
    )


def _heading_rad(numbers: dict[str, Any]) -> float:
    """From east to north, of one from north clockwise."""
    return float(np.radians(90.0 - numbers["start"]["heading_deg"]))


def _driving(seed: int, seconds: float, numbers: dict[str, Any], *, robot: Argo, terrain: Terrain) -> GroundDrive:
    x, y = numbers["start"]["xy_m"]
    return drive_over(
        plan_drive(seconds, np.random.default_rng([seed, 4]), DriveLimits(**numbers["limits"])),
        terrain.height_m,
        robot.stance,
        start_xy_m=(x, y),
        start_heading_rad=_heading_rad(numbers),
    )


def _standing(seed: int, seconds: float, numbers: dict[str, Any], *, robot: Argo, terrain: Terrain) -> GroundDrive:
    """It stands where it would start to drive; the seed is that of the ground."""
    time = knots_s(seconds)
    zero, (x, y) = np.zeros(len(time)), numbers["start"]["xy_m"]
    path = Path(
        time_s=time,
        x_m=zero + x,
        y_m=zero + y,
        heading_rad=zero + _heading_rad(numbers),
        travelled_m=zero,
        curvature_1_m=zero,
    )
    still = spline_through(time, zero)
    motion = motion_through(time, ride(path, terrain.height_m, robot.stance))
    return GroundDrive(motion=motion, curvature_1_m=still, travelled_m=still)


def _check(settings: dict[str, Any], numbers: dict[str, Any]) -> None:
    for name, known in (("condition", tuple(numbers["conditions"])), ("yaw_reference", YAW_REFERENCES)):
        if settings[name] not in known:
            raise SampleError(f"{name}: expected {', '.join(known)}, got {settings[name]!r}")
