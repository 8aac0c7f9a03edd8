"""The lines of the four lasers, a span of time after the other: the work of the processes.

What each beam came back from is kept beside them: solid things, a cloud, or a drop.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.motion.frames import Floats, floats, turned
from fieldplay_samples.sensors import sick
from fieldplay_samples.sensors.weather import airborne_returns, depth_for_eye, lost
from fieldplay_samples.world.rays import Rays
from fieldplay_samples.world.scene import Scene
from fieldplay_samples.writers.acfr.lines import marked_lines, number_texts, write_lines
from fieldplay_samples.writers.acfr.scenario import AcfrScenario
from fieldplay_samples.writers.tables import Stamps

LASERS = {
    "laser_horizontal": "LaserHorizontal",
    "laser_port": "LaserPort",
    "laser_starboard": "LaserStarboard",
    "laser_vertical": "LaserVertical",
}
FILE = "RangeBearingQAsciiData.txt"
CENTIMETRES = 2  # the number of the unit
SPREAD_RAD = 0.01
Kinds = NDArray[np.uint8]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class LaserLines:
    """Lines (n,) of a laser by their numbers: when they are received, ranges in cm (n, 181), what came back (n, 181).

    Of a line of 180 values the last one does not count.
    """

    line: Integers
    stamp_ns: Stamps
    range_cm: Integers
    kind: Kinds


def line_times(scenario: AcfrScenario, laser: str) -> Floats:
    """When the mirror is at -90 degrees (n,), for each line that ends within the sample."""
    first = scenario.numbers["laser_offsets_s"][laser]
    count = int((scenario.seconds - first - sick.TURN_S) / sick.TURN_S) + 1
    return floats(first + np.arange(count) * sick.TURN_S)


def line_stamps(scenario: AcfrScenario, laser: str) -> Stamps:
    """When each line is received (n,): after its last beam, half a turn later, and the way to the computer."""
    start = line_times(scenario, laser)
    delay = scenario.jitter_s(laser, len(start), scenario.numbers["laser_latency_s"])
    return scenario.stamps_of(start + 0.5 * sick.TURN_S + delay)


def scans(scenario: AcfrScenario, scene: Scene, laser: str, *, lines: Integers) -> LaserLines:
    """Those lines (n,) of a laser."""
    start, model = line_times(scenario, laser)[lines], sick.Sick(**scenario.numbers["laser"])
    time = (start[:, None] + sick.beam_delays_s(lines)).ravel()
    rays = _rays(scenario, laser, time, angles_rad=sick.beam_angles_rad(lines).reshape(-1))
    rng, air = (scenario.rng(f"{kind} {laser} {lines[0]}") for kind in ("noise", "air"))
    hits = scene.cast(rays.origins, rays.directions, farthest_m=model.farthest_m, spread_rad=SPREAD_RAD)
    end = np.minimum(hits.distance_m, model.farthest_m)
    depth = scenario.weather.laser * depth_for_eye(scenario.weather, rays, end, time_s=time)
    reach = sick.reach_m(model, hits, rays, flicker=rng.standard_normal(len(end)), depth=depth)
    solid = np.where(hits.distance_m < reach, hits.distance_m, np.inf)
    floating, kind = airborne_returns(scenario.weather, rays, end, time_s=time, rng=air)
    solid[lost(scenario.weather, time, air) & (kind == 0)] = np.inf
    noisy = np.where(kind > 0, floating, solid) + model.noise_m * rng.standard_normal(len(end))
    return LaserLines(
        line=lines,
        stamp_ns=line_stamps(scenario, laser)[lines],
        range_cm=sick.centimetres(np.maximum(noisy, model.nearest_m)).reshape(len(lines), -1),
        kind=_counted(kind.reshape(len(lines), -1), lines),
    )


def _rays(scenario: AcfrScenario, laser: str, time: Floats, *, angles_rad: Floats) -> Rays:
    poses = scenario.poses_at(time) @ scenario.robot.base_T_sensor[laser]
    return Rays(origins=poses[:, :3, 3], directions=turned(poses[:, :3, :3], sick.directions(angles_rad)))


def _counted(kind: Kinds, lines: Integers) -> Kinds:
    kind[np.arange(sick.BEAMS) >= sick.beam_counts(lines)[:, None]] = 0
    return kind


def write_scans(path: Path, rows: LaserLines) -> None:
    """Write lines as the archive has them, and what came back beside them, as NumPy has it."""
    count, start = sick.beam_counts(rows.line), sick.start_angles_rad(rows.line)
    step = np.radians(1.0)
    heads = number_texts(np.stack([start, np.full_like(start, step), start + (count - 1) * step], axis=1), "%.8f")
    texts = [
        f"RANGE_DATA {head} {CENTIMETRES} {values} {' '.join(map(str, ranges[:values]))}"
        for head, values, ranges in zip(heads, count.tolist(), rows.range_cm.tolist(), strict=True)
    ]
    write_lines(path.with_suffix(".txt"), marked_lines(rows.stamp_ns, texts))
    np.save(path.with_suffix(".npy"), rows.kind)
