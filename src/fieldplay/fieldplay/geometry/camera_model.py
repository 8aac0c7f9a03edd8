"""Cameras, and the points of other sensors in their images: pixels, depths, and which points an image shows.

A camera's frame is optical: z forward, x right, y down. Pixel (0, 0) is the centre of the first pixel.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

PLUMB_BOB, RATIONAL, FISHEYE = "plumb_bob", "rational_polynomial", "equidistant"
MODELS = {"": PLUMB_BOB, "plumb_bob": PLUMB_BOB, "rational": RATIONAL, "rational_polynomial": RATIONAL,
          "equidistant": FISHEYE, "fisheye": FISHEYE}  # fmt: skip
COEFFICIENTS = {PLUMB_BOB: (0, 4, 5), RATIONAL: (0, 4, 5, 8, 12, 14), FISHEYE: (0, 4)}
USED = 8  # of a rational lens: thin prisms and a tilted sensor are not known here
NEAREST_M = 0.01
SAME_SHAPE = 0.01  # by which the ratio of an image's sides may differ from the camera's
REAL = 1e-7  # imaginary part of a root that is real but for rounding


@dataclass(frozen=True, kw_only=True)
class CameraModel:
    """A camera as sensor_msgs/CameraInfo has it, in OpenCV's terms: K, D, R, P and the size of its images.

    Projection supports the models `plumb_bob` (k1 k2 p1 p2 k3), `rational_polynomial` (and k4 k5 k6), `equidistant` or
    `fisheye` (k1..k4); other cameras are passed on as published.

    Args:
        width: of the images in pixels.
        height: of the images in pixels.
        fx: focal length along the rows in pixels, of K.
        fy: focal length along the columns in pixels, of K.
        cx: column of the principal point in pixels, of K; 0 is the centre of the first pixel.
        cy: row of the principal point in pixels, of K.
        distortion_model: its name.
        distortion: D, as the model orders it.
        source: where the numbers are from, for messages.
        rectification: R row by row, from the camera's axes to those of the rectified image; none is the identity.
        projection: P row by row, of the rectified image; none, or zeros, is K.
    """

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float
    distortion_model: str
    distortion: tuple[float, ...]
    source: str = ""
    rectification: tuple[float, ...] = ()
    projection: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if len(self.rectification) not in (0, 9) or len(self.projection) not in (0, 12):
            raise ValueError("expected a rectification of 9 numbers and a projection of 12, or none")

    @cached_property
    def matrix(self) -> Array:
        """K (3, 3)."""
        return _matrix(self.fx, self.fy, self.cx, self.cy)

    @cached_property
    def coefficients(self) -> Array:
        """D (n,)."""
        return np.array(self.distortion, np.float64)

    @cached_property
    def rotation(self) -> Array:
        """R (3, 3)."""
        return np.array(self.rectification or np.eye(3).reshape(-1), np.float64).reshape(3, 3)

    @cached_property
    def projection_matrix(self) -> Array:
        """P (3, 4)."""
        if self.projection and self.projection[0]:
            return np.array(self.projection, np.float64).reshape(3, 4)
        return np.hstack([self.matrix, np.zeros((3, 1))])

    @property
    def baseline_m(self) -> float:
        """How far it is to the right of the left camera of a rectified pair, by P; 0 of the left one."""
        return 0.0 - float(self.projection_matrix[0, 3] / self.projection_matrix[0, 0])

    @property
    def kind(self) -> str:
        """The distortion model by one name."""
        return MODELS[self.distortion_model]

    @cached_property
    def fold(self) -> float:
        """Where the distortion stops moving points outwards: a fitted polynomial may turn back beyond its images.

        The tangent of the angle from the optical axis; of an equidistant camera the angle itself in rad.
        """
        return _fold_of_angle(self.coefficients) if self.kind == FISHEYE else _fold_of_tangent(_pad(self.coefficients))

    def with_matrix(self, matrix: Array, width: int, height: int) -> "CameraModel":
        """Copy the camera with another K.

        Args:
            matrix: K (3, 3) in pixels.
            width: of the images in pixels.
            height: of the images in pixels.

        Returns:
            The camera; its R and P are unchanged.
        """
        focal_x, focal_y, center_x, center_y = _numbers(matrix)
        return replace(self, fx=focal_x, fy=focal_y, cx=center_x, cy=center_y, width=width, height=height)

    def require_projection(self) -> None:
        """Check that points can be projected.

        Raises:
            ValueError: the distortion model is unknown, its coefficients are others, or there is no focal length.
        """
        if self.distortion_model not in MODELS:
            models = ", ".join(filter(None, MODELS))
            raise ValueError(f"expected a distortion model of {models}, got '{self.distortion_model}'")
        counts = COEFFICIENTS[self.kind]
        if len(self.distortion) not in counts or any(self.distortion[USED:]):
            requested = " or ".join(str(count) for count in counts if count <= USED)
            raise ValueError(f"{self.distortion_model}: expected {requested} coefficients, got {[*self.distortion]}")
        numbers = (self.fx, self.fy, self.cx, self.cy)
        if not (np.isfinite([*numbers, *self.distortion]).all() and self.fx > 0 and self.fy > 0):
            raise ValueError(f"expected a camera matrix of focal lengths above 0, got {self.matrix.tolist()}")
        if min(self.width, self.height) < 1:
            raise ValueError(f"expected images of 1 x 1 pixels or more, got {self.width} x {self.height}")


def _matrix(focal_x: float, focal_y: float, center_x: float, center_y: float) -> Array:
    return np.array([[focal_x, 0, center_x], [0, focal_y, center_y], [0, 0, 1.0]])


def _numbers(matrix: Array) -> tuple[float, float, float, float]:
    """fx, fy, cx, cy of K (3, 3)."""
    return float(matrix[0, 0]), float(matrix[1, 1]), float(matrix[0, 2]), float(matrix[1, 2])


@dataclass(frozen=True, kw_only=True)
class StereoCamera:
    """A rectified pair of cameras without distortion: a point has the same row in both images, and K is the same.

    Args:
        focal_x: focal length along the rows in pixels.
        focal_y: focal length along the columns in pixels.
        center_x: column of the principal point of both images in pixels.
        center_y: row of the principal point of both images in pixels.
        baseline_m: how far the right camera is to the right of the left one, as in OpenCV's P[0, 3] = -fx * baseline.
    """

    focal_x: float
    focal_y: float
    center_x: float
    center_y: float
    baseline_m: float

    @classmethod
    def from_matrix(cls, matrix: Array, baseline_m: float) -> "StereoCamera":
        """Make a rectified pair from K and the baseline.

        Args:
            matrix: K (3, 3) of both images in pixels.
            baseline_m: the distance of the right camera to the right of the left one, in m.

        Returns:
            The pair.
        """
        focal_x, focal_y, center_x, center_y = _numbers(matrix)
        return cls(focal_x=focal_x, focal_y=focal_y, center_x=center_x, center_y=center_y, baseline_m=float(baseline_m))

    @classmethod
    def from_right_camera(cls, right: CameraModel) -> "StereoCamera":
        """Make the rectified pair to which a right camera belongs.

        Args:
            right: the right camera; its P holds K and the baseline.

        Returns:
            The pair.
        """
        return cls.from_matrix(right.projection_matrix[:, :3], right.baseline_m)

    @property
    def matrix(self) -> Array:
        """K (3, 3) of both images."""
        return _matrix(self.focal_x, self.focal_y, self.center_x, self.center_y)

    @property
    def reprojection(self) -> Array:
        """OpenCV's Q (4, 4): times (u, v, disparity, 1) it is a point in m in the left camera, times a scale."""
        matrix = np.zeros((4, 4))
        matrix[0, 0], matrix[0, 3] = 1 / self.focal_x, -self.center_x / self.focal_x
        matrix[1, 1], matrix[1, 3] = 1 / self.focal_y, -self.center_y / self.focal_y
        matrix[2, 3], matrix[3, 2] = 1.0, 1 / (self.focal_x * self.baseline_m)
        return matrix


