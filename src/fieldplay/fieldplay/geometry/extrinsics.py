"""Static transforms from the numbers of a source, in its own convention, and the tree that is published of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from fieldplay.geometry.transforms import (
    Array,
    inverse_from_transform,
    rotation_about_axis,
    rotation_from_fixed_xyz,
    rotation_from_moving_xyz,
    rotation_from_quaternion,
    transform_from_rotation,
)

Numbers = Sequence[float]
MM = 1e-3
FLU_FROM_FRD = np.array([1.0, -1.0, -1.0])  # forward right down, of vectors and of turns about these axes
OPTICAL_FROM_FLU = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])


class PublishedTransform(Protocol):
    """A row of an extrinsics table as published: the child in the parent, in the convention of its source."""

    @property
    def parent(self) -> str:
        """The parent frame."""

    @property
    def child(self) -> str:
        """The child frame."""

    @property
    def convention(self) -> str:
        """A key of CONVENTIONS."""

    @property
    def translation(self) -> Numbers:
        """Three numbers in the unit of the convention."""

    @property
    def rotation(self) -> Numbers:
        """Angles, a quaternion or nine numbers of a matrix, as the convention says."""


class Edge(NamedTuple):
    """A static transform of the tf tree.

    Args:
        parent: the parent frame.
        child: the child frame.
        parent_t_child: parent_T_child (4, 4) in m; it maps points of the child into the parent.
    """

    parent: str
    child: str
    parent_t_child: Array


def _mm_deg_moving_xyz(translation: Numbers, rotation: Numbers) -> Array:
    rotation_matrix = rotation_from_moving_xyz(np.radians(rotation))
    return transform_from_rotation(rotation_matrix, np.asarray(translation) * MM)


def _m_deg_fixed_xyz(translation: Numbers, rotation: Numbers) -> Array:
    return transform_from_rotation(rotation_from_fixed_xyz(np.radians(rotation)), translation)


def _m_quaternion_xyzw(translation: Numbers, rotation: Numbers) -> Array:
    return transform_from_rotation(rotation_from_quaternion(rotation), translation)


def _m_matrix(translation: Numbers, rotation: Numbers) -> Array:
    nearest, _, turned = np.linalg.svd(np.reshape(rotation, (3, 3)))
    return transform_from_rotation(nearest @ turned, translation)


def _m_deg_fixed_xyz_frd(translation: Numbers, rotation: Numbers) -> Array:
    rotation_matrix = rotation_from_fixed_xyz(np.radians(rotation) * FLU_FROM_FRD)
    return transform_from_rotation(rotation_matrix, np.asarray(translation) * FLU_FROM_FRD)


def _m_deg_laser_in_camera(translation: Numbers, rotation: Numbers) -> Array:
    rotation_matrix = rotation_from_moving_xyz(np.radians(rotation)).T @ OPTICAL_FROM_FLU
    return transform_from_rotation(rotation_matrix, -np.asarray(translation))


def _m_deg_turned_laser_in_camera(translation: Numbers, rotation: Numbers) -> Array:
    quarter = transform_from_rotation(rotation_about_axis(0, np.pi / 2), np.zeros(3))
    return _m_deg_laser_in_camera(translation, rotation) @ quarter


CONVENTIONS: Mapping[str, Callable[[Numbers, Numbers], Array]] = {
    "mm_deg_moving_xyz": _mm_deg_moving_xyz,  # t in mm, R = Rx(a) Ry(b) Rz(c), angles in degrees
    "m_deg_fixed_xyz": _m_deg_fixed_xyz,  # t in m, R = Rz(c) Ry(b) Rx(a), angles in degrees
    "m_quaternion_xyzw": _m_quaternion_xyzw,  # t in m, the quaternion of any length
    "m_matrix": _m_matrix,  # t in m, R row by row: the rotation nearest to these nine numbers
    "m_deg_fixed_xyz_frd": _m_deg_fixed_xyz_frd,  # as m_deg_fixed_xyz, both frames forward right down; here both FLU
    # A laser (FLU) in an optical frame: p = Phi^T q - t, Phi = Rx(a) Ry(b) Rz(c), q the point on the optical axes
    "m_deg_laser_in_camera": _m_deg_laser_in_camera,
    "m_deg_turned_laser_in_camera": _m_deg_turned_laser_in_camera,  # the laser turned by 90 degrees about its x before
}


def transform_from_published(row: PublishedTransform) -> Array:
    """Convert a published row to a transform.

    Args:
        row: the row; its `convention` is a key of CONVENTIONS, which says what its numbers mean.

    Returns:
        parent_T_child (4, 4) in m.

    Raises:
        ValueError: the convention is unknown.
    """
    if row.convention not in CONVENTIONS:
        raise ValueError(f"{row.child}: expected a convention of {sorted(CONVENTIONS)}, got '{row.convention}'")
    return CONVENTIONS[row.convention](row.translation, row.rotation)


def edges_from_published(rows: Iterable[PublishedTransform], tree: Mapping[str, Sequence[str]]) -> list[Edge]:
    """Compute the transforms of a tree from published rows.

    Args:
        rows: the rows, which may run from parent to child or the other way.
        tree: children by parent. An edge need not be a row: the rows are followed from its parent to its child.

    Returns:
        The edges in the order of the tree.

    Raises:
        ValueError: a convention is unknown, or no rows lead from a parent to its child.
    """
    neighbours: dict[str, dict[str, Array]] = {}
    for row in rows:
        transform = transform_from_published(row)
        neighbours.setdefault(row.parent, {})[row.child] = transform
        neighbours.setdefault(row.child, {})[row.parent] = inverse_from_transform(transform)
    return [
        Edge(parent, child, _along_rows(parent, child, neighbours)) for parent, kids in tree.items() for child in kids
    ]


def _along_rows(parent: str, child: str, neighbours: Mapping[str, Mapping[str, Array]]) -> Array:
    reached: dict[str, Array] = {parent: np.eye(4)}
    waiting = [parent]
    while waiting:
        frame = waiting.pop()
        for other, transform in neighbours.get(frame, {}).items():
            if other not in reached:
                reached[other] = reached[frame] @ transform
                waiting.append(other)
    if child not in reached:
        raise ValueError(f"no published rows lead from '{parent}' to '{child}'")
    return reached[child]
