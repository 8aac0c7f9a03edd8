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


def test_quaternions_agree_with_scipy_also_at_half_turns() -> None:
    half_turns = Rotation.from_rotvec(np.pi * np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0.8, 0]]))
    rotations = Rotation.concatenate([Rotation.from_euler("xyz", ANGLES), half_turns])
    quaternions = transforms.quaternion_from_rotation(rotations.as_matrix())
    assert (quaternions[:, 3] >= 0).all()
    error = (Rotation.from_quat(quaternions) * rotations.inv()).magnitude()
    np.testing.assert_allclose(error, 0, atol=1e-7)
    np.testing.assert_allclose(transforms.rotation_from_quaternion(3 * quaternions), rotations.as_matrix(), atol=1e-9)


def test_a_quaternion_of_length_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="length 0"):
        transforms.rotation_from_quaternion([[0, 0, 0, 1], [0, 0, 0, 0]])


def test_the_inverse_leads_back() -> None:
    parent_t_child = transforms.transform_from_rotation(Rotation.from_euler("xyz", ANGLES).as_matrix(), 10 * ANGLES)
    back = transforms.inverse_from_transform(parent_t_child) @ parent_t_child
    np.testing.assert_allclose(back, np.broadcast_to(np.eye(4), back.shape), atol=1e-12)


def test_the_published_aux_arm_row_gives_the_known_quaternion() -> None:
    # AMEDS, Table 2, AuxArm base in Origin: angles about moving axes, in degrees
    rotation = transforms.rotation_from_moving_xyz(np.radians([-60, 50, 180]))
    np.testing.assert_allclose(
        transforms.quaternion_from_rotation(rotation), [0.365998151, 0.453153894, 0.784885567, 0.211309131], atol=1e-9
    )


def test_one_rotation_goes_with_many_translations() -> None:
    transform = transforms.transform_from_rotation(np.eye(3), np.arange(6.0).reshape(2, 3))
    assert transform.shape == (2, 4, 4)
    np.testing.assert_array_equal(transform[:, :3, 3], [[0, 1, 2], [3, 4, 5]])


def test_angles_come_back_from_rotations_also_upright() -> None:
    upright = np.array([[0.0, np.pi / 2, 0.7], [0.0, -np.pi / 2, -2.0]])
    for angles in (ANGLES, upright):
        rotations = transforms.rotation_from_fixed_xyz(angles)
        again = transforms.rotation_from_fixed_xyz(transforms.fixed_xyz_from_rotation(rotations))
        np.testing.assert_allclose(again, rotations, atol=1e-9)
    expected = Rotation.from_euler("xyz", ANGLES).as_euler("xyz")
    found = transforms.fixed_xyz_from_rotation(transforms.rotation_from_fixed_xyz(ANGLES))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_turns_about_moving_axes_are_inverse_turns_about_fixed_ones() -> None:
    rotations = transforms.rotation_from_moving_xyz(ANGLES)
    angles = -transforms.fixed_xyz_from_rotation(np.swapaxes(rotations, -1, -2))
    np.testing.assert_allclose(transforms.rotation_from_moving_xyz(angles), rotations, atol=1e-9)
