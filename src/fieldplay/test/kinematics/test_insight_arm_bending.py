"""How InSight's arm bends, what gravity does about its joints, and the force at its tool."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.geometry.transforms import rotation_from_vector, vector_from_rotation
from fieldplay.kinematics.insight_arm import (
    NUMBERS,
    ArmLinks,
    LinkMasses,
    bent_links,
    gravity_moments,
    lander_arm_from_settings,
    levers_from_joints,
    link_centres,
    links_of_arm,
    payload_from_phases,
    posture_of_tool,
    tool_force_from_moments,
    tool_pose,
)
from fieldplay.kinematics.insight_arm_computation import bent_tcp_from_joints, lander_model_from_settings
from fieldplay_testing.insight_arm_settings import arm_settings

NAIF, SIS = (lander_arm_from_settings(arm_settings(dh_set=name)) for name in ("naif", "sis"))
PARTS = lander_model_from_settings(arm_settings(dh_set="naif")).unstowed
MASSES, COMPLIANCE = PARTS.masses, PARTS.compliance
REACHING = np.array([[-0.12, -0.5, 1.51, 0.0]])
DIGGING = np.array([[0.026, -0.389, 1.378, 0.125]])
JOINTS = np.random.default_rng(8).uniform(-2, 2, (30, 4))
POWERED = np.ones((1, 4), bool)


def shift_mm(angles: np.ndarray, tool: str, payload_kg: float) -> np.ndarray:
    bent = bent_links(NAIF, PARTS, angles=angles, payload_kg=np.full(len(angles), payload_kg))
    straight = links_of_arm(NAIF, angles)
    return (tool_pose(NAIF, tool, bent, angles=angles) - tool_pose(NAIF, tool, straight, angles=angles))[
        ..., :3, 3
    ] * 1e3


@pytest.mark.parametrize(
    ("payload_kg", "expected"),
    [(0.0, (-1.322685, -1.276053, 3.353218)), (8.9, (-11.015274, -9.387336, 21.164884))],
)
def test_arm_bends_by_known_amount(payload_kg: float, expected: tuple[float, ...]) -> None:
    attach = tool_pose(NAIF, "grapple_attach", links_of_arm(NAIF, REACHING), angles=REACHING)[0, :3, 3]
    np.testing.assert_allclose(attach, (1.348258, 0.018026, 0.198083), atol=1e-6)
    for tool in ("grapple_attach", "grapple"):  # what hangs is carried along and hangs as before
        np.testing.assert_allclose(shift_mm(REACHING, tool, payload_kg)[0], expected, atol=2e-5)


def test_bending_agrees_with_archive_within_a_third_of_a_millimetre() -> None:
    np.testing.assert_allclose(shift_mm(REACHING, "grapple", 0.0)[0], (-1.4, -1.0, 3.4), atol=0.3)


def test_bent_arm_reaches_archived_camera_angle() -> None:
    posture = posture_of_tool("idc", DIGGING)
    bent = bent_links(NAIF, PARTS, angles=posture, payload_kg=np.zeros(1))
    camera = tool_pose(NAIF, "idc", bent, angles=posture)[0]
    assert np.arcsin(camera[2, 2]) == pytest.approx(0.99216, abs=2e-5)
    np.testing.assert_allclose(camera[:3, 3], (0.960, 0.218, -0.098), atol=1e-3)


def bend_explicitly(angles: np.ndarray, payload_kg: float) -> np.ndarray:
    """Link by link with scipy, weight by weight."""
    straight = links_of_arm(NAIF, angles)
    before = [np.eye(4), *straight[:3]]
    attach = tool_pose(NAIF, "grapple_attach", straight, angles=angles)[:3, 3]
    weights = [(payload_kg, attach + 0.7 * NAIF.down)]  # how deep it hangs is all one
    for link in range(4):
        turn = before[link][:3, :3] @ Rotation.from_euler("z", angles[link]).as_matrix()
        weights.append((MASSES.mass_kg[link], turn @ MASSES.centre_m[link] + before[link][:3, 3]))
    frame = np.eye(4)
    for link in range(4):
        beyond = [weights[0], *weights[1 + link :]]
        end, turn = straight[link][:3, 3], straight[link][:3, :3].T
        force = turn @ sum(mass * NAIF.gravity_m_s2 for mass, _ in beyond)
        moment = turn @ sum(np.cross(centre - end, mass * NAIF.gravity_m_s2) for mass, centre in beyond)
        step = np.linalg.inv(before[link]) @ straight[link]
        give = np.eye(4)
        matrices = COMPLIANCE.shift_by_force[link], COMPLIANCE.shift_by_moment[link]
        give[:3, 3] = 1.092301 * (matrices[0] @ force + matrices[1] @ moment)
        matrices = COMPLIANCE.turn_by_force[link], COMPLIANCE.turn_by_moment[link]
        give[:3, :3] = Rotation.from_rotvec(1.092301 * (matrices[0] @ force + matrices[1] @ moment)).as_matrix()
        frame = frame @ step @ give
    return frame


@pytest.mark.parametrize("payload_kg", [0.0, 7.3])
def test_batch_bends_as_explicit_computation(payload_kg: float) -> None:
    links = bent_links(NAIF, PARTS, angles=JOINTS, payload_kg=np.full(len(JOINTS), payload_kg))
    np.testing.assert_allclose(links[:, 3], [bend_explicitly(row, payload_kg) for row in JOINTS], atol=1e-12)


def test_arm_without_weight_is_straight() -> None:
    masses = LinkMasses(mass_kg=np.zeros(4), centre_m=MASSES.centre_m)
    nothing = ArmLinks(masses=masses, compliance=COMPLIANCE)
    links = bent_links(NAIF, nothing, angles=JOINTS, payload_kg=np.zeros(len(JOINTS)))
    np.testing.assert_allclose(links, links_of_arm(NAIF, JOINTS), atol=1e-12)


def test_gravity_moments_are_gradient_of_potential() -> None:
    expected = (-0.522639, 9.694968, 1.410635, 0.035327)
    np.testing.assert_allclose(gravity_moments(NAIF, MASSES, REACHING, payload_kg=np.zeros(1))[0], expected, atol=2e-6)
    payload = np.full(len(JOINTS), 2.7)
    moments = gravity_moments(NAIF, MASSES, JOINTS, payload_kg=payload)
    for joint, step in enumerate(np.eye(4) * 1e-5):
        change = energy(JOINTS + step) - energy(JOINTS - step)
        np.testing.assert_allclose(moments[:, joint], -change / 2e-5, atol=1e-6)


def energy(angles: np.ndarray) -> np.ndarray:
    """The potential of the links and of 2.7 kg, in J."""
    links = links_of_arm(NAIF, angles)
    attach = tool_pose(NAIF, "grapple_attach", links, angles=angles)[:, :3, 3]
    heights = -link_centres(NAIF, MASSES, links, angles=angles) @ NAIF.gravity_m_s2
    return heights @ MASSES.mass_kg - 2.7 * (attach @ NAIF.gravity_m_s2)


def test_payload_follows_grapple_phase() -> None:
    payload = payload_from_phases(np.array([0, 1, 2, 3, 4, 5, 9], np.uint8), np.array([8.9, 7.3, 2.7]))
    assert payload.tolist() == [0, 0, 0, 8.9, 7.3, 2.7, 0]


def test_force_round_trips_through_its_moments() -> None:
    moments = np.array([[1.5, -30.692885, -14.471024, -1.457136]])
    np.testing.assert_allclose(
        levers_from_joints(SIS, "blade_1", DIGGING)[0],
        [(1.463012, 0.286527), (0.559316, 0.656940), (0.087829, -0.059890)], atol=1e-6,
    )  # fmt: skip
    radial, across, down = tool_force_from_moments(SIS, "blade_1", DIGGING, moments=moments, powered=POWERED)[0]
    assert (radial, down) == (pytest.approx(5, abs=1e-5), pytest.approx(-20, abs=1e-5))
    assert across == pytest.approx((5 * -0.140837997 + 1.5) / (0.029609 + 1.463012), abs=1e-5)


def test_two_pitch_joints_determine_force_and_one_does_not() -> None:
    levers = levers_from_joints(NAIF, "scoop", JOINTS)
    radial, down = np.full((len(JOINTS), 1), 7.0), np.full((len(JOINTS), 1), -12.0)
    moments = np.zeros((len(JOINTS), 4))
    moments[:, 1:] = levers[..., 0] * down - levers[..., 1] * radial
    for without in (1, 2, 3):
        powered = np.ones((len(JOINTS), 4), bool)
        powered[:, without] = False
        wrong = np.where(powered, moments, 1e3)  # what a joint without power says does not count
        force = tool_force_from_moments(NAIF, "scoop", JOINTS, moments=wrong, powered=powered)
        np.testing.assert_allclose(force[:, [0, 2]], np.hstack([radial, down]), atol=1e-6)
    alone = np.zeros((len(JOINTS), 4), bool)
    alone[:, 3] = True
    assert np.isnan(tool_force_from_moments(NAIF, "scoop", JOINTS, moments=moments, powered=alone)).all()


def test_three_inconsistent_joints_give_least_squares_force() -> None:
    moments = np.random.default_rng(2).normal(0, 5, (len(JOINTS), 4))
    powered = np.ones_like(moments, bool)
    force = tool_force_from_moments(NAIF, "blade_2", JOINTS, moments=moments, powered=powered)
    for row, levers in enumerate(levers_from_joints(NAIF, "blade_2", JOINTS)):
        matrix = np.column_stack([-levers[:, 1], levers[:, 0]])
        expected, *_ = np.linalg.lstsq(matrix, moments[row, 1:], rcond=None)
        np.testing.assert_allclose(force[row, [0, 2]], expected, rtol=1e-6)


@pytest.mark.parametrize("tool", ["grapple", "idc", "seis"])
def test_hanging_tool_and_camera_have_no_force(tool: str) -> None:
    with pytest.raises(ValueError, match=f"expected a rigid tool of the effector, got '{tool}'"):
        tool_force_from_moments(NAIF, tool, DIGGING, moments=np.zeros((1, 4)), powered=POWERED)


def test_rotation_vectors_agree_with_scipy_also_when_small() -> None:
    vectors = np.random.default_rng(3).normal(0, 1, (20, 3)) * np.logspace(-12, 0.4, 20)[:, None]
    vectors[0] = 0.0
    np.testing.assert_allclose(rotation_from_vector(vectors), Rotation.from_rotvec(vectors).as_matrix(), atol=1e-15)
    vectors = vectors[np.linalg.norm(vectors, axis=1) < np.pi]
    np.testing.assert_allclose(vector_from_rotation(rotation_from_vector(vectors)), vectors, rtol=1e-9, atol=1e-20)


def archived_links(**numbers: list[float]) -> np.ndarray:
    """A list of an archive's own numbers, in the order of all, NaN where nothing is said."""
    parts = {name: np.full(count, np.nan) for name, count in NUMBERS.items()}
    for name, values in numbers.items():
        parts[name][:] = values
    return np.concatenate(list(parts.values()))


