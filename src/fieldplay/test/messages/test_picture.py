import resource
import struct
import zlib
from typing import NamedTuple

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldplay.core.errors import ArchiveError
from fieldplay.messages.image_headers import (
    ImageHeader,
    has_whole_chunks,
    image_from_bytes,
    whole_image,
)
from fieldplay.messages.image_pixels import decode_image, pixels_from_file

HEIGHT, WIDTH = 37, 53
DRAW = np.random.default_rng(5)
COLOUR = DRAW.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
GREY = COLOUR[:, :, 0]
CLEAR = np.dstack([COLOUR, GREY])
PROGRESSIVE = (cv2.IMWRITE_JPEG_PROGRESSIVE, 1)
RESTARTS = (cv2.IMWRITE_JPEG_RST_INTERVAL, 1)


class Sample(NamedTuple):
    data: bytes
    format: str
    channels: int
    bits: int = 8


def encode_image(extension: str, image: np.ndarray, *flags: int) -> bytes:
    done, data = cv2.imencode(extension, image, flags)
    assert done
    return data.tobytes()


SAMPLES = {
    "jpeg": Sample(encode_image(".jpg", COLOUR), "jpeg", 3),
    "jpeg_grey": Sample(encode_image(".jpg", GREY), "jpeg", 1),
    "jpeg_progressive": Sample(encode_image(".jpg", COLOUR, *PROGRESSIVE), "jpeg", 3),
    "jpeg_restarts": Sample(encode_image(".jpg", COLOUR, *RESTARTS), "jpeg", 3),
    "png": Sample(encode_image(".png", COLOUR), "png", 3),
    "png_grey": Sample(encode_image(".png", GREY), "png", 1),
    "png_clear": Sample(encode_image(".png", CLEAR), "png", 4),
    "png_depth": Sample(encode_image(".png", GREY.astype(np.uint16) * 200), "png", 1, 16),
    "bmp": Sample(encode_image(".bmp", COLOUR), "bmp", 3),
    "bmp_grey": Sample(encode_image(".bmp", GREY), "bmp", 1),
    "bmp_clear": Sample(encode_image(".bmp", CLEAR), "bmp", 4),
}
EACH = pytest.mark.parametrize("name", SAMPLES)
JPEGS = pytest.mark.parametrize("name", [name for name in SAMPLES if name.startswith("jpeg")])


def image_issue(data: bytes) -> str | None:
    """What is wrong with a picture file; of a whole one, its header says the same alone."""
    try:
        assert whole_image(data) == image_from_bytes(data)
    except ArchiveError as error:
        return str(error)
    return None


def with_thumbnail(data: bytes) -> bytes:
    """The JPEG with a whole small JPEG in an application segment before its own tables."""
    small = b"Exif\0\0" + encode_image(".jpg", COLOUR[:8, :8])
    return data[:2] + b"\xff\xe1" + struct.pack(">H", len(small) + 2) + small + data[2:]


@EACH
def test_size_and_format_are_read_from_header(name: str) -> None:
    sample = SAMPLES[name]
    assert image_from_bytes(sample.data) == ImageHeader(
        format=sample.format, width=WIDTH, height=HEIGHT, channels=sample.channels, bits=sample.bits
    )


@EACH
def test_intact_image_has_no_issue(name: str) -> None:
    assert image_issue(SAMPLES[name].data) is None


@EACH
@given(fraction=st.floats(0, 1, exclude_max=True))
def test_image_cut_off_anywhere_is_an_issue(name: str, fraction: float) -> None:
    data = SAMPLES[name].data
    assert "expected" in (image_issue(data[: int(fraction * len(data))]) or "")


@EACH
def test_image_cut_off_in_first_or_last_bytes_is_an_issue(name: str) -> None:
    data = SAMPLES[name].data
    for cut in (*range(200), *range(len(data) - 200, len(data))):
        assert image_issue(data[:cut]) is not None


@EACH
@pytest.mark.parametrize("junk", [b"\0" * 5000, b"\xff" * 50, b"\xff\xd9", b"junk", b"\xff\xd8\xff\xe0"])
def test_bytes_after_image_end_are_no_issue(name: str, junk: bytes) -> None:
    assert image_issue(SAMPLES[name].data + junk) is None


