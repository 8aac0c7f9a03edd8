"""The world of a sample: a field with trees, rocks and a shed; and either the published scene or things by the way.

Each solid is made of some stuff, which says how well it reflects the radar and how warm it is.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldplay_samples.motion.frames import Floats, floats, moved, transform
from fieldplay_samples.world.plants import Habit, habit_of_size, tree
from fieldplay_samples.world.scatter import places, rocks
from fieldplay_samples.world.scene import Scene
from fieldplay_samples.world.solids import Solids, box, capsule, merged, sphere
from fieldplay_samples.world.terrain import Terrain
from fieldplay_samples.writers.acfr.scenario import AcfrScenario

WAY_STEP_S = 0.25
FARTHEST_SHARE = 0.98
NEAR_KINDS = 4
Thing = tuple[Solids, str]  # and the name of its stuff


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
    things += static_things(scenario, rng) if scenario.is_static else _beside_the_way(scenario, rng)
    return _world_of(scenario.terrain, things, scenario.numbers["materials"])


def _world_of(terrain: Terrain, things: list[Thing], materials: dict[str, dict[str, float]]) -> World:
    """Solids are numbered stones first, then limbs: so are their stuffs."""
    stones = [name for solids, name in things for _ in range(len(solids.stones.grain))]
    limbs = [name for solids, name in things for _ in range(len(solids.limbs.radius_m))]
    stuffs = [*stones, *limbs, "ground"]
    return World(
        scene=Scene(terrain=terrain, solids=merged(solids for solids, _ in things)),
        radar_db=floats([materials[name]["radar_db"] for name in stuffs]),
        warmth_c=floats([materials[name]["warmth_c"] for name in stuffs]),
    )


def world_T_table(scenario: AcfrScenario) -> Floats:
    """Where the published table's origin is (4, 4), level, its x to the right of the vehicle and its y ahead."""
    pose = scenario.poses_at(floats([0.0]))[0]
    sensors = moved(pose, scenario.robot.base_T_sensor["laser_horizontal"][:3, 3])
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
    x, y, _ = moved(table, floats([*at, 0.0])).tolist()
    return x, y, float(terrain.height_m(x, y))


def _way(scenario: AcfrScenario) -> Floats:
    """What must stay free (n, 2): the way, or the vehicle and the published scene."""
    if scenario.is_static:
        return floats(moved(world_T_table(scenario), floats([[1.9, -5.0, 0.0], [1.9, 9.5, 0.0]]))[:, :2])
    times = floats(np.arange(0.0, scenario.seconds + WAY_STEP_S, WAY_STEP_S))
    return floats(scenario.drive.motion.coordinates.at(times)[:, :2])


def _wide_surroundings(scenario: AcfrScenario, rng: np.random.Generator) -> list[Thing]:
    numbers, way, terrain = scenario.numbers["surroundings"], _way(scenario), scenario.terrain
    centre, clear = way.mean(axis=0), numbers["clear_of_way_m"]
    if scenario.is_static:
        clear = scenario.numbers["static_scene"]["clear_of_way_m"]
    sizes = rng.uniform(3.5, 10.0, numbers["trees"])
    where = {"centre": centre, "radius_m": numbers["radius_m"], "keep_out": way}
    at, sizes = places(rng, sizes, clearance_m=numbers["beyond_m"], **where)
    things = []
    for (x, y), height in zip(at.tolist(), sizes.tolist(), strict=True):
        trunk, crown = tree((x, y, float(terrain.height_m(x, y))), habit_of_size(height, rng), rng)
        things += [(trunk, "wood"), (crown, "leaves")]
    at, sizes = places(rng, rng.uniform(0.1, 0.6, numbers["rocks"]), clearance_m=clear, **where)
    shed = numbers["shed"]
    x, y = shed["at"]
    foot = (x, y, float(terrain.height_m(x, y)) + 0.5 * shed["sizes_m"][2] - 0.1)
    return [
        *things,
        (rocks(terrain, rng, at, sizes_m=sizes), "rock"),
        (box(foot, shed["sizes_m"], albedo=shed["albedo"]), "metal"),
    ]


def _beside_the_way(scenario: AcfrScenario, rng: np.random.Generator) -> list[Thing]:
    """Posts, boxes, drums and bushes near the way, for lasers and radar to meet."""
    numbers, way, terrain = scenario.numbers["surroundings"], _way(scenario), scenario.terrain
    low, high = way.min(axis=0), way.max(axis=0)
    at, _ = places(
        rng,
        np.full(numbers["near_things"], 1.0),
        centre=0.5 * (low + high),
        radius_m=0.5 * float(np.linalg.norm(high - low)) + numbers["near_m"],
        keep_out=way,
        clearance_m=numbers["clear_of_way_m"],
    )
    things = []
    for number, (x, y) in enumerate(at.tolist()):
        things += _near_thing((x, y, float(terrain.height_m(x, y))), number % NEAR_KINDS, rng)
    return things


def _near_thing(foot: tuple[float, float, float], kind: int, rng: np.random.Generator) -> list[Thing]:
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
