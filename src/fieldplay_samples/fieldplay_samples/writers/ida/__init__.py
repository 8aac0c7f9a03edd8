"""A sample of IDA: three motions of a lander's arm as a bundle of products, with status, history and parameters.

A grapple takes up the seismometer, the scoop presses into the ground and gives way to a blade, the blade scrapes. Each
motion lasts as long as requested; between them lie sols. What the archive leaves open is as data/ida.yaml says.
Or, as the scene `touch`, one motion: the scoop touches the ground here and there, with the true ground beside it.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fieldplay_samples.data import numbers_of
from fieldplay_samples.motion.rotations import Floats, floats, transform
from fieldplay_samples.output_folder import SampleTruth
from fieldplay_samples.robots.insight import bent_pose, lander_arm
from fieldplay_samples.write_sample import SampleOptions
from fieldplay_samples.writers.ida.labelled_products import (
    POSES,
    WrittenProduct,
    sclk_at,
    setting_lines,
    write_lander_position,
    write_motion,
    write_text,
)
from fieldplay_samples.writers.ida.motion_table import (
    TOUCH,
    TRUTH,
    Course,
    Readings,
    Stand,
    arm_status,
    course_of,
    grid_of,
    ground_of,
    history,
    read,
    scene_of,
    system_status,
    tools_of,
    touching_motion,
    unix_ns_of,
)
from fieldplay_samples.writers.parallel import Progress
from fieldplay_samples.writers.text_tables import NS_PER_S, Stamps

LANDER_IN_PAYLOAD_MM = (-775.084, -283.360, -956.056)
SCIHI, SCILO, STATUS, HISTORY, PARAMETERS = 87, 88, 89, 85, 86


def settings() -> dict[str, Any]:
    """What may be set, with the defaults."""
    return dict(numbers_of("ida")["settings"])


def usual_seconds(settings: dict[str, Any]) -> float | None:
    """How long a motion is that touches the ground so often; None for the others."""
    if settings["scene"] != TOUCH:
        return None
    return float(numbers_of("ida")["touch"]["seconds"] * (settings["touches"] + 1))


def write_archive(folder: Path, options: SampleOptions, progress: Progress) -> SampleTruth:
    """Write the archive's files into a folder; the truth behind them."""
    numbers, sets, scene = numbers_of("ida"), numbers_of("ida_parameters"), scene_of(options.settings)
    arm = lander_arm(numbers["arm"], sets, numbers["gravity"])
    stand = Stand(arm=arm, tools=tools_of(numbers), numbers=numbers, ground=ground_of(numbers, scene))
    motions = numbers["motions"]
    if scene == TOUCH:
        motions = [touching_motion(numbers, int(options.settings["touches"]))]
    (folder / "data_ancillary").mkdir()
    if options.settings["parameters"]:
        _write_parameters(folder, numbers, sets, label=bool(options.settings["label"]))
    write_lander_position(folder, LANDER_IN_PAYLOAD_MM)
    truths = []
    for done, motion in enumerate(motions):
        course = course_of(motion, stand.arm, numbers, options.seconds)
        readings = read(stand, course, np.random.default_rng([options.seed, motion["sclk"]]))
        stamps = unix_ns_of(motion, course.time_s)
        _write_motion(folder, motion, (course, readings, stamps), options=options, is_last=motion is motions[-1])
        truths.append((stamps, course, readings))
        progress(done + 1, len(motions))
    return _truth(stand, truths)


def _write_motion(
    folder: Path,
    motion: dict[str, Any],
    what: tuple[Course, Readings, Stamps],
    *,
    options: SampleOptions,
    is_last: bool,
) -> None:
    course, readings, stamps = what
    numbers, label = numbers_of("ida"), bool(options.settings["label"])
    sclk = sclk_at(motion, stamps, int(stamps[0]))
    is_relative = options.settings["clock_column"] == "relative"
    shown = numbers["relative_begin_s"] + course.time_s if is_relative else floats(sclk)
    rows = list(_rows(shown, course, readings))
    high = WrittenProduct(
        application=SCIHI,
        kind="SciHi",
        sol=motion["sol"],
        sclk=(motion["sclk"], int(np.ceil(sclk[-1]))),
        start_ns=int(stamps[0]),
        stop_ns=int(stamps[-1]),
    )
    write_motion(folder, high, rows, label=label)
    if motion.get("low_rate"):
        every = round(numbers["rates_hz"]["science"] / numbers["rates_hz"]["scilo"])
        write_motion(folder, replace(high, application=SCILO, kind="SciLo"), rows[::every], label=label)
    lines = [*arm_status(readings, -1, sclk[-1]), *system_status(course, readings, len(sclk) - 1, sclk[-1])]
    write_text(folder, replace(high, application=STATUS, kind="Status"), "006_arm_float.txt", lines, label=label)
    if is_last:
        lines = history(course, readings, sclk, numbers["history_records"])
        past = replace(high, application=HISTORY, kind="History")
        write_text(folder, past, "000_system_float.txt", lines, label=label)


