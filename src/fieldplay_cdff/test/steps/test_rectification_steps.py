from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from fieldplay.core.errors import UsageError
from fieldplay.geometry.camera_model import CameraModel, camera_from_numbers, pixels_from_points
from fieldplay.geometry.transforms import rotation_from_vector
from fieldplay_cdff.steps.rectification_steps import (
    StereoCalibration,
    maps_to,
    pinhole_camera,
    rectify,
)
from fieldplay_cdff.steps.step import step_of
from fieldplay_cdff.steps.values import Frame, FramePair

K1, D1 = [868.664, 0, 519.775, 0, 868.505, 383.36, 0, 0, 1], [-0.188116, 0.227419, 0, 0, 0]
K2, D2 = [867.226, 0, 519.111, 0, 867.128, 390.755, 0, 0, 1], [-0.183758, 0.221971, 0, 0, 0]
LEFT = camera_from_numbers(K1, D1, "plumb_bob", width=1032, height=772)
RIGHT = camera_from_numbers(K2, D2, "plumb_bob", width=1032, height=772)
TURN, SHIFT = rotation_from_vector([0.002, -0.004, 0.001]), np.array([-0.0929, 0.0004, -0.0007])
GROUP = {"FocalLengthX": 868.664, "FocalLengthY": 868.505, "PrinciplePointX": 519.775, "PrinciplePointY": 383.36}
SMALL = camera_from_numbers([60, 0, 40, 0, 60, 30, 0, 0, 1], [-0.2, 0.05, 0, 0, 0], "plumb_bob", width=80, height=60)


def ramp(camera: CameraModel = LEFT, **more: Any) -> Frame:
    """A picture whose values are its columns."""
    image = np.tile(np.arange(camera.width, dtype=np.float32), (camera.height, 1))
    return Frame(image=image, encoding="32FC1", camera=camera, **more)


def undistort(frame: Frame, implementation: str = "ImageUndistortion", **parameters: Any) -> Frame:
    result: Frame = step_of("ImageFiltering", implementation)(parameters).process(image=frame)["image"]
    return result


def test_pixels_are_sampled_through_lens_distortion() -> None:
    columns, rows = maps_to(LEFT, pinhole_camera(LEFT, LEFT.matrix))
    for (u, v), (x, y) in {
        (0, 0): (17.926763515, 13.221882663),
        (100, 700): (116.117612166, 687.842342407),
        (1031, 771): (1013.137667980, 757.455759432),
    }.items():
        assert (columns[v, u], rows[v, u]) == pytest.approx((x, y), rel=1e-6)


def test_image_is_undistorted_by_its_own_camera_or_by_settings() -> None:
    own = undistort(ramp())
    assert own.image[700, 100] == pytest.approx(116.117612166, abs=1e-4 * 255)
    assert own.camera is not None
    assert not own.camera.coefficients.any()
    assert np.array_equal(own.camera.matrix, LEFT.matrix)
    by_settings = undistort(replace(ramp(), camera=None), CameraMatrix=GROUP, Distortion={"K1": D1[0], "K2": D1[1]})
    assert np.array_equal(by_settings.image, own.image)
    more = {"K1": 0.1, "K3": 0.3, "UseK3": True, "UseK4ToK6": True, "K6": 0.2}
    assert not np.array_equal(undistort(ramp(), CameraMatrix=GROUP, Distortion=more).image, own.image)
    with pytest.raises(ValueError, match="image: expected an image of a known camera, got one without"):
        undistort(replace(ramp(), camera=None))
    with pytest.raises(ValueError, match="image: expected an image of 80 x 60 pixels as its camera has, got 1032 x 7"):
        undistort(replace(ramp(), camera=SMALL))
    with pytest.raises(UsageError, match="expected UseK3 with UseK4ToK6"):
        undistort(ramp(), Distortion={"UseK4ToK6": True})


