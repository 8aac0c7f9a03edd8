"""Odometry of a skid-steered base from its wheels, whose two sides may be told together or one after the other.

The state goes in and comes out, as in dead reckoning: one row at a time or all of them give the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay_kinematics.dead_reckoning import Reckoning, Stepping, reckoned
from fieldplay_kinematics.planar_motion import covariance_from_planar
from fieldplay_kinematics.robots import UNKNOWN_VARIANCE
from fieldplay_kinematics.skid_steer import (
    HeldRates,
    SkidSteerBase,
    SkidSteerErrors,
    covariances_from_wheel_rates,
    held_rates,
    twists_from_wheel_rates,
)
from fieldplay_kinematics.transforms import Array

SIDES = ("left_wheel", "right_wheel")


@dataclass(frozen=True, kw_only=True)
class SkidSteerSettings:
    """The base, what is uncertain about its wheels, how time is gone over, and how long a side's rate is held."""

    base: SkidSteerBase
    errors: SkidSteerErrors
    stepping: Stepping
    longest_hold_s: float


def skid_steer_from_settings(settings: Mapping[str, Any]) -> SkidSteerSettings:
    """The settings of a description."""
    return SkidSteerSettings(
        base=SkidSteerBase(**{item.name: float(settings[item.name]) for item in fields(SkidSteerBase)}),
        errors=SkidSteerErrors(**{item.name: float(settings[item.name]) for item in fields(SkidSteerErrors)}),
        stepping=Stepping(longest_s=float(settings["longest_step_s"])),
        longest_hold_s=float(settings["longest_hold_s"]),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class SkidSteerState:
    """Where the odometry stands: the latest rates of the sides, and the reckoning once both are known."""

    held: HeldRates
    reckoning: Reckoning | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class SkidSteerOdometry:
    """Odometry of the m rows that told of a side while both were known, at times (m,).

    Poses x, y, yaw and twists vx, vy, turn rate (m, 3), covariances (m, 6, 6); and where it stands after all rows.
    """

    stamp_ns: NDArray[np.int64]
    poses: Array
    twists: Array
    pose_covariances: Array
    twist_covariances: Array
    last: SkidSteerState


def skid_steer_odometry_from_wheels(
    settings: SkidSteerSettings, before: SkidSteerState | None, stamp_ns: NDArray[np.int64], wheel_rates: Array
) -> SkidSteerOdometry:
    """Odometry from rates (n, 2) of the sides at times (n,), NaN where a row has none of a side, from a state on."""
    held_before, reckoning = (None, None) if before is None else (before.held, before.reckoning)
    rates, held = held_rates(held_before, stamp_ns, wheel_rates, longest_hold_s=settings.longest_hold_s)
    known = np.isfinite(rates).all(axis=1) & np.isfinite(wheel_rates).any(axis=1)
    stamps, rates = stamp_ns[known], rates[known]
    twists = twists_from_wheel_rates(settings.base, rates)
    covariances = covariances_from_wheel_rates(settings.base, settings.errors, rates)
    poses, pose_covariances = np.zeros((0, 3)), np.zeros((0, 3, 3))
    if len(stamps):
        found = reckoned(reckoning, stamps, twists, covariances, stepping=settings.stepping)
        poses, pose_covariances, reckoning = found.poses, found.covariances, found.last
    return SkidSteerOdometry(
        stamp_ns=stamps,
        poses=poses,
        twists=twists,
        pose_covariances=covariance_from_planar(pose_covariances, UNKNOWN_VARIANCE),
        twist_covariances=covariance_from_planar(covariances, UNKNOWN_VARIANCE),
        last=SkidSteerState(held=held, reckoning=reckoning),
    )


def wheel_rates_of_joints(names: Sequence[str], velocities: Array) -> Array:
    """Rates (n, 2) of the left and the right wheel among all joints' velocities (n, k), NaN where there is none."""
    if velocities.shape[-1] != len(names):
        raise ValueError(f"expected a velocity for each of {len(names)} joints, got {velocities.shape[-1]}")
    if not set(SIDES) & set(names):
        raise ValueError(f"expected the joints {' or '.join(SIDES)}, got {', '.join(names) or 'none'}")
    columns = [velocities[:, list(names).index(side)] if side in names else None for side in SIDES]
    none = np.full(len(velocities), np.nan)
    rates = np.stack([none if column is None else column for column in columns], axis=-1)
    return np.where(np.isfinite(rates), rates, np.nan)
