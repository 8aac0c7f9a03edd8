"""Another rover passes the standing stereo unit, its side towards it: where it is at each time, and how it looks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.motion.frames import Floats, floats, moved, rotation_about, transform
from fieldplay_samples.motion.plan import Changes, DrivePlan
from fieldplay_samples.motion.ride import GroundDrive, Stance, drive_over
from fieldplay_samples.world.scene import Scene
from fieldplay_samples.world.solids import Solids, box, capsule, merged, stone
from fieldplay_samples.world.terrain import Terrain
from fieldplay_samples.writers.scenarios import Scenario, scene_beside_way

TRUTH = "passing"  # OUT.passing.npz
BEFORE_S = 2.0
WAY_STEP_S = 0.5
SIDES = (1.0, -1.0)


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
        wheels = [part for place in self.wheels_m() for part in self._wheel(pose, place, rolled)]
        body, mast = self.numbers["body"], self.numbers["mast"]
        middle, begin, end = moved(pose, floats([body["centre"], mast["begin"], mast["end"]]))
        return merged([
            box(middle, body["sizes"], world_R_box=pose[:3, :3], albedo=body["albedo"], grain=0.5),
            capsule(begin, end, mast["radius"], albedo=mast["albedo"]),
            *wheels,
        ])  # fmt: skip

    def _wheel(self, pose: Floats, face: Floats, rolled_rad: float) -> list[Solids]:
        """A tyre, a disc in it that stands out a little, and a knob that shows it turn."""
        own, side = self.numbers["wheels"], float(np.sign(face[1]))
        hub = face - [0.0, side * own["half_width"], 0.0]
        knob = rotation_about((0, 1, 0), rolled_rad) @ floats([own["knob_at"], 0.0, 0.0])
        at = moved(pose, np.stack([hub, face + knob, face + knob + [0.0, side * own["knob_length"], 0.0]]))
        disc = _disc(own["radius"] * own["rim_share"], own["half_width"] + own["rim_out"])
        tyre = _disc(own["radius"], own["half_width"])
        turn = pose[:3, :3]
        return [
            stone(at[0], tyre[0], world_R_stone=turn, planes=tyre[1], albedo=own["tyre_albedo"], grain=0.5),
            stone(at[0], disc[0], world_R_stone=turn, planes=disc[1], albedo=own["rim_albedo"], grain=0.5),
            capsule(at[1], at[2], own["knob_radius"], albedo=own["tyre_albedo"]),
        ]


def _disc(radius_m: float, half_m: float) -> tuple[list[float], list[list[float]]]:
    """Radii and planes of what is round about y: cut off a ball that is long that way."""
    return [radius_m, 8.0 * half_m, radius_m], [[0.0, side, 0.0, half_m] for side in SIDES]


def standing_plan(seconds: float) -> DrivePlan:
    """The unit stays where it is."""
    nothing = _changes([[-BEFORE_S, BEFORE_S / 2, 0.0]])
    return DrivePlan(seconds=seconds, speed_m_s=nothing, curvature_1_m=nothing)


def _changes(rows: list[list[float]]) -> Changes:
    start, duration, amount = floats(rows).T
    return Changes(start_s=start, duration_s=duration, amount=amount)


def passing_rover(numbers: dict[str, Any], seconds: float, terrain: Terrain) -> PassingRover:
    """The rover that goes by the unit which stands at the start of all drives."""
    own = numbers["passing"]
    x, y, heading = numbers["start_xy_heading"]
    place = moved(transform(rotation_about((0, 0, 1), heading), [x, y, 0.0]), floats([*own["from"], 0.0]))
    wheels = own["wheels"]
    drive = drive_over(
        DrivePlan(
            seconds=seconds,
            speed_m_s=_changes([[-BEFORE_S, BEFORE_S / 2, own["speed"]]]),
            curvature_1_m=_changes(own["bends"]),
        ),
        terrain.height_m,
        Stance(
            half_base_m=wheels["base"] / 2,
            half_track_m=wheels["track"] / 2,
            base_height_m=wheels["radius"],
            half_contact_m=wheels["half_contact"],
        ),
        start_xy_m=(float(place[0]), float(place[1])),
        start_heading_rad=heading + own["heading"],
    )
    return PassingRover(numbers=own, drive=drive)


def scene_with_passage(scenario: Scenario, terrain: Terrain, rover: PassingRover) -> Scene:
    """The ground with rocks, none on the rover's way or between it and the unit; the rover is not in it."""
    times = floats(np.arange(0.0, scenario.numbers["passing"]["seconds"], WAY_STEP_S))
    way = rover.map_T_robot(np.minimum(times, scenario.seconds))[:, :2, 3]
    unit = np.broadcast_to(floats(scenario.numbers["start_xy_heading"][:2]), way.shape)
    return scene_beside_way(scenario, terrain, np.stack([way, unit], axis=1).reshape(-1, 2))


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
