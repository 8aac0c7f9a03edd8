from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from fieldplay.core.errors import UsageError
from fieldplay.projection.cameras import camera_from_numbers
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
WAYS = ("HirschmullerDisparityMapping", "DisparityMapping")


def frame_of(image: NDArray[Any], **more: Any) -> Frame:
    return Frame(image=image, **{"camera": SMALL, "stamp_ns": 5, **more})


def pair(width: int = 160, height: int = 120) -> FramePair:
    """A wall of spots, SHIFT pixels nearer to the left in the right picture."""
    wall = np.random.default_rng(0).integers(0, 256, (height, width + SHIFT)).astype(np.uint8)
    wall = np.asarray(cv2.GaussianBlur(wall, (5, 5), 1.0), np.uint8)
    left, right = np.ascontiguousarray(wall[:, :width]), np.ascontiguousarray(wall[:, SHIFT:])
    return FramePair(left=frame_of(left), right=frame_of(right, baseline_m=0.1))


def reconstructed(way: str, given: dict[str, dict[str, Any]] | None = None, **frames: Frame) -> Array:
    both = {"left": pair().left, "right": pair().right, **frames}
    cloud: Cloud = step_of("StereoReconstruction", way)(given).process(**both)["pointcloud"]
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
def test_a_disparity_is_a_point(u: float, v: float, disparity: float, point: tuple[float, ...]) -> None:
    """Half pixels by a camera whose middle is moved by as much."""
    image = np.zeros((772, 1032), np.int16)
    image[int(v), int(u)] = disparity * 16
    matrix = [F, 0, CX - u + int(u), 0, F, CY - v + int(v), 0, 0, 1]
    camera = camera_from_numbers(matrix, [0] * 5, "plumb_bob", width=1032, height=772)
    frame = Frame(image=image, encoding="16SC1", scale=16.0, camera=camera, baseline_m=BASELINE)
    cloud = step_of("DisparityToPointCloud", "DisparityToPointCloud")().process(dispImage=frame)["pointCloud"]
    assert cloud.points == pytest.approx(np.array([point]), rel=1e-6, abs=1e-9)


def test_points_keep_their_grey_values_and_pixels_without_a_disparity_have_none() -> None:
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


@pytest.mark.parametrize("way", WAYS)
def test_a_wall_stands_where_it_is(way: str) -> None:
    points = reconstructed(way)
    depth = 100 * 0.1 / SHIFT
    assert len(points) > 0.3 * 160 * 120
    assert np.median(points[:, 2]) == pytest.approx(depth, abs=1e-6)
    right = points[np.abs(points[:, 2] - depth) < 1e-6]
    assert np.abs(right[:, :2] * 100 / depth - np.rint(right[:, :2] * 100 / depth)).max() < 1e-4, "whole pixels"


@pytest.mark.parametrize("way", WAYS)
def test_what_the_settings_tell_of_the_camera_comes_before_the_images_own(way: str) -> None:
    camera = {"LeftFocalLength": 200.0, "LeftPrinciplePointX": 10.0, "LeftPrinciplePointY": 20.0, "Baseline": 0.3}
    own = reconstructed(way)
    told = reconstructed(way, {"StereoCamera": camera})
    assert np.median(told[:, 2]) == pytest.approx(200 * 0.3 / SHIFT, rel=1e-6)
    assert np.median(told[:, 0]) > np.median(own[:, 0])
    with pytest.raises(ValueError, match="left: expected a picture of a known camera, got one without"):
        reconstructed(way, left=Frame(image=pair().left.image))
    with pytest.raises(
        ValueError, match="left: expected a picture of 1032 x 772 pixels as its camera has, got 160 x 1"
    ):
        reconstructed(way, left=frame_of(pair().left.image, camera=CAMERA))
    for baseline in (0.0, -0.1):
        with pytest.raises(ValueError, match=f"left: expected a baseline above 0, got {baseline:g} m"):
            reconstructed(way, right=frame_of(pair().right.image, baseline_m=baseline))


def test_a_matrix_takes_disparities_in_pixels_not_in_sixteenths() -> None:
    matrix = {f"Element_{row}_{column}": 0.0 for row in range(4) for column in range(4)}
    matrix |= {"Element_0_0": 1.0, "Element_1_1": 1.0, "Element_2_3": 100.0, "Element_3_2": 10.0}
    given = {"GeneralParameters": {"UseDisparityToDepthMap": True}, "DisparityToDepthMap": matrix}
    points = reconstructed("HirschmullerDisparityMapping", given)
    assert np.median(points[:, 2]) == pytest.approx(100 / (10 * SHIFT), rel=1e-6)


