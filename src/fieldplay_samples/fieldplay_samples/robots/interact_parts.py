"""What cameras see of the rover itself: body, mast, wheels and both arms as solids of the world."""

from typing import Any

from fieldplay_samples.motion.frames import Floats, floats, moved
from fieldplay_samples.robots.arm import base_T_carried_from_joints
from fieldplay_samples.robots.interact import Interact
from fieldplay_samples.robots.swivel import base_T_wheels
from fieldplay_samples.world.solids import Solids, box, capsule, merged, stone


def parts_of(
    robot: Interact, world_T_base: Floats, *, steer_rad: Floats, turned_rad: Floats, aux_arm_rad: Floats
) -> Solids:
    """The rover's parts in the world at one moment: its pose (4, 4), four steering and drive angles, seven joints."""
    assumed = robot.numbers["assumed"]
    wheels = base_T_wheels(robot.wheels, steer_rad[None], turned_rad[None])[0]
    main_base, aux_base = (world_T_base @ robot.transforms[f"base_T_{arm}_base"] for arm in ("main_arm", "aux_arm"))
    return merged(
        [
            *_body(assumed, world_T_base),
            *(part for wheel in wheels for part in _wheel(assumed, world_T_base @ wheel)),
            *_limbs(robot, main_base, robot.main_arm_rad, limbs=assumed["arm_limbs"]),
            *_limbs(robot, aux_base, aux_arm_rad, limbs=assumed["arm_limbs"] + assumed["gripper_limbs"]),
        ]
    )


def _body(assumed: dict[str, Any], world_T_base: Floats) -> list[Solids]:
    body, mast = assumed["body"], assumed["mast"]
    centre, begin, end = moved(world_T_base, floats([body["centre"], mast["begin"], mast["end"]]))
    return [
        box(centre, body["sizes"], world_R_box=world_T_base[:3, :3], albedo=body["albedo"]),
        capsule(begin, end, mast["radius"], albedo=mast["albedo"]),
    ]


def _wheel(assumed: dict[str, Any], world_T_wheel: Floats) -> list[Solids]:
    """A tyre, cut off a ball that is long in the axle's direction, and a hub out of the middle that shows it turn."""
    radius, half_width, hub = assumed["wheel_radius_m"], assumed["wheel_half_width_m"], assumed["hub"]
    radii = [4.0 * half_width, radius, radius]
    sides = [[1.0, 0.0, 0.0, half_width], [-1.0, 0.0, 0.0, half_width]]
    reach = half_width + hub["length"] - hub["radius"]
    begin, end = moved(world_T_wheel, floats([[0.0, 0.4 * radius, 0.0], [reach, 0.4 * radius, 0.0]]))
    turn, centre = world_T_wheel[:3, :3], world_T_wheel[:3, 3]
    return [
        stone(centre, radii, world_R_stone=turn, planes=sides, albedo=assumed["tyre_albedo"], grain=1.0),
        capsule(begin, end, hub["radius"], albedo=hub["albedo"]),
    ]


def _limbs(robot: Interact, world_T_arm: Floats, joints_rad: Floats, *, limbs: list[dict[str, Any]]) -> list[Solids]:
    parts = []
    for limb in limbs:
        carried = world_T_arm @ base_T_carried_from_joints(robot.arm, joints_rad, limb["joints"])
        aside = limb.get("aside", 0.0)
        begin, end = moved(carried, floats([[0.0, aside, limb["from"]], [0.0, aside, limb["to"]]]))
        parts.append(capsule(begin, end, limb["radius"], albedo=limb["albedo"]))
    return parts
