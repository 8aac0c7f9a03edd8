"""How the lander arm bends under its own weight and a payload's: gravity's moments, and the frames of the bent links.

Each link yields at its far end to the force and the moment there, by its compliance; what lies beyond is carried along.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import (
    Array,
    rotation_about_axis,
    rotation_from_vector,
    transform_from_rotation,
)
from fieldplay.kinematics.denavit_hartenberg import steps_from_joints
from fieldplay.kinematics.insight_arm import (
    ATTACH,
    InsightArm,
    links_of_arm,
    tool_pose,
)
from fieldplay.kinematics.insight_arm_settings import (
    ALTERNATE,
    COMPLIANCE,
    FIRST_OF_TWO_FORMS,
    LINKS,
)

STOWED_ALTERNATE, UNSTOWED_ALTERNATE = 0, 1  # of the alternate forms: link 3 stowed, link 4 unstowed
STOWED_PHASES = (0, 1)  # launch-locked, stowed
SEIS, WTS, HP3 = 3, 4, 5  # the grapple's phases in which something hangs on it


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkMasses:
    """Masses (4,) of the links in kg, and their centres (4, 3), each turning with its joint, from that joint's axis."""

    mass_kg: Array
    centre_m: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Compliance:
    """Shift and turn of each link's end by force and moment there, in its frame: matrices (4, 3, 3), times `scale`."""

    shift_by_force: Array
    turn_by_force: Array
    shift_by_moment: Array
    turn_by_moment: Array
    scale: float


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmLinks:
    """What the links weigh and how they yield, in one state of the grapple."""

    masses: LinkMasses
    compliance: Compliance


def links_from_settings(settings: Mapping[str, Any], *, stowed: bool) -> ArmLinks:
    """The links of a description, with the grapple stowed or not: see lander_arm_settings for the two forms."""
    masses = LinkMasses(
        mass_kg=_of_links(settings, "link_kg", stowed=stowed)[:, 0],
        centre_m=_of_links(settings, "link_centres_m", stowed=stowed),
    )
    matrices = {name: _of_links(settings, name, stowed=stowed).reshape(LINKS, 3, 3) for name in COMPLIANCE}
    scale = np.asarray(settings["compliance_scale"], float).item()
    return ArmLinks(masses=masses, compliance=Compliance(**matrices, scale=scale))


def _of_links(settings: Mapping[str, Any], name: str, *, stowed: bool) -> Array:
    """The numbers (4, k) of one kind: of the links 3 and 4 in the form that they have in this state of the grapple."""
    numbers = np.array(settings[name], float).reshape(LINKS, -1)
    alternate = np.asarray(settings[ALTERNATE + name], float).reshape(LINKS - FIRST_OF_TWO_FORMS, -1)
    place = STOWED_ALTERNATE if stowed else UNSTOWED_ALTERNATE
    numbers[FIRST_OF_TWO_FORMS + place] = alternate[place]
    return numbers


def is_stowed(phases: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether the grapple is stowed (n,) in its phases (n,); an unknown phase counts as unstowed."""
    return np.isin(phases, STOWED_PHASES)


def payload_from_phases(phases: NDArray[np.uint8], payload_kg: Array) -> Array:
    """What hangs on the grapple (n,) in kg in its phases (n,), from the masses (3,) of SEIS, WTS and HP3."""
    found = np.zeros(len(phases))
    for phase, mass in zip((SEIS, WTS, HP3), payload_kg, strict=True):
        found[phases == phase] = mass
    return found


def link_centres(arm: InsightArm, masses: LinkMasses, links: Array, *, angles: Array) -> Array:
    """The links' centres of mass (n, 4, 3) in the payload frame."""
    base = np.broadcast_to(arm.base, (len(angles), 1, 4, 4))
    before = np.concatenate([base, links[:, :-1]], axis=1)
    turned = before[..., :3, :3] @ rotation_about_axis(2, angles)
    return np.asarray((turned @ masses.centre_m[:, :, None])[..., 0] + before[..., :3, 3], float)


def weight_moments(
    arm: InsightArm, masses: LinkMasses, links: Array, *, angles: Array, payload_kg: Array, about: Array
) -> tuple[Array, Array]:
    """Force and moment (n, 4, 3) of the weight of link i and all beyond it, about a point for each i.

    `payload_kg` (n,) hangs below the grapple's attachment; the points are `about` (n, 4, 3).
    """
    hook = tool_pose(arm, ATTACH, links, angles=angles)[:, None, :3, 3]
    places = np.concatenate([link_centres(arm, masses, links, angles=angles), hook], axis=1)
    mass = np.concatenate([np.broadcast_to(masses.mass_kg, (len(angles), LINKS)), payload_kg[:, None]], axis=1)
    carried = np.cumsum(mass[:, ::-1], axis=1)[:, ::-1][:, :LINKS]
    lever = np.cumsum((mass[..., None] * places)[:, ::-1], axis=1)[:, ::-1][:, :LINKS]  # kg m beyond each joint
    force = carried[..., None] * arm.gravity_m_s2
    return force, np.cross(lever - carried[..., None] * about, arm.gravity_m_s2)


def gravity_moments(arm: InsightArm, masses: LinkMasses, angles: Array, *, payload_kg: Array) -> Array:
    """What gravity does about each joint's axis (n, 4) in N m, positive as the joint's angle."""
    links = links_of_arm(arm, angles)
    base = np.broadcast_to(arm.base, (len(angles), 1, 4, 4))
    before = np.concatenate([base, links[:, :-1]], axis=1)
    origins, axes = before[..., :3, 3], before[..., :3, 2]
    _, moments = weight_moments(arm, masses, links, angles=angles, payload_kg=payload_kg, about=origins)
    return np.asarray((moments * axes).sum(axis=-1), float)


def bent_links(arm: InsightArm, parts: ArmLinks, *, angles: Array, payload_kg: Array) -> Array:
    """payload_T_link (n, 4, 4, 4) of the bent arm, from joint angles (n, 4) and what hangs on it (n,) in kg."""
    masses, compliance = parts.masses, parts.compliance
    straight = links_of_arm(arm, angles)
    ends = straight[..., :3, 3]
    forces, moments = weight_moments(arm, masses, straight, angles=angles, payload_kg=payload_kg, about=ends)
    into_link = np.swapaxes(straight[..., :3, :3], -1, -2)
    force, moment = into_link @ forces[..., None], into_link @ moments[..., None]
    shift = compliance.scale * (compliance.shift_by_force @ force + compliance.shift_by_moment @ moment)
    turn = compliance.scale * (compliance.turn_by_force @ force + compliance.turn_by_moment @ moment)
    yielding = transform_from_rotation(rotation_from_vector(turn[..., 0]), shift[..., 0])
    steps = steps_from_joints(arm.rows, angles, "standard") @ yielding
    frames = [arm.base @ steps[:, 0]]
    for link in range(1, LINKS):
        frames.append(frames[-1] @ steps[:, link])
    return np.stack(frames, axis=1)
