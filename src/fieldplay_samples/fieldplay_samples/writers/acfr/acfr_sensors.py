"""What the processes make: images, and spans of the lasers' and the radar's files, which are joined in the end."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from fieldplay_samples.motion.rotations import (
    Floats,
    fixed_angles_from_rotation,
    floats,
    rotate_vectors,
)
from fieldplay_samples.robots.argo import wheel_rates
from fieldplay_samples.sensors import lidar
from fieldplay_samples.sensors.inertial import wandering
from fieldplay_samples.sensors.scanning_radar import (
    Radar,
    beam,
    directions,
    echo_powers,
    spectra,
    strongest,
)
from fieldplay_samples.sensors.weather import airborne_returns, depth_for_eye, lost_beams
from fieldplay_samples.world.rays import Rays
from fieldplay_samples.world.scene import GROUND, Hits, Scene
from fieldplay_samples.writers.acfr.acfr_images import (
    FOLDERS,
    AcfrStage,
    image_times,
    write_image,
)
from fieldplay_samples.writers.acfr.scenario import AcfrScenario, World
from fieldplay_samples.writers.text_tables import (
    Stamps,
    number_texts,
    stamp_texts,
    tagged_lines,
    tenths_block,
    write_lines,
)

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
METRES = 3  # the number of the unit
FLATTEST = 0.02
SENSORS = ("engine_rpm", "gearbox_rpm", "battery_12v", "battery_24v", "left_rad_s", "right_rad_s")  # ids 0 to 5
ROLLING_RAD_S = 0.02
STEP_S = 0.002  # between the lines of a round of messages
NED_R_ENU = floats([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
FLU_R_FRD = np.diag([1.0, -1.0, -1.0])
PAIRS = ((0, 3), (1, 4), (2, 5), (6, 9), (7, 10), (8, 11))  # a value and its rate
PARTS = ".parts"  # a folder that is gone in the end
RADAR_FILES = {
    "ranges": "RadarRangeBearing/RangeBearingQAsciiData.txt",
    "spectra": "RadarSpectrum/HSR_ScalarPoints1.txt",
}
Arrays = dict[str, np.ndarray[tuple[int, ...], np.dtype[np.uint8]] | Stamps]


# The lines of the four lasers, a span of time after the other: the work of the processes.
#
# What each beam came back from is kept beside them: solid things, a cloud, or a drop.


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
    count = int((scenario.seconds - first - lidar.TURN_S) / lidar.TURN_S) + 1
    return floats(first + np.arange(count) * lidar.TURN_S)


def line_stamps(scenario: AcfrScenario, laser: str) -> Stamps:
    """When each line is received (n,): after its last beam, half a turn later, and the way to the computer."""
    start = line_times(scenario, laser)
    delay = scenario.jitter_s(laser, len(start), scenario.numbers["laser_latency_s"])
    return scenario.stamps_of(start + 0.5 * lidar.TURN_S + delay)


def scans(scenario: AcfrScenario, scene: Scene, laser: str, *, lines: Integers) -> LaserLines:
    """Those lines (n,) of a laser."""
    start, model = line_times(scenario, laser)[lines], lidar.Sick(**scenario.numbers["laser"])
    time = (start[:, None] + lidar.beam_delays_s(lines)).ravel()
    rays = _rays(scenario, laser, time, angles_rad=lidar.beam_angles_rad(lines).reshape(-1))
    rng, air = (scenario.rng(f"{kind} {laser} {lines[0]}") for kind in ("noise", "air"))
    hits = scene.cast(rays.origins, rays.directions, farthest_m=model.farthest_m, spread_rad=SPREAD_RAD)
    end = np.minimum(hits.distance_m, model.farthest_m)
    depth = scenario.weather.laser * depth_for_eye(scenario.weather, rays, end, time_s=time)
    reach = lidar.reach_m(model, hits, rays, flicker=rng.standard_normal(len(end)), depth=depth)
    solid = np.where(hits.distance_m < reach, hits.distance_m, np.inf)
    floating, kind = airborne_returns(scenario.weather, rays, end, time_s=time, rng=air)
    solid[lost_beams(scenario.weather, time, air) & (kind == 0)] = np.inf
    noisy = np.where(kind > 0, floating, solid) + model.noise_m * rng.standard_normal(len(end))
    return LaserLines(
        line=lines,
        stamp_ns=line_stamps(scenario, laser)[lines],
        range_cm=lidar.centimetres(np.maximum(noisy, model.nearest_m)).reshape(len(lines), -1),
        kind=_count_kinds(kind.reshape(len(lines), -1), lines),
    )


def _rays(scenario: AcfrScenario, laser: str, time: Floats, *, angles_rad: Floats) -> Rays:
    poses = scenario.poses_at(time) @ scenario.robot.base_T_sensor[laser]
    return Rays(origins=poses[:, :3, 3], directions=rotate_vectors(poses[:, :3, :3], lidar.directions(angles_rad)))


def _count_kinds(kind: Kinds, lines: Integers) -> Kinds:
    kind[np.arange(lidar.BEAMS) >= lidar.beam_counts(lines)[:, None]] = 0
    return kind


def write_scans(path: Path, rows: LaserLines) -> None:
    """Write lines as the archive has them, and what came back beside them, as NumPy has it."""
    count, start = lidar.beam_counts(rows.line), lidar.start_angles_rad(rows.line)
    step = np.radians(1.0)
    heads = number_texts(np.stack([start, np.full_like(start, step), start + (count - 1) * step], axis=1), "%.8f")
    texts = [
        f"RANGE_DATA {head} {CENTIMETRES} {values} {' '.join(map(str, ranges[:values]))}"
        for head, values, ranges in zip(heads, count.tolist(), rows.range_cm.tolist(), strict=True)
    ]
    write_lines(path.with_suffix(".txt"), tagged_lines(rows.stamp_ns, texts))
    np.save(path.with_suffix(".npy"), rows.kind)


# What the radar measures: the spectrum of each sample, and of each the strongest peak.


@dataclass(frozen=True, eq=False, kw_only=True)
class Samples:
    """Samples (n,): when they are received, angles in degrees from 0 to 360, spectra in dB (n, bins)."""

    stamp_ns: Stamps
    angle_deg: Floats
    spectrum_db: Floats


def radar_of(scenario: AcfrScenario) -> Radar:
    """The radar."""
    numbers = scenario.numbers["radar"]
    pairs = {key: tuple(numbers[key]) for key in ("width_deg", "rays")}
    return Radar(**{**numbers, **pairs})


def sample_times(scenario: AcfrScenario) -> Floats:
    """When the samples are taken (n,)."""
    return floats(np.arange(round(scenario.seconds * scenario.numbers["radar"]["samples_hz"]))) * 1e-3


def angles_deg(scenario: AcfrScenario, time_s: Floats) -> Floats:
    """Angles (n,) from 0 to 360 about the radar's own z, to a thousandth; it does not turn quite evenly."""
    wobble, turns = scenario.numbers["radar_wobble"], scenario.numbers["radar"]["turns_hz"]
    uneven = wobble["deg"] * np.sin(2 * np.pi * time_s / wobble["period_s"])
    return floats(np.round(360.0 * turns * time_s + uneven, 3) % 360.0)


