"""What happens in a sample of AMEDS: the drive, the arms, the clocks; everything else is measured from it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.motion.frames import Floats, floats
from fieldplay_samples.motion.plan import DrivePlan, plan_drive
from fieldplay_samples.motion.ride import GroundDrive, drive_over
from fieldplay_samples.robots.interact import LIMITS, Interact, aux_arm_joints, load_interact, stance_of
from fieldplay_samples.robots.swivel import WheelMotion, wheel_motion
from fieldplay_samples.sensors.gnss import LocalOrigin
from fieldplay_samples.world.named import terrain_named
from fieldplay_samples.world.terrain import Terrain
from fieldplay_samples.writers.scenarios import Scenario, numbers_of, origin_at
from fieldplay_samples.writers.tables import NS_PER_S

PICKING_DRIVES = 0.5  # share of a rock picking's time in which the rover drives


@dataclass(frozen=True, eq=False, kw_only=True)
class AmedsScenario(Scenario):
    """A sample's robot, ground and motion."""

    robot: Interact
    terrain: Terrain
    drive: GroundDrive
    wheels: WheelMotion

    @property
    def start_ns(self) -> int:
        """The unix time at which it starts."""
        return super().start_ns + round(float(self.settings["late_s"]) * NS_PER_S)

    @property
    def lander(self) -> LocalOrigin:
        """The map's origin."""
        return origin_at(self.numbers["lander"])

    def stamps(self, time_s: Floats, device: str, table: str) -> NDArray[np.int64]:
        """When the computer stamps what a device measured at times (n,): unix time in ns, in microseconds' steps."""
        mean, deviation = self.numbers["latency_s"][device]
        jitter = np.clip(
            deviation * self.rng(f"latency {table}").standard_normal(len(time_s)), -3 * deviation, 3 * deviation
        )
        return self.unix_ns(time_s + mean + jitter)

    def aux_arm(self, time_s: Floats) -> Floats:
        """The auxiliary arm's joints (n, 7)."""
        picking = bool(self.settings["rock_picking"])
        return aux_arm_joints(self.robot, time_s, self.seconds, rock_picking=picking)

    def drive_angles(self, time_s: Floats) -> Floats:
        """The angles (n, 4) in rad that the wheels have turned by since their encoders stood at zero."""
        ticks_per_turn = self.robot.numbers["published"]["wheels"]["drive_ticks_per_turn"]
        first = np.asarray(self.numbers["first_drive_ticks"]) * (2.0 * np.pi / ticks_per_turn)
        return floats(first + self.wheels.rolled_m.at(time_s) / self.robot.wheels.radius_m)


def make_scenario(seed: int, seconds: float, settings: dict[str, Any]) -> AmedsScenario:
    """The sample's scenario, deterministic by seed."""
    numbers, robot = numbers_of("ameds"), load_interact()
    terrain = terrain_named("volcano", seed=seed)
    x, y = numbers["rover_start"]["xy_m"]
    drive = drive_over(
        _plan(seed, seconds, rock_picking=bool(settings["rock_picking"])),
        terrain.height_m,
        stance_of(robot),
        start_xy_m=(x, y),
        start_heading_rad=numbers["rover_start"]["heading_rad"],
    )
    return AmedsScenario(
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
