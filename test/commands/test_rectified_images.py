"""Rectified images of `--rectify`: what OpenCV makes of the same numbers, and rows on which both cameras agree."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import fieldplay
from fieldplay.cli.main import main
from fieldplay.convert.conversion import BagOptions, convert
from fieldplay.datasets.registry import open_dataset
from fieldplay.geometry.camera_model import CameraModel
from fieldplay.messages.record_decoder import camera_of_info
from fieldplay.messages.rectification import Rectification, camera_of_images
from fieldplay.topics.selection import Selection
from fieldplay.topics.topic_checks import check
from fieldplay_cdff.offline.offline_run import camera_info_topic
from support import tiny_rosario as tiny
from support.archive_messages import Messages, messages_of, xyzw
from support.bag_messages import messages_of_bag
from support.tiny_rosario import TinyRosario
from support.tiny_rosario_bag import RECTIFIED, TinyBag

CAMERAS = ("left", "right")
STEREO = Selection(topics="stereo", rectify=True)
RAW = Selection(topics="stereo", rectify=True, images="raw")
Array = NDArray[Any]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    archive = TinyRosario(tmp_path_factory.mktemp("rectified") / "sequence01", seconds=1)
    archive.write_all()
    return archive.root


@pytest.fixture(scope="module")
def messages(root: Path) -> Messages:
    return messages_of(root, RAW)


def matrices(camera: str) -> tuple[Array, Array, Array, Array]:
    """K, D, R, P of the archive's calibration and of the pair that the authors publish."""
    own: Any = tiny.CALIBRATION["cam0" if camera == "left" else "cam1"]
    fx, fy, cx, cy = own["intrinsics"]
    focal, x, y = RECTIFIED["f"], RECTIFIED["cx"], RECTIFIED["cy"]
    projection = np.array([[focal, 0, x, RECTIFIED["shift"] * (camera == "right")], [0, focal, y, 0], [0, 0, 1, 0]])
    rotation = np.reshape(RECTIFIED[camera], (3, 3))
    return np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1]]), np.array(own["distortion_coeffs"]), rotation, projection


def expected_image(camera: str, index: int) -> Array:
    k, d, r, p = matrices(camera)
    first, second = cv2.initUndistortRectifyMap(k, d, r, p[:, :3], (672, 376), cv2.CV_32FC1)
    return cv2.remap(tiny.pixels(camera, index), first, second, cv2.INTER_LINEAR)


@pytest.mark.parametrize("camera", CAMERAS)
def test_images_are_rectified_as_opencv_does_it(messages: Messages, camera: str) -> None:
    stamp, image = messages[f"stereo/{camera}/image_rect"][3]
    raw_stamp, raw = messages[f"stereo/{camera}/image_raw"][3]
    assert stamp == raw_stamp and image.header.stamp == raw.header.stamp
    assert (image.encoding, image.width, image.height) == ("bgr8", 672, 376)
    values = image.data.reshape(376, 672, 3).astype(int)
    difference = np.abs(values - expected_image(camera, 3))
    assert np.percentile(difference, 99) <= 3 and difference.mean() < 0.2
    assert np.abs(values - tiny.pixels(camera, 3)).max() > 100


@pytest.mark.parametrize("camera", CAMERAS)
def test_camera_info_of_rectified_images_fits_them(messages: Messages, camera: str) -> None:
    infos = messages[f"stereo/{camera}/camera_info_rect"]
    assert [stamp for stamp, _ in infos] == [stamp for stamp, _ in messages[f"stereo/{camera}/image_rect"]]
    info, raw = infos[0][1], messages[f"stereo/{camera}/camera_info"][0][1]
    projection = matrices(camera)[3]
    np.testing.assert_allclose(info.p.reshape(3, 4), projection, atol=0.01)
    np.testing.assert_allclose(info.k.reshape(3, 3), projection[:, :3], atol=0.01)
    assert info.r.tolist() == np.eye(3).reshape(-1).tolist() and not info.d.any()
    assert info.header.frame_id == f"{camera}_camera_rectified"
    assert (raw.header.frame_id, raw.p.tolist()) == (f"{camera}_camera", info.p.tolist())