def radar_samples(scenario: AcfrScenario, world: World, *, numbers: Integers) -> Samples:
    """Those samples (n,)."""
    time, radar = sample_times(scenario)[numbers], radar_of(scenario)
    angle = angles_deg(scenario, time)
    aside, up, weight = beam(radar)
    local = directions(np.radians(angle)[:, None] + aside, np.broadcast_to(up, (len(angle), len(up))))
    poses = scenario.poses_at(time) @ scenario.robot.base_T_sensor["radar"]
    towards = np.einsum("nij,nbj->nbi", poses[:, :3, :3], local).reshape(-1, 3)
    origins = np.repeat(poses[:, :3, 3], len(weight), axis=0)
    farthest = float(radar.range_m(floats([radar.bins]))[0])
    hits = world.scene.cast(origins, towards, farthest_m=farthest, spread_rad=0.02)
    rng = scenario.rng(f"radar {numbers[0]}")
    distance = hits.distance_m.reshape(len(time), -1)
    reflectivity = reflectivities_db(world, hits, towards).reshape(distance.shape)
    reflectivity -= _rain_db_per_m(scenario, time)[:, None] * np.where(np.isfinite(distance), distance, 0.0)
    looks = scenario.numbers["radar_speckle"]
    power = weight * echo_powers(radar, distance, reflectivity) * rng.standard_gamma(looks, distance.shape) / looks
    delay = scenario.jitter_s("radar", len(sample_times(scenario)), (scenario.numbers["radar_latency_s"], 2e-5))
    stamps = scenario.stamps_of(sample_times(scenario) + delay)[numbers]
    return Samples(stamp_ns=stamps, angle_deg=angle, spectrum_db=spectra(radar, distance, power, rng=rng))


