"""Size and soundness of JPEG, PNG and BMP images from their bytes, without decoding a pixel."""

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError

SHOWN = 8  # bytes of a file of another type that a message shows

# Markers of JPEG, the byte after 0xFF.
SOI, EOI, SOS = 0xD8, 0xD9, 0xDA
FIRST_RESTART, LAST_RESTART = 0xD0, 0xD7
FIRST_MARKER, LAST_MARKER = 0xC0, 0xFE
NO_FRAMES = (0xC4, 0xC8, 0xCC)  # between the frame headers 0xC0 to 0xCF: tables and a reserved one
FRAME = struct.Struct(">BHHB")  # bits, height, width, channels

PNG_START = b"\x89PNG\r\n\x1a\n"
PNG_CHUNK = struct.Struct(">I4s")  # length, type
PNG_CRC = struct.Struct(">I")
PNG_HEADER = struct.Struct(">IIBB")  # width, height, bits, kind of colour
PNG_PALETTE = 3
PNG_CHANNELS = {0: 1, 2: 3, PNG_PALETTE: 3, 4: 2, 6: 4}

BMP_HEADER = struct.Struct("<2sIHHII")  # type, size, -, -, begin of the pixels, size of the second header
BMP_SHORT, BMP_LONG = struct.Struct("<HHHH"), struct.Struct("<iiHHII")
BMP_SHORT_SIZE, BMP_LONG_SIZE, BMP_TYPE_SIZE = 12, 40, 14
BMP_RUNS = (1, 2, 4, 5)  # compressed: the length of the pixels is in the header
BMP_BITS = (1, 2, 4, 8, 16, 24, 32)


@dataclass(frozen=True, kw_only=True)
class ImageHeader:
    """The header of an image file; a palette counts as the colours it holds."""

    format: Literal["jpeg", "png", "bmp"]
    width: int  # pixels
    height: int
    channels: int
    bits: int  # of one channel

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1:
            raise ArchiveError(f"expected an image of at least 1 x 1 pixels, got {self.width} x {self.height}")


class BmpHeader(NamedTuple):
    """How the pixels of a BMP are laid out; its palette lies between the end of the header and the pixels."""

    width: int
    height: int  # negative from the top down
    bits: int  # of a pixel
    compression: int
    length: int  # bytes of compressed pixels
    start: int  # of the pixels
    end: int  # of the header
    palette_entry: int  # bytes

    @property
    def step(self) -> int:
        """Bytes of a row, which is filled up to four; not of compressed pixels."""
        return (self.width * self.bits + 31) // 32 * 4

    def palette(self, data: bytes) -> NDArray[np.uint8]:
        """Blue, green, red (n, 3)."""
        entries = np.frombuffer(data[self.end : self.start], np.uint8)
        whole = len(entries) // self.palette_entry * self.palette_entry
        return entries[:whole].reshape(-1, self.palette_entry)[:, :3]


class _Format(NamedTuple):
    start: bytes
    header: Callable[[bytes], ImageHeader]
    whole: Callable[[bytes], ImageHeader]


def image_from_bytes(data: bytes) -> ImageHeader:
    """The size and kind of an image; the first bytes of a file do, as long as its header is among them."""
    return _format(data).header(data)


def whole_image(data: bytes) -> ImageHeader:
    """The size and kind of a whole image file; ArchiveError says what is wrong with it, as expected and got.

    This finds files of another type, cut off or partly overwritten; a change inside the packed pixels of a JPEG or BMP
    only decoding could find. Bytes after the end of the image are no fault.
    """
    return _format(data).whole(data)


def _format(data: bytes) -> _Format:
    for known in FORMATS:
        if data.startswith(known.start):
            return known
    got = f"a file that starts with {data[:SHOWN]!r}" if data else "an empty file"
    raise ArchiveError(f"expected a JPEG, PNG or BMP image, got {got}")


