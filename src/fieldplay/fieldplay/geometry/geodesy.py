"""Positions on the WGS84 ellipsoid and in local frames, east north up."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

SEMI_MAJOR_AXIS_M = 6378137.0
FLATTENING = 1 / 298.257223563
ECCENTRICITY_SQUARED = FLATTENING * (2 - FLATTENING)


def earth_centred_from_geodetic(
    latitude_rad: ArrayLike, longitude_rad: ArrayLike, altitude_m: ArrayLike
) -> NDArray[np.float64]:
    """Convert positions on the WGS84 ellipsoid to earth-centred, earth-fixed ones.

    Args:
        latitude_rad: geodetic latitudes (...) in rad.
        longitude_rad: longitudes (...) in rad.
        altitude_m: heights (...) in m above the ellipsoid, not above the sea.

    Returns:
        Positions (..., 3) in m.
    """
    latitude, longitude, altitude = np.broadcast_arrays(
        *(np.asarray(value, float) for value in (latitude_rad, longitude_rad, altitude_m))
    )
    normal = SEMI_MAJOR_AXIS_M / np.sqrt(1 - ECCENTRICITY_SQUARED * np.sin(latitude) ** 2)
    ring = (normal + altitude) * np.cos(latitude)
    height = (normal * (1 - ECCENTRICITY_SQUARED) + altitude) * np.sin(latitude)
    return np.stack([ring * np.cos(longitude), ring * np.sin(longitude), height], axis=-1)


def enu_from_geodetic(geodetic: ArrayLike, origin: ArrayLike) -> NDArray[np.float64]:
    """Convert positions on the WGS84 ellipsoid to a local frame, east north up.

    Args:
        geodetic: latitude in rad, longitude in rad and height in m above the ellipsoid (..., 3).
        origin: the origin of the local frame (3,), in the same units.

    Returns:
        Positions (..., 3) in m in the plane that touches the ellipsoid at the origin: far away they lie below it.

    Example:
        >>> enu_from_geodetic(np.radians([46.001, 8.0, 0.0]), np.radians([46.0, 8.0, 0.0]))[1].round(1).item()
        111.2
    """
    geodetic, origin = np.asarray(geodetic, float), np.asarray(origin, float)
    difference = earth_centred_from_geodetic(*np.moveaxis(geodetic, -1, 0)) - earth_centred_from_geodetic(*origin)
    sin_lat, cos_lat, sin_lon, cos_lon = np.sin(origin[0]), np.cos(origin[0]), np.sin(origin[1]), np.cos(origin[1])
    enu_from_earth = np.array(
        [
            [-sin_lon, cos_lon, 0.0],
            [-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat],
            [cos_lat * cos_lon, cos_lat * sin_lon, sin_lat],
        ]
    )
    enu: NDArray[np.float64] = difference @ enu_from_earth.T
    return enu
