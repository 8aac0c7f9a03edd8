"""What happens in a sample of AMEDS: the drive, the arms, the clocks; everything else is measured from it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyproj import Transformer

from fieldplay_samples.data import numbers_of
from fieldplay_samples.motion.plan import DrivePlan, plan_drive
from fieldplay_samples.motion.ride import GroundDrive, drive_over
from fieldplay_samples.motion.rotations import Floats, floats, transform_points
from fieldplay_samples.robots.interact import (
    LIMITS,
    Interact,
    WheelMotion,
    aux_arm_joints,
    base_T_end_from_joints,
    load_interact,
    stance_of,
    wheel_motion,
)
from fieldplay_samples.sensors.gnss import LocalOrigin, enu_from_geodetic
from fieldplay_samples.world.scene import Scene
from fieldplay_samples.world.solids import stone
from fieldplay_samples.world.terrain import Terrain, terrain_named
from fieldplay_samples.writers.geotiff_raster import write_raster
from fieldplay_samples.writers.scenarios import Scenario, origin_at, scene_along_drive
from fieldplay_samples.writers.text_tables import NS_PER_S

PICKING_DRIVES = 0.5  # share of a rock picking's time in which the rover drives
FINGERTIPS_M = 0.28  # beyond the wrist


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


# The world of a sample of AMEDS: ground, rocks and poles off the rover's way.


def make_world(scenario: AmedsScenario) -> Scene:
    """The scene that cameras and lidar see, without the rover."""
    scene = scene_along_drive(scenario, scenario.terrain, scenario.drive)
    return _with_picked_rock(scene, scenario) if scenario.settings["rock_picking"] else scene


def _with_picked_rock(scene: Scene, scenario: AmedsScenario) -> Scene:
    """A small rock on the ground below the gripper's lowest posture, where the rover stands in the end."""
    x, y, _ = _fingertips(scenario)
    rock = scenario.numbers["picked_rock"]
    height = float(scene.terrain.height_m(x, y)) + 0.7 * rock["radii_m"][2]
    return scene.with_solids(stone([x, y, height], rock["radii_m"], albedo=rock["albedo"]))


def _fingertips(scenario: AmedsScenario) -> Floats:
    robot = scenario.robot
    world_T_base = scenario.drive.motion.pose_at(floats([scenario.seconds]))[0]
    postures = floats(robot.numbers["assumed"]["aux_arm_picking_rad"])
    world_T_end = world_T_base @ robot.transforms["base_T_aux_arm_base"] @ base_T_end_from_joints(robot.arm, postures)
    tips = transform_points(world_T_end, floats([0.0, 0.0, FINGERTIPS_M]))
    return floats(tips[np.argmin(tips[:, 2])])


# The ground model of a surveying drone: heights above the ellipsoid on the UTM grid, as a GeoTIFF.


def write_ground(path: Path, scenario: AmedsScenario) -> None:
    """Write the heights below the drive and around it; a corner is left empty."""
    numbers = scenario.numbers["ground_model"]
    cell, beyond, epsg = (numbers[name] for name in ("cell_m", "beyond_m", "epsg"))
    to_grid = Transformer.from_crs(4979, epsg, always_xy=True)
    lander = scenario.lander
    east0, north0 = to_grid.transform(np.degrees(lander.longitude_rad), np.degrees(lander.latitude_rad))
    driven = scenario.drive.motion.pose_at(scenario.times("arms"))[:, :2, 3]
    low, high = driven.min(axis=0) - beyond, driven.max(axis=0) + beyond
    east = east0 + np.arange(low[0], high[0], cell) + cell / 2
    north = north0 + np.arange(high[1], low[1], -cell) - cell / 2
    grid = np.meshgrid(east, north)
    longitude, latitude = to_grid.transform(grid[0].ravel(), grid[1].ravel(), direction="INVERSE")
    level = np.full(latitude.shape, lander.altitude_m)
    positions = enu_from_geodetic(
        lander, floats(np.stack([np.radians(latitude), np.radians(longitude), level], axis=1))
    )
    heights = lander.altitude_m + scenario.terrain.height_m(positions[:, 0], positions[:, 1]) - positions[:, 2]
    raster = heights.reshape(len(north), len(east))
    raster[:4, :6] = numbers["nodata"]
    corner = east[0] - cell / 2, north[0] + cell / 2
    nodata = numbers["nodata"]
    write_raster(path, raster, cell_m=cell, west_north_m=corner, epsg=epsg, nodata=nodata, with_units=True)
