"""Where a sensor stands to a camera by tf: the camera at its picture's time, the sensor at its scan's."""

from dataclasses import dataclass

import numpy as np
from rclpy.duration import Duration
from rclpy.time import Time
from std_msgs.msg import Header

from fieldplay.geometry.transforms import Array
from fieldplay_ros.computation_node import array_of
from tf2_ros import Buffer, ExtrapolationException

OLDEST = Duration(seconds=5)  # of a transform in place of one at the picture's time: arms are told of rarely


@dataclass(frozen=True, eq=False)
class Places:
    """A buffer of tf; camera_T_sensor (4, 4) in its place, if one is given; a frame that does not move, or none."""

    buffer: Buffer
    own: Array | None
    fixed: str

    def camera_t_sensor(self, picture: Header, scan: Header, *, is_pressed: bool) -> Array:
        """The transform (4, 4); a TransformException where it is not there, or not yet and nothing presses."""
        target, still = (picture.frame_id, np.eye(4)) if self.own is None else (scan.frame_id, self.own)
        if self.fixed:
            now, then = Time.from_msg(picture.stamp), Time.from_msg(scan.stamp)
            found = self.buffer.lookup_transform_full(target, now, scan.frame_id, then, self.fixed)
            return still @ array_of(found.transform)
        return still if target == scan.frame_id else self._at(picture, scan.frame_id, is_pressed=is_pressed)

    def _at(self, picture: Header, sensor: str, *, is_pressed: bool) -> Array:
        """By tf at the picture's time; where that is pressing the newest transform will do."""
        now = Time.from_msg(picture.stamp)
        try:
            return array_of(self.buffer.lookup_transform(picture.frame_id, sensor, now).transform)
        except ExtrapolationException:
            newest = self.buffer.lookup_transform(picture.frame_id, sensor, Time()) if is_pressed else None
            if newest is None or abs((now - Time.from_msg(newest.header.stamp)).nanoseconds) > OLDEST.nanoseconds:
                raise
        return array_of(newest.transform)
