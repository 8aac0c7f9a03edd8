import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.geometry import transforms

ANGLES = np.random.default_rng(1).uniform(-np.pi, np.pi, (200, 3))


def test_rotations_about_fixed_axes_agree_with_scipy() -> None:
    np.testing.assert_allclose(
        transforms.rotation_from_fixed_xyz(ANGLES), Rotation.from_euler("xyz", ANGLES).as_matrix(), atol=1e-14
    )


def test_rotations_about_moving_axes_agree_with_scipy() -> None:
    np.testing.assert_allclose(
        transforms.rotation_from_moving_xyz(ANGLES), Rotation.from_euler("XYZ", ANGLES).as_matrix(), atol=1e-14
    )


def test_quaternions_agree_with_scipy_also_at_180_degrees() -> None:
    half_turns = Rotation.from_rotvec(np.pi * np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0.8, 0]]))
    rotations = Rotation.concatenate([Rotation.from_euler("xyz", ANGLES), half_turns])
    quaternions = transforms.quaternion_from_rotation(rotations.as_matrix())
    assert (quaternions[:, 3] >= 0).all()
    error = (Rotation.from_quat(quaternions) * rotations.inv()).magnitude()
    np.testing.assert_allclose(error, 0, atol=1e-7)
    np.testing.assert_allclose(transforms.rotation_from_quaternion(3 * quaternions), rotations.as_matrix(), atol=1e-9)


def test_zero_quaternion_is_refused() -> None:
    with pytest.raises(ValueError, match="length 0"):
        transforms.rotation_from_quaternion([[0, 0, 0, 1], [0, 0, 0, 0]])


def test_inverse_composes_to_identity() -> None:
    parent_t_child = transforms.transform_from_rotation(Rotation.from_euler("xyz", ANGLES).as_matrix(), 10 * ANGLES)
    back = transforms.inverse_from_transform(parent_t_child) @ parent_t_child
    np.testing.assert_allclose(back, np.broadcast_to(np.eye(4), back.shape), atol=1e-12)


def test_published_aux_arm_row_gives_known_quaternion() -> None:
    # AMEDS, Table 2, AuxArm base in Origin: angles about moving axes, in degrees
    rotation = transforms.rotation_from_moving_xyz(np.radians([-60, 50, 180]))
    np.testing.assert_allclose(
        transforms.quaternion_from_rotation(rotation), [0.365998151, 0.453153894, 0.784885567, 0.211309131], atol=1e-9
    )


def test_single_rotation_broadcasts_over_translations() -> None:
    transform = transforms.transform_from_rotation(np.eye(3), np.arange(6.0).reshape(2, 3))
    assert transform.shape == (2, 4, 4)
    np.testing.assert_array_equal(transform[:, :3, 3], [[0, 1, 2], [3, 4, 5]])


def test_angles_round_trip_also_at_gimbal_lock() -> None:
    upright = np.array([[0.0, np.pi / 2, 0.7], [0.0, -np.pi / 2, -2.0]])
    for angles in (ANGLES, upright):
        rotations = transforms.rotation_from_fixed_xyz(angles)
        again = transforms.rotation_from_fixed_xyz(transforms.fixed_xyz_from_rotation(rotations))
        np.testing.assert_allclose(again, rotations, atol=1e-9)
    expected = Rotation.from_euler("xyz", ANGLES).as_euler("xyz")
    recovered = transforms.fixed_xyz_from_rotation(transforms.rotation_from_fixed_xyz(ANGLES))
    np.testing.assert_allclose(recovered, expected, atol=1e-9)


def test_rotations_about_moving_axes_invert_those_about_fixed_axes() -> None:
    rotations = transforms.rotation_from_moving_xyz(ANGLES)
    angles = -transforms.fixed_xyz_from_rotation(np.swapaxes(rotations, -1, -2))
    np.testing.assert_allclose(transforms.rotation_from_moving_xyz(angles), rotations, atol=1e-9)
