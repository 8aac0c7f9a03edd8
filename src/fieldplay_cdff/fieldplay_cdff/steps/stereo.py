"""Steps on rectified stereo pairs: disparities, and the points that follow from them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import UsageError
from fieldplay.geometry.camera_model import StereoCamera
from fieldplay_cdff.steps.intrinsics import (
    grey_of,
    grey_pair,
    stereo_camera,
)
from fieldplay_cdff.steps.neighbours import voxel_means
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import (
    Array,
    Cloud,
    Frame,
    FramePair,
)
from fieldplay_cdff.stereo.presets import intervals_of, measure_disparities, reconstruction_limits
from fieldplay_cdff.stereo.refusals import Reason, Refusal

SUBPIXELS = 16  # of OpenCV's disparities, which are integers
MIN_SET = 1e-4  # a density or a voxel size below this means none
MIN_BLOCK = 5  # of block matching
BLOCK_MATCHING = 0
INTERVALS = "NumberOfIntervals"
SLACK_PX = 8.0  # by which disparities may exceed those that are searched, as they are measured on a small copy
LEAST_SHARE, LEAST_INSIDE = 0.01, 0.02  # of pixels with a disparity, and of these within the limits
Matcher = Callable[[NDArray[np.uint8], NDArray[np.uint8]], NDArray[np.int16]]
Mask = NDArray[np.bool_]


def block_matcher(values: Mapping[str, int], regions: Mapping[str, tuple[int, int, int, int]]) -> Matcher:
    """OpenCV's block matching, with its names of the parameters; regions are x, y, width, height."""
    matcher = cv2.StereoBM.create(values["NumDisparities"], values["BlockSize"])
    for name, value in (*values.items(), *regions.items()):
        getattr(matcher, f"set{name}")(value)
    minimum = values["MinDisparity"]
    blind = max(minimum + values["NumDisparities"] - 1, 0)

    def compute(left: NDArray[np.uint8], right: NDArray[np.uint8]) -> NDArray[np.int16]:
        disparities = np.asarray(matcher.compute(left, right), np.int16)
        disparities[:, :blind] = (minimum - 1) * SUBPIXELS  # its last rows have numbers there that mean nothing
        return disparities

    return compute


def semi_global_matcher(values: Mapping[str, int]) -> Matcher:
    """OpenCV's semi-global matching, with its names of the parameters."""
    matcher = cv2.StereoSGBM.create(values["MinDisparity"], values["NumDisparities"], values["BlockSize"])
    for name, value in values.items():
        getattr(matcher, f"set{name}")(value)

    def compute(left: NDArray[np.uint8], right: NDArray[np.uint8]) -> NDArray[np.int16]:
        return np.asarray(matcher.compute(left, right), np.int16)

    return compute


def check_smoothness(name: str, first: int, second: int) -> None:
    if not second > first >= 0 and (first, second) != (0, 0):
        raise UsageError(f"{name}: expected the second penalty above the first, or both 0, got {first} and {second}")


def points_of(image: NDArray[Any], matrix: Array, *, scale: float, offset: float = 0.0) -> NDArray[np.float32]:
    """Reproject a disparity image to points (h, w, 3) by Q, where disparity = (pixel - offset) / scale."""
    pixels = np.eye(4)
    pixels[2, 2:] = 1 / scale, -offset / scale
    numbers = image if image.dtype in (np.int16, np.float32) else image.astype(np.float32)
    return np.asarray(cv2.reprojectImageTo3D(numbers, matrix @ pixels), np.float32)


@implements("DisparityImage")
class DisparityImage(Step):
    """Disparities by block or semi-global matching, in sixteenths of pixels; 0 and less where there are none."""

    def configure(self) -> None:
        options = self.settings["stereoMatcherParams"]
        if self.settings["filterParams"]["useFilter"]:
            raise UsageError("DisparityImage: filterParams.useFilter needs modules of OpenCV that are not used here")
        self.least = options["minDisparity"]
        values = {_mode_name(name): value for name, value in options.items() if name != "algorithm"}
        if options["algorithm"] == BLOCK_MATCHING:
            _check_block(self.implementation, options["blockSize"])
            more = self.settings["stereoBMParams"]
            self.matcher = block_matcher(values | {_mode_name(name): value for name, value in more.items()}, {})
            return
        more = self.settings["stereoSGBMParams"]
        check_smoothness(self.implementation, more["P1"], more["P2"])
        self.matcher = semi_global_matcher(values | {_mode_name(name): value for name, value in more.items()})

    def process(self, *, framePair: FramePair) -> Ports:
        disparities = self.matcher(*grey_pair(framePair.left, framePair.right))
        disparities[disparities < self.least * SUBPIXELS] = min(self.least - 1, 0) * SUBPIXELS
        left = framePair.left
        return {
            "disparity": Frame(
                image=disparities,
                encoding="16SC1",
                stamp_ns=left.stamp_ns,
                camera=left.camera,
                baseline_m=framePair.baseline_m,
                scale=SUBPIXELS,
            )
        }