@dataclass(frozen=True, eq=False)
class Projection:
    """Points in an image.

    Args:
        pixels: u v (n, 2); NaN where a point has none.
        depths: distances along the optical axis (n,) in m, negative behind the camera.
        is_visible: which points (n,) lie within the image. What hides behind nearer points counts as visible.
    """

    pixels: Array
    depths: Array
    is_visible: NDArray[np.bool_]


def camera_from_numbers(
    matrix: ArrayLike, distortion: ArrayLike, model: str, *, width: int, height: int
) -> CameraModel:
    """Make a camera into which points can be projected from K and D.

    Args:
        matrix: K, 9 numbers or (3, 3).
        distortion: D, as the model orders it.
        model: the name of the distortion model.
        width: of the images in pixels.
        height: of the images in pixels.

    Returns:
        The camera.

    Raises:
        ValueError: these are not the numbers of such a camera.
    """
    numbers = np.asarray(matrix, np.float64)
    focal_x, focal_y, center_x, center_y = _numbers(numbers.reshape(3, 3)) if numbers.size == 9 else (0.0,) * 4
    camera = CameraModel(
        width=int(width), height=int(height), fx=focal_x, fy=focal_y, cx=center_x, cy=center_y,
        distortion_model=model, distortion=tuple(np.asarray(distortion, np.float64).reshape(-1).tolist()),
    )  # fmt: skip
    camera.require_projection()
    return camera


