"""A rover of known wheels: which two circles of a picture are the wheels of its side, and where it is by them."""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import vector_from_rotation
from fieldplay_cdff.steps.intrinsics import grey_of
from fieldplay_cdff.steps.rigid import transform_of_step
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import Array, Frame, State
from fieldplay_cdff.steps.wheels import (
    FOREGROUND_ABOVE,
    UP,
    DepthPicture,
    circles_of,
    depth_image,
    pose_of_heading,
)

INNER = 0.8  # of a wheel's radius, within which depths are those of its side
LEAST_SHARE, LARGEST_SHARE = 0.4, 1.4  # of a wheel's radius that a circle on it may have: a rim, or a tyre seen askew
LEAST_DEPTHS = 30  # on a wheel
ALONG = 0.8  # the cosine of the largest angle between the heading of a rover and its first way
NS = 1e-9
LOST: Ports = {"success": False, "quality": 0.0}


class WheelSide(NamedTuple):
    """What a circle is if it is a wheel: its middle (3,) in m in the camera, and points (n, 3) of its side."""

    middle: Array
    points: Array


class WheelPair(NamedTuple):
    """Two wheels of one side of a rover: where it is (4, 4), its heading perhaps the wrong way round.

    `flatness` is the share of their points in one plane, `misfit` how far they are from what was expected: 0 is best.
    """

    pose: Array
    flatness: float
    misfit: float


