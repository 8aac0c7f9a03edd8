"""The surface model beside the logs: heights on a grid of the map, as a GeoTIFF."""

from pathlib import Path

import numpy as np
import tifffile

from fieldplay_samples.writers.sherpatt.scenario import SherpattScenario

PIXEL_SCALE, TIE_POINT, KEYS, NODATA = 33550, 33922, 34735, 42113
DOUBLE, SHORT, ASCII = 12, 3, 2
PROJECTED, AREA = 1, 1


def write_surface(path: Path, scenario: SherpattScenario) -> None:
    """Write heights about the start; a corner is left empty."""
    numbers = scenario.numbers["surface"]
    x, y, _ = scenario.numbers["start_xy_heading"]
    steps = (np.arange(numbers["cells"]) + 0.5) * numbers["cell"]
    east = x - numbers["west_of_start"] + steps
    north = y + numbers["north_of_start"] - steps
    heights = numbers["offset"] + scenario.terrain.height_m(east[None, :], north[:, None])
    heights[:20, :30] = numbers["nodata"]
    left = numbers["easting_of_start"] - numbers["west_of_start"]
    top = numbers["northing_of_start"] + numbers["north_of_start"]
    keys = (1, 1, 0, 3, 1024, 0, 1, PROJECTED, 1025, 0, 1, AREA, 3072, 0, 1, numbers["epsg"])
    nodata = f"{numbers['nodata']:g}"
    tags = [
        (PIXEL_SCALE, DOUBLE, 3, (numbers["cell"], numbers["cell"], 0.0), True),
        (TIE_POINT, DOUBLE, 6, (0.0, 0.0, 0.0, left, top, 0.0), True),
        (KEYS, SHORT, len(keys), keys, True),
        (NODATA, ASCII, len(nodata) + 1, nodata, True),
    ]
    tifffile.imwrite(
        path, heights.astype(np.float32), photometric="minisblack", rowsperstrip=32, metadata=None, extratags=tags
    )
