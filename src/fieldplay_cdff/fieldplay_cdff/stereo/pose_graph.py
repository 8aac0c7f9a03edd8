"""Pose graph: poses that fit best to measurements between pairs of them.

An edge is first_T_second between two rows of poses, with the covariance (6, 6) of its error, shift before rotation,
in the frame of the second. The error of an edge is the transform from the measurement to that of the poses.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from fieldplay.geometry.transforms import Array, inverse_from_transform, transform_from_vectors, vector_from_rotation

Own = TypeVar("Own", bound="Costly")
SOLVED = 1e-10  # relative decrease of the sum of squares at convergence
SMALL = 1e-4  # rad; below it the series of a rotation is exact
Flags = NDArray[np.bool_]
Rows = NDArray[np.intp]


# Levenberg-Marquardt for any cost function.


class Costly(Protocol):
    """A state with a cost that a good step reduces."""

    cost: float

    def advance(self: Own, damping: float) -> Own:
        """Return the system one step further; the more damping, the shorter the step."""
        ...


class Dampings(NamedTuple):
    """The initial damping, its minimum and its maximum."""

    first: float
    least: float
    most: float


def minimise_residuals(system: Own, *, steps: int, dampings: Dampings, solved: float) -> Own:
    """The system after at most so many steps, fewer if the relative decrease of its cost is small."""
    damping = dampings.first
    for _ in range(steps):
        candidate = system.advance(damping)
        if candidate.cost < system.cost:
            is_done = system.cost - candidate.cost < solved * system.cost
            system, damping = candidate, max(damping / 10, dampings.least)
            if is_done:
                break
        elif damping >= dampings.most or system.cost == 0:
            break
        else:
            damping *= 10
    return system


DAMPINGS = Dampings(1e-6, 1e-12, 1e6)


@dataclass(frozen=True, eq=False, kw_only=True)
class GraphEdges:
    """Rows (m, 2) of poses, their measurements (m, 4, 4), covariances (m, 6, 6), and which edges are uncertain.

    An edge that may be wrong, such as a loop closure, has less weight the larger its error is.
    """

    nodes: Rows
    measured: Array
    covariance: Array
    is_doubted: Flags

    def __len__(self) -> int:
        return len(self.nodes)


def poses_of_graph(poses: Array, edges: GraphEdges, *, huber: float = np.inf, most_steps: int = 50) -> Array:
    """Poses (n, 4, 4) that fit edges best, from initial poses, by Levenberg-Marquardt.

    The first pose stays. Edges that may be wrong count with their distance, no longer its square, where they are off by
    more than `huber` deviations.
    """
    start = _Graph(poses, edges, huber)
    return minimise_residuals(start, steps=most_steps, dampings=DAMPINGS, solved=SOLVED).poses


def deviations_of_edges(poses: Array, edges: GraphEdges) -> Array:
    """By how many deviations (m,) poses differ from the measurements."""
    distances: Array = np.sqrt(_Graph(poses, edges, np.inf).squares)
    return distances


def covariance_of_pose(poses: Array, edges: GraphEdges, row: int) -> Array:
    """Return the covariance (6, 6) of a pose in its own frame; 0 of the first, which is the reference."""
    if row == 0:
        return np.zeros((6, 6))
    factors = splu(_Graph(poses, edges, np.inf).normal()[0])
    unit = np.zeros((6 * (len(poses) - 1), 6))
    own = slice(6 * (row - 1), 6 * row)
    unit[own] = np.eye(6)
    covariance = np.asarray(factors.solve(unit))[own]
    symmetric: Array = (covariance + covariance.T) / 2
    return symmetric


def changes_of_edges(measured: Array, difference: Array, error: Array, turns: Array) -> tuple[Array, Array]:
    """How the errors of edges change with shift and rotation of the first and of the second pose, each (m, 6, 6)."""
    first, second = np.zeros((2, len(turns), 6, 6))
    back = np.swapaxes(measured[:, :3, :3], 1, 2)
    crosses = np.cross(turns[:, None], np.eye(3)).swapaxes(1, 2)
    angle = np.linalg.norm(turns, axis=1)[:, None, None]
    small = angle < SMALL
    safe = np.where(small, 1.0, angle)
    factor = np.where(small, 1 / 12, 1 / safe**2 - (1 + np.cos(safe)) / (2 * safe * np.sin(safe)))
    right = np.eye(3) + crosses / 2 + factor * (crosses @ crosses)
    second[:, :3, :3], second[:, 3:, 3:] = error[:, :3, :3], right
    first[:, :3, :3] = -back
    first[:, :3, 3:] = back @ np.cross(difference[:, None, :3, 3], np.eye(3)).swapaxes(1, 2)
    first[:, 3:, 3:] = -right @ np.swapaxes(difference[:, :3, :3], 1, 2)
    return first, second


class _Graph:
    """The residuals of edges at poses, and the normal equations there."""

    def __init__(self, poses: Array, edges: GraphEdges, huber: float) -> None:
        self.poses, self.edges, self.huber = poses, edges, huber
        self.differences = inverse_from_transform(poses[edges.nodes[:, 0]]) @ poses[edges.nodes[:, 1]]
        self.error = inverse_from_transform(edges.measured) @ self.differences
        self.turns = vector_from_rotation(self.error[:, :3, :3])
        self.left = np.hstack([self.error[:, :3, 3], self.turns])
        self.information = np.linalg.inv(edges.covariance)
        self.squares = np.einsum("mi,mij,mj->m", self.left, self.information, self.left)
        far = np.sqrt(self.squares)
        is_far = edges.is_doubted & (far > huber)
        self.weights = (
            np.where(is_far, huber / np.maximum(far, 1e-300), 1.0) if np.isfinite(huber) else np.ones(len(far))
        )
        beyond = np.where(is_far, far - huber, 0.0) if np.isfinite(huber) else 0.0
        self.cost = float(np.sum(self.squares - beyond**2))

    def normal(self) -> tuple[Any, Array]:
        """The matrix and the right side of the normal equations of all poses but the first."""
        first, second = changes_of_edges(self.edges.measured, self.differences, self.error, self.turns)
        weighted = self.information * self.weights[:, None, None]
        count = len(self.poses)
        rows, columns, blocks = [], [], []
        pull = np.zeros((count, 6))
        for index, change in enumerate((first, second)):
            across = np.swapaxes(change, 1, 2) @ weighted
            np.add.at(pull, self.edges.nodes[:, index], (across @ self.left[:, :, None])[:, :, 0])
            for other, change_of_other in enumerate((first, second)):
                rows.append(self.edges.nodes[:, index])
                columns.append(self.edges.nodes[:, other])
                blocks.append(across @ change_of_other)
        row, column = (
            6 * np.concatenate(each)[:, None, None] + np.arange(6).reshape(shape)
            for each, shape in ((rows, (1, 6, 1)), (columns, (1, 1, 6)))
        )
        values = np.concatenate(blocks)
        indices = tuple(np.broadcast_to(each, values.shape).ravel() for each in (row, column))
        whole = sparse.coo_matrix((values.ravel(), indices), shape=(6 * count, 6 * count)).tocsc()
        return whole[6:, 6:], pull[1:].ravel()

    def advance(self, damping: float) -> "_Graph":
        """Return the graph one step further."""
        whole, pull = self.normal()
        steps = np.zeros((len(self.poses), 6))
        if len(self.poses) > 1:
            damped = whole + damping * sparse.diags(whole.diagonal())
            steps[1:] = -splu(damped.tocsc()).solve(pull).reshape(-1, 6)
        return _Graph(self.poses @ transform_from_vectors(steps[:, 3:], steps[:, :3]), self.edges, self.huber)
