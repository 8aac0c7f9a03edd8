from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from fieldplay.geometry.camera_model import camera_from_numbers
from fieldplay_cdff.steps.step import step_of
from fieldplay_cdff.steps.values import Frame, FramePair

CAMERA = camera_from_numbers(
    [867, 0, 516, 0, 868, 386, 0, 0, 1], [0.1, 0, 0, 0, 0], "plumb_bob", width=1032, height=772
)


def filter_image(implementation: str, frame: Frame, **parameters: dict[str, Any]) -> NDArray[Any]:
    result: Frame = step_of("ImageFiltering", implementation)(parameters).process(image=frame)["image"]
    return result.image


def convert_colours(frame: Frame, mode: int | str) -> Frame:
    step = step_of("ColorConversion", "ColorConversion")({"ColorConversionParams": {"targetMode": mode}})
    converted: Frame = step.process(originalImage=frame)["convertedImage"]
    return converted


def smooth(image: NDArray[Any], encoding: str, side: int = 3) -> NDArray[Any]:
    step = step_of("DepthFiltering", "ConvolutionFilter")({"GeneralParameters": {"KernelSize": side}})
    smoothed: Frame = step.process(inputFrame=Frame(image=image, encoding=encoding))["ouputFrame"]
    return smoothed.image


def test_colours_are_converted_by_image_encoding() -> None:
    red = np.zeros((2, 2, 3), np.uint8)
    red[..., 0] = 255
    assert convert_colours(Frame(image=red, encoding="rgb8"), 1).image.tolist() == [[76, 76], [76, 76]]
    assert convert_colours(Frame(image=red, encoding="bgr8"), "GRAY").image[0, 0] == 29, "blue"
    frame = convert_colours(Frame(image=red, encoding="rgb8", stamp_ns=7, camera=CAMERA), 4)
    assert (frame.encoding, frame.stamp_ns, frame.camera) == ("bgr8", 7, CAMERA)
    assert frame.image[0, 0].tolist() == [0, 0, 255]
    assert convert_colours(Frame(image=red, encoding="rgb8"), "HSV").image[0, 0].tolist() == [0, 255, 255]
    assert convert_colours(Frame(image=red[..., 0]), "RGBA").image[0, 0].tolist() == [255, 255, 255, 255]
    for mode in (2, 5, 7, 8, 10, 11, 12, 13):
        assert convert_colours(Frame(image=red, encoding="rgb8"), mode).image.shape[2] in (3, 4)
    with pytest.raises(ValueError, match=r"originalImage: expected an image in bgr8, mono8, .*, got 32FC1"):
        convert_colours(Frame(image=np.zeros((2, 2), np.float32), encoding="32FC1"), 1)


def test_depths_are_smoothed_with_reflected_border() -> None:
    depths = np.arange(25, dtype=np.float32).reshape(5, 5)
    depths[2, 2] = 100
    result = smooth(depths, "32FC1")
    assert result[0] == pytest.approx([4, 4.333333, 5.333333, 6.333333, 6.666667], rel=1e-6)
    assert result[2] == pytest.approx([10.666667, 20.777778, 21.777778, 22.777778, 13.333333], rel=1e-6)
    assert smooth(depths.astype(np.uint16), "16UC1")[2].tolist() == [11, 21, 22, 23, 13]
    depths[2, 2] = np.nan
    holed = smooth(depths, "32FC1")
    assert np.argwhere(np.isnan(holed)).tolist() == [[2, 2]], "what is not known stays so, and spoils nothing"
    assert holed[1, 1] == pytest.approx(np.delete(np.arange(25).reshape(5, 5)[:3, :3].ravel(), 8).mean())
    with pytest.raises(ValueError, match=r"inputFrame: expected depths as 16UC1, .* got mono8 as uint8"):
        smooth(np.zeros((3, 3), np.uint8), "mono8")


def test_half_size_image_scales_camera_matrix() -> None:
    frame = Frame(image=np.arange(1032 * 772, dtype=np.float32).reshape(772, 1032), encoding="32FC1", camera=CAMERA)
    small: Frame = step_of("ImageDegradation", "ImageDegradation")().process(originalImage=frame)["degradedImage"]
    assert small.image.shape == (386, 516)
    assert small.image[0, 0] == pytest.approx((0 + 1 + 1032 + 1033) / 4)
    assert small.camera is not None
    assert (small.camera.width, small.camera.height) == (516, 386)
    assert small.camera.matrix[[0, 1, 0, 1], [0, 1, 2, 2]].tolist() == [433.5, 434, 257.75, 192.75]
    assert small.camera.distortion == CAMERA.distortion


def test_subsampled_pair_keeps_baseline() -> None:
    image = np.arange(40, dtype=np.uint8).reshape(5, 8)
    pair = FramePair(left=Frame(image=image), right=Frame(image=image + 1, baseline_m=0.1))
    step = step_of("StereoDegradation", "StereoDegradation")({"StereoDegradationParams": {"xratio": 4}})
    degraded: FramePair = step.process(originalImagePair=pair)["degradedImagePair"]
    assert degraded.left.image.tolist() == [[0, 4], [16, 20]]
    assert (degraded.right.image - degraded.left.image == 1).all()
    assert degraded.baseline_m == 0.1
    camera = camera_from_numbers([80, 0, 4, 0, 80, 2, 0, 0, 1], [0] * 5, "plumb_bob", width=8, height=4)
    whole = FramePair(left=Frame(image=image[:4], camera=camera), right=Frame(image=image[:4]))
    first = step_of("StereoDegradation", "StereoDegradation")().process(originalImagePair=whole)["degradedImagePair"]
    assert first.left.camera.matrix[[0, 1], 2].tolist() == [2, 1], "the first of four pixels stands half a pixel off"
    empty = FramePair(left=Frame(image=np.zeros((0, 4), np.uint8)), right=pair.right)
    with pytest.raises(ValueError, match=r"originalImagePair.left: expected an image, got one of 0 x 4 pixels"):
        step.process(originalImagePair=empty)


