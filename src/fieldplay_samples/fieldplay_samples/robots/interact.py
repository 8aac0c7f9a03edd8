"""The rover Interact: where its sensors and arms stand on it, as data/interact.yaml has the numbers."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from fieldplay_samples.data import numbers_of
from fieldplay_samples.motion.plan import DriveLimits, smooth_step
from fieldplay_samples.motion.ride import GroundDrive, Spline, Stance, integral_of, knots_s, spline_through
from fieldplay_samples.motion.rotations import (
    Floats,
    floats,
    inverse,
    rotation_about,
    transform,
    transform_points,
)
from fieldplay_samples.world.solids import Solids, box, capsule, cylinder, merge_solids

LEFT = floats([1, 1, -1, -1])  # wheels 1 front left, 2 rear left, 3 rear right, 4 front right
FRONT = floats([1, -1, -1, 1])
SLOW_M_S = 0.01  # below it a twist does not determine directions well, the planned curvature does
ARMS = {"main_cam": "main_arm", "aux_cam": "aux_arm"}  # which arm carries a camera
ON_BODY = ("lidar", "main_arm_base", "aux_arm_base")
LIMITS = DriveLimits(slowest_m_s=0.2, fastest_m_s=0.8, least_radius_m=2.0)


# Arms as products of exponentials: each joint turns all that is beyond it about its axis as it lies at angles zero.


@dataclass(frozen=True, eq=False, kw_only=True)
class Arm:
    """An arm at angles zero, in its base's frame: axes (n, 3), points on them in m, its end's pose (4, 4)."""

    axes: Floats
    points_m: Floats
    base_T_end_at_zero: Floats


def arm_from_rows(axes: list[list[float]], points_m: list[list[float]], end_m: list[float]) -> Arm:
    """The arm with these axes and points, whose end at angles zero is turned as its base."""
    end = transform(np.eye(3), end_m)
    return Arm(axes=floats(axes), points_m=floats(points_m), base_T_end_at_zero=end)


def base_T_end_from_joints(arm: Arm, joints_rad: Floats) -> Floats:
    """Poses (..., 4, 4) of the end in the base, for joint angles (..., n)."""
    return base_T_carried_from_joints(arm, joints_rad, len(arm.axes)) @ arm.base_T_end_at_zero


def base_T_carried_from_joints(arm: Arm, joints_rad: Floats, joints: int) -> Floats:
    """What the first so many joints do: transforms (..., 4, 4) of what they carry, from its place at angles zero."""
    result = np.broadcast_to(np.eye(4), (*joints_rad.shape[:-1], 4, 4))
    for joint in range(joints):
        rotation = rotation_about(arm.axes[joint], joints_rad[..., joint])
        point = arm.points_m[joint]
        result = result @ transform(rotation, point - rotation @ point)
    return floats(result)


# Wheels that are each driven and steered, on swivels: what they do when the body moves, by inverse kinematics.
#
# A wheel stands `swivel_m` outwards of its pivot. The pivot's velocity gives the steering angle (0 straight, to the
# left positive); the rim's speed is the pivot's and that of the wheel about the pivot.


@dataclass(frozen=True, kw_only=True)
class SwivelWheels:
    """Four wheels in the body's frame, forward left up, in m: pivots (+-half_base, +-half_track), axles at height."""

    half_base_m: float
    half_track_m: float
    height_m: float
    swivel_m: float
    radius_m: float


@dataclass(frozen=True, eq=False, kw_only=True)
class WheelMotion:
    """What four wheels do over time: steering angles in rad (4), and how far their rims have rolled in m (4)."""

    steer_rad: Spline
    rolled_m: Spline


def wheel_motion(drive: GroundDrive, wheels: SwivelWheels) -> WheelMotion:
    """What the wheels do in a drive."""
    time = knots_s(drive.motion.seconds)
    steer = spline_through(time, _steering_of_drive(drive, wheels, time))
    speeds = spline_through(
        time, rim_speeds(wheels, _twists(drive, time), steer.at(time), steer_rate_rad_s=steer.at(time, 1))
    )
    return WheelMotion(steer_rad=steer, rolled_m=integral_of(speeds))


def steering_angles(wheels: SwivelWheels, sideways: Floats, curvature_1_m: Floats) -> Floats:
    """Steering angles (n, 4) in rad from velocities' ratios (n,): sideways to forward, and turn rate to forward."""
    x, y = FRONT * wheels.half_base_m, LEFT * wheels.half_track_m
    across = sideways[:, None] + curvature_1_m[:, None] * x
    return np.arctan(across / (1.0 - curvature_1_m[:, None] * y))


