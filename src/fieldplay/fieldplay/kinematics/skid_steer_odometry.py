"""Odometry of a skid-steered base from its wheels, whose two sides may be measured together or one after the other.

The state goes in and comes out, as in dead reckoning: one row at a time or all of them give the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldplay.geometry.transforms import Array
from fieldplay.kinematics.computation import (
    ON_TF,
    Computation,
    Input,
    Output,
    OutputRecords,
    Setting,
)
from fieldplay.kinematics.planar_odometry import (
    IntegrationLimits,
    OdometryState,
    PlanarOdometry,
    covariance_from_planar,
    integrate_odometry,
)
from fieldplay.kinematics.pose_records import odometry_record, transforms_record, with_velocities
from fieldplay.kinematics.robots import UNKNOWN_VARIANCE, planar_transforms
from fieldplay.messages.records import Record

LEFT, RIGHT = 0, 1
NS_PER_S = 1e9
SIDES = ("left_wheel", "right_wheel")


# A base whose wheels are not steered: it turns as one side drives faster than the other, and skids over the ground.
#
# Base axes are forward, left, up. A side's wheels all turn at one rate (rad/s), positive where they drive forward. The
# track is the effective one, wider than from wheel to wheel: wheels that skid turn the base less than rolling ones.


@dataclass(frozen=True, kw_only=True)
class SkidSteerBase:
    """A base whose wheels are not steered.

    Args:
        wheel_radius_m: on which a wheel rolls.
        track_m: the effective track, wider than from wheel to wheel, as the wheels skid.

    Raises:
        ValueError: a number is not positive.
    """

    wheel_radius_m: float
    track_m: float

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not value > 0:
                raise ValueError(f"{item.name}: expected more than 0, got {value}")


@dataclass(frozen=True, kw_only=True)
class SkidSteerErrors:
    """Standard deviations of what the wheels say.

    Args:
        speed_std_m_s: of each side's speed, at standstill too.
        slip_share: of each side's speed, as a fraction of it.
        track_share: of the turn rate, as a fraction of it, as the track depends on the ground.
        slide_share: of the slide to the side, as a fraction of how much faster one side is.
    """

    speed_std_m_s: float
    slip_share: float
    track_share: float
    slide_share: float


@dataclass(frozen=True, kw_only=True, eq=False)
class ZeroOrderHold:
    """The latest rates of the sides.

    Args:
        rates: (2,) in rad/s, NaN where there was none.
        came_ns: when they came (2,).
        stamp_ns: time of the latest row.
    """

    rates: Array
    came_ns: NDArray[np.int64]
    stamp_ns: int


def hold_rates(
    before: ZeroOrderHold | None, stamp_ns: NDArray[np.int64], rates: ArrayLike, *, longest_hold_s: float
) -> tuple[Array, ZeroOrderHold]:
    """Hold the rate of each side until its next one.

    Args:
        before: the state after the rows before, or None.
        stamp_ns: times (n,) in ns, n > 0.
        rates: (n, 2) in rad/s of the left and right side, NaN where a row has none.
        longest_hold_s: a rate is held so long, then it is NaN.

    Returns:
        Rates (n, 2), and the new state.
    """
    measured = np.asarray(rates, float)
    start = before or ZeroOrderHold(rates=np.full(2, np.nan), came_ns=np.zeros(2, np.int64), stamp_ns=int(stamp_ns[0]))
    values = np.concatenate([start.rates[None], measured])
    came_ns = np.concatenate([start.came_ns[None], np.repeat(stamp_ns[:, None], 2, axis=1)])
    index = np.arange(len(values))[:, None]
    is_new = np.isfinite(values)
    is_new[0] = True
    # Row 0 is the state before; from each row look back to the latest one with a rate of that side.
    latest = np.maximum.accumulate(np.where(is_new, index, 0), axis=0)
    held = np.take_along_axis(values, latest, axis=0)
    held_ns: NDArray[np.int64] = np.take_along_axis(came_ns, latest, axis=0)
    last = ZeroOrderHold(rates=held[-1], came_ns=held_ns[-1], stamp_ns=int(stamp_ns[-1]))
    is_stale = stamp_ns[:, None] - held_ns[1:] > round(longest_hold_s * NS_PER_S)
    return np.where(is_stale, np.nan, held[1:]), last


def twists_from_wheel_rates(base: SkidSteerBase, wheel_rates: ArrayLike) -> Array:
    """Compute twists of the base.

    Args:
        base: the base.
        wheel_rates: (..., 2) in rad/s of the left and right wheels.

    Returns:
        vx, vy (0) in m/s and turn rate in rad/s (..., 3).

    Example:
        >>> twists_from_wheel_rates(SkidSteerBase(wheel_radius_m=0.1, track_m=0.5), [5.0, 5.0]).tolist()
        [0.5, 0.0, 0.0]
    """
    rims = np.asarray(wheel_rates, float) * base.wheel_radius_m
    left, right = rims[..., LEFT], rims[..., RIGHT]
    return np.stack([(left + right) / 2, np.zeros_like(left), (right - left) / base.track_m], axis=-1)


def wheel_rates_from_twists(base: SkidSteerBase, twists: ArrayLike) -> Array:
    """Compute the rates that twists need.

    Args:
        base: the base.
        twists: vx, vy, turn rate (..., 3); vy cannot be driven and is ignored.

    Returns:
        Rates (..., 2) in rad/s of the left and right wheels.
    """
    twists = np.asarray(twists, float)
    forward, aside = twists[..., 0], twists[..., 2] * base.track_m / 2
    rates: Array = np.stack([forward - aside, forward + aside], axis=-1) / base.wheel_radius_m
    return rates


def covariances_from_wheel_rates(base: SkidSteerBase, errors: SkidSteerErrors, wheel_rates: ArrayLike) -> Array:
    """Compute the covariances of twists: errors of the sides are independent, so speed and turn rate share them.

    Args:
        base: the base.
        errors: standard deviations.
        wheel_rates: (n, 2) in rad/s of the left and right wheels.

    Returns:
        Covariances (n, 3, 3).
    """
    rims = np.asarray(wheel_rates, float) * base.wheel_radius_m
    floor = errors.speed_std_m_s**2
    of_sides = floor + (errors.slip_share * rims) ** 2
    left, right = of_sides[:, LEFT], of_sides[:, RIGHT]
    faster = rims[:, RIGHT] - rims[:, LEFT]
    covariances = np.zeros((len(rims), 3, 3))
    covariances[:, 0, 0] = (left + right) / 4
    covariances[:, 1, 1] = floor + (errors.slide_share * faster) ** 2
    covariances[:, 0, 2] = covariances[:, 2, 0] = (right - left) / (2 * base.track_m)
    covariances[:, 2, 2] = (left + right + (errors.track_share * faster) ** 2) / base.track_m**2
    return covariances


@dataclass(frozen=True, kw_only=True)
class SkidSteerSettings:
    """What the odometry needs to know.

    Args:
        base: the base.
        errors: standard deviations of the wheels.
        stepping: how the time between two rows is integrated.
        longest_hold_s: how long a side's rate is held.
    """

    base: SkidSteerBase
    errors: SkidSteerErrors
    stepping: IntegrationLimits
    longest_hold_s: float


def skid_steer_from_settings(settings: Mapping[str, Any]) -> SkidSteerSettings:
    """Read the settings of a description.

    Args:
        settings: values by name.

    Returns:
        The settings.

    Raises:
        ValueError: a length is not positive.
    """
    return SkidSteerSettings(
        base=SkidSteerBase(**{item.name: float(settings[item.name]) for item in fields(SkidSteerBase)}),
        errors=SkidSteerErrors(**{item.name: float(settings[item.name]) for item in fields(SkidSteerErrors)}),
        stepping=IntegrationLimits(longest_s=float(settings["longest_step_s"])),
        longest_hold_s=float(settings["longest_hold_s"]),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class SkidSteerState:
    """The state of the odometry.

    Args:
        held: the latest rates of the sides.
        odometry: of dead reckoning; None until both sides are known.
    """

    held: ZeroOrderHold
    odometry: OdometryState | None = None


def skid_steer_odometry_from_wheels(
    settings: SkidSteerSettings, before: SkidSteerState | None, stamp_ns: NDArray[np.int64], wheel_rates: Array
) -> PlanarOdometry[SkidSteerState]:
    """Compute odometry from the wheels of both sides, which may be measured together or in turns.

    Args:
        settings: of the base.
        before: the state after the rows before, or None.
        stamp_ns: times (n,) in ns, n > 0.
        wheel_rates: (n, 2) in rad/s of the left and right side, NaN where a row has none.

    Returns:
        Odometry of the m <= n rows that have a rate while both sides are known, with the state after them.

    Raises:
        ValueError: times run back.
    """
    held_before, reckoning = (None, None) if before is None else (before.held, before.odometry)
    rates, held = hold_rates(held_before, stamp_ns, wheel_rates, longest_hold_s=settings.longest_hold_s)
    known = np.isfinite(rates).all(axis=1) & np.isfinite(wheel_rates).any(axis=1)
    stamps, rates = stamp_ns[known], rates[known]
    twists = twists_from_wheel_rates(settings.base, rates)
    covariances = covariances_from_wheel_rates(settings.base, settings.errors, rates)
    poses, pose_covariances = np.zeros((0, 3)), np.zeros((0, 3, 3))
    if len(stamps):
        planar = integrate_odometry(reckoning, stamps, twists, covariances, stepping=settings.stepping)
        poses, pose_covariances, reckoning = planar.poses, planar.covariances, planar.last
    return PlanarOdometry(
        stamp_ns=stamps,
        poses=poses,
        twists=twists,
        pose_covariances=covariance_from_planar(pose_covariances, UNKNOWN_VARIANCE),
        twist_covariances=covariance_from_planar(covariances, UNKNOWN_VARIANCE),
        last=SkidSteerState(held=held, odometry=reckoning),
    )


def wheel_rates_of_joints(names: Sequence[str], velocities: Array) -> Array:
    """Select the wheels among joints.

    Args:
        names: of k joints; `left_wheel`, `right_wheel` or both among them.
        velocities: (n, k) in rad/s.

    Returns:
        Rates (n, 2) of the left and right wheel, NaN where there is none.

    Raises:
        ValueError: neither wheel is there, or names and velocities do not fit.
    """
    if velocities.shape[-1] != len(names):
        raise ValueError(f"expected a velocity for each of {len(names)} joints, got {velocities.shape[-1]}")
    if not set(SIDES) & set(names):
        raise ValueError(f"expected the joints {' or '.join(SIDES)}, got {', '.join(names) or 'none'}")
    columns = [velocities[:, list(names).index(side)] if side in names else None for side in SIDES]
    none = np.full(len(velocities), np.nan)
    rates = np.stack([none if column is None else column for column in columns], axis=-1)
    return np.where(np.isfinite(rates), rates, np.nan)


class SkidSteerOdometry(Computation):
    """Odometry of a skid-steered base on wheels/odom, and on tf where it is asked for.

    One for each row from which both sides are known, at its time.
    """

    name = "skid_steer_odometry"
    is_stateful = True
    settings = (
        Setting("frame_prefix", "", "put before the name of each frame"),
        Setting("frame", "odom", "frame of the odometry"),
        Setting("child_frames", ["base_link"], "frame of the base, as the only one"),
        Setting("wheel_radius_m", 0.0, "the radius on which a wheel rolls"),
        Setting("track_m", 0.0, "the effective track: wider than from wheel to wheel, as the wheels skid in a turn"),
        Setting("speed_std_m_s", 0.0, "standard deviation of each side's speed that is always there"),
        Setting("slip_share", 0.0, "and its part that grows with the speed, in parts of it"),
        Setting(
            "track_share",
            0.0,
            "standard deviation of the turn rate, in parts of it, as the track depends on the ground",
        ),
        Setting(
            "slide_share", 0.0, "standard deviation of the slide to the side, in parts of how much faster one side is"
        ),
        Setting("longest_hold_s", 0.5, "so long the rate of a side is held"),
        Setting("longest_step_s", 1.0, "a longer gap is not driven through to its end"),
        Setting("odom_tf", False, "publish tf"),
    )
    inputs = (Input(name="wheels", topic="payload/wheels", msgtype="sensor_msgs/msg/JointState"),)

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self._edge = [self.frame_of("frame")], self.children[:1]
        self._settings = skid_steer_from_settings(self.setting_values)
        self._state: SkidSteerState | None = None
        (frame,), (child,) = self._edge
        self._odom = Output(topic="wheels/odom", type="nav_msgs/msg/Odometry", frame=frame, child_frame=child)
        self.outputs = (self._odom, ON_TF) if self.setting_values["odom_tf"] else (self._odom,)

    def step(self, name: str, record: Record) -> OutputRecords:
        joints, velocities = with_velocities(record)
        rates = wheel_rates_of_joints(joints.names, velocities)
        self.follow(record.stamp_ns)
        drive = skid_steer_odometry_from_wheels(self._settings, self._state, record.stamp_ns, rates)
        self._state = drive.last
        if not len(drive.stamp_ns):
            return
        yield self._odom, odometry_record(drive)
        if self.setting_values["odom_tf"]:
            transforms = planar_transforms(drive.poses)[:, None]
            yield ON_TF, transforms_record(*self._edge, drive.stamp_ns, transforms)

    def reset(self) -> None:
        super().reset()
        self._state = None
