"""Around a box: the rover goes a circle to the left, its stereo unit turned to the box in the middle, and its truth."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.errors import SampleError
from fieldplay_samples.motion.frames import Floats, floats, quaternion_from_rotation, rotation_about, transform
from fieldplay_samples.motion.plan import Changes, DrivePlan
from fieldplay_samples.places import places_of, record_at
from fieldplay_samples.world.named import terrain_named
from fieldplay_samples.world.scene import Scene, make_scene
from fieldplay_samples.world.solids import box as solid_box
from fieldplay_samples.world.surfaces import GroundWithBox, StandingBox
from fieldplay_samples.world.terrain import Terrain
from fieldplay_samples.writers.scenarios import Scenario

TRUTH = "box"  # OUT.box.npz
GRID = 13  # places along each side of the box at which it asks for the ground
BEFORE_S = 2.0
LEFT, UP = floats([0, 1, 0]), floats([0, 0, 1])


def circle_plan(seconds: float, radius_m: float, turn_deg_s: float) -> DrivePlan:
    """On a circle to the left, as fast at the begin and at the end as between."""
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
    place = middle + aside @ along
    ground = terrain.height_m(*place.T)
    east, north, _ = np.linalg.lstsq(np.c_[place - middle, np.ones(len(place))], ground, rcond=None)[0]
    up = floats([-east, -north, 1.0]) / np.sqrt(1 + east**2 + north**2)
    left = np.cross(up, [np.cos(yaw), np.sin(yaw), 0.0])
    left /= np.linalg.norm(left)
    rotation = np.column_stack([np.cross(left, up), left, up])
    lowest = min(np.column_stack([place - middle, ground]) @ up)
    return StandingBox(
        world_T_box=transform(rotation, floats([*middle, 0.0]) + up * (lowest + sizes[2] / 2)), sizes_m=sizes
    )


def scene_with_box(scenario: Scenario, terrain: Terrain, standing: StandingBox) -> Scene:
    """The ground with the box; rocks and poles further off than clouds of stereo pairs reach."""
    numbers, around = scenario.numbers["surroundings"], scenario.numbers["box"]
    x, y = standing.world_T_box[:2, 3]
    radius = around["radius"] + numbers["beyond_m"]
    scene = make_scene(
        scenario.seed,
        terrain=terrain,
        keep_out=[[x, y]],
        clearance_m=around["clear"],
        centre=(x, y),
        radius_m=radius,
        rock_count=round(numbers["rocks_per_m2"] * np.pi * radius**2),
        boulder_count=numbers["boulders"],
        pole_count=numbers["poles"],
    )
    pose = standing.world_T_box
    return scene.with_solids(
        solid_box(pose[:3, 3], standing.sizes_m, world_R_box=pose[:3, :3], albedo=around["albedo"], grain=1.0)
    )


def box_truth(standing: StandingBox, stamp_ns: NDArray[np.int64], map_T_left: Floats) -> dict[str, NDArray[Any]]:
    """What OUT.box.npz has: the box's pose and lengths, and where the left camera was when pictures were taken."""
    return {
        "map_T_box": standing.world_T_box,
        "sizes_m": standing.sizes_m,
        "stamp_ns": stamp_ns,
        "map_T_left": map_T_left,
    }


def truth_of(out: Path) -> tuple[GroundWithBox, dict[str, NDArray[Any]]]:
    """The surfaces of the world of a sample at `out`, and the arrays of its OUT.box.npz; SampleError if it has none."""
    places = places_of(out, zipped=False)
    record = record_at(places) or record_at(places_of(out, zipped=True))
    path = places.beside(TRUTH)
    if record is None or TRUTH not in record.beside or not path.is_file():
        raise SampleError(f"{out}: expected a sample of sherpatt around a box with {path.name} beside it")
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    standing = StandingBox(world_T_box=arrays["map_T_box"], sizes_m=arrays["sizes_m"])
    terrain = terrain_named("volcano", seed=record.options["seed"])
    return GroundWithBox(terrain=terrain, box=standing), arrays
