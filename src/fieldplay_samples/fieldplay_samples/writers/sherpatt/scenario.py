"""What happens in a sample of SherpaTT: a drive among rocks, odometry that drifts, a lidar that swings."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from fieldplay_samples.data import numbers_of
from fieldplay_samples.motion.plan import Changes, CurvatureAlong, DriveLimits, DrivePlan, Route, plan_drive
from fieldplay_samples.motion.ride import GroundDrive, Stance, drive_over
from fieldplay_samples.motion.rotations import (
    Floats,
    floats,
    inverse,
    quaternion_from_rotation,
    rotation_about,
    transform,
    transform_points,
)
from fieldplay_samples.output_folder import SampleError, paths_of, record_at
from fieldplay_samples.robots.sherpatt import Legs, legs_from_numbers
from fieldplay_samples.world.light import Sun
from fieldplay_samples.world.scene import Scene
from fieldplay_samples.world.solids import Solids, box, capsule, cylinder, merge_solids
from fieldplay_samples.world.solids import box as solid_box
from fieldplay_samples.world.terrain import GroundWithBox, StandingBox, Terrain, terrain_named
from fieldplay_samples.writers.scenarios import Scenario, scene_along_drive, scene_along_path, scene_around

BOX_TRUTH = "box"  # OUT.box.npz
GRID = 13  # places along each side of the box at which it asks for the ground
BEFORE_S = 2.0
LEFT, UP = floats([0, 1, 0]), floats([0, 0, 1])
PASSING_TRUTH = "passing"  # OUT.passing.npz
PATH_STEP_S = 0.5
SIDES = (1.0, -1.0)
CORNERS = 240  # of the line along a route that rocks keep off
MAX_LIDAR_POINTS = 30_000  # of a depth map, by its type
ROCKS, BOX, PASSING = "rocks", "box", "passing"
FREE, LOOP, AGAIN = "free", "loop", "again"
FASTEST_DEG_S = 90.0


# Around a box: the rover goes a circle to the left, its stereo unit turned to the box in the middle, and its truth.


def circle_plan(seconds: float, radius_m: float, turn_deg_s: float) -> DrivePlan:
    """On a circle to the left, at constant speed."""
    return DrivePlan(
        seconds=seconds, speed_m_s=_steady(np.radians(turn_deg_s) * radius_m), curvature_1_m=_steady(1 / radius_m)
    )


def _steady(value: float) -> Changes:
    return Changes(start_s=floats([-BEFORE_S]), duration_s=floats([BEFORE_S / 2]), amount=floats([value]))


def with_turned_unit(numbers: dict[str, Any], scene: str) -> list[list[Any]]:
    """The published frames, with the stereo unit panned and tilted where it is mounted, as for a scene."""
    turn = rotation_about(UP, numbers[scene]["pan"]) @ rotation_about(LEFT, -numbers[scene]["tilt"])
    quaternion = quaternion_from_rotation(turn[None])[0].tolist()
    rows: list[list[Any]] = numbers["settings_tf"]
    return [[*row[:5], *quaternion] if row[:2] == ["tcp_base", "tcp"] else row for row in rows]


def box_in_circle(numbers: dict[str, Any], terrain: Terrain) -> StandingBox:
    """The box in the middle of the circle, on the ground and tilted as that is, no edge of it in the air."""
    x, y, heading = numbers["start_xy_heading"]
    sizes, radius = floats(numbers["box"]["sizes"]), numbers["box"]["radius"]
    middle = floats([x - radius * np.sin(heading), y + radius * np.cos(heading)])
    yaw = heading - np.pi / 2 - numbers["box"]["first_view"]
    aside = np.stack(np.meshgrid(*(np.linspace(-0.5, 0.5, GRID) * size for size in sizes[:2])), axis=-1).reshape(-1, 2)
    along = floats([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
    position = middle + aside @ along
    ground = terrain.height_m(*position.T)
    east, north, _ = np.linalg.lstsq(np.c_[position - middle, np.ones(len(position))], ground, rcond=None)[0]
    up = floats([-east, -north, 1.0]) / np.sqrt(1 + east**2 + north**2)
    left = np.cross(up, [np.cos(yaw), np.sin(yaw), 0.0])
    left /= np.linalg.norm(left)
    rotation = np.column_stack([np.cross(left, up), left, up])
    lowest = min(np.column_stack([position - middle, ground]) @ up)
    return StandingBox(
        world_T_box=transform(rotation, floats([*middle, 0.0]) + up * (lowest + sizes[2] / 2)), sizes_m=sizes
    )


def scene_with_box(scenario: Scenario, terrain: Terrain, box: StandingBox) -> Scene:
    """The ground with the box; rocks and poles further off than clouds of stereo pairs reach."""
    around, middle = scenario.numbers["box"], box.world_T_box[:2, 3]
    scene = scene_around(
        scenario, terrain, middle, reach_m=around["radius"], keep_out=middle[None], clearance_m=around["clear"]
    )
    pose = box.world_T_box
    return scene.with_solids(
        solid_box(pose[:3, 3], box.sizes_m, world_R_box=pose[:3, :3], albedo=around["albedo"], grain=1.0)
    )


def box_truth(box: StandingBox, stamp_ns: NDArray[np.int64], map_T_left: Floats) -> dict[str, NDArray[Any]]:
    """What OUT.box.npz has: the box's pose and lengths, and where the left camera was when images were taken."""
    return {
        "map_T_box": box.world_T_box,
        "sizes_m": box.sizes_m,
        "stamp_ns": stamp_ns,
        "map_T_left": map_T_left,
    }


