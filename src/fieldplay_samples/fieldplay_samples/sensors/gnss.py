"""Satellite positions: geodetic coordinates on WGS 84 of a local plane, and how good the fixes are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.motion.rotations import Floats, floats
from fieldplay_samples.sensors.inertial import wandering

SEMI_MAJOR_M, FLATTENING = 6378137.0, 1.0 / 298.257223563
SEMI_MINOR_M = SEMI_MAJOR_M * (1.0 - FLATTENING)
SQUARED = FLATTENING * (2.0 - FLATTENING)  # first eccentricity
ITERATIONS = 4  # of Bowring's formula; one is good for a fraction of a millimetre


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
    reference = floats([[origin.latitude_rad, origin.longitude_rad, origin.altitude_m]])
    return geodetic_from_ecef(ecef_from_geodetic(reference) + enu_m @ enu_R_ecef(origin))


def enu_from_geodetic(origin: LocalOrigin, geodetic: Floats) -> Floats:
    """Points (n, 3) in m of the local plane from latitudes, longitudes (rad) and ellipsoidal altitudes (m), (n, 3)."""
    reference = floats([[origin.latitude_rad, origin.longitude_rad, origin.altitude_m]])
    return floats((ecef_from_geodetic(geodetic) - ecef_from_geodetic(reference)) @ enu_R_ecef(origin).T)


def enu_R_ecef(origin: LocalOrigin) -> Floats:
    """The rotation (3, 3) whose rows are east, north and up."""
    sin_lat, cos_lat = np.sin(origin.latitude_rad), np.cos(origin.latitude_rad)
    sin_lon, cos_lon = np.sin(origin.longitude_rad), np.cos(origin.longitude_rad)
    east = [-sin_lon, cos_lon, 0.0]
    north = [-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat]
    return floats([east, north, [cos_lat * cos_lon, cos_lat * sin_lon, sin_lat]])


def ecef_from_geodetic(geodetic: Floats) -> Floats:
    """Earth-centred coordinates (n, 3) in m from latitudes, longitudes (rad) and ellipsoidal altitudes (m), (n, 3)."""
    latitude, longitude, altitude = geodetic.T
    prime = SEMI_MAJOR_M / np.sqrt(1.0 - SQUARED * np.sin(latitude) ** 2)
    across = (prime + altitude) * np.cos(latitude)
    z = (prime * (1.0 - SQUARED) + altitude) * np.sin(latitude)
    return np.stack([across * np.cos(longitude), across * np.sin(longitude), z], axis=1)


def geodetic_from_ecef(ecef_m: Floats) -> Floats:
    """Latitudes, longitudes (rad) and ellipsoidal altitudes (m), (n, 3), of earth-centred coordinates (n, 3)."""
    x, y, z = ecef_m.T
    across = np.hypot(x, y)
    second = SQUARED / (1.0 - SQUARED)
    reduced = np.arctan2(z * SEMI_MAJOR_M, across * SEMI_MINOR_M)
    for _ in range(ITERATIONS):
        up = z + second * SEMI_MINOR_M * np.sin(reduced) ** 3
        latitude = np.arctan2(up, across - SQUARED * SEMI_MAJOR_M * np.cos(reduced) ** 3)
        reduced = np.arctan2(SEMI_MINOR_M * np.sin(latitude), SEMI_MAJOR_M * np.cos(latitude))
    prime = SEMI_MAJOR_M / np.sqrt(1.0 - SQUARED * np.sin(latitude) ** 2)
    altitude = across * np.cos(latitude) + z * np.sin(latitude) - prime * (1.0 - SQUARED * np.sin(latitude) ** 2)
    return np.stack([latitude, np.arctan2(y, x), altitude], axis=1)


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
