"""What other people's programs make of a bag of ours: lidar odometry, trajectories compared, pictures matched."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from evo.core import metrics, sync
from evo.core.trajectory import PoseTrajectory3D
from evo.tools import file_interface
from kiss_icp.datasets.rosbag import RosbagDataset
from kiss_icp.pipeline import OdometryPipeline
from numpy.typing import NDArray
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore
from scipy.spatial.transform import Rotation, Slerp

from fieldplay_samples.robots.interact import base_T_end_from_joints, load_interact
from support.sampled import Sampled

Array = NDArray[np.float64]

SHARE = 0.02  # of the length of the path
SWEEP_S = 0.2
STEP_M = 0.15  # between pictures: enough to tell a direction, and not too far for corners to be followed
SCANS = 60  # of a hundred: more would take long and show no more


def truth_at(sample: Sampled, times_s: Array) -> Array:
    """map_T_base_link (n, 4, 4) at times within the sample."""
    known_s = sample.truth["stamp_ns"] * 1e-9
    poses = np.tile(np.eye(4), (len(times_s), 1, 1))
    poses[:, :3, 3] = np.stack([np.interp(times_s, known_s, sample.truth[f"{axis}_m"]) for axis in "xyz"], axis=1)
    turns = Rotation.from_quat(np.stack([sample.truth[f"q{axis}"] for axis in "xyzw"], axis=1))
    poses[:, :3, :3] = Slerp(known_s, turns)(times_s).as_matrix()
    return poses


def base_t_main_cam() -> Array:
    """Where the sample's camera is: its arm never moves."""
    rover = load_interact()
    end = base_T_end_from_joints(rover.arm, rover.main_arm_rad)
    chain: Array = rover.transforms["base_T_main_arm_base"] @ end @ rover.transforms["end_T_main_cam"]
    return chain


def test_lidar_odometry_follows_truth(sampled_ameds: Sampled, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)  # it writes its results where it stands
    pipeline = OdometryPipeline(RosbagDataset(sampled_ameds.bag, "/ameds/lidar/points"), n_scans=SCANS)
    pipeline.run()
    starts_s = np.array(pipeline._dataset.get_frames_timestamps())[:SCANS]
    ends_s = starts_s + SWEEP_S  # its poses are those of a sweep's end
    ends_s = np.minimum(ends_s, sampled_ameds.truth["stamp_ns"][-1] * 1e-9)
    base_t_lidar = np.diag([-1.0, -1.0, 1.0, 1.0])  # the facts: turned by half about z
    base_t_lidar[:3, 3] = [-0.549, 0, 1.470]
    truth = PoseTrajectory3D(poses_se3=list(truth_at(sampled_ameds, ends_s) @ base_t_lidar), timestamps=ends_s)
    trajectory = PoseTrajectory3D(poses_se3=list(pipeline.poses), timestamps=ends_s)
    assert truth.path_length > 5
    assert rms_apart_m(trajectory, truth) < SHARE * truth.path_length


def rms_apart_m(result: PoseTrajectory3D, truth: PoseTrajectory3D) -> float:
    """Evo's absolute error of positions, once the one is laid over the other."""
    result.align(truth)
    error = metrics.APE(metrics.PoseRelation.translation_part)
    error.process_data((truth, result))
    return float(error.get_statistic(metrics.StatisticsType.rmse))


@pytest.fixture(scope="module")
def trajectories(sampled_ameds: Sampled) -> dict[str, PoseTrajectory3D]:
    """Evo's own reading of the bag."""
    with Reader(sampled_ameds.bag) as reader:
        return {
            name: file_interface.read_bag_trajectory(reader, f"/ameds/{name}") for name in ("gnss/odom", "wheels/odom")
        }


def test_evo_compares_wheels_with_ins(trajectories: dict[str, PoseTrajectory3D]) -> None:
    ins, wheels = sync.associate_trajectories(trajectories["gnss/odom"], trajectories["wheels/odom"], max_diff=0.006)
    assert ins.num_poses > 300
    assert rms_apart_m(wheels, ins) < SHARE * ins.path_length


def test_evo_finds_ins_where_robot_truly_was(sampled_ameds: Sampled, trajectories: dict[str, PoseTrajectory3D]) -> None:
    ins = trajectories["gnss/odom"]
    inside = (ins.timestamps > ins.timestamps[0]) & (ins.timestamps < ins.timestamps[-1])
    truth = truth_at(sampled_ameds, ins.timestamps[inside])
    difference = np.linalg.norm(ins.positions_xyz[inside] - truth[:, :3, 3], axis=1)
    assert np.median(difference) < 0.05
    turned = Rotation.from_matrix(truth[:, :3, :3]).inv() * Rotation.from_quat(
        ins.orientations_quat_wxyz[inside][:, [1, 2, 3, 0]]
    )
    assert np.degrees(np.median(turned.magnitude())) < 0.2


def test_two_images_of_main_camera_give_direction_of_motion(sampled_ameds: Sampled) -> None:
    typestore = get_typestore(Stores.ROS2_JAZZY)
    with AnyReader([sampled_ameds.bag], default_typestore=typestore) as reader:

        def read(topic: str) -> list[Any]:
            requested = [
                connection for connection in reader.connections if connection.topic == f"/ameds/main_cam/{topic}"
            ]
            return [reader.deserialize(raw, link.msgtype) for link, _, raw in reader.messages(requested)]

        images, info = read("image_raw/compressed"), read("camera_info")[0]
    times_s = np.array([image.header.stamp.sec + image.header.stamp.nanosec * 1e-9 for image in images])
    cameras = truth_at(sampled_ameds, times_s) @ base_t_main_cam()
    matrix, distortion = info.k.reshape(3, 3), info.d
    steps = np.linalg.inv(cameras[:-1]) @ cameras[1:]
    chosen = int(np.argmin(np.abs(np.linalg.norm(steps[:, :3, 3], axis=1) - STEP_M)))
    first, second = (cv2.imdecode(images[index].data, cv2.IMREAD_GRAYSCALE) for index in (chosen, chosen + 1))
    ahead = np.zeros_like(first)
    ahead[: len(first) * 6 // 10] = 255  # below it the rover sees its own parts and its shadow
    corners = cv2.goodFeaturesToTrack(first, 800, 0.01, 12, mask=ahead)
    moved, actual, _ = cv2.calcOpticalFlowPyrLK(first, second, corners, None, winSize=(31, 31), maxLevel=5)
    good = actual.ravel() == 1
    assert good.sum() > 200
    before, after = (cv2.undistortPoints(points[good], matrix, distortion) for points in (corners, moved))
    cv2.setRNGSeed(1)
    essential, inliers = cv2.findEssentialMat(before, after, np.eye(3), method=cv2.RANSAC, threshold=1.5 / matrix[0, 0])
    assert inliers.mean() > 0.5
    _, turn, direction, _ = cv2.recoverPose(essential, before, after, np.eye(3), mask=inliers)
    step = np.linalg.inv(steps[chosen])  # recoverPose gives the first camera in the second
    cosine = float(direction.ravel() @ step[:3, 3] / np.linalg.norm(step[:3, 3]))
    assert np.degrees(np.arccos(cosine)) < 10
    assert np.degrees(Rotation.from_matrix(turn.T @ step[:3, :3]).magnitude()) < 1