def test_points_beyond_the_limits_go_and_of_the_others_every_so_manieth_stays() -> None:
    way = "HirschmullerDisparityMapping"
    whole = reconstructed(way)
    tenth = reconstructed(way, {"GeneralParameters": {"PointCloudSamplingDensity": 0.1}})
    assert np.array_equal(tenth, whole[9::10])
    near = reconstructed(way, {"ReconstructionSpace": {"LimitX": 0.1013, "LimitY": 0.2013, "LimitZ": 0.5001}})
    inside = (np.abs(whole) <= [0.1013, 0.2013, 0.5001]).all(axis=1)
    assert 0 < inside.sum() < len(whole)
    assert np.array_equal(near, whole[inside])
    voxels = {"GeneralParameters": {"PointCloudSamplingDensity": 0.0, "VoxelGridLeafSize": 0.1}}
    assert 0 < len(reconstructed(way, voxels)) < len(whole) / 50


@pytest.mark.parametrize("algorithm", [0, 1])
def test_disparities_are_in_sixteenths_and_not_above_0_where_there_are_none(algorithm: int) -> None:
    settings = {"algorithm": algorithm, "numDisparities": 32, "minDisparity": 10, "blockSize": 9}
    step = step_of("DisparityImage", "DisparityImage")({"stereoMatcherParams": settings})
    found: Frame = step.process(framePair=pair())["disparity"]
    assert (found.encoding, found.scale, found.offset, found.baseline_m) == ("16SC1", 16, 0, 0.1)
    assert (found.camera, found.stamp_ns) == (SMALL, 5)
    assert np.median(found.image[found.image > 0]) == SHIFT * 16
    assert (found.image[:, :10] <= 0).all(), "the left edge sees nothing that the right picture has"
    cloud = step_of("DisparityToPointCloud", "DisparityToPointCloud")().process(dispImage=found)["pointCloud"]
    assert np.median(cloud.points[:, 2]) == pytest.approx(0.5, rel=1e-6)


def test_colours_are_told_apart_by_their_encoding() -> None:
    grey = pair()
    for encoding, code in (("rgb8", cv2.COLOR_GRAY2RGB), ("bgra8", cv2.COLOR_GRAY2BGRA)):
        frames = {
            side: frame_of(cv2.cvtColor(getattr(grey, side).image, code), encoding=encoding, baseline_m=0.1)
            for side in ("left", "right")
        }
        assert np.array_equal(reconstructed("DisparityMapping", **frames), reconstructed("DisparityMapping"))


@pytest.mark.parametrize(
    ("left", "message"),
    [
        (frame_of(np.zeros((120, 160), np.uint8)), "expected pictures of the same things, got none in 19200 pixels"),
        (frame_of(np.zeros((50, 60), np.uint8)), "expected a picture of 60 x 50 pixels as left, got 160 x 120"),
        (frame_of(np.zeros((0, 0), np.uint8)), "left: expected a picture, got one of 0 x 0 pixels"),
        (frame_of(np.zeros((120, 160), np.float32), encoding="32FC1"), "left: expected a picture in mono8, .* got 32F"),
    ],
)
def test_images_that_tell_nothing_are_refused(left: Frame, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        reconstructed("DisparityMapping", left=left)


@pytest.mark.parametrize(
    ("dfn", "implementation", "given", "message"),
    [
        ("StereoReconstruction", WAYS[0], {"Disparities": {"SmoothnessParameter1": 9}}, "second penalty above the fir"),
        ("StereoReconstruction", WAYS[0], {"Disparities": {"NumberOfIntervals": 65}}, "a multiple of 16, got 65"),
        ("StereoReconstruction", WAYS[0], {"BlocksMatching": {"BlockSize": 4}}, "BlockSize: expected odd: true, got 4"),
        ("StereoReconstruction", WAYS[0], {"GeneralParameters": {"VoxelGridLeafSize": 0.1}}, "expected one of PointCl"),
        ("StereoReconstruction", WAYS[0], {"Disparities": {"UseMaximumDifference": True}}, "a MaximumDifference, got "),
        ("StereoReconstruction", WAYS[1], {"BlocksMatching": {"BlockSize": 3}}, "a block size of 5 to 255 for block"),
        ("DisparityImage", "DisparityImage", {"stereoMatcherParams": {"preFilterCap": 64}}, "at most 63, got 64"),
        ("DisparityImage", "DisparityImage", {"filterParams": {"useFilter": True}}, "modules of OpenCV that are not"),
    ],
)
def test_settings_that_do_not_fit_are_told(dfn: str, implementation: str, given: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        step_of(dfn, implementation)(given)