def _unpack(layout: struct.Struct, data: bytes, start: int) -> tuple[Any, ...]:
    _need(data, start + layout.size)
    return layout.unpack_from(data, start)


def _need(data: bytes, size: int) -> None:
    if len(data) < size:
        raise ArchiveError(f"expected an image of {size} bytes or more, got {len(data)}")


def _jpeg_header(data: bytes) -> ImageHeader:
    return _jpeg_beginning(data, _jpeg_segments(data))


def _whole_jpeg(data: bytes) -> ImageHeader:
    segments = _jpeg_segments(data)
    image = _jpeg_beginning(data, segments)
    if not any([marker == SOS for marker, _ in segments]):  # a list: all of them are gone through
        raise ArchiveError("expected a JPEG with pixels, got its end marker before any")
    return image


def _jpeg_beginning(data: bytes, segments: Iterator[tuple[int, int]]) -> ImageHeader:
    """What the frame header says, the first segments up to it gone through."""
    for marker, start in segments:
        if 0xC0 <= marker <= 0xCF and marker not in NO_FRAMES:
            bits, height, width, channels = _unpack(FRAME, data, start)
            return ImageHeader(format="jpeg", width=width, height=height, channels=channels, bits=bits)
        if marker in (SOS, EOI):
            break
    raise ArchiveError("expected a JPEG frame header before the pixels, got none")


def _jpeg_segments(data: bytes) -> Iterator[tuple[int, int]]:
    """Each marker of a JPEG up to its end marker, and where its content begins; pixels are passed over.

    Whatever a segment holds, such as a small image, is skipped with it by its length.
    """
    after_pixels: NDArray[np.intp] | None = None
    offset = 2
    while True:
        marker, offset = _jpeg_marker(data, offset)
        yield marker, offset + 2
        if marker == EOI:
            return
        _need(data, offset + 2)
        length = int.from_bytes(data[offset : offset + 2], "big")
        if length < 2:
            raise ArchiveError(f"byte {offset}: expected a JPEG segment of 2 bytes or more, got {length}")
        offset += length
        _need(data, offset)
        if marker == SOS:
            if after_pixels is None:
                after_pixels = _markers_after_pixels(data, offset)
            index = np.searchsorted(after_pixels, offset)
            if index == len(after_pixels):
                raise ArchiveError(f"expected a JPEG end marker FFD9 after the pixels, got none in {len(data)} bytes")
            offset = int(after_pixels[index])


def _jpeg_marker(data: bytes, offset: int) -> tuple[int, int]:
    """The marker at an offset and the offset after it; any number of 0xFF may precede it."""
    start = offset
    while data[offset : offset + 1] == b"\xff":
        offset += 1
    _need(data, offset + 1)
    marker = data[offset]
    if offset == start or not FIRST_MARKER <= marker <= LAST_MARKER or FIRST_RESTART <= marker <= SOI:
        raise ArchiveError(f"byte {start}: expected a JPEG marker, got {data[start : offset + 1].hex().upper()}")
    return marker, offset + 1


def _markers_after_pixels(data: bytes, start: int) -> NDArray[np.intp]:
    """The offsets of all markers that end a run of pixels: not a stuffed 0xFF00, a restart or a fill byte."""
    codes = np.frombuffer(data, np.uint8)
    offsets = np.flatnonzero(codes[start:-1] == 0xFF) + start
    code = codes[offsets + 1]
    inside = (code == 0) | (code == 0xFF) | ((code >= FIRST_RESTART) & (code <= LAST_RESTART))
    ends: NDArray[np.intp] = offsets[~inside]
    return ends


