"""Scans without what a radar sees through, on scan_filtered, suspect_ratio and integrity below each laser's name.

Subscribes scan below each laser's name and a radar's clouds, one for each revolution; where the sensors are comes from
tf, once. A flagged range is NaN in the filtered scan. When time jumps back it starts anew, and says so.
"""

import sys
from functools import partial
from typing import Any

from rclpy.duration import Duration
from rclpy.node import Node
from sensor_msgs.msg import LaserScan, PointCloud2

from fieldplay_fusion.integrity_live import known_until, next_integrity
from fieldplay_fusion.integrity_radar import Mounting, mounting_from_base, no_views
from fieldplay_fusion.nodes.integrity_lasers import Laser, declared_laser, declared_settings
from fieldplay_fusion.nodes.integrity_messages import points_of_cloud, row_of_scan, transform_now
from fieldplay_kinematics.nodes.messages import SENSOR, careful, given, ns_of
from fieldplay_kinematics.nodes.running import run
from fieldplay_kinematics.nodes.time_jumps import NEWS_NS, reset_on_jump_back
from tf2_ros import Buffer, TransformException, TransformListener


class SensorIntegrity(Node):
    """Judges the returns of lasers by a radar."""

    def __init__(self, **options: Any) -> None:
        super().__init__("sensor_integrity", **options)
        self._prefix = given(self, "frame_prefix", "", "put before the base's name")
        self._base = self._prefix + given(self, "frame", "base_link", "a frame whose z axis points up")
        lasers = given(self, "lasers", ["laser"], "names, below which scan is subscribed")
        radar = given(self, "radar", "radar/points", "topic of the radar's revolutions")
        self._settings = declared_settings(self)
        self._tf_buffer = Buffer(cache_time=Duration(seconds=10))
        self._tf = TransformListener(self._tf_buffer, self)
        self._radar_frame, self._views = "", no_views()
        self._jumps = reset_on_jump_back(self, self._reset)
        self._clouds = self.create_subscription(PointCloud2, radar, careful(self, self._see), SENSOR)
        self._lasers = [declared_laser(self, name) for name in lasers]
        self._scans = [
            self.create_subscription(LaserScan, f"{laser.name}/scan", careful(self, partial(self._hear, laser)), SENSOR)
            for laser in self._lasers
        ]

    def _reset(self) -> None:
        """Forget what lies ahead; what came since the jump may have come before the clock's news of it."""
        limit_ns = self.get_clock().now().nanoseconds + NEWS_NS
        self._views = self._views.between(0, limit_ns)
        for laser in self._lasers:
            laser.last = known_until(laser.last, limit_ns)

    @property
    def waiting(self) -> int:
        """How many scans wait until it is known where the sensors are."""
        return sum(len(laser.waiting) for laser in self._lasers)

    def _see(self, cloud: PointCloud2) -> None:
        self._radar_frame, stamp_ns = cloud.header.frame_id, ns_of(cloud.header.stamp)
        self._views = self._views.with_revolution(self._settings, stamp_ns, points_of_cloud(cloud))
        for laser in self._lasers:
            self._work_off(laser)

    def _hear(self, laser: Laser, scan: LaserScan) -> None:
        laser.waiting.append(scan)
        self._work_off(laser)

    def _work_off(self, laser: Laser) -> None:
        if laser.mounting is None and laser.waiting and self._radar_frame:
            laser.mounting = self._mounting(laser.waiting[0].header.frame_id)
        while laser.mounting is not None and laser.waiting:
            self._judge(laser, laser.mounting, laser.waiting.popleft())

    def _mounting(self, frame: str) -> Mounting | None:
        """Where a laser and the radar are, as soon as it is known."""
        try:
            placed = [transform_now(self._tf_buffer, self._base, name) for name in (frame, self._radar_frame)]
        except TransformException as error:
            self.get_logger().info(f"scans wait for tf: {error}", throttle_duration_sec=5.0)
            return None
        return mounting_from_base(placed[0], placed[1])

    def _judge(self, laser: Laser, mounting: Mounting, scan: LaserScan) -> None:
        row = row_of_scan(scan)
        found, is_earlier = next_integrity(self._settings, laser.last, row, views=self._views, mounting=mounting)
        if is_earlier:
            self.get_logger().warning("the times of the messages jumped back: starting anew")
        laser.last = found.last
        laser.send(scan, found)


def main() -> int:
    """The program `sensor_integrity`; the exit code."""
    return run(SensorIntegrity)


if __name__ == "__main__":
    sys.exit(main())
