"""A laser that is judged: its publishers, the scans that wait, and what is known of it; and how it is judged."""

from collections import deque
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from sensor_msgs.msg import LaserScan
from std_msgs.msg import Float32

from fieldplay_fusion.integrity import Integrity, IntegrityState
from fieldplay_fusion.integrity_radar import Mounting
from fieldplay_fusion.integrity_settings import IntegritySettings
from fieldplay_fusion.nodes.integrity_messages import filtered_scan, report_message
from fieldplay_kinematics.nodes.messages import SENSOR, given

MOST_WAITING = 1000  # scans of a laser that wait for tf


@dataclass(eq=False)
class Laser:
    """A laser with its publishers, the scans that wait, and what is known of it."""

    name: str
    scans: Any
    shares: Any
    reports: Any
    waiting: deque[LaserScan] = field(default_factory=lambda: deque(maxlen=MOST_WAITING))
    mounting: Mounting | None = None
    last: IntegrityState | None = None

    def send(self, scan: LaserScan, found: Integrity) -> None:
        """What was found of a scan, on its topics."""
        self.scans.publish(filtered_scan(scan, found.outcomes))
        self.shares.publish(Float32(data=float(np.nan_to_num(found.shares.suspect[0]))))
        for report in found.reports:
            self.reports.publish(report_message(self.name, report, scan.header.stamp))


def declared_laser(node: Node, name: str) -> Laser:
    """A laser whose topics lie below its name."""
    kinds = ((LaserScan, "scan_filtered"), (Float32, "suspect_ratio"), (DiagnosticArray, "integrity"))
    scans, shares, reports = (node.create_publisher(kind, f"{name}/{topic}", SENSOR) for kind, topic in kinds)
    return Laser(name, scans, shares, reports)


def declared_settings(node: Node) -> IntegritySettings:
    """The settings, from a node's parameters."""
    entries = fields(IntegritySettings)
    return IntegritySettings(
        **{entry.name: given(node, entry.name, entry.default, "see the dataset's page") for entry in entries}
    )