def test_point_has_same_row_in_both_images_by_tf_and_camera_info(messages: Messages) -> None:
    """Through tf alone: from the left rectified frame by both cameras and the IMU to the right one."""
    static = {
        item.child_frame_id: (item.header.frame_id, item.transform) for item in messages["/tf_static"][0][1].transforms
    }
    assert static["left_camera_rectified"][0] == "left_camera"
    for camera in CAMERAS:
        rotation = Rotation.from_quat(xyzw(static[f"{camera}_camera_rectified"][1].rotation)).as_matrix()
        np.testing.assert_allclose(rotation, matrices(camera)[2].T, atol=1e-6)
    points = np.array([[0.4, -0.2, 2.0], [-1.0, 0.5, 4.0], [0.1, 0.3, 8.0]])
    in_right = points @ np.array(tiny.CALIBRATION["cam1"]["T_cn_cnm1"])[:3, :3].T  # type: ignore[call-overload]
    in_right += np.array(tiny.CALIBRATION["cam1"]["T_cn_cnm1"])[:3, 3]  # type: ignore[call-overload]
    rows = []
    for camera, own in (("left", points), ("right", in_right)):
        info = messages[f"stereo/{camera}/camera_info_rect"][0][1]
        seen = own @ matrices(camera)[2].T @ info.k.reshape(3, 3).T
        rows.append(seen[:, 1] / seen[:, 2])
    np.testing.assert_allclose(rows[0], rows[1], atol=0.01)


def test_packed_images_hold_same_without_loss(root: Path, messages: Messages) -> None:
    actual = messages_of(root, STEREO)
    packed = actual["stereo/right/image_rect/compressed"][2][1]
    assert packed.format == "png" and packed.header.frame_id == "right_camera_rectified"
    raw = messages["stereo/right/image_rect"][2][1].data.reshape(376, 672, 3)
    assert (cv2.imdecode(packed.data, cv2.IMREAD_UNCHANGED) == raw).all()


def test_without_option_there_are_none(root: Path) -> None:
    messages = messages_of(root, Selection(topics="stereo|tf_static"))
    assert not [topic for topic in messages if "rect" in topic]
    assert "left_camera_rectified" not in {item.child_frame_id for item in messages["/tf_static"][0][1].transforms}


def test_damaged_image_is_reported_once_and_is_missing_rectified_too(tmp_path: Path) -> None:
    archive = TinyRosario(tmp_path / "sequence01", seconds=1)
    archive.write_all()
    path = sorted((archive.root / "zed").glob("left_*"))[4]
    path.write_bytes(path.read_bytes()[:200])
    with open_dataset(archive.root) as opened:
        defects = check(opened, STEREO)
    assert [(defect.kind, defect.stream) for defect in defects] == [("damaged_picture", "left")]
    messages = messages_of(archive.root, STEREO)
    for topic in ("image_raw/compressed", "image_rect/compressed", "camera_info", "camera_info_rect"):
        assert len(messages[f"stereo/left/{topic}"]) == 14
        assert len(messages[f"stereo/right/{topic}"]) == 15


def test_authors_bag_gives_same(tmp_path: Path, messages: Messages) -> None:
    TinyBag(seconds=1).write(tmp_path / "sequence01.bag")
    actual = messages_of(tmp_path / "sequence01.bag", RAW)
    for camera in CAMERAS:
        one, other = (each[f"stereo/{camera}/image_rect"][5][1] for each in (actual, messages))
        assert np.percentile(np.abs(one.data.astype(int) - other.data), 99) <= 1


def test_camera_that_is_no_part_of_pair_loses_its_distortion_only(tiny_ameds: Any) -> None:
    messages = messages_of(tiny_ameds.root, Selection(topics="_cam/", rectify=True, images="raw", duration_s=0.1))
    info = messages["main_cam/camera_info_rect"][0][1]
    np.testing.assert_allclose(info.k, [885.015, 0, 955.893, 0, 887.440, 533.638, 0, 0, 1])
    assert not info.d.any() and info.header.frame_id == "main_cam"
    assert messages["main_cam/image_rect"][0][1].header.frame_id == "main_cam"
    assert not [item for item in messages["/tf_static"][0][1].transforms if item.child_frame_id.endswith("_rect")]


def test_convert_has_option(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(root), str(tmp_path / "bag"), "--rectify", "--topics", "stereo/left"]) == 0
    assert "61 messages on 5 topics" in capsys.readouterr().out


