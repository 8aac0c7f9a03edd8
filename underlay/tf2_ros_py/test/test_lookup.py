"""What lookups return, against numbers by hand and chains of scipy rotations."""

import math

import numpy as np
import pytest
from rclpy.time import Time
from scipy.spatial.transform import Rotation, Slerp

from tf2_ros import (
    Buffer,
    ConnectivityException,
    ExtrapolationException,
    InvalidArgumentException,
    LookupException,
)

HALF = math.sqrt(0.5)
LATEST = Time()


def at(seconds):
    return Time(nanoseconds=round(seconds * 1e9))


def numbers(message):
    t, r = message.transform.translation, message.transform.rotation
    return (t.x, t.y, t.z, r.x, r.y, r.z, r.w)


def matrix(message):
    result = np.eye(4)
    result[:3, :3] = Rotation.from_quat(numbers(message)[3:]).as_matrix()
    result[:3, 3] = numbers(message)[:3]
    return result


@pytest.fixture
def buffer():
    return Buffer()


def test_a_chain_by_hand(buffer, stamped):
    # base stands at (1, 2, 0) of map and looks along map's y; the camera is 0.5 ahead of base and 1 up.
    buffer.set_transform(stamped("map", "base", 5, (1, 2, 0), (0, 0, HALF, HALF)), "test")
    buffer.set_transform_static(stamped("base", "camera", 0, (0.5, 0, 1)), "test")
    found = buffer.lookup_transform("map", "camera", at(5))
    assert numbers(found) == pytest.approx((1, 2.5, 1, 0, 0, HALF, HALF))
    assert (found.header.frame_id, found.child_frame_id) == ("map", "camera")
    assert (found.header.stamp.sec, found.header.stamp.nanosec) == (5, 0)
    back = buffer.lookup_transform("camera", "map", at(5))
    assert numbers(back) == pytest.approx((-2.5, 1, -1, 0, 0, -HALF, HALF))


def test_between_two_samples_the_motion_is_a_line_and_the_shortest_turn(buffer, stamped):
    buffer.set_transform(stamped("map", "base", 10, (0, 0, 0), (0, 0, 0, 1)), "test")
    buffer.set_transform(stamped("map", "base", 12, (4, -2, 1), (0, 0, -HALF, -HALF)), "test")
    found = buffer.lookup_transform("map", "base", at(10.5))
    eighth = math.radians(90 / 4) / 2
    assert numbers(found) == pytest.approx((1, -0.5, 0.25, 0, 0, math.sin(eighth), math.cos(eighth)))


@pytest.mark.parametrize("seed", range(8))
def test_random_trees_agree_with_scipy(buffer, stamped, seed):
    rng = np.random.default_rng(seed)
    parents = {f"f{i}": f"f{rng.integers(i)}" for i in range(1, 12)}
    when = rng.integers(101 * 10**9, 102 * 10**9) / 1e9
    local = {"f0": np.eye(4)}
    for child, parent in parents.items():
        stamps = np.sort(np.append(rng.integers(100 * 10**9, 103 * 10**9, 6), [100 * 10**9, 103 * 10**9])) / 1e9
        places, turns = rng.normal(size=(8, 3)), Rotation.random(8, random_state=rng)
        for order in rng.permutation(8):
            message = stamped(parent, child, stamps[order], places[order], turns[order].as_quat())
            buffer.set_transform(message, "test")
        local[child] = np.eye(4)
        local[child][:3, :3] = Slerp(stamps, turns)(when).as_matrix()
        local[child][:3, 3] = [np.interp(when, stamps, axis) for axis in places.T]

    def from_root(frame):
        return local["f0"] if frame == "f0" else from_root(parents[frame]) @ local[frame]

    for target in local:
        for source in local:
            found = matrix(buffer.lookup_transform(target, source, at(when)))
            np.testing.assert_allclose(found, np.linalg.inv(from_root(target)) @ from_root(source), atol=1e-9)


def test_time_zero_is_the_latest_time_that_all_links_have_reached(buffer, stamped):
    for seconds in (1, 2, 3):
        buffer.set_transform(stamped("map", "odom", seconds, (seconds, 0, 0)), "test")
    for seconds in (1, 2.5, 4):
        buffer.set_transform(stamped("odom", "base", seconds, (0, seconds, 0)), "test")
    buffer.set_transform_static(stamped("base", "camera", 99, (0, 0, 7)), "test")
    found = buffer.lookup_transform("map", "camera", LATEST)
    assert numbers(found)[:3] == pytest.approx((3, 3, 7))
    assert found.header.stamp.sec == 3
    assert buffer.lookup_transform("camera", "odom", LATEST).header.stamp.sec == 4
    assert buffer.lookup_transform("base", "camera", LATEST).header.stamp.sec == 0


def test_siblings_meet_at_their_common_parent(buffer, stamped):
    buffer.set_transform(stamped("world", "map", 1), "test")
    buffer.set_transform(stamped("map", "left", 8, (0, 1, 0)), "test")
    buffer.set_transform(stamped("map", "right", 8, (0, -1, 0)), "test")
    # World stopped at 1 s, but the way from left to right does not lead over it.
    assert numbers(buffer.lookup_transform("right", "left", LATEST))[:3] == pytest.approx((0, 2, 0))
    assert numbers(buffer.lookup_transform("right", "left", at(8)))[:3] == pytest.approx((0, 2, 0))