def camera_of_size(camera: CameraModel, width: int, height: int) -> CameraModel | None:
    """Scale a camera to images of another size.

    The outer edges of the images meet, not the centres of their first pixels.

    Args:
        camera: the camera.
        width: of the scaled images in pixels.
        height: of the scaled images in pixels.

    Returns:
        The camera; None where the aspect ratio differs, as of cropped images, whose K does not follow from the size.
    """
    if (width, height) == (camera.width, camera.height):
        return camera
    scale = np.array([width / camera.width, height / camera.height])
    if abs(scale[0] / scale[1] - 1) > SAME_SHAPE:
        return None
    matrix = camera.matrix.copy()
    matrix[:2] *= scale[:, None]
    matrix[:2, 2] += (scale - 1) / 2  # the outer edges of the images meet, not the centres of the first pixels
    return camera.with_matrix(matrix, width, height)


def projection_from_points(camera: CameraModel, camera_t_sensor: Array, points: ArrayLike) -> Projection:
    """Project points of another sensor into a camera's image.

    Args:
        camera: the camera; see `CameraModel.require_projection`.
        camera_t_sensor: camera_T_sensor (4, 4), or (n, 4, 4), one for each point, where the sensor moved meanwhile.
        points: points (n, 3) in m in the sensor's frame; those that are not finite have no pixel.

    Returns:
        Pixels and depths of the points, and which of them the image shows.

    Example:
        >>> camera = camera_from_numbers([100, 0, 49.5, 0, 100, 49.5, 0, 0, 1], [], "plumb_bob", width=100, height=100)
        >>> projection_from_points(camera, np.eye(4), [[0.1, 0.0, 1.0]]).pixels.tolist()
        [[59.5, 49.5]]
    """
    points = np.asarray(points, np.float64).reshape(-1, 3)
    is_number: NDArray[np.bool_] = np.asarray(np.isfinite(points).all(axis=1), np.bool_)
    points = np.where(is_number[:, None], points, 0.0)
    seen = (camera_t_sensor[..., :3, :3] @ points[:, :, None])[..., 0] + camera_t_sensor[..., :3, 3]
    pixels, has_pixel = pixels_from_points(camera, seen)
    has_pixel &= is_number
    pixels[~has_pixel] = np.nan
    inside = (pixels >= -0.5).all(axis=1) & (pixels < [camera.width - 0.5, camera.height - 0.5]).all(axis=1)
    return Projection(pixels, seen[:, 2], has_pixel & inside)


