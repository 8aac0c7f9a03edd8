"""Rotations and transforms, against SciPy's."""

import numpy as np
from scipy.spatial.transform import Rotation

from fieldplay_samples.motion import rotations as frames

ROTATIONS = Rotation.random(200, random_state=np.random.default_rng(5))


def test_rotations_from_fixed_angles_are_yaw_after_pitch_after_roll() -> None:
    angles = np.random.default_rng(1).uniform(-1.5, 1.5, (50, 3))
    expected = Rotation.from_euler("xyz", angles).as_matrix()
    np.testing.assert_allclose(frames.rotation_from_fixed_angles(angles), expected, atol=1e-14)
    np.testing.assert_allclose(frames.fixed_angles_from_rotation(expected), angles, atol=1e-12)


def test_quaternions_are_correct_for_rotations_up_to_half_turn() -> None:
    half_turns = Rotation.from_rotvec(np.pi * np.eye(3))
    for rotations in (ROTATIONS, half_turns):
        quaternion = frames.quaternion_from_rotation(rotations.as_matrix())
        np.testing.assert_allclose(np.linalg.norm(quaternion, axis=1), 1.0, atol=1e-14)
        assert (quaternion[:, 3] >= 0).all()
        assert (rotations.inv() * Rotation.from_quat(quaternion)).magnitude().max() < 1e-12


def test_transform_and_inverse_give_identity() -> None:
    translations = np.random.default_rng(2).normal(size=(200, 3))
    there = frames.transform(ROTATIONS.as_matrix(), translations)
    points = np.random.default_rng(3).normal(size=(200, 3))
    np.testing.assert_allclose(
        frames.transform_points(there, points), ROTATIONS.apply(points) + translations, atol=1e-13
    )
    np.testing.assert_allclose(
        frames.transform_points(frames.inverse(there), frames.transform_points(there, points)), points, atol=1e-13
    )


def test_flip_axes_converts_forward_left_up_to_forward_right_down() -> None:
    np.testing.assert_array_equal(frames.flip_axes(np.array([[1.0, 2.0, 3.0]])), [[1.0, -2.0, -3.0]])
