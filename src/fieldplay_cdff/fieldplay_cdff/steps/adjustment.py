"""Steps that find the poses of a stereo camera from matches between all pictures it took."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from fieldplay.geometry.transforms import inverse_from_transform, transform_from_rotation
from fieldplay_cdff.steps.bundle_adjustment import (
    Bundle,
    Mask,
    StereoRig,
    adjusted,
    are_numbers,
    first_poses,
    tracks_of,
)
from fieldplay_cdff.steps.poses import frames_of
from fieldplay_cdff.steps.rigid import leaves_a_turn_free, moved
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import Array, Cloud, Matches2D

NUMBERS = ("FocalLengthX", "FocalLengthY", "PrincipalPointX", "PrincipalPointY")
SIDES = ("Left", "Right")


class Begun(NamedTuple):
    """What an adjustment begins with: poses k_T_first (k, 4, 4), points (n, 3), and how far off they are in pixels."""

    poses: Array
    points: Array
    error: float


def longest(pixels: Array, most: int) -> Array:
    """The tracks (n, k, 4) that are seen from the most places, so many at most; 0: all."""
    if not most or len(pixels) <= most:
        return pixels
    often = np.isfinite(pixels[:, :, 0]).sum(axis=1)
    least = np.sort(often)[-most]
    surely, rest = np.flatnonzero(often > least), np.flatnonzero(often == least)
    some = rest[np.linspace(0, len(rest) - 1, most - len(surely)).astype(np.intp)]
    chosen: Array = pixels[np.sort(np.concatenate([surely, some]))]
    return chosen


class StereoAdjustment(Step):
    """Poses first_T_k of a stereo camera at several places, from matches between pictures L1 R1 L2 R2 and so on.

    A cloud that is guessed is not needed: each pair of pictures tells where its points are.
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
        pictures = frames_of(len(correspondenceMapsSequence))
        if pictures % 2 or pictures < 4:
            raise ValueError(
                "correspondenceMapsSequence: expected the matches between both pictures of 2, 3, 4 .. places (6, 15, 28"
                f" .. maps), got {len(correspondenceMapsSequence)}"
            )
        tracks = tracks_of(correspondenceMapsSequence, pictures)
        pixels = tracks.reshape(len(tracks), pictures // 2, 4)
        pixels = np.where(are_numbers(self.rig.points(pixels))[:, :, None], pixels, np.nan)
        pixels = longest(pixels[np.isfinite(pixels[:, :, 0]).sum(axis=1) >= 2], self.general["MaximumTracks"])
        guess = guessedPosesSequence
        if guess is not None and guess.shape != (pictures // 2, 4, 4):
            raise ValueError(f"guessedPosesSequence: expected {pictures // 2} poses, got {guess.shape}")
        bundle = self.bundle(pixels, guess)
        if bundle is None or not self.is_good(bundle):
            return {"success": False}
        limit = self.general["MaximumReprojectionError"]
        return {
            "posesSequence": inverse_from_transform(bundle.poses),
            "success": True,
            "error": bundle.rms(self.rig.numbers, limit),
            "quality": bundle.share(limit),
        }

    def is_good(self, bundle: Bundle) -> bool:
        """Whether poses are to be believed: enough is seen where it should be."""
        share = bundle.share(self.general["MaximumReprojectionError"])
        return share >= float(self.general["MinimumInlierShare"])

    def bundle(self, pixels: Array, guess: Array | None) -> Bundle | None:
        """Poses and points from what is seen (n, k, 4) and poses first_T_k that are guessed; None if it tells none."""
        raise NotImplementedError


@implements("BundleAdjustment")
class CeresAdjustment(StereoAdjustment):
    """Poses and points at which they are seen where they should be; what is far off weighs less, then nothing.

    It begins with the poses that are guessed, or with those that the points tell, whichever are nearer to it.
    """

    def is_good(self, bundle: Bundle) -> bool:
        limit, numbers = self.general["MaximumReprojectionError"], self.rig.numbers
        cost = bundle.rms(numbers, limit) ** 2 * numbers / 2
        return super().is_good(bundle) and cost / 5 < float(self.general["SquaredPixelErrorTolerance"])

    def bundle(self, pixels: Array, guess: Array | None) -> Bundle | None:
        seen = self.rig.points(pixels)
        own, fits = first_poses(seen, seed=self.seed)
        guesses = [own] if guess is None else [inverse_from_transform(guess) @ guess[0], own]
        begun = [self._begun(pixels, seen, fits, poses) for poses in guesses if np.isfinite(poses).all()]
        if not begun or len(pixels) < self.general["MinimumTracks"]:
            return None
        poses, points = min(begun, key=lambda each: each.error)[:2]
        huber, limit = self.general["HuberPixels"], self.general["MaximumReprojectionError"]
        bundle = adjusted(self.rig, pixels, poses, points, huber_px=huber)
        is_inner = bundle.errors <= limit
        is_inner &= is_inner.sum(axis=1, keepdims=True) >= 2
        if is_inner.all() or is_inner.any(axis=1).sum() < self.general["MinimumTracks"]:
            return bundle
        inner = adjusted(
            self.rig, np.where(is_inner[:, :, None], pixels, np.nan), bundle.poses, bundle.points, huber_px=huber
        )
        expected, _ = self.rig.pixels(np.swapaxes(moved(inner.poses, inner.points[None]), 0, 1))
        errors = np.linalg.norm((expected - pixels) * self.rig.weights, axis=2)
        return Bundle(poses=inner.poses, points=inner.points, errors=errors)

    def _begun(self, pixels: Array, seen: Array, fits: Mask, poses: Array) -> Begun:
        """Points where the nearest place saw them, and how far off they then are for the other places."""
        nearest = np.argmin(np.where(fits, seen[:, :, 2], np.inf), axis=1)
        backs = inverse_from_transform(poses)[nearest]
        points = moved(backs, seen[np.arange(len(seen)), nearest][:, None])[:, 0]
        expected, _ = self.rig.pixels(np.swapaxes(moved(poses, points[None]), 0, 1))
        errors = np.linalg.norm(expected - pixels, axis=2)
        errors[np.arange(len(seen)), nearest] = np.nan
        known = errors[np.isfinite(errors)]
        return Begun(poses, points, float(np.median(known)) if len(known) else np.inf)


@implements("BundleAdjustment")
class SvdDecomposition(StereoAdjustment):
    """Poses from what is seen from everywhere: the points of all places are one shape, turned and shifted (rank 3)."""

    def bundle(self, pixels: Array, guess: Array | None) -> Bundle | None:
        seen = self.rig.points(pixels)
        _, fits = first_poses(seen, seed=self.seed)
        whole = fits.all(axis=1)
        points = np.swapaxes(seen[whole], 0, 1)
        if len(points[0]) < self.general["MinimumTracks"] or leaves_a_turn_free(points[0]):
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
        found = moved(inverse_from_transform(poses), points).mean(axis=0)
        expected, _ = self.rig.pixels(np.swapaxes(moved(poses, found[None]), 0, 1))
        errors = np.linalg.norm((expected - pixels[whole]) * self.rig.weights, axis=2)
        return Bundle(poses=poses, points=found, errors=errors)
