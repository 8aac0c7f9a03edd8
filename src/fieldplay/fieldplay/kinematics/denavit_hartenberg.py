"""Arms described by Denavit-Hartenberg parameters, in both conventions.

Modified (Craig, also Khalil and Kleinfinger): link i lies at Rx(alpha) Tx(a) Rz(theta) Tz(d) in link i-1, where alpha
and a belong to the axis before. Standard: Rz(theta) Tz(d) Tx(a) Rx(alpha). Papers mix the letters up: what matters is
which of the two lengths lies along x (here `a`) and which along z (here `d`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fieldplay.geometry.transforms import Array

Convention = Literal["modified", "standard"]
BLOCK = 4096  # poses that are worked on at a time, so that they stay in the processor's cache


@dataclass(frozen=True, kw_only=True)
class DhRow:
    """One revolute joint: theta = sign * angle + offset.

    Args:
        alpha: twist in rad.
        a: length along x in m.
        d: length along z in m.
        offset: in rad.
        sign: 1 or -1.
    """

    alpha: float = 0.0
    a: float = 0.0
    d: float = 0.0
    offset: float = 0.0
    sign: float = 1.0


def links_from_joints(rows: Sequence[DhRow], angles: ArrayLike, convention: Convention = "modified") -> Array:
    """Compute the poses of all links.

    Args:
        rows: a row for each joint, from the base on.
        angles: joint angles (..., joints) in rad.
        convention: `modified` (Craig) or `standard`.

    Returns:
        base_T_link (..., joints, 4, 4).

    Example:
        >>> rows = [DhRow(a=1.0), DhRow(a=1.0)]
        >>> links_from_joints(rows, [0.0, 0.0], "standard")[:, :3, 3].tolist()
        [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]
    """
    angles = np.asarray(angles, float)
    flat = angles.reshape(-1, len(rows))
    links = np.empty((len(flat), len(rows), 4, 4))
    for start in range(0, len(flat), BLOCK):
        frame = _Frames(len(flat[start : start + BLOCK]))
        for joint, row in enumerate(rows):
            frame.pass_joint(row, row.sign * flat[start : start + BLOCK, joint] + row.offset, convention)
            frame.write(links[start : start + BLOCK, joint])
    return links.reshape(*angles.shape, 4, 4)


def end_from_joints(rows: Sequence[DhRow], angles: ArrayLike, convention: Convention = "modified") -> Array:
    """Compute the pose of the last link alone.

    Args:
        rows: a row for each joint, from the base on.
        angles: joint angles (..., joints) in rad.
        convention: `modified` (Craig) or `standard`.

    Returns:
        base_T_end (..., 4, 4).
    """
    angles = np.asarray(angles, float)
    flat = angles.reshape(-1, len(rows))
    end_poses = np.empty((len(flat), 4, 4))
    for start in range(0, len(flat), BLOCK):
        frame = _Frames(len(flat[start : start + BLOCK]))
        for joint, row in enumerate(rows):
            frame.pass_joint(row, row.sign * flat[start : start + BLOCK, joint] + row.offset, convention)
        frame.write(end_poses[start : start + BLOCK])
    return end_poses.reshape(*angles.shape[:-1], 4, 4)


def steps_from_joints(rows: Sequence[DhRow], angles: ArrayLike, convention: Convention = "modified") -> Array:
    """Compute each link in the one before, as tf needs them.

    Args:
        rows: a row for each joint, from the base on.
        angles: joint angles (..., joints) in rad.
        convention: `modified` (Craig) or `standard`.

    Returns:
        previous_T_link (..., joints, 4, 4).
    """
    angles = np.asarray(angles, float)
    flat = angles.reshape(-1, len(rows))
    steps = np.empty((len(flat), len(rows), 4, 4))
    for joint, row in enumerate(rows):
        frame = _Frames(len(flat))
        frame.pass_joint(row, row.sign * flat[:, joint] + row.offset, convention)
        frame.write(steps[:, joint])
    return steps.reshape(*angles.shape, 4, 4)


class _Frames:
    """Frames that move along a chain together: their axes and origins, each (3, n)."""

    def __init__(self, count: int) -> None:
        self.x, self.y, self.z = (np.repeat(np.eye(3)[:, axis : axis + 1], count, axis=1) for axis in range(3))
        self.origin = np.zeros((3, count))

    def pass_joint(self, row: DhRow, theta: Array, convention: Convention) -> None:
        if convention == "modified":
            self._turn_about_x(row.alpha)
            self.origin += row.a * self.x
            self._turn_about_z(theta)
            self.origin += row.d * self.z
        else:
            self._turn_about_z(theta)
            self.origin += row.d * self.z + row.a * self.x
            self._turn_about_x(row.alpha)

    def _turn_about_x(self, angle: float) -> None:
        cos, sin = np.cos(angle), np.sin(angle)
        self.y, self.z = cos * self.y + sin * self.z, cos * self.z - sin * self.y

    def _turn_about_z(self, angle: Array) -> None:
        cos, sin = np.cos(angle), np.sin(angle)
        self.x, self.y = cos * self.x + sin * self.y, cos * self.y - sin * self.x

    def write(self, transforms: Array) -> None:
        """Into transforms (n, 4, 4)."""
        for column, values in enumerate((self.x, self.y, self.z, self.origin)):
            transforms[:, :3, column] = values.T
        transforms[:, 3] = (0.0, 0.0, 0.0, 1.0)
