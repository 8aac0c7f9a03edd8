"""The strips or tiles of a picture in a TIFF, each read and unpacked only where pixels of it are wanted."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, BinaryIO

import cv2
import numpy as np
import tifffile
from numpy.typing import NDArray

from fieldplay_messages.errors import ArchiveError

PLAIN, LZW, DEFLATE, PACKBITS, OLD_DEFLATE, LZMA = 1, 5, 8, 32773, 32946, 34925
BY_OPENCV = (LZW, DEFLATE, PACKBITS, OLD_DEFLATE)  # also with predictors, of which tifffile knows some
BY_TIFFFILE = (PLAIN, DEFLATE, OLD_DEFLATE, LZMA)
NO_PREDICTOR, SEPARATE = 1, 2
LARGEST = 512 << 20  # bytes of a segment as unpacked: one that is larger cannot be read in parts
LONGEST = 1 << 20
SAMPLE_FORMATS = {"u": 1, "i": 2, "f": 3}
SHORT, LONG = 3, 4

Numbers = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class Segments:
    """Strips or tiles of `length` rows and `width` columns, the first band of a picture."""

    page: tifffile.TiffPage
    file: BinaryIO
    dtype: np.dtype[Any]  # as the file orders the bytes
    length: int
    width: int
    samples: int  # that lie beside each other

    def numbers(self, rows: Indices, columns: Indices) -> Numbers:
        """The pixels (r, c) where these rows and columns meet, both ascending; NaN in segments that are not there."""
        found = np.full((len(rows), len(columns)), np.nan)
        for below in _parts(rows // self.length):
            for aside in _parts(columns // self.width):
                place = int(rows[below][0]) // self.length, int(columns[aside][0]) // self.width
                inner = rows[below] - place[0] * self.length, columns[aside] - place[1] * self.width
                with np.errstate(invalid="ignore"):  # some NaN warn when they are cast
                    found[below, aside] = self._of_segment(place, *inner)
        return found

    def _of_segment(self, place: tuple[int, int], rows: Indices, columns: Indices) -> Any:
        index = place[0] * -(-int(self.page.imagewidth) // self.width) + place[1]
        offset, count = int(self.page.dataoffsets[index]), int(self.page.databytecounts[index])
        if not offset or not count:
            return np.nan
        if self.page.compression == PLAIN:
            return self._plain(offset, rows, columns)
        return self._unpacked(index, self._read(offset, count))[np.ix_(rows, columns)]

    def _plain(self, offset: int, rows: Indices, columns: Indices) -> Numbers:
        """Row by row, without the columns before the first and after the last."""
        pixel = self.dtype.itemsize * self.samples
        first, stretch = int(columns[0]), int(columns[-1]) + 1 - int(columns[0])
        starts = (offset + (rows * self.width + first) * pixel).tolist()
        lines = [np.frombuffer(self._read(start, stretch * pixel), self.dtype) for start in starts]
        return np.stack(lines)[:, (columns - first) * self.samples].astype(np.float64)

    def _unpacked(self, index: int, data: bytes) -> NDArray[Any]:
        """A segment (length, width), as far as it has rows."""
        if self.page.compression in BY_TIFFFILE and self.page.predictor == NO_PREDICTOR:
            decoded = self.page.decode(data, index)[0]
            if decoded is None:
                raise ArchiveError(f"strip or tile {index} cannot be unpacked")
            return np.asarray(decoded[0, :, :, 0])
        rows = self.length
        if not self.page.is_tiled:
            rows = min(rows, int(self.page.imagelength) - index * self.length)
        alone = _picture_of_segment(self, data, rows)
        found = cv2.imdecode(np.frombuffer(alone, np.uint8), cv2.IMREAD_UNCHANGED)
        if found is None or found.shape != (rows, self.width) or found.dtype != self.dtype.newbyteorder("="):
            raise ArchiveError(f"strip or tile {index} cannot be unpacked")
        return np.asarray(found)

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
    yield from (slice(begin, end) for begin, end in pairwise(borders) if end > begin)


def _picture_of_segment(segments: Segments, data: bytes, rows: int) -> bytes:
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
    begin = 8 + 2 + 12 * len(entries) + 4
    made = struct.pack(f"{order}2sHIH", b"MM" if order == ">" else b"II", 42, 8, len(entries))
    for tag, kind, value in entries:
        number = begin if tag == 273 else value
        made += struct.pack(f"{order}HHI" + ("H2x" if kind == SHORT else "I"), tag, kind, 1, number)
    return made + struct.pack(f"{order}I", 0) + data
