"""What read_points makes of messages whose bytes were packed by hand."""

import struct

import numpy as np
import pytest
from sensor_msgs.msg import PointCloud2, PointField

from sensor_msgs_py.point_cloud2 import read_points, read_points_numpy

NAN = float("nan")


def field(name, offset, datatype=PointField.FLOAT32, count=1):
    return PointField(name=name, offset=offset, datatype=datatype, count=count)


def cloud_of(data, fields, step, *, height=1, **rest):
    width = rest.pop("width", len(data) // step // height)
    cloud = PointCloud2(height=height, width=width, fields=fields, point_step=step, **rest)
    cloud.data = data
    if "row_step" not in rest:
        cloud.row_step = step * width
    return cloud


def xyz_cloud(rows, **rest):
    data = b"".join(struct.pack("<3f", *row) for row in rows)
    return cloud_of(data, [field("x", 0), field("y", 4), field("z", 8)], 12, **rest)


def test_offsets_and_padding_are_honoured():
    data = struct.pack("<2xd2xH2x", 1.5, 7) + struct.pack("<2xd2xH2x", -2.5, 65535)
    fields = [field("ring", 12, PointField.UINT16), field("range", 2, PointField.FLOAT64)]
    points = read_points(cloud_of(data, fields, 16))
    assert points.dtype.names == ("ring", "range")
    assert points.tolist() == [(7, 1.5), (65535, -2.5)]


@pytest.mark.stand_in("upstream swaps the message's own bytes, so that a second reading is wrong")
def test_big_endian_data_comes_out_native_and_the_message_stays():
    data = struct.pack(">dHf", 1.5, 258, 0.25) + struct.pack(">dHf", -1e300, 1, NAN)
    fields = [field("a", 0, PointField.FLOAT64), field("b", 8, PointField.UINT16), field("c", 10)]
    cloud = cloud_of(data, fields, 14, is_bigendian=True)
    for _ in range(2):
        points = read_points(cloud)
        assert points["a"].tolist() == [1.5, -1e300]
        assert points["b"].tolist() == [258, 1]
        assert points["c"][0] == 0.25
        assert np.isnan(points["c"][1])
        assert all(points.dtype[name].isnative for name in points.dtype.names)
    assert bytes(cloud.data) == data
    assert read_points(cloud, ["b"], skip_nans=True)["b"].tolist() == [258, 1]


def test_fields_come_in_the_order_asked_for():
    points = read_points(xyz_cloud([(1, 2, 3), (4, 5, 6)]), field_names=("z", "x"))
    assert points.dtype.names == ("z", "x")
    assert points.tolist() == [(3.0, 1.0), (6.0, 4.0)]


def test_an_unknown_field_is_refused_by_name():
    with pytest.raises(AssertionError, match=r"intensity|not in the fields"):
        read_points(xyz_cloud([(1, 2, 3)]), ["x", "intensity"])


def test_skipping_nans_looks_at_the_chosen_fields_only():
    cloud = xyz_cloud([(1, 2, 3), (NAN, 5, 6), (7, 8, NAN)])
    assert read_points(cloud, skip_nans=True)["y"].tolist() == [2.0]
    assert read_points(cloud, ["x", "y"], skip_nans=True)["y"].tolist() == [2.0, 8.0]
    assert len(read_points(cloud)) == 3


@pytest.mark.parametrize("uvs", [[2, 0], (i for i in (2, 0)), np.array([2, 0])], ids=["list", "generator", "array"])
def test_indices_choose_points_after_nans_went(uvs):
    cloud = xyz_cloud([(1, 0, 0), (NAN, 0, 0), (2, 0, 0), (3, 0, 0)])
    assert read_points(cloud, skip_nans=True, uvs=uvs)["x"].tolist() == [3.0, 1.0]


def test_an_organized_cloud_is_flat_unless_asked_for():
    cloud = xyz_cloud([(i, 0, 0) for i in range(6)], height=2)
    assert read_points(cloud).shape == (6,)
    grid = read_points(cloud, reshape_organized_cloud=True)
    assert grid.shape == (cloud.width, cloud.height) == (3, 2)
    assert grid["x"].ravel().tolist() == [0, 1, 2, 3, 4, 5]
    assert read_points(xyz_cloud([(1, 2, 3)]), reshape_organized_cloud=True).shape == (1,)


@pytest.mark.stand_in("upstream reads on through the padding")
def test_padding_between_rows_is_left_out():
    fields = [field("x", 0, PointField.UINT8)]
    cloud = cloud_of(bytes([1, 2, 9, 9, 3, 4, 9, 9, 5, 6]), fields, 1, height=3, width=2, row_step=4)
    assert read_points(cloud)["x"].tolist() == [1, 2, 3, 4, 5, 6]


def test_the_array_is_a_view_of_native_data():
    cloud = xyz_cloud([(1, 2, 3)])
    read_points(cloud)["y"] = 42.0
    assert struct.unpack("<3f", bytes(cloud.data)) == (1.0, 42.0, 3.0)


def test_plain_arrays_hold_the_fields_along_the_last_axis():
    cloud = xyz_cloud([(1, 2, 3), (4, 5, 6)])
    plain = read_points_numpy(cloud)
    assert plain.dtype == np.float32
    assert plain.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert read_points_numpy(cloud, ["z", "y"]).tolist() == [[3, 2], [6, 5]]
    assert read_points_numpy(xyz_cloud([(0, 0, 0)] * 6, height=2), reshape_organized_cloud=True).shape == (3, 2, 3)


@pytest.mark.stand_in("upstream compares with the cloud's first field, too")
def test_plain_arrays_need_one_datatype_among_the_chosen_fields():
    fields = [field("ring", 0, PointField.UINT8), field("x", 1), field("y", 5)]
    cloud = cloud_of(struct.pack("<Bff", 3, 0.5, 1.5), fields, 9)
    with pytest.raises(AssertionError, match="read_points"):
        read_points_numpy(cloud)
    assert read_points_numpy(cloud, ["x", "y"]).tolist() == [[0.5, 1.5]]


def test_a_count_gives_numbered_fields():
    cloud = cloud_of(struct.pack("<3hB", 1, -2, 3, 9), [field("n", 0, PointField.INT16, 3), field("", 6, 2)], 7)
    points = read_points(cloud)
    assert points.dtype.names == ("n_0", "n_1", "n_2", "unnamed_field_1")
    assert points.tolist() == [(1, -2, 3, 9)]
    assert read_points_numpy(cloud, ["n_0", "n_1", "n_2"]).tolist() == [[1, -2, 3]]
