"""The ground model of a surveying drone: heights above the ellipsoid on the UTM grid, as a GeoTIFF."""

from pathlib import Path

import numpy as np
import tifffile
from pyproj import Transformer

from fieldplay_samples.motion.frames import floats
from fieldplay_samples.sensors.gnss import enu_from_geodetic
from fieldplay_samples.writers.ameds.scenario import AmedsScenario

PIXEL_SCALE, TIE_POINT, KEYS, NODATA = 33550, 33922, 34735, 42113
DOUBLE, SHORT, ASCII = 12, 3, 2
PROJECTED, AREA, METRE = 1, 1, 9001


def write_ground(path: Path, scenario: AmedsScenario) -> None:
    """Write the heights below the drive and around it; a corner is left empty."""
    numbers = scenario.numbers["ground_model"]
    cell, beyond, epsg = (numbers[name] for name in ("cell_m", "beyond_m", "epsg"))
    to_grid = Transformer.from_crs(4979, epsg, always_xy=True)
    lander = scenario.lander
    east0, north0 = to_grid.transform(np.degrees(lander.longitude_rad), np.degrees(lander.latitude_rad))
    driven = scenario.drive.motion.pose_at(scenario.times("arms"))[:, :2, 3]
    low, high = driven.min(axis=0) - beyond, driven.max(axis=0) + beyond
    east = east0 + np.arange(low[0], high[0], cell) + cell / 2
    north = north0 + np.arange(high[1], low[1], -cell) - cell / 2
    grid = np.meshgrid(east, north)
    longitude, latitude = to_grid.transform(grid[0].ravel(), grid[1].ravel(), direction="INVERSE")
    level = np.full(latitude.shape, lander.altitude_m)
    places = enu_from_geodetic(lander, floats(np.stack([np.radians(latitude), np.radians(longitude), level], axis=1)))
    heights = lander.altitude_m + scenario.terrain.height_m(places[:, 0], places[:, 1]) - places[:, 2]
    raster = heights.reshape(len(north), len(east)).astype(np.float32)
    raster[:4, :6] = numbers["nodata"]
    keys = (1, 1, 0, 4, 1024, 0, 1, PROJECTED, 1025, 0, 1, AREA, 3072, 0, 1, epsg, 3076, 0, 1, METRE)
    nodata = f"{numbers['nodata']:g}"
    tags = [
        (PIXEL_SCALE, DOUBLE, 3, (cell, cell, 0.0), True),
        (TIE_POINT, DOUBLE, 6, (0.0, 0.0, 0.0, east[0] - cell / 2, north[0] + cell / 2, 0.0), True),
        (KEYS, SHORT, len(keys), keys, True),
        (NODATA, ASCII, len(nodata) + 1, nodata, True),
    ]
    tifffile.imwrite(path, raster, photometric="minisblack", rowsperstrip=16, metadata=None, extratags=tags)