def _rows(shown: Floats, course: Course, readings: Readings) -> Any:
    """The 58 values of each row."""
    elapsed = (course.time_s - course.time_s[0]) / 3600.0
    parts = [
        np.column_stack(
            [shown, elapsed, readings.encoders, readings.pots, readings.case, readings.rotor, readings.grapple]
        ),
        np.column_stack([readings.current, readings.volts, readings.status, course.tool]),
        np.column_stack([readings.poses[pose] for pose in POSES]),
        np.column_stack([readings.velocity, readings.torque, readings.force]),
        np.column_stack([np.full(len(shown), numbers_of("ida")["sensors"]["heater_a"]), course.phase]),
    ]
    return np.column_stack(parts).tolist()


def _write_parameters(folder: Path, numbers: dict[str, Any], sets: dict[str, Any], *, label: bool) -> None:
    sclk = numbers["parameter_sclk"]
    count, tdt, rate = numbers["parameter_clock"]
    unix_ns = round((946_728_000 - 69.184 + tdt + (sclk - count) * rate) * 1000) * 1_000_000
    product = WrittenProduct(
        application=PARAMETERS, sol=20, sclk=(sclk, sclk), start_ns=unix_ns, stop_ns=unix_ns, kind="Parameters"
    )
    lines = [f"SCLK = {sclk}.0000", ""]
    for name, values in sets.items():
        lines.append(f"Parameter Set: {name}")
        lines += [line for key, value in values.items() for line in setting_lines(key, value)]
        lines.append("")
    write_text(folder, product, "012.txt", lines, label=label)


def _truth(stand: Stand, truths: list[tuple[Stamps, Course, Readings]]) -> SampleTruth:
    """Poses of the bent arm's hand in the map, and the joints' true angles; the tool's true place in the payload."""
    x, y, z, w = stand.numbers["quaternion_local_level_payload"]
    vector = floats([x, y, z])
    cross = floats([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    level_R_payload = (w * w - vector @ vector) * np.eye(3) + 2 * np.outer(vector, vector) + 2 * w * cross
    map_T_payload = transform(floats([[0, 1, 0], [1, 0, 0], [0, 0, -1]]) @ level_R_payload, np.zeros(3))
    poses, angles, tools, stamps, speeds = [], [], [], [], []
    for stamp_ns, course, readings in truths:
        bent = bent_pose(stand.arm, course.angles_rad, readings.true_load_kg, readings.true_tool).effector
        poses.append(floats(map_T_payload @ bent))
        speeds.append(np.gradient(poses[-1][:, :3, 3], (stamp_ns - stamp_ns[0]) / NS_PER_S, axis=0))
        angles.append(course.angles_rad)
        tools.append(readings.true_tool)
        stamps.append(stamp_ns)
    names = [f"q{joint}_rad" for joint in range(1, 5)] + ["tool_x_m", "tool_y_m", "tool_z_m"]
    columns = np.hstack([np.concatenate(angles), np.concatenate(tools)])
    return SampleTruth(
        stamp_ns=np.concatenate(stamps),
        map_T_base=np.concatenate(poses),
        velocity_m_s=np.concatenate(speeds),
        others={name: columns[:, number] for number, name in enumerate(names)},
        arrays={TRUTH: _contacts(stand, truths)} if stand.ground.bends else {},
    )


def _contacts(stand: Stand, truths: list[tuple[Stamps, Course, Readings]]) -> dict[str, Any]:
    """The true ground about the places, and where and how hard the tool truly was on it."""
    (stamps, _, readings), *_ = truths
    rows = readings.press_n > 0
    touched = {"stamp_ns": stamps[rows], "tool_m": readings.true_tool[rows], "press_n": readings.press_n[rows]}
    return {**grid_of(stand.ground, readings.true_tool), **touched, "load_kg": np.array(stand.ground.load_kg)}
