"""Odometry of a base with steered front wheels from its joints: poses, the joints' frames, and the way that it came.

The state goes in and comes out, as in dead reckoning: one row at a time or all of them give the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import Array
from fieldplay.kinematics.ackermann import (
    AckermannBase,
    AckermannErrors,
    joint_transforms_from_angles,
    speeds_from_wheels,
    twists_from_wheels,
)
from fieldplay.kinematics.computation import (
    ON_TF,
    Computation,
    Input,
    Made,
    Output,
    Setting,
)
from fieldplay.kinematics.path_thinning import (
    PathThinner,
    Trail,
    TrailLimits,
    grown,
)
from fieldplay.kinematics.planar_motion import covariance_from_planar
from fieldplay.kinematics.planar_odometry import (
    NS_PER_S,
    IntegrationLimits,
    OdometryState,
    PlanarOdometry,
    integrate_odometry,
)
from fieldplay.kinematics.pose_records import (
    joints_of,
    odometry_record,
    paths_record,
    transforms_record,
)
from fieldplay.kinematics.robots import UNKNOWN_VARIANCE, of_joints, planar_transforms
from fieldplay.messages.records import Record

REAR_WHEELS = ("rear_left_wheel", "rear_right_wheel")
STEERING = ("front_steering",)
ARCS, AUTHORS = "arcs", "authors"
AUTHORS_STEP_S = 0.1  # of the programs that made the published bags


@dataclass(frozen=True, kw_only=True)
class AckermannSettings:
    """The base, what is uncertain about its wheels, how time is gone over, and what is kept of the way."""

    base: AckermannBase
    errors: AckermannErrors
    stepping: IntegrationLimits
    limits: TrailLimits


def ackermann_from_settings(settings: Mapping[str, Any]) -> AckermannSettings:
    """The settings of a description. `integration` is `arcs`, or `authors` for the numbers of the published bags."""
    integration = settings["integration"]
    if integration not in (ARCS, AUTHORS):
        raise ValueError(f"integration: expected '{ARCS}' or '{AUTHORS}', got '{integration}'")
    euler_s = AUTHORS_STEP_S if integration == AUTHORS else None
    return AckermannSettings(
        base=AckermannBase(**{item.name: float(settings[item.name]) for item in fields(AckermannBase)}),
        errors=AckermannErrors(**{item.name: float(settings[item.name]) for item in fields(AckermannErrors)}),
        stepping=IntegrationLimits(longest_s=float(settings["longest_step_s"]), euler_s=euler_s),
        limits=TrailLimits(step_m=float(settings["path_step_m"]), poses=int(settings["path_poses"])),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class AckermannState:
    """Where the odometry stands: the reckoning, the rear wheels' last rates (2,) and angles (2,), and the trail."""

    reckoning: OdometryState
    wheel_rates: Array
    turned: Array
    trail: Trail


@dataclass(frozen=True, kw_only=True, eq=False)
class AckermannDrive(PlanarOdometry[AckermannState]):
    """Odometry of n rows with the frames of the joints in the base (n, 3, 4, 4), and how the trail grew.

    The rear wheels' frames come first, then that of the steering.
    """

    joint_transforms: Array
    growths: list[PathThinner]


def ackermann_odometry_from_joints(
    settings: AckermannSettings,
    before: AckermannState | None,
    stamp_ns: NDArray[np.int64],
    *,
    wheel_rates: Array,
    steering: Array,
) -> AckermannDrive:
    """Odometry from rates (n, 2) of the rear wheels and steering angles (n,) at times (n,), from where it stood on."""
    base, errors = settings.base, settings.errors
    start = None if before is None else before.reckoning
    before_m_s = 0.0 if start is None else float(start.twist[0])
    speeds = speeds_from_wheels(base, errors, wheel_rates, before_m_s=before_m_s)
    twists, covariances = twists_from_wheels(base, errors, speeds, steering=steering)
    found = integrate_odometry(start, stamp_ns, twists, covariances, stepping=settings.stepping)
    turned = _turned(before, stamp_ns, wheel_rates, longest_s=settings.stepping.longest_s)
    trail = None if before is None else before.trail
    growths, trail = grown(trail, settings.limits, stamp_ns=stamp_ns, poses=found.poses, lengths_m=found.lengths_m)
    return AckermannDrive(
        stamp_ns=stamp_ns,
        poses=found.poses,
        twists=twists,
        pose_covariances=covariance_from_planar(found.covariances, UNKNOWN_VARIANCE),
        twist_covariances=covariance_from_planar(covariances, UNKNOWN_VARIANCE),
        joint_transforms=joint_transforms_from_angles(base, turned, steering),
        growths=growths,
        last=AckermannState(reckoning=found.last, wheel_rates=wheel_rates[-1], turned=turned[-1], trail=trail),
    )


