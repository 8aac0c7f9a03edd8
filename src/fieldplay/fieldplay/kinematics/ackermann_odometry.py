"""Odometry of a base with steered front wheels from its joints: poses, the joints' frames, and the way that it came.

The state goes in and comes out, as in dead reckoning: one row at a time or all of them give the same.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldplay.geometry.transforms import Array, rotation_about_axis, transform_from_rotation
from fieldplay.kinematics.computation import (
    ON_TF,
    Computation,
    Input,
    Output,
    OutputRecords,
    Setting,
)
from fieldplay.kinematics.planar_odometry import (
    NS_PER_S,
    IntegrationLimits,
    OdometryState,
    PlanarOdometry,
    covariance_from_planar,
    integrate_odometry,
)
from fieldplay.kinematics.pose_records import (
    PathGrowth,
    PathLimits,
    ThinnedPath,
    extend_path,
    joints_of,
    odometry_record,
    paths_record,
    transforms_record,
)
from fieldplay.kinematics.robots import UNKNOWN_VARIANCE, joint_values, planar_transforms
from fieldplay.messages.records import Record

RAD_S_PER_RPM = 2 * math.pi / 60
ROUNDING = 1e-9  # a rate at the limit, turned from rpm to rad/s, must not slip below it
REAR_WHEELS = ("rear_left_wheel", "rear_right_wheel")
STEERING = ("front_steering",)
ARCS, AUTHORS = "arcs", "authors"
AUTHORS_STEP_S = 0.1  # of the programs that made the published bags


# A base that drives on its rear wheels and steers the front ones, as a bicycle: one wheel behind, one in front.
#
# Base axes are forward, left, up from the middle of the rear axle. The steering angle is positive to the left, a
# wheel's rate (rad/s) where it drives forward. The rear axle moves along the base alone, and the base turns by v
# tan(angle) / L.


@dataclass(frozen=True, kw_only=True)
class AckermannBase:
    """A base that drives on its rear wheels and steers the front ones.

    Args:
        wheelbase_m: from the rear axle to the front one.
        track_m: from wheel to wheel of an axle.
        wheel_diameter_m: of the rear wheels.
        noise_limit_rpm: maximum wheel speed; faster readings are ignored.

    Raises:
        ValueError: a number is not positive.
    """

    wheelbase_m: float
    track_m: float
    wheel_diameter_m: float
    noise_limit_rpm: float

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not value > 0:
                raise ValueError(f"{item.name}: expected more than 0, got {value}")


@dataclass(frozen=True, kw_only=True)
class AckermannErrors:
    """Standard deviations of what the wheels say.

    Args:
        speed_std_m_s: of the speed, at standstill too.
        speed_share: of the speed, as a fraction of it, as the diameter is not quite known; half of what the rear wheels
            differ by is added.
        one_wheel_share: the fraction where one rear wheel alone is believed, which in a turn goes another way than the
            axle's centre.
        slide_share: of the slide to the side, as a fraction of the speed.
        steering_std_deg: of the steering angle.
        turn_rate_std_rad_s: of the turn rate, at standstill too.
    """

    speed_std_m_s: float
    speed_share: float
    one_wheel_share: float
    slide_share: float
    steering_std_deg: float
    turn_rate_std_rad_s: float


@dataclass(frozen=True, kw_only=True, eq=False)
class RearSpeeds:
    """Speeds of the centre of the rear axle.

    Args:
        speed_m_s: (n,).
        doubt_m_s: their standard deviation (n,) because of the wheels.
    """

    speed_m_s: Array
    doubt_m_s: Array


def speeds_from_wheels(
    base: AckermannBase, errors: AckermannErrors, wheel_rates: ArrayLike, *, before_m_s: float = 0.0
) -> RearSpeeds:
    """Compute speeds from the rear wheels, leaving out rates that are noise.

    The speed is the mean of both wheels where both are below the limit, else that of the slower if it is below; else
    the last speed, in the direction in which the wheels turn now. Then nothing is known: the doubt is the speed itself.

    Args:
        base: the base.
        errors: standard deviations.
        wheel_rates: rates (n, 2) in rad/s of the left and the right wheel, in time order.
        before_m_s: the speed before the first row.

    Returns:
        The speeds.
    """
    rims = np.asarray(wheel_rates, float) * (base.wheel_diameter_m / 2)
    limit = base.noise_limit_rpm * RAD_S_PER_RPM * base.wheel_diameter_m / 2
    believed = (np.abs(rims) < limit * (1 - ROUNDING)).sum(axis=1)
    left, right = rims[:, 0], rims[:, 1]
    slower = np.where(np.abs(left) <= np.abs(right), left, right)
    measured = np.where(believed == 2, (left + right) / 2, slower)
    latest = np.maximum.accumulate(np.where(believed > 0, np.arange(len(rims)), -1))
    stale = np.where(latest >= 0, measured[latest], before_m_s)
    speed = np.where(believed > 0, measured, np.copysign(stale, slower))
    doubts = [np.abs(speed), errors.one_wheel_share * np.abs(speed), np.abs(left - right) / 2]
    return RearSpeeds(speed_m_s=speed, doubt_m_s=np.choose(believed, doubts))


def twists_from_wheels(
    base: AckermannBase, errors: AckermannErrors, speeds: RearSpeeds, *, steering: ArrayLike
) -> tuple[Array, Array]:
    """Compute twists of the base as of a bicycle.

    An error of the speed is one of the turn rate too, by the same factor; errors of different rows count as
    independent.

    Args:
        base: the base.
        errors: standard deviations.
        speeds: of n rows.
        steering: steering angles (n,) in rad, positive to the left.

    Returns:
        vx, vy (0) in m/s and turn rate in rad/s (n, 3), and covariances (n, 3, 3).
    """
    speed, steering = speeds.speed_m_s, np.asarray(steering, float)
    curvature = np.tan(steering) / base.wheelbase_m
    zero = np.zeros_like(speed)
    floor = errors.speed_std_m_s**2
    of_speed = floor + (errors.speed_share * speed) ** 2 + speeds.doubt_m_s**2
    by_steering = speed / (base.wheelbase_m * np.cos(steering) ** 2) * math.radians(errors.steering_std_deg)
    covariances = np.zeros((len(speed), 3, 3))
    covariances[:, 0, 0] = of_speed
    covariances[:, 1, 1] = floor + (errors.slide_share * speed) ** 2
    covariances[:, 0, 2] = covariances[:, 2, 0] = curvature * of_speed
    covariances[:, 2, 2] = curvature**2 * of_speed + by_steering**2 + errors.turn_rate_std_rad_s**2
    return np.stack([speed, zero, speed * curvature], axis=-1), covariances


def joint_transforms_from_angles(base: AckermannBase, turned: ArrayLike, steering: ArrayLike) -> Array:
    """Compute the frames of the joints.

    A wheel rotates about its axle, y; the steering about z in the centre of the front axle.

    Args:
        base: the base.
        turned: angles of the left and right rear wheel (n, 2) in rad.
        steering: steering angles (n,) in rad.

    Returns:
        base_T_joint (n, 3, 4, 4): left wheel, right wheel, steering.
    """
    turned, steering = np.asarray(turned, float), np.asarray(steering, float)
    half = base.track_m / 2
    positions = np.array([[0.0, half, 0.0], [0.0, -half, 0.0], [base.wheelbase_m, 0.0, 0.0]])
    rotations = np.concatenate([rotation_about_axis(1, turned), rotation_about_axis(2, steering)[:, None]], axis=1)
    return transform_from_rotation(rotations, positions)


@dataclass(frozen=True, kw_only=True)
class AckermannSettings:
    """What the odometry needs to know.

    Args:
        base: the base.
        errors: standard deviations of the wheels.
        stepping: how the time between two rows is integrated.
        limits: how dense the path is.
    """

    base: AckermannBase
    errors: AckermannErrors
    stepping: IntegrationLimits
    limits: PathLimits


def ackermann_from_settings(settings: Mapping[str, Any]) -> AckermannSettings:
    """Read the settings of a description.

    Args:
        settings: values by name; `integration` is `arcs`, or `authors` for the numbers of the published bags.

    Returns:
        The settings.

    Raises:
        ValueError: the integration is unknown, or a length is not positive.
    """
    integration = settings["integration"]
    if integration not in (ARCS, AUTHORS):
        raise ValueError(f"integration: expected '{ARCS}' or '{AUTHORS}', got '{integration}'")
    euler_s = AUTHORS_STEP_S if integration == AUTHORS else None
    return AckermannSettings(
        base=AckermannBase(**{item.name: float(settings[item.name]) for item in fields(AckermannBase)}),
        errors=AckermannErrors(**{item.name: float(settings[item.name]) for item in fields(AckermannErrors)}),
        stepping=IntegrationLimits(longest_s=float(settings["longest_step_s"]), euler_s=euler_s),
        limits=PathLimits(step_m=float(settings["path_step_m"]), poses=int(settings["path_poses"])),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class AckermannState:
    """The state of the odometry.

    Args:
        odometry: of dead reckoning.
        wheel_rates: the rear wheels' last rates (2,) in rad/s.
        turned: their angles (2,) in rad.
        path: the poses that are kept.
    """

    odometry: OdometryState
    wheel_rates: Array
    turned: Array
    path: ThinnedPath


@dataclass(frozen=True, kw_only=True, eq=False)
class AckermannDrive(PlanarOdometry[AckermannState]):
    """Odometry of n rows.

    Args:
        joint_transforms: base_T_joint (n, 3, 4, 4): left wheel, right wheel, steering.
        growths: how the path grew.
    """

    joint_transforms: Array
    growths: list[PathGrowth]


def ackermann_odometry_from_joints(
    settings: AckermannSettings,
    before: AckermannState | None,
    stamp_ns: NDArray[np.int64],
    *,
    wheel_rates: Array,
    steering: Array,
) -> AckermannDrive:
    """Compute odometry from the rear wheels and the steering.

    Args:
        settings: of the base.
        before: the state after the rows before, or None.
        stamp_ns: times (n,) in ns, n > 0.
        wheel_rates: (n, 2) in rad/s of the left and right rear wheel.
        steering: (n,) in rad, positive to the left.

    Returns:
        Odometry of n rows, with the state after them.

    Raises:
        ValueError: times run back.
    """
    base, errors = settings.base, settings.errors
    start = None if before is None else before.odometry
    before_m_s = 0.0 if start is None else float(start.twist[0])
    speeds = speeds_from_wheels(base, errors, wheel_rates, before_m_s=before_m_s)
    twists, covariances = twists_from_wheels(base, errors, speeds, steering=steering)
    planar = integrate_odometry(start, stamp_ns, twists, covariances, stepping=settings.stepping)
    turned = _wheel_angles(before, stamp_ns, wheel_rates, longest_s=settings.stepping.longest_s)
    path = None if before is None else before.path
    growths, path = extend_path(
        path, settings.limits, stamp_ns=stamp_ns, poses=planar.poses, lengths_m=planar.lengths_m
    )
    return AckermannDrive(
        stamp_ns=stamp_ns,
        poses=planar.poses,
        twists=twists,
        pose_covariances=covariance_from_planar(planar.covariances, UNKNOWN_VARIANCE),
        twist_covariances=covariance_from_planar(covariances, UNKNOWN_VARIANCE),
        joint_transforms=joint_transforms_from_angles(base, turned, steering),
        growths=growths,
        last=AckermannState(odometry=planar.last, wheel_rates=wheel_rates[-1], turned=turned[-1], path=path),
    )


def transforms_of_odometry(drive: AckermannDrive) -> Array:
    """Collect all transforms of a drive.

    Args:
        drive: of n rows.

    Returns:
        odom_T_base, then base_T_joint of each joint (n, 4, 4, 4).
    """
    return np.concatenate([planar_transforms(drive.poses)[:, None], drive.joint_transforms], axis=1)


def wheels_of_joints(names: Sequence[str], positions: Array, velocities: Array) -> tuple[Array, Array]:
    """Select the wheels among joints.

    Args:
        names: of k joints.
        positions: (n, k) in rad.
        velocities: (n, k) in rad/s.

    Returns:
        Rates (n, 2) of the rear wheels, and steering angles (n,).

    Raises:
        ValueError: a joint is missing, or a number is not finite.
    """
    if positions.shape[-1] != len(names) or velocities.shape[-1] != len(names):
        raise ValueError(f"expected a position and a velocity for each of {len(names)} joints, got fewer or more")
    wheel_rates = joint_values(names, velocities, REAR_WHEELS)
    steering = joint_values(names, positions, STEERING)[..., 0]
    if not np.isfinite(wheel_rates).all() or not np.isfinite(steering).all():
        raise ValueError("expected numbers for the wheels' rates and the steering angle, got some that are none")
    return wheel_rates, steering


def _wheel_angles(
    before: AckermannState | None, stamp_ns: NDArray[np.int64], wheel_rates: Array, *, longest_s: float
) -> Array:
    """The angles (n, 2) of the wheels, integrated from their rates; noise is not filtered."""
    earlier: Array
    start: Array
    if before is None:
        earlier_ns, earlier, start = int(stamp_ns[0]), wheel_rates[0], np.zeros(2)
    else:
        earlier_ns, earlier, start = before.odometry.stamp_ns, before.wheel_rates, before.turned
    durations = np.minimum(np.diff(stamp_ns, prepend=earlier_ns) / NS_PER_S, longest_s)
    held = (wheel_rates + np.concatenate([earlier[None], wheel_rates[:-1]])) / 2
    angles: Array = np.cumsum(np.concatenate([start[None], held * durations[:, None]]), axis=0)[1:]
    return angles


class AckermannOdometry(Computation):
    """Odometry of a base with steered front wheels on odom and tf, and the way that it came on path."""

    name = "ackermann_odometry"
    publishes_joint_tf = True
    is_stateful = True
    settings = (
        Setting("frame_prefix", "", "put before the name of each frame"),
        Setting("frame", "odom", "frame of the odometry"),
        Setting("child_frames", ["base_link"], "the base, then the rear wheels and the steering, or not"),
        Setting("wheelbase_m", 0.0, "from the rear axle to the front one"),
        Setting("track_m", 0.0, "from wheel to wheel of the rear axle; for the wheels' frames alone"),
        Setting("wheel_diameter_m", 0.0, "of the rear wheels"),
        Setting("noise_limit_rpm", 0.0, "maximum wheel speed; faster readings are ignored"),
        Setting("speed_std_m_s", 0.0, "standard deviation of the speed that is always there"),
        Setting("speed_share", 0.0, "and its part that grows with the speed, in parts of it"),
        Setting("one_wheel_share", 0.0, "additional standard deviation where only one rear wheel is usable"),
        Setting("slide_share", 0.0, "standard deviation of the slide to the side, in parts of the speed"),
        Setting("steering_std_deg", 0.0, "standard deviation of the steering angle"),
        Setting("turn_rate_std_rad_s", 0.0, "minimum standard deviation of the turn rate"),
        Setting("integration", ARCS, f"'{ARCS}' over the real time, or '{AUTHORS}': as in the published bags"),
        Setting("longest_step_s", 1.0, "a longer gap is not driven through to its end"),
        Setting("path_step_m", 1.0, "from pose to pose of the path, while it is short"),
        Setting("path_poses", 1000, "the path is thinned by half before it has more poses"),
        Setting("odom_tf", True, "publish the base in the odometry's frame on tf"),
    )
    inputs = (Input(name="joints", topic="wheels/joint_states", msgtype="sensor_msgs/msg/JointState"),)

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        if len(self.children) not in (1, 4):
            raise ValueError(f"child_frames: expected the base alone or with 3 joints, got {self.children}")
        frame, base = self.frame_of("frame"), self.children[0]
        self._settings = ackermann_from_settings(self.setting_values)
        self._state: AckermannState | None = None
        self._odom = Output(topic="odom", type="nav_msgs/msg/Odometry", frame=frame, child_frame=base)
        self._path = Output(topic="path", type="nav_msgs/msg/Path", frame=frame, latched=True)
        first = 0 if self.setting_values["odom_tf"] else 1
        self._placed = slice(first, len(self.children))
        self._edges = [frame, base, base, base][: len(self.children)][self._placed], self.children[self._placed]
        self.outputs = (self._odom, self._path, *((ON_TF,) if self._edges[1] else ()))

    def step(self, name: str, record: Record) -> OutputRecords:
        joints = joints_of(record)
        if joints.position is None or joints.velocity is None:
            raise ValueError("expected positions and velocities of joints, got one of them alone")
        wheel_rates, steering = wheels_of_joints(joints.names, joints.position, joints.velocity)
        self.follow(record.stamp_ns)
        drive = ackermann_odometry_from_joints(
            self._settings, self._state, record.stamp_ns, wheel_rates=wheel_rates, steering=steering
        )
        self._state = drive.last
        yield self._odom, odometry_record(drive)
        if drive.growths:
            yield self._path, paths_record(drive.growths)
        if self._edges[1]:
            transforms = transforms_of_odometry(drive)[:, self._placed]
            yield ON_TF, transforms_record(*self._edges, record.stamp_ns, transforms)

    def reset(self) -> None:
        super().reset()
        self._state = None
