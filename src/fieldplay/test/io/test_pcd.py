import math
import re
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.io.pcd import bytes_from_lzf, cloud_from_pcd, header_from_pcd

KINDS = ("ascii", "binary", "binary_compressed")
LONGEST_RUN, LONGEST_MATCH, FURTHEST = 32, 264, 8192


def lzf_from_bytes(data: bytes) -> bytes:
    """Compress as the format allows: runs of up to 32 bytes as they are, or references to 3 to 264 bytes seen."""
    out, run, seen, position = bytearray(), bytearray(), dict[bytes, int](), 0

    def end_run() -> None:
        for start in range(0, len(run), LONGEST_RUN):
            literal = run[start : start + LONGEST_RUN]
            out.extend([len(literal) - 1, *literal])
        run.clear()

    while position < len(data):
        key = data[position : position + 3]
        back = position - seen.get(key, position)
        seen[key] = position
        if not 0 < back <= FURTHEST or len(key) < 3:
            run.append(data[position])
            position += 1
            continue
        length = 3
        while (
            length < LONGEST_MATCH
            and position + length < len(data)
            and data[position + length] == data[position + length - back]
        ):
            length += 1
        end_run()
        high, low = divmod(back - 1, 256)
        out.extend([(length - 2) << 5 | high, low] if length < 9 else [7 << 5 | high, length - 9, low])
        position += length
    end_run()
    return bytes(out)


def header_of(cloud: NDArray[Any], kind: str, **changed: str | None) -> bytes:
    """A header that describes the packed cloud; fields named pad... are padding."""
    fields = [(name, cloud.dtype[name]) for name in cloud.dtype.names or ()]
    lines: dict[str, str | None] = {
        "VERSION": "0.7",
        "FIELDS": " ".join("_" if name.startswith("pad") else name for name, _ in fields),
        "SIZE": " ".join(str(part.base.itemsize) for _, part in fields),
        "TYPE": " ".join(part.base.kind.upper() for _, part in fields),
        "COUNT": " ".join(str(math.prod(part.shape)) for _, part in fields),
        "WIDTH": str(len(cloud)),
        "HEIGHT": "1",
        "VIEWPOINT": "0 0 0 1 0 0 0",
        "POINTS": str(len(cloud)),
        "DATA": kind,
    }
    lines.update(changed)
    return b"".join(f"{keyword} {value}\n".encode() for keyword, value in lines.items() if value is not None)


def columns_of(cloud: NDArray[Any], *, with_padding: bool) -> bytes:
    names = [name for name in cloud.dtype.names or () if with_padding or not name.startswith("pad")]
    return b"".join(cloud[name].tobytes() for name in names)


def body_of(cloud: NDArray[Any], kind: str, *, with_padding: bool = True) -> bytes:
    if kind == "binary":
        return cloud.tobytes()
    if kind == "ascii":
        rows = [[number for value in row for number in np.ravel(value).astype(object)] for row in cloud.tolist()]
        return "".join(" ".join(map(str, row)) + "\n" for row in rows).encode()
    raw = columns_of(cloud, with_padding=with_padding)
    packed = lzf_from_bytes(raw)
    return struct.pack("<II", len(packed), len(raw)) + packed


def cloud_of(points: int) -> NDArray[Any]:
    """Fields of all kinds in an order of its own, with padding between them."""
    layout = [("ring", "<u2"), ("pad1", "i1", (2,)), ("x", "<f4"), ("fpfh", "<f4", (3,)), ("t", "<u8")]
    layout += [("pad2", "<f4", (1,)), ("y", "<f8"), ("a", "i1"), ("b", "<i2"), ("c", "<i4"), ("d", "<i8"), ("e", "u1")]
    cloud = np.zeros(points, [*layout, ("f", "<u4")])
    draw = np.random.default_rng(7)
    for name in cloud.dtype.names or ():
        column = cloud[name]
        if column.dtype.kind == "f":
            column[:] = draw.normal(0, 30, column.shape)
        else:
            info = np.iinfo(column.dtype)
            column[:] = draw.integers(info.min, info.max, column.shape, column.dtype, endpoint=True)
    return cloud


