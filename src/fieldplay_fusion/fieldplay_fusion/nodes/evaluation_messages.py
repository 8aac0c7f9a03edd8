"""Messages of poses as transforms, and what was found of them as messages."""

from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from nav_msgs.msg import Odometry, Path

from fieldplay_fusion.evaluation.memory import PeriodReport
from fieldplay_fusion.evaluation.trajectories import SHORTEST_QUATERNION
from fieldplay_fusion.evaluation.words import states_of_evaluation
from fieldplay_kinematics.nodes.messages import pose_message
from fieldplay_kinematics.nodes.paths import stamp_of
from fieldplay_kinematics.transforms import Array, rotation_from_quaternion, transform_from_rotation

TYPES = {"odometry": Odometry, "pose": PoseStamped, "pose_with_covariance": PoseWithCovarianceStamped}
ROTATION_VARIANCES = (21, 28, 35)  # where they stand in a covariance of 6 x 6
UNKNOWN_VARIANCE = 1e5  # a rotation with more about all axes is not known
MOST_POSES = 1000  # of a path


def pose_of(message: Any) -> tuple[Array, bool]:
    """The pose (4, 4) in a message of poses, and whether its rotation says anything."""
    with_covariance = None if isinstance(message, PoseStamped) else message.pose
    pose = message.pose if with_covariance is None else with_covariance.pose
    place, turn = pose.position, pose.orientation
    position = np.array([place.x, place.y, place.z])
    quaternion = np.array([turn.x, turn.y, turn.z, turn.w])
    if not (np.isfinite(position).all() and np.isfinite(quaternion).all()):
        raise ValueError("expected numbers as position and orientation, got others")
    is_turned = bool(np.linalg.norm(quaternion) >= SHORTEST_QUATERNION)
    if with_covariance is not None:
        variances = [with_covariance.covariance[index] for index in ROTATION_VARIANCES]
        is_turned &= not all(variance >= UNKNOWN_VARIANCE for variance in variances)
    rotation = rotation_from_quaternion(quaternion) if is_turned else np.eye(3)
    return transform_from_rotation(rotation, position), is_turned


def statistics_message(name: str, report: PeriodReport) -> DiagnosticArray:
    """All errors so far, a status for each kind."""
    message = DiagnosticArray(
        status=[
            DiagnosticStatus(
                level=DiagnosticStatus.OK,
                name=title,
                message=summary,
                values=[KeyValue(key=key, value=value) for key, value in values],
            )
            for title, summary, values in states_of_evaluation(name, report.evaluation)
        ]
    )
    message.header.stamp = stamp_of(report.stamp_ns)
    return message


def path_message(frame: str, poses: Array, stamp_ns: Any) -> Path:
    """Poses (n, 4, 4) at times (n,), evenly thinned, the last among them."""
    step = -(-len(poses) // MOST_POSES)
    chosen = np.arange(len(poses) - 1, -1, -step)[::-1]
    message = Path(poses=[_stamped(frame, poses[index], stamp_of(int(stamp_ns[index]))) for index in chosen])
    message.header.frame_id, message.header.stamp = frame, stamp_of(int(stamp_ns[-1]))
    return message


def _stamped(frame: str, pose: Array, stamp: Time) -> PoseStamped:
    made = PoseStamped(pose=pose_message(pose))
    made.header.frame_id, made.header.stamp = frame, stamp
    return made