def reflectivities_db(world: World, hits: Hits, towards: Floats) -> Floats:
    """How well what rays (n,) meet sends them back: by its stuff; the ground the worse the flatter it is met."""
    facing = np.abs(np.einsum("nc,nc->n", hits.normal, towards))
    slant = 10.0 * np.log10(np.maximum(facing, FLATTEST) / 0.2)
    return floats(world.radar_db[hits.solid] + np.where(hits.solid == GROUND, slant, 0.0))


def _rain_db_per_m(scenario: AcfrScenario, time: Floats) -> Floats:
    rain = scenario.weather.rain
    return floats(rain.radar_db_per_m * rain.strength(time))


def write_samples(folder: Path, name: str, scenario: AcfrScenario, *, rows: Samples) -> None:
    """Write both files' lines for these samples, as `ranges_<name>.txt` and `spectra_<name>.txt`."""
    range_m, power = strongest(radar_of(scenario), rows.spectrum_db)
    numbers = number_texts(np.stack([range_m, power], axis=1), "%.4f")
    angles = number_texts(np.radians(rows.angle_deg)[:, None], "%.7f")
    texts = [
        f"RANGE_REFLECTIVITY_DATA {angle} 0 0 {METRES} 1 {pair}" for angle, pair in zip(angles, numbers, strict=True)
    ]
    write_lines(folder / f"ranges_{name}.txt", tagged_lines(rows.stamp_ns, texts))
    heads = [f"*{stamp} {angle:.3f}" for stamp, angle in zip(stamp_texts(rows.stamp_ns), rows.angle_deg, strict=True)]
    bodies = tenths_block(rows.spectrum_db)
    with (folder / f"spectra_{name}.txt").open("wb") as stream:
        for head, body in zip(heads, bodies, strict=True):
            stream.write(head.encode("ascii") + body.tobytes() + b"\n")


# The vehicle's own values: setpoints, brakes, engine, batteries, and what its wheels turn with.


@dataclass(frozen=True, eq=False, kw_only=True)
class Body:
    """What the vehicle does (n,): speed in m/s, turn in rad/s (left positive), its sides' rates (n, 2) in rad/s."""

    speed_m_s: Floats
    turn_rad_s: Floats
    wheels_rad_s: Floats


def body_at(scenario: AcfrScenario, time: Floats) -> Body:
    """The true motion at times (n,); the wheels without slip."""
    speed = scenario.drive.motion.body_velocity(time)[:, 0]
    turn = scenario.drive.motion.body_rate(time)[:, 2]
    return Body(speed_m_s=speed, turn_rad_s=turn, wheels_rad_s=wheel_rates(scenario.robot, speed, turn))


def payload_lines(scenario: AcfrScenario) -> list[str]:
    """The lines of PayloadData1.txt, in the order of time."""
    time = scenario.times("payload")
    stamps: list[Stamps] = []
    texts: list[list[str]] = []
    for number, (head, values) in enumerate(_messages(scenario, time)):
        stamps.append(scenario.unix_ns(time + number * STEP_S))
        texts.append([f"{head} {text}" for text in number_texts(values, "%.4f")])
    order = np.argsort(np.concatenate(stamps), kind="stable")
    flat = [text for of_type in texts for text in of_type]
    return tagged_lines(np.concatenate(stamps)[order], [flat[row] for row in order.tolist()])


