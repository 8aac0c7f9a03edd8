"""What happens in a sample of SherpaTT: a drive among rocks, odometry that drifts, a lidar that swings."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from fieldplay_samples.errors import SampleError
from fieldplay_samples.motion.frames import Floats, floats, inverse, rotation_about, transform
from fieldplay_samples.motion.plan import DriveLimits, plan_drive
from fieldplay_samples.motion.ride import GroundDrive, drive_over
from fieldplay_samples.robots.sherpatt import Legs, legs_from_numbers
from fieldplay_samples.world.light import Sun
from fieldplay_samples.world.named import terrain_named
from fieldplay_samples.world.scene import Scene
from fieldplay_samples.world.surfaces import StandingBox
from fieldplay_samples.world.terrain import Terrain
from fieldplay_samples.writers.scenarios import Scenario, numbers_of, scene_beside_drive, scene_beside_way
from fieldplay_samples.writers.sherpatt.box import box_in_circle, circle_plan, scene_with_box, with_turned_unit
from fieldplay_samples.writers.sherpatt.passing import (
    PassingRover,
    passing_rover,
    scene_with_passage,
    standing_plan,
)
from fieldplay_samples.writers.sherpatt.routes import RouteDrive

MOST_LIDAR_POINTS = 30_000  # of a depth map, by its type
ROCKS, BOX, PASSING = "rocks", "box", "passing"
FREE, LOOP, AGAIN = "free", "loop", "again"
FASTEST_DEG_S = 90.0


@dataclass(frozen=True, eq=False, kw_only=True)
class SherpattScenario(Scenario):
    """A sample's robot, ground and motion."""

    legs: Legs
    terrain: Terrain
    drive: GroundDrive
    box: StandingBox | None
    passing: PassingRover | None
    route: RouteDrive | None

    def rng(self, name: str) -> np.random.Generator:
        """Randomness of its own for each purpose and each day."""
        return super().rng(f"{name} {AGAIN}" if self.settings["route"] == AGAIN else name)

    def sun(self) -> Sun:
        """The light of its day."""
        return Sun() if self.route is None else self.route.sun()

    def frame(self, name: str) -> Floats:
        """One of the published static transforms (4, 4)."""
        return pose_of(self.numbers["frames"][name])

    def body_T_velodyne(self, time_s: Floats) -> Floats:
        """Poses (n, 4, 4) of the lidar, whose plane swings."""
        moving = self.swing(time_s)
        return floats(self.frame("body_velodyne_plane_fixed") @ moving @ self.frame("velodyne_plane_moving_velodyne"))

    def swing(self, time_s: Floats) -> Floats:
        """The moving plane (n, 4, 4) in the fixed one."""
        numbers = self.numbers["swing"]
        angle = numbers["reach"] * np.sin(2 * np.pi * time_s / numbers["period_s"])
        return transform(rotation_about((0, 0, 1), angle), np.zeros(3))

    def body_T_camera(self) -> dict[str, Floats]:
        """Poses (4, 4) of the unit's cameras, by way of the settings' frames."""
        rows = {(row[0], row[1]): pose_of(row[2:]) for row in self.numbers["settings_tf"]}
        tcp = inverse(rows["imu", "sherpaTT_body"]) @ rows["imu", "tcp_base"] @ rows["tcp_base", "tcp"]
        left, color = (tcp @ rows["tcp", f"camera_{name}"] for name in ("left", "color"))
        aside = transform(np.eye(3), [self.numbers["camera"]["baseline"], 0.0, 0.0])
        return {"left": left, "right": left @ aside, "color": color, "depth": left}

    def odometry(self, time_s: Floats) -> Floats:
        """Poses (n, 4, 4) that the wheels tell, from the start on: with slip, they drift away."""
        slip, true = self.numbers["slip"], inverse(self.drive.motion.pose_at(floats([0.0]))[0])
        poses = floats(true @ self.drive.motion.pose_at(time_s))
        steps = floats(inverse(poses[:-1]) @ poses[1:])
        length = np.diff(time_s)
        steps[:, :3, 3] *= 1.0 + slip["share"]
        steps[:, :3, :3] = steps[:, :3, :3] @ rotation_about((0, 0, 1), slip["turn_rad_s"] * length)
        found = np.empty_like(poses)
        found[0] = poses[0]
        for row, step in enumerate(steps):
            found[row + 1] = found[row] @ step
        return found


