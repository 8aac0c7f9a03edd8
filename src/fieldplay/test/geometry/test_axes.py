import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.geometry import axes

ANGLES = np.random.default_rng(1).uniform(-np.pi, np.pi, (300, 3))
ENU_FROM_NED = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]])


def distance(quaternions: object, rotations: Rotation) -> float:
    return float((Rotation.from_quat(quaternions) * rotations.inv()).magnitude().max())


def test_rotations_about_fixed_and_moving_axes_agree_with_scipy() -> None:
    assert distance(axes.quaternion_from_fixed_xyz(ANGLES), Rotation.from_euler("xyz", ANGLES)) < 1e-7
    assert distance(axes.quaternion_from_moving_xyz(ANGLES), Rotation.from_euler("XYZ", ANGLES)) < 1e-7


@pytest.mark.parametrize(
    ("rpy_deg", "quaternion"),
    [
        ((0, 0, 0), (0, 0, 0.707106781, 0.707106781)),
        ((0, 0, 90), (0, 0, 0, 1)),
        ((5, -10, 30), (-0.005904645, 0.097133949, 0.494330919, 0.863809628)),
    ],
)
def test_documented_attitudes_give_known_quaternions(rpy_deg: tuple[float, ...], quaternion: tuple[float, ...]) -> None:
    quaternions = axes.quaternion_from_fixed_xyz(axes.enu_rpy_from_ned_rpy(np.radians(rpy_deg)))
    np.testing.assert_allclose(quaternions, quaternion, atol=1e-9)


def test_quaternions_rotate_vectors_as_matrices_do() -> None:
    ned_from_frd = Rotation.from_euler("xyz", ANGLES).as_matrix()
    expected = ENU_FROM_NED @ ned_from_frd @ np.diag([1, -1, -1])
    vectors = np.random.default_rng(2).normal(size=(300, 3))
    quaternions = axes.quaternion_from_fixed_xyz(axes.enu_rpy_from_ned_rpy(ANGLES))
    np.testing.assert_allclose(
        axes.rotate_vectors(quaternions, vectors), (expected @ vectors[..., None])[..., 0], atol=1e-12
    )


def test_vectors_are_converted_between_axes() -> None:
    np.testing.assert_array_equal(axes.flu_from_frd([[1, 2, 3]]), [[1, -2, -3]])
    np.testing.assert_array_equal(axes.enu_from_ned([[1, 2, 3]]), [[2, 1, -3]])


def test_variances_are_on_the_diagonal() -> None:
    np.testing.assert_array_equal(axes.diagonal([[1, 2], [3, 4]]), [[[1, 0], [0, 2]], [[3, 0], [0, 4]]])