def test_a_frame_is_itself_even_if_unknown(buffer, stamped):
    assert numbers(buffer.lookup_transform("nowhere", "nowhere", at(3))) == (0, 0, 0, 0, 0, 0, 1)
    assert buffer.lookup_transform("nowhere", "nowhere", at(3)).header.stamp.sec == 3
    buffer.set_transform(stamped("map", "base", 5, (1, 0, 0)), "test")
    assert buffer.lookup_transform("base", "base", LATEST).header.stamp.sec == 5


def test_two_times_are_joined_by_a_fixed_frame(buffer, stamped):
    for seconds in (1, 2, 3):
        turn = Rotation.from_euler("z", 90 * seconds, degrees=True).as_quat()
        buffer.set_transform(stamped("odom", "base", seconds, (seconds, 0, 0), turn), "test")
    found = buffer.lookup_transform_full("base", at(3), "base", at(1), "odom")
    assert numbers(found)[:3] == pytest.approx((0, -2, 0))
    assert Rotation.from_quat(numbers(found)[3:]).magnitude() == pytest.approx(math.pi)
    assert found.header.stamp.sec == 3
    with pytest.raises(LookupException, match='"mars" passed to lookupTransform argument fixed_frame does not exist'):
        buffer.lookup_transform_full("base", at(3), "base", at(1), "mars")


def test_a_frame_that_changed_its_parent_had_the_old_one_before(buffer, stamped):
    buffer.set_transform_static(stamped("room", "wall", 0, (100, 0, 0)), "test")
    buffer.set_transform_static(stamped("room", "arm", 0, (200, 0, 0)), "test")
    buffer.set_transform(stamped("wall", "tool", 1, (1, 0, 0)), "test")
    buffer.set_transform(stamped("arm", "tool", 2, (2, 0, 0)), "test")
    assert numbers(buffer.lookup_transform("room", "tool", at(1.9)))[0] == 101
    assert numbers(buffer.lookup_transform("room", "tool", LATEST))[0] == 202


def test_extrapolation_names_the_request_the_limit_and_the_frames(buffer, stamped):
    buffer.set_transform(stamped("map", "base", 1.5), "test")
    with pytest.raises(
        ExtrapolationException,
        match=r"extrapolation at time 2\.000000, but only time 1\.500000 is in the buffer, when looking up"
        r" transform from frame \[base\] to frame \[map\]$",
    ):
        buffer.lookup_transform("map", "base", at(2))
    buffer.set_transform(stamped("map", "base", 2.5), "test")
    with pytest.raises(
        ExtrapolationException,
        match=r"into the future\.  Requested time 2\.500001 but the latest data is at time 2\.500000, when",
    ):
        buffer.lookup_transform("map", "base", at(2.500001))
    with pytest.raises(
        ExtrapolationException,
        match=r"into the past\.  Requested time 1\.000000 but the earliest data is at time 1\.500000, when looking up"
        r" transform from frame \[map\] to frame \[base\]$",
    ):
        buffer.lookup_transform("base", "map", at(1))


def test_separate_trees_have_no_connection(buffer, stamped):
    buffer.set_transform(stamped("map", "base", 1), "test")
    buffer.set_transform(stamped("moon", "rover", 1), "test")
    for time in (LATEST, at(1)):
        with pytest.raises(ConnectivityException, match="between 'base' and 'rover' because they are not part of the"):
            buffer.lookup_transform("base", "rover", time)


def test_a_loop_is_reported(buffer, stamped):
    for parent, child in (("a", "b"), ("b", "c"), ("c", "a"), ("x", "y")):
        buffer.set_transform(stamped(parent, child, 1), "test")
    for time in (LATEST, at(1)):
        for target, source in (("x", "b"), ("b", "y")):
            with pytest.raises(LookupException, match="contains a loop"):
                buffer.lookup_transform(target, source, time)


@pytest.mark.parametrize(
    ("target", "source", "error", "message"),
    [
        ("mars", "base", LookupException, '"mars" passed to lookupTransform argument target_frame does not exist'),
        ("map", "mars", LookupException, '"mars" passed to lookupTransform argument source_frame does not exist'),
        ("", "base", InvalidArgumentException, "target_frame - in tf2 frame_ids cannot be empty"),
        ("map", "", InvalidArgumentException, "source_frame - in tf2 frame_ids cannot be empty"),
        ("/map", "base", InvalidArgumentException, "\"/map\" .* cannot start with a '/'"),
        ("map", None, TypeError, "(source_frame must be a|argument 2 must be) str, not None"),
    ],
)
def test_unknown_and_malformed_names_are_refused(buffer, stamped, target, source, error, message):
    buffer.set_transform(stamped("map", "base", 1), "test")
    with pytest.raises(error, match=message):
        buffer.lookup_transform(target, source, at(1))


def test_can_transform_tells_why_not(buffer, stamped):
    buffer.set_transform(stamped("map", "base", 1), "test")
    assert buffer.can_transform("map", "base", at(1))
    assert buffer.can_transform("map", "base", at(1), return_debug_tuple=True) == (True, "")
    assert not buffer.can_transform("map", "mars", at(1))
    possible, why = buffer.can_transform("map", "base", at(2), return_debug_tuple=True)
    assert not possible
    assert "only time 1.000000" in why
