"""Edge-based tracking of a body of known shape: its edges are searched in images near their predicted position."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import transform_from_vectors, transform_points, vector_from_rotation
from fieldplay_cdff.steps.cad_model import Body, EdgePoints, read_body
from fieldplay_cdff.steps.intrinsics import camera_of, grey_of
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import Array, Frame, State

NEAREST_M = 0.05  # before a camera
TUKEY, TO_DEVIATION = 4.685, 1.4826  # of residuals, and from their median
MIN_DEVIATION_PX = 0.3
MEASURED = 6


class View(NamedTuple):
    """An image with its edges and its derivatives to the right and downwards.

    `shift` (3,) is the translation from the left camera's frame to that of the image.
    """

    image: NDArray[np.uint8]
    edges: NDArray[np.uint8]
    right: NDArray[np.uint8]
    down: NDArray[np.uint8]
    matrix: Array
    shift: Array


class Residuals(NamedTuple):
    """Signed distances (n,) in pixels from where edges are expected; NaN where none was found; their rows (n, 6)."""

    distances: Array
    rows: Array


@dataclass(eq=False)
class Contour:
    """The points of a body's edges that were visible in a view, and the pose of the view."""

    points: EdgePoints
    pose: Array


def jacobian(matrix: Array, points: Array, shift: Array, normals: Array) -> Array:
    """How far pixels move along normals (n, 2) for a small rotation and shift (n, 6) of points (n, 3), left camera."""
    x, y, z = (points + shift).T
    fx, fy = matrix[0, 0], matrix[1, 1]
    of_point = np.stack(
        [normals[:, 0] * fx / z, normals[:, 1] * fy / z, -(normals[:, 0] * fx * x + normals[:, 1] * fy * y) / z**2],
        axis=1,
    )
    return np.hstack([np.cross(points, of_point), of_point])