def test_image_is_rotated_and_resized(tmp_path: Path) -> None:
    turn = rotation_from_vector([0, 0.1, 0])
    matrix = {f"Element_{row}_{column}": float(turn[row, column]) for row in range(3) for column in range(3)}
    name = "ImageUndistortionRectification"
    result = undistort(
        ramp(), name, CameraMatrix=GROUP, RectificationMatrix=matrix, ImageSize={"Width": 700, "Height": 500},
        GeneralParameters={"CameraConfigurationMode": "Internal", "ConstantBorderValue": -5.0},
    )  # fmt: skip
    assert result.image.shape == (500, 700)
    ray = turn.T @ [(300 - 519.775) / 868.664, (400 - 383.36) / 868.505, 1]
    pixel = pixels_from_points(replace(LEFT, distortion=(0.0,) * 5), ray[None])[0][0]
    assert result.image[400, 300] == pytest.approx(pixel[0], abs=0.03)
    assert (result.image == -5).any()
    own = undistort(ramp(), name)
    assert np.array_equal(own.image, undistort(ramp()).image), "no file of maps: its own camera"

    file = tmp_path / "maps.yml"
    columns, rows = (numbers.astype(np.float32) for numbers in np.meshgrid(np.arange(20) + 3, np.arange(10)))
    storage = cv2.FileStorage(str(file), cv2.FILE_STORAGE_WRITE)
    storage.write("Map1", columns)
    storage.write("Map2", rows)
    storage.release()
    by_maps = undistort(ramp(), name, GeneralParameters={"TransformMapsFilePath": str(file)})
    assert by_maps.image.tolist() == (columns).tolist()
    for path, message in ((tmp_path / "no.yml", "there is none"), (_other(tmp_path), "expected numbers of Map1, got ")):
        with pytest.raises(UsageError, match=message):
            undistort(ramp(), name, GeneralParameters={"TransformMapsFilePath": str(path)})


def _other(folder: Path) -> Path:
    storage = cv2.FileStorage(str(folder / "other.yml"), cv2.FILE_STORAGE_WRITE)
    storage.write("Map3", np.eye(3))
    storage.release()
    return folder / "other.yml"


def rectify_alone(frame: Frame, **parameters: Any) -> Frame:
    step = step_of("ImageRectification", "ImageRectification")({"ImageRectificationParams": parameters})
    result: Frame = step.process(originalImage=frame)["rectifiedImage"]
    return result


def test_image_is_rectified_by_its_own_camera() -> None:
    assert np.array_equal(rectify_alone(ramp()).image, undistort(ramp()).image)
    half = rectify_alone(ramp(), xratio=2, yratio=2).camera
    assert half is not None
    assert half.matrix[[0, 0], [0, 2]] == pytest.approx([434.332, (519.775 + 0.5) / 2 - 0.5])
    whole = rectify_alone(ramp(), scaling=1.0)
    inside = rectify_alone(ramp(), scaling=0.0)
    assert whole.camera is not None
    assert inside.camera is not None
    assert whole.camera.matrix[0, 0] < inside.camera.matrix[0, 0]
    centred = rectify_alone(ramp(), centerPrincipalPoint=True).camera
    assert centred is not None
    assert centred.matrix[:2, 2].tolist() == [515.5, 385.5]
    angled = camera_from_numbers(K1, [0.05, 0.01, 0, 0], "equidistant", width=1032, height=772)
    by_angle = rectify_alone(ramp(angled))
    point = np.array([[0.4, -0.3, 1.0]])
    seen = (pixels_from_points(by_angle.camera, point)[0][0]).round().astype(int)
    ray = np.array([[(seen[0] - 519.775) / 868.664, (seen[1] - 383.36) / 868.505, 1]])
    assert by_angle.image[seen[1], seen[0]] == pytest.approx(pixels_from_points(angled, ray)[0][0, 0], abs=0.03)
    flat = camera_from_numbers(K1, [0.05, 0.01, 0, 0], "plumb_bob", width=1032, height=772)
    assert np.array_equal(rectify_alone(ramp(flat), fisheye=True).image, by_angle.image)
    assert rectify_alone(ramp(angled), scaling=0.5).camera.matrix[0, 0] > 0