@pytest.mark.parametrize("name", [name for name in SAMPLES if not name.startswith("bmp")])
def test_image_with_zeros_in_second_half_is_an_issue(name: str) -> None:
    data = SAMPLES[name].data
    half = len(data) // 2
    assert image_issue(data[:half] + bytes(len(data) - half)) is not None


@JPEGS
def test_thumbnail_is_not_taken_as_image(name: str) -> None:
    data = with_thumbnail(SAMPLES[name].data)
    assert (image_from_bytes(data).width, image_from_bytes(data).height) == (WIDTH, HEIGHT)
    assert image_issue(data) is None
    for cut in range(0, len(data), 7):
        assert image_issue(data[:cut]) is not None


def test_header_is_read_from_first_bytes_only() -> None:
    for name, size in (("jpeg", 500), ("png", 40), ("bmp", 60)):
        assert image_from_bytes(SAMPLES[name].data[:size]).width == WIDTH


def test_fill_bytes_before_markers_are_skipped() -> None:
    data = SAMPLES["jpeg"].data
    filled = data[:2] + b"\xff\xff" + data[2:-2] + b"\xff\xff\xff" + data[-2:]
    assert image_from_bytes(filled).width == WIDTH
    assert image_issue(filled) is None


@pytest.mark.parametrize("marker", [b"\xff\x01", b"\xff\xbf", b"\xff\xd8"])
def test_invalid_marker_among_pixels_is_an_issue(marker: bytes) -> None:
    data = SAMPLES["jpeg"].data
    start = len(data) // 2
    issue = image_issue(data[:start] + marker + data[start + 2 :])
    assert issue == f"byte {start}: expected a JPEG marker, got {marker.hex().upper()}"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected a JPEG, PNG or BMP image, got an empty file"),
        (b"GIF89a_and_more", "expected a JPEG, PNG or BMP image, got a file that starts with b'GIF89a_a'"),
        (b"\xff\xd8\xff\xd9", "expected a JPEG frame header before the pixels, got none"),
        (b"\xff\xd8\xff\xe0\0\1", "byte 4: expected a JPEG segment of 2 bytes or more, got 1"),
        (b"\xff\xd8\xff\xe0\0\x09ab", "expected an image of 13 bytes or more, got 8"),
        (b"\xff\xd8\xff\xc0\0\x08\x08\0\0\0\x09\1", "expected an image of at least 1 x 1 pixels, got 9 x 0"),
        (
            b"\xff\xd8\xff\xc0\0\x08\x08\0\1\0\x09\1\xff\xd9",
            "expected a JPEG with pixels, got its end marker before any",
        ),
        (b"\x89PNG\r\n\x1a\n\0\0\0\1IDAT", "expected a PNG to start with IHDR of 13 bytes, got b'IDAT' of 1"),
    ],
)
def test_non_image_is_explained(data: bytes, message: str) -> None:
    assert image_issue(data) == message
    if "before any" not in message:
        with pytest.raises(ArchiveError, match=message.replace("(", r"\(")):
            image_from_bytes(data)


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png_of(*, colour: int, bits: int, pixels: bool = True) -> bytes:
    row = b"\0" + bytes(2)
    middle = chunk(b"PLTE", bytes(6)) + (chunk(b"IDAT", zlib.compress(row)) if pixels else b"")
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 1, bits, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + middle + chunk(b"IEND", b"")


def test_png_palette_counts_as_its_colours() -> None:
    data = png_of(colour=3, bits=1)
    assert image_from_bytes(data) == ImageHeader(format="png", width=2, height=1, channels=3, bits=8)
    assert image_issue(data) is None


def test_png_with_unknown_colour_or_no_pixels_is_an_issue() -> None:
    assert image_issue(png_of(colour=5, bits=8)) == "expected a PNG colour type of 0, 2, 3, 4, 6, got 5"
    assert image_issue(png_of(colour=0, bits=8, pixels=False)) == "expected a PNG with pixels, got none"


@given(offset=st.integers(8, len(SAMPLES["png"].data) - 1), change=st.integers(1, 255))
def test_any_changed_byte_of_png_is_an_issue(offset: int, change: int) -> None:
    data = bytearray(SAMPLES["png"].data)
    data[offset] ^= change
    assert image_issue(bytes(data)) is not None


