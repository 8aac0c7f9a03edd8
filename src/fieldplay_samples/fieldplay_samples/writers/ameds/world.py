"""The world of a sample of AMEDS: ground, rocks and poles off the rover's way."""

import numpy as np

from fieldplay_samples.motion.frames import Floats, floats, moved
from fieldplay_samples.robots.arm import base_T_end_from_joints
from fieldplay_samples.world.scene import Scene, make_scene
from fieldplay_samples.world.solids import stone
from fieldplay_samples.writers.ameds.scenario import AmedsScenario

WAY_STEP_S = 0.25
FINGERTIPS_M = 0.28  # beyond the wrist


def make_world(scenario: AmedsScenario) -> Scene:
    """The scene that cameras and lidar see, without the rover."""
    numbers = scenario.numbers["surroundings"]
    times = floats(np.arange(0.0, scenario.seconds + WAY_STEP_S, WAY_STEP_S))
    way = scenario.drive.motion.coordinates.at(times)[:, :2]
    centre = 0.5 * (way.min(axis=0) + way.max(axis=0))
    radius = float(np.linalg.norm(way - centre, axis=1).max()) + numbers["beyond_m"]
    scene = make_scene(
        scenario.seed,
        terrain=scenario.terrain,
        keep_out=way,
        clearance_m=numbers["rocks_clear_of_way_m"],
        centre=centre,
        radius_m=radius,
        rock_count=round(numbers["rocks_per_m2"] * np.pi * radius**2),
        pole_count=numbers["poles"],
    )
    return _with_picked_rock(scene, scenario) if scenario.settings["rock_picking"] else scene


def _with_picked_rock(scene: Scene, scenario: AmedsScenario) -> Scene:
    """A small rock on the ground below the gripper's lowest posture, where the rover stands in the end."""
    x, y, _ = _fingertips(scenario)
    rock = scenario.numbers["picked_rock"]
    height = float(scene.terrain.height_m(x, y)) + 0.7 * rock["radii_m"][2]
    return scene.with_solids(stone([x, y, height], rock["radii_m"], albedo=rock["albedo"]))


def _fingertips(scenario: AmedsScenario) -> Floats:
    robot = scenario.robot
    world_T_base = scenario.drive.motion.pose_at(floats([scenario.seconds]))[0]
    postures = floats(robot.numbers["assumed"]["aux_arm_picking_rad"])
    world_T_end = world_T_base @ robot.transforms["base_T_aux_arm_base"] @ base_T_end_from_joints(robot.arm, postures)
    tips = moved(world_T_end, floats([0.0, 0.0, FINGERTIPS_M]))
    return floats(tips[np.argmin(tips[:, 2])])
