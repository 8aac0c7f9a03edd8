from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from fieldplay.core.errors import UsageError
from fieldplay.geometry.camera_model import camera_from_numbers
from fieldplay_cdff.steps.step import step_of
from fieldplay_cdff.steps.values import (
    Array,
    Cloud,
    Frame,
    FramePair,
)

F, CX, CY, BASELINE = 867.356, 516.0, 386.0, 0.0900125
CAMERA = camera_from_numbers([F, 0, CX, 0, F, CY, 0, 0, 1], [0] * 5, "plumb_bob", width=1032, height=772)
SMALL = camera_from_numbers([100, 0, 80, 0, 100, 60, 0, 0, 1], [0] * 5, "plumb_bob", width=160, height=120)
SHIFT = 20  # pixels by which the right picture of a pair is moved
METHODS = ("HirschmullerDisparityMapping", "DisparityMapping")


def frame_of(image: NDArray[Any], **more: Any) -> Frame:
    return Frame(image=image, **{"camera": SMALL, "stamp_ns": 5, **more})


def pair(width: int = 160, height: int = 120) -> FramePair:
    """A wall of spots, SHIFT pixels nearer to the left in the right picture."""
    wall = np.random.default_rng(0).integers(0, 256, (height, width + SHIFT)).astype(np.uint8)
    wall = np.asarray(cv2.GaussianBlur(wall, (5, 5), 1.0), np.uint8)
    left, right = np.ascontiguousarray(wall[:, :width]), np.ascontiguousarray(wall[:, SHIFT:])
    return FramePair(left=frame_of(left), right=frame_of(right, baseline_m=0.1))


def reconstruct(method: str, settings: dict[str, dict[str, Any]] | None = None, **frames: Frame) -> Array:
    both = {"left": pair().left, "right": pair().right, **frames}
    cloud: Cloud = step_of("StereoReconstruction", method)(settings).process(**both)["pointcloud"]
    assert cloud.stamp_ns == 5
    return cloud.points


@pytest.mark.parametrize(
    ("u", "v", "disparity", "point"),
    [
        (516, 386, 39.0, (0, 0, 2.001868768)),
        (700.5, 120.25, 20.0625, (0.827778505, -1.192315109, 3.891483212)),
        (3, 770, 95.9375, (-0.481317655, 0.360284560, 0.813788998)),
    ],
)
def test_disparity_gives_point(u: float, v: float, disparity: float, point: tuple[float, ...]) -> None:
    """Half pixels by a camera whose middle is moved by as much."""
    image = np.zeros((772, 1032), np.int16)
    image[int(v), int(u)] = disparity * 16
    matrix = [F, 0, CX - u + int(u), 0, F, CY - v + int(v), 0, 0, 1]
    camera = camera_from_numbers(matrix, [0] * 5, "plumb_bob", width=1032, height=772)
    frame = Frame(image=image, encoding="16SC1", scale=16.0, camera=camera, baseline_m=BASELINE)
    cloud = step_of("DisparityToPointCloud", "DisparityToPointCloud")().process(dispImage=frame)["pointCloud"]
    assert cloud.points == pytest.approx(np.array([point]), rel=1e-6, abs=1e-9)


def test_points_keep_grey_values_and_missing_disparities_give_none() -> None:
    numbers = np.array([[np.nan, 7.0, 3.0], [2.0, 12.0, -np.inf]], np.float32)
    camera = camera_from_numbers([100, 0, 1, 0, 100, 1, 0, 0, 1], [0] * 5, "plumb_bob", width=3, height=2)
    frame = frame_of(numbers, encoding="32FC1", scale=0.5, offset=2.0, baseline_m=0.1, camera=camera)
    step = step_of("DisparityToPointCloudWithIntensity", "DisparityToPointCloudWithIntensity")()
    grey = frame_of(np.arange(6, dtype=np.uint8).reshape(2, 3))
    cloud = step.process(dispImage=frame, intensityImage=grey)["pointCloud"]
    assert cloud.points[:, 2].tolist() == pytest.approx([1.0, 5.0, 0.5], rel=1e-6)
    assert cloud.intensity.tolist() == [1, 2, 4]
    with pytest.raises(ValueError, match=r"intensityImage: expected \(2, 3\) as dispImage, got \(3, 2\)"):
        step.process(dispImage=frame, intensityImage=frame_of(np.zeros((3, 2), np.uint8)))


@pytest.mark.parametrize("method", METHODS)
def test_wall_is_reconstructed_at_its_depth(method: str) -> None:
    points = reconstruct(method)
    depth = 100 * 0.1 / SHIFT
    assert len(points) > 0.3 * 160 * 120
    assert np.median(points[:, 2]) == pytest.approx(depth, abs=1e-6)
    right = points[np.abs(points[:, 2] - depth) < 1e-6]
    assert np.abs(right[:, :2] * 100 / depth - np.rint(right[:, :2] * 100 / depth)).max() < 1e-4, "whole pixels"


@pytest.mark.parametrize("method", METHODS)
def test_camera_settings_override_camera_of_images(method: str) -> None:
    camera = {"LeftFocalLength": 200.0, "LeftPrinciplePointX": 10.0, "LeftPrinciplePointY": 20.0, "Baseline": 0.3}
    own = reconstruct(method)
    by_settings = reconstruct(method, {"StereoCamera": camera})
    assert np.median(by_settings[:, 2]) == pytest.approx(200 * 0.3 / SHIFT, rel=1e-6)
    assert np.median(by_settings[:, 0]) > np.median(own[:, 0])
    with pytest.raises(ValueError, match="left: expected an image of a known camera, got one without"):
        reconstruct(method, left=Frame(image=pair().left.image))
    with pytest.raises(ValueError, match="left: expected an image of 1032 x 772 pixels as its camera has, got 160 x 1"):
        reconstruct(method, left=frame_of(pair().left.image, camera=CAMERA))
    for baseline in (0.0, -0.1):
        with pytest.raises(ValueError, match=f"left: expected a baseline above 0, got {baseline:g} m"):
            reconstruct(method, right=frame_of(pair().right.image, baseline_m=baseline))


