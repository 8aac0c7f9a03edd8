"""Steps on single images: colours, size, edges, depths."""

from dataclasses import replace
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.camera_model import CameraModel
from fieldplay_cdff.steps.intrinsics import grey_of
from fieldplay_cdff.steps.step import (
    Ports,
    Step,
    implements,
    parameters,
)
from fieldplay_cdff.steps.values import Array, Frame, FramePair

TO_BGR = {"mono8": "GRAY2BGR", "8UC1": "GRAY2BGR", "rgb8": "RGB2BGR", "rgba8": "RGBA2BGR", "bgra8": "BGRA2BGR"}
ENCODINGS = {"GRAY": "mono8", "RGB": "rgb8", "RGBA": "rgba8", "BGR": "bgr8", "BGRA": "bgra8"}
DEPTHS = ("16UC1", "32FC1", "64FC1", "mono16")
TO_INT = (cv2.BORDER_CONSTANT, cv2.BORDER_WRAP, cv2.BORDER_REFLECT, cv2.BORDER_DEFAULT)  # by the published numbers
TO_DEPTH = (-1, cv2.CV_16S, cv2.CV_32F, cv2.CV_64F)
HORIZONTAL, SCHARR = 0, 1
AROUND = ((0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0), (1, 1))  # rows and columns, counter-clockwise


class Size(NamedTuple):
    """The number of pixels of an image that become one."""

    x: int
    y: int


def camera_of_ratio(camera: CameraModel | None, ratio: Size, *, is_first: bool) -> CameraModel | None:
    """Return the camera of an image that is reduced by so many pixels: by their mean, or by the first of them."""
    if camera is None:
        return None
    width, height = smaller(camera.width, ratio.x), smaller(camera.height, ratio.y)
    scale = np.array([width / camera.width, height / camera.height])
    matrix = camera.matrix.copy()
    matrix[:2] *= scale[:, None]
    if not is_first:
        matrix[:2, 2] += (scale - 1) / 2
    return camera.with_matrix(matrix, width, height)


def smaller(length: int, ratio: int) -> int:
    return max(1, round(length / ratio))


def shrunk(frame: Frame, ratio: Size, method: int, port: str) -> Frame:
    """Resize an image to a smaller one with its camera, by one of OpenCV's methods."""
    image: NDArray[Any] = frame.image
    if image.size == 0:
        raise ValueError(f"{port}: expected an image, got one of {' x '.join(map(str, image.shape))} pixels")
    size = smaller(image.shape[1], ratio.x), smaller(image.shape[0], ratio.y)
    camera = camera_of_ratio(frame.camera, ratio, is_first=method == cv2.INTER_NEAREST)
    return replace(frame, image=cv2.resize(image, size, interpolation=method), camera=camera)


def depths_of(frame: Frame, port: str) -> Array:
    """Return the depths (h, w) of a depth image, in its unit (m or mm); ValueError if it is none."""
    if frame.encoding not in DEPTHS or frame.image.ndim != 2 or frame.image.size == 0:
        raise ValueError(
            f"{port}: expected depths as {', '.join(DEPTHS)}, got {frame.encoding} as {frame.image.dtype}"
            f" {frame.image.shape}"
        )
    return np.asarray(frame.image, np.float64)


@implements("ColorConversion")
class ColorConversion(Step):
    """Converts an image to another colour space."""

    def configure(self) -> None:
        group = "ColorConversionParams"
        mode = self.settings[group]["targetMode"]
        names = parameters()[self.implementation][group]["targetMode"].limits["names"]
        self.target = next(name for name, number in names.items() if number == mode)

    def process(self, *, originalImage: Frame) -> Ports:
        image: NDArray[Any] = originalImage.image
        if originalImage.encoding != "bgr8":
            code = TO_BGR.get(originalImage.encoding)
            if code is None or image.dtype != np.uint8:
                known = ", ".join(("bgr8", *TO_BGR))
                raise ValueError(f"originalImage: expected an image in {known}, got {originalImage.encoding}")
            image = cv2.cvtColor(image, getattr(cv2, f"COLOR_{code}"))
        if self.target != "BGR":
            image = cv2.cvtColor(image, getattr(cv2, f"COLOR_BGR2{self.target}"))
        return {"convertedImage": replace(originalImage, image=image, encoding=ENCODINGS.get(self.target, "8UC3"))}


@implements("DepthFiltering")
class ConvolutionFilter(Step):
    """The mean of the valid depths in a square about each pixel; invalid pixels stay invalid."""

    def process(self, *, inputFrame: Frame) -> Ports:
        depths = depths_of(inputFrame, "inputFrame")
        side = self.general["KernelSize"]
        is_known = np.isfinite(depths)
        sums = cv2.blur(np.where(is_known, depths, 0.0), (side, side))
        fractions = cv2.blur(is_known.astype(np.float64), (side, side))
        means = np.where(is_known, sums / np.where(is_known, fractions, 1.0), np.nan)
        kind = inputFrame.image.dtype
        filtered = np.rint(means) if np.issubdtype(kind, np.integer) else means
        return {"ouputFrame": replace(inputFrame, image=filtered.astype(kind))}