@implements("ModelContourTracking")
class EdgeModelContourMatching(Step):
    """The pose of a body by its edges in one image or two; the state is that of the body in the left camera."""

    keeps_state = True
    files: ClassVar[Mapping[str, str]] = {"Model.File": "the shape of the body as a Wavefront OBJ"}
    optional = ("rightImage", "rightEdges", "rightGradientX", "rightGradientY")

    def configure(self) -> None:
        options = self.settings["Model"]
        self._body: Body | None = None
        if options["File"]:
            self._body = read_body(Path(options["File"]), scale=options["Scale"], may_be_open=options["MayBeOpen"])
        self.reset()

    def reset(self) -> None:
        self._contours: dict[int, Contour] = {}

    def process(
        self,
        *,
        leftImage: Frame,
        leftEdges: Frame,
        leftGradientX: Frame,
        leftGradientY: Frame,
        predictedState: State,
        rightImage: Frame | None = None,
        rightEdges: Frame | None = None,
        rightGradientX: Frame | None = None,
        rightGradientY: Frame | None = None,
    ) -> Ports:
        assert self._body is not None
        deviations = np.sqrt(np.diag(predictedState.covariance)[:MEASURED])
        if not deviations.max() <= self.settings["Acceptance"]["MaximumDeviation"]:
            return {"success": False, "quality": 0.0}
        views = [_view(leftImage, leftEdges, leftGradientX, leftGradientY, "leftImage")]
        if rightImage and rightEdges and rightGradientX and rightGradientY:
            views.append(_view(rightImage, rightEdges, rightGradientX, rightGradientY, "rightImage"))
        expected = transform_from_vectors(predictedState.values[:3], predictedState.values[3:MEASURED])
        pose, fraction = self._track(views, expected)
        if pose is None:
            return {"success": False, "quality": fraction}
        values = np.concatenate([vector_from_rotation(pose[:3, :3]), pose[:3, 3], np.zeros(MEASURED)])
        state = State(values=values, covariance=np.zeros((12, 12)), stamp_ns=leftImage.stamp_ns)
        return {"measurement": state, "success": True, "quality": fraction}

    def _track(self, views: Sequence[View], expected: Array) -> tuple[Array | None, float]:
        """Return the pose that fits the edges best, and the fraction of points that agree; None where it is lost."""
        options, accepted, pose = self.settings["Iterations"], self.settings["Acceptance"], expected
        for _ in range(options["Maximum"]):
            residuals = self._residuals(views, pose)
            is_there = np.isfinite(residuals.distances)
            fraction = float(is_there.mean()) if len(is_there) else 0.0
            if is_there.sum() < accepted["MinimumPoints"] or fraction < accepted["MinimumShareMeanwhile"]:
                return None, fraction
            step = _robust_step(residuals.rows[is_there], residuals.distances[is_there])
            pose = transform_from_vectors(step[:3], step[3:]) @ pose
            pose[:3, :3] = _nearest_rotation(pose[:3, :3])
            if _is_beyond(expected, pose, turn_deg=options["DivergedTurn"], shift_m=options["DivergedShift"]):
                return None, fraction
            if _is_within(step, pose, turn_deg=options["ConvergedTurn"], shift_m=options["ConvergedShift"]):
                break
        distances = self._residuals(views, pose).distances
        near = np.abs(distances) <= accepted["MaximumResidual"]
        quality = float(near.mean()) if len(near) else 0.0
        is_sure = near.sum() >= accepted["MinimumShare"] * np.isfinite(distances).sum()
        return pose if is_sure and quality >= accepted["MinimumShareMeanwhile"] else None, quality

    def _residuals(self, views: Sequence[View], pose: Array) -> Residuals:
        residuals = [self._residuals_of_view(number, view, pose) for number, view in enumerate(views)]
        return Residuals(
            np.concatenate([each.distances for each in residuals]), np.concatenate([each.rows for each in residuals])
        )

    def _residuals_of_view(self, number: int, view: View, pose: Array) -> Residuals:
        contour = self._contour(number, view, pose)
        points = transform_points(pose, contour.points.points)
        pixels = _pixels(view, points)
        along = _pixels(view, points + 1e-3 * contour.points.along @ pose[:3, :3].T) - pixels
        normals = np.stack([-along[:, 1], along[:, 0]], axis=1)
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
        search = self.settings["Search"]
        distances = edge_distances(view, pixels, normals, search["Range"], search["MaximumGradientAngle"])
        return Residuals(distances, jacobian(view.matrix, points, view.shift, normals))

    def _contour(self, number: int, view: View, pose: Array) -> Contour:
        """The visible part of the edges, updated after some motion."""
        assert self._body is not None
        options, cached = self.settings["Sampling"], self._contours.get(number)
        turn, shift = options["VisibilityTurn"], options["VisibilityShift"]
        if cached is None or _is_beyond(cached.pose, pose, turn_deg=turn, shift_m=shift):
            cached = self._contours[number] = Contour(
                visible_points(
                    self._body, view, pose, crease_deg=self.settings["Model"]["CreaseAngle"],
                    distance_px=options["Distance"], maximum=options["MaximumPoints"],
                ), pose,
            )  # fmt: skip
        return cached


def visible_points(
    body: Body, view: View, pose: Array, *, crease_deg: float, distance_px: float, maximum: int
) -> EdgePoints:
    """Points of a body's edges that are visible in a view, at a distance from each other, limited in number."""
    eye = pose[:3, :3].T @ (-view.shift - pose[:3, 3])
    edges = body.visible_edges(eye, np.radians(crease_deg))
    corners = transform_points(pose, body.corners)
    corners[:, 2] = np.maximum(corners[:, 2], NEAREST_M)
    pixels = _pixels(view, corners)
    lengths = np.linalg.norm(pixels[edges[:, 0]] - pixels[edges[:, 1]], axis=1)
    distance = max(distance_px, lengths.sum() / maximum)
    is_long = lengths > distance
    points = body.points_on_edges(edges[is_long], lengths[is_long] / distance)
    before = transform_points(pose, points.points)
    at = _pixels(view, before)
    height, width = view.image.shape
    shown = (before[:, 2] > NEAREST_M) & (at >= 0).all(axis=1) & (at[:, 0] <= width - 1) & (at[:, 1] <= height - 1)
    shown[shown] = ~body.is_hidden(points.points[shown], eye)
    return EdgePoints(points.points[shown], points.along[shown])


