"""The points of a laser in the images of a camera, coloured by range, on <camera>/overlay.

Subscribes the images, their CameraInfo, scans or clouds, and tf. Each image gets the scan nearest to it in time.
"""

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.time import Time
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, LaserScan, PointCloud2
from std_msgs.msg import Header

from fieldplay.core.errors import ArchiveError
from fieldplay.geometry.camera_model import (
    CameraModel,
    camera_from_numbers,
    camera_of_size,
    projection_from_points,
)
from fieldplay.geometry.transforms import Array
from fieldplay.messages.image_pixels import Pixels, pixels_from_compressed, pixels_from_image
from fieldplay.projection.overlays import MAX_SCANS, ColourScale, NearestPairs, overlay, scale_of_ranges
from fieldplay.projection.points import SensorPoints, points_from_cloud, points_from_scan
from fieldplay_ros.computation_node import array_of, careful, declare, ns_of
from sensor_msgs_py.point_cloud2 import read_points
from tf2_ros import Buffer, ExtrapolationException, TransformException, TransformListener

OLDEST = Duration(seconds=5)  # of a transform in place of one at the image's time: arms are published rarely
FEW = QoSProfile(depth=10)
SCANS = QoSProfile(depth=MAX_SCANS)  # seconds of them: where this process stalls, the nearest one must not be lost
RETRY_S, WARN_S = 0.1, 5.0


# Messages that become points, images and cameras, pixels that become a message, and the messages of the overlay.


def points_of(message: LaserScan | PointCloud2) -> SensorPoints:
    """The points of a scan or a cloud in its frame."""
    if isinstance(message, PointCloud2):
        return points_from_cloud(read_points(message).reshape(-1))
    return points_from_scan(
        message.ranges,
        angle_min_rad=message.angle_min,
        angle_increment_rad=message.angle_increment,
        time_increment_s=message.time_increment,
        limits_m=(message.range_min, message.range_max),
    )


def pixels_of(message: Image | CompressedImage) -> Pixels:
    """An image (h, w, 3) in BGR."""
    return pixels_from_image(message) if isinstance(message, Image) else pixels_from_compressed(message)


def camera_of(info: CameraInfo, *, is_rectified: bool) -> CameraModel:
    """The camera as it took its images, or as they are once they are rectified."""
    matrix = info.p.reshape(3, 4)[:, :3] if is_rectified else info.k
    distortion = [] if is_rectified else info.d
    return camera_from_numbers(
        matrix, distortion, info.distortion_model, width=int(info.width), height=int(info.height)
    )


def image_of(pixels: Pixels, header: Header) -> Image:
    """Pixels (h, w, 3) in BGR as a message."""
    height, width = pixels.shape[:2]
    data = array("B", np.ascontiguousarray(pixels).tobytes())
    return Image(header=header, height=height, width=width, encoding="bgr8", step=3 * width, data=data)


def points_topic(node: Node) -> tuple[str, type]:
    """Where points come from, and as what."""
    scan = declare(node, "scan", "", "topic of sensor_msgs/LaserScan, or")
    cloud = declare(node, "cloud", "", "topic of sensor_msgs/PointCloud2; one of the two")
    if bool(scan) == bool(cloud):
        raise ValueError(f"expected a topic as scan or as cloud, got '{scan}' and '{cloud}'")
    return (scan, LaserScan) if scan else (cloud, PointCloud2)


def image_topics(node: Node) -> tuple[str, str, str]:
    """Return the topics of the images, of their CameraInfo and of the output."""
    image = declare(node, "image", "image_raw", "topic of images; compressed where it ends with /compressed")
    camera = image.removesuffix("/compressed").rpartition("/")[0]
    prefix = f"{camera}/" if camera or image.startswith("/") else ""
    info = declare(node, "camera_info", "", "topic of their CameraInfo; empty: in their namespace")
    output = declare(node, "output", "", "topic of the images with points; empty: overlay in their namespace")
    return image, info or f"{prefix}camera_info", output or f"{prefix}overlay"


def explicit_transform(node: Node) -> Array | None:
    """camera_T_sensor (4, 4) that is used instead of tf, if one is given."""
    numbers = declare(
        node, "camera_t_sensor", [0.0], "16 numbers, row by row, in place of tf; else tf places the points"
    )
    if len(numbers) not in (1, 16):
        raise ValueError(f"camera_t_sensor: expected 16 numbers, got {len(numbers)}")
    return np.reshape(numbers, (4, 4)) if len(numbers) == 16 else None


def fixed_frame(node: Node) -> str:
    """The frame in which the motion between scan and image is compensated, or none."""
    return str(declare(node, "fixed_frame", "", "frame for motion compensation between scan and image, or none"))


def colour_scale(node: Node) -> ColourScale | None:
    """The ranges at the ends of the colours, if they are given."""
    meaning = "range in m of the colour scale; two equal values: chosen by the first image with points"
    limits = declare(node, "range_m", [0.0, 0.0], meaning)
    if len(limits) != 2:
        raise ValueError(f"range_m: expected two numbers, got {len(limits)}")
    return None if limits[0] == limits[1] else ColourScale(*limits)


