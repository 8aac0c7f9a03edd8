"""A base whose wheels are not steered: it turns as one side drives faster than the other, and skids over the ground.

Base axes are forward, left, up. A side's wheels all turn at one rate (rad/s), positive where they drive forward. The
track is the effective one, wider than from wheel to wheel: wheels that skid turn the base less than rolling ones.
"""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldplay.geometry.transforms import Array

LEFT, RIGHT = 0, 1
NS_PER_S = 1e9


@dataclass(frozen=True, kw_only=True)
class SkidSteerBase:
    """The radius on which a wheel rolls, and the effective track."""

    wheel_radius_m: float
    track_m: float

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not value > 0:
                raise ValueError(f"{item.name}: expected more than 0, got {value}")


@dataclass(frozen=True, kw_only=True)
class SkidSteerErrors:
    """Standard deviations of what the wheels say, the shares in parts of a speed.

    Of each side's speed: a part that is always there, and a share of it, as wheels slip and a radius is not quite
    known. Of the turn rate: a share, as the track depends on the ground. The slide to the side: a share of how much
    faster one side is than the other.
    """

    speed_std_m_s: float
    slip_share: float
    track_share: float
    slide_share: float


@dataclass(frozen=True, kw_only=True, eq=False)
class ZeroOrderHold:
    """The latest rate of each side (2,) in rad/s, NaN where there was none, when it came (2,), and the latest row."""

    rates: Array
    came_ns: NDArray[np.int64]
    stamp_ns: int


def held_rates(
    before: ZeroOrderHold | None, stamp_ns: NDArray[np.int64], rates: ArrayLike, *, longest_hold_s: float
) -> tuple[Array, ZeroOrderHold]:
    """Rates (n, 2) of both sides at times (n,), from rates (n, 2) that are NaN where a row has none of a side.

    A side keeps its latest rate for the longest hold; after that it is NaN until it is heard of again.
    """
    given = np.asarray(rates, float)
    start = before or ZeroOrderHold(rates=np.full(2, np.nan), came_ns=np.zeros(2, np.int64), stamp_ns=int(stamp_ns[0]))
    values = np.concatenate([start.rates[None], given])
    came = np.concatenate([start.came_ns[None], np.repeat(stamp_ns[:, None], 2, axis=1)])
    places = np.arange(len(values))[:, None]
    is_new = np.isfinite(values)
    is_new[0] = True
    latest = np.maximum.accumulate(np.where(is_new, places, 0), axis=0)
    found = np.take_along_axis(values, latest, axis=0)
    found_ns: NDArray[np.int64] = np.take_along_axis(came, latest, axis=0)
    last = ZeroOrderHold(rates=found[-1], came_ns=found_ns[-1], stamp_ns=int(stamp_ns[-1]))
    is_stale = stamp_ns[:, None] - found_ns[1:] > round(longest_hold_s * NS_PER_S)
    return np.where(is_stale, np.nan, found[1:]), last


def twists_from_wheel_rates(base: SkidSteerBase, wheel_rates: ArrayLike) -> Array:
    """Twists (..., 3) of the base as vx, vy (0), turn rate, from the rates (..., 2) of the left and right wheels."""
    rims = np.asarray(wheel_rates, float) * base.wheel_radius_m
    left, right = rims[..., LEFT], rims[..., RIGHT]
    return np.stack([(left + right) / 2, np.zeros_like(left), (right - left) / base.track_m], axis=-1)


def wheel_rates_from_twists(base: SkidSteerBase, twists: ArrayLike) -> Array:
    """Rates (..., 2) of the left and right wheels in rad/s that twists (..., 3) need; vy cannot be driven."""
    twists = np.asarray(twists, float)
    forward, aside = twists[..., 0], twists[..., 2] * base.track_m / 2
    rates: Array = np.stack([forward - aside, forward + aside], axis=-1) / base.wheel_radius_m
    return rates


def covariances_from_wheel_rates(base: SkidSteerBase, errors: SkidSteerErrors, wheel_rates: ArrayLike) -> Array:
    """Covariances (n, 3, 3) of the twists: errors of the sides are independent, so speed and turn rate share them."""
    rims = np.asarray(wheel_rates, float) * base.wheel_radius_m
    floor = errors.speed_std_m_s**2
    of_sides = floor + (errors.slip_share * rims) ** 2
    left, right = of_sides[:, LEFT], of_sides[:, RIGHT]
    faster = rims[:, RIGHT] - rims[:, LEFT]
    covariances = np.zeros((len(rims), 3, 3))
    covariances[:, 0, 0] = (left + right) / 4
    covariances[:, 1, 1] = floor + (errors.slide_share * faster) ** 2
    covariances[:, 0, 2] = covariances[:, 2, 0] = (right - left) / (2 * base.track_m)
    covariances[:, 2, 2] = (left + right + (errors.track_share * faster) ** 2) / base.track_m**2
    return covariances
