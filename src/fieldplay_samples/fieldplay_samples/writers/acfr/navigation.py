"""Nav: position in UTM, velocity, angles and their rates, north east down, with a covariance of all twelve."""

import numpy as np
from scipy.ndimage import gaussian_filter1d

from fieldplay_samples.motion.frames import Floats, fixed_angles_from_rotation, floats
from fieldplay_samples.sensors.inertial import wandering
from fieldplay_samples.writers.acfr.lines import marked_lines, number_texts
from fieldplay_samples.writers.acfr.scenario import AcfrScenario

NED_R_ENU = floats([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
FLU_R_FRD = np.diag([1.0, -1.0, -1.0])
PAIRS = ((0, 3), (1, 4), (2, 5), (6, 9), (7, 10), (8, 11))  # a value and its rate


def nav_lines(scenario: AcfrScenario) -> list[str]:
    """The lines of NavQAsciiData.txt."""
    time = scenario.times("nav")
    numbers = number_texts(nav_values(scenario, time), "%.7f")
    matrix = number_texts(covariance(scenario).reshape(1, -1), "%.6e")[0]
    return marked_lines(scenario.unix_ns(time), [f"NAV_DATA {values} {matrix}" for values in numbers])


def nav_values(scenario: AcfrScenario, time: Floats) -> Floats:
    """What Nav says (n, 12): north, east, down, their rates; roll, pitch, yaw, their rates; with errors."""
    values = true_values(scenario, time) + floats(scenario.numbers["nav"]["std"]) * _errors(scenario, len(time))
    values[:, 8] = (values[:, 8] + np.pi) % (2 * np.pi) - np.pi
    return values


def _errors(scenario: AcfrScenario, count: int) -> Floats:
    """Errors (count, 12) of deviation one; smooth, as an inertial unit carries them from fix to fix."""
    numbers, rng, rate = scenario.numbers["nav"], scenario.rng("nav"), scenario.numbers["rates_hz"]["nav"]
    groups = [wandering(rng, count=count, rate_hz=rate, over_s=seconds) for seconds in numbers["wander_s"]]
    kept = [numbers["smooth_share"] * seconds * rate for seconds in numbers["wander_s"]]
    smooth = [gaussian_filter1d(group, width, axis=0) for group, width in zip(groups, kept, strict=True)]
    return floats(np.hstack(smooth))


def true_values(scenario: AcfrScenario, time: Floats) -> Floats:
    """The same without errors."""
    origin, motion = scenario.numbers["origin"], scenario.drive.motion
    pose = motion.pose_at(time)
    place = pose[:, :3, 3] @ NED_R_ENU.T + [origin["north_m"], origin["east_m"], -origin["height_m"]]
    angles = fixed_angles_from_rotation(NED_R_ENU @ pose[:, :3, :3] @ FLU_R_FRD)
    if scenario.settings["yaw_reference"] == "true":
        angles[:, 2] += np.radians(origin["convergence_deg"])
    rates = motion.coordinates.at(time, 1)[:, 3:] * [1.0, -1.0, -1.0]
    return np.hstack([place, motion.velocity(time) @ NED_R_ENU.T, angles, rates])


def covariance(scenario: AcfrScenario) -> Floats:
    """The covariance (12, 12) of the columns."""
    numbers = scenario.numbers["nav"]
    std, correlation = floats(numbers["std"]), np.eye(len(numbers["std"]))
    for value, rate in PAIRS:
        correlation[value, rate] = correlation[rate, value] = numbers["coupling"]
    return floats(std[:, None] * correlation * std)
