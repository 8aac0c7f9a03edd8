"""The plan of a drive: speed along the path and curvature of the path, as smooth functions of time.

A plan is a row of legs. Within a leg that drives, first the speed changes to the leg's own, then the curvature; before
a standstill or a change of direction the speed goes to zero. The curvature changes only while the robot moves, so that
of the path is continuous; both functions have two continuous derivatives.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from fieldplay_samples.motion.rotations import Floats, floats

SPEED_SHARE, CURVATURE_SHARE = 0.3, 0.36  # of a leg, at most, for each going over
LONGEST_SPEED_CHANGE_S, LONGEST_CURVATURE_CHANGE_S = 1.5, 4.0
STEEPEST = 1.875  # slope of the smooth step at its middle
STEPS = 16384  # of the turn, between which the way is straight enough to be added up
Activation = Sequence[float]  # how often in a turn, how high, its phase in rad


@dataclass(frozen=True, kw_only=True)
class DriveLimits:
    """What a robot may do: speeds in m/s (absolute), the least radius in m, the largest acceleration in m/s2."""

    slowest_m_s: float = 0.2
    fastest_m_s: float = 0.8
    least_radius_m: float = 2.0
    acceleration_m_s2: float = 1.6


@dataclass(frozen=True, kw_only=True)
class Leg:
    """A part of a drive: its share of the time, speed (negative backwards, 0 at rest), curvature (left positive)."""

    fraction: float
    speed_m_s: float
    curvature_1_m: float = 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Changes:
    """A function of time, zero at first, that changes by smooth steps one after the other: (n,) each."""

    start_s: Floats
    duration_s: Floats
    amount: Floats

    def at(self, time_s: Floats) -> Floats:
        """The values (m,) at the times (m,)."""
        current = np.maximum(np.searchsorted(self.start_s, time_s, side="right") - 1, 0)
        before = np.concatenate([[0.0], np.cumsum(self.amount)])[current]
        progress = (time_s - self.start_s[current]) / self.duration_s[current]
        return floats(before + self.amount[current] * smooth_step(progress))

    def integral_at(self, time_s: Floats) -> Floats:
        """The integral (m,) of the function from before its first change to the times (m,)."""
        progress = (time_s[:, None] - self.start_s) / self.duration_s
        return floats(integral_of_step(progress) @ (self.amount * self.duration_s))


class OverTime(Protocol):
    """A function of time."""

    def at(self, time_s: Floats) -> Floats:
        """The values (m,) at the times (m,)."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class DrivePlan:
    """A drive of so many seconds; speed in m/s (negative: backwards), curvature in 1/m."""

    seconds: float
    speed_m_s: OverTime
    curvature_1_m: OverTime


def smooth_step(progress: Floats) -> Floats:
    """From 0 to 1 over progress 0..1, with first and second derivatives of zero at both ends."""
    x = np.clip(progress, 0.0, 1.0)
    return floats(x * x * x * (10.0 + x * (6.0 * x - 15.0)))


def integral_of_step(progress: Floats) -> Floats:
    """The integral of `smooth_step` from 0 on."""
    x = np.clip(progress, 0.0, 1.0)
    return floats(x * x * x * x * (2.5 + x * (x - 3.0)) + np.maximum(progress - 1.0, 0.0))


def plan_from_legs(legs: list[Leg], seconds: float) -> DrivePlan:
    """The plan of legs (the first and the last stand still) whose shares are stretched over the seconds."""
    ends_s = np.cumsum([leg.fraction for leg in legs]) * (seconds / sum(leg.fraction for leg in legs))
    starts = np.concatenate([[0.0], ends_s[:-1]])
    speed: list[tuple[float, float, float]] = []
    curvature: list[tuple[float, float, float]] = []
    last_curvature = last_speed = 0.0
    for number, (leg, start, end) in enumerate(zip(legs, starts, ends_s, strict=True)):
        if leg.speed_m_s == 0.0:
            continue
        change = min(LONGEST_SPEED_CHANGE_S, SPEED_SHARE * (end - start))
        steer = min(LONGEST_CURVATURE_CHANGE_S, CURVATURE_SHARE * (end - start))
        speed.append((start, change, leg.speed_m_s - last_speed))
        curvature.append((start + change, steer, leg.curvature_1_m - last_curvature))
        last_speed, last_curvature = leg.speed_m_s, leg.curvature_1_m
        if legs[number + 1].speed_m_s * leg.speed_m_s <= 0.0:
            speed.append((end - change, change, -leg.speed_m_s))
            last_speed = 0.0
    return DrivePlan(seconds=seconds, speed_m_s=_changes(speed), curvature_1_m=_changes(curvature))


def plan_drive(seconds: float, rng: np.random.Generator, limits: DriveLimits) -> DrivePlan:
    """A drive with curves to both sides, a stop and a way backwards, again and again when there is time for more."""
    if seconds < 8.0:
        legs = _short_round(rng, limits)
    else:
        rounds = max(1, round(seconds / 25.0))
        legs = [leg for _ in range(rounds) for leg in _long_round(rng, limits)]
    legs = [Leg(fraction=0.08 * sum(leg.fraction for leg in legs) / (1 + seconds / 20), speed_m_s=0.0), *legs]
    legs.append(Leg(fraction=legs[0].fraction, speed_m_s=0.0))
    return plan_from_legs(_no_faster_than_possible(legs, seconds, limits), seconds)