def _mode_name(name: str) -> str:
    return name[0].upper() + name[1:]


def _check_block(name: str, size: int) -> None:
    if size < MIN_BLOCK:
        raise UsageError(f"{name}: expected a block size of {MIN_BLOCK} to 255 for block matching, got {size}")


class CloudOfDisparities(Step):
    """The valid points of a disparity image, row by row."""

    def cloud(self, frame: Frame) -> tuple[Cloud, Mask]:
        """The cloud, and the pixels (h, w) that have a point."""
        image: NDArray[Any] = frame.image
        if image.ndim != 2 or not frame.scale > 0:
            raise ValueError(f"dispImage: expected disparities (h, w), got {image.shape} of scale {frame.scale:g}")
        matrix = stereo_camera(frame, "dispImage", baseline_m=frame.baseline_m).reprojection
        is_known = np.isfinite(image) & (image > frame.offset)
        points = points_of(image, matrix, scale=frame.scale, offset=frame.offset)[is_known]
        return Cloud(points=points.astype(np.float64), stamp_ns=frame.stamp_ns), is_known


@implements("DisparityToPointCloud")
class DisparityToPointCloud(CloudOfDisparities):
    """The points alone."""

    def process(self, *, dispImage: Frame) -> Ports:
        return {"pointCloud": self.cloud(dispImage)[0]}


@implements("DisparityToPointCloudWithIntensity")
class DisparityToPointCloudWithIntensity(CloudOfDisparities):
    """The points with the grey value of each."""

    def process(self, *, dispImage: Frame, intensityImage: Frame) -> Ports:
        grey = grey_of(intensityImage, "intensityImage")
        if grey.shape != dispImage.image.shape:
            raise ValueError(f"intensityImage: expected {dispImage.image.shape} as dispImage, got {grey.shape}")
        cloud, is_known = self.cloud(dispImage)
        return {"pointCloud": replace(cloud, intensity=grey[is_known].astype(np.float32))}