def assert_same(read: NDArray[Any], cloud: NDArray[Any]) -> None:
    names = [name for name in cloud.dtype.names or () if not name.startswith("pad")]
    assert list(read.dtype.names or ()) == names
    for name in names:
        assert read[name].dtype == cloud[name].dtype
        np.testing.assert_array_equal(read[name], cloud[name])


XYZI = np.zeros(3, [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("intensity", "<f4")])
XYZI["x"], XYZI["z"], XYZI["intensity"] = [1.5, -2, np.nan], [0.1, 1e-9, np.nan], [0, 7, 255]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("points", [0, 1, 200])
def test_fields_of_all_types_round_trip_without_padding(kind: str, points: int) -> None:
    cloud = cloud_of(points)
    assert_same(cloud_from_pcd(header_of(cloud, kind) + body_of(cloud, kind)), cloud)


def test_compressed_data_may_omit_padding() -> None:
    cloud, kind = cloud_of(50), "binary_compressed"
    assert_same(cloud_from_pcd(header_of(cloud, kind) + body_of(cloud, kind, with_padding=False)), cloud)


@pytest.mark.parametrize("kind", KINDS)
def test_nan_point_is_kept(kind: str) -> None:
    assert_same(cloud_from_pcd(header_of(XYZI, kind) + body_of(XYZI, kind)), XYZI)


def test_compressed_file_without_points_may_end_at_header() -> None:
    assert len(cloud_from_pcd(header_of(XYZI[:0], "binary_compressed"))) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_header_is_read_in_any_notation(kind: str) -> None:
    plain = header_of(XYZI, kind, VERSION=".6", VIEWPOINT=None, COUNT=None)
    dressed = b"# .PCD v.6\n\n" + plain.lower().replace(b"\n", b"  # words\r\n").replace(b" ", b"\t ", 1)
    assert_same(cloud_from_pcd(dressed + body_of(XYZI, kind)), XYZI)
    header = header_from_pcd(dressed)
    assert (header.points, header.width, header.height, header.viewpoint) == (3, 3, 1, None)
    assert (header.body, header.lines, header.data) == (len(dressed), dressed.count(b"\n"), kind)
    assert [field.name for field in header.point_fields] == ["x", "y", "z", "intensity"]


def test_header_gives_size_and_viewpoint() -> None:
    header = header_from_pcd(header_of(cloud_of(6), "binary", WIDTH="3", HEIGHT="2", VIEWPOINT="1 2 3 1 0 0 .5"))
    assert (header.width, header.height, header.points, header.point_size) == (3, 2, 6, cloud_of(0).dtype.itemsize)
    assert header.viewpoint == (1, 2, 3, 1, 0, 0, 0.5)


@pytest.mark.parametrize(
    "text",
    [
        b"1.5 0 0.1 0\r\n-2 0 1e-9 7\r\nnan nan nan 255\r\n",
        b"\n\n  1.5  0\t0.1 0\n-2.0 -0 1E-09 7 \n -nan NaN nan 255",
        b"1.5 0 0.1 0 \n-2 0 1e-9 7 \nnan nan nan 255 \n\n \n",
        b"1.5 0 0.1 0\r\r\n-2 0 1e-9 7 \r\nnan -nan nan 255\r",
    ],
)
def test_ascii_points_in_any_notation_give_same_numbers(text: bytes) -> None:
    cloud = XYZI.copy()
    cloud["y"][2] = np.nan
    assert_same(cloud_from_pcd(header_of(XYZI, "ascii") + text), cloud)


@pytest.mark.parametrize("text", ["2\r5", "--nan"])
def test_text_that_is_a_number_only_without_noise_is_invalid(text: str) -> None:
    ring = np.zeros(1, [("ring", "u1")])
    with pytest.raises(ArchiveError, match="expected a number U1 as ring"):
        cloud_from_pcd(header_of(ring, "ascii") + text.encode())
    with pytest.raises(ArchiveError, match="expected a number F4 as x"):
        cloud_from_pcd(header_of(XYZI[:1], "ascii") + f"{text} 0 0 0".encode())


