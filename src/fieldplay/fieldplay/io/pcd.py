"""Point clouds from the bytes of PCD files (versions 0.6 and 0.7): ascii, binary and binary_compressed; and to them."""

import io
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.io.parser_processes import call_parser

if TYPE_CHECKING:
    import polars

PADDING = "_"  # the name of fields that only fill space
VERSIONS = ("0.6", ".6", "0.7", ".7")
REQUIRED = ("FIELDS", "SIZE", "TYPE", "WIDTH", "HEIGHT", "POINTS", "DATA")
KEYWORDS = (*REQUIRED, "VERSION", "COUNT", "VIEWPOINT")
SIZES_OF_TYPE = {"I": (1, 2, 4, 8), "U": (1, 2, 4, 8), "F": (4, 8)}
LARGEST_POINT = 2**20  # bytes; descriptors of some hundred numbers are the largest points there are
DIGITS_SHOWN = 18  # longer numbers are no sizes of anything, and int() of long texts is slow
SHOWN = 40  # characters of a faulty text that a message shows

LZF_LARGEST_GAIN = 88  # three bytes stand for 264 at most
LZF_SIZES = struct.Struct("<II")  # compressed, uncompressed
COMMON_PADDING = b"\0\r\n "  # what may follow the last point without being a sign of damage


@dataclass(frozen=True)
class PcdField:
    """A field of each point: `count` numbers of the numpy type `number`."""

    name: str
    number: str
    count: int

    @property
    def size(self) -> int:
        """Bytes of the field in one point."""
        return int(self.number[-1]) * self.count


@dataclass(frozen=True, kw_only=True)
class PcdHeader:
    """The header of a PCD file: the layout of a point, the number of points, and where they begin."""

    fields: tuple[PcdField, ...]  # in the order of the file, padding among them
    width: int
    height: int
    points: int
    viewpoint: tuple[float, ...] | None  # x y z m, quaternion w x y z
    data: str  # ascii, binary or binary_compressed
    body: int  # the byte at which the points begin
    lines: int  # lines of the header, comments among them

    @property
    def point_size(self) -> int:
        """Bytes of a point with its padding."""
        return sum(field.size for field in self.fields)

    @property
    def point_fields(self) -> tuple[PcdField, ...]:
        """The fields without the padding."""
        return tuple(field for field in self.fields if field.name != PADDING)


def cloud_from_pcd(data: bytes) -> NDArray[Any]:
    """Decode a PCD file: ascii, binary or compressed.

    Args:
        data: the bytes of the file.

    Returns:
        Points (n,) as a structured array with the file's fields, padding left out; a COUNT > 1 is a subarray. Of a
        binary file it is a read-only view of `data`, not a copy.

    Raises:
        ArchiveError: the file is cut off, or no PCD.
    """
    header = header_from_pcd(data)
    return BODIES[header.data](memoryview(data)[header.body :], header)


def pcd_from_cloud(points: NDArray[np.void]) -> bytes:
    """Encode points as a binary PCD file.

    Args:
        points: (n,) as a structured array.

    Returns:
        The bytes of the file, without padding.

    Raises:
        ArchiveError: a field has numbers that PCD has not.
    """
    fields: list[tuple[str, np.dtype[Any], tuple[int, ...]]] = []
    for name in points.dtype.names or ():
        base, shape = points.dtype[name].base, points.dtype[name].shape
        fields.append((name, base.newbyteorder("<"), shape))
    if any(base.kind.upper() not in SIZES_OF_TYPE or (base.kind, base.itemsize) == ("f", 2) for _, base, _ in fields):
        raise ArchiveError(f"expected numbers that a PCD file can hold, got {points.dtype}")
    rows = np.empty(len(points), np.dtype(fields))
    for name, *_ in fields:
        rows[name] = points[name]
    lines = {
        "VERSION": "0.7",
        "FIELDS": " ".join(name for name, *_ in fields),
        "SIZE": " ".join(str(base.itemsize) for _, base, _ in fields),
        "TYPE": " ".join(base.kind.upper() for _, base, _ in fields),
        "COUNT": " ".join(str(int(np.prod(shape))) for *_, shape in fields),
        "WIDTH": str(len(rows)),
        "HEIGHT": "1",
        "VIEWPOINT": "0 0 0 1 0 0 0",
        "POINTS": str(len(rows)),
        "DATA": "binary",
    }
    return "".join(f"{word} {text}\n" for word, text in lines.items()).encode() + rows.tobytes()