def rim_speeds(wheels: SwivelWheels, twist: Floats, steer_rad: Floats, *, steer_rate_rad_s: Floats) -> Floats:
    """Rim speeds (n, 4) in m/s from twists (n, 3), forward, left and turn; steering (n, 4) and its rate in rad/s."""
    forward, left, turn = (twist[:, [column]] for column in range(3))
    pivot_x = forward - turn * LEFT * wheels.half_track_m
    pivot_y = left + turn * FRONT * wheels.half_base_m
    along = pivot_x * np.cos(steer_rad) + pivot_y * np.sin(steer_rad)
    return floats(along - LEFT * wheels.swivel_m * (turn + steer_rate_rad_s))


def base_T_wheels(wheels: SwivelWheels, steer_rad: Floats, turned_rad: Floats) -> Floats:
    """Poses (n, 4, 4, 4) of wheels from steering and drive angles (n, 4); a wheel's x axis is its axle, outwards."""
    about_axle = rotation_about((1, 0, 0), LEFT * turned_rad)
    upright = rotation_about((0, 0, 1), steer_rad + LEFT * np.pi / 2.0)
    x = FRONT * wheels.half_base_m - LEFT * wheels.swivel_m * np.sin(steer_rad)
    y = LEFT * (wheels.half_track_m + wheels.swivel_m * np.cos(steer_rad))
    position = np.stack([x, y, np.full_like(x, wheels.height_m)], axis=-1)
    return transform(upright @ about_axle, position)


def _steering_of_drive(drive: GroundDrive, wheels: SwivelWheels, time_s: Floats) -> Floats:
    forward, left, turn = _twists(drive, time_s).T
    little = SLOW_M_S * SLOW_M_S
    weight = forward * forward + little
    curvature = (forward * turn + little * drive.curvature_1_m.at(time_s)) / weight
    return steering_angles(wheels, forward * left / weight, curvature)


