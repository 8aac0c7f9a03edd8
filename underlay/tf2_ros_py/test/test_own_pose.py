"""The arithmetic of poses against scipy's."""

import math

import pytest

from tf2_ros._pose import canonical, interpolate


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-8, 1e-5, 2.7e-4, 2.9e-4, 1e-2, 3.0, math.pi - 1e-9, math.pi])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_interpolation_keeps_its_accuracy_for_every_angle_and_sign(angle, sign):
    start = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    end = (0.0, 0.0, 0.0, 0.0, 0.0, sign * math.sin(angle / 2), sign * math.cos(angle / 2))
    x, y, z, w = interpolate(start, end, 0.25)[3:]
    assert (x, y) == (0.0, 0.0)
    assert math.hypot(z, w) == pytest.approx(1.0, abs=1e-8)
    turned = 2 * math.atan2(abs(z), abs(w))
    assert turned == pytest.approx(angle / 4, abs=1e-11)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((0, 0, 0, 1.001), (0, 0, 0, 1)),
        ((0, 0, 0, -1), (0, 0, 0, 1)),
        ((-1, 0, 0, 0), (1, 0, 0, 0)),
        ((0.8, 0, 0, -0.6), (-0.8, 0, 0, 0.6)),
        ((0, -0.96, 0, 0.28), (0, 0.96, 0, -0.28)),
        ((0.5, 0, -math.sqrt(0.74), 0.1), (-0.5, 0, math.sqrt(0.74), -0.1)),
    ],
)
def test_the_canonical_quaternion_has_length_one_and_one_sign(given, expected):
    assert canonical((1.0, 2.0, 3.0, *given)) == pytest.approx((1.0, 2.0, 3.0, *expected), abs=1e-15)
