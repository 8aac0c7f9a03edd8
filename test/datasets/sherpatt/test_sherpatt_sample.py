"""A sample of SherpaTT read back: what the messages say against what is true."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from fieldplay.datasets.registry import detect_spec
from fieldplay.topics.selection import Selection
from fieldplay_samples.write_sample import SampleOptions
from support.sampled import Sampled, sampled
from support.sherpatt_messages import (
    Messages,
    defects_of,
    matrix_of,
    messages_in,
    messages_of,
    notes_of,
    static_frames,
)

Array = NDArray[np.float64]
SECONDS, SEED = 10.0, 3
QUICK = {"image_rate_hz": 0.2, "image_shrink": 8, "lidar_columns": 90}
UNIT_NOISE_M = 0.01
POM_NOISE_M = 0.005


@pytest.fixture(scope="module", params=["ned", "nwu"])
def sample(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> Sampled:
    folder = pytestconfig.cache.mkdir(f"samples_sherpatt_{request.param}")
    settings = QUICK | {"dgps_frame": request.param}
    return sampled("sherpatt", folder, SampleOptions(seconds=SECONDS, seed=SEED, settings=settings))


@pytest.fixture(scope="module")
def messages(sample: Sampled) -> Messages:
    return messages_in(sample.bag)


def true_poses(sample: Sampled, stamp_ns: Array) -> Array:
    """Where the rover was (n, 4, 4)."""
    truth = sample.truth
    rows = np.searchsorted(truth["stamp_ns"], stamp_ns)
    poses = np.tile(np.eye(4), (len(rows), 1, 1))
    turn = np.stack([truth[f"q{axis}"] for axis in "xyzw"], axis=1)[rows]
    poses[:, :3, :3] = Rotation.from_quat(turn).as_matrix()
    poses[:, :3, 3] = np.stack([truth[f"{axis}_m"] for axis in "xyz"], axis=1)[rows]
    return poses


def poses_of(messages: Messages, topic: str) -> tuple[Array, Array]:
    stamps = np.array([stamp for stamp, _ in messages[topic]], np.int64)
    poses = [matrix_of(m.pose.pose.position, m.pose.pose.orientation) for _, m in messages[topic]]
    return stamps, np.stack(poses)


def test_sample_has_no_defects(sample: Sampled) -> None:
    assert not defects_of(sample.archive)


def test_unit_in_map_is_where_rover_is(sample: Sampled, messages: Messages) -> None:
    stamps, units = poses_of(messages, "dgps/odom")
    bases = units @ np.linalg.inv(static_frames(messages)["base_link", "dgps"])
    true = true_poses(sample, stamps)
    moved = bases[:, :3, 3] - bases[0, :3, 3] - (true[:, :3, 3] - true[0, :3, 3])
    assert np.abs(moved).max() < 8 * UNIT_NOISE_M
    np.testing.assert_allclose(bases[:, :3, :3], true[:, :3, :3], atol=1e-6)


def test_axes_of_unit_are_found(sample: Sampled) -> None:
    text = "north-west-up" if "nwu" in str(sample.archive) else "north-east-down"
    (note,) = [note for note in notes_of(sample.archive) if "dgps_frame" in note]
    assert text in note


def test_odometry_in_map_starts_where_rover_is(sample: Sampled, messages: Messages) -> None:
    frames = static_frames(messages_of(sample.archive, Selection(map_tf=True, topics="dgps|odom")))
    stamps, odometry = poses_of(messages, "wheel_odom")
    true = true_poses(sample, stamps)
    first = frames["map", "odom"] @ odometry[0]
    heading = np.arctan2(first[1, 0], first[0, 0]) - np.arctan2(true[0, 1, 0], true[0, 0, 0])
    assert abs(heading) < 1e-3


def test_pose_in_packed_bits_is_displacement_from_start(sample: Sampled, messages: Messages) -> None:
    stamps, poses = poses_of(messages, "pom_pose")
    true = true_poses(sample, stamps)
    expected = np.linalg.inv(true[0]) @ true
    assert len(stamps) == 10 * SECONDS
    assert np.abs(poses[:, :3, 3] - expected[:, :3, 3]).max() < 6 * POM_NOISE_M
    np.testing.assert_allclose(poses[:, :3, :3], expected[:, :3, :3], atol=1e-6)
    (_, first) = messages["pom_pose"][0]
    assert (first.header.frame_id, first.child_frame_id) == ("local_terrain_frame", "rover_body_frame")
    assert np.diag(first.pose.covariance.reshape(6, 6)) == pytest.approx([POM_NOISE_M**2] * 3 + [0.002**2] * 3)


def test_odometrys_twist_is_its_own_motion(messages: Messages) -> None:
    stamps, poses = poses_of(messages, "wheel_odom")
    velocity = np.array([[getattr(m.twist.twist.linear, axis) for axis in "xyz"] for _, m in messages["wheel_odom"]])
    steps = np.linalg.inv(poses[:-1]) @ poses[1:]
    seconds = np.diff(stamps) / 1e9
    np.testing.assert_allclose(velocity[5:-5], (steps[:, :3, 3] / seconds[:, None])[5:-4], atol=0.02)


def test_cloud_is_same_turn_as_depth_map_of_its_time(messages: Messages) -> None:
    scans = {stamp: points_of(message) for stamp, message in messages["velodyne_lidar/laser_scans"]}
    for stamp, cloud in messages["velodyne/points"]:
        scan = scans[stamp]
        np.testing.assert_allclose(points_of(cloud)[:, :3], scan[:, :3], atol=1e-4)
        assert (scan[:, 3] >= 0).all() and scan[:, 3].max() < 0.1


def points_of(message: Any) -> Array:
    """Columns x y z, and the time where there is one."""
    fields = {field.name: field.offset for field in message.fields}
    names = [name for name in ("x", "y", "z", "time") if name in fields]
    kind = np.dtype(
        {"names": names, "formats": ["<f4"] * len(names), "offsets": [fields[n] for n in names],
         "itemsize": message.point_step}
    )  # fmt: skip
    rows = np.frombuffer(message.data.tobytes(), kind)
    return np.stack([rows[name].astype(float) for name in names], axis=1)


def test_points_on_ground_lie_below_rover(sample: Sampled, messages: Messages) -> None:
    frames = static_frames(messages)
    _, moving = poses_of(messages, "body_joint")
    stamp, cloud = messages["velodyne/points"][0]
    lidar = frames["base_link", "velodyne_plane_fixed"] @ moving[0] @ frames["velodyne_plane_moving", "velodyne"]
    base = true_poses(sample, np.array([stamp]))[0]
    points = points_of(cloud)
    world = (base @ lidar @ np.hstack([points, np.ones((len(points), 1))]).T).T[:, :3]
    near = np.linalg.norm(world[:, :2] - base[:2, 3], axis=1) < 5
    below = base[2, 3] - world[near, 2]
    assert near.sum() > 20 and np.median(below) == pytest.approx(0.65, abs=0.25)


def test_images_are_those_of_settings_camera(messages: Messages) -> None:
    left, right = (messages[f"stereo/{side}/image_raw"] for side in ("left", "right"))
    assert len(left) == len(right) == 2
    for _, message in (*left, *right):
        assert (message.width, message.height, message.encoding) == (1032, 772, "mono8")
        assert message.data.std() > 5
    info = messages["stereo/right/camera_info"][0][1]
    assert info.p[3] == pytest.approx(-867.356 * 0.0900125)


def base_T_frame(frames: dict[tuple[str, str], Array], name: str) -> Array:
    """Where a frame is (4, 4), by the static ones between it and the base."""
    matrix = np.eye(4)
    while name != "base_link":
        ((parent, child),) = [pair for pair in frames if pair[1] == name]
        matrix, name = frames[parent, child] @ matrix, parent
    return matrix


def test_depth_images_show_ground_below_rover(sample: Sampled, messages: Messages) -> None:
    frames = static_frames(messages)
    infos = {topic: messages[f"{topic}/camera_info"][0][1] for topic in ("color", "depth")}
    assert all(info.k.tolist() == [867.356, 0, 516, 0, 867.356, 386, 0, 0, 1] for info in infos.values())
    ((stamp, image),) = messages["depth/image"]
    ((_, color),) = messages["color/image_raw"]
    assert (image.encoding, color.encoding, image.header.frame_id) == ("32FC1", "rgb8", "camera_left")
    depths = image.data.view("<f4").reshape(772, 1032).astype(float)
    row, column = np.nonzero(np.isfinite(depths) & (depths < 5))
    far = depths[row, column]
    seen = np.stack([(column - 516) * far / 867.356, (row - 386) * far / 867.356, far, np.ones(len(far))])
    base = true_poses(sample, np.array([stamp]))[0]
    world = base @ base_T_frame(frames, "camera_left") @ seen
    assert len(far) > 10_000
    assert np.median(base[2, 3] - world[2]) == pytest.approx(0.65, abs=0.25)


def test_folder_that_was_sampled_needs_no_name(sample: Sampled) -> None:
    assert detect_spec(Path(sample.archive)).name == "sherpatt"
