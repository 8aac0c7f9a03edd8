"""Visual odometry on a converted sample of Rosario, by OpenCV and what CameraInfo says, follows the truth."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from evo.core import metrics
from evo.core.trajectory import PoseTrajectory3D
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation, Slerp

from fieldplay_samples.write_sample import SampleOptions
from support.bag_messages import messages_of_bag
from support.sampled import Sampled, sampled

Array = NDArray[np.float64]
Grey = NDArray[np.uint8]

SHARE = 0.02  # of the way
NEAREST_PX = 1.5  # of disparity
FLOW: dict[str, Any] = {"winSize": (21, 21), "maxLevel": 5}


@dataclass(frozen=True, eq=False, kw_only=True)
class Stereo:
    """Rectified pictures of both cameras (n, h, w) at times (n,), their matrix (3, 3), focal length times baseline."""

    left: list[Grey]
    right: list[Grey]
    time_s: Array
    matrix: Array
    focal_m: float
    turned: Array  # the left camera in its rectified self


@pytest.fixture(scope="module")
def sample(pytestconfig: pytest.Config) -> Sampled:
    return sampled(
        "rosario",
        pytestconfig.cache.mkdir("samples_rosario_drive"),
        SampleOptions(seconds=12, seed=1, settings={"image_rate_hz": 3.0}),
    )


@pytest.fixture(scope="module")
def stereo(sample: Sampled) -> Stereo:
    images: dict[str, list[Grey]] = {}
    for side in ("left", "right"):
        info = messages(sample.bag, f"stereo/{side}/camera_info")[0]
        new, size = np.asarray(info.p).reshape(3, 4), (info.width, info.height)
        turn = np.asarray(info.r).reshape(3, 3)
        maps = cv2.initUndistortRectifyMap(
            np.asarray(info.k).reshape(3, 3), info.d, turn, new[:, :3], size, cv2.CV_32FC1
        )
        actual = messages(sample.bag, f"stereo/{side}/image_raw/compressed")
        grey = [cv2.imdecode(image.data, cv2.IMREAD_GRAYSCALE) for image in actual]
        images[side] = [np.asarray(cv2.remap(image, *maps, cv2.INTER_LINEAR), np.uint8) for image in grey]
        if side == "left":
            turned, matrix = turn, new[:, :3]
            time_s = np.array([one.header.stamp.sec + one.header.stamp.nanosec * 1e-9 for one in actual])
    return Stereo(**images, time_s=time_s, matrix=matrix, focal_m=-float(new[0, 3]), turned=turned)


def messages(bag: Path, topic: str) -> list[Any]:
    return [message for _, message in messages_of_bag(bag, [f"/rosario/{topic}"])[f"/rosario/{topic}"]]


def moved(stereo: Stereo, index: int) -> Array:
    """The left camera's next pose in its present one (4, 4), from points that both pictures and the next one show."""
    first = stereo.left[index]
    corners = cv2.goodFeaturesToTrack(first, 1500, 0.005, 7)
    across, seen_across, _ = cv2.calcOpticalFlowPyrLK(first, stereo.right[index], corners, None, **FLOW)
    onwards, seen_onwards, _ = cv2.calcOpticalFlowPyrLK(first, stereo.left[index + 1], corners, None, **FLOW)
    disparity = (corners - across)[:, 0, 0]
    level = np.abs((corners - across)[:, 0, 1]) < 1.0
    good = (seen_across.ravel() == 1) & (seen_onwards.ravel() == 1) & level & (disparity > NEAREST_PX)
    depth = stereo.focal_m / disparity[good]
    rays = np.c_[corners[good, 0], np.ones(good.sum())] @ np.linalg.inv(stereo.matrix).T
    _, turn, shift, inliers = cv2.solvePnPRansac(
        rays * depth[:, None],
        onwards[good].astype(float),
        stereo.matrix,
        None,
        reprojectionError=1.0,
        iterationsCount=300,
    )
    assert len(inliers) > 100
    next_T_present = np.eye(4)
    next_T_present[:3, :3], next_T_present[:3, 3] = Rotation.from_rotvec(turn.ravel()).as_matrix(), shift.ravel()
    return np.linalg.inv(next_T_present)


def true_poses(sample: Sampled, stereo: Stereo) -> Array:
    """Where the rectified left camera truly was, (n, 4, 4): the facts' rows of tf, base_link -> imu of sequence 4."""
    truth, known_s = sample.truth, sample.truth["stamp_ns"] * 1e-9
    poses = np.tile(np.eye(4), (len(stereo.time_s), 1, 1))
    poses[:, :3, 3] = np.stack([np.interp(stereo.time_s, known_s, truth[f"{axis}_m"]) for axis in "xyz"], axis=1)
    turns = Rotation.from_quat(np.stack([truth[f"q{axis}"] for axis in "xyzw"], axis=1))
    poses[:, :3, :3] = Slerp(known_s, turns)(np.clip(stereo.time_s, known_s[0], known_s[-1])).as_matrix()
    base_T_imu = edge([1.96, -0.017, 1.02], [0.784171987, 0.000788065, 0.620542634, -0.000716013])
    imu_T_left = edge([-0.030950056, -0.077136434, 0.026512488], [0.058468129, 0.019448917, 0.703481356, 0.708037569])
    left_T_rectified = np.eye(4)
    left_T_rectified[:3, :3] = stereo.turned.T
    return poses @ base_T_imu @ imu_T_left @ left_T_rectified


def edge(position: list[float], quaternion: list[float]) -> Array:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = Rotation.from_quat(quaternion).as_matrix(), position
    return matrix


def test_visual_odometry_follows_truth(sample: Sampled, stereo: Stereo) -> None:
    cv2.setRNGSeed(1)
    poses = [np.eye(4)]
    for index in range(len(stereo.left) - 1):
        poses.append(poses[-1] @ moved(stereo, index))
    truth = PoseTrajectory3D(poses_se3=list(true_poses(sample, stereo)), timestamps=stereo.time_s)
    trajectory = PoseTrajectory3D(poses_se3=poses, timestamps=stereo.time_s)
    trajectory.align_origin(truth)
    error = metrics.APE(metrics.PoseRelation.translation_part)
    error.process_data((truth, trajectory))
    assert truth.path_length > 3
    assert error.get_statistic(metrics.StatisticsType.max) < SHARE * truth.path_length
