"""Heights on a grid from a GeoTIFF, read in parts: of several GB only the strips or tiles that are asked for."""

import logging
import lzma
import struct
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, BinaryIO

import cv2
import numpy as np
import tifffile
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError

PLAIN, LZW, DEFLATE, PACKBITS, OLD_DEFLATE, LZMA = 1, 5, 8, 32773, 32946, 34925
BY_OPENCV = (LZW, DEFLATE, PACKBITS, OLD_DEFLATE)  # also with predictors, of which tifffile knows some
BY_TIFFFILE = (PLAIN, DEFLATE, OLD_DEFLATE, LZMA)
NO_PREDICTOR, SEPARATE = 1, 2
LARGEST = 512 << 20  # bytes of a segment as unpacked: one that is larger cannot be read in parts
LONGEST = 1 << 20
SAMPLE_FORMATS = {"u": 1, "i": 2, "f": 3}
SHORT, LONG = 3, 4
BIG_TIFF = 43  # where others have 42
SEGMENT_TAGS = (273, 279, 324, 325)  # where strips and tiles lie, and how long they are
MOST_SEGMENTS, MOST_ENTRIES = 1 << 21, 1 << 12
# What tifffile raises for damage
TIFF_ERRORS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, struct.error, EOFError, OSError,
          RuntimeError, MemoryError, zlib.error, lzma.LZMAError)  # fmt: skip
PIXEL_SCALE, TIE_POINTS, TRANSFORMATION, KEYS, NODATA = 33550, 33922, 34264, 34735, 42113
MODEL_KEY, RASTER_KEY, PROJECTION_KEY, UNIT_KEY = 1024, 1025, 3072, 3076
OWN_PROJECTION = 32767  # which the file describes itself
MOST_POINTS = 500_000  # of a grid that is thinned out
GEOGRAPHIC, PIXEL_IS_POINT, METRE = 2, 2, 9001
HIGHEST_M = 20_000.0  # beyond it there is no ground: a file's mark for nothing, though it does not say so
FARTHEST_M, SMALLEST_M2 = 1e9, 1e-12  # of a grid's origin, and of a pixel
CLOSE = 1e-6  # of nodata, which is written as text, to the number in the file