def _messages(scenario: AcfrScenario, time: Floats) -> list[tuple[str, Floats]]:
    """The messages of a round: how each begins, and its values (n, m)."""
    body, numbers = body_at(scenario, time), scenario.numbers["payload"]
    throttle = np.clip(np.abs(body.speed_m_s) / scenario.numbers["limits"]["fastest_m_s"], 0.0, 1.0)[:, None]
    choke = np.full_like(throttle, 0.1)
    brakes = _brakes(numbers, body)
    sensors = sensor_values(scenario, body, time)
    heads = [f"SENSOR_DATA {number}" for number in range(len(SENSORS))]
    return [
        ("SERVO_SETPOINT_DATA", np.hstack([choke, throttle])),
        ("VELOCITY_TURN_RATE_DATA", np.stack([body.speed_m_s, -body.turn_rad_s], axis=1)),
        *((head, sensors[:, [column]]) for column, head in enumerate(heads)),
        ("BRAKE_DATA", np.hstack([brakes, numbers["brake_pressure"] * brakes])),
        ("ACTUATOR_SETPOINT_DATA", np.hstack([choke, throttle, brakes])),
    ]


def _brakes(numbers: dict[str, Any], body: Body) -> Floats:
    """Positions (n, 2) of the left and the right brakes, 0 to 1: the inner side is braked."""
    turn = numbers["brake_per_rad_s"] * body.turn_rad_s
    return floats(np.clip(np.stack([turn, -turn], axis=1), 0.0, 1.0))


def sensor_values(scenario: AcfrScenario, body: Body, time: Floats) -> Floats:
    """What the sensors with ids 0 to 5 say (n, 6)."""
    numbers, rng = scenario.numbers["payload"], scenario.rng("payload")
    rate, slip = scenario.numbers["rates_hz"]["payload"], numbers["slip"]
    slips = wandering(rng, count=len(time), rate_hz=rate, over_s=slip["wander_s"], axes=2)
    noise = numbers["noise_rad_s"] * rng.standard_normal((len(time), 2))
    rolling = np.abs(body.wheels_rad_s) > ROLLING_RAD_S
    wheels = body.wheels_rad_s * (1.0 + slip["share"] * slips) + rolling * noise
    engine, volts = numbers["engine_rpm"], numbers["volts"]
    rpm = engine["idle"] + engine["per_m_s"] * np.abs(body.speed_m_s) + engine["noise"] * rng.standard_normal(len(time))
    gearbox = numbers["gearbox_rpm_per_wheel_rpm"] * np.abs(wheels.mean(axis=1)) * 60.0 / (2 * np.pi)
    batteries = [volts[name] + volts["noise"] * rng.standard_normal(len(time)) for name in SENSORS[2:4]]
    return np.column_stack([rpm, gearbox, *batteries, wheels])


# Nav: position in UTM, velocity, angles and their rates, north east down, with a covariance of all twelve.


def nav_lines(scenario: AcfrScenario) -> list[str]:
    """The lines of NavQAsciiData.txt."""
    time = scenario.times("nav")
    numbers = number_texts(nav_values(scenario, time), "%.7f")
    matrix = number_texts(covariance(scenario).reshape(1, -1), "%.6e")[0]
    return tagged_lines(scenario.unix_ns(time), [f"NAV_DATA {values} {matrix}" for values in numbers])


def nav_values(scenario: AcfrScenario, time: Floats) -> Floats:
    """What Nav says (n, 12): north, east, down, their rates; roll, pitch, yaw, their rates; with errors."""
    values = true_values(scenario, time) + floats(scenario.numbers["nav"]["std"]) * _errors(scenario, len(time))
    values[:, 8] = (values[:, 8] + np.pi) % (2 * np.pi) - np.pi
    return values


def _errors(scenario: AcfrScenario, count: int) -> Floats:
    """Errors (count, 12) of deviation one; smooth, as an inertial unit carries them from fix to fix."""
    numbers, rng, rate = scenario.numbers["nav"], scenario.rng("nav"), scenario.numbers["rates_hz"]["nav"]
    groups = [wandering(rng, count=count, rate_hz=rate, over_s=seconds) for seconds in numbers["wander_s"]]
    spreads = [numbers["smooth_share"] * seconds * rate for seconds in numbers["wander_s"]]
    smooth = [gaussian_filter1d(group, width, axis=0) for group, width in zip(groups, spreads, strict=True)]
    return floats(np.hstack(smooth))