def test_depth_matrix_uses_disparities_in_pixels_not_sixteenths() -> None:
    matrix = {f"Element_{row}_{column}": 0.0 for row in range(4) for column in range(4)}
    matrix |= {"Element_0_0": 1.0, "Element_1_1": 1.0, "Element_2_3": 100.0, "Element_3_2": 10.0}
    parameters = {"GeneralParameters": {"UseDisparityToDepthMap": True}, "DisparityToDepthMap": matrix}
    points = reconstruct("HirschmullerDisparityMapping", parameters)
    assert np.median(points[:, 2]) == pytest.approx(100 / (10 * SHIFT), rel=1e-6)


def test_points_are_limited_and_decimated() -> None:
    method = "HirschmullerDisparityMapping"
    whole = reconstruct(method)
    tenth = reconstruct(method, {"GeneralParameters": {"PointCloudSamplingDensity": 0.1}})
    assert np.array_equal(tenth, whole[9::10])
    near = reconstruct(method, {"ReconstructionSpace": {"LimitX": 0.1013, "LimitY": 0.2013, "LimitZ": 0.5001}})
    inside = (np.abs(whole) <= [0.1013, 0.2013, 0.5001]).all(axis=1)
    assert 0 < inside.sum() < len(whole)
    assert np.array_equal(near, whole[inside])
    voxels = {"GeneralParameters": {"PointCloudSamplingDensity": 0.0, "VoxelGridLeafSize": 0.1}}
    assert 0 < len(reconstruct(method, voxels)) < len(whole) / 50


@pytest.mark.parametrize("algorithm", [0, 1])
def test_disparities_are_sixteenths_and_not_positive_if_missing(algorithm: int) -> None:
    settings = {"algorithm": algorithm, "numDisparities": 32, "minDisparity": 10, "blockSize": 9}
    step = step_of("DisparityImage", "DisparityImage")({"stereoMatcherParams": settings})
    disparity: Frame = step.process(framePair=pair())["disparity"]
    assert (disparity.encoding, disparity.scale, disparity.offset, disparity.baseline_m) == ("16SC1", 16, 0, 0.1)
    assert (disparity.camera, disparity.stamp_ns) == (SMALL, 5)
    assert np.median(disparity.image[disparity.image > 0]) == SHIFT * 16
    assert (disparity.image[:, :10] <= 0).all(), "the left edge sees nothing that the right picture has"
    cloud = step_of("DisparityToPointCloud", "DisparityToPointCloud")().process(dispImage=disparity)["pointCloud"]
    assert np.median(cloud.points[:, 2]) == pytest.approx(0.5, rel=1e-6)


def test_colours_are_distinguished_by_their_encoding() -> None:
    grey = pair()
    for encoding, code in (("rgb8", cv2.COLOR_GRAY2RGB), ("bgra8", cv2.COLOR_GRAY2BGRA)):
        frames = {
            side: frame_of(cv2.cvtColor(getattr(grey, side).image, code), encoding=encoding, baseline_m=0.1)
            for side in ("left", "right")
        }
        assert np.array_equal(reconstruct("DisparityMapping", **frames), reconstruct("DisparityMapping"))


@pytest.mark.parametrize(
    ("left", "message"),
    [
        (frame_of(np.zeros((120, 160), np.uint8)), "expected images of the same things, got none in 19200 pixels"),
        (frame_of(np.zeros((50, 60), np.uint8)), "expected an image of 60 x 50 pixels as left, got 160 x 120"),
        (frame_of(np.zeros((0, 0), np.uint8)), "left: expected an image, got one of 0 x 0 pixels"),
        (frame_of(np.zeros((120, 160), np.float32), encoding="32FC1"), "left: expected an image in mono8, .* got 32F"),
    ],
)
def test_textureless_images_are_rejected(left: Frame, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        reconstruct("DisparityMapping", left=left)


@pytest.mark.parametrize(
    ("dfn", "implementation", "settings", "message"),
    [
        (
            "StereoReconstruction",
            METHODS[0],
            {"Disparities": {"SmoothnessParameter1": 9}},
            "second penalty above the fir",
        ),
        ("StereoReconstruction", METHODS[0], {"Disparities": {"NumberOfIntervals": 65}}, "a multiple of 16, got 65"),
        (
            "StereoReconstruction",
            METHODS[0],
            {"BlocksMatching": {"BlockSize": 4}},
            "BlockSize: expected odd: true, got 4",
        ),
        (
            "StereoReconstruction",
            METHODS[0],
            {"GeneralParameters": {"VoxelGridLeafSize": 0.1}},
            "expected one of PointCl",
        ),
        (
            "StereoReconstruction",
            METHODS[0],
            {"Disparities": {"UseMaximumDifference": True}},
            "a MaximumDifference, got ",
        ),
        (
            "StereoReconstruction",
            METHODS[1],
            {"BlocksMatching": {"BlockSize": 3}},
            "a block size of 5 to 255 for block",
        ),
        ("DisparityImage", "DisparityImage", {"stereoMatcherParams": {"preFilterCap": 64}}, "at most 63, got 64"),
        ("DisparityImage", "DisparityImage", {"filterParams": {"useFilter": True}}, "modules of OpenCV that are not"),
    ],
)
def test_inconsistent_settings_are_reported(dfn: str, implementation: str, settings: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        step_of(dfn, implementation)(settings)