def truth_of(out: Path) -> tuple[GroundWithBox, dict[str, NDArray[Any]]]:
    """The surfaces of the world of a sample at `out`, and the arrays of its OUT.box.npz; SampleError if it has none."""
    paths = paths_of(out, zipped=False)
    record = record_at(paths) or record_at(paths_of(out, zipped=True))
    path = paths.truth_file(BOX_TRUTH)
    if record is None or BOX_TRUTH not in record.beside or not path.is_file():
        raise SampleError(f"{out}: expected a sample of sherpatt around a box with {path.name} next to it")
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    box = StandingBox(world_T_box=arrays["map_T_box"], sizes_m=arrays["sizes_m"])
    terrain = terrain_named("volcano", seed=record.options["seed"])
    return GroundWithBox(terrain=terrain, box=box), arrays


# Another rover passes the standing stereo unit, its side towards it: where it is at each time, and how it looks.


@dataclass(frozen=True, eq=False, kw_only=True)
class PassingRover:
    """A rover of four wheels: its numbers, and how it drives. It stands on x forward, y left, midway between axles."""

    numbers: dict[str, Any]
    drive: GroundDrive

    def map_T_robot(self, time_s: Floats) -> Floats:
        """Its poses (n, 4, 4)."""
        return self.drive.motion.pose_at(time_s)

    def wheels_m(self) -> Floats:
        """The middles (4, 3) of the wheels' outer faces in the robot: of the front left and right, of the rear."""
        wheels = self.numbers["wheels"]
        x, y = wheels["base"] / 2, wheels["track"] / 2 + wheels["half_width"]
        return floats([[along * x, aside * y, 0.0] for along in SIDES for aside in SIDES])

    def solids_at(self, time_s: float) -> Solids:
        """All of it in the map at a time."""
        pose = self.map_T_robot(floats([time_s]))[0]
        rolled = float(self.drive.travelled_m.at(floats([time_s]))[0]) / self.numbers["wheels"]["radius"]
        wheels = [part for position in self.wheels_m() for part in self._wheel(pose, position, rolled)]
        body, mast = self.numbers["body"], self.numbers["mast"]
        middle, start, end = transform_points(pose, floats([body["centre"], mast["begin"], mast["end"]]))
        return merge_solids([
            box(middle, body["sizes"], world_R_box=pose[:3, :3], albedo=body["albedo"], grain=0.5),
            capsule(start, end, mast["radius"], albedo=mast["albedo"]),
            *wheels,
        ])  # fmt: skip

    def _wheel(self, pose: Floats, face: Floats, rolled_rad: float) -> list[Solids]:
        """A tyre, a disc in it that stands out a little, and a knob that shows it turn."""
        entry, side = self.numbers["wheels"], float(np.sign(face[1]))
        hub = face - [0.0, side * entry["half_width"], 0.0]
        knob = rotation_about((0, 1, 0), rolled_rad) @ floats([entry["knob_at"], 0.0, 0.0])
        at = transform_points(pose, np.stack([hub, face + knob, face + knob + [0.0, side * entry["knob_length"], 0.0]]))
        axle, half_m, rim_m = pose[:3, 1], entry["half_width"], entry["radius"] * entry["rim_share"]
        return [
            cylinder(at[0], axle, entry["radius"], half_m, albedo=entry["tyre_albedo"], grain=0.5),
            cylinder(at[0], axle, rim_m, half_m + entry["rim_out"], albedo=entry["rim_albedo"], grain=0.5),
            capsule(at[1], at[2], entry["knob_radius"], albedo=entry["tyre_albedo"]),
        ]


