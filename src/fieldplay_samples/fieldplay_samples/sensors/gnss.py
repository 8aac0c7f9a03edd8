"""Satellite positions: geodetic coordinates on WGS 84 of a local plane, and how good the fixes are."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from pyproj import Transformer

from fieldplay_samples.motion.rotations import Floats, floats
from fieldplay_samples.sensors.inertial import wandering


@dataclass(frozen=True, kw_only=True)
class LocalOrigin:
    """Where a local plane (east north up) touches: latitude and longitude in rad, ellipsoidal altitude in m."""

    latitude_rad: float
    longitude_rad: float
    altitude_m: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Fixes:
    """How good fixes (n,) are: errors, deviations (n, 3) east north up in m; types 0 none, 3 SBAS, 6 float, 7 RTK."""

    error_m: Floats
    std_m: Floats
    fix_type: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class FixQuality:
    """Deviations in m of east, north, up with RTK; how fast they grow without, in m/s; over what time errors change."""

    rtk_std_m: tuple[float, float, float] = (0.008, 0.008, 0.015)
    growth_m_s: tuple[float, float, float] = (0.06, 0.06, 0.1)
    wander_s: float = 20.0


def geodetic_from_enu(origin: LocalOrigin, enu_m: Floats) -> Floats:
    """Latitudes, longitudes (rad) and ellipsoidal altitudes (m), (n, 3), of points (n, 3) of a local plane."""
    east, north, up = enu_m.T
    longitude, latitude, altitude = _plane(origin).transform(east, north, up, radians=True, direction="INVERSE")
    return np.stack([latitude, longitude, altitude], axis=1)


def enu_from_geodetic(origin: LocalOrigin, geodetic: Floats) -> Floats:
    """Points (n, 3) in m of the local plane from latitudes, longitudes (rad) and ellipsoidal altitudes (m), (n, 3)."""
    latitude, longitude, altitude = geodetic.T
    return np.stack(_plane(origin).transform(longitude, latitude, altitude, radians=True), axis=1)


@lru_cache(maxsize=4)
def _plane(origin: LocalOrigin) -> Transformer:
    """From longitude, latitude and altitude on WGS 84 to the plane that touches at the origin."""
    latitude, longitude = np.degrees([origin.latitude_rad, origin.longitude_rad])
    touches = f"+lat_0={float(latitude)!r} +lon_0={float(longitude)!r} +h_0={origin.altitude_m!r}"
    return Transformer.from_pipeline(
        f"+proj=pipeline +step +proj=cart +ellps=WGS84 +step +proj=topocentric +ellps=WGS84 {touches}"
    )


def fixes(
    time_s: Floats, rng: np.random.Generator, quality: FixQuality, *, outages_s: list[tuple[float, float]]
) -> Fixes:
    """Fixes of RTK quality at evenly spaced times (n,), with outages from .. to in which only coarse ones are left.

    In an outage deviations and errors grow; behind it they shrink back within half its time, with the type of a float.
    """
    rate = (len(time_s) - 1) / (time_s[-1] - time_s[0])
    missing = np.zeros(len(time_s))
    fix_type = np.full(len(time_s), 7)
    for start, end in outages_s:
        recovered = end + 0.5 * (end - start)
        missing += np.interp(time_s, [start, end, recovered], [0.0, end - start, 0.0])
        fix_type[(time_s >= start) & (time_s < recovered)] = 6
        fix_type[(time_s >= start) & (time_s < end)] = 3
    std = np.hypot(floats(quality.rtk_std_m), missing[:, None] * floats(quality.growth_m_s))
    error = std * wandering(rng, count=len(time_s), rate_hz=rate, over_s=quality.wander_s)
    return Fixes(error_m=floats(error), std_m=floats(std), fix_type=fix_type)