def test_edges_are_where_grey_values_change() -> None:
    image = np.zeros((20, 20), np.uint8)
    image[:, 10:] = 200
    edges = filter_image("CannyEdgeDetection", Frame(image=image), CannyEdgeDetection={"NoiseReductionKernelSize": 1})
    assert set(np.flatnonzero(edges[10])) <= {9, 10}
    assert edges.max() == 255
    across = filter_image("DerivativeEdgeDetection", Frame(image=image))
    assert np.flatnonzero(across[10]).tolist() == [0, 9, 10, 19][1:], "the constant rim is 0 as the left half"
    assert across[10, 9] == 255
    small = {"Scale": 0.125, "KernelType": "Sobel"}
    wrapped = filter_image(
        "DerivativeEdgeDetection",
        Frame(image=image),
        GeneralParameters={"BorderMode": "Wrap"},
        ConvolutionParameters=small,
    )
    assert wrapped[10, [0, 5, 9, 19]].tolist() == [100, 0, 100, 100]
    down = {"DerivativeDirection": "Vertical", "BorderMode": "Reflect"}
    assert not filter_image("DerivativeEdgeDetection", Frame(image=image), GeneralParameters=down).any()
    scharr = {"KernelType": "Scharr", "Scale": 1 / 32, "KernelSize": 7}
    assert filter_image("DerivativeEdgeDetection", Frame(image=image), ConvolutionParameters=scharr)[10, 9] == 100


def test_depths_become_cluster_means() -> None:
    depths = np.array([[1.0, 1.2, 5.0], [0.0, 5.4, np.nan], [9.0, 9.0, 1.1]], np.float32)
    result = filter_image("KMeansClustering", Frame(image=depths, encoding="32FC1"), KMeansClustering={"NumCenters": 3})
    assert result == pytest.approx(np.array([[1.1, 1.1, 5.2], [0, 5.2, 0], [9, 9, 1.1]]))
    nothing = filter_image("KMeansClustering", Frame(image=np.zeros((2, 2), np.uint16), encoding="16UC1"))
    assert not nothing.any()


def test_normals_of_point_image_face_camera() -> None:
    rows, columns = np.mgrid[:5, :6].astype(float)
    points = np.stack([columns * 0.1, rows * 0.1, 2 + columns * 0.1], axis=-1)
    points[4, 5] = np.nan
    normals = filter_image("NormalVectorExtraction", Frame(image=points, encoding="64FC3"))
    assert normals[2, 2] == pytest.approx([np.sqrt(0.5), 0, -np.sqrt(0.5)], rel=1e-6)
    assert np.isfinite(normals).all(axis=2).sum() == 3 * 4 - 1
    with pytest.raises(ValueError, match=r"image: expected points \(h, w, 3\) of 3 x 3 pixels or more, got \(2, 2\)"):
        filter_image("NormalVectorExtraction", Frame(image=np.zeros((2, 2))))


def walk(seed: int = 0) -> list[Frame]:
    """A square that walks over spots, and a speck that comes and goes."""
    ground = np.random.default_rng(seed).integers(60, 120, (60, 80)).astype(np.uint8)
    frames = []
    for step in range(12):
        image = ground.copy()
        if step >= 8:
            image[20:40, 5 * step : 5 * step + 20] = 250
            image[5, 5] = 250
        frames.append(Frame(image=image))
    return frames


@pytest.mark.parametrize("implementation", ["BackgroundSubtractorMOG2", "BackgroundExtraction"])
def test_moving_foreground_is_detected(implementation: str) -> None:
    parameters = {"GeneralParameters": {"ErosionSize": 3}} if implementation == "BackgroundSubtractorMOG2" else {}
    step = step_of("ImageFiltering", implementation)(parameters)
    frames = walk()
    masks = [step.process(image=frame)["image"].image for frame in frames]
    assert not masks[6].any()
    assert masks[-1][30, 65] == 255
    assert masks[-1][5, 5] == 0, "only the largest"
    assert 0.7 < np.count_nonzero(masks[-1]) / 400 < 2.5
    step.reset()
    again = [step.process(image=frame)["image"].image for frame in frames]
    assert all(np.array_equal(one, other) for one, other in zip(masks, again, strict=True))
    other = step.process(image=Frame(image=np.zeros((10, 12), np.uint8)))["image"]
    assert other.image.shape == (10, 12), "pictures of another size begin anew"


def test_filters_convert_colours_to_grey() -> None:
    image = cv2.cvtColor(walk()[-1].image, cv2.COLOR_GRAY2BGR)
    grey = filter_image("CannyEdgeDetection", walk()[-1])
    assert np.array_equal(filter_image("CannyEdgeDetection", Frame(image=image, encoding="bgr8")), grey)
