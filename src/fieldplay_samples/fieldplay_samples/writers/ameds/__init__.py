"""A sample of AMEDS: one traverse, or a rock picking, of the rover Interact in the published files.

Economies: cameras at 5 Hz instead of 30, every fourth pixel computed (both are settings), small videos. Clouds are of
full rate and size. What the paper leaves open is as it prints it, or as data/ameds.yaml says.
"""

from pathlib import Path
from typing import Any

import numpy as np

from fieldplay_samples.data import numbers_of
from fieldplay_samples.output_folder import SampleTruth
from fieldplay_samples.write_sample import SampleOptions
from fieldplay_samples.writers.ameds.ameds_cameras import AmedsStage, make_view, views_of
from fieldplay_samples.writers.ameds.platform_tables import ins_tables, platform_tables, write_feeds
from fieldplay_samples.writers.ameds.scenario import AmedsScenario, make_scenario, make_world, write_ground
from fieldplay_samples.writers.parallel import Progress, run_tasks
from fieldplay_samples.writers.text_tables import write_table


def settings() -> dict[str, Any]:
    """What may be set, with the defaults."""
    return dict(numbers_of("ameds")["settings"])


def write_archive(folder: Path, options: SampleOptions, progress: Progress) -> SampleTruth:
    """Write the archive's files into a folder; the truth behind them."""
    scenario = make_scenario(options.seed, options.seconds, dict(options.settings))
    for name, table in {**ins_tables(scenario), **platform_tables(scenario)}.items():
        write_table(folder / name, table, header=bool(options.settings["header"]))
    if options.settings["ground_model"]:
        write_ground(folder / "heightmap.tif", scenario)
    stage = AmedsStage(scenario=scenario, scene=make_world(scenario), folder=folder)
    run_tasks(make_view, stage, views_of(scenario), workers=options.workers, progress=progress)
    write_feeds(scenario, folder)
    return _truth(scenario)


def _truth(scenario: AmedsScenario) -> SampleTruth:
    time = scenario.times("ins")
    steer, speed = scenario.wheels.steer_rad.at(time), scenario.wheels.rolled_m.at(time, 1)
    return SampleTruth(
        stamp_ns=scenario.unix_ns(time),
        map_T_base=scenario.drive.motion.pose_at(time),
        velocity_m_s=scenario.drive.motion.velocity(time),
        others={
            "travelled_m": np.asarray(scenario.drive.travelled_m.at(time)),
            **{f"steer_{wheel + 1}_rad": steer[:, wheel] for wheel in range(4)},
            **{f"rim_speed_{wheel + 1}_m_s": speed[:, wheel] for wheel in range(4)},
        },
    )