@implements("WheelLocalisation")
class WheelPairs(Step):
    """Where a rover is by the two wheels of the side that it shows, of what moves in the picture.

    Their distance, size and common plane must be those of the model. It heads to where it moved at first; before it
    has moved, and where it is not found, `success` is false and nothing is measured.
    """

    keeps_state = True
    optional = ("predictedState",)

    def configure(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._begin: Array | None = None  # where it was seen first
        self._seen_ns: int | None = None
        self._is_headed = False

    def process(
        self, *, image: Frame, depth: Frame, primitives: Sequence[Array], predictedState: State | None = None
    ) -> Ports:
        moving = grey_of(image, "image") > FOREGROUND_ABOVE
        if depth.image.shape != moving.shape:
            raise ValueError(f"depth: expected depths {moving.shape} as the picture, got {depth.image.shape}")
        picture = depth_image(depth, baseline_m=depth.baseline_m)
        own, stamp_ns = self.settings["Search"], image.stamp_ns
        if self._seen_ns is not None and (stamp_ns - self._seen_ns) * NS > own["ForgetAfter"]:
            self.reset()
        expected = None
        if self._is_headed and predictedState is not None:
            expected = transform_of_step(predictedState.values[:3], predictedState.values[3:6])
        best = self._best(self._sides(picture, moving, circles_of(primitives)), expected)
        if best is None:
            return LOST
        self._seen_ns = stamp_ns
        pose = self._headed(best.pose, expected)
        if pose is None:
            return LOST
        values = np.concatenate([vector_from_rotation(pose[:3, :3]), pose[:3, 3], np.zeros(6)])
        state = State(values=values, covariance=np.zeros((12, 12)), stamp_ns=stamp_ns)
        return {"measurement": state, "success": True, "quality": best.flatness}

    def _sides(self, picture: DepthPicture, moving: NDArray[np.bool_], circles: Array) -> list[WheelSide]:
        """Those circles that are on what moves and may be wheels."""
        radius, found = self.settings["Model"]["WheelRadius"], []
        height, width = moving.shape
        for circle in circles:
            column, row = (round(float(value)) for value in circle[:2])
            if not (0 <= column < width and 0 <= row < height and moving[row, column]):
                continue
            middle = picture.point(circle[:2])
            if middle is None:
                continue
            pixels = picture.matrix[0, 0] * radius / middle[2]
            if LEAST_SHARE * pixels < circle[2] < LARGEST_SHARE * pixels:
                points = disc_points(picture, circle[:2], INNER * pixels, middle[2])
                points = points[np.abs(points[:, 2] - middle[2]) < radius]
                if len(points) >= LEAST_DEPTHS:
                    found.append(WheelSide(middle * np.median(points[:, 2]) / middle[2], points))
        return found

    def _best(self, sides: list[WheelSide], expected: Array | None) -> WheelPair | None:
        pairs = (self._pair(first, second, expected) for first, second in combinations(sides, 2))
        return min((pair for pair in pairs if pair is not None), key=lambda pair: pair.misfit, default=None)

    def _pair(self, first: WheelSide, second: WheelSide, expected: Array | None) -> WheelPair | None:
        """Two circles as wheels of the model; None where they cannot be."""
        model, own = self.settings["Model"], self.settings["Search"]
        along = first.middle - second.middle
        length = float(np.linalg.norm(along))
        off = abs(length / model["WheelBase"] - 1) / own["Tolerance"]
        if off > 1 or abs(along @ UP) > np.sin(np.radians(own["SteepestSlope"])) * length:
            return None
        points = np.concatenate([first.points, second.points])
        centre = points.mean(axis=0)
        out, flatness = _plane(points - centre, own["PlaneTolerance"])
        if flatness < own["MinimumFlatness"]:
            return None
        out = out if out @ centre < 0 else -out
        along = along - (along @ out) * out
        up = np.cross(along, out)
        up = up if up @ UP > 0 else -up
        place = (first.middle + second.middle) / 2 - out * model["Width"] / 2
        misfit = off**2 + (1 - flatness)
        if expected is not None:
            jump = float(np.linalg.norm(place - expected[:3, 3])) / own["MaximumJump"]
            if jump > 1:
                return None
            misfit += jump**2
        return WheelPair(pose_of_heading(along, up, place), flatness, misfit)

    def _headed(self, pose: Array, expected: Array | None) -> Array | None:
        """The pose with its x axis forwards; None where it is not known yet which way that is."""
        if expected is not None:
            forward = float(expected[:3, 0] @ pose[:3, 0])
        else:
            self._begin = pose[:3, 3] if self._begin is None else self._begin
            way = pose[:3, 3] - self._begin
            forward = float(way @ pose[:3, 0])
            if np.linalg.norm(way) < self.settings["Search"]["MinimumWay"]:
                return None
            if abs(forward) < ALONG * np.linalg.norm(way):  # wheels roll: one of the two sights was none
                self._begin = pose[:3, 3]
                return None
        self._is_headed = True
        return pose if forward > 0 else turned_round(pose)


def turned_round(pose: Array) -> Array:
    """A pose (4, 4) with x and y the other way."""
    return np.asarray(pose @ np.diag([-1.0, -1.0, 1.0, 1.0]), np.float64)


def disc_points(picture: DepthPicture, middle: Array, radius_px: float, depth_m: float) -> Array:
    """Points (n, 3) in m whose depths are known, of pixels within a radius of one."""
    height, width = picture.depths.shape
    low = np.maximum(np.floor(middle - radius_px), 0).astype(int)
    high = np.minimum(np.ceil(middle + radius_px) + 1, [width, height]).astype(int)
    rows, columns = np.mgrid[low[1] : high[1], low[0] : high[0]]
    depths = picture.depths[low[1] : high[1], low[0] : high[0]]
    near = np.hypot(columns - middle[0], rows - middle[1]) <= radius_px
    known = near & np.isfinite(depths) & (depths > 0)
    pixels = np.stack([columns[known], rows[known]], axis=1)
    rays = (pixels - picture.matrix[:2, 2]) / picture.matrix[[0, 1], [0, 1]]
    return np.asarray(np.column_stack([rays, np.ones(len(rays))]) * depths[known][:, None])


def _plane(points: Array, within_m: float) -> tuple[Array, float]:
    """The normal (3,) of the plane through points (n, 3) about their mean; the share of them that is near it."""
    kept = points
    for _ in range(3):
        middle = kept.mean(axis=0)
        normal = np.linalg.eigh((kept - middle).T @ (kept - middle))[1][:, 0]
        off = np.abs((points - middle) @ normal)
        kept = points[off < max(within_m, float(np.quantile(off, 0.5)))]
    return np.asarray(normal, np.float64), float((off < within_m).mean())
