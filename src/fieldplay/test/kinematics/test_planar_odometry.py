import numpy as np
import pytest
from scipy.linalg import expm

from fieldplay.kinematics.planar_odometry import displacement_from_twist, move_poses, path_from_twists

DRAW = np.random.default_rng(2)


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-5, 1e-7, 0.0])
def test_displacements_agree_with_the_matrix_exponential(scale: float) -> None:
    for twist in DRAW.uniform(-2, 2, (50, 3)):
        twist[2] *= scale
        matrix = expm(0.7 * np.array([[0, -twist[2], twist[0]], [twist[2], 0, twist[1]], [0, 0, 0]]))
        x, y, turn = displacement_from_twist(twist, 0.7)
        np.testing.assert_allclose([x, y], matrix[:2, 2], atol=1e-13)
        assert turn == pytest.approx(0.7 * twist[2])


def test_full_circle_returns_to_start_for_any_steps() -> None:
    durations = DRAW.uniform(0.1, 1, 30)
    rate = 2 * np.pi / durations.sum()
    path = path_from_twists(np.tile([1.0, 0.3, rate], (30, 1)), durations, (1, 2, 0.5))
    np.testing.assert_allclose(path[-1], [1, 2, 0.5 + 2 * np.pi], atol=1e-12)
    np.testing.assert_allclose(path[0], [1, 2, 0.5])


def test_path_equals_composed_steps() -> None:
    twists, durations = DRAW.normal(size=(40, 3)), DRAW.uniform(0, 1, 40)
    pose, poses = np.zeros(3), [np.zeros(3)]
    for twist, duration in zip(twists, durations, strict=True):
        pose = move_poses(pose, displacement_from_twist(twist, duration))
        poses.append(pose)
    np.testing.assert_allclose(path_from_twists(twists, durations), poses, atol=1e-12)
