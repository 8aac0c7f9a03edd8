"""Routes that come back to where they began: round with waves, to be driven from any place on, a bit beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fieldplay_samples.motion.frames import Floats, floats
from fieldplay_samples.motion.plan import Changes

STEPS = 16384  # of the turn, between which the way is straight enough to be added up
Activation = Sequence[float]  # how often in a turn, how high, its phase in rad


@dataclass(frozen=True, kw_only=True)
class Route:
    """A closed way to the left about a middle, length_m long; its radius has waves, shares of the mean one.

    `aside` are waves in m by which who drives it keeps out of it, the first of them as often as 0: all along.
    """

    length_m: float
    waves: tuple[Activation, ...] = ()
    aside: tuple[Activation, ...] = ()

    @cached_property
    def mean_radius_m(self) -> float:
        """The radius without its waves, by which the route has its length."""
        return self.length_m / float(_way(*_wavy(_turn(), 1.0, self.waves))[-1])

    @cached_property
    def _travelled(self) -> tuple[Floats, Floats]:
        """Angles (n,) about the middle in rad, and how long (n,) the way is to there, for whoever keeps aside."""
        turn = _turn()
        return turn, _way(*self._radius(turn))

    @property
    def driven_m(self) -> float:
        """How long a lap is, kept aside."""
        return float(self._travelled[1][-1])

    def turn_at(self, way_m: Floats) -> Floats:
        """Angles (n,) about the middle, in rad, after so much of the way (n,), any number of laps."""
        laps = np.floor(way_m / self.driven_m)
        turn, way = self._travelled
        return floats(np.interp(way_m - laps * self.driven_m, way, turn) + 2 * np.pi * laps)

    def place(self, turn_rad: Floats) -> tuple[Floats, Floats, Floats]:
        """Places x, y (n,) in m from the middle, and heading (n,) in rad, at angles (n,)."""
        radius, slope, _ = self._radius(turn_rad)
        heading = turn_rad + np.arctan2(radius, slope)
        return radius * np.cos(turn_rad), radius * np.sin(turn_rad), floats(heading)

    def curvature_1_m(self, turn_rad: Floats) -> Floats:
        """The curvature (n,) at angles (n,)."""
        radius, slope, bend = self._radius(turn_rad)
        return floats((radius**2 + 2 * slope**2 - radius * bend) / (radius**2 + slope**2) ** 1.5)

    def _radius(self, turn_rad: Floats) -> tuple[Floats, Floats, Floats]:
        """The radius (n,) and its first and second derivative by the angle (n,)."""
        along, beside = _wavy(turn_rad, 1.0, self.waves), _wavy(turn_rad, 0.0, self.aside)
        first, second, third = (self.mean_radius_m * a + b for a, b in zip(along, beside, strict=True))
        return first, second, third


def _turn() -> Floats:
    return floats(np.linspace(0.0, 2 * np.pi, STEPS + 1))


def _wavy(turn_rad: Floats, mean: float, waves: tuple[Activation, ...]) -> tuple[Floats, Floats, Floats]:
    """A radius (n,) with its first and second derivative."""
    value, slope, bend = np.full_like(turn_rad, mean), np.zeros_like(turn_rad), np.zeros_like(turn_rad)
    for count, height, phase in waves:
        angle = count * turn_rad + phase
        value += height * np.cos(angle)
        slope -= height * count * np.sin(angle)
        bend -= height * count**2 * np.cos(angle)
    return value, slope, bend


def _way(radius_m: Floats, slope: Floats, _: Floats) -> Floats:
    """How long the way is to each of the steps of a turn (n,)."""
    rate = np.hypot(radius_m, slope)
    steps = 0.5 * (rate[1:] + rate[:-1]) * (2 * np.pi / STEPS)
    return np.concatenate([[0.0], np.cumsum(steps)])


@dataclass(frozen=True, kw_only=True)
class CurvatureAlong:
    """The curvature that a route asks for over time, driven with a speed from a place on it on."""

    route: Route
    from_m: float
    speed_m_s: Changes

    def at(self, time_s: Floats) -> Floats:
        """The curvatures (m,) at times (m,)."""
        return self.route.curvature_1_m(self.route.turn_at(self.from_m + self.speed_m_s.integral_at(time_s)))
