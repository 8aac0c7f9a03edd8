"""A sample of Rosario: the robot drives along the furrows of a field, in the files of the raw archive or as its bag.

Economies: images at 5 Hz instead of 15, every second pixel computed (both are settings). The folder holds all that
belongs to a sequence, with the calibration file and the ground truth that the server has beside it; or the bag alone.
What the paper leaves open (labels, fields without a meaning, offsets) is as data/rosario.yaml says.
"""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from fieldplay_samples.data import numbers_of
from fieldplay_samples.output_folder import SampleTruth
from fieldplay_samples.robots.ackermann import wheel_speeds
from fieldplay_samples.write_sample import SampleOptions
from fieldplay_samples.writers.parallel import Progress, run_tasks
from fieldplay_samples.writers.rosario import raw_logs
from fieldplay_samples.writers.rosario.authors_bag import write_bag
from fieldplay_samples.writers.rosario.scenario import RosarioScenario, make_scenario, make_world, write_calibration
from fieldplay_samples.writers.rosario.stereo_images import RosarioStage, views_of, write_image
from fieldplay_samples.writers.text_tables import write_lines


@dataclass(frozen=True, eq=False, kw_only=True)
class SensorRows:
    """What all sensors but the cameras measure."""

    imu: raw_logs.ImuRows
    gps: raw_logs.GpsRows
    odometry: raw_logs.OdometryRows


def settings() -> dict[str, Any]:
    """What may be set, with the defaults."""
    return dict(numbers_of("rosario")["settings"])


def write_archive(folder: Path, options: SampleOptions, progress: Progress) -> SampleTruth:
    """Write the archive's files into a folder; the truth behind them."""
    scenario = make_scenario(options.seed, options.seconds, dict(options.settings))
    rows = _measure(scenario)
    if options.settings["bag"]:
        with TemporaryDirectory(prefix="pictures", dir=folder) as images:
            _write_images(Path(images), scenario, options=options, progress=progress)
            _write_bag(folder, scenario, rows, Path(images))
        return _truth(scenario)
    _write_logs(folder, scenario, rows)
    (folder / "zed").mkdir()
    _write_images(folder / "zed", scenario, options=options, progress=progress)
    return _truth(scenario)


def _measure(scenario: RosarioScenario) -> SensorRows:
    speeds = wheel_speeds(scenario.robot, scenario.wheels, scenario.times("odometry"))
    return SensorRows(
        imu=raw_logs.imu_rows(scenario),
        gps=raw_logs.gps_rows(scenario),
        odometry=raw_logs.odometry_rows(scenario, speeds),
    )


def _write_bag(folder: Path, scenario: RosarioScenario, rows: SensorRows, images: Path) -> None:
    path = folder / f"sequence{scenario.name}.bag"
    write_bag(path, scenario, imu=rows.imu, gps=rows.gps, odometry=rows.odometry, images=images)


def _write_logs(folder: Path, scenario: RosarioScenario, rows: SensorRows) -> None:
    numbers, track = scenario.numbers, raw_logs.track_from_start(scenario, rows.gps)
    texts = {
        "imu.log": raw_logs.imu_lines(rows.imu),
        "gps.log": raw_logs.gps_lines(rows.gps, hdop=numbers["hdop"], geoid_m=numbers["geoid_m"]),
        "odometry_raw.log": raw_logs.odometry_lines(rows.odometry),
        f"sequence{scenario.name}_gt.txt": raw_logs.track_lines(rows.gps.gga_ns, track),
    }
    for name, lines in texts.items():
        write_lines(folder / name, lines)
    write_calibration(folder / f"calibration{scenario.name}.yaml", scenario.rig)


def _write_images(folder: Path, scenario: RosarioScenario, *, options: SampleOptions, progress: Progress) -> None:
    stage = RosarioStage(scenario=scenario, scene=make_world(scenario), folder=folder)
    run_tasks(write_image, stage, views_of(scenario), workers=options.workers, progress=progress)


def _truth(scenario: RosarioScenario) -> SampleTruth:
    time, wheels = scenario.times("truth"), scenario.wheels
    return SampleTruth(
        stamp_ns=scenario.unix_ns(time),
        map_T_base=scenario.drive.motion.pose_at(time),
        velocity_m_s=scenario.drive.motion.velocity(time),
        others={
            "travelled_m": np.asarray(scenario.drive.travelled_m.at(time)),
            "speed_m_s": wheels.speed_m_s.at(time),
            "turn_rad_s": wheels.turn_rad_s.at(time),
            "steering_rad": wheels.steering_rad.at(time),
        },
    )
