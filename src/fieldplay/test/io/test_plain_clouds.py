import struct

import numpy as np
import pytest

from fieldplay.core.errors import ArchiveError
from fieldplay.io.plain_clouds import cloud_from_floats, cloud_from_text

FIELDS = ("x", "y", "z", "intensity")
POINTS = [(1.5, -2.25, 0.125, 0.5), (30.0, 4.0, -1.75, 0.0)]


def test_floats_are_points_in_the_order_of_the_fields() -> None:
    cloud = cloud_from_floats(struct.pack("<8f", *POINTS[0], *POINTS[1]), FIELDS)
    assert cloud.dtype.names == FIELDS
    assert [tuple(point.tolist()) for point in cloud] == POINTS


def test_text_has_the_same_points() -> None:
    text = "\n".join(" ".join(map(str, point)) for point in POINTS).encode()
    np.testing.assert_array_equal(
        cloud_from_text(text, FIELDS), cloud_from_floats(np.float32(POINTS).tobytes(), FIELDS)
    )
    np.testing.assert_array_equal(cloud_from_text(text.replace(b" ", b", "), FIELDS), cloud_from_text(text, FIELDS))


def test_points_without_position_are_left_out() -> None:
    data = np.float32([POINTS[0], (np.nan, 0, 0, 1), POINTS[1]]).tobytes()
    assert len(cloud_from_floats(data, FIELDS)) == 2


def test_empty_files_are_clouds_without_points() -> None:
    assert len(cloud_from_floats(b"", FIELDS)) == len(cloud_from_text(b"", FIELDS)) == 0


def test_cut_floats_are_rejected() -> None:
    with pytest.raises(ArchiveError, match="expected points of 16 bytes, got 30 bytes: 14 too many"):
        cloud_from_floats(bytes(30), FIELDS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"1 2 3 4\n1 2 3\n", "line 2: expected 4 numbers, got 3"),
        (b"1 2 3 4\n1 2 x 4\n", "line 2: expected a number, got 'x'"),
        (b"1 2 3\n1 2 3\n", "line 1: expected 4 numbers, got 3"),
        (b"\xff\xfe 2 3 4\n", "line 1: expected a number"),
    ],
)
def test_line_that_is_no_point_is_named(text: bytes, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        cloud_from_text(text, FIELDS)