class Reconstruction(Step):
    """The common part of both methods from a pair to a point cloud: limits, and the sampling density."""

    algorithm: ClassVar[str]
    matcher: Matcher

    def configure(self) -> None:
        density, leaf = (self.general[name] for name in ("PointCloudSamplingDensity", "VoxelGridLeafSize"))
        if (density > MIN_SET) == (leaf > MIN_SET):
            raise UsageError(
                f"{self.implementation}: expected one of PointCloudSamplingDensity and VoxelGridLeafSize above "
                f"{MIN_SET}, got {density:g} and {leaf:g}"
            )
        self.leaf_m = leaf if leaf > MIN_SET else 0.0
        self.period = 1 if self.leaf_m else int(1 / density)
        matrix = np.reshape(list(self.settings["DisparityToDepthMap"].values()), (4, 4))
        self.matrix: Array | None = matrix if self.general["UseDisparityToDepthMap"] else None
        self.least = self.settings["Disparities"]["Minimum"]
        self.values = {
            "NumberOfIntervals": self.settings["Disparities"]["NumberOfIntervals"],
            **self.settings["ReconstructionSpace"],
        }
        self._is_measured, self._missing = False, 0
        self.chosen = {}
        self._make_ready()

    def _make_ready(self) -> None:
        """The matcher and the limits of the space, for values that are not known yet too."""
        x, y, z = (self.values[f"Limit{axis}"] or np.inf for axis in "XYZ")
        self.limits = np.array([[-x, -y, 0.0], [x, y, z]])
        self.matcher = self.make_matcher()

    def _measure(self, images: tuple[NDArray[np.uint8], NDArray[np.uint8]], camera: StereoCamera | None) -> None:
        """Measure the disparities of the first pair: `auto` values follow from them, given ones must include them."""
        found = measure_disparities(*images)
        if found is None:
            if None in self.values.values():
                raise ValueError("left, right: expected a first pair with disparities, got too few to choose limits by")
            return
        self._is_measured = True
        if camera is not None and None in self.values.values():
            limits = reconstruction_limits(found, camera, images[0].shape[1])
            own = {name: limits[name] for name, value in self.values.items() if value is None}
            space = {name: value for name, value in own.items() if name != INTERVALS}
            count = {INTERVALS: own[INTERVALS]} if INTERVALS in own else {}
            self.values |= {**space, **{name: int(value) for name, value in count.items()}}
            self.chosen = {
                group: values for group, values in (("Disparities", count), ("ReconstructionSpace", space)) if values
            }
            self._make_ready()
        largest = self.least + self.values[INTERVALS]
        self._missing = intervals_of(found, images[0].shape[1]) if found.high > largest + SLACK_PX else 0

    def make_matcher(self) -> Matcher:
        """Create the disparity matcher."""
        raise NotImplementedError

    def common(self) -> dict[str, int]:
        """Return the common parameters of both matchers, by OpenCV's names."""
        options, blocks = self.settings["Disparities"], self.settings["BlocksMatching"]
        if options["UseMaximumDifference"] and options["MaximumDifference"] < 0:
            raise UsageError(f"{self.implementation}: expected a MaximumDifference, got {options['MaximumDifference']}")
        return {
            "MinDisparity": options["Minimum"],
            "NumDisparities": self.values[INTERVALS] or SUBPIXELS,
            "Disp12MaxDiff": options["MaximumDifference"] if options["UseMaximumDifference"] else -1,
            "SpeckleRange": options["SpeckleRange"],
            "SpeckleWindowSize": options["SpeckleWindow"],
            "PreFilterCap": self.settings["Prefilter"]["Maximum"],
            "BlockSize": blocks["BlockSize"],
            "UniquenessRatio": blocks["UniquenessRatio"],
        }

    def process(self, *, left: Frame, right: Frame) -> Ports:
        images = grey_pair(left, right)
        camera = None
        if self.matrix is None:
            group = self.settings["StereoCamera"]
            camera = stereo_camera(left, "left", baseline_m=right.baseline_m, group=group)
        if not self._is_measured:
            self._measure(images, camera)
        disparities = self.matcher(*images)
        is_known = disparities >= max(self.least * SUBPIXELS, 1)
        if not is_known.any():
            raise ValueError(f"left, right: expected images of the same things, got none in {disparities.size} pixels")
        matrix = np.eye(4) if self.matrix is None else self.matrix
        matrix = matrix if camera is None else camera.reprojection
        points = points_of(disparities, matrix, scale=SUBPIXELS)
        is_near = cv2.inRange(points, *self.limits).astype(np.bool_)
        self.refusal = self._judge(points[..., 2], is_known, is_near)
        indices = np.flatnonzero(is_near & is_known)[self.period - 1 :: self.period]
        cloud = Cloud(points=points.reshape(-1, 3).take(indices, axis=0).astype(np.float64), stamp_ns=left.stamp_ns)
        return {"pointcloud": voxel_means(cloud, self.leaf_m) if self.leaf_m and len(cloud) else cloud}

    def _judge(self, depths: NDArray[np.float32], is_known: Mask, is_near: Mask) -> Refusal | None:
        """Return why a pair's cloud is implausible: disparities out of range, too few, or none within limits."""
        if self._missing:
            detail = f"disparities up to {self._missing} px, {self.values[INTERVALS]} are searched"
            return Refusal(
                reason=Reason.DISPARITY_RANGE, parameter=f"Disparities.{INTERVALS}", value=self._missing, detail=detail,
                is_final=True,
            )  # fmt: skip
        share = float(is_known.mean())
        if share < LEAST_SHARE:
            detail = f"{100 * share:.1f} % of the pixels have a disparity"
            return Refusal(reason=Reason.FEW_DISPARITIES, detail=detail, is_final=True)
        inside = float(is_near[is_known].mean())
        if inside < LEAST_INSIDE:
            far_m = float(np.percentile(depths[is_known], 90))
            detail = f"{100 * inside:.1f} % of the points are within {self.limits[1][2]:g} m"
            return Refusal(
                reason=Reason.TOO_FAR, parameter="ReconstructionSpace.LimitZ", value=far_m, detail=detail, is_final=True
            )
        return None


@implements("StereoReconstruction")
class HirschmullerDisparityMapping(Reconstruction):
    """A cloud of a pair by semi-global matching."""

    def make_matcher(self) -> Matcher:
        options = self.settings["Disparities"]
        first, second = options["SmoothnessParameter1"], options["SmoothnessParameter2"]
        check_smoothness(self.implementation, first, second)
        mode = cv2.StereoSGBM_MODE_HH if self.general["UseFullScaleTwoPassAlgorithm"] else self.general["Mode"]
        return semi_global_matcher(self.common() | {"P1": first, "P2": second, "Mode": mode})


@implements("StereoReconstruction")
class DisparityMapping(Reconstruction):
    """A cloud of a pair by block matching."""

    def make_matcher(self) -> Matcher:
        blocks, prefilter = self.settings["BlocksMatching"], self.settings["Prefilter"]
        _check_block(self.implementation, blocks["BlockSize"])
        regions: dict[str, Any] = {}
        for name, group in (("ROI1", "FirstRegionOfInterest"), ("ROI2", "SecondRegionOfInterest")):
            options = self.settings[group]
            regions[name] = tuple(
                options[part] for part in ("TopLeftColumn", "TopLeftRow", "NumberOfColumns", "NumberOfRows")
            )
        options = {
            "PreFilterSize": prefilter["Size"],
            "PreFilterType": prefilter["Type"],
            "TextureThreshold": blocks["TextureThreshold"],
            "SmallerBlockSize": blocks["SmallerBlockSize"],
        }
        return block_matcher(self.common() | options, regions)
