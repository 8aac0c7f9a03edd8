"""Transforms that a buffer does not take."""

import re

import pytest
from rclpy.time import Time

from tf2_ros import Buffer

NAN = float("nan")
DENORMALIZED = "TF_DENORMALIZED_QUATERNION"
NORMALIZES = pytest.mark.stand_in("upstream normalises it first, and takes it, or finds NaN")


@pytest.fixture
def buffer():
    return Buffer()


@pytest.mark.parametrize("method", ["set_transform", "set_transform_static"])
@pytest.mark.parametrize(
    ("parts", "code"),
    [
        (("base", "base", 1), "TF_SELF_TRANSFORM"),
        (("/base", "base", 1), "TF_SELF_TRANSFORM"),
        (("map", "", 1), "TF_NO_CHILD_FRAME_ID"),
        (("", "base", 1), "TF_NO_FRAME_ID"),
        (("map", "base", 1, (0, NAN, 0)), "TF_NAN_INPUT"),
        (("map", "base", 1, (0, 0, 0), (0, 0, 0, NAN)), "TF_NAN_INPUT"),
        pytest.param(("map", "base", 1, (0, 0, 0), (0, 0, 0, 0)), DENORMALIZED, marks=NORMALIZES),
        pytest.param(("map", "base", 1, (0, 0, 0), (0, 0, 0, 1.006)), DENORMALIZED, marks=NORMALIZES),
        pytest.param(("map", "base", 1, (0, 0, 0), (0, 0, 0, 0.994)), DENORMALIZED, marks=NORMALIZES),
    ],
)
def test_unsound_transforms_are_logged_and_ignored(buffer, stamped, capfd, method, parts, code):
    getattr(buffer, method)(stamped(*parts), "the robot")
    log = capfd.readouterr().err
    assert "[ERROR]" in log
    assert code in log
    assert re.search("""authority ['"]the robot['"]""", log)
    assert buffer.all_frames_as_string() == ""
    assert buffer._getFrameStrings() == []


@NORMALIZES
def test_every_fault_of_a_transform_is_told(buffer, stamped, capfd):
    buffer.set_transform(stamped("", "", 1, (NAN, 0, 0), (0, 0, 0, 2)), "test")
    log = capfd.readouterr().err
    codes = "SELF_TRANSFORM", "NO_CHILD_FRAME_ID", "NO_FRAME_ID", "NAN_INPUT", "DENORMALIZED_QUATERNION"
    assert [code for code in codes if f"TF_{code}" in log] == list(codes)


@pytest.mark.parametrize("w", [1.004, 0.996])
def test_a_quaternion_that_is_nearly_normalised_is_taken_and_normalised(buffer, stamped, w):
    buffer.set_transform(stamped("map", "base", 1, (0, 0, 0), (0, 0, 0, w)), "test")
    assert buffer.lookup_transform("map", "base", Time()).transform.rotation.w == 1.0


def test_a_leading_slash_is_dropped_on_the_way_in(buffer, stamped):
    buffer.set_transform(stamped("/map", "/base", 1), "test")
    assert buffer._getFrameStrings() == ["base", "map"]
    assert buffer._frameExists("map")
    assert not buffer._frameExists("/map")
    assert buffer.can_transform("map", "base", Time())
