"""The rover Interact: where its sensors and arms stand on it, as data/interact.yaml has the numbers."""

from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np
import yaml

from fieldplay_samples.motion.frames import Floats, floats, inverse, rotation_about, transform
from fieldplay_samples.motion.plan import DriveLimits, smooth_step
from fieldplay_samples.motion.ride import Stance
from fieldplay_samples.robots.arm import Arm, arm_from_rows, base_T_end_from_joints
from fieldplay_samples.robots.swivel import SwivelWheels

ARMS = {"main_cam": "main_arm", "aux_cam": "aux_arm"}  # which arm carries a camera
ON_BODY = ("lidar", "main_arm_base", "aux_arm_base")
LIMITS = DriveLimits(slowest_m_s=0.2, fastest_m_s=0.8, least_radius_m=2.0)


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
    text = (resources.files("fieldplay_samples") / "data" / "interact.yaml").read_text("utf-8")
    numbers: dict[str, Any] = yaml.safe_load(text)
    published, assumed = numbers["published"], numbers["assumed"]
    places = {name: transform_from_row(row) for name, row in published["transforms"].items()}
    base_T_origin = inverse(places["platform_origin"])
    on_body = {f"base_T_{name}": base_T_origin @ places[f"{name}_origin"] for name in ON_BODY}
    on_arms = {f"end_T_{camera}": places[f"{camera}_{arm}_end"] for camera, arm in ARMS.items()}
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