def test_links_follow_grapple_phase() -> None:
    archived = archived_links(link_kg=[0.5, 1.2, 1.4, 0.2], alternate_link_kg=[2.0, 0.6])
    model = lander_model_from_settings(arm_settings(), archived)
    assert model.unstowed.masses.mass_kg.tolist() == [0.5, 1.2, 1.4, 0.6]  # 3 unstowed, 4 unstowed
    assert model.stowed.masses.mass_kg.tolist() == [0.5, 1.2, 2.0, 0.2]
    phases = np.array([0, 1, 2, 3, 255], np.uint8)
    angles, codes = np.repeat(REACHING, 5, axis=0), np.full(5, 6, np.uint8)
    tips = bent_tcp_from_joints(model, angles, codes, phases=phases)[:, :3, 3]
    for row, parts in enumerate((model.stowed, model.stowed, model.unstowed, model.unstowed, model.unstowed)):
        payload_kg = np.array([8.9 if phases[row] == 3 else 0.0])
        links = bent_links(model.arm, parts, angles=REACHING, payload_kg=payload_kg)
        expected = tool_pose(model.arm, "grapple_attach", links, angles=REACHING)[0, :3, 3]
        np.testing.assert_allclose(tips[row], expected, atol=1e-12)
    assert np.linalg.norm(tips[1] - tips[2]) > 1e-5


def test_link_with_one_known_form_has_it_in_both() -> None:
    only = archived_links(link_kg=[np.nan, np.nan, 1.4, np.nan], alternate_link_kg=[np.nan, 0.6])
    model = lander_model_from_settings(arm_settings(), only)
    assert model.stowed.masses.mass_kg.tolist() == model.unstowed.masses.mass_kg.tolist() == [0.509, 1.2381, 1.4, 0.6]
