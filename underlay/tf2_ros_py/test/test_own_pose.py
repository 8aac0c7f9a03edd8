"""The arithmetic of poses against scipy's."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from tf2_ros._pose import IDENTITY, canonical, compose, interpolate, invert


def matrix(pose):
    result = np.eye(4)
    result[:3, :3] = Rotation.from_quat(pose[3:]).as_matrix()
    result[:3, 3] = pose[:3]
    return result


def random_pose(rng):
    return (*rng.normal(size=3).tolist(), *Rotation.random(random_state=rng).as_quat().tolist())


@pytest.fixture
def rng():
    return np.random.default_rng(20240611)


def test_composition_is_the_product_of_matrices(rng):
    for _ in range(50):
        outer, inner = random_pose(rng), random_pose(rng)
        np.testing.assert_allclose(matrix(compose(outer, inner)), matrix(outer) @ matrix(inner), atol=1e-12)


def test_inversion_is_the_inverse_of_the_matrix(rng):
    for _ in range(50):
        pose = random_pose(rng)
        np.testing.assert_allclose(matrix(invert(pose)), np.linalg.inv(matrix(pose)), atol=1e-12)


def test_interpolation_is_a_line_and_a_slerp(rng):
    for _ in range(50):
        start, end, ratio = random_pose(rng), random_pose(rng), rng.random()
        got = interpolate(start, end, ratio)
        slerp = Slerp([0.0, 1.0], Rotation.from_quat([start[3:], end[3:]]))
        assert (Rotation.from_quat(got[3:]) * slerp(ratio).inv()).magnitude() < 1e-12
        np.testing.assert_allclose(got[:3], np.array(start[:3]) * (1 - ratio) + np.array(end[:3]) * ratio, atol=1e-14)


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


def test_interpolation_meets_its_ends(rng):
    start, end = random_pose(rng), random_pose(rng)
    assert interpolate(start, end, 0.0) == pytest.approx(start, abs=1e-15)
    np.testing.assert_allclose(matrix(interpolate(start, end, 1.0)), matrix(end), atol=1e-12)


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


def test_the_identity_changes_nothing(rng):
    pose = random_pose(rng)
    assert compose(IDENTITY, pose) == pytest.approx(pose, abs=0)
    assert compose(pose, IDENTITY) == pytest.approx(pose, abs=0)