def edge_distances(view: View, pixels: Array, normals: Array, reach: int, angle_deg: float) -> Array:
    """Return the distance along normals (n, 2) from pixels (n, 2) to the nearest edge of an image; NaN if none.

    An edge counts where the image has a gradient along the normal; its maximum is interpolated between pixels.
    """
    offsets = np.arange(-reach - 1.0, reach + 2.0)
    at = (pixels[:, None] + offsets[:, None] * normals[:, None]).astype(np.float32)
    x, y = at[..., 0], at[..., 1]
    edges = cv2.remap(view.edges, x, y, cv2.INTER_LINEAR, borderValue=0) > 0
    right, down = (
        cv2.remap(each, x, y, cv2.INTER_NEAREST, borderValue=0).astype(float) for each in (view.right, view.down)
    )
    across = right * np.abs(normals[:, :1]) + down * np.abs(normals[:, 1:])
    agrees = across >= np.cos(np.radians(angle_deg)) * np.hypot(right, down)
    is_edge = edges & agrees & (across > 0)
    is_edge[:, [0, -1]] = False
    grey = cv2.remap(view.image.astype(np.float32), x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    change = np.abs(np.gradient(grey, axis=1))
    nearest = np.argmin(np.where(is_edge, np.abs(offsets), np.inf), axis=1)
    rows = np.arange(len(pixels))
    best = np.clip(nearest[:, None] + [-1, 0, 1], 1, len(offsets) - 2)
    best = np.take_along_axis(best, np.argmax(change[rows[:, None], best], axis=1)[:, None], axis=1)[:, 0]
    before, middle, after = (change[rows, best + side] for side in (-1, 0, 1))
    bend = before - 2 * middle + after
    part = np.where(bend < 0, 0.5 * (before - after) / np.where(bend < 0, bend, -1.0), 0.0)
    distances = offsets[best] + np.clip(part, -1.0, 1.0)
    return np.where(is_edge.any(axis=1), distances, np.nan)


def _view(image: Frame, edges: Frame, right: Frame, down: Frame, port: str) -> View:
    camera = camera_of(image, port)
    parts = {"edges": edges, "right": right, "down": down}
    pixels = {name: np.asarray(frame.image, np.uint8) for name, frame in parts.items()}
    if any(part.shape != image.image.shape[:2] for part in pixels.values()):
        shapes = ", ".join(str(part.shape) for part in pixels.values())
        raise ValueError(f"{port}: expected edges of {image.image.shape[:2]}, got {shapes}")
    shift = np.array([-image.baseline_m, 0.0, 0.0])
    return View(grey_of(image, port), **pixels, matrix=camera.matrix, shift=shift)


def _pixels(view: View, points: Array) -> Array:
    """Pixels (n, 2) of points (n, 3) before the left camera."""
    before = points + view.shift
    pixels: Array = (before[:, :2] / before[:, 2:]) * view.matrix[[0, 1], [0, 1]] + view.matrix[:2, 2]
    return pixels


def _robust_step(rows: Array, distances: Array) -> Array:
    """The rotation and shift (6,) that bring predicted edges onto detected ones, for most of them."""
    step = np.zeros(MEASURED)
    for _ in range(3):
        left = distances - rows @ step
        deviation = max(TO_DEVIATION * float(np.median(np.abs(left))), MIN_DEVIATION_PX)
        weights = np.clip(1 - (left / (TUKEY * deviation)) ** 2, 0, None) ** 2
        products = (rows * weights[:, None]).T
        held = np.eye(MEASURED) * 1e-9 * np.trace(products @ rows)
        step = np.linalg.solve(products @ rows + held, products @ distances)
    return step


def _nearest_rotation(matrix: Array) -> Array:
    left, _, right = np.linalg.svd(matrix)
    rotation: Array = left @ right
    return rotation


def _is_beyond(one: Array, other: Array, *, turn_deg: float, shift_m: float) -> bool:
    turn = np.degrees(np.linalg.norm(vector_from_rotation(one[:3, :3].T @ other[:3, :3])))
    return bool(turn > turn_deg or np.linalg.norm(one[:3, 3] - other[:3, 3]) > shift_m)


def _is_within(step: Array, pose: Array, *, turn_deg: float, shift_m: float) -> bool:
    """Whether a step moves the body's origin and rotates it by less."""
    shift = np.cross(step[:3], pose[:3, 3]) + step[3:]
    return bool(np.degrees(np.linalg.norm(step[:3])) < turn_deg and np.linalg.norm(shift) < shift_m)
