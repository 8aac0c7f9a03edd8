"""Joints of InSight's arm from places of its tools, and back."""

import numpy as np
import pytest

from fieldplay.kinematics.insight_arm import (
    HANGING,
    RIGID,
    Elbow,
    approach_angle,
    joints_from_tool,
    lander_arm_from_settings,
    nearest_turns,
    tool_position_from_joints,
    within_limits,
)
from fieldplay_testing.insight_arm_settings import arm_description, arm_settings

ARM = lander_arm_from_settings(arm_settings())
LIMITS = arm_description()["constants"]["arm_limits"]
LEAST, MOST = LIMITS["q_min_rad"], LIMITS["q_max_rad"]
ON_HAND = [tool for tool in (*RIGID, *HANGING) if tool != "idc"]


def postures(elbow: Elbow) -> np.ndarray:
    """Joints within their limits, with the arm stretched away from the yaw axis and the elbow bent that way."""
    angles = np.random.default_rng(7).uniform(LEAST, MOST, (4000, 4))
    bend = np.sin(angles[:, 2])  # beyond half a turn it is down
    is_bent = bend > 0.05 if elbow == "up" else bend < -0.05
    reach = 0.9753 * np.cos(angles[:, 1]) + 0.8568 * np.cos(angles[:, 1] + angles[:, 2])
    return angles[is_bent & (reach > 0.5)]


@pytest.mark.parametrize("elbow", ["up", "down"])
@pytest.mark.parametrize("tool", ON_HAND)
def test_joints_round_trip_through_tool_position(tool: str, elbow: Elbow) -> None:
    angles = postures(elbow)
    assert len(angles) > 50
    approach = approach_angle(ARM, "grapple_attach" if tool in HANGING else tool, angles)
    joints = joints_from_tool(ARM, tool, tool_position_from_joints(ARM, tool, angles), approach=approach, elbow=elbow)
    np.testing.assert_allclose(nearest_turns(joints, LEAST, MOST), nearest_turns(angles, LEAST, MOST), atol=1e-9)
    assert within_limits(joints, LEAST, MOST).all()


def test_camera_position_gives_first_three_joints() -> None:
    angles = postures("up")
    angles[:, 3] = 0.0
    joints = joints_from_tool(ARM, "idc", tool_position_from_joints(ARM, "idc", angles), approach=np.zeros(len(angles)))
    np.testing.assert_allclose(
        tool_position_from_joints(ARM, "idc", joints), tool_position_from_joints(ARM, "idc", angles)
    )
    same = np.abs(joints[:, 2] - angles[:, 2]) < 1e-9
    assert same.mean() > 0.8  # the camera stands off the forearm: near the stretched arm there is the other bend


def test_elbow_up_and_down_reach_same_position() -> None:
    position = [1.3, 0.2, 0.4]
    up, down = (joints_from_tool(ARM, "scoop", position, approach=1.2, elbow=elbow) for elbow in ("up", "down"))
    assert up[2] > 0 > down[2]
    for angles in (up, down):
        np.testing.assert_allclose(tool_position_from_joints(ARM, "scoop", angles), position, atol=1e-12)
        np.testing.assert_allclose(approach_angle(ARM, "scoop", angles), 1.2, atol=1e-12)


def test_unreachable_position_gives_nan_joints_outside_limits() -> None:
    positions = [[1.3, 0.2, 0.4], [2.6, 0.2, 0.4], [0.05, 0.0, 0.4]]
    joints = joints_from_tool(ARM, "blade_1", positions, approach=0.3)
    assert np.isfinite(joints[0]).all()
    assert np.isnan(joints[1:]).any(axis=-1).all()
    assert within_limits(joints, LEAST, MOST).tolist() == [True, False, False]


def test_joint_beyond_limit_is_detected_ignoring_full_turns() -> None:
    beyond = [[0.0, 0.0, 1.0, 0.0], [1.6, 0.0, 1.0, 0.0], [1.6 - 2 * np.pi, 0, 1, 0], [2 * np.pi, 0.0, 1.0, 0.0]]
    assert within_limits(beyond, LEAST, MOST).tolist() == [True, False, False, True]