def true_values(scenario: AcfrScenario, time: Floats) -> Floats:
    """The same without errors."""
    origin, motion = scenario.numbers["origin"], scenario.drive.motion
    pose = motion.pose_at(time)
    position = pose[:, :3, 3] @ NED_R_ENU.T + [origin["north_m"], origin["east_m"], -origin["height_m"]]
    angles = fixed_angles_from_rotation(NED_R_ENU @ pose[:, :3, :3] @ FLU_R_FRD)
    if scenario.settings["yaw_reference"] == "true":
        angles[:, 2] += np.radians(origin["convergence_deg"])
    rates = motion.coordinates.at(time, 1)[:, 3:] * [1.0, -1.0, -1.0]
    return np.hstack([position, motion.velocity(time) @ NED_R_ENU.T, angles, rates])


def covariance(scenario: AcfrScenario) -> Floats:
    """The covariance (12, 12) of the columns."""
    numbers = scenario.numbers["nav"]
    std, correlation = floats(numbers["std"]), np.eye(len(numbers["std"]))
    for value, rate in PAIRS:
        correlation[value, rate] = correlation[rate, value] = numbers["coupling"]
    return floats(std[:, None] * correlation * std)


@dataclass(frozen=True, kw_only=True)
class Task:
    """Something to be made: a camera's image `first`, or the rows first to last of a laser or `radar`."""

    kind: str
    first: int
    last: int = 0


def tasks_of(scenario: AcfrScenario) -> list[Task]:
    """All that is to be made."""
    tasks = [Task(kind=name, first=number) for name in FOLDERS for number in range(len(image_times(scenario, name)))]
    counts = {laser: len(line_times(scenario, laser)) for laser in LASERS}
    for kind, count in {**counts, "radar": len(sample_times(scenario))}.items():
        tasks += [Task(kind=kind, first=first, last=last) for first, last in _spans(scenario, count)]
    return tasks


def _spans(scenario: AcfrScenario, count: int) -> list[tuple[int, int]]:
    """From which row to before which: spans of about the same length."""
    chunks = max(1, round(scenario.seconds / scenario.numbers["chunk_s"]))
    edges = np.linspace(0, count, chunks + 1).round().astype(int).tolist()
    return [(first, last) for first, last in pairwise(edges) if last > first]


def make_folders(folder: Path, scenario: AcfrScenario) -> None:
    """Make the folders of the archive that the tasks write into."""
    names = [PARTS, *(f"{name}/Images" for name in FOLDERS.values()), *LASERS.values()]
    for name in [*names, *(str(Path(file).parent) for file in RADAR_FILES.values())]:
        (folder / name).mkdir(parents=True)


def do_task(stage: AcfrStage, task: Task) -> None:
    """Make one image or part."""
    rows = np.arange(task.first, task.last)
    name = f"{task.kind}_{task.first:08d}"
    if task.kind in FOLDERS:
        write_image(stage, task.kind, task.first)
    elif task.kind == "radar":
        samples = radar_samples(stage.scenario, stage.world, numbers=rows)
        write_samples(stage.folder / PARTS, name, stage.scenario, rows=samples)
    else:
        task_rows = scans(stage.scenario, stage.world.scene, task.kind, lines=rows)
        write_scans(stage.folder / PARTS / name, task_rows)


def join_parts(folder: Path, scenario: AcfrScenario) -> Arrays:
    """Join the parts to the archive's files; what each beam came back from, and the lines' stamps, by laser."""
    parts, arrays = folder / PARTS, Arrays()
    for laser, name in LASERS.items():
        _join(sorted(parts.glob(f"{laser}_*.txt")), folder / name / FILE)
        kinds = [np.load(path) for path in sorted(parts.glob(f"{laser}_*.npy"))]
        arrays[f"{name}_stamp_ns"] = line_stamps(scenario, laser)
        arrays[f"{name}_airborne"] = np.concatenate(kinds)
    for kind, file in RADAR_FILES.items():
        _join(sorted(parts.glob(f"{kind}_*.txt")), folder / file)
    for path in parts.iterdir():
        path.unlink()
    parts.rmdir()
    return arrays


def _join(parts: list[Path], target: Path) -> None:
    with target.open("wb") as stream:
        for part in parts:
            stream.write(part.read_bytes())