def header_from_pcd(head: bytes) -> PcdHeader:
    """The checked header of a PCD file from its first bytes, of which there may be more than the header."""
    entries, body, lines = _header_entries(head)
    missing = [keyword for keyword in REQUIRED if keyword not in entries]
    if missing:
        raise ArchiveError(f"expected the PCD header lines {', '.join(REQUIRED)}, got no {', '.join(missing)}")
    version = entries.get("VERSION", ["0.7"])
    if len(version) != 1 or version[0] not in VERSIONS:
        raise ArchiveError(f"expected PCD VERSION 0.6 or 0.7, got '{_shorten(' '.join(version))}'")
    kind = " ".join(entries["DATA"]).lower()
    if kind not in BODIES:
        raise ArchiveError(f"expected PCD DATA {', '.join(BODIES)}, got '{_shorten(kind)}'")
    width, height, points = (_one_whole(entries, keyword) for keyword in ("WIDTH", "HEIGHT", "POINTS"))
    if width * height != points:
        raise ArchiveError(f"expected PCD POINTS {width * height} as WIDTH {width} x HEIGHT {height}, got {points}")
    return PcdHeader(
        fields=_fields(entries),
        width=width,
        height=height,
        points=points,
        viewpoint=_viewpoint(entries.get("VIEWPOINT")),
        data=kind,
        body=body,
        lines=lines,
    )


def _header_entries(head: bytes) -> tuple[dict[str, list[str]], int, int]:
    """The values after each keyword, the byte after the header, and its number of lines."""
    entries: dict[str, list[str]] = {}
    start = lines = 0
    while "DATA" not in entries:
        end = head.find(b"\n", start)
        if end < 0:
            raise ArchiveError(f"expected a PCD header up to its line DATA, got {len(head)} bytes without it")
        line = head[start:end].decode("ascii", "replace").split("#", 1)[0].split()
        start, lines = end + 1, lines + 1
        if not line:
            continue
        keyword = line[0].upper()
        if keyword not in KEYWORDS or keyword in entries:
            got = f"{keyword} again" if keyword in entries else f"'{_shorten(' '.join(line))}'"
            raise ArchiveError(f"line {lines}: expected a PCD header line {', '.join(KEYWORDS)}, got {got}")
        entries[keyword] = line[1:]
    return entries, start, lines


def _fields(entries: dict[str, list[str]]) -> tuple[PcdField, ...]:
    names, types = entries["FIELDS"], [text.upper() for text in entries["TYPE"]]
    sizes = [_whole("SIZE", text) for text in entries["SIZE"]]
    counts = [_whole("COUNT", text) for text in entries.get("COUNT", ["1"] * len(names))]
    for keyword, values in (("SIZE", sizes), ("TYPE", types), ("COUNT", counts)):
        if len(values) != len(names):
            raise ArchiveError(f"expected PCD {keyword} of {len(names)} fields, got {len(values)}")
    for kind, size, count in zip(types, sizes, counts, strict=True):
        if size not in SIZES_OF_TYPE.get(kind, ()) or count < 1:
            known = ", ".join(f"{kind}{size}" for kind, sizes in SIZES_OF_TYPE.items() for size in sizes)
            raise ArchiveError(
                f"expected PCD fields of {known} and a COUNT from 1, got {_shorten(kind)}{size} x {count}"
            )
    point_names = [name for name in names if name != PADDING]
    if not point_names or len(set(point_names)) != len(point_names):
        raise ArchiveError(f"expected PCD FIELDS of different names, got '{_shorten(' '.join(names))}'")
    point = sum(size * count for size, count in zip(sizes, counts, strict=True))
    if point > LARGEST_POINT:
        raise ArchiveError(f"expected PCD points of at most {LARGEST_POINT} bytes, got {point}")
    numbers = [f"<{kind.lower()}{size}" for kind, size in zip(types, sizes, strict=True)]
    return tuple(PcdField(*field) for field in zip(names, numbers, counts, strict=True))


