"""A sample of SherpaTT: it drives among rocks or around a box, or another rover passes: logs of rover and stereo unit.

The rover's logs are of the framework's own types in microseconds; the stereo unit's come from a ROS bag, in parts. What
the archives leave open is as data/sherpatt.yaml says. Economies: every fourth pixel, a turn of the lidar in two.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from fieldplay_samples.data import numbers_of
from fieldplay_samples.output_folder import SampleTruth
from fieldplay_samples.write_sample import SampleOptions
from fieldplay_samples.writers.parallel import Progress, run_tasks
from fieldplay_samples.writers.sherpatt import rover_logs, unit_views
from fieldplay_samples.writers.sherpatt import scenario as passing
from fieldplay_samples.writers.sherpatt.rover_logs import WrittenStream, write_log, write_settings
from fieldplay_samples.writers.sherpatt.scenario import BOX_TRUTH as TRUTH
from fieldplay_samples.writers.sherpatt.scenario import (
    PASSING,
    SherpattScenario,
    box_truth,
    make_scenario,
    make_world,
    route_of,
)
from fieldplay_samples.writers.sherpatt.unit_views import write_surface

UNIT = "recording_20181127-111500"


def settings() -> dict[str, Any]:
    """What may be set, with the defaults."""
    return dict(numbers_of("sherpatt")["settings"])


def usual_seconds(settings: dict[str, Any]) -> float | None:
    """How long the drive is that is asked for, where it has an end of its own."""
    if settings["scene"] == PASSING:
        return float(numbers_of("sherpatt")["passing"]["seconds"])
    route = route_of(settings)
    return None if route is None else route.seconds()


def write_archive(folder: Path, options: SampleOptions, progress: Progress) -> SampleTruth:
    """Write the archive's files into a folder; the truth behind them."""
    scenario = make_scenario(options.seed, options.seconds, dict(options.settings))
    for name, streams in _logs(scenario).items():
        write_log(folder / f"{name}_InFuse.msg", streams)
    write_surface(folder / "2018_11_27_dsm.tif", scenario)
    write_settings(folder / f"{UNIT}_tf.msg", _frames(scenario))
    write_settings(folder / f"{UNIT}_camera.msg", _cameras(scenario))
    with TemporaryDirectory(prefix="views", dir=folder) as views_folder:
        scratch = Path(views_folder)
        _make_views(scratch, scenario, options=options, progress=progress)
        unit_views.write_images(folder, scratch, scenario, prefix=UNIT)
        write_log(
            folder / "velodyne_lidar_Logger_InFuse.msg", {unit_views.SCANS: unit_views.scans_log(scratch, scenario)}
        )
        write_log(
            folder / "sherpa_tt_slam_Logger_InFuse.msg", {unit_views.CLOUD: unit_views.cloud_log(scratch, scenario)}
        )
    return _truth(scenario)


def _logs(scenario: SherpattScenario) -> dict[str, dict[str, WrittenStream]]:
    return {
        "sherpa_tt_mcs_Logger": {rover_logs.ODOMETRY: rover_logs.odometry_log(scenario)},
        "sherpa_tt_mcs_Logger_Joints": {rover_logs.JOINTS: rover_logs.joints_log(scenario)},
        "body_joint_Logger": {rover_logs.BODY_JOINT: rover_logs.body_joint_log(scenario)},
        "dgps_Logger": {rover_logs.DGPS: rover_logs.dgps_log(scenario)},
        "pom_Logger": {rover_logs.POM: rover_logs.pom_log(scenario)},
    }


def _frames(scenario: SherpattScenario) -> dict[Any, Any]:
    rows = scenario.numbers["settings_tf"]
    return {(row[0], row[1]): {"translation": row[2:5], "rotation": row[5:9]} for row in rows}


def _cameras(scenario: SherpattScenario) -> dict[str, Any]:
    """Intrinsics by the topic of the camera's information; the baseline stands with the right one alone."""
    numbers, cameras = scenario.numbers["camera"], {}
    matrix = [[numbers["f"], 0.0, numbers["cx"]], [0.0, numbers["f"], numbers["cy"]], [0.0, 0.0, 1.0]]
    for side, baseline in (("left", 0.0), ("right", numbers["baseline"])):
        coefficients = scenario.numbers["coefficients"][side]
        inner = {"cameraMatrix": matrix, "distCoeffs": coefficients, "cameraModel": "cam_PINHOLE"}
        cameras[f"/hcru1/pt_stereo_rect/{side}/camera_info"] = {"baseline": baseline, "intrinsic": inner}
    for topic in ("/hcru1/pt_color/left/camera_info", "/hcru1/pt_stereo_sgm/camera_info"):
        inner = {"cameraMatrix": matrix, "distCoeffs": [0.0] * 5, "cameraModel": "cam_PINHOLE"}
        cameras[topic] = {"baseline": 0.0, "intrinsic": inner}
    return cameras


def _make_views(scratch: Path, scenario: SherpattScenario, *, options: SampleOptions, progress: Progress) -> None:
    stage = unit_views.SherpattStage(scenario=scenario, scene=make_world(scenario), folder=scratch)
    run_tasks(unit_views.make_view, stage, unit_views.views_of(scenario), workers=options.workers, progress=progress)


def _truth(scenario: SherpattScenario) -> SampleTruth:
    time = scenario.times("truth")
    return SampleTruth(
        stamp_ns=scenario.unix_ns(time),
        map_T_base=scenario.drive.motion.pose_at(time),
        velocity_m_s=scenario.drive.motion.velocity(time),
        others={"travelled_m": np.asarray(scenario.drive.travelled_m.at(time))},
        arrays=_further_truth(scenario),
    )


def _further_truth(scenario: SherpattScenario) -> dict[str, dict[str, Any]]:
    """Of a box or of another rover, by the times of images."""
    time = unit_views.image_times(scenario)
    map_T_left = scenario.drive.motion.pose_at(time) @ scenario.body_T_camera()["left"]
    stamps = scenario.unix_ns(time)
    if scenario.passing is not None:
        return {passing.PASSING_TRUTH: passing.passing_truth(scenario.passing, time, stamps, map_T_left)}
    return {} if scenario.box is None else {TRUTH: box_truth(scenario.box, stamps, map_T_left)}
