"""InSight's arm: known poses, three routes to them, and its tools."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.geometry.transforms import quaternion_from_rotation
from fieldplay.kinematics.insight_arm import (
    HANGING,
    RIGID,
    InsightArm,
    active_tool_poses,
    approach_angle,
    forearm_t_idc,
    hanging_rotation,
    lander_arm_from_settings,
    links_of_arm,
    pose_of_tool,
    renumber,
    resolve_settings,
    tool_position_from_joints,
)
from fieldplay_testing.insight_arm_settings import arm_settings

NAIF, SIS = (lander_arm_from_settings(arm_settings(dh_set=name)) for name in ("naif", "sis"))
EXACT = lander_arm_from_settings(arm_settings(alpha_rad=[np.pi / 2, 0, 0, np.pi / 2]))
STRETCHED, UP, DOWN, FLOWN, LOWERED = (
    [0, 0, 0, 0], [-0.829, -1.64, 0.23, 0], [0.026, -0.389, 1.378, 0.125],
    [-0.6975, 0.1385, 0.7723, 2.3427], [-0.1, -0.32, 1.01, 0.134],
)  # fmt: skip
JOINTS = np.random.default_rng(5).uniform(-3, 3, (50, 4))
TOOLS = (*RIGID, *HANGING)


@pytest.mark.parametrize(
    ("angles", "naif", "sis", "quaternion"),
    [
        (STRETCHED, (1.856900, 0.138400, -0.059899), (1.864262, 0.140838, -0.056455), (1, 0, 0, 0)),
        (UP, (0.165911, 0.023811, -1.878612), (0.171023, 0.021842, -1.877703),
         (0.697117, -0.306726, -0.593156, -0.260987)),
        (DOWN, (1.393997, 0.174698, 0.286042), (1.400656, 0.177310, 0.289962),
         (0.848773, 0.011035, 0.528597, -0.006875)),
        (FLOWN, (1.250890, -0.867707, 0.751615), (1.257736, -0.870263, 0.756187),
         (-0.052558, 0.019111, 0.938330, 0.341189)),
        (LOWERED, (1.617159, -0.023163, 0.178689), (1.624389, -0.021438, 0.182461),
         (0.915177, -0.045797, 0.399942, 0.020010)),
    ],
)  # fmt: skip
def test_wrist_reaches_known_poses(angles: list[float], naif: object, sis: object, quaternion: object) -> None:
    for arm, position in ((NAIF, naif), (SIS, sis)):
        effector = links_of_arm(arm, angles)[3]
        np.testing.assert_allclose(effector[:3, 3], position, atol=1e-6)
        actual = quaternion_from_rotation(effector[:3, :3])
        np.testing.assert_allclose(actual * np.sign(actual @ np.asarray(quaternion)), quaternion, atol=5e-6)


@pytest.mark.parametrize(
    ("angles", "tool", "position", "approach"),
    [
        (UP, "grapple", (0.210080, 0.036143, -1.580032), 1.501414),
        (DOWN, "idc", (0.959658, 0.218422, -0.099396), 0.989004),
        (DOWN, "scoop", (1.529635, 0.178225, 0.306157), 0.974374),
        (DOWN, "blade_1", (1.481797, 0.176982, 0.226152), -0.456796),
        (FLOWN, "scoop", (1.181894, -0.809886, 0.855110), 3.113874),
        (LOWERED, "grapple", (1.635257, 0.002231, 0.477269), 1.501414),
    ],
)
def test_tools_reach_known_positions(
    angles: list[float], tool: str, position: tuple[float, ...], approach: float
) -> None:
    tool_pose = pose_of_tool(NAIF, tool, angles)
    np.testing.assert_allclose(tool_pose[:3, 3], position, atol=2e-6)
    np.testing.assert_allclose(approach_angle(NAIF, tool, angles), approach, atol=2e-6)
    np.testing.assert_allclose(tool_position_from_joints(NAIF, tool, angles), position, atol=1e-5)


def test_naif_lengths_reach_archived_positions() -> None:
    via, target = (0.210, 0.036, -1.580), (0.960, 0.218, -0.098)
    grapple = pose_of_tool(NAIF, "grapple", UP)
    idc = pose_of_tool(NAIF, "idc", DOWN)
    np.testing.assert_allclose(grapple[:3, 3], via, atol=3e-4)
    np.testing.assert_allclose(idc[:3, 3], target, atol=2e-3)  # this one is bent, ours is not


def test_camera_does_not_move_with_wrist() -> None:
    turned = [*DOWN[:3], 1.0]
    for arm in (NAIF, SIS):
        poses = [pose_of_tool(arm, "idc", angles) for angles in (DOWN, turned)]
        np.testing.assert_allclose(poses[0], poses[1], atol=1e-12)
        np.testing.assert_allclose(poses[0], links_of_arm(arm, DOWN)[2] @ forearm_t_idc(arm), atol=1e-12)
    rigid = links_of_arm(NAIF, DOWN)[3] @ [*NAIF.tools["idc"].position_m, 1.0]
    np.testing.assert_allclose(rigid[:3], (1.011074, 0.219759, -0.150380), atol=2e-6)  # what it is not


def by_elementary_products(arm: InsightArm, angles: np.ndarray) -> np.ndarray:
    frame = np.eye(4)
    for row, angle in zip(arm.rows, angles, strict=True):
        step = np.eye(4)
        step[:3, :3] = (Rotation.from_euler("z", angle) * Rotation.from_euler("x", row.alpha)).as_matrix()
        step[:3, 3] = Rotation.from_euler("z", angle).apply([row.a, 0, row.d])
        frame = frame @ step
    return frame


@pytest.mark.parametrize("arm", [NAIF, SIS, EXACT])
def test_links_agree_with_elementary_products(arm: InsightArm) -> None:
    expected = [by_elementary_products(arm, angles) for angles in JOINTS]
    np.testing.assert_allclose(links_of_arm(arm, JOINTS)[:, 3], expected, atol=1e-12)


@pytest.mark.parametrize("tool", TOOLS)
def test_closed_form_equals_product_of_frames(tool: str) -> None:
    poses = pose_of_tool(EXACT, tool, JOINTS)
    np.testing.assert_allclose(tool_position_from_joints(EXACT, tool, JOINTS), poses[:, :3, 3], atol=1e-12)
    printed = pose_of_tool(NAIF, tool, JOINTS)
    np.testing.assert_allclose(tool_position_from_joints(NAIF, tool, JOINTS), printed[:, :3, 3], atol=2e-5)


@pytest.mark.parametrize("tool", TOOLS)
def test_approach_axis_is_elevated_by_approach_angle(tool: str) -> None:
    poses = pose_of_tool(EXACT, tool, JOINTS)
    np.testing.assert_allclose(poses[:, 2, 2], np.sin(approach_angle(EXACT, tool, JOINTS)), atol=1e-9)
    np.testing.assert_allclose(np.linalg.det(poses[:, :3, :3]), 1, atol=1e-9)


@pytest.mark.parametrize("tool", RIGID)
def test_tool_rotation_follows_approach_angle_and_yaw(tool: str) -> None:
    th = approach_angle(EXACT, tool, JOINTS)
    expected = Rotation.from_euler("zx", [(yaw, 0) for yaw in JOINTS[:, 0]]) * Rotation.from_euler("x", np.pi / 2)
    expected = (
        expected
        * Rotation.from_euler("zx", [(angle + np.pi / 2, 0) for angle in th])
        * Rotation.from_euler("x", np.pi / 2)
    )
    tool_pose = pose_of_tool(EXACT, tool, JOINTS)[:, :3, :3]
    np.testing.assert_allclose(tool_pose, expected.as_matrix(), atol=1e-9)


def test_hanging_tool_points_down_with_y_along_wrist_axis() -> None:
    down = np.array([0.04682533, -0.05112297, 0.99759402])
    frames = hanging_rotation(NAIF, JOINTS)
    np.testing.assert_allclose(frames @ np.swapaxes(frames, -1, -2), np.broadcast_to(np.eye(3), (50, 3, 3)), atol=1e-12)
    np.testing.assert_allclose(frames[..., 2], np.broadcast_to(down, (50, 3)), atol=1e-6)
    wrist_axis = links_of_arm(EXACT, JOINTS)[:, 3, :3, 1]
    assert ((frames[..., 1] * wrist_axis).sum(axis=-1) > 0.997).all()
    level = Rotation.from_quat([0.02352163, -0.02548965, 0.99939123, -0.00371338]).as_matrix()
    np.testing.assert_allclose(level[2], down, atol=1e-6)


def test_tools_are_numbered_by_table_or_flight_software() -> None:
    codes = np.array([3, 5, 2, 11], np.uint8)
    angles = JOINTS[:4]
    for arm, names in ((NAIF, ("idc", "grapple", "scoop")), (renumber(NAIF, "flight"), ("scoop", "grapple", "idc"))):
        tool_poses = active_tool_poses(arm, codes, angles, links_of=lambda posture, _: links_of_arm(NAIF, posture))
        for row, name in enumerate(names):
            np.testing.assert_array_equal(tool_poses[row], pose_of_tool(arm, name, angles[row]))
        assert np.isnan(tool_poses[3]).all()
    with pytest.raises(ValueError, match="tool_numbering: expected one of table14, flight"):
        renumber(NAIF, "ground")


def test_parameter_file_overrides_defaults_unless_dh_set_is_named() -> None:
    geometry = np.full(40, np.nan)
    geometry[:8], geometry[[36, 37]] = (0.0250, 0.97, 0.85, 0, -0.06, -0.14, 0, 0), (0.31, 1.5)
    read = lander_arm_from_settings(arm_settings(dh_set="auto"), geometry)
    assert (read.rows[0].a, read.rows[0].d, read.rows[1].a) == (0.0250, -0.06, 0.97)
    assert read.rows[0].alpha == 1.570799947
    assert (read.hang_m["grapple"], read.hang_m["seis"]) == (0.31, 1.5)
    named = lander_arm_from_settings(arm_settings(dh_set="sis"), geometry)
    assert (named.rows[0].a, named.hang_m["grapple"]) == (0.029609, 0.31)
    with pytest.raises(ValueError, match="whole parts of them, got"):
        lander_arm_from_settings(arm_settings(dh_set="auto"), geometry[1:])
    with pytest.raises(ValueError, match="dh_set: expected one of auto, naif, sis, got 'jpl'"):
        lander_arm_from_settings(arm_settings(dh_set="jpl"))


@pytest.mark.parametrize("lost", [0, 2, 5, slice(0, 4), slice(4, 8)])
def test_lengths_come_from_a_single_source(lost: int | slice) -> None:
    geometry = np.full(40, np.nan)
    geometry[:12] = 0.0250, 0.97, 0.85, 0, -0.06, -0.14, 0, 0, 1.5, 0, 0, 1.5
    geometry[36] = 0.31
    geometry[lost] = np.nan
    read = lander_arm_from_settings(arm_settings(dh_set="auto"), geometry)
    assert read.rows == lander_arm_from_settings(arm_settings(dh_set="naif")).rows
    assert read.hang_m["grapple"] == 0.31


def test_parameter_file_may_set_gravity_masses_and_compliance() -> None:
    archived = np.full(208, np.nan)
    archived[40], archived[44], archived[64:67], archived[207] = 3.7, 9.0, (1, 2, 3), 7e-5
    settings = arm_settings()
    resolved = resolve_settings(settings, archived)
    assert resolved["gravity_m_s2"] == 3.7
    assert resolved["payload_kg"].tolist() == [9.0, 7.3, 2.7]
    assert resolved["shift_by_force"][:4].tolist() == [1, 2, 3, settings["shift_by_force"][3]]
    assert resolved["turn_by_moment"][[34, 35]].tolist() == [settings["turn_by_moment"][34], 7e-5]
    with pytest.raises(ValueError, match="link_kg: expected 4 numbers, got 3"):
        resolve_settings({**settings, "link_kg": [1.0, 2.0, 3.0]})