def static_plan(seconds: float) -> DrivePlan:
    """Return a plan without motion."""
    nothing = _changes([[-BEFORE_S, BEFORE_S / 2, 0.0]])
    return DrivePlan(seconds=seconds, speed_m_s=nothing, curvature_1_m=nothing)


def _changes(rows: list[list[float]]) -> Changes:
    start, duration, amount = floats(rows).T
    return Changes(start_s=start, duration_s=duration, amount=amount)


def passing_rover(numbers: dict[str, Any], seconds: float, terrain: Terrain) -> PassingRover:
    """The rover that goes by the unit which stands at the start of all drives."""
    entry = numbers["passing"]
    x, y, heading = numbers["start_xy_heading"]
    position = transform_points(
        transform(rotation_about((0, 0, 1), heading), [x, y, 0.0]), floats([*entry["from"], 0.0])
    )
    wheels = entry["wheels"]
    drive = drive_over(
        DrivePlan(
            seconds=seconds,
            speed_m_s=_changes([[-BEFORE_S, BEFORE_S / 2, entry["speed"]]]),
            curvature_1_m=_changes(entry["bends"]),
        ),
        terrain.height_m,
        Stance(
            half_base_m=wheels["base"] / 2,
            half_track_m=wheels["track"] / 2,
            base_height_m=wheels["radius"],
            half_contact_m=wheels["half_contact"],
        ),
        start_xy_m=(float(position[0]), float(position[1])),
        start_heading_rad=heading + entry["heading"],
    )
    return PassingRover(numbers=entry, drive=drive)


def scene_with_passage(scenario: Scenario, terrain: Terrain, rover: PassingRover) -> Scene:
    """The ground with rocks, none on the rover's way or between it and the unit; the rover is not in it."""
    times = floats(np.arange(0.0, scenario.numbers["passing"]["seconds"], PATH_STEP_S))
    path = rover.map_T_robot(np.minimum(times, scenario.seconds))[:, :2, 3]
    unit = np.broadcast_to(floats(scenario.numbers["start_xy_heading"][:2]), path.shape)
    return scene_along_path(scenario, terrain, np.stack([path, unit], axis=1).reshape(-1, 2))


def passing_truth(
    rover: PassingRover, time_s: Floats, stamp_ns: NDArray[np.int64], map_T_left: Floats
) -> dict[str, NDArray[Any]]:
    """What OUT.passing.npz has: the poses of rover and left camera at each pair, and the rover's wheels."""
    return {
        "stamp_ns": stamp_ns,
        "map_T_robot": rover.map_T_robot(time_s),
        "map_T_left": map_T_left,
        "wheels_m": rover.wheels_m(),
        "wheel_radius_m": floats(rover.numbers["wheels"]["radius"]),
    }


# Drives on a route that comes back to where it began: a lap and the first metres again, or a lap of another day.


