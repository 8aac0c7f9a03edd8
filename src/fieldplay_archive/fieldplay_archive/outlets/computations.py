"""The computations that a dataset's description may name: those of fieldplay, and of packages that register theirs.

A package registers a computation as an entry point of the group `fieldplay.computations`, by the name of its kind.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from fieldplay_messages.computation import Computation
from fieldplay_messages.errors import ArchiveError

GROUP = "fieldplay.computations"
OWN: Mapping[str, str] = {
    "ackermann_odometry": "fieldplay_kinematics.ackermann_odometry:AckermannOdometry",
    "arm_tcp": "fieldplay_kinematics.robots:ArmTcp",
    "expected_wheels": "fieldplay_kinematics.robots:ExpectedWheels",
    "joint_transforms": "fieldplay_kinematics.joint_transforms:JointTransforms",
    "lander_arm": "fieldplay_kinematics.lander_arm_tcp:LanderArmTcp",
    "odometry_evaluation": "fieldplay_fusion.evaluation.odometry_evaluation:OdometryEvaluation",
    "odometry_path": "fieldplay_kinematics.odometry_path:OdometryPath",
    "sensor_integrity": "fieldplay_fusion.integrity.sensor_integrity:SensorIntegrity",
    "skid_steer_odometry": "fieldplay_kinematics.skid_steer_odometry:SkidSteerOdometry",
    "wheel_odometry": "fieldplay_kinematics.robots:WheelOdometry",
    "wheel_poses": "fieldplay_kinematics.robots:WheelPoses",
}


@cache
def computation_kind(name: str) -> type[Computation]:
    """The class of a computation; it is imported when it is asked for."""
    place = OWN.get(name) or next((entry.value for entry in entry_points(group=GROUP, name=name)), "")
    if not place:
        known = ", ".join(sorted(OWN))
        raise ArchiveError(f"there is no computation '{name}'; there are {known}")
    module, _, attribute = place.partition(":")
    kind: type[Computation] = getattr(import_module(module), attribute)
    return kind
