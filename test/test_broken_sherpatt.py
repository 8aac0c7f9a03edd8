"""One fault at a time in CDFF logs: it is told once, with its place, and all the rest plays."""

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import pytest
import tiny_sherpatt as tiny
from sherpatt_messages import defects_of, messages_of

Change = Callable[[dict[str, Any]], None]
ODOMETRY = "sherpa_tt_mcs_Logger_InFuse.msg"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_archive(tmp_path_factory.mktemp("sherpatt") / "20181127")


@pytest.fixture(scope="module")
def counts(whole: Path) -> dict[str, int]:
    return counts_of(whole)


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "copy"))


def counts_of(root: Path) -> dict[str, int]:
    found = messages_of(root)
    return {topic: len(messages) for topic, messages in found.items() if topic != "/tf"}


def changed(root: Path, name: str, change: Change) -> None:
    log = msgpack.unpackb((root / name).read_bytes(), strict_map_key=False)
    change(log)
    tiny.write(root / name, log)


def set_in(log: dict[str, Any], stream: str, row: int, **fields: Any) -> None:
    log[stream][row] |= fields


def set_data(log: dict[str, Any], stream: str, row: int, **fields: Any) -> None:
    log[stream][row]["data"] |= fields


ROWS: dict[str, tuple[str, Change, str, str]] = {
    "a position with NaN": (
        ODOMETRY, lambda log: set_in(log, tiny.ODOMETRY, 2, pos=[math.nan, 0.0, 0.0]), "wheel_odom", "damaged_sample"),
    "a position that is a text": (
        ODOMETRY, lambda log: set_in(log, tiny.ODOMETRY, 2, pos="here"), "wheel_odom", "damaged_sample"),
    "a sample that is none": (
        ODOMETRY, lambda log: log[tiny.ODOMETRY].__setitem__(2, "x"), "wheel_odom", "damaged_sample"),
    "joints without as many names": (
        "sherpa_tt_mcs_Logger_Joints_InFuse.msg", lambda log: set_in(log, tiny.JOINTS, 3, names=["a"]),
        "joint_states", "damaged_sample"),
    "a picture with too few pixels": (
        "recording_20181202_000000000.msg", lambda log: set_data(log, tiny.LEFT, 1, data=[1, 2]),
        "stereo/left/image_raw", "damaged_picture"),
    "a picture of no size": (
        "recording_20181202_000000000.msg", lambda log: set_data(log, tiny.RIGHT, 1, rows=0),
        "stereo/right/image_raw", "damaged_picture"),
    "a depth map with too few distances": (
        "velodyne_lidar_Logger_InFuse.msg", lambda log: set_in(log, tiny.SCANS, 4, distances=[1.0]),
        "velodyne_lidar/laser_scans", "damaged_cloud"),
    "a cloud of texts": (
        "sherpa_tt_slam_Logger_InFuse.msg", lambda log: set_data(log, tiny.CLOUD, 4, points=["x"]),
        "velodyne/points", "damaged_cloud"),
    "a time of another century": (
        ODOMETRY, lambda log: set_in(log, tiny.ODOMETRY, 4, timestamp={"microseconds": 5}), "wheel_odom", "no_time"),
}  # fmt: skip


@pytest.mark.parametrize("fault", ROWS)
def test_a_faulty_sample_is_told_once_and_left_out(fault: str, copied: Path, counts: dict[str, int]) -> None:
    name, change, topic, kind = ROWS[fault]
    changed(copied, name, change)
    defects = defects_of(copied)
    assert [defect.kind for defect in defects] == [kind], [str(defect) for defect in defects]
    assert name in defects[0].file
    expected = dict(counts) | {topic: counts[topic] - 1}
    if topic.endswith("image_raw"):
        info = topic.replace("image_raw", "camera_info")
        expected[info] = counts[info] - 1
    assert counts_of(copied) == expected


