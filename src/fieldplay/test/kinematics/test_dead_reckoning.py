import numpy as np
import pytest

from fieldplay.kinematics.planar_odometry import integrate_odometry

DRAW = np.random.default_rng(3)
STAMPS = np.cumsum(DRAW.integers(5_000_000, 40_000_000, 400))
TWISTS = np.cumsum(DRAW.normal(size=(400, 3)) * [0.02, 0.01, 0.03], axis=0)
COVARIANCES = np.array([np.diag(DRAW.uniform(0.001, 0.02, 3)) for _ in range(400)])


def test_constant_twist_drives_exact_arc_for_any_steps() -> None:
    twists = np.tile([0.5, 0.0, 0.25], (len(STAMPS), 1))
    poses = integrate_odometry(None, STAMPS, twists, COVARIANCES).poses
    turned = 0.25 * (STAMPS - STAMPS[0]) / 1e9
    expected = np.stack([2 * np.sin(turned), 2 * (1 - np.cos(turned)), turned], axis=-1)
    np.testing.assert_allclose(poses, expected, atol=1e-9)


def test_row_by_row_equals_batch() -> None:
    batch = integrate_odometry(None, STAMPS, TWISTS, COVARIANCES)
    state, poses, covariances = None, [], []
    for row in range(len(STAMPS)):
        part = slice(row, row + 1)
        one = integrate_odometry(state, STAMPS[part], TWISTS[part], COVARIANCES[part])
        poses.append(one.poses[0])
        covariances.append(one.covariances[0])
        state = one.last
    np.testing.assert_allclose(poses, batch.poses, atol=1e-12)
    np.testing.assert_allclose(covariances, batch.covariances, atol=1e-12)


def test_covariance_equals_that_of_many_noisy_drives() -> None:
    """Second route: the spread of ends when the twist of every step has the noise that the covariances say."""
    last_poses = []
    held = (TWISTS + np.concatenate([TWISTS[:1], TWISTS[:-1]])) / 2
    scale = np.sqrt(np.diagonal(COVARIANCES, axis1=1, axis2=2))
    for _ in range(1500):
        noisy = held + DRAW.normal(size=held.shape) * scale
        noisy[0] = 0
        pose = np.zeros(3)
        for twist, seconds in zip(noisy[1:], np.diff(STAMPS) / 1e9, strict=True):
            middle = pose[2] + twist[2] * seconds / 2
            cos, sin = np.cos(middle), np.sin(middle)
            pose = pose + seconds * np.array(
                [cos * twist[0] - sin * twist[1], sin * twist[0] + cos * twist[1], twist[2]]
            )
        last_poses.append(pose)
    expected = np.cov(np.array(last_poses).T)
    covariance = integrate_odometry(None, STAMPS, TWISTS, COVARIANCES).covariances[-1]
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), np.sqrt(np.diag(expected)), rtol=0.1)


def test_first_row_is_origin_without_uncertainty() -> None:
    first = integrate_odometry(None, STAMPS[:1], TWISTS[:1], COVARIANCES[:1])
    assert first.poses.tolist() == [[0, 0, 0]]
    assert first.covariances.tolist() == [np.zeros((3, 3)).tolist()]


def test_backward_times_are_refused() -> None:
    with pytest.raises(ValueError, match="run back"):
        integrate_odometry(None, STAMPS[::-1], TWISTS, COVARIANCES)
