"""What happens in a sample of ACFR's datasets: the drive or the standing, the air, the clock; all else is measured."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldplay_samples.data import numbers_of
from fieldplay_samples.motion.plan import DriveLimits, plan_drive
from fieldplay_samples.motion.ride import (
    GroundDrive,
    Height,
    Path,
    drive_over,
    knots_s,
    motion_through,
    ride,
    spline_through,
)
from fieldplay_samples.motion.rotations import (
    Floats,
    floats,
    transform,
    transform_points,
)
from fieldplay_samples.output_folder import SampleError
from fieldplay_samples.robots.argo import Argo, load_argo
from fieldplay_samples.sensors.weather import NO_PUFFS, NO_RAIN, Puffs, Rain, Weather
from fieldplay_samples.world.scene import Scene, rocks, scatter
from fieldplay_samples.world.solids import Habit, Solids, box, capsule, habit_of_size, merge_solids, sphere, tree
from fieldplay_samples.world.terrain import Terrain, terrain_named
from fieldplay_samples.writers.scenarios import Scenario
from fieldplay_samples.writers.text_tables import Stamps

UP = floats([0.0, 0.0, 1.0])
NS_PER_MS = 1_000_000
YAW_REFERENCES = ("grid", "true")
PATH_STEP_S = 0.25
FARTHEST_FRACTION = 0.98
NEAR_KINDS = 4
Thing = tuple[Solids, str]  # and the name of its stuff


# The air of a sample: clouds that are raised ahead of the vehicle and go with the wind, or rain, in rounds.


def weather_of(
    numbers: dict[str, Any],
    condition: str,
    drive: GroundDrive,
    *,
    seconds: float,
    height_m: Height,
    rng: np.random.Generator,
) -> Weather:
    """The weather of a condition during a drive."""
    entry = numbers["conditions"][condition]
    spans = spans_s(numbers["rounds"], seconds)
    optics = {key: entry[key] for key in ("laser", "returned", "thermal") if key in entry}
    return Weather(
        puffs=_puffs(numbers, entry["cloud"], drive, spans=spans, height_m=height_m, rng=rng)
        if "cloud" in entry
        else NO_PUFFS,
        rain=Rain(spans_s=spans, **entry["rain"]) if "rain" in entry else NO_RAIN,
        colour=tuple(entry.get("colour", (1.0, 1.0, 1.0))),
        **optics,
    )


def spans_s(rounds: dict[str, float], seconds: float) -> Floats:
    """Spans (k, 2) of time in which dust is raised, or it rains."""
    count = max(1, round(seconds / rounds["length_s"]))
    first = np.arange(count)[:, None]
    return floats((first + floats([rounds["from"], rounds["until"]])) * (seconds / count))


def _puffs(
    numbers: dict[str, Any],
    cloud: dict[str, float],
    drive: GroundDrive,
    *,
    spans: Floats,
    height_m: Height,
    rng: np.random.Generator,
) -> Puffs:
    """Puffs in each span, on a strip ahead of where the vehicle is when they begin, and upwind of that."""
    shape = numbers["puffs"]
    born = np.concatenate([np.arange(start, end, 1.0 / shape["per_s"]) for start, end in spans])
    pose = drive.motion.pose_at(born)
    ahead, upwind, above = (
        rng.uniform(low, high, len(born))
        for low, high in (shape[key] for key in ("ahead_m", "upwind_m", "above_ground_m"))
    )
    wind = -drive.motion.pose_at(floats([0.0]))[0, :3, 1] * [1.0, 1.0, 0.0]  # from the left
    at = pose[:, :3, 3] + ahead[:, None] * pose[:, :3, 0] - upwind[:, None] * wind
    at[:, 2] = height_m(at[:, 0], at[:, 1]) + above
    strength = rng.lognormal(0.0, 0.4, len(born))
    speed = numbers["wind_m_s"] * rng.normal(1.0, shape["wind_share"], len(born))
    return Puffs(
        born_s=born,
        born_at=at,
        drift_m_s=speed[:, None] * wind + shape["rise_m_s"] * UP,
        area_m2=cloud["area_m2"] * strength,
        size_m=cloud["size_m"] * rng.uniform(0.7, 1.4, len(born)),
        growth_m_s=cloud["growth_m_s"],
        settling_s=cloud["settling_s"],
        longest_s=shape["longest_s"],
    )


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
    drive = (_static_drive if settings["static"] else _driving)(seed, seconds, numbers, robot=robot, terrain=terrain)
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


def _static_drive(seed: int, seconds: float, numbers: dict[str, Any], *, robot: Argo, terrain: Terrain) -> GroundDrive:
    """Return a drive that stays at its start; the seed is that of the ground."""
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


# The world of a sample: a field with trees, rocks and a shed; and either the published scene or things by the way.
#
# Each solid is made of some stuff, which says how well it reflects the radar and how warm it is.


@dataclass(frozen=True, eq=False, kw_only=True)
class World:
    """The scene; and by the number of a solid, that of the ground (-1) last: radar's reflectivity, warmth (k + 1,)."""

    scene: Scene
    radar_db: Floats
    warmth_c: Floats


