"""Rasters of heights as GeoTIFF files."""

from pathlib import Path

import numpy as np
import tifffile
from numpy.typing import NDArray

PIXEL_SCALE, TIE_POINT, KEYS, NODATA = 33550, 33922, 34735, 42113
DOUBLE, SHORT, ASCII = 12, 3, 2
PROJECTED, AREA, METRE = 1, 1, 9001
MODEL_TYPE, RASTER_TYPE, PROJECTION, UNITS = 1024, 1025, 3072, 3076


def write_raster(
    path: Path,
    heights_m: NDArray[np.floating],
    *,
    cell_m: float,
    west_north_m: tuple[float, float],
    epsg: int,
    nodata: float,
    with_units: bool = False,
) -> None:
    """Write heights (r, c), rows from north to south, whose outer north-west corner lies at an easting and northing.

    A projection that is known by its EPSG code; `with_units` says in its keys that lengths are in metres.
    """
    settings = {MODEL_TYPE: PROJECTED, RASTER_TYPE: AREA, PROJECTION: epsg}
    if with_units:
        settings[UNITS] = METRE
    keys = [1, 1, 0, len(settings)]
    for key, value in settings.items():
        keys += [key, 0, 1, value]
    text = f"{nodata:g}"
    tags = [
        (PIXEL_SCALE, DOUBLE, 3, (cell_m, cell_m, 0.0), True),
        (TIE_POINT, DOUBLE, 6, (0.0, 0.0, 0.0, *west_north_m, 0.0), True),
        (KEYS, SHORT, len(keys), tuple(keys), True),
        (NODATA, ASCII, len(text) + 1, text, True),
    ]
    raster = heights_m.astype(np.float32)
    tifffile.imwrite(path, raster, photometric="minisblack", rowsperstrip=16, metadata=None, extratags=tags)