def _short_round(rng: np.random.Generator, limits: DriveLimits) -> list[Leg]:
    left, right = _curvatures(rng, limits, 2)
    return [
        Leg(fraction=0.42, speed_m_s=_speed(rng, limits), curvature_1_m=left),
        Leg(fraction=0.08, speed_m_s=0.0),
        Leg(fraction=0.34, speed_m_s=-_speed(rng, limits) / 2.0, curvature_1_m=-right),
    ]


def _long_round(rng: np.random.Generator, limits: DriveLimits) -> list[Leg]:
    left, right, back, again = _curvatures(rng, limits, 4)
    return [
        Leg(fraction=0.24, speed_m_s=_speed(rng, limits), curvature_1_m=left),
        Leg(fraction=0.18, speed_m_s=_speed(rng, limits), curvature_1_m=-right / 2.0),
        Leg(fraction=0.05, speed_m_s=0.0),
        Leg(fraction=0.16, speed_m_s=-_speed(rng, limits) / 2.0, curvature_1_m=back / 2.0),
        Leg(fraction=0.04, speed_m_s=0.0),
        Leg(fraction=0.24, speed_m_s=_speed(rng, limits), curvature_1_m=-again),
    ]


def _speed(rng: np.random.Generator, limits: DriveLimits) -> float:
    middle = 0.5 * (limits.slowest_m_s + limits.fastest_m_s)
    return float(rng.uniform(middle, limits.fastest_m_s))


def _curvatures(rng: np.random.Generator, limits: DriveLimits, count: int) -> list[float]:
    return [float(fraction) / limits.least_radius_m for fraction in rng.uniform(0.55, 1.0, count)]


def _no_faster_than_possible(legs: list[Leg], seconds: float, limits: DriveLimits) -> list[Leg]:
    whole = sum(leg.fraction for leg in legs)
    result = []
    for leg in legs:
        change = min(LONGEST_SPEED_CHANGE_S, SPEED_SHARE * leg.fraction / whole * seconds)
        highest = max(limits.slowest_m_s, min(limits.fastest_m_s, limits.acceleration_m_s2 * change / STEEPEST))
        lowest = limits.slowest_m_s if leg.speed_m_s else 0.0
        speed = float(np.sign(leg.speed_m_s) * np.clip(abs(leg.speed_m_s), lowest, highest))
        result.append(Leg(fraction=leg.fraction, speed_m_s=speed, curvature_1_m=leg.curvature_1_m))
    return result


def _changes(rows: list[tuple[float, float, float]]) -> Changes:
    start, duration, amount = floats(rows).reshape(-1, 3).T
    return Changes(start_s=start, duration_s=duration, amount=amount)


# Routes that come back to where they began: round with waves, to be driven from any place on, a bit beside it.


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
        return self.length_m / float(_path_lengths(*_wavy(_turn(), 1.0, self.waves))[-1])

    @cached_property
    def _travelled(self) -> tuple[Floats, Floats]:
        """Angles (n,) about the middle in rad, and how long (n,) the way is to there, for whoever keeps aside."""
        turn = _turn()
        return turn, _path_lengths(*self._radius(turn))

    @property
    def driven_m(self) -> float:
        """How long a lap is, kept aside."""
        return float(self._travelled[1][-1])

    def turn_at(self, distance_m: Floats) -> Floats:
        """Angles (n,) about the middle, in rad, after so much of the way (n,), any number of laps."""
        laps = np.floor(distance_m / self.driven_m)
        turn, distance = self._travelled
        return floats(np.interp(distance_m - laps * self.driven_m, distance, turn) + 2 * np.pi * laps)

    def pose_at(self, turn_rad: Floats) -> tuple[Floats, Floats, Floats]:
        """Positions x, y (n,) in m from the centre, and heading (n,) in rad, at angles (n,)."""
        radius, slope, _ = self._radius(turn_rad)
        heading = turn_rad + np.arctan2(radius, slope)
        return radius * np.cos(turn_rad), radius * np.sin(turn_rad), floats(heading)

    def curvature_1_m(self, turn_rad: Floats) -> Floats:
        """The curvature (n,) at angles (n,)."""
        radius, slope, bend = self._radius(turn_rad)
        return floats((radius**2 + 2 * slope**2 - radius * bend) / (radius**2 + slope**2) ** 1.5)

    def _radius(self, turn_rad: Floats) -> tuple[Floats, Floats, Floats]:
        """The radius (n,) and its first and second derivative by the angle (n,)."""
        along, across = _wavy(turn_rad, 1.0, self.waves), _wavy(turn_rad, 0.0, self.aside)
        first, second, third = (self.mean_radius_m * a + b for a, b in zip(along, across, strict=True))
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


def _path_lengths(radius_m: Floats, slope: Floats, _: Floats) -> Floats:
    """Path lengths up to each of the steps of a turn (n,)."""
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
