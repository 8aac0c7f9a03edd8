"""The planar path of a plan: where a robot is that follows speed and curvature without slipping."""

from dataclasses import dataclass

import numpy as np

from fieldplay_samples.motion.frames import Floats, floats
from fieldplay_samples.motion.plan import DrivePlan
from fieldplay_samples.motion.splines import spline_through

KNOT_S = 0.025
NODES, WEIGHTS = np.polynomial.legendre.leggauss(4)  # on -1..1


@dataclass(frozen=True, eq=False, kw_only=True)
class Path:
    """Knots of a planar path, all (n,): times, position (m) and heading (rad) in the world, travelled way (m)."""

    time_s: Floats
    x_m: Floats
    y_m: Floats
    heading_rad: Floats
    travelled_m: Floats
    curvature_1_m: Floats


def path_of_plan(plan: DrivePlan, *, start_xy_m: tuple[float, float], start_heading_rad: float) -> Path:
    """Integrate speed and curvature over time, from a start in the world's plane."""
    time = knots_s(plan.seconds)
    nodes = _nodes(time)
    speed, curvature = plan.speed_m_s.at(nodes), plan.curvature_1_m.at(nodes)
    heading = start_heading_rad + _integral(time, speed * curvature)
    along = spline_through(time, heading).at(nodes)
    return Path(
        time_s=time,
        x_m=start_xy_m[0] + _integral(time, speed * np.cos(along)),
        y_m=start_xy_m[1] + _integral(time, speed * np.sin(along)),
        heading_rad=heading,
        travelled_m=_integral(time, np.abs(speed)),
        curvature_1_m=plan.curvature_1_m.at(time),
    )


def knots_s(seconds: float) -> Floats:
    """The times (n,) at which what happens in so many seconds is computed; splines are between them."""
    return floats(np.linspace(0.0, seconds, max(8, round(seconds / KNOT_S)) + 1))


def _nodes(time_s: Floats) -> Floats:
    """The times (4 (n - 1),) of Gauss and Legendre's rule between n times."""
    middle, half = 0.5 * (time_s[1:] + time_s[:-1]), 0.5 * np.diff(time_s)
    return floats((middle[:, None] + half[:, None] * NODES).ravel())


def _integral(time_s: Floats, at_nodes: Floats) -> Floats:
    steps = 0.5 * np.diff(time_s) * (at_nodes.reshape(-1, len(NODES)) @ WEIGHTS)
    return np.concatenate([[0.0], np.cumsum(steps)])
