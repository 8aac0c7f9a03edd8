"""Interact's arms, cameras and places, against the numbers that are known of them."""

import numpy as np
import pytest

from fieldplay_samples.motion.rotations import Floats, quaternion_from_rotation, transform_points
from fieldplay_samples.robots.interact import (
    aux_arm_joints,
    base_T_camera,
    base_T_end_from_joints,
    load_interact,
    origin_T_camera,
    parts_of,
    stance_of,
)
from fieldplay_samples.sensors.camera import camera_from_numbers, pixels_from_points
from fieldplay_samples.world.rays import Rays

ROBOT = load_interact()
STRETCHED = np.zeros(7)
BENT = np.array([0.3, -0.5, 0.7, 1.1, -0.4, 0.9, -1.2])


def assert_pose(pose: Floats, position: list[float], quaternion: list[float]) -> None:
    xyzw = quaternion_from_rotation(pose[None, :3, :3])[0]
    np.testing.assert_allclose(pose[:3, 3], position, atol=1e-6)
    np.testing.assert_allclose(xyzw * np.sign(xyzw @ quaternion), quaternion, atol=1e-6)


@pytest.mark.parametrize(
    ("joints", "position", "quaternion"),
    [
        (STRETCHED, [0.0, 0.0, 1.1], [0.0, 0.0, 0.0, 1.0]),
        (BENT, [0.420932435, 0.364589175, 0.688830581], [-0.276372098, 0.110520625, -0.151632532, 0.942555691]),
        (
            np.arange(1, 8) / 10,
            [-0.013072214, 0.043795336, 1.082904985],
            [0.040929416, -0.190039254, 0.694647965, 0.692585063],
        ),
    ],
)
def test_arm_reaches_positions_of_table(joints: Floats, position: list[float], quaternion: list[float]) -> None:
    assert_pose(base_T_end_from_joints(ROBOT.arm, joints), position, quaternion)


@pytest.mark.parametrize(
    ("name", "position", "quaternion"),
    [
        ("base_T_origin", [0.0, 0.0, 0.081], [1.0, 0.0, 0.0, 0.0]),
        ("base_T_lidar", [-0.549, 0.0, 1.470], [0.0, 0.0, 1.0, 0.0]),
        ("base_T_main_arm_base", [-0.1, 0.0, 0.728], [0.0, 0.0, 1.0, 0.0]),
        ("base_T_aux_arm_base", [0.598, -0.31, 0.291], [-0.211309131, 0.784885567, -0.453153894, 0.365998151]),
        ("end_T_main_cam", [0.028, 0.0, 0.186], [-0.5, -0.5, 0.5, 0.5]),
        ("end_T_aux_cam", [-0.057, 0.0, 0.218], [0.110615871, 0.110615871, 0.698401123, 0.698401123]),
    ],
)
def test_parts_are_at_positions_of_table(name: str, position: list[float], quaternion: list[float]) -> None:
    assert_pose(ROBOT.transforms[name], position, quaternion)


@pytest.mark.parametrize(
    ("camera", "joints", "position", "quaternion"),
    [
        (
            "main_cam",
            BENT,
            [-0.601302160, 0.445545404, -1.485385909],
            [0.588907941, 0.464168374, 0.630019848, 0.202015218],
        ),
        (
            "aux_cam",
            BENT,
            [0.991068735, 0.838290666, 0.661544085],
            [0.237674305, 0.247766972, 0.850432604, -0.398606118],
        ),
        (
            "aux_cam",
            STRETCHED,
            [1.644285470, 1.005876991, 0.191764768],
            [0.508650051, 0.171064613, 0.686102688, -0.491197644],
        ),
    ],
)
def test_cameras_are_at_end_of_kinematic_chain(
    camera: str, joints: Floats, position: list[float], quaternion: list[float]
) -> None:
    assert_pose(origin_T_camera(ROBOT, camera, joints), position, quaternion)


def test_main_camera_sees_front_wheels_arm_ground_and_horizon() -> None:
    numbers = ROBOT.numbers["published"]["cameras"]["main_cam"]
    camera = camera_from_numbers(*numbers["size"], tuple(numbers["fx_fy_cx_cy"]), tuple(numbers["k1_k2_p1_p2_k3"]))
    main_T_base = np.linalg.inv(base_T_camera(ROBOT, "main_cam", ROBOT.main_arm_rad))
    aux_base = ROBOT.transforms["base_T_aux_arm_base"][:3, 3]
    tyre_tops = [[0.55, 0.539, 0.0], [0.55, -0.539, 0.0]]
    ground = [[1.2, 0.0, -0.335], [15.0, 0.0, -0.335], [1000.0, 0.0, -0.335]]
    pixels = pixels_from_points(camera, transform_points(main_T_base, np.array([*tyre_tops, aux_base, *ground])))
    assert ((pixels > 0) & (pixels < numbers["size"])).all()
    assert (pixels[:2, 1] > 0.85 * camera.height).all()


def test_arms_stay_within_their_joints() -> None:
    most = np.radians(ROBOT.numbers["published"]["arm"]["most_joint_deg"])
    picking = aux_arm_joints(ROBOT, np.linspace(0.0, 30.0, 301), 30.0, rock_picking=True)
    assert (np.abs(picking) < most).all()
    assert (np.abs(ROBOT.main_arm_rad) < most).all()


def test_auxiliary_arm_moves_in_rock_pickings_only_and_slowly() -> None:
    time = np.linspace(0.0, 30.0, 3001)
    assert np.ptp(aux_arm_joints(ROBOT, time, 30.0, rock_picking=False), axis=0).max() == 0.0
    picking = aux_arm_joints(ROBOT, time, 30.0, rock_picking=True)
    assert np.ptp(picking[time <= 15.0], axis=0).max() == 0.0
    assert np.ptp(picking, axis=0).max() > 0.5
    assert np.abs(np.gradient(picking, time, axis=0)).max() < 0.5
    np.testing.assert_allclose(picking[-1], picking[0], atol=1e-12)


def test_no_part_of_rover_hides_its_cameras() -> None:
    rest = aux_arm_joints(ROBOT, np.zeros(1), 20.0, rock_picking=False)[0]
    still = np.zeros(4)
    parts = parts_of(ROBOT, np.eye(4), steer_rad=still, turned_rad=still, aux_arm_rad=rest)
    for camera, joints in (("main_cam", ROBOT.main_arm_rad), ("aux_cam", rest)):
        pose = base_T_camera(ROBOT, camera, joints)
        ahead = Rays(origins=pose[None, :3, 3], directions=pose[None, :3, 2])
        assert not parts.mesh.occludes(ahead, 3.0).any()
        above = Rays(origins=pose[None, :3, 3] + [0.0, 0.0, 5.0], directions=np.array([[0.0, 0.0, -1.0]]))
        assert parts.mesh.occludes(above, 10.0).all()


def test_tyres_stand_on_ground_that_stance_assumes() -> None:
    still = np.zeros(4)
    parts = parts_of(ROBOT, np.eye(4), steer_rad=still, turned_rad=still, aux_arm_rad=STRETCHED)
    lowest = np.sort(parts.bounds()[0][:, 2])[:4]
    np.testing.assert_allclose(lowest, -stance_of(ROBOT).base_height_m, atol=3e-4)
