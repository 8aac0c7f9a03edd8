"""What is computed of a robot's joints, with the settings of its dataset's description."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import Array, rotation_about_axis, transform_from_rotation
from fieldplay.kinematics.computation import (
    ON_TF,
    Computation,
    ExactTimeSync,
    Input,
    Output,
    OutputRecords,
    Setting,
)
from fieldplay.kinematics.denavit_hartenberg import DhRow, end_from_joints, steps_from_joints
from fieldplay.kinematics.planar_odometry import (
    IntegrationLimits,
    OdometryState,
    PlanarOdometry,
    covariance_from_planar,
    integrate_odometry,
)
from fieldplay.kinematics.pose_records import (
    odometry_record,
    pose_record,
    poses_record,
    transforms_record,
    with_positions,
    with_velocities,
)
from fieldplay.kinematics.steered_wheels import (
    SteeredBase,
    SteeredErrors,
    covariance_from_errors,
    symmetric_base,
    twist_from_wheels,
    wheel_poses_from_angles,
    wheels_from_twist,
)
from fieldplay.messages import records

WHEELS = (1, 2, 3, 4)
DRIVES = tuple(f"drive_{wheel}" for wheel in WHEELS)
STEERS = tuple(f"steer_{wheel}" for wheel in WHEELS)
UNKNOWN_VARIANCE = 1e6
LENGTHS = ("length_m", "width_m", "swivel_m", "wheel_drop_m")
LONGEST_STEP_S = 1.0  # if a description has none
SLOW_STEP_NS = 200_000_000  # joints that are measured more often need no holding for images
LONGEST_HOLD_NS = 2_000_000_000
BEFORE_NEXT_NS = 10_000_000  # the next measurement has the last word about its own time
STANDS_RAD = 2e-3


def base_from_settings(settings: Mapping[str, Any]) -> SteeredBase:
    """Read the wheeled base of a description.

    Args:
        settings: `length_m`, `width_m`, `swivel_m` and `wheel_drop_m`.

    Returns:
        The base.
    """
    return symmetric_base(**{name: float(settings[name]) for name in LENGTHS})


def errors_from_settings(settings: Mapping[str, Any]) -> SteeredErrors:
    """Read the standard deviations of the wheels of a description.

    Args:
        settings: values by name; those left out are the node's defaults.

    Returns:
        The standard deviations.
    """
    defaults = {setting.name: setting.default for setting in ERRORS}
    return SteeredErrors(**{name: float(settings.get(name, value)) for name, value in defaults.items()})


def stepping_from_settings(settings: Mapping[str, Any]) -> IntegrationLimits:
    """Read how the odometry of a description integrates time.

    Args:
        settings: `longest_step_s`, or none for 1 s.

    Returns:
        The limits.
    """
    return IntegrationLimits(longest_s=float(settings.get("longest_step_s", LONGEST_STEP_S)))


def arm_from_settings(settings: Mapping[str, Any]) -> list[DhRow]:
    """Read the arm of a description.

    Args:
        settings: `alpha_deg`, `a_m` and `d_m`, a number for each joint.

    Returns:
        Rows in the modified convention.
    """
    rows = zip(settings["alpha_deg"], settings["a_m"], settings["d_m"], strict=True)
    return [DhRow(alpha=float(np.radians(alpha)), a=float(a), d=float(d)) for alpha, a, d in rows]


def joint_values(names: Sequence[str], values: Array, requested: Sequence[str]) -> Array:
    """Select joints by name.

    Args:
        names: of k joints.
        values: their values (..., k).
        requested: names of the joints to select, in this order.

    Returns:
        Values (..., len(requested)).

    Raises:
        ValueError: a joint is missing.
    """
    missing = [name for name in requested if name not in names]
    if missing:
        raise ValueError(f"expected the joints {list(requested)}, got none of the name {missing[0]}")
    return values[..., [list(names).index(name) for name in requested]]


def wheel_poses_from_joints(base: SteeredBase, names: Sequence[str], positions: Array) -> Array:
    """Compute the poses of four steered wheels from joints.

    Args:
        base: the base.
        names: of k joints, drive_1..4 and steer_1..4 among them.
        positions: (..., k) in rad.

    Returns:
        base_T_wheel (..., 4, 4, 4).

    Raises:
        ValueError: a joint is missing.
    """
    return wheel_poses_from_angles(base, joint_values(names, positions, STEERS), joint_values(names, positions, DRIVES))


def wheel_odometry_from_wheels(
    base: SteeredBase,
    before: OdometryState | None,
    stamp_ns: NDArray[np.int64],
    *,
    steering: Array,
    rim_speeds: Array,
    stepping: IntegrationLimits,
    errors: SteeredErrors,
) -> PlanarOdometry[OdometryState]:
    """Compute odometry from four steered wheels.

    Args:
        base: the base.
        before: the state after the rows before, or None.
        stamp_ns: times (n,) in ns, n > 0.
        steering: steering angles (n, 4) in rad.
        rim_speeds: (n, 4) in m/s.
        stepping: how the time between two rows is integrated.
        errors: standard deviations of the wheels.

    Returns:
        Odometry of n rows, with the state after them.

    Raises:
        ValueError: times run back.
    """
    twists, covariances = twist_from_wheels(base, steering, rim_speeds)
    covariances = covariances + covariance_from_errors(base, errors, steering, rim_speed=rim_speeds, twist=twists)
    odometry = integrate_odometry(before, stamp_ns, twists, covariances, stepping=stepping)
    return PlanarOdometry(
        stamp_ns=stamp_ns,
        poses=odometry.poses,
        twists=twists,
        pose_covariances=covariance_from_planar(odometry.covariances, UNKNOWN_VARIANCE),
        twist_covariances=covariance_from_planar(covariances, UNKNOWN_VARIANCE),
        last=odometry.last,
    )


def expected_wheels_from_twist(base: SteeredBase, twists: Array) -> tuple[tuple[str, ...], Array, Array]:
    """Compute the joints that twists need.

    Args:
        base: the base.
        twists: vx, vy in m/s, turn rate in rad/s (..., 3).

    Returns:
        Joint names, positions and velocities (..., 8): steering angles in rad, then rim speeds in m/s. A steering joint
        has no velocity here and a driving joint no position: these are NaN.
    """
    steering, speeds = wheels_from_twist(base, twists)
    none = np.full_like(steering, np.nan)
    return STEERS + DRIVES, np.concatenate([steering, none], axis=-1), np.concatenate([none, speeds], axis=-1)


def arm_from_joints(rows: Sequence[DhRow], positions: Array) -> tuple[Array, Array]:
    """Compute the links and the end of an arm.

    Args:
        rows: modified Denavit-Hartenberg.
        positions: joint angles (..., joints) in rad.

    Returns:
        previous_T_link (..., joints + 1, 4, 4), the last one the end on the last link, and base_T_end (..., 4, 4).
    """
    steps = steps_from_joints(rows, positions)
    end = np.broadcast_to(np.eye(4), (*steps.shape[:-3], 1, 4, 4))
    return np.concatenate([steps, end], axis=-3), end_from_joints(rows, positions)


def planar_transforms(poses: Array) -> Array:
    """Convert poses in the plane to transforms.

    Args:
        poses: x, y, yaw (..., 3).

    Returns:
        Transforms (..., 4, 4).
    """
    zero = np.zeros(poses.shape[:-1])
    translation = np.stack([poses[..., 0], poses[..., 1], zero], axis=-1)
    return transform_from_rotation(rotation_about_axis(2, poses[..., 2]), translation)


JOINTS = "sensor_msgs/msg/JointState"
PREFIX = Setting("frame_prefix", "", "put before the name of each frame")
BASE = (
    Setting("length_m", 0.0, "from the middle of the base forward to the front pivots"),
    Setting("width_m", 0.0, "from the middle of the base to the left pivots"),
    Setting("swivel_m", 0.0, "from a pivot outwards to its wheel"),
    Setting("wheel_drop_m", 0.0, "from the base down to the wheels' centres"),
)


ERRORS = (
    Setting("speed_std_m_s", 0.01, "standard deviation of each wheel's speed that is always there, at standstill too"),
    Setting("slip_share", 0.1, "and of the motion, in parts of it, as all wheels slip together"),
    Setting("slide_share", 0.05, "and of the motion across the velocity, in parts of it, as on a slope"),
    Setting("steering_std_deg", 2.0, "and of each steering angle, as the suspension turns the wheels too"),
)


class WheelPoses(Computation):
    """Poses of four steered wheels from their joints (drive_1..4, steer_1..4), on wheels/poses and tf."""

    name = "wheel_poses"
    publishes_joint_tf = True
    settings = (
        PREFIX,
        Setting("frame", "base_link", "frame of the base"),
        Setting("child_frames", [f"wheel_{wheel}" for wheel in WHEELS], "frames of the wheels"),
        *BASE,
    )
    inputs = (Input(name="joints", topic="platform/joint_states", msgtype=JOINTS),)

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self._base, frame = base_from_settings(self.setting_values), self.frame_of("frame")
        self._edges = [frame] * len(WHEELS), self.children
        if len(self.children) != len(WHEELS):
            raise ValueError(f"child_frames: expected {len(WHEELS)}, got {len(self.children)}")
        self._poses = Output(topic="wheels/poses", type="geometry_msgs/msg/PoseArray", frame=frame)
        self.outputs = (self._poses, ON_TF)

    def step(self, name: str, record: records.Record) -> OutputRecords:
        joints, positions = with_positions(record, self.warn)
        poses = wheel_poses_from_joints(self._base, joints.names, positions)
        yield self._poses, poses_record(joints.stamp_ns, poses)
        yield ON_TF, transforms_record(*self._edges, joints.stamp_ns, poses)


class ExpectedWheels(Computation):
    """The steering angles and rim speeds that twists need, on wheels/expected."""

    name = "expected_wheels"
    settings = BASE
    inputs = (
        Input(name="twist", topic="platform/twist_estimate", msgtype="geometry_msgs/msg/TwistWithCovarianceStamped"),
    )
    outputs = (Output(topic="wheels/expected", type=JOINTS),)

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self._base = base_from_settings(self.setting_values)

    def step(self, name: str, record: records.Record) -> OutputRecords:
        if not isinstance(record, records.Twist):
            raise TypeError(f"expected twists, got {type(record).__name__}")
        planar = np.stack([*record.linear_velocity_m_s[:, :2].T, record.angular_velocity_rad_s[:, 2]], axis=-1)
        names, positions, velocities = expected_wheels_from_twist(self._base, planar)
        joints = records.Joints(stamp_ns=record.stamp_ns, names=names, position=positions, velocity=velocities)
        yield self.outputs[0], joints


class WheelOdometry(Computation):
    """Odometry of four steered wheels on wheels/odom and tf, from angles and speeds of one time."""

    name = "wheel_odometry"
    is_stateful = True
    settings = (
        PREFIX,
        Setting("frame", "odom", "frame of the odometry"),
        Setting("child_frames", ["base_link"], "frame of the base, as the only one"),
        *BASE,
        *ERRORS,
        Setting("longest_step_s", LONGEST_STEP_S, "a longer gap is not driven through to its end"),
        Setting("odom_tf", True, "publish tf"),
    )
    inputs = (
        Input(name="joints", topic="platform/joint_states", msgtype=JOINTS),
        Input(name="speeds", topic="platform/wheel_speeds", msgtype=JOINTS, sync_with="joints"),
    )

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self._base, self._stepping = (
            base_from_settings(self.setting_values),
            stepping_from_settings(self.setting_values),
        )
        self._errors = errors_from_settings(self.setting_values)
        self._edge = [self.frame_of("frame")], self.children[:1]
        (frame,), (child,) = self._edge
        self._odom = Output(topic="wheels/odom", type="nav_msgs/msg/Odometry", frame=frame, child_frame=child)
        self.outputs = (self._odom, ON_TF) if self.setting_values["odom_tf"] else (self._odom,)
        self._state: OdometryState | None = None
        self._pairs = ExactTimeSync()

    def step(self, name: str, record: records.Record) -> OutputRecords:
        for joints, speeds in self._pairs.add(0 if name == "joints" else 1, record):
            yield from self._drive(joints, speeds)

    def _drive(self, of_joints_: records.Record, of_speeds: records.Record) -> OutputRecords:
        joints, positions = with_positions(of_joints_, self.warn)
        if not len(joints):
            return
        if len(joints) < len(of_speeds):
            of_speeds = of_speeds.only(np.isin(of_speeds.stamp_ns, joints.stamp_ns))
        speeds, velocities = with_velocities(of_speeds)
        steering = np.ascontiguousarray(joint_values(joints.names, positions, STEERS))
        rim_speeds = np.ascontiguousarray(joint_values(speeds.names, velocities, DRIVES))
        self.follow(joints.stamp_ns)
        odometry = wheel_odometry_from_wheels(
            self._base, self._state, joints.stamp_ns, steering=steering, rim_speeds=rim_speeds,
            stepping=self._stepping, errors=self._errors,
        )  # fmt: skip
        self._state = odometry.last
        yield self._odom, odometry_record(odometry)
        if self.setting_values["odom_tf"]:
            yield ON_TF, transforms_record(*self._edge, odometry.stamp_ns, planar_transforms(odometry.poses)[:, None])

    def reset(self) -> None:
        super().reset()
        self._state = None

    def forget(self, after_ns: int) -> None:
        if self.last_ns is not None and self.last_ns > after_ns:
            self._pairs.forget()
        super().forget(after_ns)


class ArmTcp(Computation):
    """The end of an arm and its links from its joints, on ARM/tcp and tf, ARM being the setting `arm`."""

    name = "arm_tcp"
    publishes_joint_tf = True
    is_stateful = True  # whether the arm stands
    settings = (
        Setting("arm", "arm", "name of the arm, before its topics"),
        PREFIX,
        Setting("frame", "{arm}_base", "frame of the arm's base"),
        Setting("child_frames", [""], "frames of the links, one below the other, and of the end"),
        Setting("alpha_deg", [0.0], "modified Denavit-Hartenberg: twists by joint"),
        Setting("a_m", [0.0], "lengths along x"),
        Setting("d_m", [0.0], "lengths along z"),
    )

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        arm = self.setting_values["arm"]
        self._rows = arm_from_settings(self.setting_values)
        self._frames = [self.frame_of("frame"), *self.children]
        if len(self._frames) != len(self._rows) + 2:
            raise ValueError(f"child_frames: expected {len(self._rows) + 1}, got {len(self._frames) - 1}")
        self._tcp = Output(topic=f"{arm}/tcp", type="geometry_msgs/msg/PoseStamped", frame=self._frames[0])
        self.inputs = (Input(name="joints", topic=f"{arm}/joint_states", msgtype=JOINTS),)
        self.outputs = (self._tcp, ON_TF)
        self._before: tuple[int, Array] | None = None

    def step(self, name: str, record: records.Record) -> OutputRecords:
        joints, positions = with_positions(record, self.warn)
        if positions.shape[1] != len(self._rows):
            raise ValueError(f"expected {len(self._rows)} joints, got {positions.shape[1]}")
        steps, end = arm_from_joints(self._rows, positions)
        yield self._tcp, pose_record(joints.stamp_ns, end)
        if not len(joints):
            return
        self.follow(joints.stamp_ns)
        rows, stamp_ns = self._with_holds(joints.stamp_ns, positions)
        transforms = transforms_record(self._frames[:-1], self._frames[1:], stamp_ns, steps[rows])
        yield ON_TF, replace(transforms, order_ns=joints.leaves_ns[rows])

    def _with_holds(self, stamp_ns: NDArray[np.int64], positions: Array) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """The rows (m,) that are sent and their times (m,): that of an arm which stands holds until the next is due."""
        earlier_ns, earlier = (stamp_ns[0], positions[0]) if self._before is None else self._before
        self._before = int(stamp_ns[-1]), positions[-1]
        steps_ns = np.diff(stamp_ns, prepend=earlier_ns)
        moved = np.abs(np.diff(positions, axis=0, prepend=earlier[None])).max(axis=1)
        stands = (steps_ns >= SLOW_STEP_NS) & (steps_ns <= LONGEST_HOLD_NS) & (moved <= STANDS_RAD)
        rows = np.repeat(np.arange(len(stamp_ns)), 1 + stands)
        is_hold = np.diff(rows, prepend=-1) == 0
        return rows, stamp_ns[rows] + np.where(is_hold, steps_ns[rows] - BEFORE_NEXT_NS, 0)

    def reset(self) -> None:
        super().reset()
        self._before = None
