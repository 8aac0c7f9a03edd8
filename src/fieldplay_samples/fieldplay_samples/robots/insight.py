"""A lander's arm of four joints: azimuth, then three that pitch; how it bends by its own weight, and what it carries.

Frames are those of the joints (z along the axis), one hung on the other as a robot description has them: the base is
the payload frame, z down. Joint angles are (n, 4) in rad, positive pitch is down.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldplay_samples.motion.rotations import (
    Floats,
    floats,
    rotate_vectors,
    rotation_about,
    transform,
    transform_points,
)

X, Y, Z = np.eye(3)
JOINTS = 4
SPARED = 1e-9  # a turn smaller than this is none


@dataclass(frozen=True, eq=False, kw_only=True)
class Link:
    """A link: its mass, its centre (3,) in its joint's frame, and its softness (6, 6): force, moment to shift, turn."""

    mass_kg: float
    centre_m: Floats
    softness: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftArm:
    """Lengths along a (3,) and across d (2,), the four links, the softness' factor, and gravity (3,) in the base."""

    a_m: Floats
    d_m: Floats
    links: tuple[Link, ...]
    softness_factor: float
    gravity_m_s2: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class ArmPose:
    """The joints' frames after their turns (n, 4, 4, 4), what each link ends in (n, 4, 4, 4), in the base."""

    joints: Floats
    tips: Floats

    @property
    def effector(self) -> Floats:
        """Poses (n, 4, 4) of the hand."""
        return floats(self.tips[:, -1])


def lander_arm(arm: dict[str, Any], sets: dict[str, Any], gravity: dict[str, Any]) -> SoftArm:
    """The arm of the lengths, of the parameter sets of its links, and of gravity."""
    names = ("RA_DEFL_LINK_1", "RA_DEFL_LINK_2", "RA_DEFL_LINK_3U", "RA_DEFL_LINK_4S")
    return SoftArm(
        a_m=floats(arm["a"]),
        d_m=floats(arm["d"]),
        links=tuple(_link(sets[name]) for name in names),
        softness_factor=float(sets["RA_DEFL_GENERAL"]["compliance_scale"]),
        gravity_m_s2=gravity["m_s2"] * floats(gravity["direction"]),
    )


def _link(numbers: dict[str, Any]) -> Link:
    blocks = [[floats(numbers[name]).reshape(3, 3) for name in row] for row in (("vCf", "vCm"), ("wCf", "wCm"))]
    return Link(mass_kg=float(numbers["mass"]), centre_m=floats(numbers["cm"]), softness=floats(np.block(blocks)))


def rigid_pose(arm: SoftArm, angles_rad: Floats) -> ArmPose:
    """The arm as it were without weight."""
    return _chain_links(arm, angles_rad, np.broadcast_to(np.eye(4), (len(angles_rad), JOINTS, 4, 4)))


def bent_pose(arm: SoftArm, angles_rad: Floats, carried_kg: Floats, hang: Floats) -> ArmPose:
    """The arm as it hangs, with masses (n,) at points (n, 3) of the base that it carries."""
    rigid = rigid_pose(arm, angles_rad)
    bends = np.stack([_bend(arm, rigid, link, carried_kg, hang) for link in range(JOINTS)], axis=1)
    return _chain_links(arm, angles_rad, bends)


def gravity_moments(arm: SoftArm, pose: ArmPose, carried_kg: Floats, hang: Floats) -> Floats:
    """Moments (n, 4) in Nm of all that is beyond each joint, about its axis."""
    moments = [
        np.einsum(
            "nc,nc->n",
            pose.joints[:, joint, :3, 2],
            _wrench(arm, pose, joint, pose.joints[:, joint, :3, 3], (carried_kg, hang))[1],
        )
        for joint in range(JOINTS)
    ]
    return np.stack(moments, axis=-1)


