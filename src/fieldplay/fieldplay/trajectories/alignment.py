"""Alignment of trajectories: by the first pose, or by the best fit of all positions."""

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
    """The transform between the frames of reference of estimate and truth.

    Args:
        transform: truth_T_estimate (4, 4).
        scale: applied to the estimate's positions before the transform.
    """

    transform: Array
    scale: float = 1.0

    def of_poses(self, poses: Array) -> Array:
        """Bring poses of the estimate into the truth's frame.

        Args:
            poses: poses (n, 4, 4) of the estimate.

        Returns:
            Poses (n, 4, 4) in the truth's frame.
        """
        scaled = poses.copy()
        scaled[..., :3, 3] *= self.scale
        return np.asarray(self.transform @ scaled, np.float64)

    def of_pairs(self, pairs: PosePairs) -> PosePairs:
        """Bring the estimate of pairs into the truth's frame.

        Args:
            pairs: pairs whose estimate is in its own frame.

        Returns:
            The aligned pairs.
        """
        return replace(pairs, estimate=self.of_poses(pairs.estimate))


def alignment_of_pairs(kind: str, pairs: PosePairs) -> Alignment:
    """Align an estimate with the truth.

    Args:
        kind: `first`: by the first pose; `se3`: least squares of the distances; `sim3`: with a scale too (Umeyama);
            `yaw`: with a rotation about z alone; `none`: unchanged.
        pairs: pairs (n,), n > 0; for `first` with orientations.

    Returns:
        The alignment.

    Raises:
        ValueError: the kind is unknown.
        FusionError: there are no pairs, or the positions are collinear, which leaves `se3` and `sim3` undetermined.
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
    """Align points by least squares, after S. Umeyama, IEEE PAMI 13 (1991).

    Args:
        points: points (n, 3).
        onto: points (n, 3) to which they correspond.
        with_scale: also estimate a scale.

    Returns:
        onto_T_points and the scale.

    Raises:
        FusionError: the points are collinear.

    Example:
        >>> points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]])
        >>> round(umeyama(points, 2 * points + 1, with_scale=True).scale, 6)
        2.0
    """
    means = points.mean(axis=0), onto.mean(axis=0)
    one, other = points - means[0], onto - means[1]
    left, spread, right = np.linalg.svd(other.T @ one / len(points))
    if not spread[1] > LEAST_SPREAD * max(spread[0], LEAST_SPREAD):
        raise FusionError(
            "the positions are collinear, so the rotation about that line is undetermined: align by first or yaw"
        )
    # Where the best orthogonal matrix is a reflection, the axis of the smallest spread is flipped.
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