def test_two_cameras_are_rotated_to_parallel_axes() -> None:
    turns, (left, right), baseline = rectify(StereoCalibration(LEFT, RIGHT, TURN, SHIFT), (1032, 772), -1)
    requested = [
        [[0.999979703, -0.005294437, 0.003544409], [0.005298000, 0.999985469, -0.000996793],
         [-0.003539080, 0.001015551, 0.999993222]],
        [[0.999962345, -0.004305543, 0.007534700], [0.004297959, 0.999990241, 0.001022378],
         [-0.007539028, -0.000989956, 0.999971091]],
    ]  # fmt: skip
    assert np.array(turns) == pytest.approx(np.array(requested), abs=1e-6)
    for camera in (left, right):
        assert camera.matrix[[0, 0, 1], [0, 2, 2]] == pytest.approx([867.8165, 512.724189758, 387.062782288], rel=1e-6)
    assert baseline * left.matrix[0, 0] == pytest.approx(80.623188749, rel=1e-6)
    assert 1 / baseline == pytest.approx(10.763857315, rel=1e-6)


def write_calibration(file: Path, shift: Any = SHIFT) -> None:
    storage = cv2.FileStorage(str(file), cv2.FILE_STORAGE_WRITE)
    storage.write("image_width", 1032)
    storage.write("image_height", 772)
    for number, camera in enumerate((LEFT, RIGHT), 1):
        storage.write(f"camera_matrix_{number}", camera.matrix)
        storage.write(f"distortion_coefficients_{number}", camera.coefficients.reshape(1, -1))
    storage.write("rotation_matrix", TURN)
    storage.write("translation_coefficients", np.reshape(shift, (3, 1)))
    storage.release()


def pair_rectified(pair: FramePair, **parameters: Any) -> FramePair:
    step = step_of("StereoRectification", "StereoRectification")({"StereoRectificationParams": parameters})
    result: FramePair = step.process(originalStereoPair=pair)["rectifiedStereoPair"]
    return result


def test_pair_is_rectified_by_file_or_by_its_own_cameras(tmp_path: Path) -> None:
    pair = FramePair(left=ramp(LEFT), right=ramp(RIGHT, baseline_m=0.09))
    write_calibration(tmp_path / "a-b.yml")
    for path in (tmp_path, tmp_path / "a-b.yml"):
        result = pair_rectified(pair, calibrationFilePath=str(path))
        assert result.baseline_m == pytest.approx(80.623188749 / 867.8165, rel=1e-6)
    assert result.left.camera is not None
    assert result.left.camera.matrix[0, 0] == pytest.approx(867.8165, rel=1e-6)
    own = pair_rectified(pair)
    assert own.baseline_m == pytest.approx(0.09)
    assert own.left.image.shape == (772, 1032)
    assert pair_rectified(pair, xratio=2, yratio=2).right.image.shape == (386, 516)
    with pytest.raises(ValueError, match="originalStereoPair: expected a baseline above 0, got 0 m"):
        pair_rectified(FramePair(left=pair.left, right=pair.left))


def test_incomplete_calibration_is_rejected(tmp_path: Path) -> None:
    pair = FramePair(left=ramp(LEFT), right=ramp(RIGHT, baseline_m=0.09))
    with pytest.raises(UsageError, match=r"expected one .yml in this folder, got none"):
        pair_rectified(pair, calibrationFilePath=str(tmp_path))
    write_calibration(tmp_path / "a-b.yml", shift=-SHIFT)
    with pytest.raises(UsageError, match=r"a-b.yml: expected .* with x below 0, got \(3, 3\) and \[0.0929"):
        pair_rectified(pair, calibrationFilePath=str(tmp_path))
    write_calibration(tmp_path / "c-d.yml")
    with pytest.raises(UsageError, match=r"got a-b.yml, c-d.yml"):
        pair_rectified(pair, calibrationFilePath=str(tmp_path))
    (tmp_path / "bad.yml").write_text("%YAML:1.0\n---\nimage_width: [1,\n")
    with pytest.raises(UsageError, match=r"bad.yml: expected"):
        pair_rectified(pair, calibrationFilePath=str(tmp_path / "bad.yml"))
