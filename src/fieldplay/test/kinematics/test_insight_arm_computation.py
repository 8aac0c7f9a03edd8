"""The frames and poses that are published of InSight's arm."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.kinematics.insight_arm import HANGING, RIGID, links_of_arm, pose_of_tool
from fieldplay.kinematics.insight_arm_computation import (
    FRAMES,
    HELD,
    UNKNOWN,
    angles_of_joints,
    bent_tcp_from_joints,
    codes_of_states,
    frames_from_joints,
    lander_model_from_settings,
    models_from_settings,
    parents_of_frames,
    tcp_from_joints,
)
from fieldplay_testing.insight_arm_settings import arm_settings

MODEL = lander_model_from_settings(arm_settings(dh_set="naif"))
ANGLES = np.random.default_rng(6).uniform(-2, 2, (40, 4))
CODES = (np.arange(40) % 11).astype(np.uint8)
PARENTS = dict(zip(FRAMES, parents_of_frames("payload", FRAMES), strict=True))


def in_payload(frame: str) -> np.ndarray:
    """payload_T_frame (n, 4, 4) along the tree."""
    edges = dict(zip(FRAMES, np.moveaxis(frames_from_joints(MODEL, ANGLES, CODES), 1, 0), strict=True))
    pose = np.eye(4)
    while frame != "payload":
        pose = edges[frame] @ pose
        frame = PARENTS[frame]
    return pose


def test_frame_tree_runs_from_payload_along_links_to_tools() -> None:
    chain = ["effector", "link_3", "link_2", "link_1", "payload"]
    assert [PARENTS[frame] for frame in chain[:-1]] == chain[1:]
    of_parts = {"turret": "payload", "upper_arm": "link_1", "forearm": "link_2", "hand": "link_3"}
    assert {part: PARENTS[part] for part in of_parts} == of_parts
    assert {PARENTS[tool] for tool in RIGID if tool != "idc"} == {"effector"}
    assert PARENTS["idc"] == "link_3"
    assert {PARENTS[frame] for frame in HELD} == {"grapple_attach"}
    with pytest.raises(ValueError, match="child_frames: expected 19, got 2"):
        parents_of_frames("payload", ["link_1", "link_2"])


def test_links_are_dh_frames_and_parts_rotate_in_their_joints() -> None:
    links = links_of_arm(MODEL.arm, ANGLES)
    for number, name in enumerate(("link_1", "link_2", "link_3", "effector")):
        np.testing.assert_allclose(in_payload(name), links[:, number], atol=1e-12)
    for number, part in enumerate(("turret", "upper_arm", "forearm", "hand")):
        before = links[:, number - 1] if number else np.broadcast_to(np.eye(4), (40, 4, 4))
        turns = Rotation.from_euler("zx", [(angle, 0) for angle in ANGLES[:, number]]).as_matrix()
        np.testing.assert_allclose(in_payload(part)[:, :3, :3], before[:, :3, :3] @ turns, atol=1e-12)
        np.testing.assert_allclose(in_payload(part)[:, :3, 3], before[:, :3, 3], atol=1e-12)


@pytest.mark.parametrize(("frame", "tool"), [*zip(RIGID, RIGID, strict=True), *zip(HELD, HANGING, strict=True)])
def test_each_tool_has_a_frame(frame: str, tool: str) -> None:
    np.testing.assert_allclose(in_payload(frame), pose_of_tool(MODEL.arm, tool, ANGLES), atol=1e-9)


def test_cylindrical_frame_is_at_active_tool_and_rotated_by_yaw_only() -> None:
    cylindrical, tcp = in_payload("tool_cylindrical"), tcp_from_joints(MODEL, ANGLES, CODES)
    known = CODES < 10
    np.testing.assert_allclose(cylindrical[known, :3, 3], tcp[known, :3, 3], atol=1e-12)
    np.testing.assert_allclose(
        cylindrical[~known, :3, 3], links_of_arm(MODEL.arm, ANGLES)[~known, 3, :3, 3], atol=1e-12
    )
    turns = Rotation.from_euler("zx", [(yaw, 0) for yaw in ANGLES[:, 0]]).as_matrix()
    np.testing.assert_allclose(cylindrical[:, :3, :3], turns, atol=1e-12)
    assert np.isnan(tcp[~known]).all()


def test_batch_equals_row_by_row() -> None:
    phases = (np.arange(40) % 6).astype(np.uint8)
    together = bent_tcp_from_joints(MODEL, ANGLES, CODES, phases=phases)
    frames = frames_from_joints(MODEL, ANGLES, CODES)
    for row in range(40):
        one = slice(row, row + 1)
        np.testing.assert_array_equal(
            bent_tcp_from_joints(MODEL, ANGLES[one], CODES[one], phases=phases[one])[0], together[row]
        )
        np.testing.assert_array_equal(frames_from_joints(MODEL, ANGLES[one], CODES[one])[0], frames[row])


def test_payload_bends_arm_and_unknown_phase_is_no_payload() -> None:
    reaching, grapple = np.array([[-0.12, -0.5, 1.51, 0.0]]), np.array([5], np.uint8)
    straight = tcp_from_joints(MODEL, reaching, grapple)[0, :3, 3]
    for phase, expected in ((UNKNOWN, 3.353218), (1, 3.353218), (3, 21.164884)):
        bent = bent_tcp_from_joints(MODEL, reaching, grapple, phases=np.array([phase], np.uint8))[0, :3, 3]
        assert (bent - straight)[2] * 1e3 == pytest.approx(expected, abs=2e-5)


def test_joints_are_found_by_name() -> None:
    names = ["wrist", "elbow", "other", "shoulder_yaw", "shoulder_pitch"]
    assert angles_of_joints(names, np.array([4.0, 3, 9, 1, 2])).tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="none of the name elbow"):
        angles_of_joints(["shoulder_yaw", "shoulder_pitch"], np.zeros(2))


def test_model_is_built_once_per_numbers_and_wrong_settings_raise_at_once() -> None:
    model_of = models_from_settings(arm_settings(dh_set="auto"))
    numbers = np.full(208, np.nan)
    assert model_of(numbers) is model_of(numbers.tolist())
    assert model_of(None) is model_of(None) is not model_of(numbers)
    with pytest.raises(ValueError, match="dh_set: expected one of"):
        models_from_settings(arm_settings(dh_set="longest"))


def test_translated_and_rotated_base_moves_complete_arm() -> None:
    turn = Rotation.from_euler("xyz", [0.1, -0.2, 0.7])
    base = np.eye(4)
    base[:3, :3], base[:3, 3] = turn.as_matrix(), (0.5, -0.1, 0.02)
    settings = arm_settings(dh_set="naif")
    x, y, z, w = turn.as_quat()
    moved = lander_model_from_settings({**settings, "base_m": base[:3, 3], "base_wxyz": [w, x, y, z]})
    down = turn.inv().apply(settings["gravity_direction"])
    still = lander_model_from_settings({**settings, "gravity_direction": down})
    phases = np.full(len(ANGLES), 3, np.uint8)
    for ours, theirs in (
        (tcp_from_joints(moved, ANGLES, CODES), tcp_from_joints(still, ANGLES, CODES)),
        (
            bent_tcp_from_joints(moved, ANGLES, CODES, phases=phases),
            bent_tcp_from_joints(still, ANGLES, CODES, phases=phases),
        ),
    ):
        np.testing.assert_allclose(ours, base @ theirs, atol=1e-12)
    ours, theirs = frames_from_joints(moved, ANGLES, CODES), frames_from_joints(still, ANGLES, CODES)
    on_payload = np.array([PARENTS[frame] == "payload" for frame in FRAMES])
    np.testing.assert_allclose(ours[:, on_payload], base @ theirs[:, on_payload], atol=1e-12)
    np.testing.assert_allclose(ours[:, ~on_payload], theirs[:, ~on_payload], atol=1e-12)


def test_state_before_first_message_is_unknown() -> None:
    assert codes_of_states(3, None).tolist() == [3, UNKNOWN]