def pose_of(row: list[float]) -> Floats:
    """A transform (4, 4) of x y z and a quaternion x y z w."""
    return transform(floats(Rotation.from_quat(row[3:7]).as_matrix()), row[:3])


def rows_of(poses: Floats) -> Floats:
    """Rows (n, 7) of x y z and the quaternion x y z w, of transforms (n, 4, 4)."""
    return np.hstack([poses[:, :3, 3], Rotation.from_matrix(poses[:, :3, :3]).as_quat()])


def make_scenario(seed: int, seconds: float, settings: dict[str, Any]) -> SherpattScenario:
    """The sample's scenario, deterministic by seed."""
    numbers = numbers_of("sherpatt")
    _check(settings, numbers)
    scene, route = settings["scene"], route_of(settings)
    start = numbers["start_xy_heading"]
    if scene != ROCKS:
        numbers = numbers | {"settings_tf": with_turned_unit(numbers, scene)}
    if scene == PASSING:
        plan = standing_plan(seconds)
    elif scene == BOX:
        plan = circle_plan(seconds, numbers["box"]["radius"], settings["circle_deg_s"])
    elif route is not None:
        numbers = numbers | {"start_unix_s": numbers["start_unix_s"] + route.own["later"]}
        plan, start = route.plan(seconds), route.start()
    else:
        plan = plan_drive(seconds, np.random.default_rng([seed, 6]), DriveLimits(**numbers["limits"]))
    legs, terrain = legs_from_numbers(numbers["legs"]), terrain_named("volcano", seed=seed)
    x, y, heading = start
    drive = drive_over(plan, terrain.height_m, legs.stance(), start_xy_m=(x, y), start_heading_rad=heading)
    return SherpattScenario(
        seed=seed,
        seconds=seconds,
        settings=settings,
        numbers=numbers,
        legs=legs,
        terrain=terrain,
        drive=drive,
        box=box_in_circle(numbers, terrain) if scene == BOX else None,
        passing=passing_rover(numbers, seconds, terrain) if scene == PASSING else None,
        route=route,
    )


def route_of(settings: dict[str, Any]) -> RouteDrive | None:
    """The route that is asked for, if any."""
    numbers, name = numbers_of("sherpatt"), settings["route"]
    if name not in (FREE, LOOP, AGAIN):
        raise SampleError(f"route: expected {FREE}, {LOOP} or {AGAIN}, got {name!r}")
    if name == FREE:
        return None
    if settings["scene"] != ROCKS:
        where = "around a box" if settings["scene"] == BOX else "where another rover passes"
        raise SampleError(f"route: expected {FREE} {where}, got {name!r}")
    x, y, heading = numbers["start_xy_heading"]
    return RouteDrive(numbers=numbers["routes"], start_xy_heading=(x, y, heading), name=name)


def make_world(scenario: SherpattScenario) -> Scene:
    """The ground with rocks and poles off the way, or a box in the middle of it; no rover is in it."""
    if scenario.box is not None:
        return scene_with_box(scenario, scenario.terrain, scenario.box)
    if scenario.passing is not None:
        return scene_with_passage(scenario, scenario.terrain, scenario.passing)
    if scenario.route is not None:
        return scene_beside_way(scenario, scenario.terrain, scenario.route.line())
    return scene_beside_drive(scenario, scenario.terrain, scenario.drive)


def _check(settings: dict[str, Any], numbers: dict[str, Any]) -> None:
    if settings["dgps_frame"] not in ("ned", "nwu"):
        raise SampleError(f"dgps_frame: expected ned or nwu, got {settings['dgps_frame']!r}")
    if settings["scene"] not in (ROCKS, BOX, PASSING):
        raise SampleError(f"scene: expected {ROCKS}, {BOX} or {PASSING}, got {settings['scene']!r}")
    if settings["circle_deg_s"] > FASTEST_DEG_S:
        raise SampleError(f"circle_deg_s: expected {FASTEST_DEG_S:g} at most, got {settings['circle_deg_s']:g}")
    most = MOST_LIDAR_POINTS // numbers["lidar"]["rows"]
    if settings["lidar_columns"] > most:
        raise SampleError(f"lidar_columns: expected {most} at most, got {settings['lidar_columns']}")