def transforms_of_odometry(found: AckermannDrive) -> Array:
    """odom_T_base, then base_T_joint of each joint (n, 4, 4, 4)."""
    return np.concatenate([planar_transforms(found.poses)[:, None], found.joint_transforms], axis=1)


def wheels_of_joints(names: Sequence[str], positions: Array, velocities: Array) -> tuple[Array, Array]:
    """Rates (n, 2) of the rear wheels and steering angles (n,) among all joints' (n, k), all of them numbers."""
    if positions.shape[-1] != len(names) or velocities.shape[-1] != len(names):
        raise ValueError(f"expected a position and a velocity for each of {len(names)} joints, got fewer or more")
    wheel_rates = of_joints(names, velocities, REAR_WHEELS)
    steering = of_joints(names, positions, STEERING)[..., 0]
    if not np.isfinite(wheel_rates).all() or not np.isfinite(steering).all():
        raise ValueError("expected numbers for the wheels' rates and the steering angle, got some that are none")
    return wheel_rates, steering


def _turned(
    before: AckermannState | None, stamp_ns: NDArray[np.int64], wheel_rates: Array, *, longest_s: float
) -> Array:
    """Angles (n, 2) by which the wheels have turned; what noise says of them is shown as it is."""
    earlier: Array
    start: Array
    if before is None:
        earlier_ns, earlier, start = int(stamp_ns[0]), wheel_rates[0], np.zeros(2)
    else:
        earlier_ns, earlier, start = before.reckoning.stamp_ns, before.wheel_rates, before.turned
    durations = np.minimum(np.diff(stamp_ns, prepend=earlier_ns) / NS_PER_S, longest_s)
    held = (wheel_rates + np.concatenate([earlier[None], wheel_rates[:-1]])) / 2
    angles: Array = np.cumsum(np.concatenate([start[None], held * durations[:, None]]), axis=0)[1:]
    return angles


class AckermannOdometry(Computation):
    """Odometry of a base with steered front wheels on odom and tf, and the way that it came on path."""

    name = "ackermann_odometry"
    places_joints = True
    remembers = True
    settings = (
        Setting("frame_prefix", "", "put before the name of each frame"),
        Setting("frame", "odom", "frame of the odometry"),
        Setting("child_frames", ["base_link"], "the base, then the rear wheels and the steering, or not"),
        Setting("wheelbase_m", 0.0, "from the rear axle to the front one"),
        Setting("track_m", 0.0, "from wheel to wheel of the rear axle; for the wheels' frames alone"),
        Setting("wheel_diameter_m", 0.0, "of the rear wheels"),
        Setting("noise_limit_rpm", 0.0, "a wheel that is said to turn faster is not believed"),
        Setting("speed_std_m_s", 0.0, "standard deviation of the speed that is always there"),
        Setting("speed_share", 0.0, "and its part that grows with the speed, in parts of it"),
        Setting("one_wheel_share", 0.0, "and another where one rear wheel alone is believed"),
        Setting("slide_share", 0.0, "standard deviation of the slide to the side, in parts of the speed"),
        Setting("steering_std_deg", 0.0, "standard deviation of the steering angle"),
        Setting("turn_rate_std_rad_s", 0.0, "standard deviation of the turn rate that is always there"),
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
        self._settings = ackermann_from_settings(self.given)
        self._state: AckermannState | None = None
        self._odom = Output(topic="odom", type="nav_msgs/msg/Odometry", frame=frame, child_frame=base)
        self._path = Output(topic="path", type="nav_msgs/msg/Path", frame=frame, latched=True)
        first = 0 if self.given["odom_tf"] else 1
        self._placed = slice(first, len(self.children))
        self._edges = [frame, base, base, base][: len(self.children)][self._placed], self.children[self._placed]
        self.outputs = (self._odom, self._path, *((ON_TF,) if self._edges[1] else ()))

    def step(self, name: str, record: Record) -> Made:
        joints = joints_of(record)
        if joints.position is None or joints.velocity is None:
            raise ValueError("expected positions and velocities of joints, got one of them alone")
        wheel_rates, steering = wheels_of_joints(joints.names, joints.position, joints.velocity)
        self.follow(record.stamp_ns)
        found = ackermann_odometry_from_joints(
            self._settings, self._state, record.stamp_ns, wheel_rates=wheel_rates, steering=steering
        )
        self._state = found.last
        yield self._odom, odometry_record(found)
        if found.growths:
            yield self._path, paths_record(found.growths)
        if self._edges[1]:
            transforms = transforms_of_odometry(found)[:, self._placed]
            yield ON_TF, transforms_record(*self._edges, record.stamp_ns, transforms)

    def reset(self) -> None:
        super().reset()
        self._state = None
