"""Places on the WGS84 ellipsoid as places in a local frame, east north up."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

SEMI_MAJOR_AXIS_M = 6378137.0
FLATTENING = 1 / 298.257223563
ECCENTRICITY_SQUARED = FLATTENING * (2 - FLATTENING)


def earth_centred_from_geodetic(
    latitude_rad: ArrayLike, longitude_rad: ArrayLike, altitude_m: ArrayLike
) -> NDArray[np.float64]:
    """Earth-centred, earth-fixed positions (..., 3) in metres; altitudes are above the ellipsoid."""
    latitude, longitude, altitude = np.broadcast_arrays(
        *(np.asarray(value, float) for value in (latitude_rad, longitude_rad, altitude_m))
    )
    normal = SEMI_MAJOR_AXIS_M / np.sqrt(1 - ECCENTRICITY_SQUARED * np.sin(latitude) ** 2)
    ring = (normal + altitude) * np.cos(latitude)
    height = (normal * (1 - ECCENTRICITY_SQUARED) + altitude) * np.sin(latitude)
    return np.stack([ring * np.cos(longitude), ring * np.sin(longitude), height], axis=-1)


def enu_from_geodetic(geodetic: ArrayLike, origin: ArrayLike) -> NDArray[np.float64]:
    """East, north, up in metres (..., 3) from the origin (3,); both as latitude, longitude (rad) and altitude (m)."""
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