def test_zeros_or_line_end_after_points_are_no_issue() -> None:
    for kind in ("binary", "binary_compressed"):
        assert_same(cloud_from_pcd(header_of(XYZI, kind) + body_of(XYZI, kind) + b"\r\n\0\0"), XYZI)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"FIELDS": None}, "expected the PCD header lines FIELDS, SIZE, .*, got no FIELDS"),
        ({"WIDTH": None, "POINTS": None}, "got no WIDTH, POINTS"),
        ({"DATA": None}, r"expected a PCD header up to its line DATA, got \d+ bytes without it"),
        ({"DATA": "zipped"}, "expected PCD DATA ascii, binary, binary_compressed, got 'zipped'"),
        ({"VERSION": "0.8"}, "expected PCD VERSION 0.6 or 0.7, got '0.8'"),
        ({"POINTS": "4"}, "expected PCD POINTS 3 as WIDTH 3 x HEIGHT 1, got 4"),
        ({"HEIGHT": "-1"}, "expected PCD HEIGHT in whole numbers, got '-1'"),
        ({"HEIGHT": "1 1"}, "expected PCD HEIGHT in whole numbers, got '1 1'"),
        ({"WIDTH": "9" * 5000}, r"expected PCD WIDTH in whole numbers, got '9+\.\.\.'"),
        ({"SIZE": "4 4 4"}, "expected PCD SIZE of 4 fields, got 3"),
        ({"SIZE": "4 4 4 3"}, "expected PCD fields of I1, .*F8 and a COUNT from 1, got F3 x 1"),
        ({"SIZE": "4 4 4 2"}, "got F2 x 1"),
        ({"TYPE": "F F F X"}, "got X4 x 1"),
        ({"COUNT": "1 1 1 0"}, "got F4 x 0"),
        ({"COUNT": "1 1 1 999999999"}, "expected PCD points of at most 1048576 bytes, got 4000000008"),
        ({"FIELDS": "x y z x"}, "expected PCD FIELDS of different names, got 'x y z x'"),
        ({"FIELDS": "_ _ _ _"}, "expected PCD FIELDS of different names, got '_ _ _ _'"),
        ({"VIEWPOINT": "0 0 0 1"}, "expected PCD VIEWPOINT of 7 numbers, got '0 0 0 1'"),
        ({"VIEWPOINT": "0 0 0 1 0 0 z"}, "expected PCD VIEWPOINT of 7 numbers"),
        ({"VERSION": "0.7\nWIDTH 3"}, "line 7: expected a PCD header line FIELDS, .*, got WIDTH again"),
        ({"VERSION": "0.7\nCOLOUR red"}, "line 2: expected a PCD header line FIELDS, .*, got 'COLOUR red'"),
    ],
)
def test_invalid_header_is_explained(changed: dict[str, str | None], message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        header_from_pcd(header_of(XYZI, "binary", **changed))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("ascii", "expected 1000000000000 lines of points, got 3"),
        ("binary", r"expected 16000000000000 bytes for 1000000000000 points of 16, got 48"),
        ("binary_compressed", "expected 16000000000000 bytes for 1000000000000 uncompressed points, got 48"),
    ],
)
def test_absurd_point_count_is_refused_before_allocation(kind: str, message: str) -> None:
    many = "1000000000000"
    with pytest.raises(ArchiveError, match=message):
        cloud_from_pcd(header_of(XYZI, kind, WIDTH=many, POINTS=many) + body_of(XYZI, kind))


def test_impossible_uncompressed_size_is_refused() -> None:
    head = header_of(XYZI, "binary_compressed", WIDTH="200000000", POINTS="200000000")
    with pytest.raises(ArchiveError, match="expected an LZF stream of 3200000000 bytes, got only 4 compressed bytes"):
        cloud_from_pcd(head + struct.pack("<II", 4, 3_200_000_000) + b"\2abc")


@pytest.mark.parametrize("kind", ["binary", "binary_compressed"])
def test_cut_off_binary_points_are_refused_with_sizes(kind: str) -> None:
    head, body = header_of(XYZI, kind), body_of(XYZI, kind)
    for cut in range(len(body)):
        got = cut if kind == "binary" or cut < 8 else cut - 8
        with pytest.raises(ArchiveError, match=rf"expected \d+ bytes for .*, got {got}$"):
            cloud_from_pcd(head + body[:cut])


