"""Odometry against the truth, on evaluation/position_error, statistics, path and truth_path, after each period.

Subscribes both. They are compared at the same times, laid upon each other, in the truth's frame of reference. Where the
two are about different frames of the robot, the one in the other comes from tf. When time jumps back it starts anew.
"""

import sys
from collections import deque
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Path
from rclpy.node import Node
from std_msgs.msg import Float64

from fieldplay_fusion.evaluation.alignment import NONE
from fieldplay_fusion.evaluation.evaluation import EvaluationSettings
from fieldplay_fusion.evaluation.memory import LENGTHS_M, MOST_WAITING, PeriodReport, RunningEvaluation
from fieldplay_fusion.nodes.evaluation_messages import TYPES, path_message, pose_of, statistics_message
from fieldplay_fusion.nodes.integrity_messages import transform_now
from fieldplay_kinematics.nodes.messages import SENSOR, careful, given, ns_of
from fieldplay_kinematics.nodes.paths import LATCHED
from fieldplay_kinematics.nodes.running import run
from fieldplay_kinematics.nodes.time_jumps import NEWS_NS, reset_on_jump_back
from fieldplay_kinematics.transforms import Array
from tf2_ros import Buffer, TransformException, TransformListener

ESTIMATE, TRUTH = "estimate", "truth"


class OdometryEvaluation(Node):
    """One odometry against one truth."""

    def __init__(self, **options: Any) -> None:
        super().__init__("odometry_evaluation", **options)
        topics = [given(self, name, name, f"topic of the {name}") for name in (ESTIMATE, TRUTH)]
        kinds = [given(self, f"{name}_type", "odometry", f"one of {', '.join(TYPES)}") for name in (ESTIMATE, TRUTH)]
        for kind in kinds:
            if kind not in TYPES:
                raise ValueError(f"types: expected {', '.join(TYPES)}, got '{kind}'")
        self._settings, self._period_s = self._declared()
        self._estimate_name, self._tf_buffer = topics[0], Buffer(node=self)
        self._tf = TransformListener(self._tf_buffer, self)
        self._jumps = reset_on_jump_back(self, self._reset)
        self._start()
        output = given(self, "output", "evaluation", "before the names of all that is published")
        self._error = self.create_publisher(Float64, f"{output}/position_error", SENSOR)
        self._statistics = self.create_publisher(DiagnosticArray, f"{output}/statistics", SENSOR)
        self._path = self.create_publisher(Path, f"{output}/path", LATCHED)
        self._truth_path = self.create_publisher(Path, f"{output}/truth_path", LATCHED)
        self._heard = [
            self.create_subscription(TYPES[kind], topic, careful(self, partial(self._hear, name)), SENSOR)
            for name, topic, kind in zip((ESTIMATE, TRUTH), topics, kinds, strict=True)
        ]

    def _declared(self) -> tuple[EvaluationSettings, float]:
        own = EvaluationSettings()
        settings = EvaluationSettings(
            alignment=given(self, "alignment", own.alignment, "first, yaw, se3, sim3 or none"),
            lengths_m=tuple(given(self, "lengths_m", list(LENGTHS_M), "of way, over which errors are told")),
            within_s=given(self, "within_s", own.within_s, "how near in time poses of both must be"),
            offset_s=given(self, "offset_s", own.offset_s, "added to the estimate's times"),
            step_m=given(self, "step_m", own.step_m, "between poses that are kept; below 0 as fits the lengths"),
        )
        return settings, given(self, "period_s", 1.0, "of time between two reports")

    def _reset(self) -> None:
        """Forget what lies ahead; what came since the jump may have come before the clock's news of it."""
        if max(self._last_ns.values()) > self.get_clock().now().nanoseconds + NEWS_NS:
            self._start()

    def _start(self) -> None:
        """Know nothing."""
        self._running = RunningEvaluation(self._settings, period_s=self._period_s)
        self._waiting: deque[Any] = deque(maxlen=MOST_WAITING)  # of the estimate, until the frames are known
        self._truth: Any = None
        self._links: tuple[Array, Array] | None = None
        self._last_ns = {ESTIMATE: 0, TRUTH: 0}

    def _hear(self, name: str, message: Any) -> None:
        pose, is_turned = pose_of(message)
        stamp_ns = ns_of(message.header.stamp)
        if stamp_ns < self._last_ns[name]:
            self.get_logger().warning("the times of the messages jumped back: starting anew")
            self._start()
        self._last_ns[name] = stamp_ns
        if name == TRUTH:
            self._truth = message
            self._running.add_truth(stamp_ns, pose, has_orientation=is_turned)
        else:
            self._waiting.append((stamp_ns, pose, message))
        self._go_on()

    def _go_on(self) -> None:
        if self._links is None and self._truth is not None and self._waiting:
            self._links = self._frames(self._waiting[0][2])
        if self._links is None:
            return
        parent, child = self._links
        while self._waiting:
            stamp_ns, pose, _ = self._waiting.popleft()
            self._running.add_estimate(stamp_ns, parent @ pose @ child)
        for report in self._running.reports():
            self._publish(report)

    def _frames(self, estimate: Any) -> tuple[Array, Array] | None:
        """The estimate's frame of reference in the truth's, where that is wanted, and the truth's child in its own."""
        children = [getattr(message, "child_frame_id", "") for message in (estimate, self._truth)]
        parents = [self._truth.header.frame_id, estimate.header.frame_id]
        try:
            child = self._link(*children)
            return (self._link(*parents) if self._settings.alignment == NONE else np.eye(4)), child
        except TransformException as error:
            self.get_logger().info(f"poses wait for tf: {error}", throttle_duration_sec=5.0)
            return None

    def _link(self, parent: str, child: str) -> Array:
        is_known = parent and child and parent != child
        return transform_now(self._tf_buffer, parent, child) if is_known else np.eye(4)

    def _publish(self, report: PeriodReport) -> None:
        pairs, frame = report.evaluation.pairs, self._truth.header.frame_id
        self._error.publish(Float64(data=report.position_error_m))
        self._statistics.publish(statistics_message(self._estimate_name, report))
        self._path.publish(path_message(frame, pairs.estimate, pairs.stamp_ns))
        self._truth_path.publish(path_message(frame, pairs.truth, pairs.stamp_ns))


def main() -> int:
    """The program `odometry_evaluation`; the exit code."""
    return run(OdometryEvaluation)


if __name__ == "__main__":
    sys.exit(main())