def make_world(scenario: AcfrScenario) -> World:
    """The world that all sensors see, without the vehicle."""
    rng = scenario.rng("world")
    things = [*_wide_surroundings(scenario, rng)]
    things += static_things(scenario, rng) if scenario.is_static else _things_near_path(scenario, rng)
    return _world_of(scenario.terrain, things, scenario.numbers["materials"])


def _world_of(terrain: Terrain, things: list[Thing], materials: dict[str, dict[str, float]]) -> World:
    stuffs = [*(name for solids, name in things for _ in range(len(solids))), "ground"]
    return World(
        scene=Scene(terrain=terrain, solids=merge_solids(solids for solids, _ in things)),
        radar_db=floats([materials[name]["radar_db"] for name in stuffs]),
        warmth_c=floats([materials[name]["warmth_c"] for name in stuffs]),
    )


def world_T_table(scenario: AcfrScenario) -> Floats:
    """Where the published table's origin is (4, 4), level, its x to the right of the vehicle and its y ahead."""
    pose = scenario.poses_at(floats([0.0]))[0]
    sensors = transform_points(pose, scenario.robot.base_T_sensor["laser_horizontal"][:3, 3])
    ahead = pose[:3, 0] * [1.0, 1.0, 0.0]
    ahead /= np.linalg.norm(ahead)
    right = np.array([ahead[1], -ahead[0], 0.0])
    turn = np.stack([right, ahead, [0.0, 0.0, 1.0]], axis=1)
    x, y = scenario.numbers["static_scene"]["sensors"]
    return transform(turn, [*(sensors - x * right - y * ahead)[:2], 0.0])


def static_things(scenario: AcfrScenario, rng: np.random.Generator) -> list[Thing]:
    """The things of the published scene, on the ground at their places."""
    entry, table = scenario.numbers["static_scene"], world_T_table(scenario)
    things = [(_thing(scenario, table, one), str(one["material"])) for one in entry["things"]]
    sapling = entry["tree"]
    numbers = {key: sapling[key] for key in ("height_m", "trunk_m", "crown_from_m", "crown_m")}
    trunk, crown = tree(_foot(scenario.terrain, table, sapling["at"]), Habit(**numbers), rng)
    return [*things, (trunk, "wood"), (crown, "leaves")]


def _thing(scenario: AcfrScenario, table: Floats, entry: dict[str, Any]) -> Solids:
    albedo, kind = entry["albedo"], entry["kind"]
    if kind == "box":
        (left, right), (near, far), (low, high) = entry["x"], entry["y"], entry["z"]
        x, y, z = _foot(scenario.terrain, table, [0.5 * (left + right), 0.5 * (near + far)])
        sizes = [right - left, far - near, high - low]
        return box((x, y, z + 0.5 * (low + high)), sizes, world_R_box=table[:3, :3], albedo=albedo)
    x, y, z = _foot(scenario.terrain, table, entry["at"])
    radius = entry["radius_m"]
    if kind == "ball":
        return sphere((x, y, z + entry["centre_m"]), radius, albedo=albedo)
    top = z + entry["height_m"] - radius
    return capsule((x, y, z - 0.3), (x, y, top), radius, albedo=albedo, band_m=entry["band_m"])


