"""The points of a laser in the pictures of a camera, coloured by range, on <camera>/overlay.

Subscribes the pictures, their CameraInfo, scans or clouds, and tf. Each picture gets the scan nearest to it in time.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from fieldplay.core.errors import ArchiveError
from fieldplay.projection.cameras import CameraModel, camera_of_size, projection_from_points
from fieldplay.projection.nearest_pairs import NearestPairs
from fieldplay.projection.overlays import overlay, scale_of_ranges
from fieldplay_ros import overlay_messages as messages
from fieldplay_ros.computation_node import careful, given, ns_of
from fieldplay_ros.overlay_places import Places
from tf2_ros import Buffer, TransformException, TransformListener

FEW = QoSProfile(depth=10)
RETRY_S, WARN_S = 0.1, 5.0


class Overlay(Node):
    """One laser in one camera."""

    def __init__(self, **options: Any) -> None:
        super().__init__("overlay", **options)
        image, info, output = messages.picture_topics(self)
        points, kind = messages.points_topic(self)
        self._scale = messages.colour_scale(self)
        self._size_px = given(self, "size_px", 0.0, "diameter of the points in pixels; 0: as fits")
        self._is_rectified = given(self, "rectified", False, "whether the pictures are rectified: P holds, not K and D")
        within_s = given(self, "within_s", 0.5, "how near to a picture its scan must be, in s")
        self._pairs: NearestPairs[Any, Any] = NearestPairs(round(within_s * 1e9))
        self._camera: CameraModel | None = None
        self._places = Places(Buffer(node=self), messages.own_row(self), messages.fixed_frame(self))
        self._tf = TransformListener(self._places.buffer, self)
        self._out = self.create_publisher(Image, output, FEW)
        picture = CompressedImage if image.endswith("/compressed") else Image
        self._heard = [
            self.create_subscription(CameraInfo, info, careful(self, self._take_camera), FEW),
            self.create_subscription(kind, points, partial(self._take, self._pairs.add_scan), FEW),
            self.create_subscription(picture, image, partial(self._take, self._pairs.add_image), FEW),
        ]
        self._timer = self.create_timer(RETRY_S, self._go_on, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _take_camera(self, info: CameraInfo) -> None:
        self._camera = messages.camera_of(info, is_rectified=self._is_rectified)

    def _take(self, add: Callable[[int, Any], None], message: Any) -> None:
        add(ns_of(message.header.stamp), message)
        self._go_on()

    def _go_on(self) -> None:
        """Publish all pictures whose scan and place are known; what does not come is not waited for without end."""
        while (pair := self._pairs.first()) is not None:
            try:
                self._publish(pair.picture, pair.scan)
            except (ValueError, ArchiveError) as error:
                self._warn(f"a picture is left out: {error}")
            except (LookupError, TransformException) as error:
                if not self._pairs.is_pressed:
                    return
                self._warn(f"a picture is left out: {error}")
            self._pairs.drop_first()

    def _publish(self, picture: Any, scan: Any) -> None:
        if self._camera is None:
            raise LookupError("no CameraInfo has come")
        if scan is None:
            raise ValueError("no scan lies near it")
        camera_t_sensor = self._places.camera_t_sensor(picture.header, scan.header, is_pressed=self._pairs.is_pressed)
        pixels, points = messages.pixels_of(picture), messages.points_of(scan).points
        camera = camera_of_size(self._camera, pixels.shape[1], pixels.shape[0]) or self._camera
        projection, ranges_m = projection_from_points(camera, camera_t_sensor, points), np.linalg.norm(points, axis=1)
        if projection.is_visible.any():
            self._scale = self._scale or scale_of_ranges(ranges_m[projection.is_visible])
        drawn = overlay(pixels, projection, ranges_m, scale=self._scale, size_px=self._size_px or None)
        self._out.publish(messages.image_of(drawn, picture.header))

    def _warn(self, text: str) -> None:
        self.get_logger().warning(text, throttle_duration_sec=WARN_S)
