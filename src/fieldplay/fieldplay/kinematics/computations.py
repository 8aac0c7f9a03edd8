"""The computations that a dataset's description may name: those of fieldplay, and of packages that register theirs.

A package registers a computation as an entry point of the group `fieldplay.computations`, by the name of its kind.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from fieldplay.core.errors import ArchiveError
from fieldplay.kinematics.computation import Computation

GROUP = "fieldplay.computations"
OWN: Mapping[str, str] = {
    "ackermann_odometry": "fieldplay.kinematics.ackermann_odometry:AckermannOdometry",
    "arm_tcp": "fieldplay.kinematics.robots:ArmTcp",
    "expected_wheels": "fieldplay.kinematics.robots:ExpectedWheels",
    "joint_transforms": "fieldplay.kinematics.joint_transforms:JointTransforms",
    "lander_arm": "fieldplay.kinematics.insight_arm_computation:InsightArmTcp",
    "odometry_evaluation": "fieldplay.trajectories.odometry_evaluation:OdometryEvaluation",
    "odometry_path": "fieldplay.kinematics.odometry_path:OdometryPath",
    "sensor_integrity": "fieldplay.dust.sensor_integrity:SensorIntegrity",
    "skid_steer_odometry": "fieldplay.kinematics.skid_steer_odometry:SkidSteerOdometry",
    "wheel_odometry": "fieldplay.kinematics.robots:WheelOdometry",
    "wheel_poses": "fieldplay.kinematics.robots:WheelPoses",
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