# Where a sensor stands to a camera by tf: the camera at its image's time, the sensor at its scan's.


@dataclass(frozen=True, eq=False)
class TransformLookup:
    """A tf buffer, a camera_T_sensor (4, 4) that replaces it, and a fixed frame; the latter two may be missing."""

    buffer: Buffer
    own: Array | None
    fixed: str

    def camera_t_sensor(self, image: Header, scan: Header, *, is_pressed: bool) -> Array:
        """The transform (4, 4); a TransformException where it is not there, or not yet and nothing presses."""
        target, still = (image.frame_id, np.eye(4)) if self.own is None else (scan.frame_id, self.own)
        if self.fixed:
            now, then = Time.from_msg(image.stamp), Time.from_msg(scan.stamp)
            stamped = self.buffer.lookup_transform_full(target, now, scan.frame_id, then, self.fixed)
            return still @ array_of(stamped.transform)
        return still if target == scan.frame_id else self._at(image, scan.frame_id, is_pressed=is_pressed)

    def _at(self, image: Header, sensor: str, *, is_pressed: bool) -> Array:
        """By tf at the image's time; where that is pressing the newest transform will do."""
        now = Time.from_msg(image.stamp)
        try:
            return array_of(self.buffer.lookup_transform(image.frame_id, sensor, now).transform)
        except ExtrapolationException:
            newest = self.buffer.lookup_transform(image.frame_id, sensor, Time()) if is_pressed else None
            if newest is None or abs((now - Time.from_msg(newest.header.stamp)).nanoseconds) > OLDEST.nanoseconds:
                raise
        return array_of(newest.transform)


class Overlay(Node):
    """One laser in one camera."""

    def __init__(self, **options: Any) -> None:
        super().__init__("overlay", **options)
        image, info, output = image_topics(self)
        points, kind = points_topic(self)
        self._scale = colour_scale(self)
        self._size_px = declare(self, "size_px", 0.0, "diameter of the points in pixels; 0: as fits")
        self._is_rectified = declare(
            self, "rectified", False, "whether the images are rectified, so that P applies instead of K and D"
        )
        within_s = declare(self, "within_s", 0.5, "maximum time between image and scan, in s")
        self._pairs: NearestPairs[Any, Any] = NearestPairs(round(within_s * 1e9))
        self._camera: CameraModel | None = None
        self._transforms = TransformLookup(Buffer(node=self), explicit_transform(self), fixed_frame(self))
        self._tf = TransformListener(self._transforms.buffer, self)
        self._out = self.create_publisher(Image, output, FEW)
        image_type = CompressedImage if image.endswith("/compressed") else Image
        self._input_subscriptions = [
            self.create_subscription(CameraInfo, info, careful(self, self._take_camera), FEW),
            self.create_subscription(kind, points, partial(self._take, self._pairs.add_scan), SCANS),
            self.create_subscription(image_type, image, partial(self._take, self._pairs.add_image), FEW),
        ]
        self._timer = self.create_timer(RETRY_S, self._continue, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _take_camera(self, info: CameraInfo) -> None:
        self._camera = camera_of(info, is_rectified=self._is_rectified)

    def _take(self, add: Callable[[int, Any], None], message: Any) -> None:
        add(ns_of(message.header.stamp), message)
        self._continue()

    def _continue(self) -> None:
        """Publish all images whose scan and place are known; what does not come is not waited for without end."""
        while (pair := self._pairs.first()) is not None:
            try:
                self._publish(pair.image, pair.scan)
            except (ValueError, ArchiveError) as error:
                self._warn(f"an image is left out: {error}")
            except (LookupError, TransformException) as error:
                if not self._pairs.is_backlogged:
                    return
                self._warn(f"an image is left out: {error}")
            self._pairs.drop_first()

    def _publish(self, image: Any, scan: Any) -> None:
        if self._camera is None:
            raise LookupError("no CameraInfo has come")
        if scan is None:
            raise ValueError("no scan is near it")
        camera_t_sensor = self._transforms.camera_t_sensor(
            image.header, scan.header, is_pressed=self._pairs.is_backlogged
        )
        pixels, points = pixels_of(image), points_of(scan).points
        camera = camera_of_size(self._camera, pixels.shape[1], pixels.shape[0]) or self._camera
        projection, ranges_m = projection_from_points(camera, camera_t_sensor, points), np.linalg.norm(points, axis=1)
        if projection.is_visible.any():
            self._scale = self._scale or scale_of_ranges(ranges_m[projection.is_visible])
        drawn = overlay(pixels, projection, ranges_m, scale=self._scale, size_px=self._size_px or None)
        self._out.publish(image_of(drawn, image.header))

    def _warn(self, text: str) -> None:
        self.get_logger().warning(text, throttle_duration_sec=WARN_S)
