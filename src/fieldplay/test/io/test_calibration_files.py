import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.io.calibration_files import CalibrationEntries, calibration_from_lines, entries_from_yaml

KALIBR = b"""\
cam0:
  T_cam_imu:
  - [0.0, -1.0, 0.0, 0.1]
  - [1.0, 0.0, 0.0, 0.2]
  - [0.0, 0.0, 1.0, 0.3]
  - [0.0, 0.0, 0.0, 1.0]
  camera_model: pinhole
  distortion_coeffs: [0.1, 0.2, 0.3, 0.4]
  distortion_model: equidistant
  intrinsics: [190.5, 191.5, 254.25, 256.75]
  resolution: [512, 500]
"""
ASL = b"""\
%YAML:1.0
sensor_type: camera
T_BS:
  cols: 4
  rows: 4
  data: [0.0, -1.0, 0.0, 0.1,
         1.0, 0.0, 0.0, 0.2,
         0.0, 0.0, 1.0, 0.3,
         0.0, 0.0, 0.0, 1.0]
rate_hz: 20
resolution: [752, 480]
camera_model: pinhole
intrinsics: [458.5, 457.25, 367.25, 248.5] #fu, fv, cu, cv
distortion_model: radial-tangential
distortion_coefficients: [-0.28, 0.07, 0.0002, 1.76e-05]
"""
OPENCV = b"""\
%YAML:1.0
---
image_width: 640
image_height: 480
camera_matrix: !!opencv-matrix
   rows: 3
   cols: 3
   dt: d
   data: [ 400.5, 0., 320.25, 0., 401.5, 240.75, 0., 0., 1. ]
distortion_coefficients: !!opencv-matrix
   rows: 1
   cols: 5
   dt: d
   data: [ 0.1, -0.2, 0.001, 0.002, 0.05 ]
"""
KITTI = (
    b"calib_time: 01-Jan-2012 12:00:00\n"
    b"R: 0.0 -1.0 0.0 0.02 0.0 -0.9998 0.9998 0.0 0.02\nT: -0.004 -0.076 -0.27\nP_rect_00: 1 2 3\n"
    b"Tr: 1 0 0 5 0 1 0 6 0 0 2 7\n"
)
TRANSFORM = [[0, -1, 0, 0.1], [1, 0, 0, 0.2], [0, 0, 1, 0.3], [0, 0, 0, 1]]
Issues = list[tuple[str, str]]


def parse(data: bytes) -> tuple[CalibrationEntries, Issues]:
    issues: Issues = []
    entries = entries_from_yaml(data, lambda kind, message: issues.append((kind, message)))
    return entries or CalibrationEntries({}, lambda kind, message: None), issues


def test_camera_and_transform_of_kalibr() -> None:
    entries, issues = parse(KALIBR)
    camera = entries.camera("cam0")
    assert camera is not None
    assert (camera.width, camera.height, camera.fx, camera.fy, camera.cx, camera.cy) == (
        512, 500, 190.5, 191.5, 254.25, 256.75,
    )  # fmt: skip
    assert (camera.distortion_model, camera.distortion) == ("equidistant", (0.1, 0.2, 0.3, 0.4))
    np.testing.assert_array_equal(entries.transform("cam0", "T_cam_imu"), TRANSFORM)
    assert issues == []


def test_camera_and_transform_of_asl() -> None:
    entries, issues = parse(ASL)
    camera = entries.camera()
    assert camera is not None
    assert (camera.width, camera.height, camera.cx) == (752, 480, 367.25)
    assert (camera.distortion_model, camera.distortion) == ("plumb_bob", (-0.28, 0.07, 0.0002, 1.76e-05, 0.0))
    np.testing.assert_array_equal(entries.transform("T_BS"), TRANSFORM)
    assert issues == []


def test_camera_of_opencv() -> None:
    entries, issues = parse(OPENCV)
    camera = entries.opencv_camera()
    assert camera is not None
    assert (camera.fx, camera.fy, camera.cx, camera.cy) == (400.5, 401.5, 320.25, 240.75)
    assert (camera.distortion_model, camera.distortion) == ("plumb_bob", (0.1, -0.2, 0.001, 0.002, 0.05))
    assert issues == []