@pytest.fixture(scope="module")
def plain_bag(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive as a bag, of which nothing else is known."""
    bag = tmp_path_factory.mktemp("plain") / "bag"
    with open_dataset(root) as archive:
        convert(archive, bag, Selection(topics="stereo", images="raw"), BagOptions())
    return bag


def test_bag_s_images_are_rectified_by_camera_info_beside_them(
    plain_bag: Path, tmp_path: Path, messages: Messages
) -> None:
    assert main(["convert", str(plain_bag), str(tmp_path / "out"), "--rectify"]) == 0
    actual = messages_of_bag(tmp_path / "out")
    for camera in CAMERAS:
        for topic in ("image_rect", "camera_info_rect", "image_raw", "camera_info"):
            expected = messages[f"stereo/{camera}/{topic}"]
            same = actual[f"/rosario/stereo/{camera}/{topic}"]
            assert [stamp for stamp, _ in same] == [stamp for stamp, _ in expected]
            assert [message.header for _, message in same] == [message.header for _, message in expected]
        images = [each[4][1].data for each in (actual[f"/rosario/stereo/{camera}/image_rect"],
                                               messages[f"stereo/{camera}/image_rect"])]  # fmt: skip
        assert (images[0] == images[1]).all()
    children = {item.child_frame_id for _, message in actual["/tf_static"] for item in message.transforms}
    assert {"left_camera_rectified", "right_camera_rectified", "left_camera", "imu"} <= children


def test_bag_with_packed_images_has_packed_rectified_ones(root: Path, tmp_path: Path, messages: Messages) -> None:
    with open_dataset(root) as archive:
        convert(archive, tmp_path / "bag", Selection(topics="left"), BagOptions())
    assert main(["convert", str(tmp_path / "bag"), str(tmp_path / "out"), "--rectify", "--topics", "rect"]) == 0
    actual = messages_of_bag(tmp_path / "out")
    assert set(actual) == {"/rosario/stereo/left/image_rect/compressed", "/rosario/stereo/left/camera_info_rect"}
    packed = actual["/rosario/stereo/left/image_rect/compressed"][2][1]
    raw = messages["stereo/left/image_rect"][2][1].data.reshape(376, 672, 3)
    assert (cv2.imdecode(packed.data, cv2.IMREAD_UNCHANGED) == raw).all()


def test_without_camera_nothing_is_rectified_and_that_is_reported(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_dataset(root) as archive:
        convert(archive, tmp_path / "bag", Selection(topics="imu|gps"), BagOptions())
    with pytest.raises(SystemExit, match="2"):
        main(["convert", str(tmp_path / "bag"), str(tmp_path / "out"), "--rectify"])
    assert "--rectify: expected images with a camera_info" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("info", ["camera_info_rect", "camera_info"])
def test_pipeline_does_not_rectify_rectified_images_again(root: Path, tmp_path: Path, info: str) -> None:
    """Whichever CameraInfo lies beside them: that of others, with the lens, tells of them by its P."""
    bag, topics = tmp_path / "bag", f"stereo/.*/(image_rect|{info})$|tf"
    with open_dataset(root) as archive:
        convert(archive, bag, Selection(topics=topics, images="raw", rectify=True), BagOptions())
    camera = camera_of_images("/stereo/left/image_rect", spec_camera(bag, f"/rosario/stereo/left/{info}"))
    assert not Rectification(camera).is_needed
    assert camera.fx == pytest.approx(RECTIFIED["f"], abs=0.01)
    with fieldplay.open(bag) as data:
        assert camera_info_topic(data, data.topic("left/image_rect")) == f"/rosario/stereo/left/{info}"


def spec_camera(bag: Path, topic: str) -> CameraModel:
    ((_, message), *_) = messages_of_bag(bag)[topic]
    return camera_of_info(message)


def test_images_that_are_rectified_already_stay_alone(root: Path, tmp_path: Path) -> None:
    with open_dataset(root) as archive:
        convert(archive, tmp_path / "bag", Selection(topics="left", rectify=True), BagOptions())
    assert main(["convert", str(tmp_path / "bag"), str(tmp_path / "out"), "--rectify"]) == 0
    assert set(messages_of_bag(tmp_path / "out")) == set(messages_of_bag(tmp_path / "bag"))