Numbers = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class Segments:
    """Strips or tiles of `length` rows and `width` columns, the first band of an image."""

    page: tifffile.TiffPage
    file: BinaryIO
    dtype: np.dtype[Any]  # as the file orders the bytes
    length: int
    width: int
    samples: int  # that lie beside each other

    def numbers(self, rows: Indices, columns: Indices) -> Numbers:
        """The pixels (r, c) where these rows and columns meet, both ascending; NaN in segments that are not there."""
        pixels = np.full((len(rows), len(columns)), np.nan)
        for below in _parts(rows // self.length):
            for aside in _parts(columns // self.width):
                index = int(rows[below][0]) // self.length, int(columns[aside][0]) // self.width
                inner = rows[below] - index[0] * self.length, columns[aside] - index[1] * self.width
                with np.errstate(invalid="ignore"):  # some NaN warn when they are cast
                    pixels[below, aside] = self._of_segment(index, *inner)
        return pixels

    def _of_segment(self, index: tuple[int, int], rows: Indices, columns: Indices) -> Any:
        number = index[0] * -(-int(self.page.imagewidth) // self.width) + index[1]
        offset, count = int(self.page.dataoffsets[number]), int(self.page.databytecounts[number])
        if not offset or not count:
            return np.nan
        if self.page.compression == PLAIN:
            return self._plain(offset, rows, columns)
        return self._unpack(number, self._read(offset, count))[np.ix_(rows, columns)]

    def _plain(self, offset: int, rows: Indices, columns: Indices) -> Numbers:
        """Row by row, without the columns before the first and after the last."""
        pixel = self.dtype.itemsize * self.samples
        first, width = int(columns[0]), int(columns[-1]) + 1 - int(columns[0])
        starts = (offset + (rows * self.width + first) * pixel).tolist()
        lines = [np.frombuffer(self._read(start, width * pixel), self.dtype) for start in starts]
        return np.stack(lines)[:, (columns - first) * self.samples].astype(np.float64)

    def _unpack(self, index: int, data: bytes) -> NDArray[Any]:
        """A segment (length, width), as far as it has rows."""
        if self.page.compression in BY_TIFFFILE and self.page.predictor == NO_PREDICTOR:
            decoded = self.page.decode(data, index)[0]
            if decoded is None:
                raise ArchiveError(f"strip or tile {index} cannot be unpacked")
            return np.asarray(decoded[0, :, :, 0])
        rows = self.length
        if not self.page.is_tiled:
            rows = min(rows, int(self.page.imagelength) - index * self.length)
        alone = _image_of_segment(self, data, rows)
        pixels = cv2.imdecode(np.frombuffer(alone, np.uint8), cv2.IMREAD_UNCHANGED)
        if pixels is None or pixels.shape != (rows, self.width) or pixels.dtype != self.dtype.newbyteorder("="):
            raise ArchiveError(f"strip or tile {index} cannot be unpacked")
        return np.asarray(pixels)

    def _read(self, offset: int, count: int) -> bytes:
        self.file.seek(offset)
        data = self.file.read(count)
        if len(data) < count:
            raise ArchiveError(f"expected {count} bytes at {offset}, got {len(data)}: the file is cut off")
        return data


def segments_of_page(page: tifffile.TiffPage, file: BinaryIO) -> Segments:
    """What holds the pixels of a page; ArchiveError where they cannot be read, or not in parts."""
    dtype = page.dtype
    if dtype is None or dtype.kind not in SAMPLE_FORMATS or page.bitspersample != 8 * dtype.itemsize:
        raise ArchiveError(f"expected heights as numbers of 8 to 64 bits, got {page.bitspersample} bits of '{dtype}'")
    length, width = (page.tilelength, page.tilewidth) if page.is_tiled else (page.rowsperstrip, page.imagewidth)
    length = min(int(length), int(page.imagelength)) if not page.is_tiled else int(length)
    for side in (page.imagelength, page.imagewidth, length, width):
        if not 0 < side <= LONGEST:
            raise ArchiveError(f"expected sides of 1 to {LONGEST} pixels, got {side}")
    samples = 1 if page.planarconfig == SEPARATE else int(page.samplesperpixel)
    _require_readable(page, samples)
    if page.compression != PLAIN and length * width * samples * dtype.itemsize > LARGEST:
        raise ArchiveError(f"expected it packed in strips or tiles, got parts of {length} x {width} pixels: too large")
    ordered = dtype.newbyteorder(">" if page.parent.byteorder == ">" else "<")
    return Segments(page=page, file=file, dtype=ordered, length=length, width=int(width), samples=samples)


def _require_readable(page: tifffile.TiffPage, samples: int) -> None:
    code, is_plain = int(page.compression), page.predictor == NO_PREDICTOR
    if (code in BY_TIFFFILE and is_plain) or (code in BY_OPENCV and samples == 1):
        return
    name = getattr(page.compression, "name", str(code))
    more = "" if is_plain else f", predictor {int(page.predictor)}"
    more += f", {samples} bands" if samples > 1 else ""
    known = "none, LZW, DEFLATE, PACKBITS, LZMA"
    how = "gdal_translate -b 1 -co COMPRESS=DEFLATE -co TILED=YES IN OUT makes one that can be read"
    raise ArchiveError(f"expected a compression of {known}, got {name}{more}; {how}")


def _parts(numbers: Indices) -> Iterator[slice]:
    """Stretches of ascending numbers that are equal."""
    borders = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
    yield from (slice(start, end) for start, end in pairwise(borders) if end > start)


def _image_of_segment(segments: Segments, data: bytes, rows: int) -> bytes:
    """A TIFF of one strip that holds a segment as it is packed, for OpenCV, which reads no parts."""
    page, dtype = segments.page, segments.dtype
    order = ">" if dtype.byteorder == ">" else "<"
    entries = [
        (256, LONG, segments.width),
        (257, LONG, rows),
        (258, SHORT, 8 * dtype.itemsize),
        (259, SHORT, int(page.compression)),
        (262, SHORT, 1),
        (273, LONG, 0),
        (277, SHORT, 1),
        (278, LONG, rows),
        (279, LONG, len(data)),
        (317, SHORT, int(page.predictor)),
        (339, SHORT, SAMPLE_FORMATS[dtype.kind]),
    ]
    start = 8 + 2 + 12 * len(entries) + 4
    header = struct.pack(f"{order}2sHIH", b"MM" if order == ">" else b"II", 42, 8, len(entries))
    for tag, kind, value in entries:
        number = start if tag == 273 else value
        header += struct.pack(f"{order}HHI" + ("H2x" if kind == SHORT else "I"), tag, kind, 1, number)
    return header + struct.pack(f"{order}I", 0) + data


logging.getLogger("tifffile").addHandler(logging.NullHandler())  # damage is reported by an ArchiveError, once


@dataclass(frozen=True, kw_only=True, eq=False)
class Raster:
    """Heights on a grid.

    Columns and rows are counted from the outer corner of the first pixel, whose centre is (0.5, 0.5).

    Args:
        rows: number of rows.
        columns: number of columns.
        grid_from_pixel: (2, 3) easting and northing in m of (column, row, 1).
        nodata: the number that stands for no height, or None.
        segments: where the pixels are in the file.
        epsg: of the projection; 0 where the file does not say.
    """

    rows: int
    columns: int
    grid_from_pixel: Numbers
    nodata: float | None
    segments: Segments
    epsg: int = 0  # of its projection; 0 if the file has none

    @property
    def cell_m(self) -> float:
        """The distance in m between neighbouring pixels of a row."""
        return float(np.hypot(*self.grid_from_pixel[:, 0]))

    def heights(self, rows: Indices, columns: Indices) -> Numbers:
        """Read pixels; only the strips or tiles that hold them are read.

        Args:
            rows: (r,), ascending.
            columns: (c,), ascending.

        Returns:
            Heights (r, c) in m, NaN where there is none.

        Raises:
            ArchiveError: a strip or tile is damaged.
        """
        with tiff_errors():
            heights = self.segments.numbers(rows, columns)
        known = np.isfinite(heights) & (np.abs(heights) < HIGHEST_M)
        if self.nodata is not None:
            known &= ~np.isclose(heights, self.nodata, rtol=CLOSE, atol=0.0)
        return np.where(known, heights, np.nan)

    def known_heights(self, rows: Indices, columns: Indices) -> tuple[Numbers, Numbers]:
        """Read the pixels that have a height.

        Args:
            rows: (r,), ascending.
            columns: (c,), ascending.

        Returns:
            Their centres as (column, row, 1) (3, n), and heights (n,) in m.
        """
        heights = self.heights(rows, columns)
        row, column = np.nonzero(np.isfinite(heights))
        return np.stack([columns[column] + 0.5, rows[row] + 0.5, np.ones(len(row))]), heights[row, column]

    def heights_at(self, positions: Numbers, frame_from_pixel: Numbers) -> Numbers:
        """Look up heights at positions, each in the pixel that it lies in.

        Args:
            positions: (n, 2) in m.
            frame_from_pixel: (2, 3) from (column, row, 1) to the frame of the positions.

        Returns:
            Heights (n,) in m, NaN outside.
        """
        pixels_from_frame = np.linalg.inv(frame_from_pixel[:, :2])
        columns, rows = np.floor(pixels_from_frame @ (positions - frame_from_pixel[:, 2]).T).astype(np.intp)
        heights = np.full(len(positions), np.nan)
        inside = (rows >= 0) & (rows < self.rows) & (columns >= 0) & (columns < self.columns)
        for index in np.flatnonzero(inside):
            heights[index] = self.heights(rows[[index]], columns[[index]])[0, 0]
        return heights


@contextmanager
def open_raster(file: BinaryIO) -> Iterator[Raster]:
    """Open the first image of a GeoTIFF; a context manager.

    Args:
        file: the open file; it must stay open.

    Yields:
        The raster.

    Raises:
        ArchiveError: it is no GeoTIFF, or cannot be read in parts.
    """
    with ExitStack() as until_closed:
        with tiff_errors():
            _require_few_segments(file)
            file.seek(0)
            raster = _raster(until_closed.enter_context(tifffile.TiffFile(file)), file)
        yield raster


def _require_few_segments(file: BinaryIO) -> None:
    """ArchiveError if the first directory has too many strips or tiles: tifffile makes a number of each."""
    file.seek(0)
    head = file.read(16)
    order = ">" if head[:2] == b"MM" else "<"
    is_big = struct.unpack_from(f"{order}H", head, 2)[0] == BIG_TIFF
    (directory_offset,) = (
        struct.unpack_from(f"{order}Q", head, 8) if is_big else struct.unpack_from(f"{order}I", head, 4)
    )
    entry = struct.Struct(f"{order}HHQ8x" if is_big else f"{order}HHI4x")
    file.seek(directory_offset)
    (count,) = struct.unpack(f"{order}Q" if is_big else f"{order}H", file.read(8 if is_big else 2))
    for _ in range(min(count, MOST_ENTRIES)):
        code, _, values = entry.unpack(file.read(entry.size))
        if code in SEGMENT_TAGS and values > MOST_SEGMENTS:
            raise ArchiveError(f"expected at most {MOST_SEGMENTS} strips or tiles, got {values}")


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
        epsg=_epsg(page),
    )


def _epsg(page: tifffile.TiffPage) -> int:
    code = _keys(page).get(PROJECTION_KEY, 0)
    return code if 0 < code < OWN_PROJECTION else 0


def thinning_step(requested_m: float, cell_m: float, shape: tuple[int, int]) -> int:
    """One pixel in how many, each way: for cells of a size, or 0 for as few as make half a million points."""
    if requested_m:
        return max(round(requested_m / cell_m), 1)
    step = 1
    while -(-shape[0] // step) * -(-shape[1] // step) > MOST_POINTS:
        step += 1
    return step


def every_nth(numbers: Indices, step: int) -> Indices:
    """Take the middle one of every `step` numbers."""
    return numbers[min(step // 2, (len(numbers) - 1) // 2) :: step]


@contextmanager
def tiff_errors() -> Iterator[None]:
    """Raise as ArchiveError what tifffile raises for a damaged file."""
    try:
        yield
    except TIFF_ERRORS as error:
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