@pytest.mark.parametrize("share", [0.3, 0.6, 0.999])
def test_a_log_that_is_cut_off_plays_up_to_there(share: float, copied: Path, counts: dict[str, int]) -> None:
    path = copied / ODOMETRY
    data = path.read_bytes()
    path.write_bytes(data[: round(len(data) * share)])
    defects = defects_of(copied)
    assert [(defect.kind, defect.file) for defect in defects] == [("truncated_log", ODOMETRY)]
    assert "corrupt near byte" in defects[0].message
    found = counts_of(copied)
    size = len(tiny.packed(tiny.state(tiny.START_US)))
    assert found["wheel_odom"] == min(round(len(data) * share) // size, tiny.COUNT)
    assert {k: v for k, v in found.items() if k != "wheel_odom"} == {
        k: v for k, v in counts.items() if k != "wheel_odom"
    }


def test_a_list_that_was_left_out_is_told_and_the_streams_before_it_play(copied: Path, counts: dict[str, int]) -> None:
    samples = [tiny.rock_frame(time) for time in tiny.times()]
    first = {key: samples[0][key] for key in ("time", "received_time")}
    lost = bytes((0x80 + len(samples[0]),)) + tiny.packed(first)[1:] + tiny.packed("image")
    rest = b"".join(tiny.packed(sample) for sample in samples[1:])
    good = tiny.packed("/a.b") + tiny.packed([tiny.imu(time) for time in tiny.times()])
    meta = tiny.packed("/a.b.meta") + tiny.packed({"timestamps": tiny.times(), "type": "IMUSensors"})
    bad = tiny.packed("/camera.frame") + bytes((0x95,)) + lost + rest
    (copied / "basler.msg").write_bytes(b"\x84" + good + meta + bad)
    defects = defects_of(copied)
    assert [defect.kind for defect in defects] == ["corrupt_log"]
    place = 1 + len(good) + len(meta) + len(tiny.packed("/camera.frame")) + 1
    assert f"corrupt near byte {place}:" in defects[0].message and "1,000,000" in defects[0].message
    assert counts_of(copied) == counts | {"a/b": tiny.COUNT}


@pytest.mark.parametrize("name", ["recording_20181202_tf.msg", "recording_20181202_camera.msg"])
def test_settings_that_are_cut_off_are_told(name: str, copied: Path, counts: dict[str, int]) -> None:
    path = copied / name
    path.write_bytes(path.read_bytes()[:-20])
    assert [(defect.kind, defect.file) for defect in defects_of(copied)] == [("truncated_log", name)]
    infos = {topic for topic in counts if "camera_info" in topic and "camera" in name}
    assert counts_of(copied) == {topic: count for topic, count in counts.items() if topic not in infos}


def test_a_transform_that_is_no_turn_is_told(copied: Path, counts: dict[str, int]) -> None:
    rows = tiny.FRAMES | {("tcp", "camera_color"): {"translation": [0.0] * 3, "rotation": [0, 0, 0, 0.5]}}
    tiny.write(copied / "recording_20181202_tf.msg", rows)
    assert [defect.kind for defect in defects_of(copied)] == ["unreadable_settings"]
    assert counts_of(copied) == counts


def test_a_camera_of_texts_is_told_and_the_other_one_holds(copied: Path, counts: dict[str, int]) -> None:
    cameras: dict[str, Any] = {name: dict(value) for name, value in tiny.CAMERAS.items()}
    cameras["/hcru1/pt_stereo_rect/left/camera_info"]["intrinsic"] = {"cameraMatrix": "x"}
    tiny.write(copied / "recording_20181202_camera.msg", cameras)
    assert [defect.kind for defect in defects_of(copied)] == ["unreadable_settings"]
    del (expected := dict(counts))["stereo/left/camera_info"]
    assert counts_of(copied) == expected


def test_fewer_times_than_samples_are_told(copied: Path, counts: dict[str, int]) -> None:
    changed(copied, ODOMETRY, lambda log: log[f"{tiny.ODOMETRY}.meta"]["timestamps"].pop())
    assert [defect.kind for defect in defects_of(copied)] == ["length_mismatch"]
    assert counts_of(copied) == counts


def test_a_known_stream_of_another_kind_plays_by_its_own_name(copied: Path, counts: dict[str, int]) -> None:
    log = tiny.log_of({tiny.DGPS: ("/gps/Solution", [tiny.solution(time) for time in tiny.times()])})
    tiny.write(copied / "dgps_Logger_InFuse.msg", log)
    found = counts_of(copied)
    assert "dgps/odom" not in found and found["dgps/imu_pose"] == tiny.COUNT
    assert not defects_of(copied)


def test_samples_out_of_order_leave_in_order(copied: Path) -> None:
    changed(copied, ODOMETRY, lambda log: log[tiny.ODOMETRY].reverse())
    stamps = [stamp for stamp, _ in messages_of(copied)["wheel_odom"]]
    assert stamps == [time * 1000 for time in tiny.times()]
