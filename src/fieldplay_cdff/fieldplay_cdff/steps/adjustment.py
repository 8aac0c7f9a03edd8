"""Steps that estimate the poses of a stereo camera from matches between all of its images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from fieldplay.geometry.transforms import (
    inverse_from_transform,
    transform_from_rotation,
    transform_from_vectors,
    transform_points,
)
from fieldplay_cdff.steps.poses import frames_of
from fieldplay_cdff.steps.rigid import leaves_rotation_free, robust_fit
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import Array, Cloud, Matches2D
from fieldplay_cdff.stereo.pose_graph import Dampings, minimise_residuals

NEAREST_M = 1e-3
SOLVED = 1e-12  # relative decrease of the sum of squares at convergence
DAMPINGS = Dampings(1e-4, 1e-9, 1e6)
NEAR_FRACTION = 0.03  # of the depth: tolerance of points of a pair in the search for a first transform
TRIES = 200
Mask = NDArray[np.bool_]
NUMBERS = ("FocalLengthX", "FocalLengthY", "PrincipalPointX", "PrincipalPointY")
SIDES = ("Left", "Right")


# Poses of a stereo camera and points that it sees, adjusted to each other.
#
# Pixels are u v of the left image, u v of the right one (4,). The observation of each point from each pose is a row
# of a table (n, k, 4), with NaN where a point is not observed.


@dataclass(frozen=True, kw_only=True)
class StereoRig:
    """Focal lengths and principal points fx fy cx cy (4,) of both cameras; the baseline (m)."""

    left: Array
    right: Array
    baseline_m: float

    @property
    def is_rectified(self) -> bool:
        """Whether both cameras see a point in the same row."""
        return bool((self.left[[1, 3]] == self.right[[1, 3]]).all())

    @property
    def weights(self) -> Array:
        """Return weights of the residuals (4,): the row of rectified images counts once, though observed twice."""
        row = np.sqrt(0.5) if self.is_rectified else 1.0
        return np.array([1.0, row, 1.0, row])

    @property
    def numbers(self) -> int:
        """Return how many independent numbers an observation of a point has."""
        return 3 if self.is_rectified else 4

    def pixels(self, points: Array) -> tuple[Array, Array]:
        """Project points (..., 3) in the left camera to pixels (..., 4); with the derivatives (..., 4, 3)."""
        x, y, z = np.moveaxis(points, -1, 0)
        z = np.maximum(z, NEAREST_M)
        pixels, changes = np.empty((*z.shape, 4)), np.zeros((*z.shape, 4, 3))
        for index, (camera, shift) in enumerate(((self.left, 0.0), (self.right, self.baseline_m))):
            fx, fy, cx, cy = camera
            row = 2 * index
            pixels[..., row], pixels[..., row + 1] = fx * (x - shift) / z + cx, fy * y / z + cy
            changes[..., row, 0], changes[..., row + 1, 1] = fx / z, fy / z
            changes[..., row, 2], changes[..., row + 1, 2] = -fx * (x - shift) / z**2, -fy * y / z**2
        return pixels, changes

    def points(self, pixels: Array) -> Array:
        """Triangulate pixels (..., 4) to points (..., 3) in the left camera; NaN where rays do not meet."""
        rays = (pixels - np.concatenate([self.left[2:], self.right[2:]])) / np.concatenate(
            [self.left[:2], self.right[:2]]
        )
        disparities = rays[..., 0] - rays[..., 2]
        depth = self.baseline_m / np.where(disparities > 0, disparities, np.nan)
        return np.stack([rays[..., 0] * depth, (rays[..., 1] + rays[..., 3]) / 2 * depth, depth], axis=-1)


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """Poses k_T_first (k, 4, 4), points (n, 3) in the first camera, and the reprojection errors (n, k) in pixels."""

    poses: Array
    points: Array
    errors: Array

    def rms(self, numbers: int, limit: float = np.inf) -> float:
        """The root mean square of the residuals, of so many numbers of each, where it is below a limit."""
        inner = self.errors[self.errors <= limit]
        return float(np.sqrt(np.mean(inner**2) / numbers)) if len(inner) else np.inf

    def inlier_fraction(self, limit: float) -> float:
        """The fraction of all observations with an error of at most a limit."""
        seen = np.isfinite(self.errors)
        return float(np.mean(self.errors[seen] <= limit)) if seen.any() else 0.0


def are_numbers(values: Array) -> Mask:
    """Which rows (..., k) are numbers throughout."""
    return np.asarray(np.isfinite(values).all(axis=-1))


def tracks_of(maps: Sequence[Matches2D], images: int) -> Array:
    """Return pixels (n, images, 2) of the same points in all images, NaN where not observed, from all pairs' matches.

    Points with two observations in one image are left out.
    """
    pairs = list(combinations(range(images), 2))
    maps = [each.subset(are_numbers(each.source) & are_numbers(each.sink)) for each in maps]
    counts = [len(each) for each in maps]
    pixels = np.concatenate(
        [np.concatenate([each.source for each in maps]), np.concatenate([each.sink for each in maps])]
    )
    pictured = np.concatenate([np.repeat([pair[end] for pair in pairs], counts) for end in (0, 1)])
    seen, indices = np.unique(np.column_stack([pictured, pixels]), axis=0, return_inverse=True)
    nodes = indices.reshape(2, -1)
    links = sparse.coo_matrix((np.ones(nodes.shape[1]), tuple(nodes)), shape=(len(seen), len(seen)))
    count, track = connected_components(links, directed=False)
    image = seen[:, 0].astype(int)
    times_seen = np.bincount(track * images + image, minlength=count * images).reshape(count, images)
    table = np.full((count, images, 2), np.nan)
    table[track, image] = seen[:, 1:]
    return table[(times_seen <= 1).all(axis=1)]


def first_poses(points: Array, *, seed: int) -> tuple[Array, Mask]:
    """Return poses k_T_first (k, 4, 4) from the points in each (n, k, 3), and their inliers; NaN for too few points.

    Each pose is chained to the previous one with which it has most points in common.
    """
    is_seen = are_numbers(points)
    poses, fits = np.full((points.shape[1], 4, 4), np.nan), is_seen.copy()
    poses[0] = np.eye(4)
    random = np.random.default_rng(seed)
    for later in range(1, points.shape[1]):
        shared = (is_seen[:, :later] & is_seen[:, [later]]).sum(axis=0) * np.isfinite(poses[:later, 0, 0])
        earlier = int(np.argmax(shared))
        both = is_seen[:, earlier] & is_seen[:, later]
        source, sink = points[both, earlier], points[both, later]
        if leaves_rotation_free(source):
            continue
        distance = NEAR_FRACTION * float(np.median(sink[:, 2]))
        transform, is_near = robust_fit(source, sink, distance=distance, rounds=TRIES, random=random)
        poses[later] = transform @ poses[earlier]
        fits[both, later] &= is_near
    return poses, fits


def adjust_bundle(
    rig: StereoRig, pixels: Array, poses: Array, points: Array, *, huber_px: float, most_steps: int = 50
) -> Bundle:
    """Return poses and points that fit pixels (n, k, 4) best; errors beyond `huber_px` have less weight.

    Levenberg-Marquardt; points are eliminated first (Schur complement). The first pose stays.
    """
    start = _System(rig, pixels, poses, points, huber_px)
    system = minimise_residuals(start, steps=most_steps, dampings=DAMPINGS, solved=SOLVED)
    errors = np.where(system.is_seen, system.errors, np.nan)
    return Bundle(poses=system.poses, points=system.points, errors=errors)


class _System:
    """The residuals at poses and points, and the normal equations there."""

    def __init__(self, rig: StereoRig, pixels: Array, poses: Array, points: Array, huber_px: float) -> None:
        self.rig, self.pixels, self.poses, self.points, self.huber_px = rig, pixels, poses, points, huber_px
        self.is_seen = are_numbers(pixels)
        self.at = np.swapaxes(transform_points(poses, points[None]), 0, 1)
        expected, self.changes = rig.pixels(self.at)
        self.residuals = np.where(self.is_seen[:, :, None], (expected - np.nan_to_num(pixels)) * rig.weights, 0.0)
        self.errors = np.linalg.norm(self.residuals, axis=2)
        beyond = np.maximum(self.errors - huber_px, 0)
        self.cost = float(np.sum(self.errors**2 - beyond**2))

    def advance(self, damping: float) -> "_System":
        """Return the system one step further."""
        root = np.sqrt(np.minimum(1.0, self.huber_px / np.maximum(self.errors, 1e-12)))
        weights = (root * self.is_seen)[:, :, None, None] * self.rig.weights[:, None]
        of_positions = self.changes * weights
        of_points = of_positions @ self.poses[:, :3, :3]
        crossed = np.cross(self.at[:, :, None], of_positions)  # turns before the camera: row . (w x p) = (p x row) . w
        of_poses = np.concatenate([crossed, of_positions], axis=3)[:, 1:]
        left = self.residuals * root[:, :, None]
        count, moving = len(self.points), len(self.poses) - 1

        by_pose = np.moveaxis(of_poses, 1, 0).reshape(moving, -1, 6)
        blocks = np.swapaxes(by_pose, 1, 2) @ by_pose
        pulls = (np.swapaxes(by_pose, 1, 2) @ np.moveaxis(left[:, 1:], 1, 0).reshape(moving, -1, 1)).ravel()
        by_point = of_points.reshape(count, -1, 3)
        own = np.swapaxes(by_point, 1, 2) @ by_point
        own_pulls = (np.swapaxes(by_point, 1, 2) @ left.reshape(count, -1, 1))[:, :, 0]
        mixed = (np.swapaxes(of_poses, 2, 3) @ of_points[:, 1:]).reshape(count, -1, 3)

        scaled = own * (1 + damping * np.eye(3)) + 1e-12 * np.eye(3)
        inverses = np.linalg.inv(scaled)
        through = mixed @ inverses
        whole = np.zeros((6 * moving, 6 * moving))
        for index, block in enumerate(blocks):
            whole[6 * index : 6 * index + 6, 6 * index : 6 * index + 6] = block * (1 + damping * np.eye(6))
        whole -= np.einsum("nai,nbi->ab", through, mixed, optimize=True)
        steps = -np.linalg.solve(
            whole + 1e-12 * np.eye(len(whole)), pulls - np.einsum("nai,ni->a", through, own_pulls, optimize=True)
        )
        own_steps = -(inverses @ (own_pulls + np.einsum("nai,a->ni", mixed, steps, optimize=True))[:, :, None])[:, :, 0]
        parts = steps.reshape(-1, 6)
        poses = self.poses.copy()
        poses[1:] = transform_from_vectors(parts[:, :3], parts[:, 3:]) @ self.poses[1:]
        return _System(self.rig, self.pixels, poses, self.points + own_steps, self.huber_px)


class InitialPoints(NamedTuple):
    """Initial values of an adjustment: poses k_T_first (k, 4, 4), points (n, 3), and their errors in pixels."""

    poses: Array
    points: Array
    error: float


def longest(pixels: Array, maximum: int) -> Array:
    """The tracks (n, k, 4) that are seen from the most poses, so many at most; 0: all."""
    if not maximum or len(pixels) <= maximum:
        return pixels
    often = np.isfinite(pixels[:, :, 0]).sum(axis=1)
    minimum = np.sort(often)[-maximum]
    surely, rest = np.flatnonzero(often > minimum), np.flatnonzero(often == minimum)
    some = rest[np.linspace(0, len(rest) - 1, maximum - len(surely)).astype(np.intp)]
    chosen: Array = pixels[np.sort(np.concatenate([surely, some]))]
    return chosen


class StereoAdjustment(Step):
    """Poses first_T_k of a stereo camera at several positions, from matches between images L1 R1 L2 R2 and so on.

    A guess of the point cloud is not needed: each pair of images is triangulated.
    """

    optional = ("guessedPosesSequence", "guessedPointCloud")
    camera_groups: ClassVar[Mapping[str, str]] = {
        "LeftCameraMatrix": "left", "RightCameraMatrix": "right", "GeneralParameters": "right",
    }  # fmt: skip

    def configure(self) -> None:
        left, right = (np.array([self.settings[f"{side}CameraMatrix"][name] for name in NUMBERS]) for side in SIDES)
        self.rig = StereoRig(left=left, right=right, baseline_m=self.general["Baseline"])

    def process(
        self,
        *,
        correspondenceMapsSequence: Sequence[Matches2D],
        guessedPosesSequence: Array | None = None,
        guessedPointCloud: Cloud | None = None,
    ) -> Ports:
        images = frames_of(len(correspondenceMapsSequence))
        if images % 2 or images < 4:
            raise ValueError(
                "correspondenceMapsSequence: expected the matches between both images of 2, 3, 4 .. places (6, 15, 28"
                f" .. maps), got {len(correspondenceMapsSequence)}"
            )
        tracks = tracks_of(correspondenceMapsSequence, images)
        pixels = tracks.reshape(len(tracks), images // 2, 4)
        pixels = np.where(are_numbers(self.rig.points(pixels))[:, :, None], pixels, np.nan)
        pixels = longest(pixels[np.isfinite(pixels[:, :, 0]).sum(axis=1) >= 2], self.general["MaximumTracks"])
        guess = guessedPosesSequence
        if guess is not None and guess.shape != (images // 2, 4, 4):
            raise ValueError(f"guessedPosesSequence: expected {images // 2} poses, got {guess.shape}")
        bundle = self.bundle(pixels, guess)
        if bundle is None or not self.is_good(bundle):
            return {"success": False}
        limit = self.general["MaximumReprojectionError"]
        return {
            "posesSequence": inverse_from_transform(bundle.poses),
            "success": True,
            "error": bundle.rms(self.rig.numbers, limit),
            "quality": bundle.inlier_fraction(limit),
        }

    def is_good(self, bundle: Bundle) -> bool:
        """Whether poses are plausible: enough points with a small reprojection error."""
        fraction = bundle.inlier_fraction(self.general["MaximumReprojectionError"])
        return fraction >= float(self.general["MinimumInlierShare"])

    def bundle(self, pixels: Array, guess: Array | None) -> Bundle | None:
        """Return poses and points from observations (n, k, 4) and guessed poses first_T_k; None if these are few."""
        raise NotImplementedError


@implements("BundleAdjustment")
class CeresAdjustment(StereoAdjustment):
    """Poses and points of least reprojection error; outliers are weighted down, then removed.

    It starts with the guessed poses, or with those from the points, whichever have the smaller error.
    """

    def is_good(self, bundle: Bundle) -> bool:
        limit, numbers = self.general["MaximumReprojectionError"], self.rig.numbers
        cost = bundle.rms(numbers, limit) ** 2 * numbers / 2
        return super().is_good(bundle) and cost / 5 < float(self.general["SquaredPixelErrorTolerance"])

    def bundle(self, pixels: Array, guess: Array | None) -> Bundle | None:
        seen = self.rig.points(pixels)
        own, fits = first_poses(seen, seed=self.seed)
        guesses = [own] if guess is None else [inverse_from_transform(guess) @ guess[0], own]
        started = [self._initial_points(pixels, seen, fits, poses) for poses in guesses if np.isfinite(poses).all()]
        if not started or len(pixels) < self.general["MinimumTracks"]:
            return None
        poses, points = min(started, key=lambda each: each.error)[:2]
        huber, limit = self.general["HuberPixels"], self.general["MaximumReprojectionError"]
        bundle = adjust_bundle(self.rig, pixels, poses, points, huber_px=huber)
        is_inner = bundle.errors <= limit
        is_inner &= is_inner.sum(axis=1, keepdims=True) >= 2
        if is_inner.all() or is_inner.any(axis=1).sum() < self.general["MinimumTracks"]:
            return bundle
        inner = adjust_bundle(
            self.rig, np.where(is_inner[:, :, None], pixels, np.nan), bundle.poses, bundle.points, huber_px=huber
        )
        expected, _ = self.rig.pixels(np.swapaxes(transform_points(inner.poses, inner.points[None]), 0, 1))
        errors = np.linalg.norm((expected - pixels) * self.rig.weights, axis=2)
        return Bundle(poses=inner.poses, points=inner.points, errors=errors)

    def _initial_points(self, pixels: Array, seen: Array, fits: Mask, poses: Array) -> InitialPoints:
        """Return points as the nearest pose saw them, and their errors for the other poses."""
        nearest = np.argmin(np.where(fits, seen[:, :, 2], np.inf), axis=1)
        backs = inverse_from_transform(poses)[nearest]
        points = transform_points(backs, seen[np.arange(len(seen)), nearest][:, None])[:, 0]
        expected, _ = self.rig.pixels(np.swapaxes(transform_points(poses, points[None]), 0, 1))
        errors = np.linalg.norm(expected - pixels, axis=2)
        errors[np.arange(len(seen)), nearest] = np.nan
        known = errors[np.isfinite(errors)]
        return InitialPoints(poses, points, float(np.median(known)) if len(known) else np.inf)


@implements("BundleAdjustment")
class SvdDecomposition(StereoAdjustment):
    """Poses from points that all of them see: the points of all poses are one shape, rotated and shifted (rank 3)."""

    def bundle(self, pixels: Array, guess: Array | None) -> Bundle | None:
        seen = self.rig.points(pixels)
        _, fits = first_poses(seen, seed=self.seed)
        whole = fits.all(axis=1)
        points = np.swapaxes(seen[whole], 0, 1)
        if len(points[0]) < self.general["MinimumTracks"] or leaves_rotation_free(points[0]):
            return None
        centers = points.mean(axis=1)
        rows = np.swapaxes(points - centers[:, None], 1, 2).reshape(-1, points.shape[1])
        left, lengths, _ = np.linalg.svd(rows, full_matrices=False)
        shapes = (left[:, :3] * lengths[:3]).reshape(-1, 3, 3)
        one, _, other = np.linalg.svd(shapes @ np.linalg.pinv(shapes[0]))
        mirror = np.ones((len(one), 3))
        mirror[:, 2] = np.sign(np.linalg.det(one @ other))
        turns = one * mirror[:, None] @ other
        poses = transform_from_rotation(turns, centers - turns @ centers[0])
        centre = transform_points(inverse_from_transform(poses), points).mean(axis=0)
        expected, _ = self.rig.pixels(np.swapaxes(transform_points(poses, centre[None]), 0, 1))
        errors = np.linalg.norm((expected - pixels[whole]) * self.rig.weights, axis=2)
        return Bundle(poses=poses, points=centre, errors=errors)
