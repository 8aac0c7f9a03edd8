"""Transforms of the joints of a URDF from joint positions, in whole batches.

Fixed joints stand still; revolute, continuous and prismatic ones take one position each (rad or m). Floating and planar
joints are placed by somebody else: they belong to the tree, but there is no transform for them here.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fieldplay.geometry.transforms import Array
from fieldplay.geometry.urdf_model import (
    MOVING,
    SLIDING,
    Joint,
    UrdfModel,
)

Missing = Literal["refuse", "zero", "leave_out"]
Positions = Mapping[str, Array]


def fixed_transforms(model: UrdfModel) -> dict[str, Array]:
    """parent_T_child (4, 4) of the links on fixed joints, by child."""
    return {joint.child: joint.parent_t_zero.copy() for joint in model.joints if joint.kind == "fixed"}


def transforms_from_positions(
    model: UrdfModel, names: Sequence[str], positions: ArrayLike, *, missing: Missing = "refuse"
) -> dict[str, Array]:
    """parent_T_child (..., 4, 4) of the links on moving joints, by child, from positions (..., k) of k named joints.

    Names that the model does not have are passed over, as joint states of several devices share a topic. A joint that
    mimics another follows it unless its own position is given. A joint without a position is refused, stands at zero,
    or is left out together with those that mimic it. A position that is not finite gives NaN.
    """
    given = _given(names, positions)
    moving = {joint.name: joint for joint in model.joints if joint.kind in MOVING}
    if missing == "zero":
        zeros = np.zeros(np.shape(positions)[:-1])
        given = {**{name: zeros for name, joint in moving.items() if joint.mimic is None}, **given}
    known = {name: _position(moving, given, name) for name in moving}
    lacking = [name for name, position in known.items() if position is None]
    if lacking and missing == "refuse":
        raise ValueError(f"no position of the joint '{lacking[0]}' (of {len(lacking)} such joints)")
    return {
        moving[name].child: _transform(moving[name], position)
        for name, position in known.items()
        if position is not None
    }


def link_poses_from_positions(
    model: UrdfModel, names: Sequence[str], positions: ArrayLike, *, base: str = "", missing: Missing = "refuse"
) -> dict[str, Array]:
    """base_T_link (..., 4, 4) of the base (default: the root) and of each link that transforms lead to from there."""
    base = base or model.root
    if base not in model.links:
        raise ValueError(f"the model '{model.name}' has no link '{base}'")
    edges = fixed_transforms(model) | transforms_from_positions(model, names, positions, missing=missing)
    poses: dict[str, Array] = {base: np.eye(4)}
    for joint in model.joints:
        if joint.parent in poses and joint.child in edges:
            poses[joint.child] = poses[joint.parent] @ edges[joint.child]
    return poses


def _given(names: Sequence[str], positions: ArrayLike) -> Positions:
    positions = np.asarray(positions, float)
    if positions.shape[-1:] != (len(names),):
        raise ValueError(f"expected positions (..., {len(names)}), one for each name, got {positions.shape}")
    if len(set(names)) < len(names):
        raise ValueError(f"expected each joint once, got {list(names)}")
    finite = np.where(np.isfinite(positions), positions, np.nan)
    return {name: finite[..., column] for column, name in enumerate(names)}


def _position(moving: Mapping[str, Joint], given: Positions, name: str) -> Array | None:
    if name in given:
        return given[name]
    mimic = moving[name].mimic
    other = None if mimic is None else _position(moving, given, mimic.joint)
    if mimic is None or other is None:
        return None
    position: Array = mimic.multiplier * other + mimic.offset
    return position


def _transform(joint: Joint, position: Array) -> Array:
    """Turned by Rodrigues' formula, R0 + sin R0 K + (1 - cos) R0 K K, where only the factors differ in a batch."""
    transform: Array = np.broadcast_to(joint.parent_t_zero, (*position.shape, 4, 4)).copy()
    rotation, position = joint.parent_t_zero[:3, :3], position[..., None]
    if joint.kind in SLIDING:
        transform[..., :3, 3] += position * (rotation @ joint.axis)
    else:
        x, y, z = joint.axis
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        first, second = rotation @ cross, rotation @ cross @ cross
        angle = position[..., None]
        transform[..., :3, :3] += np.sin(angle) * first + (1 - np.cos(angle)) * second
    return transform