@dataclass(frozen=True, kw_only=True)
class RouteDrive:
    """A drive on a route, some of which it may keep aside of: where it begins, how far it goes, in which light."""

    numbers: dict[str, Any]  # of all routes
    start_xy_heading: tuple[float, float, float]  # of the loop
    name: str

    @property
    def own(self) -> dict[str, Any]:
        """What this route has of its own."""
        numbers: dict[str, Any] = self.numbers[self.name]
        return numbers

    def route(self, *, aside: bool = True) -> Route:
        """The way that it goes; or that of the loop, which it keeps aside of."""
        waves = tuple(map(tuple, self.own["aside"])) if aside else ()
        return Route(length_m=self.numbers["length"], waves=tuple(map(tuple, self.numbers["waves"])), aside=waves)

    def seconds(self) -> float:
        """How long it takes, standing at both ends."""
        length_m = self.route().driven_m * self.own["laps"] + self.own["more"]
        return float(2 * self.numbers["stands"] + self.numbers["speeds_up"] + length_m / self.numbers["speed"])

    def plan(self, seconds: float) -> DrivePlan:
        """Its first seconds."""
        change = self.numbers["speeds_up"]
        slows = self.seconds() - self.numbers["stands"] - change
        speed = Changes(
            start_s=floats([self.numbers["stands"], slows]),
            duration_s=floats([change, change]),
            amount=floats([self.numbers["speed"], -self.numbers["speed"]]),
        )
        curvature = CurvatureAlong(route=self.route(), from_m=self.own["from"], speed_m_s=speed)
        return DrivePlan(seconds=seconds, speed_m_s=speed, curvature_1_m=curvature)

    def start(self) -> tuple[float, float, float]:
        """x, y in m and heading in rad in the map, at the start."""
        route = self.route()
        turn = route.turn_at(floats([self.own["from"]]))
        x, y, heading = self._in_map(*route.pose_at(turn))
        return float(x[0]), float(y[0]), float(heading[0])

    def line(self) -> Floats:
        """Places (n, 2) all along the loop, in the map."""
        turn = floats(np.linspace(0.0, 2 * np.pi, CORNERS))
        return np.column_stack(self._in_map(*self.route(aside=False).pose_at(turn))[:2])

    def sun(self) -> Sun:
        """The light of its day."""
        return Sun(**self.own["sun"])

    def _in_map(self, x: Floats, y: Floats, heading: Floats) -> tuple[Floats, Floats, Floats]:
        first_x, first_y, first_heading = self.route(aside=False).pose_at(floats([0.0]))
        east, north, towards = self.start_xy_heading
        angle = towards - first_heading[0]
        turn = rotation_about((0, 0, 1), angle)[:2, :2]
        positions = turn @ np.stack([x - first_x[0], y - first_y[0]]) + [[east], [north]]
        return positions[0], positions[1], floats(heading + angle)


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
        """Poses (n, 4, 4) by the wheels, from the start on: with slip they drift."""
        slip, true = self.numbers["slip"], inverse(self.drive.motion.pose_at(floats([0.0]))[0])
        poses = floats(true @ self.drive.motion.pose_at(time_s))
        steps = floats(inverse(poses[:-1]) @ poses[1:])
        length = np.diff(time_s)
        steps[:, :3, 3] *= 1.0 + slip["share"]
        steps[:, :3, :3] = steps[:, :3, :3] @ rotation_about((0, 0, 1), slip["turn_rad_s"] * length)
        poses_found = np.empty_like(poses)
        poses_found[0] = poses[0]
        for row, step in enumerate(steps):
            poses_found[row + 1] = poses_found[row] @ step
        return poses_found


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
        plan = static_plan(seconds)
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
        return scene_along_path(scenario, scenario.terrain, scenario.route.line())
    return scene_along_drive(scenario, scenario.terrain, scenario.drive)


def _check(settings: dict[str, Any], numbers: dict[str, Any]) -> None:
    if settings["dgps_frame"] not in ("ned", "nwu"):
        raise SampleError(f"dgps_frame: expected ned or nwu, got {settings['dgps_frame']!r}")
    if settings["scene"] not in (ROCKS, BOX, PASSING):
        raise SampleError(f"scene: expected {ROCKS}, {BOX} or {PASSING}, got {settings['scene']!r}")
    if settings["circle_deg_s"] > FASTEST_DEG_S:
        raise SampleError(f"circle_deg_s: expected {FASTEST_DEG_S:g} at most, got {settings['circle_deg_s']:g}")
    maximum = MAX_LIDAR_POINTS // numbers["lidar"]["rows"]
    if settings["lidar_columns"] > maximum:
        raise SampleError(f"lidar_columns: expected {maximum} at most, got {settings['lidar_columns']}")