def _one_whole(entries: dict[str, list[str]], keyword: str) -> int:
    return _whole(keyword, " ".join(entries[keyword]))


def _whole(keyword: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= DIGITS_SHOWN):
        raise ArchiveError(f"expected PCD {keyword} in whole numbers, got '{_shorten(text)}'")
    return int(text)


def _viewpoint(words: list[str] | None) -> tuple[float, ...] | None:
    if words is None:
        return None
    try:
        numbers = tuple(float(word) for word in words)
    except ValueError:
        numbers = ()
    if len(numbers) != 7:
        raise ArchiveError(f"expected PCD VIEWPOINT of 7 numbers, got '{_shorten(' '.join(words))}'")
    return numbers


def _point_type(fields: tuple[PcdField, ...], offsets: list[int] | None = None, size: int = 0) -> np.dtype[Any]:
    """The numpy type of a point: packed, or with each field at its offset."""
    formats = [(field.number, (field.count,)) if field.count > 1 else field.number for field in fields]
    names = [field.name for field in fields]
    if offsets is None:
        return np.dtype(list(zip(names, formats, strict=True)))
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


def _cloud_from_binary(body: memoryview, header: PcdHeader) -> NDArray[Any]:
    expected = header.points * header.point_size
    _check_size(body, expected, f"{header.points} points of {header.point_size}")
    ends = np.cumsum([field.size for field in header.fields]).tolist()
    offsets = [end - field.size for end, field in zip(ends, header.fields, strict=True) if field.name != PADDING]
    return np.frombuffer(body[:expected], _point_type(header.point_fields, offsets, header.point_size))


def _check_size(body: memoryview, expected: int, what: str) -> None:
    if len(body) < expected or bytes(body[expected:]).strip(COMMON_PADDING):
        raise ArchiveError(f"expected {expected} bytes for {what}, got {len(body)}")


def _cloud_from_compressed(body: memoryview, header: PcdHeader) -> NDArray[Any]:
    cloud_type = _point_type(header.point_fields)
    if header.points == 0:
        return np.empty(0, cloud_type)
    if len(body) < LZF_SIZES.size:
        raise ArchiveError(f"expected {LZF_SIZES.size} bytes for the sizes of the compressed points, got {len(body)}")
    compressed, size = LZF_SIZES.unpack_from(body)
    body = body[LZF_SIZES.size :]
    _check_size(body, compressed, "the compressed points")
    # The padding is usually left out of the compressed data, but not by every writer: the size decides.
    sizes = [header.points * cloud_type.itemsize, header.points * header.point_size]
    if size not in sizes:
        raise ArchiveError(f"expected {sizes[0]} bytes for {header.points} uncompressed points, got {size}")
    stored = header.point_fields if size == sizes[0] else header.fields
    raw = bytes_from_lzf(bytes(body[:compressed]), size)
    cloud = np.empty(header.points, cloud_type)
    start = 0
    for field in stored:
        if field.name != PADDING:
            numbers = np.frombuffer(raw, field.number, header.points * field.count, start)
            cloud[field.name] = numbers.reshape(cloud[field.name].shape)
        start += header.points * field.size
    return cloud


