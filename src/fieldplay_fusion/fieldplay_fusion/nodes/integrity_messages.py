"""Messages of lasers, radars and diagnostics as arrays, and back."""

from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.time import Time as AnyTime
from sensor_msgs.msg import LaserScan, PointCloud2

from fieldplay_fusion.integrity import filtered_ranges
from fieldplay_fusion.integrity_outcomes import Outcomes
from fieldplay_fusion.integrity_scans import Scans, scans_from_messages
from fieldplay_fusion.integrity_shares import Report
from fieldplay_kinematics.nodes.messages import ns_of
from fieldplay_kinematics.transforms import Array, rotation_from_quaternion, transform_from_rotation
from sensor_msgs_py import point_cloud2


def row_of_scan(scan: LaserScan) -> Scans:
    """A scan as one row; ValueError where it has no beams, or no step between them."""
    if not len(scan.ranges) or not np.isfinite([scan.angle_min, 1.0 / (scan.angle_increment or np.nan)]).all():
        step = f"{len(scan.ranges)} beams from {scan.angle_min} on, {scan.angle_increment} apart"
        raise ValueError(f"expected a scan of beams with a step between them, got {step}")
    return scans_from_messages(
        np.array([ns_of(scan.header.stamp)]),
        np.array([scan.angle_min]),
        np.array([scan.angle_increment]),
        ranges_m=np.array(scan.ranges, np.float64)[None],
        limits_m=(np.array([scan.range_min]), np.array([scan.range_max])),
    )


def filtered_scan(scan: LaserScan, outcomes: Outcomes) -> LaserScan:
    """The scan itself with its flagged ranges NaN, by the outcomes of its beams (1, k)."""
    scan.ranges = filtered_ranges(np.array(scan.ranges, np.float64), outcomes[0]).astype(np.float32)
    return scan


def points_of_cloud(cloud: PointCloud2) -> Array:
    """The points (n, 3) of a cloud, as far as they are numbers."""
    points = point_cloud2.read_points(cloud, field_names=("x", "y", "z"), skip_nans=True)
    return np.stack([points[axis].astype(np.float64) for axis in "xyz"], axis=-1)


def report_message(name: str, report: Report, stamp: Time) -> DiagnosticArray:
    """A report on the returns of a laser, as one status."""
    level = DiagnosticStatus.OK if report.is_fine else DiagnosticStatus.WARN
    values = [KeyValue(key=key, value=value) for key, value in report.values]
    message = DiagnosticArray(status=[DiagnosticStatus(level=level, name=name, message=report.verdict, values=values)])
    message.header.stamp = stamp
    return message


def transform_now(buffer: Any, parent: str, child: str) -> Array:
    """parent_T_child (4, 4) at the latest time that a tf buffer knows; its error where it knows none."""
    found = buffer.lookup_transform(parent, child, AnyTime()).transform
    turn, place = found.rotation, found.translation
    rotation = rotation_from_quaternion(np.array([turn.x, turn.y, turn.z, turn.w]))
    return transform_from_rotation(rotation, np.array([place.x, place.y, place.z]))
