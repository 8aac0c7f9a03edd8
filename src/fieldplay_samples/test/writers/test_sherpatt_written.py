"""The sample of SherpaTT: the logs' layout, and that odometry, satellites, wheels, lidar and cameras agree."""

import csv
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
import tifffile
from scipy.spatial.transform import Rotation

from fieldplay_samples.data import numbers_of
from fieldplay_samples.output_folder import SampleError
from fieldplay_samples.robots.sherpatt import legs_from_numbers
from fieldplay_samples.write_sample import SampleOptions, write_sample
from fieldplay_samples.writers.sherpatt.rover_logs import encode
from fieldplay_testing.packed_by_asn1tools import CODER

NUMBERS = numbers_of("sherpatt")
TINY: dict[str, Any] = {"image_rate_hz": 1.0, "image_shrink": 24, "lidar_columns": 90}
ODOMETRY, DGPS = "/mcs_sensor_processing.rigid_body_state_out", "/dgps.imu_pose"
JOINTS, SCANS = "/mcs_sensor_processing.joints_status_all", "/velodyne_lidar.laser_scans"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sherpatt") / "logs"
    return write_sample("sherpatt", out, SampleOptions(seconds=8.0, seed=2, settings=TINY, workers=1)).path


def log(folder: Path, name: str) -> dict[str, Any]:
    data = (folder / name).read_bytes()
    samples: dict[str, Any] = msgpack.unpackb(data, raw=False, strict_map_key=False, use_list=False)
    return samples