@implements("ImageDegradation")
class ImageDegradation(Step):
    """Reduces an image to fewer pixels."""

    def process(self, *, originalImage: Frame) -> Ports:
        options = self.settings["ImageDegradationParams"]
        ratio = Size(options["xratio"], options["yratio"])
        return {"degradedImage": shrunk(originalImage, ratio, options["method"], "originalImage")}


@implements("StereoDegradation")
class StereoDegradation(Step):
    """Reduces a pair of images to fewer pixels."""

    def process(self, *, originalImagePair: FramePair) -> Ports:
        options = self.settings["StereoDegradationParams"]
        ratio = Size(options["xratio"], options["yratio"])
        left, right = (
            shrunk(frame, ratio, options["method"], f"originalImagePair.{side}")
            for side, frame in (("left", originalImagePair.left), ("right", originalImagePair.right))
        )
        return {"degradedImagePair": FramePair(left=left, right=right)}


@implements("ImageFiltering")
class CannyEdgeDetection(Step):
    """Edges (255) by Canny's method after a mean filter."""

    def process(self, *, image: Frame) -> Ports:
        options = self.settings["CannyEdgeDetection"]
        side = options["NoiseReductionKernelSize"]
        smooth = cv2.blur(grey_of(image, "image"), (side, side))
        edges = cv2.Canny(smooth, options["CannyLowThreshold"], options["CannyHighThreshold"])
        return {"image": replace(image, image=edges, encoding="mono8")}


@implements("ImageFiltering")
class DerivativeEdgeDetection(Step):
    """The absolute gradient of grey values to the right or downwards, in 8 bits."""

    def process(self, *, image: Frame) -> Ports:
        options, kernel = self.general, self.settings["ConvolutionParameters"]
        size = 3 if kernel["KernelType"] == SCHARR else kernel["KernelSize"]
        rim = size // 2 + 1
        wide = cv2.copyMakeBorder(
            grey_of(image, "image"),
            rim,
            rim,
            rim,
            rim,
            TO_INT[options["BorderMode"]],
            value=options["ConstantBorderValue"],
        )
        along = (1, 0) if options["DerivativeDirection"] == HORIZONTAL else (0, 1)
        changes = cv2.Sobel(
            wide, TO_DEPTH[options["DepthMode"]], *along,
            ksize=cv2.FILTER_SCHARR if kernel["KernelType"] == SCHARR else size,
            scale=kernel["Scale"], delta=kernel["Delta"],
        )[rim:-rim, rim:-rim]  # fmt: skip
        edges = np.clip(np.rint(np.abs(changes.astype(np.float64))), 0, 255).astype(np.uint8)
        return {"image": replace(image, image=edges, encoding="mono8")}


@implements("ImageFiltering")
class KMeansClustering(Step):
    """Depths by the means of so many groups of them; 0 where nothing is known."""

    def process(self, *, image: Frame) -> Ports:
        options, depths = self.settings["KMeansClustering"], depths_of(image, "image")
        is_known = np.isfinite(depths) & (depths > 0)
        known = np.sort(depths[is_known])
        clusters = np.zeros(depths.shape, np.float32)
        if len(known):
            centres = group_means(
                known, options["NumCenters"], maximum=options["MaxIterations"], tolerance=options["Tolerance"]
            )
            clusters[is_known] = centres[np.searchsorted(between(centres), depths[is_known])]
        return {"image": replace(image, image=clusters, encoding="32FC1")}


def between(centres: Array) -> Array:
    """Return the midpoints between successive values."""
    halves: Array = (centres[1:] + centres[:-1]) / 2
    return halves


def group_means(ordered: Array, count: int, *, maximum: int, tolerance: float) -> Array:
    """Return cluster means of ordered numbers, started at equal quantiles, after at most `maximum` iterations."""
    centres: Array = np.unique(np.quantile(ordered, (np.arange(count) + 0.5) / count))
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    for _ in range(maximum):
        borders = np.concatenate([[0], np.searchsorted(ordered, between(centres)), [len(ordered)]])
        counts = np.diff(borders)
        means = np.where(counts > 0, np.diff(sums[borders]) / np.maximum(counts, 1), centres)
        moved = np.abs(means - centres).max()
        centres = np.sort(means)
        if moved < tolerance:
            break
    return centres


@implements("ImageFiltering")
class NormalVectorExtraction(Step):
    """The normal of each pixel of a point image (h, w, 3), of length 1 and towards the camera.

    The mean over the eight triangles about it; NaN at the border, and where a neighbour is invalid.
    """

    def process(self, *, image: Frame) -> Ports:
        points = np.asarray(image.image, np.float64)
        if points.ndim != 3 or points.shape[2] != 3 or min(points.shape[:2]) < 3:
            raise ValueError(f"image: expected points (h, w, 3) of 3 x 3 pixels or more, got {points.shape}")
        height, width = points.shape[:2]
        middle = points[1:-1, 1:-1]
        edges = [points[1 + row : height - 1 + row, 1 + column : width - 1 + column] - middle for row, column in AROUND]
        normals = [
            _unit(np.cross(edge, following)) for edge, following in zip(edges, edges[1:] + edges[:1], strict=True)
        ]
        result = np.full(points.shape, np.nan, np.float32)
        result[1:-1, 1:-1] = _unit(sum(normals[1:], normals[0]))
        return {"image": replace(image, image=result, encoding="32FC3")}


def _unit(vectors: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        units: Array = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return units