def _png_header(data: bytes) -> ImageHeader:
    start = len(PNG_START)
    length, kind = _unpack(PNG_CHUNK, data, start)
    if kind != b"IHDR" or length != 13:
        raise ArchiveError(f"expected a PNG to start with IHDR of 13 bytes, got {kind!r} of {length}")
    width, height, bits, colour = _unpack(PNG_HEADER, data, start + PNG_CHUNK.size)
    if colour not in PNG_CHANNELS:
        raise ArchiveError(f"expected a PNG colour type of {', '.join(map(str, PNG_CHANNELS))}, got {colour}")
    bits = 8 if colour == PNG_PALETTE else bits
    return ImageHeader(format="png", width=width, height=height, channels=PNG_CHANNELS[colour], bits=bits)


def _whole_png(data: bytes) -> ImageHeader:
    image = _png_header(data)
    view, offset = memoryview(data), len(PNG_START)
    kinds: set[bytes] = set()
    while b"IEND" not in kinds:
        length, kind = _unpack(PNG_CHUNK, data, offset)
        end = offset + PNG_CHUNK.size + length
        (expected,) = _unpack(PNG_CRC, data, end)
        got = zlib.crc32(view[offset + 4 : end])
        if got != expected:
            raise ArchiveError(f"byte {offset}: expected a PNG chunk of CRC {expected:08x}, got {got:08x}")
        kinds.add(kind)
        offset = end + PNG_CRC.size
    if b"IDAT" not in kinds:
        raise ArchiveError("expected a PNG with pixels, got none")
    return image


def has_whole_chunks(data: bytes | memoryview) -> bool:
    """Whether no chunk of a PNG up to its end claims to be longer than the file; of another file True."""
    if bytes(data[: len(PNG_START)]) != PNG_START:
        return True
    offset, kind = len(PNG_START), b""
    while kind != b"IEND" and offset + PNG_CHUNK.size <= len(data):
        length, kind = PNG_CHUNK.unpack_from(data, offset)
        offset += PNG_CHUNK.size + length + PNG_CRC.size
    return offset <= len(data)


def whole_bmp(data: bytes) -> tuple[BmpHeader, ImageHeader]:
    """What the header of a whole BMP says; ArchiveError where it is none or cut off."""
    header = _bmp_header(data)
    image = _bmp_image(data, header)
    is_packed = header.compression in BMP_RUNS
    _need(data, header.start + (header.length if is_packed else header.step * image.height))
    return header, image


def _bmp_header(data: bytes) -> BmpHeader:
    """The header, of either of its forms."""
    *_, start, size = _unpack(BMP_HEADER, data, 0)
    compression = length = 0
    if size == BMP_SHORT_SIZE:
        width, height, _, bits = _unpack(BMP_SHORT, data, BMP_HEADER.size)
    elif size >= BMP_LONG_SIZE:
        width, height, _, bits, compression, length = _unpack(BMP_LONG, data, BMP_HEADER.size)
    else:
        raise ArchiveError(f"expected a BMP header of {BMP_SHORT_SIZE}, {BMP_LONG_SIZE} or more bytes, got {size}")
    if bits not in BMP_BITS and compression not in BMP_RUNS:
        raise ArchiveError(f"expected BMP pixels of {', '.join(map(str, BMP_BITS))} bits, got {bits}")
    entry = 3 if size == BMP_SHORT_SIZE else 4
    return BmpHeader(width, height, bits, compression, length, start, BMP_TYPE_SIZE + size, entry)


def _bmp_image(data: bytes, header: BmpHeader) -> ImageHeader:
    channels, bits = 4 if header.bits == 32 else 3, 8
    if header.bits <= 8:
        _need(data, header.start)
        blue, green, red = header.palette(data).T
        channels = 1 if bool(((blue == green) & (green == red)).all()) else 3
        bits = header.bits if channels == 1 else bits
    return ImageHeader(format="bmp", width=header.width, height=abs(header.height), channels=channels, bits=bits)


FORMATS = (
    _Format(b"\xff\xd8\xff", _jpeg_header, _whole_jpeg),
    _Format(PNG_START, _png_header, _whole_png),
    _Format(b"BM", lambda data: _bmp_image(data, _bmp_header(data)), lambda data: whole_bmp(data)[1]),
)
