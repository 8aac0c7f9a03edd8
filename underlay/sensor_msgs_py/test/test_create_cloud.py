"""What create_cloud puts into a message, seen through struct."""

import struct

import numpy as np
import pytest
from sensor_msgs.msg import PointField
from std_msgs.msg import Header

from sensor_msgs_py.point_cloud2 import create_cloud, create_cloud_xyz32, read_points

HEADER = Header(frame_id="lidar")
XYZ = [PointField(name=name, offset=4 * i, datatype=PointField.FLOAT32, count=1) for i, name in enumerate("xyz")]
MIXED = [
    PointField(name="range", offset=2, datatype=PointField.FLOAT64, count=1),
    PointField(name="ring", offset=12, datatype=PointField.UINT16, count=1),
]


def test_xyz32_packs_little_endian_floats():
    cloud = create_cloud_xyz32(HEADER, [(1.0, 2.0, 3.0), (-4.5, 0.0, 6.25)])
    assert bytes(cloud.data) == struct.pack("<6f", 1.0, 2.0, 3.0, -4.5, 0.0, 6.25)
    assert (cloud.width, cloud.height, cloud.point_step, cloud.row_step) == (2, 1, 12, 24)
    assert (cloud.is_bigendian, cloud.is_dense, cloud.header.frame_id) == (False, False, "lidar")
    assert [(f.name, f.offset, f.datatype, f.count) for f in cloud.fields] == [
        ("x", 0, PointField.FLOAT32, 1),
        ("y", 4, PointField.FLOAT32, 1),
        ("z", 8, PointField.FLOAT32, 1),
    ]


@pytest.mark.parametrize(
    "points",
    [
        [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]],
        ((float(i), i + 1.0, i + 2.0) for i in (0, 3)),
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.arange(6).reshape(2, 3),
        np.repeat(np.arange(6.0).reshape(2, 3), 2, axis=0)[::2],
        np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
        np.array([(0, 1, 2), (3, 4, 5)], dtype=[("x", "<f4"), ("y", "<f4"), ("z", "<f4")]),
    ],
    ids=["lists", "generator", "float32", "int64", "strided float64", "fortran order", "structured"],
)
def test_every_form_of_points_gives_the_same_bytes(points):
    cloud = create_cloud(HEADER, XYZ, points)
    assert struct.unpack("<6f", bytes(cloud.data)) == (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)


@pytest.mark.stand_in("upstream leaves what was in memory in the bytes between fields")
def test_fields_keep_their_offsets_and_the_gaps_are_zero():
    cloud = create_cloud(HEADER, MIXED, [(1.5, 7), (2.5, 8)], 16)
    assert bytes(cloud.data) == struct.pack("<2xd2xH2x2xd2xH2x", 1.5, 7, 2.5, 8)
    assert (cloud.point_step, cloud.row_step) == (16, 32)


def test_a_count_takes_as_many_columns():
    field = PointField(name="normal", offset=0, datatype=PointField.INT16, count=3)
    cloud = create_cloud(HEADER, [field], np.array([[1, -2, 3], [4, 5, -6]]))
    assert bytes(cloud.data) == struct.pack("<6h", 1, -2, 3, 4, 5, -6)
    assert cloud.point_step == 6


def test_two_axes_are_width_and_height():
    grid = np.arange(30, dtype=np.float32).reshape(2, 5, 3)
    cloud = create_cloud_xyz32(HEADER, grid)
    assert (cloud.width, cloud.height, cloud.row_step) == (2, 5, 24)
    again = read_points(cloud, reshape_organized_cloud=True)
    assert again.shape == (2, 5)
    np.testing.assert_array_equal(again["y"], grid[..., 1])


def test_a_plain_array_for_mixed_datatypes_is_refused():
    with pytest.raises(AssertionError, match="structured"):
        create_cloud(HEADER, MIXED, np.zeros((2, 2)))


def test_a_structured_array_of_another_layout_is_refused():
    padded = np.zeros(2, np.dtype({"names": list("xyz"), "formats": ["<f4"] * 3, "itemsize": 20}))
    with pytest.raises(AssertionError, match="dtype"):
        create_cloud(HEADER, XYZ, padded)
    assert create_cloud(HEADER, XYZ, padded, 20).point_step == 20