def test_excess_bytes_are_refused() -> None:
    with pytest.raises(ArchiveError, match="expected 48 bytes for 3 points of 16, got 64"):
        cloud_from_pcd(header_of(XYZI, "binary") + body_of(XYZI, "binary") + XYZI[:1].tobytes())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"1 2 3 4\n1 2 3 4\n", "expected 3 lines of points, got 2"),
        (b"", "expected 3 lines of points, got 0"),
        (b"1 2 3 4\n" * 4, "expected 3 lines of points, got 4"),
        (b"1 2 3 4\n1 2 3\n1 2 3 4\n", "line 12: expected 4 numbers, got 3"),
        (b"\n1 2 3 4\n1 2 3\n1 2 3 4 5\n", "line 13: expected 4 numbers, got 3"),
        (b"1 2 3 4 5\n1 2 3\n1 2 3 4\n", "line 11: expected 4 numbers, got 5"),
        (b"1 2 3 4\n\n1 2 3 4\n", "line 12: expected 4 numbers, got 0"),
        (b"1 2 3 4\n1 2 z 4\n1 2 3 4\n", "line 12: expected a number F4 as z, got 'z'"),
        (b"1 2 3 4\n1 2 3 4\n1,5 2 3 4\n", "line 13: expected a number F4 as x, got '1,5'"),
        (b"1 2 3 4\n1 2 3 0x10\n1 2 3 \xff\n", "line 12: expected a number F4 as intensity, got '0x10'"),
        (b'1 2 3 4\n1 2 3 4\n"1" 2 3 4\n', "line 13: expected a number F4 as x, got '\"1\"'"),
    ],
)
def test_invalid_ascii_points_are_explained_with_line(text: bytes, message: str) -> None:
    with pytest.raises(ArchiveError, match=re.escape(message)):
        cloud_from_pcd(header_of(XYZI, "ascii") + text)


@pytest.mark.parametrize("text", ["256", "-1", "1.5", "nan"])
def test_ascii_number_out_of_range_of_its_type_is_refused(text: str) -> None:
    ring = np.zeros(1, [("ring", "u1")])
    with pytest.raises(ArchiveError, match=f"line 11: expected a number U1 as ring, got '{text}'"):
        cloud_from_pcd(header_of(ring, "ascii") + text.encode())


@given(st.binary(max_size=400) | st.text("ab", max_size=3000).map(str.encode))
def test_output_of_independent_lzf_encoder_is_decoded(data: bytes) -> None:
    assert bytes_from_lzf(lzf_from_bytes(data), len(data)) == data


@pytest.mark.parametrize(
    ("stream", "data"),
    [
        (b"", b""),
        (b"\4abcde", b"abcde"),
        (b"\2abc\x20\2", b"abcabc"),
        (b"\0a\x20\0", b"aaaa"),  # a reference into what it writes itself
        (b"\1ab\xe0\0\1", b"ab" + 4 * b"ab" + b"a"),
        (b"\0a\xe0\xff\0", 265 * b"a"),
    ],
)
def test_literal_lzf_streams_are_decoded(stream: bytes, data: bytes) -> None:
    assert bytes_from_lzf(stream, len(data)) == data


@pytest.mark.parametrize(
    ("stream", "size", "message"),
    [
        (b"\4abc", 5, "damaged LZF stream: expected 5 bytes, got 3"),
        (b"\4abc", 3, "damaged LZF stream: expected 3 bytes, got 3 from a stream that ends within a run"),
        (b"\2abc\x20", 6, "damaged LZF stream: expected 6 bytes, got 3"),
        (b"\2abc\xe0\0", 12, "damaged LZF stream: expected 12 bytes, got 3"),
        (b"\2abc", 4, "damaged LZF stream: expected 4 bytes, got 3"),
        (b"\2abc", 2, "damaged LZF stream: expected 2 bytes, got 3"),
        (b"\2abc\x20\3", 6, "damaged LZF stream: expected a reference back, got 1 bytes too far back"),
    ],
)
def test_damaged_lzf_stream_is_refused(stream: bytes, size: int, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        bytes_from_lzf(stream, size)


@given(st.data())
def test_changed_bytes_are_read_or_refused_but_no_crash(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(KINDS))
    whole = bytearray(header_of(XYZI, kind) + body_of(XYZI, kind))
    for offset in data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=4)):
        whole[offset] = data.draw(st.integers(0, 255))
    try:
        cloud = cloud_from_pcd(bytes(whole))
    except ArchiveError as error:
        assert "expected" in str(error)
    else:
        assert cloud.ndim == 1