def bytes_from_lzf(data: bytes, size: int) -> bytes:
    """The `size` bytes that an LZF stream stands for."""
    if size > len(data) * LZF_LARGEST_GAIN:
        raise ArchiveError(f"expected an LZF stream of {size} bytes, got only {len(data)} compressed bytes")
    out = bytearray()
    position, end = 0, len(data)
    try:
        while position < end:  # a turn per run, not per byte
            control = data[position]
            if control < 32:
                position += control + 2
                out += data[position - control - 1 : position]
                continue
            if control < 224:
                length = (control >> 5) + 2
                start = len(out) - 1 - ((control & 31) << 8) - data[position + 1]
                position += 2
            else:
                length = data[position + 1] + 9
                start = len(out) - 1 - ((control & 31) << 8) - data[position + 2]
                position += 3
            if start < 0:
                raise ArchiveError(f"damaged LZF stream: expected a reference back, got {-start} bytes too far back")
            run = out[start : start + length]
            out += run if len(run) == length else (run * (length // len(run) + 1))[:length]
    except IndexError:
        position = end + 1
    if position != end or len(out) != size:
        cut = "" if position == end else " from a stream that ends within a run"
        raise ArchiveError(f"damaged LZF stream: expected {size} bytes, got {len(out)}{cut}")
    return bytes(out)


def _cloud_from_ascii(body: bytes, header: PcdHeader) -> NDArray[Any]:
    text = _single_spaced(body)
    rows = text.lstrip(b"\n")
    first_line = header.lines + 1 + len(text) - len(rows)
    rows = rows.rstrip(b"\n")
    lines = rows.count(b"\n") + 1 if rows else 0
    if lines != header.points:
        raise ArchiveError(f"expected {header.points} lines of points, got {lines}")
    cloud = np.empty(lines, _point_type(header.point_fields))
    if lines == 0:
        return cloud
    frame = _parse_rows(rows, header, first_line)
    column = 0
    for field in header.fields:
        if field.name != PADDING:
            numbers = cloud[field.name].reshape(lines, field.count)
            for index in range(field.count):
                numbers[:, index] = frame[str(column + index)].to_numpy()
        column += field.count
    return cloud


def _single_spaced(text: bytes) -> bytes:
    text = text.replace(b"\t", b" ").rstrip(b"\r")
    for noise, plain in ((b"\r\n", b"\n"), (b"  ", b" ")):  # carriage returns elsewhere are in no number
        while noise in text:
            text = text.replace(noise, plain)
    return text.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def _parse_rows(rows: bytes, header: PcdHeader, first_line: int) -> "polars.DataFrame":
    """Parse the numbers into a frame with all columns of all fields; an error names the line that is not of numbers."""
    import polars

    fields = [field for field in header.fields for _ in range(field.count)]
    schema = {str(column): _column_type(field) for column, field in enumerate(fields)}
    try:
        if rows.count(b" ") != (len(fields) - 1) * header.points:
            raise _rows_error(rows, fields, first_line)
        frame = polars.read_csv(
            io.BytesIO(rows), has_header=False, separator=" ", schema=schema, ignore_errors=True, quote_char=None
        )
    except polars.exceptions.PolarsError:
        raise _rows_error(rows, fields, first_line) from None
    if frame.height != header.points or any(frame.null_count().row(0)):
        raise _rows_error(rows, fields, first_line, frame)
    return frame


def _column_type(field: PcdField) -> "polars.DataType":
    import polars

    if field.name == PADDING:
        return polars.String()
    name = {"i": "Int", "u": "UInt", "f": "Float"}[field.number[1]] + str(8 * int(field.number[2]))
    column_type: polars.DataType = getattr(polars, name)()
    return column_type


def _rows_error(
    rows: bytes, fields: list[PcdField], first_line: int, frame: "polars.DataFrame | None" = None
) -> ArchiveError:
    """The error of rows that do not parse; `frame` is null where a number is invalid."""
    lines = [line.split(b" ") if line else [] for line in rows.split(b"\n")]
    for number, line in enumerate(lines, first_line):
        if len(line) != len(fields):
            return ArchiveError(f"line {number}: expected {len(fields)} numbers, got {len(line)}")
    if frame is None:
        return ArchiveError(f"expected {len(lines)} lines of {len(fields)} numbers, got other text")
    nulls = np.stack([column.is_null().to_numpy() for column in frame])
    row = int(np.argmax(nulls.any(axis=0)))
    column = int(np.argmax(nulls[:, row]))
    field, text = fields[column], lines[row][column].decode("ascii", "replace")
    requested = field.number[1:].upper()
    return ArchiveError(
        f"line {first_line + row}: expected a number {requested} as {field.name}, got '{_shorten(text)}'"
    )


def _shorten(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


BODIES: dict[str, Callable[[memoryview, PcdHeader], NDArray[Any]]] = {
    "ascii": lambda body, header: call_parser(_cloud_from_ascii, bytes(body), header),
    "binary": _cloud_from_binary,
    "binary_compressed": _cloud_from_compressed,
}
