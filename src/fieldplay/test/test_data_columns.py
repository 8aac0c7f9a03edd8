"""Columns of records by hand, and of bags that others have written."""

from pathlib import Path

import numpy as np
import pytest

import fieldplay
from fieldplay.messages import records
from fieldplay.recording.recording import columns_of_records
from fieldplay_testing.reference_messages import START_NS, make, write_bag

AT = np.array([3, 5])


def test_joints_have_columns_for_names_of_all_parts() -> None:
    first = records.Joints(stamp_ns=AT, names=("a", "b"), position=np.array([[1.0, 2.0], [3.0, 4.0]]))
    second = records.Joints(stamp_ns=AT + 1, names=("c", "a"), position=np.array([[5.0, 6.0], [7.0, 8.0]]))
    columns = columns_of_records([first, second])
    assert (columns["names"].tolist(), columns["stamp_ns"].tolist()) == (["a", "b", "c"], [3, 4, 5, 6])
    missing = np.nan
    expected = [[1, 2, missing], [6, missing, 5], [3, 4, missing], [8, missing, 7]]
    np.testing.assert_array_equal(columns["position"], expected)


def test_rows_that_are_shorter_end_with_nan_and_lacking_columns_are_nan() -> None:
    first = records.Values(stamp_ns=AT, values=np.ones((2, 3)))
    second = records.Values(stamp_ns=AT, order_ns=AT - 2, values=np.zeros((2, 2)))
    columns = columns_of_records([first, second])
    assert columns["leaves_ns"].tolist() == [1, 3, 3, 5]
    np.testing.assert_array_equal(columns["values"], [[0, 0, np.nan], [1, 1, 1], [0, 0, np.nan], [1, 1, 1]])
    whole = records.Batteries(stamp_ns=AT, voltage_v=np.ones(2), current_a=np.ones(2))
    missing = records.Batteries(stamp_ns=AT + 9, voltage_v=np.ones(2))
    np.testing.assert_array_equal(columns_of_records([whole, missing])["current_a"], [1, 1, np.nan, np.nan])


def test_transforms_have_row_each_where_they_are_known() -> None:
    known = np.array([[True, False], [True, True]])
    record = records.Transforms(
        stamp_ns=AT,
        parents=("map", "base"),
        children=("base", "arm"),
        translation_m=np.arange(12.0).reshape(2, 2, 3),
        rotation_xyzw=np.tile([0.0, 0.0, 0.0, 1.0], (2, 2, 1)),
        known=known,
    )
    columns = columns_of_records([record])
    assert list(zip(columns["stamp_ns"].tolist(), columns["parent"], columns["child"], strict=True)) == [
        (3, "map", "base"),
        (5, "map", "base"),
        (5, "base", "arm"),
    ]
    assert columns["translation_m"].tolist() == [[0, 1, 2], [6, 7, 8], [9, 10, 11]]


def test_path_and_states_of_parts_are_reported_row_by_row() -> None:
    poses = records.Pose(stamp_ns=AT, position_m=np.ones((2, 3)), orientation_xyzw=np.ones((2, 4)))
    paths = records.Paths(stamp_ns=AT, paths=(poses,), path_index=np.zeros(2, int), count=np.array([1, 2]))
    assert [each.shape for each in columns_of_records([paths])["position_m"]] == [(1, 3), (2, 3)]
    states = ((records.State("arm", 0, "fine"), records.State("cam", 2, "lost", (("since", "9"),))), ())
    columns = columns_of_records([records.Diagnostics(stamp_ns=AT, states=states, state_index=np.array([0, 1]))])
    assert (columns["stamp_ns"].tolist(), columns["name"].tolist(), columns["level"].tolist()) == (
        [3, 3],
        ["arm", "cam"],
        [0, 2],
    )
    assert columns["values"].tolist() == [{}, {"since": "9"}]


def test_nothing_has_columns_of_times_alone() -> None:
    assert {name: len(column) for name, column in columns_of_records([]).items()} == {"stamp_ns": 0, "leaves_ns": 0}


def test_bag_of_others_gives_its_messages_and_columns_where_its_types_have_such(tmp_path: Path) -> None:
    numbers = [("/speed", START_NS + at, make("std_msgs/msg/Float64", data=float(at))) for at in (5, 7)]
    other = [("/route", START_NS + 6, make("std_msgs/msg/Header", frame_id="map"))]
    with fieldplay.open(write_bag(tmp_path / "bag", [*numbers, *other])) as bag:
        assert bag.records("speed")["values"].tolist() == [5.0, 7.0]
        assert bag.records("speed")["leaves_ns"].tolist() == [START_NS + 5, START_NS + 7]
        assert [message.topic for message in bag.messages()] == ["/speed", "/route", "/speed"]
        assert bag.tf_static == ()
        with pytest.raises(fieldplay.UsageError, match=r"/route: no columns are made of std_msgs/msg/Header"):
            bag.records("route")
        with pytest.raises(fieldplay.UsageError, match=r"/speed: expected clouds, got std_msgs/msg/Float64"):
            next(bag.clouds("speed"))
