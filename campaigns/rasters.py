"""GeoTIFFs: where the directory is untouched each height is that of its bytes."""

import io
import random
from itertools import product

import numpy as np
import tifffile

from campaigns.frame import Found, Inputs, WrongError
from campaigns.mutations import changed, with_length
from fieldplay.core.errors import ArchiveError
from fieldplay.io.geotiff import open_raster

SHAPE = (20, 24)
GRID = [(33550, 12, 3, (0.5, 0.5, 0.0), True), (33922, 12, 6, (0.0, 0.0, 0.0, 400.0, 900.0, 0.0), True)]
OPTIONS = ({"rowsperstrip": 8}, {"tile": (16, 16)}, {"tile": (16, 16), "compression": "zlib"}, {"rowsperstrip": 20})


def _file(number: int) -> bytes:
    file = io.BytesIO()
    heights = np.random.default_rng(number).normal(850, 5, SHAPE).astype(np.float32)
    extra = [*GRID, (42113, 2, 6, "-9999", True)]
    tifffile.imwrite(file, heights, photometric="minisblack", metadata=None, extratags=extra, **OPTIONS[number])
    return file.getvalue()


class Rasters(Inputs):
    """See above."""

    suffix = "tif"

    def __init__(self) -> None:
        self._files = [_file(number) for number in range(len(OPTIONS))]
        self._plain = self._files[-1]  # one strip of rows as they are, behind the directory
        self._pixels = self._plain.index(self._heights().tobytes())

    def _heights(self) -> np.ndarray:
        return np.random.default_rng(len(OPTIONS) - 1).normal(850, 5, SHAPE).astype(np.float32)

    def mutated(self, draw: random.Random) -> bytes:
        data = draw.choice(self._files)
        if draw.random() < 0.5:  # in the directory, which is at the begin
            return with_length(draw, data[:400]) + data[400:]
        return changed(draw, data)

    def look(self, data: bytes) -> Found:
        file = io.BytesIO(data)
        with open_raster(file) as raster:
            rows, columns = (np.unique(np.linspace(0, size - 1, 30).astype(np.intp)) for size in self._sizes(raster))
            heights = raster.heights(rows, columns)
        if data[: self._pixels] == self._plain[: self._pixels]:
            meant = np.frombuffer(data, np.float32, SHAPE[0] * SHAPE[1], self._pixels).reshape(SHAPE)
            for row, column in product(range(SHAPE[0]), range(SHAPE[1])):
                height = meant[row, column]
                is_ground = np.isfinite(height) and abs(height) < 20_000 and not np.isclose(height, -9999, rtol=1e-6)
                if not np.array_equal(heights[row, column], float(height) if is_ground else np.nan, equal_nan=True):
                    raise WrongError(
                        f"a height is not that of its bytes: {(row, column, heights[row, column], height)}"
                    )
        return Found("read", heights.tobytes())

    def _sizes(self, raster: object) -> tuple[int, int]:
        rows, columns = getattr(raster, "rows", 0), getattr(raster, "columns", 0)
        if rows < 1 or columns < 1:
            raise ArchiveError("no pixels")
        return rows, columns
