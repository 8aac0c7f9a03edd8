"""Layouts of points: the dtype of known ones, and random ones against struct."""

import math
import random
import struct

import numpy as np
import pytest
from sensor_msgs.msg import PointCloud2, PointField
from std_msgs.msg import Header

from sensor_msgs_py.point_cloud2 import DUMMY_FIELD_PREFIX, create_cloud, dtype_from_fields, read_points

# PointField's datatypes in the letters of struct, numbered as the message definition has them.
LETTERS = {1: "b", 2: "B", 3: "h", 4: "H", 5: "i", 6: "I", 7: "f", 8: "d"}


def random_fields(rng):
    fields, offset = [], 0
    for i in range(rng.randint(1, 6)):
        offset += rng.choice((0, 0, 1, 3))
        letter = rng.choice(sorted(LETTERS))
        fields.append(PointField(name=f"f{i}", offset=offset, datatype=letter, count=rng.choice((1, 1, 2, 5))))
        offset += fields[-1].count * struct.calcsize("<" + LETTERS[letter])
    return fields, offset + rng.choice((0, 0, 2, 7))


def unpack(cloud, row, column):
    order, start = ">" if cloud.is_bigendian else "<", row * cloud.row_step + column * cloud.point_step
    parts = (
        struct.unpack_from(f"{order}{f.count}{LETTERS[f.datatype]}", cloud.data, start + f.offset) for f in cloud.fields
    )
    return tuple(value for part in parts for value in part)


def same(one, other):
    return all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(one, other, strict=True))


LITTLE_AND_CLOSE = (False, 0)
OTHERS = pytest.mark.stand_in("upstream swaps the message's own bytes, and reads on through the padding of rows")


@pytest.mark.parametrize(
    ("is_bigendian", "padding"),
    [LITTLE_AND_CLOSE, *(pytest.param(*case, marks=OTHERS) for case in ((False, 3), (True, 0), (True, 3)))],
)
@pytest.mark.parametrize("seed", range(10))
def test_random_bytes_read_as_struct_reads_them(seed, is_bigendian, padding):
    rng = random.Random(seed)
    fields, step = random_fields(rng)
    width, height = rng.randint(0, 5), rng.randint(1, 4)
    row_step = width * step + padding
    cloud = PointCloud2(
        width=width, height=height, fields=fields, point_step=step, row_step=row_step, is_bigendian=is_bigendian
    )
    cloud.data = rng.randbytes(height * row_step)
    with np.errstate(invalid="ignore"):  # converting a signalling NaN
        points = read_points(cloud).tolist()
    expected = [unpack(cloud, row, column) for row in range(height) for column in range(width)]
    assert len(points) == len(expected)
    assert all(map(same, points, expected))


def random_clouds(seed):
    """The same points put into a cloud as tuples and as an array, and what they are."""
    rng = random.Random(seed)
    fields, step = random_fields(rng)
    points = np.zeros(rng.randint(0, 6), dtype_from_fields(fields, step))
    for name in points.dtype.names:
        points[name] = [rng.randint(0, 100) for _ in points]
    given = points.tolist(), points
    return *(create_cloud(Header(), fields, each, step) for each in given), given[0]


@pytest.mark.parametrize("seed", range(20))
def test_random_layouts_survive_a_round_trip(seed):
    by_list, by_array, values = random_clouds(seed)
    assert read_points(by_list).tolist() == read_points(by_array).tolist() == values


def test_fields_without_names_are_called_after_their_position():
    fields = [PointField(name="", offset=i, datatype=PointField.UINT8, count=1) for i in range(2)]
    assert dtype_from_fields(fields).names == (f"{DUMMY_FIELD_PREFIX}_0", "unnamed_field_1")


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ([("x", 0, 7, 0)], AssertionError, "count (of|=) 0"),
        ([("x", 0, 7, 1), ("x", 4, 7, 1)], AssertionError, "(?i)repeat|duplicate"),
        ([("x_1", 0, 7, 1), ("x", 4, 7, 2)], AssertionError, "(?i)repeat|duplicate"),
        ([("x", 0, 9, 1)], KeyError, "unknown datatype 9|^9$"),
    ],
)
def test_senseless_fields_are_refused(fields, error, message):
    made = [PointField(name=n, offset=o, datatype=d, count=c) for n, o, d, c in fields]
    with pytest.raises(error, match=message):
        dtype_from_fields(made)


@pytest.mark.stand_in("upstream has it")
def test_what_is_left_out_says_so():
    with pytest.raises(ImportError, match="read_points_list is not covered by this stand-in"):
        exec("from sensor_msgs_py.point_cloud2 import read_points_list")
