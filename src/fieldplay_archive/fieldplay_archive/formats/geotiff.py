"""Heights on a grid from a GeoTIFF, read in parts: of a file of several GB only what is asked for."""

import logging
import lzma
import struct
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import tifffile
from numpy.typing import NDArray

from fieldplay_archive.formats.tiff_segments import Numbers, Segments, segments_of_page
from fieldplay_messages.errors import ArchiveError

# What tifffile raises for damage
FAULTS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, struct.error, EOFError, OSError,
          RuntimeError, MemoryError, zlib.error, lzma.LZMAError)  # fmt: skip
PIXEL_SCALE, TIE_POINTS, TRANSFORMATION, KEYS, NODATA = 33550, 33922, 34264, 34735, 42113
MODEL_KEY, RASTER_KEY, UNIT_KEY = 1024, 1025, 3076
GEOGRAPHIC, PIXEL_IS_POINT, METRE = 2, 2, 9001
HIGHEST_M = 20_000.0  # beyond it there is no ground: a file's mark for nothing, though it does not say so
FARTHEST_M, SMALLEST_M2 = 1e9, 1e-12  # of a grid's origin, and of a pixel
CLOSE = 1e-6  # of nodata, which is written as text, to the number in the file

Indices = NDArray[np.intp]

logging.getLogger("tifffile").addHandler(logging.NullHandler())  # damage is told by an ArchiveError, once


@dataclass(frozen=True, kw_only=True, eq=False)
class Raster:
    """Heights on a grid. `grid_from_pixel` (2, 3): easting and northing of (column, row, 1) in m.

    Columns and rows are counted from the outer corner of the first pixel, whose middle is at (0.5, 0.5).
    """

    rows: int
    columns: int
    grid_from_pixel: Numbers
    nodata: float | None
    segments: Segments

    @property
    def cell_m(self) -> float:
        """How far neighbouring pixels of a row are apart."""
        return float(np.hypot(*self.grid_from_pixel[:, 0]))

    def heights(self, rows: Indices, columns: Indices) -> Numbers:
        """Heights (r, c) in m where these rows and columns meet, both ascending; NaN where there is none."""
        with told():
            found = self.segments.numbers(rows, columns)
        known = np.isfinite(found) & (np.abs(found) < HIGHEST_M)
        if self.nodata is not None:
            known &= ~np.isclose(found, self.nodata, rtol=CLOSE, atol=0.0)
        return np.where(known, found, np.nan)


@contextmanager
def open_raster(file: BinaryIO) -> Iterator[Raster]:
    """The first picture of a GeoTIFF, as long as the file is open; ArchiveError tells why it is none."""
    with ExitStack() as until_closed:
        with told():
            file.seek(0)
            raster = _raster(until_closed.enter_context(tifffile.TiffFile(file)), file)
        yield raster


def _raster(opened: tifffile.TiffFile, file: BinaryIO) -> Raster:
    page = opened.pages[0]
    if not isinstance(page, tifffile.TiffPage):
        raise ArchiveError("expected a page with tags of its own")
    return Raster(
        rows=int(page.imagelength),
        columns=int(page.imagewidth),
        grid_from_pixel=_grid_from_tags(page),
        nodata=_nodata(page),
        segments=segments_of_page(page, file),
    )


@contextmanager
def told() -> Iterator[None]:
    """Turns what a damaged file makes tifffile raise into an ArchiveError."""
    try:
        yield
    except FAULTS as error:
        raise ArchiveError(f"cannot be read as TIFF, it may be cut off: {error or type(error).__name__}") from None


@np.errstate(over="ignore", invalid="ignore")  # of damaged tags; what cannot be is refused
def _grid_from_tags(page: tifffile.TiffPage) -> Numbers:
    keys = _keys(page)
    if keys.get(MODEL_KEY) == GEOGRAPHIC:
        raise ArchiveError("expected a grid in metres, got degrees: gdalwarp -t_srs projects it")
    if keys.get(UNIT_KEY, METRE) != METRE:
        raise ArchiveError(f"expected a grid in metres, got the unit {keys[UNIT_KEY]} of EPSG")
    scale, ties, whole = (_values(page, code) for code in (PIXEL_SCALE, TIE_POINTS, TRANSFORMATION))
    if len(whole) >= 16:
        grid = whole[:16].reshape(4, 4)[:2][:, [0, 1, 3]]
    elif len(scale) >= 2 and len(ties) >= 6:
        grid = np.array([[scale[0], 0.0, ties[3] - ties[0] * scale[0]], [0.0, -scale[1], ties[4] + ties[1] * scale[1]]])
    else:
        raise ArchiveError("expected the tags of a GeoTIFF (ModelPixelScale and ModelTiepoint, or ModelTransformation)")
    if not (np.abs(grid) < FARTHEST_M).all() or not abs(np.linalg.det(grid[:, :2])) > SMALLEST_M2:
        raise ArchiveError(f"expected a grid that can be, got {grid.tolist()}")
    if keys.get(RASTER_KEY) == PIXEL_IS_POINT:  # then (0, 0) is the middle of the first pixel
        grid[:, 2] -= grid[:, :2].sum(axis=1) / 2
    return grid


def _keys(page: tifffile.TiffPage) -> dict[int, int]:
    """The keys of the grid that stand in the directory itself."""
    entries = _values(page, KEYS)
    count = max(len(entries) // 4 - 1, 0)
    rows = entries[4 : 4 + 4 * count].reshape(count, 4)
    rows = rows[np.isfinite(rows).all(axis=1) & (rows[:, 1] == 0)]
    return {int(key): int(value) for key, _, _, value in rows}


def _values(page: tifffile.TiffPage, code: int) -> Numbers:
    tag = page.tags.get(code)
    return np.array([] if tag is None else tag.value, float).ravel()


def _nodata(page: tifffile.TiffPage) -> float | None:
    """The number that stands for nothing; None where the file names none, or NaN, which is none anyway."""
    tag = page.tags.get(NODATA)
    text = "nan" if tag is None else str(tag.value).strip("\0 ")
    try:
        value = float(text)
    except ValueError:
        raise ArchiveError(f"GDAL_NODATA: expected a number, got '{text}'") from None
    return value if np.isfinite(value) else None