def _foot(terrain: Terrain, table: Floats, at: list[float]) -> tuple[float, float, float]:
    x, y, _ = transform_points(table, floats([*at, 0.0])).tolist()
    return x, y, float(terrain.height_m(x, y))


def _free_points(scenario: AcfrScenario) -> Floats:
    """Points (n, 2) that must stay free: the path, or the vehicle and the published scene."""
    if scenario.is_static:
        return floats(transform_points(world_T_table(scenario), floats([[1.9, -5.0, 0.0], [1.9, 9.5, 0.0]]))[:, :2])
    times = floats(np.arange(0.0, scenario.seconds + PATH_STEP_S, PATH_STEP_S))
    return floats(scenario.drive.motion.coordinates.at(times)[:, :2])


def _wide_surroundings(scenario: AcfrScenario, rng: np.random.Generator) -> list[Thing]:
    numbers, path, terrain = scenario.numbers["surroundings"], _free_points(scenario), scenario.terrain
    centre, clear = path.mean(axis=0), numbers["clear_of_way_m"]
    if scenario.is_static:
        clear = scenario.numbers["static_scene"]["clear_of_way_m"]
    sizes = rng.uniform(3.5, 10.0, numbers["trees"])
    where = {"centre": centre, "radius_m": numbers["radius_m"], "keep_out": path}
    at, sizes = scatter(rng, sizes, clearance_m=numbers["beyond_m"], **where)
    things = []
    for (x, y), height in zip(at.tolist(), sizes.tolist(), strict=True):
        trunk, crown = tree((x, y, float(terrain.height_m(x, y))), habit_of_size(height, rng), rng)
        things += [(trunk, "wood"), (crown, "leaves")]
    at, sizes = scatter(rng, rng.uniform(0.1, 0.6, numbers["rocks"]), clearance_m=clear, **where)
    shed = numbers["shed"]
    x, y = shed["at"]
    foot = (x, y, float(terrain.height_m(x, y)) + 0.5 * shed["sizes_m"][2] - 0.1)
    return [
        *things,
        (rocks(terrain, rng, at, sizes_m=sizes), "rock"),
        (box(foot, shed["sizes_m"], albedo=shed["albedo"]), "metal"),
    ]


def _things_near_path(scenario: AcfrScenario, rng: np.random.Generator) -> list[Thing]:
    """Return posts, boxes, drums and bushes near the path, for lasers and radar."""
    numbers, path, terrain = scenario.numbers["surroundings"], _free_points(scenario), scenario.terrain
    low, high = path.min(axis=0), path.max(axis=0)
    at, _ = scatter(
        rng,
        np.full(numbers["near_things"], 1.0),
        centre=0.5 * (low + high),
        radius_m=0.5 * float(np.linalg.norm(high - low)) + numbers["near_m"],
        keep_out=path,
        clearance_m=numbers["clear_of_way_m"],
    )
    things = []
    for number, (x, y) in enumerate(at.tolist()):
        things += _thing_near_path((x, y, float(terrain.height_m(x, y))), number % NEAR_KINDS, rng)
    return things


def _thing_near_path(foot: tuple[float, float, float], kind: int, rng: np.random.Generator) -> list[Thing]:
    x, y, z = foot
    if kind == 0:
        height = rng.uniform(1.4, 2.2)
        return [(capsule((x, y, z - 0.3), (x, y, z + height), 0.06, albedo=(0.35, 0.28, 0.18)), "wood")]
    if kind == 1:
        sizes = rng.uniform(0.5, 1.2, 3)
        turn = np.array([[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
        return [(box((x, y, z + 0.45 * sizes[2]), sizes, world_R_box=turn, albedo=(0.38, 0.28, 0.17)), "cardboard")]
    if kind == 2:  # a drum
        return [(capsule((x, y, z + 0.1), (x, y, z + 0.7), 0.29, albedo=(0.08, 0.16, 0.34)), "metal")]
    trunk, crown = tree(foot, habit_of_size(float(rng.uniform(1.8, 3.0)), rng), rng)
    return [(trunk, "wood"), (crown, "leaves")]