def _chain_links(arm: SoftArm, angles_rad: Floats, bends: Floats) -> ArmPose:
    """Chain the frames; at its end each link is moved by its bend (n, 4, 4, 4)."""
    quarter = rotation_about(X, np.pi / 2)
    fixed = [
        transform(quarter, [arm.a_m[0], 0.0, arm.d_m[0]]),
        transform(np.eye(3), [arm.a_m[1], 0.0, arm.d_m[1]]),
        transform(np.eye(3), [arm.a_m[2], 0.0, 0.0]),
        transform(quarter, np.zeros(3)),
    ]
    joints, tips = [], []
    here = np.broadcast_to(np.eye(4), (len(angles_rad), 4, 4))
    for joint in range(JOINTS):
        after = here @ transform(rotation_about(Z, angles_rad[:, joint]), np.zeros(3))
        here = after @ fixed[joint] @ bends[:, joint]
        joints.append(after)
        tips.append(here)
    return ArmPose(joints=np.stack(joints, axis=1), tips=np.stack(tips, axis=1))


def _wrench(
    arm: SoftArm, pose: ArmPose, first: int, about: Floats, carried: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Force and moment (n, 3) about points (n, 3), by the weight of the links from `first` on and of what hangs."""
    mass, hang = carried
    force = mass[:, None] * arm.gravity_m_s2
    moment = np.cross(hang - about, force)
    for number in range(first, JOINTS):
        weight = arm.links[number].mass_kg * arm.gravity_m_s2
        centre = transform_points(pose.joints[:, number], arm.links[number].centre_m)
        force = force + weight
        moment = moment + np.cross(centre - about, weight)
    return floats(force), floats(moment)


def _bend(arm: SoftArm, rigid: ArmPose, link: int, carried_kg: Floats, hang: Floats) -> Floats:
    """The small motions (n, 4, 4) of a link's end, in the frame that the link ends in."""
    end = rigid.tips[:, link]
    back = np.swapaxes(end[:, :3, :3], -1, -2)
    force, moment = _wrench(arm, rigid, link, end[:, :3, 3], (carried_kg, hang))
    load = np.concatenate([rotate_vectors(back, force), rotate_vectors(back, moment)], axis=-1)
    small = arm.softness_factor * load @ arm.links[link].softness.T
    angle = np.linalg.norm(small[:, 3:], axis=-1)
    axis = small[:, 3:] / np.maximum(angle, SPARED)[:, None]
    cross = np.zeros((len(small), 3, 3))
    cross[:, [2, 0, 1], [1, 2, 0]], cross[:, [1, 2, 0], [2, 0, 1]] = axis, -axis
    sine, cosine = np.sin(angle)[:, None, None], np.cos(angle)[:, None, None]
    return transform(np.eye(3) + sine * cross + (1 - cosine) * (cross @ cross), small[:, :3])


def angles_to_reach(arm: SoftArm, point_m: Floats, pitch_rad: Floats, offset_m: Floats) -> Floats:
    """Joint angles (n, 4), elbow up, that bring a point (3,) of the hand to places (n, 3), all pitches adding up so."""
    x, y, z = point_m.T
    aside = arm.d_m[1] + offset_m[1]
    radius = np.sqrt(x * x + y * y - aside * aside)
    azimuth = np.arctan2(y, x) + np.arctan2(aside, radius)
    sine, cosine = np.sin(pitch_rad), np.cos(pitch_rad)
    out = radius - arm.a_m[0] - offset_m[0] * cosine - offset_m[2] * sine
    down = z - arm.d_m[0] - offset_m[0] * sine + offset_m[2] * cosine
    upper, fore = arm.a_m[1], arm.a_m[2]
    bent = np.arccos((out * out + down * down - upper * upper - fore * fore) / (2 * upper * fore))
    shoulder = np.arctan2(down, out) - np.arctan2(fore * np.sin(bent), upper + fore * np.cos(bent))
    return np.stack([azimuth, shoulder, bent, pitch_rad - shoulder - bent], axis=-1)