@given(name=st.sampled_from(sorted(SAMPLES)), data=st.data())
def test_changed_bytes_give_image_or_issue_but_no_crash(name: str, data: st.DataObject) -> None:
    changed = bytearray(SAMPLES[name].data)
    for offset in data.draw(st.lists(st.integers(0, 800), max_size=5)):
        changed[min(offset, len(changed) - 1)] = data.draw(st.integers(0, 255))
    issue = image_issue(bytes(changed))
    assert issue is None or "expected" in issue


@pytest.mark.parametrize("bits", [1, 4, 8, 16, 24, 32])
@pytest.mark.parametrize("height", [3, -3])
def test_bmp_of_any_depth_is_as_long_as_its_rows(bits: int, height: int) -> None:
    palette = bytes(range(4 * 2**bits)) if bits <= 4 else bytes(4 * 256) if bits == 8 else b""
    start, row = 54 + len(palette), -(-5 * bits // 32) * 4
    head = struct.pack("<2sIHHI", b"BM", 0, 0, 0, start)
    head += struct.pack("<IiiHHIIiiII", 40, 5, height, 1, bits, 0, 0, 0, 0, 0, 0)
    whole = head + palette + bytes(3 * row)
    channels = {8: 1, 32: 4}.get(bits, 3)
    assert image_from_bytes(whole) == ImageHeader(format="bmp", width=5, height=3, channels=channels, bits=8)
    assert image_issue(whole) is None
    assert image_issue(whole[:-1]) == f"expected an image of {len(whole)} bytes or more, got {len(whole) - 1}"


def test_old_and_compressed_bmp_sizes_come_from_headers() -> None:
    old = struct.pack("<2sIHHI", b"BM", 0, 0, 0, 26) + struct.pack("<IHHHH", 12, 2, 2, 1, 24) + bytes(16)
    assert image_issue(old) is None
    assert image_issue(old[:-1]) is not None
    head = struct.pack("<2sIHHI", b"BM", 0, 0, 0, 58)
    runs = head + struct.pack("<IiiHHIIiiII", 40, 9, 9, 1, 8, 1, 4, 0, 0, 1, 0) + bytes(4) + b"\x09\0\0\1"
    assert image_issue(runs) is None
    assert image_issue(runs[:-1]) is not None


def test_bmp_with_unknown_header_is_an_issue() -> None:
    head = struct.pack("<2sIHHI", b"BM", 0, 0, 0, 54)
    assert image_issue(head + struct.pack("<I", 13)) == "expected a BMP header of 12, 40 or more bytes, got 13"
    odd = head + struct.pack("<IiiHHII", 40, 5, 3, 1, 7, 0, 0)
    assert image_issue(odd) == "expected BMP pixels of 1, 2, 4, 8, 16, 24, 32 bits, got 7"


def png_with_size(width: int, height: int) -> bytes:
    """A small PNG whose header says another size, with the right checksum."""
    data = encode_image(".png", GREY)
    chunk = b"IHDR" + struct.pack(">II", width, height) + data[24:29]
    return data[:12] + chunk + struct.pack(">I", zlib.crc32(chunk)) + data[33:]


@pytest.mark.parametrize("size", [(100_000, 100_000), (1 << 30, 1), (20_000, 20_000), (1, 1 << 20)])
def test_image_with_impossible_size_has_no_pixels(size: tuple[int, int]) -> None:
    assert decode_image(png_with_size(*size)) is None
    with pytest.raises(ArchiveError, match="do not decode as an image"):
        pixels_from_file(png_with_size(*size))
    jpeg = encode_image(".jpg", COLOUR)
    offset = jpeg.index(struct.pack(">HH", HEIGHT, WIDTH))
    assert decode_image(jpeg[:offset] + struct.pack(">HH", 60_000, 60_000) + jpeg[offset + 4 :]) is None


def test_chunk_with_excessive_length_allocates_no_memory() -> None:
    data = encode_image(".png", GREY)
    offset = data.index(b"IDAT") - 4
    assert decode_image(data) is not None and has_whole_chunks(data) and has_whole_chunks(encode_image(".jpg", GREY))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert decode_image(data[:offset] + struct.pack(">I", 1 << 30) + data[offset + 4 :]) is None
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB
