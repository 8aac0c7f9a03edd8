"""What is published of InSight's arm, row by row or all at once: the active tool, straight and bent, and the frames."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import (
    Array,
    inverse_from_transform,
    rotation_about_axis,
    transform_from_rotation,
)
from fieldplay.kinematics.denavit_hartenberg import steps_from_joints
from fieldplay.kinematics.insight_arm import (
    JOINTS,
    ON_FOREARM,
    InsightArm,
    active_tool_poses,
    effector_t_tool,
    forearm_t_idc,
    lander_arm_from_settings,
    links_of_arm,
    tool_pose,
)
from fieldplay.kinematics.insight_arm_flexure import (
    ArmLinks,
    bent_links,
    is_stowed,
    links_from_settings,
    payload_from_phases,
)
from fieldplay.kinematics.insight_arm_settings import HANGING, RIGID, resolved_settings
from fieldplay.kinematics.robots import of_joints

Codes = NDArray[np.uint8]
UNKNOWN = 255  # the number of no tool, and of no phase

# Each part in its own joint, before it the link's frame that it ends in: both have the link before as their parent.
PARTS = ("turret", "link_1", "upper_arm", "link_2", "forearm", "link_3", "hand", "effector")
# SEIS, WTS and HP3 as they hang in the grapple: the frames of their own names are those on the deck.
HELD = ("grapple", "seis_held", "wts_held", "hp3_held")
FRAMES = (*PARTS, *RIGID, *HELD, "tool_cylindrical")
_BASE, _LINK_3, _EFFECTOR, _ATTACH = -1, PARTS.index("link_3"), PARTS.index("effector"), FRAMES.index("grapple_attach")
PARENTS = (  # by frame, the place of its parent among the frames
    *(max(part - 1 - part % 2, _BASE) for part in range(len(PARTS))),
    *(_LINK_3 if tool == ON_FOREARM else _EFFECTOR for tool in RIGID),
    *(_ATTACH for _ in HELD),
    _BASE,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class LanderModel:
    """The arm, its links with the grapple unstowed and stowed, and the masses (3,) in kg that it may carry."""

    arm: InsightArm
    unstowed: ArmLinks
    stowed: ArmLinks
    payload_kg: Array

    def links_of_phases(self, phases: Codes) -> list[tuple[NDArray[np.bool_], ArmLinks]]:
        """The links that hold in the grapple's phases (n,): masks (n,) of rows, and the links in these."""
        stowed = is_stowed(phases)
        return [(mask, links) for mask, links in ((stowed, self.stowed), (~stowed, self.unstowed)) if mask.any()]


def lander_model_from_settings(
    settings: Mapping[str, Any], archived: Sequence[float] | Array | None = None
) -> LanderModel:
    """The arm of a description, and of the archive's own numbers where there are such: see resolved_settings."""
    found = resolved_settings(settings, archived)
    return LanderModel(
        arm=lander_arm_from_settings(settings, archived),
        unstowed=links_from_settings(found, stowed=False),
        stowed=links_from_settings(found, stowed=True),
        payload_kg=found["payload_kg"],
    )


def models_from_settings(settings: Mapping[str, Any]) -> Callable[[Sequence[float] | Array | None], LanderModel]:
    """A function from an archive's own numbers, if any, to the arm; each is made once. What is wrong is told here."""

    @cache
    def made(numbers: bytes) -> LanderModel:
        return lander_model_from_settings(settings, np.frombuffer(numbers) if numbers else None)

    def model(archived: Sequence[float] | Array | None) -> LanderModel:
        return made(b"" if archived is None else np.asarray(archived, float).tobytes())

    model(None)
    return model


def codes_of_states(*states: int | None) -> Codes:
    """Numbers of a tool or a phase (states,); UNKNOWN where there is none yet."""
    return np.array([UNKNOWN if state is None else state for state in states], np.uint8)


def angles_of_joints(names: Sequence[str], positions: Array) -> Array:
    """The arm's joints (..., 4) among all (..., k), by their names."""
    return of_joints(names, positions, JOINTS)


def tcp_from_joints(model: LanderModel, angles: Array, codes: Codes) -> Array:
    """payload_T_tool (n, 4, 4) of the active tools, from joint angles (n, 4) and the tools' numbers (n,)."""
    return active_tool_poses(model.arm, codes, angles, links_of=lambda posture, _: links_of_arm(model.arm, posture))


def bent_tcp_from_joints(model: LanderModel, angles: Array, codes: Codes, *, phases: Codes) -> Array:
    """The same (n, 4, 4) of the arm that bends under its weight and what it carries in the grapple's phases (n,)."""
    payload = payload_from_phases(phases, model.payload_kg)

    def links_of(posture: Array, rows: NDArray[np.bool_]) -> Array:
        links, carried = np.zeros((len(posture), 4, 4, 4)), payload[rows]
        for mask, of_phase in model.links_of_phases(phases[rows]):
            links[mask] = bent_links(model.arm, of_phase, angles=posture[mask], payload_kg=carried[mask])
        return links

    return active_tool_poses(model.arm, codes, angles, links_of=links_of)


def parents_of_frames(base: str, frames: Sequence[str]) -> list[str]:
    """By frame, the name of its parent; the frames may have other names than ours, in our order."""
    if len(frames) != len(FRAMES):
        raise ValueError(f"child_frames: expected {len(FRAMES)}, got {len(frames)}")
    return [base if parent == _BASE else frames[parent] for parent in PARENTS]


def frames_from_joints(model: LanderModel, angles: Array, codes: Codes) -> Array:
    """parent_T_frame (n, 19, 4, 4) of all frames of the straight arm, from joint angles (n, 4) and tools' numbers.

    These are (n,). The cylindrical frame stands at the active tool, or at the wrist where there is none.
    """
    arm, count = model.arm, len(angles)
    turned = transform_from_rotation(rotation_about_axis(2, angles), np.zeros(3))
    parts = np.stack([turned, steps_from_joints(arm.rows, angles, "standard")], axis=2).reshape(count, len(PARTS), 4, 4)
    parts[:, :2] = arm.base @ parts[:, :2]  # turret and link_1
    links = links_of_arm(arm, angles)
    rigid = np.stack([forearm_t_idc(arm) if tool == ON_FOREARM else effector_t_tool(arm.tools[tool]) for tool in RIGID])
    into_attach = inverse_from_transform(tool_pose(arm, "grapple_attach", links, angles=angles))
    hanging = np.stack([into_attach @ tool_pose(arm, tool, links, angles=angles) for tool in HANGING], axis=1)
    tcp, effector = tcp_from_joints(model, angles, codes)[:, :3, 3], links[:, 3, :3, 3]
    cylinder = transform_from_rotation(parts[:, 0, :3, :3], np.where(np.isfinite(tcp), tcp, effector))
    return np.concatenate([parts, np.broadcast_to(rigid, (count, *rigid.shape)), hanging, cylinder[:, None]], axis=1)
