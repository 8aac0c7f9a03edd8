"""What happens in a sample of AMEDS: the drive, the arms, the clocks; everything else is measured from it."""

from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from fieldplay_samples.motion.frames import Floats, floats
from fieldplay_samples.motion.plan import DrivePlan, plan_drive
from fieldplay_samples.motion.ride import Drive, drive_over
from fieldplay_samples.robots.interact import LIMITS, Interact, aux_arm_joints, load_interact, stance_of
from fieldplay_samples.robots.swivel import WheelMotion, wheel_motion
from fieldplay_samples.sensors.gnss import LocalOrigin
from fieldplay_samples.world.named import terrain_named
from fieldplay_samples.world.terrain import Terrain

NS_PER_S = 1_000_000_000
PICKING_DRIVES = 0.5  # share of a rock picking's time in which the rover drives


@dataclass(frozen=True, eq=False, kw_only=True)
class Scenario:
    """A sample's robot, ground and motion; times count from its start."""

    seed: int
    seconds: float
    settings: dict[str, Any]
    numbers: dict[str, Any]  # of data/ameds.yaml
    robot: Interact
    terrain: Terrain
    drive: Drive
    wheels: WheelMotion

    @property
    def start_ns(self) -> int:
        """The unix time at which it starts."""
        return int(self.numbers["start_unix_s"]) * NS_PER_S

    @property
    def lander(self) -> LocalOrigin:
        """The map's origin."""
        place = self.numbers["lander"]
        latitude, longitude = np.radians([place["latitude_deg"], place["longitude_deg"]])
        return LocalOrigin(latitude_rad=float(latitude), longitude_rad=float(longitude), altitude_m=place["altitude_m"])

    def times(self, rate: str) -> Floats:
        """The times (n,) of what is measured at one of the rates."""
        hertz = self.numbers["rates_hz"][rate]
        return floats(np.arange(max(2, round(self.seconds * hertz))) / hertz)

    def rng(self, name: str) -> np.random.Generator:
        """Randomness of its own for each purpose: what one draws does not change another's."""
        return np.random.default_rng([self.seed, *name.encode()])

    def stamps(self, time_s: Floats, device: str, table: str) -> NDArray[np.int64]:
        """When the computer stamps what a device measured at times (n,): unix time in ns, in microseconds' steps."""
        mean, deviation = self.numbers["latency_s"][device]
        jitter = np.clip(
            deviation * self.rng(f"latency {table}").standard_normal(len(time_s)), -3 * deviation, 3 * deviation
        )
        return self.unix_ns(time_s + mean + jitter)

    def unix_ns(self, time_s: Floats) -> NDArray[np.int64]:
        """Unix times (n,) in ns of times (n,), to the microsecond."""
        return self.start_ns + np.round(time_s * 1e6).astype(np.int64) * 1000

    def aux_arm(self, time_s: Floats) -> Floats:
        """The auxiliary arm's joints (n, 7)."""
        picking = bool(self.settings["rock_picking"])
        return aux_arm_joints(self.robot, time_s, self.seconds, rock_picking=picking)

    def drive_angles(self, time_s: Floats) -> Floats:
        """The angles (n, 4) in rad that the wheels have turned by since their encoders stood at zero."""
        ticks_per_turn = self.robot.numbers["published"]["wheels"]["drive_ticks_per_turn"]
        first = np.asarray(self.numbers["first_drive_ticks"]) * (2.0 * np.pi / ticks_per_turn)
        return floats(first + self.wheels.rolled_m.at(time_s) / self.robot.wheels.radius_m)


@lru_cache(maxsize=1)
def ameds_numbers() -> dict[str, Any]:
    """What data/ameds.yaml holds."""
    text = (resources.files("fieldplay_samples") / "data" / "ameds.yaml").read_text("utf-8")
    numbers: dict[str, Any] = yaml.safe_load(text)
    return numbers


def make_scenario(seed: int, seconds: float, settings: dict[str, Any]) -> Scenario:
    """The sample's scenario, deterministic by seed."""
    numbers, robot = ameds_numbers(), load_interact()
    terrain = terrain_named("volcano", seed=seed)
    x, y = numbers["rover_start"]["xy_m"]
    drive = drive_over(
        _plan(seed, seconds, rock_picking=bool(settings["rock_picking"])),
        terrain.height_m,
        stance_of(robot),
        start_xy_m=(x, y),
        start_heading_rad=numbers["rover_start"]["heading_rad"],
    )
    return Scenario(
        seed=seed,
        seconds=seconds,
        settings=settings,
        numbers=numbers,
        robot=robot,
        terrain=terrain,
        drive=drive,
        wheels=wheel_motion(drive, robot.wheels),
    )


def _plan(seed: int, seconds: float, *, rock_picking: bool) -> DrivePlan:
    rng = np.random.default_rng([seed, 4])
    if not rock_picking:
        return plan_drive(seconds, rng, LIMITS)
    plan = plan_drive(PICKING_DRIVES * seconds, rng, LIMITS)
    return DrivePlan(seconds=seconds, speed_m_s=plan.speed_m_s, curvature_1_m=plan.curvature_1_m)
