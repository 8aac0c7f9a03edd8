"""One trajectory laid upon another: by the first pose, or as near to all positions as it can be."""

from dataclasses import dataclass, replace

import numpy as np

from fieldplay.geometry.transforms import (
    Array,
    inverse_from_transform,
    rotation_about_axis,
    transform_from_rotation,
)
from fieldplay.trajectories.association import PosePairs, relative_yaw
from fieldplay.trajectories.trajectory import FusionError

NONE, FIRST, YAW, SE3, SIM3 = "none", "first", "yaw", "se3", "sim3"
KINDS = (FIRST, SE3, SIM3, YAW, NONE)
LEAST_SPREAD = 1e-9  # of the second direction in which positions spread, beside the first
HALF_TURN = np.diag([1.0, -1.0, -1.0, 1.0])  # from z up to z down


@dataclass(frozen=True, kw_only=True, eq=False)
class Alignment:
    """truth_T_estimate (4, 4) between the two frames of reference, and what the estimate is scaled by before."""

    transform: Array
    scale: float = 1.0

    def of_poses(self, poses: Array) -> Array:
        """Poses (n, 4, 4) of the estimate in the truth's frame."""
        scaled = poses.copy()
        scaled[..., :3, 3] *= self.scale
        return np.asarray(self.transform @ scaled, np.float64)

    def of_pairs(self, pairs: PosePairs) -> PosePairs:
        """Pairs with the estimate in the truth's frame."""
        return replace(pairs, estimate=self.of_poses(pairs.estimate))


def alignment_of_pairs(kind: str, pairs: PosePairs) -> Alignment:
    """How the estimate is laid upon the truth, by pairs (n) whose rotations tell something, n > 0.

    `first` lays the first pose upon the first; `se3` and `sim3` make the squares of the distances least, the latter
    with a scale (Umeyama); `yaw` too, but turns about z alone; `none` leaves both as they are.
    """
    if kind not in KINDS:
        raise ValueError(f"alignment: expected {', '.join(KINDS)}, got '{kind}'")
    if not len(pairs):
        raise FusionError("no poses to align by")
    if kind == NONE:
        return Alignment(transform=np.eye(4))
    if kind == FIRST:
        return Alignment(transform=np.asarray(pairs.truth[0] @ inverse_from_transform(pairs.estimate[0]), np.float64))
    if kind == YAW:
        return Alignment(transform=_yaw(pairs))
    return umeyama(pairs.estimate[:, :3, 3], pairs.truth[:, :3, 3], with_scale=kind == SIM3)


def umeyama(points: Array, onto: Array, *, with_scale: bool = False) -> Alignment:
    """The transform that lays points (n, 3) the nearest to others (n, 3), after S. Umeyama, IEEE PAMI 13 (1991)."""
    means = points.mean(axis=0), onto.mean(axis=0)
    one, other = points - means[0], onto - means[1]
    left, spread, right = np.linalg.svd(other.T @ one / len(points))
    if not spread[1] > LEAST_SPREAD * max(spread[0], LEAST_SPREAD):
        raise FusionError("the positions lie on a line, about which any rotation fits: align by first or yaw")
    signs = np.array([1.0, 1.0, np.sign(np.linalg.det(left) * np.linalg.det(right))])
    rotation = (left * signs) @ right
    scale = float(spread @ signs / (one**2).sum(axis=1).mean()) if with_scale else 1.0
    return Alignment(transform=transform_from_rotation(rotation, means[1] - scale * rotation @ means[0]), scale=scale)


def _yaw(pairs: PosePairs) -> Array:
    """About z and along all axes; where z points up in one frame and down in the other, it is turned over first."""
    turned = np.asarray(pairs.truth[:, 2, :3] * pairs.estimate[:, 2, :3], np.float64).sum(axis=1)
    over = HALF_TURN if np.median(turned) < 0 else np.eye(4)
    moved = over @ pairs.estimate
    yaw = relative_yaw(moved[:, :2, 3], pairs.truth[:, :2, 3])
    rotation = rotation_about_axis(2, yaw)
    means = moved[:, :3, 3].mean(axis=0), pairs.truth[:, :3, 3].mean(axis=0)
    return np.asarray(transform_from_rotation(rotation, means[1] - rotation @ means[0]) @ over, np.float64)