def test_camera_info_of_ros_names_its_model() -> None:
    text = OPENCV.replace(b"%YAML:1.0\n---\n", b"distortion_model: equidistant\n").replace(b", 0.05 ]", b"]")
    camera = parse(text)[0].opencv_camera()
    assert camera is not None
    assert camera.distortion_model == "equidistant"


@pytest.mark.parametrize(
    ("old", "new", "kind", "message"),
    [
        (b"intrinsics: [190.5, ", b"intrinsics: [", "bad_value", "cam0.intrinsics: expected 4 numbers, got [191.5"),
        (b"  resolution: [512, 500]\n", b"", "missing_key", "expected an entry cam0.resolution, got none"),
        (b"resolution: [512, 500]", b"resolution: [512, 0]", "bad_value", "expected focal lengths and a resolution"),
        (b"equidistant", b"fov", "bad_value", "cam0.distortion_model: expected radtan or"),
        (b"pinhole", b"omni", "bad_value", "cam0.camera_model: expected pinhole, got omni"),
        (b"190.5", b".nan", "bad_value", "cam0.intrinsics: expected 4 numbers"),
        (b"equidistant", b"[1, 2]", "bad_value", "cam0.distortion_model"),
    ],
)
def test_entry_that_cannot_be_used_is_named(old: bytes, new: bytes, kind: str, message: str) -> None:
    entries, issues = parse(KALIBR.replace(old, new))
    assert entries.camera("cam0") is None
    assert [(each, message in text) for each, text in issues] == [(kind, True)]


def test_matrix_that_is_no_rotation_is_rejected() -> None:
    entries, issues = parse(KALIBR.replace(b"[0.0, 0.0, 1.0, 0.3]", b"[0.0, 0.0, -1.0, 0.3]"))
    assert entries.transform("cam0", "T_cam_imu") is None
    assert issues == [("bad_value", "cam0.T_cam_imu: expected a rotation in its first three columns, got none")]


@pytest.mark.parametrize("data", [b"", b"- 1\n", b"a: [1,\n", b"\xff\xfe", b"text"])
def test_file_that_is_no_calibration_is_reported(data: bytes) -> None:
    entries, issues = parse(data)
    assert entries.content == {}
    assert [kind for kind, _ in issues] == ["unreadable_calibration"]


def test_transform_of_kitti_is_a_rotation_and_a_translation() -> None:
    issues: list[tuple[int | None, str, str]] = []
    calibration = calibration_from_lines(KITTI, lambda *issue: issues.append(issue))
    transform = calibration.transform("R", "T")
    assert transform is not None
    np.testing.assert_array_equal(transform[:3, 3], [-0.004, -0.076, -0.27])
    turned = Rotation.from_matrix(transform[:3, :3]).apply([1.0, 0.0, 0.0])
    np.testing.assert_allclose(turned, [0.0, 0.02, 0.9998], atol=1e-4)  # forward is z of the camera
    assert issues == []


@pytest.mark.parametrize(
    ("name", "line", "kind", "message"),
    [
        ("P_rect_01", None, "missing_key", "expected a line 'P_rect_01:', got none"),
        ("P_rect_00", 4, "bad_value", "P_rect_00: expected 12 numbers, got 3"),
        ("calib_time", 1, "bad_value", "calib_time: expected 12 numbers, got text"),
        ("Tr", 5, "bad_value", "Tr: expected a rotation"),
    ],
)
def test_line_of_kitti_that_cannot_be_used_is_named(name: str, line: int | None, kind: str, message: str) -> None:
    issues: list[tuple[int | None, str, str]] = []
    assert calibration_from_lines(KITTI, lambda *issue: issues.append(issue)).rigid(name) is None
    ((got_line, got_kind, text),) = issues
    assert (got_line, got_kind) == (line, kind)
    assert message in text
