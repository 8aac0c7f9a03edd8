"""A sample of ACFR's Marulan datasets: the Argo drives over a field, or stands before the published scene.

OUT is the folder of a dataset. Economies: the visual camera at 2.5 Hz, as an image has 4 MB, and every fourth pixel
computed (both are settings); all else has its published rate and size. Beside OUT stands, besides the truth,
`OUT.airborne.npz`: per laser the stamps of its lines and what each beam came back from (0 a solid thing or nothing,
1 dust or smoke, 2 a drop). What the report leaves open is as data/acfr.yaml and data/argo.yaml say.
"""

from pathlib import Path
from typing import Any

import numpy as np

from fieldplay_samples.data import numbers_of
from fieldplay_samples.motion.rotations import Floats, floats
from fieldplay_samples.output_folder import SampleTruth
from fieldplay_samples.sensors.weather import depth_for_eye
from fieldplay_samples.world.rays import Rays
from fieldplay_samples.write_sample import SampleOptions
from fieldplay_samples.writers.acfr.acfr_images import FOLDERS, AcfrStage, write_log
from fieldplay_samples.writers.acfr.acfr_sensors import (
    body_at,
    do_task,
    join_parts,
    make_folders,
    nav_lines,
    payload_lines,
    tasks_of,
)
from fieldplay_samples.writers.acfr.scenario import AcfrScenario, make_scenario, make_world
from fieldplay_samples.writers.parallel import Progress, run_tasks
from fieldplay_samples.writers.text_tables import write_lines

AHEAD_M = 12.0


def settings() -> dict[str, Any]:
    """What may be set, with the defaults."""
    return dict(numbers_of("acfr")["settings"])


def write_archive(folder: Path, options: SampleOptions, progress: Progress) -> SampleTruth:
    """Write the archive's files into a folder; the truth behind them."""
    scenario = make_scenario(options.seed, options.seconds, dict(options.settings))
    make_folders(folder, scenario)
    write_lines(folder / "Nav" / "NavQAsciiData.txt", nav_lines(scenario))
    if not scenario.is_static:
        write_lines(folder / "Payload" / "PayloadData1.txt", payload_lines(scenario))
    for camera in FOLDERS:
        write_log(folder, scenario, camera)
    stage = AcfrStage(scenario=scenario, world=make_world(scenario), folder=folder)
    run_tasks(do_task, stage, tasks_of(scenario), workers=options.workers, progress=progress)
    return _truth(scenario, {"airborne": join_parts(folder, scenario)})


def _truth(scenario: AcfrScenario, arrays: dict[str, Any]) -> SampleTruth:
    time = scenario.times("truth")
    body = body_at(scenario, time)
    return SampleTruth(
        stamp_ns=scenario.unix_ns(time),
        map_T_base=scenario.poses_at(time),
        velocity_m_s=scenario.drive.motion.velocity(time),
        others={
            "travelled_m": np.asarray(scenario.drive.travelled_m.at(time)),
            "speed_m_s": body.speed_m_s,
            "turn_rad_s": body.turn_rad_s,
            "left_wheel_rad_s": body.wheels_rad_s[:, 0],
            "right_wheel_rad_s": body.wheels_rad_s[:, 1],
            "optical_depth_ahead": optical_depth_ahead(scenario, time),
        },
        arrays=arrays,
    )


def optical_depth_ahead(scenario: AcfrScenario, time: Floats) -> Floats:
    """How deep (n,) dust, smoke or rain are for the eye at times (n,), over 12 m along the horizontal laser's axis."""
    pose = scenario.poses_at(time) @ scenario.robot.base_T_sensor["laser_horizontal"]
    rays = Rays(origins=pose[:, :3, 3], directions=pose[:, :3, 0])
    return depth_for_eye(scenario.weather, rays, floats(np.full(len(time), AHEAD_M)), time_s=time)