def truth(folder: Path) -> dict[str, np.ndarray]:
    with (folder.parent / f"{folder.name}.truth.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def test_every_stream_has_as_many_times_as_samples(folder: Path) -> None:
    names = sorted(path.name for path in folder.glob("*.msg") if not path.stem.endswith(("_tf", "_camera")))
    assert len(names) == 8
    for name in names:
        content = log(folder, name)
        for stream in (key for key in content if not key.endswith(".meta")):
            times = content[f"{stream}.meta"]["timestamps"]
            assert len(times) == len(content[stream]) > 0
            assert list(times) == sorted(times)


def test_odometry_follows_truth_except_for_slip(folder: Path) -> None:
    samples, true = log(folder, "sherpa_tt_mcs_Logger_InFuse.msg")[ODOMETRY], truth(folder)
    assert samples[0]["pos"] == pytest.approx((0, 0, 0), abs=1e-9)
    length_m = np.linalg.norm(np.diff([sample["pos"] for sample in samples], axis=0), axis=1).sum()
    steps = np.diff(np.column_stack([true["x_m"], true["y_m"], true["z_m"]]), axis=0)
    assert length_m == pytest.approx(np.linalg.norm(steps, axis=1).sum() * 1.015, rel=1e-3)
    assert {(sample["sourceFrame"], sample["targetFrame"]) for sample in samples} == {("body", "odometry")}


def test_satellite_unit_looks_down_and_north(folder: Path) -> None:
    samples, true = log(folder, "dgps_Logger_InFuse.msg")[DGPS], truth(folder)
    position = np.array([sample["pos"] for sample in samples])
    unit = Rotation.from_quat([sample["orient"] for sample in samples])
    body_in_unit = np.array(NUMBERS["frames"]["dgps_body"])
    body = position + unit.apply(body_in_unit[:3])
    moved = np.array([true[f"{axis}_m"][-1] - true[f"{axis}_m"][0] for axis in "yxz"]) * [1, 1, -1]
    assert body[-1] - body[0] == pytest.approx(moved, abs=0.08)
    up = (unit * Rotation.from_quat(body_in_unit[3:])).apply([0, 0, 1])
    assert (up[:, 2] < -0.9).all()  # the third axis of the frame points down


def test_packed_bits_hold_position_from_start_in_full_buffer(folder: Path) -> None:
    samples, true = log(folder, "pom_Logger_InFuse.msg")["/pom_pose"], truth(folder)
    assert {(sample["type"], len(sample["data"])) for sample in samples} == {("asn1SccTransformWithCovariance", 1360)}
    transforms = [CODER.decode("TransformWithCovariance", bytes(sample["data"])) for sample in samples]
    rows = np.searchsorted(
        true["stamp_ns"], [1000 * own["metadata"]["childTime"]["microseconds"] for own in transforms]
    )
    turn = Rotation.from_quat(np.stack([true[f"q{axis}"] for axis in "xyzw"], axis=1)[rows])
    position = np.stack([true[f"{axis}_m"] for axis in "xyz"], axis=1)[rows]
    start = turn[0].inv()
    assert [own["data"]["translation"] for own in transforms] == pytest.approx(
        start.apply(position - position[0]), abs=0.03
    )
    error = start * turn * Rotation.from_quat([own["data"]["orientation"] for own in transforms]).inv()
    assert error.magnitude().max() < 1e-6
    metadata = transforms[0]["metadata"]
    assert (metadata["msgVersion"], metadata["parentFrameId"]) == (1, b"LocalTerrainFrame\0")
    assert np.diag(transforms[0]["data"]["cov"]) == pytest.approx([0.005**2] * 3 + [0.002**2] * 3)


def test_wheels_roll_as_far_as_rover_drives(folder: Path) -> None:
    samples, true = log(folder, "sherpa_tt_mcs_Logger_Joints_InFuse.msg")[JOINTS], truth(folder)
    names = samples[0]["names"]
    columns = [names.index(f"omega_{suffix}") for suffix in NUMBERS["legs"]["suffixes"]]
    turned = np.array([[sample["elements"][column]["position"] for column in columns] for sample in samples])
    rolled = 0.2 * np.abs(np.diff(turned, axis=0)).sum(axis=0).mean()
    assert rolled == pytest.approx(true["travelled_m"][-1], rel=0.05)
    phi = [sample["elements"][names.index("phi_rear_left")]["position"] for sample in samples]
    assert np.abs(phi).max() < 2.8798
    assert "arm_joint_1" in names


def test_legs_place_wheels_on_ground() -> None:
    legs = legs_from_numbers(NUMBERS["legs"])
    assert legs.depth_m == pytest.approx(0.6485, abs=0.002)  # struts, wheel column and wheel, added up by hand
    assert np.abs(legs.positions_m) == pytest.approx(np.full((4, 2), 1.0237), abs=0.002)


def test_lidar_measures_ground_below(folder: Path) -> None:
    scan = log(folder, "velodyne_lidar_Logger_InFuse.msg")[SCANS][0]
    rows, columns = scan["vertical_size"], scan["horizontal_size"]
    distances = np.array(scan["distances"]).reshape(rows, columns)
    assert len(scan["timestamps"]) == columns
    lowest = np.median(distances[-1])
    expected = (0.6485 + 0.442 + 0.09081) / np.sin(scan["vertical_interval"][1])
    assert lowest == pytest.approx(expected, rel=0.15)


def test_images_are_lists_of_bytes_with_times_of_ros_bag(folder: Path) -> None:
    content = log(folder, "recording_20181127-111500_000000000.msg")
    left, right = (content[f"/hcru1/pt_stereo_rect/{side}/image"] for side in ("left", "right"))
    data = left[0]["data"]
    assert (data["rows"], data["cols"], data["rowSize"]) == (772, 1032, 1032)
    assert len(data["data"]) == 772 * 1032
    assert {type(value) for value in data["data"][:50]} == {int}
    stamps = [frame["metadata"]["timeStamp"]["microseconds"] for frame in left]
    assert stamps == [frame["metadata"]["timeStamp"]["microseconds"] for frame in right]
    assert stamps[0] == 1543311000 * 10**9
    assert np.abs(np.subtract(data["data"], right[0]["data"]["data"])).mean() > 1


def test_every_fourth_pair_has_colour_image_and_left_depth(folder: Path) -> None:
    content = log(folder, "recording_20181127-111500_000000000.msg")
    left, color, depth = (
        content[f"/hcru1/{name}"]
        for name in ("pt_stereo_rect/left/image", "pt_color/left/image", "pt_stereo_sgm/depth")
    )
    stamps = [frame["metadata"]["timeStamp"] for frame in left]
    assert [frame["metadata"]["timeStamp"] for frame in color] == stamps[::4] and len(stamps) == 8
    assert [frame["metadata"]["timeStamp"] for frame in depth] == stamps[::4]
    rgb = np.array(color[0]["data"]["data"]).reshape(772, 1032, 3)
    assert (color[0]["data"]["channels"], color[0]["data"]["rowSize"]) == (3, 3 * 1032)
    assert np.abs(rgb[..., 0] - rgb[..., 2]).mean() > 1
    metres = np.frombuffer(bytes(depth[0]["data"]["data"]), "<f4").reshape(772, 1032)
    assert (depth[0]["data"]["depth"], depth[0]["data"]["rowSize"]) == ("depth_32F", 4 * 1032)
    assert np.nanmax(metres) < NUMBERS["depth"]["farthest"] and np.isfinite(metres).mean() > 0.3


def test_settings_have_pairs_of_frames_as_keys_and_baseline_at_right_camera(folder: Path) -> None:
    frames = log(folder, "recording_20181127-111500_tf.msg")
    assert frames["tcp", "camera_left"]["translation"] == (0.15, 0.045, 0.26)
    cameras = log(folder, "recording_20181127-111500_camera.msg")
    assert [cameras[f"/hcru1/pt_stereo_rect/{side}/camera_info"]["baseline"] for side in ("left", "right")] == [
        0.0,
        0.0900125,
    ]


def test_surface_model_is_ground_below_rover(folder: Path) -> None:
    with tifffile.TiffFile(folder / "2018_11_27_dsm.tif") as file:
        page = file.pages[0]
        heights, scale, tie = page.asarray(), page.tags[33550].value, page.tags[33922].value
    assert heights[0, 0] == NUMBERS["surface"]["nodata"]
    surface, true = NUMBERS["surface"], truth(folder)
    row = int((tie[4] - surface["northing_of_start"]) / scale[1])
    column = int((surface["easting_of_start"] - tie[3]) / scale[0])
    assert heights[row, column] - surface["offset"] == pytest.approx(true["z_m"][0] - 0.6485, abs=0.15)


def test_unknown_frame_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(SampleError, match="dgps_frame: expected ned or nwu"):
        write_sample("sherpatt", tmp_path / "out", SampleOptions(settings={"dgps_frame": "enu"}))


def test_arrays_are_packed_like_equal_lists() -> None:
    packer, rng = msgpack.Packer(use_bin_type=False), np.random.default_rng(0)
    arrays = {
        "bytes": rng.integers(0, 256, 70_000).astype(np.uint8),
        "none": np.zeros(0, np.uint8),
        "floats": np.array([1.5, np.inf, -0.0, np.nan]),
        "points": rng.normal(size=(20, 3)),
    }
    lists = {name: array.tolist() for name, array in arrays.items()}
    assert encode(packer, {"in": arrays, "more": [1, "a"]}) == packer.pack({"in": lists, "more": [1, "a"]})