def pixels_from_points(camera: CameraModel, points: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Project points of the optical frame.

    Args:
        camera: the camera; see `CameraModel.require_projection`.
        points: points (n, 3) in m, z forward, x right, y down.

    Returns:
        Pixels (n, 2), also of points outside of the image, and which of the points (n,) have one: those in front of the
        camera and not beyond its `fold`. The pixels of the others mean nothing.
    """
    if camera.kind == FISHEYE:
        plane, has_pixel = _plane_of_fisheye(camera, points)
    else:
        plane, has_pixel = _plane_of_pinhole(camera, points)
    pixels: Array = plane @ camera.matrix[:2, :2].T + camera.matrix[:2, 2]
    return pixels, has_pixel


def _plane_of_pinhole(camera: CameraModel, points: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Where points are put in the plane z = 1, by OpenCV's equations."""
    has_pixel = points[:, 2] > NEAREST_M
    x, y = (points[:, :2] / np.where(has_pixel, points[:, 2], 1.0)[:, None]).T
    square = x * x + y * y
    has_pixel &= square < camera.fold**2
    square = np.where(has_pixel, square, 0.0)
    k1, k2, p1, p2, k3, k4, k5, k6 = _pad(camera.coefficients)
    radial = (1 + square * (k1 + square * (k2 + square * k3))) / (1 + square * (k4 + square * (k5 + square * k6)))
    moved_x = x * radial + 2 * p1 * x * y + p2 * (square + 2 * x * x)
    moved_y = y * radial + p1 * (square + 2 * y * y) + 2 * p2 * x * y
    return np.stack([moved_x, moved_y], axis=-1), has_pixel


def _plane_of_fisheye(camera: CameraModel, points: Array) -> tuple[Array, NDArray[np.bool_]]:
    """The same for a lens that bends by the angle from the axis, which may see more than a half space."""
    across = np.hypot(points[:, 0], points[:, 1])
    angle = np.arctan2(across, points[:, 2])
    has_pixel = (angle < camera.fold) & (np.hypot(across, points[:, 2]) > NEAREST_M)
    coefficients = camera.coefficients if len(camera.distortion) else np.zeros(4)
    radius = angle * np.polynomial.polynomial.polyval(angle**2, np.concatenate([[1.0], coefficients]))
    on_axis = across < 1e-12
    scale = np.where(on_axis, 0.0, radius / np.where(on_axis, 1.0, across))
    return points[:, :2] * scale[:, None], has_pixel


def _pad(distortion: Array) -> Array:
    return np.concatenate([distortion[:USED], np.zeros(max(0, USED - len(distortion)))])


def _fold_of_tangent(distortion: Array) -> float:
    """The least r > 0 where r N(r2) / D(r2) has no slope or no value."""
    k1, k2, _, _, k3, k4, k5, k6 = distortion
    over, under = np.array([1, k1, k2, k3]), np.array([1, k4, k5, k6])
    slope = np.polynomial.polynomial.polysub(
        np.polynomial.polynomial.polymul(np.polynomial.polynomial.polyadd(over, _doubled_derivative(over)), under),
        np.polynomial.polynomial.polymul(over, _doubled_derivative(under)),
    )
    return float(np.sqrt(min(_first_root(slope), _first_root(under))))


def _fold_of_angle(distortion: Array) -> float:
    """The least angle where angle * (1 + k1 angle2 + ...) has no slope, half a turn at most."""
    slope = np.concatenate([[1.0], distortion * (3 + 2 * np.arange(len(distortion)))])
    return float(min(np.sqrt(_first_root(slope)), np.pi))


def _doubled_derivative(coefficients: Array) -> Array:
    """Coefficients of 2 s p'(s) of a polynomial p."""
    return 2.0 * np.arange(len(coefficients)) * coefficients


def _first_root(coefficients: Array) -> float:
    """The least root above 0 of a polynomial, inf where there is none."""
    trimmed = np.trim_zeros(coefficients, "b")
    roots = np.polynomial.polynomial.polyroots(trimmed) if len(trimmed) > 1 else np.zeros(0)
    real = roots.real[(np.abs(roots.imag) < REAL * np.maximum(np.abs(roots), 1.0)) & (roots.real > 0)]
    return float(real.min(initial=np.inf))
