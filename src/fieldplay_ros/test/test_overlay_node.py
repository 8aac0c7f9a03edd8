"""The node as others see it, in this process: pictures with points, by tf or by a row of its own."""

from array import array
from typing import Any

import cv2
import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import TransformStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, LaserScan, PointCloud2
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage

from fieldplay_ros.overlay import Overlay
from fieldplay_testing.nodes.node_stage import NodeStage, overrides_from, ros_fixture, stage_fixture
from sensor_msgs_py.point_cloud2 import create_cloud_xyz32

LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
WIDTH, HEIGHT, FOCAL = 320, 240, 200.0
GREY = 90
# The camera looks where the laser does, 0.5 m to its right: optical axes of a frame that is forward left up.
CAMERA_T_LASER = [0.0, -1.0, 0.0, -0.5, 0.0, 0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
LASER_T_CAMERA_QUATERNION = (-0.5, 0.5, -0.5, 0.5)
LASER_T_CAMERA_XYZ = (0.0, -0.5, 0.0)


def at(milliseconds: int, frame: str) -> Header:
    header = Header(frame_id=frame)
    header.stamp.sec, header.stamp.nanosec = 1000 + milliseconds // 1000, milliseconds % 1000 * 1_000_000
    return header


def column_of(left_m: float, forward_m: float) -> float:
    """The column of the picture, by hand, of a point before the laser."""
    return WIDTH / 2 - FOCAL * (left_m + 0.5) / forward_m


class Stage(NodeStage):
    """The node under test, and one that feeds it and hears it."""

    def __init__(self) -> None:
        super().__init__("argo")
        self.received: list[Image] = []
        self.listener.create_subscription(Image, "camera/overlay", self.received.append, 50)
        self.images = self.listener.create_publisher(Image, "camera/image_raw", 50)
        self.packed = self.listener.create_publisher(CompressedImage, "camera/image_raw/compressed", 50)
        self.infos = self.listener.create_publisher(CameraInfo, "camera/camera_info", 50)
        self.scans = self.listener.create_publisher(LaserScan, "laser/scan", 50)
        self.clouds = self.listener.create_publisher(PointCloud2, "lidar/points", 50)
        self.static = self.listener.create_publisher(TFMessage, "/tf_static", LATCHED)
        self.moving = self.listener.create_publisher(TFMessage, "/tf", 50)

    def start(self, **parameters: Any) -> Overlay:
        settings = {"image": "camera/image_raw", "scan": "laser/scan", "size_px": 8.0, **parameters}
        node = self.add(Overlay, settings)
        sources = [self.infos, self.packed if settings["image"].endswith("compressed") else self.images, self.static]
        sources += [self.moving, self.scans if settings["scan"] else self.clouds]
        self.wait(lambda: all(source.get_subscription_count() for source in sources))
        self.wait(lambda: self.listener.count_publishers("/argo/camera/overlay"))
        return node

    def publish_transform(self, publisher: Any, milliseconds: int = 0, forward_m: float = 0.0) -> None:
        """The camera in the laser's frame on tf."""
        edge = TransformStamped(header=at(milliseconds, "laser"), child_frame_id="camera")
        translation, turn = edge.transform.translation, edge.transform.rotation
        translation.x, translation.y, translation.z = LASER_T_CAMERA_XYZ
        translation.x += forward_m
        turn.x, turn.y, turn.z, turn.w = LASER_T_CAMERA_QUATERNION
        publisher.publish(TFMessage(transforms=[edge]))

    def publish_camera_info(self) -> None:
        k = [FOCAL, 0.0, WIDTH / 2, 0.0, FOCAL, HEIGHT / 2, 0.0, 0.0, 1.0]
        info = CameraInfo(header=at(0, "camera"), width=WIDTH, height=HEIGHT, k=k, d=[0.0] * 5)
        info.distortion_model = "plumb_bob"
        self.infos.publish(info)

    def show(self, milliseconds: int) -> None:
        """A grey picture."""
        data = array("B", bytes([GREY]) * (3 * WIDTH * HEIGHT))
        header = at(milliseconds, "camera")
        self.images.publish(
            Image(header=header, width=WIDTH, height=HEIGHT, encoding="rgb8", step=3 * WIDTH, data=data)
        )

    def scan(self, milliseconds: int, forward_m: float) -> None:
        """Nothing to the right, a point straight ahead, nothing to the left."""
        ranges = [float("inf"), forward_m, float("nan")]
        limits = {"range_min": 0.1, "range_max": 80.0}
        header = at(milliseconds, "laser")
        self.scans.publish(LaserScan(header=header, angle_min=-0.1, angle_increment=0.1, ranges=ranges, **limits))


def pixels_of(message: Image) -> np.ndarray:
    assert (message.encoding, message.step) == ("bgr8", 3 * message.width)
    return np.frombuffer(message.data, np.uint8).reshape(message.height, message.width, 3)


def is_marked(message: Image, column: float, row: float = HEIGHT / 2) -> bool:
    """Whether a pixel has a colour, as the points have and the grey pictures and the legend's panel have not."""
    blue, green, red = pixels_of(message)[round(row), round(column)].astype(int)
    return bool(abs(red - blue) > 40 or abs(red - green) > 40)


ros = ros_fixture()
stage = stage_fixture(Stage)


def test_nearest_scan_is_drawn_in_each_image(stage: Stage) -> None:
    stage.start()
    stage.publish_transform(stage.static)
    stage.publish_camera_info()
    for milliseconds, forward_m in ((0, 2.0), (60, 4.0), (100, 8.0)):
        stage.scan(milliseconds, forward_m)
    stage.show(50)
    stage.show(95)
    stage.wait(lambda: len(stage.received) == 2)
    assert [image.header for image in stage.received] == [at(50, "camera"), at(95, "camera")]
    marked = [[is_marked(image, column_of(0, forward)) for forward in (2.0, 4.0, 8.0)] for image in stage.received]
    assert marked == [[False, True, False], [False, False, True]]
    assert pixels_of(stage.received[0])[20, 20].tolist() == [GREY] * 3


def test_clouds_and_compressed_images_work_too(stage: Stage) -> None:
    stage.start(image="camera/image_raw/compressed", scan="", cloud="lidar/points", range_m=[1.0, 5.0])
    stage.publish_transform(stage.static)
    stage.publish_camera_info()
    stage.clouds.publish(create_cloud_xyz32(at(0, "laser"), [[3.0, 0.0, 0.6], [-3.0, 0.0, 0.0], [np.nan, 0.0, 1.0]]))
    _, packed = cv2.imencode(".png", np.full((HEIGHT, WIDTH, 3), GREY, np.uint8))
    data = array("B", packed.tobytes())
    stage.packed.publish(CompressedImage(header=at(0, "camera"), format="png", data=data))
    stage.wait(lambda: stage.received)
    assert is_marked(stage.received[0], column_of(0, 3), HEIGHT / 2 - FOCAL * 0.6 / 3)


def test_camera_t_sensor_parameter_replaces_tf(stage: Stage) -> None:
    stage.start(camera_t_sensor=CAMERA_T_LASER)
    stage.publish_camera_info()
    stage.scan(0, 4.0)
    stage.show(0)
    stage.wait(lambda: stage.received)
    assert is_marked(stage.received[0], column_of(0, 4))


def test_image_waits_for_camera_info_and_tf_of_its_time(stage: Stage) -> None:
    node = stage.start()
    stage.scan(0, 4.0)
    stage.show(0)
    stage.scan(500, 4.0)
    stage.publish_camera_info()
    stage.publish_transform(stage.moving, -100, forward_m=-2.0)
    stage.wait(lambda: node._transforms.buffer.can_transform("camera", "laser", rclpy.time.Time()))
    assert stage.received == []
    stage.publish_transform(stage.moving, 100, forward_m=2.0)
    stage.wait(lambda: stage.received)
    assert is_marked(stage.received[0], column_of(0, 4))


def test_motion_between_scan_and_image_is_compensated_in_fixed_frame(stage: Stage) -> None:
    """The laser is the root of the camera here; the floor lies under both, and they move forward by 1 m in 0.1 s."""
    stage.start(fixed_frame="floor")
    stage.publish_transform(stage.static)
    stage.publish_camera_info()
    for milliseconds, x in ((0, 0.0), (100, 1.0), (200, 2.0)):
        edge = TransformStamped(header=at(milliseconds, "floor"), child_frame_id="laser")
        edge.transform.translation.x = x
        stage.moving.publish(TFMessage(transforms=[edge]))
    stage.scan(50, 4.0)
    stage.show(150)
    stage.scan(900, 4.0)
    stage.wait(lambda: stage.received)
    assert is_marked(stage.received[0], column_of(0, 3.0))
    assert not is_marked(stage.received[0], column_of(0, 4.0))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scan": ""}, "expected a topic as scan or as cloud, got '' and ''"),
        ({"cloud": "lidar/points"}, "expected a topic as scan or as cloud"),
        ({"camera_t_sensor": [1.0, 2.0]}, "camera_t_sensor: expected 16 numbers, got 2"),
        ({"range_m": [5.0, 2.0]}, "the second larger, got 5 2"),
        ({"range_m": [5.0]}, "range_m: expected two numbers"),
    ],
)
def test_invalid_parameters_are_rejected(ros: None, parameters: dict[str, Any], message: str) -> None:
    settings = {"scan": "laser/scan", **parameters}
    with pytest.raises(ValueError, match=message):
        Overlay(parameter_overrides=overrides_from(settings))
