"""What a buffer keeps, and for how long."""

import pytest
import yaml
from rclpy.duration import Duration
from rclpy.time import Time

from tf2_ros import Buffer, ConnectivityException, ExtrapolationException

LATEST = Time()


def at(seconds):
    return Time(nanoseconds=round(seconds * 1e9))


def x_of(buffer, time, child="base"):
    return buffer.lookup_transform("map", child, time).transform.translation.x


@pytest.fixture
def buffer():
    return Buffer()


@pytest.fixture
def put(buffer, stamped):
    """Store map_T_base with the time as its x."""
    return lambda seconds: buffer.set_transform(stamped("map", "base", seconds, (seconds, 0, 0)), "test")


def test_ten_seconds_are_kept_by_default(buffer, put):
    for seconds in range(1, 13):
        put(seconds)
    put(12.5)
    assert x_of(buffer, at(2)) == 2
    with pytest.raises(ExtrapolationException, match=r"earliest data is at time 2\.000000"):
        x_of(buffer, at(1.9))


def test_the_kept_duration_can_be_chosen(stamped):
    buffer = Buffer(cache_time=Duration(seconds=1))
    for tenth in range(10, 41):
        buffer.set_transform(stamped("map", "base", tenth / 10, (tenth / 10, 0, 0)), "test")
    assert x_of(buffer, at(2.95)) == pytest.approx(2.95)
    with pytest.raises(ExtrapolationException, match="into the past"):
        x_of(buffer, at(2.8))


def test_samples_may_arrive_in_any_order(buffer, put):
    for seconds in (5, 3, 4, 1, 2):
        put(seconds)
    assert [x_of(buffer, at(seconds)) for seconds in (1.5, 2.5, 3.5, 4.5)] == [1.5, 2.5, 3.5, 4.5]
    assert x_of(buffer, LATEST) == 5


def test_data_older_than_the_cache_are_ignored_with_a_warning(buffer, put, capfd):
    put(20)
    put(9.9)
    warning = capfd.readouterr().err
    assert "[WARN]" in warning
    assert "TF_OLD_DATA" in warning
    assert "frame base at time 9.900000 according to authority test" in warning
    assert not buffer.can_transform("map", "base", at(9.9))
    put(10)
    assert capfd.readouterr().err == ""
    assert x_of(buffer, at(15)) == 15


def test_of_two_samples_at_one_time_the_later_counts(buffer, put, stamped):
    put(4)
    for x in (1, 2, 2):
        buffer.set_transform(stamped("map", "base", 5, (x, 0, 0)), "test")
    buffer.set_transform(stamped("map", "base", 6, (4, 0, 0)), "test")
    assert x_of(buffer, at(5)) == 2
    assert x_of(buffer, at(5.5)) == 3
    assert "rate: 2.000" in buffer.all_frames_as_yaml()


@pytest.mark.stand_in("upstream takes the first of those that are the oldest of all")
def test_of_two_samples_at_the_oldest_time_the_later_counts_too(buffer, put, stamped):
    for x in (1, 2):
        buffer.set_transform(stamped("map", "base", 5, (x, 0, 0)), "test")
    put(6)
    assert x_of(buffer, at(5)) == 2


def test_a_static_transform_holds_at_all_times(buffer, stamped):
    buffer.set_transform_static(stamped("map", "base", 50, (1, 0, 0)), "test")
    assert [x_of(buffer, time) for time in (LATEST, at(1), at(1e9))] == [1, 1, 1]
    assert buffer.lookup_transform("map", "base", at(7)).header.stamp.sec == 7
    assert buffer.lookup_transform("map", "base", LATEST).header.stamp.sec == 0
    buffer.set_transform_static(stamped("map", "base", 40, (2, 0, 0)), "test")
    assert x_of(buffer, at(1)) == 2


def test_a_frame_is_static_or_moving_as_it_was_last_told(buffer, stamped, put):
    buffer.set_transform_static(stamped("map", "base", 0, (9, 0, 0)), "test")
    put(3)
    with pytest.raises(ExtrapolationException):
        x_of(buffer, at(4))
    buffer.set_transform_static(stamped("map", "base", 0, (8, 0, 0)), "test")
    assert x_of(buffer, at(4)) == 8


def test_clearing_forgets_motion_and_keeps_names_and_static_transforms(buffer, stamped, put):
    put(3)
    put(4)
    buffer.set_transform_static(stamped("map", "beacon", 0, (7, 0, 0)), "test")
    buffer.clear()
    assert x_of(buffer, at(3), "beacon") == 7
    with pytest.raises(ConnectivityException):
        x_of(buffer, LATEST)
    with pytest.raises(ExtrapolationException, match=r"no data in the buffer|^, when looking up"):
        x_of(buffer, at(3))
    put(1)
    assert x_of(buffer, LATEST) == 1


def test_the_report_lists_every_child_with_data(buffer, stamped):
    assert yaml.safe_load(buffer.all_frames_as_yaml()) == []
    for tenth in range(11):
        buffer.set_transform(stamped("map", "base", 5 + tenth / 10), "odometry")
    buffer.set_transform_static(stamped("base", "camera", 0), "calibration")
    report = yaml.safe_load(buffer.all_frames_as_yaml())
    assert report == {
        "base": {
            "parent": "map",
            "broadcaster": "odometry",
            "rate": 11.0,
            "most_recent_transform": 6.0,
            "oldest_transform": 5.0,
            "buffer_length": 1.0,
        },
        "camera": {
            "parent": "base",
            "broadcaster": "calibration",
            "rate": 10000.0,
            "most_recent_transform": 0.0,
            "oldest_transform": 0.0,
            "buffer_length": 0.0,
        },
    }
    lines = ["Frame base exists with parent map.", "Frame camera exists with parent base."]
    assert buffer.all_frames_as_string().splitlines() == lines
    buffer.clear()
    assert list(yaml.safe_load(buffer.all_frames_as_yaml())) == ["camera"]
    assert buffer.all_frames_as_string().splitlines()[0] == "Frame base exists with parent NO_PARENT."