def _twists(drive: GroundDrive, time_s: Floats) -> Floats:
    """Twists (n, 3) of base_link in its own plane."""
    velocity, rate = drive.motion.body_velocity(time_s), drive.motion.body_rate(time_s)
    return np.stack([velocity[:, 0], velocity[:, 1], rate[:, 2]], axis=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Interact:
    """The rover; transforms (4, 4) by name: base_link is forward left up, origin (the INS) forward right down."""

    wheels: SwivelWheels
    arm: Arm
    transforms: dict[str, Floats]
    numbers: dict[str, Any]  # of the YAML, as they stand there

    @property
    def ins_point_m(self) -> Floats:
        """Where the INS is, in base_link (3,)."""
        return floats(self.transforms["base_T_origin"][:3, 3])

    @property
    def main_arm_rad(self) -> Floats:
        """The main arm's joints (7,), which never move."""
        return floats(self.numbers["assumed"]["main_arm_rad"])


@lru_cache(maxsize=1)
def load_interact() -> Interact:
    """The rover as its YAML describes it."""
    numbers = numbers_of("interact")
    published, assumed = numbers["published"], numbers["assumed"]
    transforms = {name: transform_from_row(row) for name, row in published["transforms"].items()}
    base_T_origin = inverse(transforms["platform_origin"])
    on_body = {f"base_T_{name}": base_T_origin @ transforms[f"{name}_origin"] for name in ON_BODY}
    on_arms = {f"end_T_{camera}": transforms[f"{camera}_{arm}_end"] for camera, arm in ARMS.items()}
    measures = {key: published["wheels"][key] for key in ("half_base_m", "half_track_m", "height_m", "swivel_m")}
    arm = published["arm"]
    return Interact(
        wheels=SwivelWheels(**measures, radius_m=assumed["wheel_radius_m"]),
        arm=arm_from_rows(arm["axes"], arm["points_m"], arm["end_m"]),
        transforms={"base_T_origin": base_T_origin, **on_body, **on_arms},
        numbers=numbers,
    )


def transform_from_row(row: list[float]) -> Floats:
    """The pose (4, 4) of A in B from a row of the paper's table: mm, and degrees of `Rx(psi) Ry(theta) Rz(phi)`."""
    psi, theta, phi = np.radians(row[3:])
    about_x, about_y = rotation_about((1, 0, 0), psi), rotation_about((0, 1, 0), theta)
    return transform(about_x @ about_y @ rotation_about((0, 0, 1), phi), floats(row[:3]) / 1000.0)


def base_T_camera(robot: Interact, camera: str, joints_rad: Floats) -> Floats:
    """Poses (..., 4, 4) of a camera's optical frame (`main_cam`, `aux_cam`) on its arm with joints (..., 7)."""
    base_T_arm = robot.transforms[f"base_T_{ARMS[camera]}_base"]
    return floats(base_T_arm @ base_T_end_from_joints(robot.arm, joints_rad) @ robot.transforms[f"end_T_{camera}"])


def origin_T_camera(robot: Interact, camera: str, joints_rad: Floats) -> Floats:
    """The same poses in the INS's frame, forward right down."""
    return floats(inverse(robot.transforms["base_T_origin"]) @ base_T_camera(robot, camera, joints_rad))


def aux_arm_joints(robot: Interact, time_s: Floats, seconds: float, *, rock_picking: bool) -> Floats:
    """Joints (n, 7) of the auxiliary arm: still, or in a rock picking through its postures in the second half."""
    assumed = robot.numbers["assumed"]
    rest = floats(assumed["aux_arm_rest_rad"])
    joints = np.tile(rest, (len(time_s), 1))
    if not rock_picking:
        return joints
    postures = floats([rest, *assumed["aux_arm_picking_rad"], rest])
    step_s = 0.5 * seconds / len(postures)
    for number, change in enumerate(np.diff(postures, axis=0)):
        progress = (time_s - 0.5 * seconds) / step_s - number
        joints += change * smooth_step(progress)[:, None]
    return joints


def stance_of(robot: Interact) -> Stance:
    """How the rover stands: contacts below the wheels, straight."""
    wheels = robot.wheels
    return Stance(
        half_base_m=wheels.half_base_m,
        half_track_m=wheels.half_track_m + wheels.swivel_m,
        base_height_m=wheels.radius_m - wheels.height_m,
        half_contact_m=robot.numbers["assumed"]["contact_half_length_m"],
    )


def parts_of(
    robot: Interact, world_T_base: Floats, *, steer_rad: Floats, turned_rad: Floats, aux_arm_rad: Floats
) -> Solids:
    """The rover's parts in the world at one moment: its pose (4, 4), four steering and drive angles, seven joints."""
    assumed = robot.numbers["assumed"]
    wheels = base_T_wheels(robot.wheels, steer_rad[None], turned_rad[None])[0]
    main_base, aux_base = (world_T_base @ robot.transforms[f"base_T_{arm}_base"] for arm in ("main_arm", "aux_arm"))
    return merge_solids(
        [
            *_body(assumed, world_T_base),
            *(part for wheel in wheels for part in _wheel(assumed, world_T_base @ wheel)),
            *_limbs(robot, main_base, robot.main_arm_rad, limbs=assumed["arm_limbs"]),
            *_limbs(robot, aux_base, aux_arm_rad, limbs=assumed["arm_limbs"] + assumed["gripper_limbs"]),
        ]
    )


def _body(assumed: dict[str, Any], world_T_base: Floats) -> list[Solids]:
    body, mast = assumed["body"], assumed["mast"]
    centre, start, end = transform_points(world_T_base, floats([body["centre"], mast["begin"], mast["end"]]))
    return [
        box(centre, body["sizes"], world_R_box=world_T_base[:3, :3], albedo=body["albedo"]),
        capsule(start, end, mast["radius"], albedo=mast["albedo"]),
    ]


def _wheel(assumed: dict[str, Any], world_T_wheel: Floats) -> list[Solids]:
    """A tyre, and a hub out of the middle that shows it turn."""
    radius, half_width, hub = assumed["wheel_radius_m"], assumed["wheel_half_width_m"], assumed["hub"]
    reach = half_width + hub["length"] - hub["radius"]
    start, end = transform_points(world_T_wheel, floats([[0.0, 0.4 * radius, 0.0], [reach, 0.4 * radius, 0.0]]))
    axle, centre = world_T_wheel[:3, 0], world_T_wheel[:3, 3]
    return [
        cylinder(centre, axle, radius, half_width, albedo=assumed["tyre_albedo"], grain=1.0),
        capsule(start, end, hub["radius"], albedo=hub["albedo"]),
    ]


def _limbs(robot: Interact, world_T_arm: Floats, joints_rad: Floats, *, limbs: list[dict[str, Any]]) -> list[Solids]:
    parts = []
    for limb in limbs:
        carried = world_T_arm @ base_T_carried_from_joints(robot.arm, joints_rad, limb["joints"])
        aside = limb.get("aside", 0.0)
        start, end = transform_points(carried, floats([[0.0, aside, limb["from"]], [0.0, aside, limb["to"]]]))
        parts.append(capsule(start, end, limb["radius"], albedo=limb["albedo"]))
    return parts
