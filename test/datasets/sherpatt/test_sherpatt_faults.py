"""Faults in CDFF logs, of a whole archive or of one small log: each is told once, with its place; the rest plays."""

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import pytest

from fieldplay_testing import tiny_sherpatt as tiny
from support.sherpatt_messages import defects_of, messages_of, notes_of

Change = Callable[[dict[str, Any]], None]
ODOMETRY = "sherpa_tt_mcs_Logger_InFuse.msg"
POSE, CAMERA = "/task.pose", "/task.camera"


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
    return {topic: len(messages) for topic, messages in messages_of(root).items() if topic != "/tf"}


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


@pytest.mark.parametrize("issue", ROWS)
def test_defective_sample_is_reported_once_and_left_out(issue: str, copied: Path, counts: dict[str, int]) -> None:
    name, change, topic, kind = ROWS[issue]
    changed(copied, name, change)
    defects = defects_of(copied)
    assert [defect.kind for defect in defects] == [kind], [str(defect) for defect in defects]
    assert name in defects[0].file
    expected = dict(counts) | {topic: counts[topic] - 1}
    if topic.endswith("image_raw"):
        info = topic.replace("image_raw", "camera_info")
        expected[info] = counts[info] - 1
    assert counts_of(copied) == expected


@pytest.mark.parametrize("fraction", [0.3, 0.6, 0.999])
def test_log_that_is_cut_off_plays_up_to_there(fraction: float, copied: Path, counts: dict[str, int]) -> None:
    path = copied / ODOMETRY
    data = path.read_bytes()
    path.write_bytes(data[: round(len(data) * fraction)])
    defects = defects_of(copied)
    assert [(defect.kind, defect.file) for defect in defects] == [("truncated_log", ODOMETRY)]
    assert "corrupt near byte" in defects[0].message
    actual = counts_of(copied)
    size = len(tiny.pack(tiny.state(tiny.START_US)))
    assert actual["wheel_odom"] == min(round(len(data) * fraction) // size, tiny.COUNT)
    assert {k: v for k, v in actual.items() if k != "wheel_odom"} == {
        k: v for k, v in counts.items() if k != "wheel_odom"
    }


def test_list_that_was_left_out_is_reported_and_streams_before_it_play(copied: Path, counts: dict[str, int]) -> None:
    samples = [tiny.rock_frame(time) for time in tiny.times()]
    first = {key: samples[0][key] for key in ("time", "received_time")}
    lost = bytes((0x80 + len(samples[0]),)) + tiny.pack(first)[1:] + tiny.pack("image")
    rest = b"".join(tiny.pack(sample) for sample in samples[1:])
    good = tiny.pack("/a.b") + tiny.pack([tiny.imu(time) for time in tiny.times()])
    meta = tiny.pack("/a.b.meta") + tiny.pack({"timestamps": tiny.times(), "type": "IMUSensors"})
    bad = tiny.pack("/camera.frame") + bytes((0x95,)) + lost + rest
    (copied / "basler.msg").write_bytes(b"\x84" + good + meta + bad)
    defects = defects_of(copied)
    assert [defect.kind for defect in defects] == ["corrupt_log"]
    position = 1 + len(good) + len(meta) + len(tiny.pack("/camera.frame")) + 1
    assert f"corrupt near byte {position}:" in defects[0].message and "1,000,000" in defects[0].message
    assert counts_of(copied) == counts | {"a/b": tiny.COUNT}


@pytest.mark.parametrize("name", ["recording_20181202_tf.msg", "recording_20181202_camera.msg"])
def test_settings_that_are_cut_off_are_reported(name: str, copied: Path, counts: dict[str, int]) -> None:
    path = copied / name
    path.write_bytes(path.read_bytes()[:-20])
    assert [(defect.kind, defect.file) for defect in defects_of(copied)] == [("truncated_log", name)]
    infos = {topic for topic in counts if "camera_info" in topic and "camera" in name}
    assert counts_of(copied) == {topic: count for topic, count in counts.items() if topic not in infos}


def test_transform_that_is_no_turn_is_reported(copied: Path, counts: dict[str, int]) -> None:
    rows = tiny.FRAMES | {("tcp", "camera_color"): {"translation": [0.0] * 3, "rotation": [0, 0, 0, 0.5]}}
    tiny.write(copied / "recording_20181202_tf.msg", rows)
    assert [defect.kind for defect in defects_of(copied)] == ["unreadable_settings"]
    assert counts_of(copied) == counts


def test_camera_of_texts_is_reported_and_other_one_holds(copied: Path, counts: dict[str, int]) -> None:
    cameras: dict[str, Any] = {name: dict(value) for name, value in tiny.CAMERAS.items()}
    cameras["/hcru1/pt_stereo_rect/left/camera_info"]["intrinsic"] = {"cameraMatrix": "x"}
    tiny.write(copied / "recording_20181202_camera.msg", cameras)
    assert [defect.kind for defect in defects_of(copied)] == ["unreadable_settings"]
    del (expected := dict(counts))["stereo/left/camera_info"]
    assert counts_of(copied) == expected


def test_fewer_times_than_samples_are_reported(copied: Path, counts: dict[str, int]) -> None:
    changed(copied, ODOMETRY, lambda log: log[f"{tiny.ODOMETRY}.meta"]["timestamps"].pop())
    assert [defect.kind for defect in defects_of(copied)] == ["length_mismatch"]
    assert counts_of(copied) == counts


def test_known_stream_of_another_kind_plays_by_its_own_name(copied: Path, counts: dict[str, int]) -> None:
    log = tiny.log_of({tiny.DGPS: ("/gps/Solution", [tiny.solution(time) for time in tiny.times()])})
    tiny.write(copied / "dgps_Logger_InFuse.msg", log)
    actual = counts_of(copied)
    assert "dgps/odom" not in actual and actual["dgps/imu_pose"] == tiny.COUNT
    assert not defects_of(copied)


def test_samples_out_of_order_leave_in_order(copied: Path) -> None:
    changed(copied, ODOMETRY, lambda log: log[tiny.ODOMETRY].reverse())
    stamps = [stamp for stamp, _ in messages_of(copied)["wheel_odom"]]
    assert stamps == [time * 1000 for time in tiny.times()]


def written(root: Path, name: str, kind: str, samples: list[Any]) -> Path:
    return tiny.write(root / "x_Logger.msg", tiny.log_of({name: (kind, samples)}))


def told(path: Path) -> list[tuple[str, str]]:
    return [(defect.kind, str(defect)) for defect in defects_of(path)]


def pair(time: int) -> dict[str, Any]:
    return {"left": tiny.frame(time), "right": tiny.frame(time), "baseline": 0.1}


def invalid(time: int) -> dict[str, Any]:
    own = tiny.frame(time)
    own["metadata"]["status"] = "status_INVALID"
    return own


FIRST: dict[str, Any] = {
    "none": None,
    "a number": 5,
    "an empty map": {},
    "an invalid picture": invalid(tiny.START_US),
    "a picture of no rows": tiny.frame(tiny.START_US, rows=0),
}


@pytest.mark.parametrize("issue", FIRST)
@pytest.mark.parametrize("name", [CAMERA, tiny.LEFT])
def test_images_play_though_first_is_unsound(name: str, issue: str, tmp_path: Path) -> None:
    samples = [FIRST[issue], *(tiny.frame(time) for time in tiny.times()[1:])]
    path = written(tmp_path, name, "Frame", samples)
    ((kind, text),) = told(path)
    assert kind == "damaged_picture" and f"x_Logger.msg: sample 0 of {name} at byte " in text
    topic = "stereo/left/image_raw" if name == tiny.LEFT else "task/camera"
    assert [message.encoding for _, message in messages_of(path)[topic]] == ["mono8"] * (tiny.COUNT - 1)


@pytest.mark.parametrize("first", [None, 5, {}, {"left": invalid(tiny.START_US), "right": None, "baseline": 0.1}])
def test_pairs_play_though_first_is_unsound(first: Any, tmp_path: Path) -> None:
    path = written(tmp_path, CAMERA, "FramePair", [first, *(pair(time) for time in tiny.times()[1:])])
    output = told(path)
    assert [kind for kind, _ in output] == ["damaged_picture"] * 2
    assert all(f"sample 0 of {CAMERA} at byte " in text for _, text in output)
    messages = messages_of(path)
    assert [len(messages[f"task/camera/{side}/image_raw"]) for side in ("left", "right")] == [tiny.COUNT - 1] * 2


def test_side_of_which_no_image_is_sound_is_reported_once_and_other_plays(tmp_path: Path) -> None:
    samples = [pair(time) | {"left": invalid(time)} for time in tiny.times()]
    path = written(tmp_path, CAMERA, "FramePair", samples)
    ((kind, text),) = told(path)
    assert kind == "damaged_sample" and "none of 5 samples is an image, the first: sample 0" in text
    assert "task/camera/left/image_raw" not in messages_of(path)
    assert len(messages_of(path)["task/camera/right/image_raw"]) == tiny.COUNT


def test_depth_maps_are_moved_to_their_start_though_first_is_unsound(tmp_path: Path) -> None:
    early = [{"microseconds": -100_000 + 1000 * column} for column in range(3)]
    samples = [
        tiny.depth_map(time, timestamps=[{"microseconds": time + own["microseconds"]} for own in early])
        for time in tiny.times()
    ]
    path = written(tmp_path, "/task.depths", "DepthMap", [None, *samples[1:]])
    assert [kind for kind, _ in told(path)] == ["damaged_cloud"]
    stamps = [stamp for stamp, _ in messages_of(path)["task/depths"]]
    assert stamps == [(time - 100_000) * 1000 for time in tiny.times()[1:]]


NUMBERS: dict[str, tuple[list[int], list[int], str]] = {
    "int8_t": ([-128, 127], [-129, 128], "from -128 to 127"),
    "uint8_t": ([0, 255], [-1, 256], "from 0 to 255"),
    "uint16_t": ([0, 65535], [-1, 65536], "from 0 to 65535"),
    "int32_t": ([-(2**31), 2**31 - 1], [-(2**31) - 1, 2**31], "from -2147483648 to 2147483647"),
    "/std/int32_t": ([-(2**31)], [2**31], "from -2147483648 to 2147483647"),
    "uint32_t": ([0, 2**32 - 1], [-1, 2**32], "from 0 to 4294967295"),
    "int64_t": ([-(2**63), 2**63 - 1], [2**63], "from -9223372036854775808 to 9223372036854775807"),
    "uint64_t": ([0, 2**63 - 1], [-1, 2**64 - 1], "from 0 to 9223372036854775807"),
    "bool": ([0, 1], [2, -1], "from 0 to 1"),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_beyond_what_their_type_holds_are_reported_with_its_range(kind: str, tmp_path: Path) -> None:
    good, bad, limits = NUMBERS[kind]
    path = written(tmp_path, "/task.state", kind, [*good, *bad])
    output = told(path)
    texts = [text.partition(": expected ")[2] for _, text in output]
    assert texts == [f"a whole number {limits}, got {value}" for value in bad]
    assert [int(message.data) for _, message in messages_of(path)["task/state"]] == good


def test_truth_value_among_whole_numbers_does_not_change_their_type(tmp_path: Path) -> None:
    path = written(tmp_path, "/task.state", "int32_t", [True, 5, -7])
    assert not told(path)
    assert [message.data for _, message in messages_of(path)["task/state"]] == [1, 5, -7]


@pytest.mark.parametrize(
    "issue", [{}, {"latitude": math.nan}, {"longitude": math.inf}, {"latitude": None}, {"altitude": math.nan}]
)
def test_fixes_without_position_are_reported(issue: dict[str, Any], tmp_path: Path) -> None:
    samples = [tiny.solution(time, kind="RTK_FIXED") for time in tiny.times()]
    samples[0] = samples[0] | issue if issue else {}
    path = written(tmp_path, "/gps.solution", "/gps/Solution", samples)
    ((kind, text),) = told(path)
    assert kind == "damaged_sample" and "sample 0 of /gps.solution at byte " in text
    assert len(messages_of(path)["gps/solution"]) == tiny.COUNT - 1


def test_fix_without_solution_may_have_no_position(tmp_path: Path) -> None:
    nowhere = dict.fromkeys(("latitude", "longitude", "altitude"), math.nan)
    samples = [tiny.solution(time, kind="NO_SOLUTION") | nowhere for time in tiny.times()]
    path = written(tmp_path, "/gps.solution", "/gps/Solution", samples)
    assert not told(path)
    assert [message.status.status for _, message in messages_of(path)["gps/solution"]] == [-1] * tiny.COUNT


@pytest.mark.parametrize("sample", [5, None, {}, {"data": {"points": None}}, {"data": {"points": 5}}])
def test_cloud_without_points_is_reported_and_one_of_none_is_not(sample: Any, tmp_path: Path) -> None:
    empty = tiny.cloud(tiny.times()[1])
    empty["data"]["points"] = []
    samples = [sample, empty, *(tiny.cloud(time) for time in tiny.times()[2:])]
    path = written(tmp_path, "/task.cloud", "Pointcloud", samples)
    damaged = [text for kind, text in told(path) if kind != "no_own_time"]
    assert len(damaged) == 1 and "sample 0 of /task.cloud at byte " in damaged[0]
    assert [message.width for _, message in messages_of(path)["task/cloud"]] == [0, 2, 2, 2]


def test_broken_times_of_samples_are_counted_for_each_stream(tmp_path: Path) -> None:
    broken = [0, -1, 2**63, "a", None]
    samples = [tiny.state(time) for time in tiny.times()]
    for index, time in enumerate(broken[:4]):
        samples[index + 1]["timestamp"]["microseconds"] = time
    path = written(tmp_path, POSE, "RigidBodyState", samples)
    ((kind, text),) = told(path)
    assert kind == "no_own_time" and "4 of 5" in text and f"sample 1 of {POSE} at byte " in text
    stamps = [stamp for stamp, _ in messages_of(path)["task/pose"]]
    logged = [(time + tiny.LATE_US) * 1000 for time in tiny.times()]
    assert stamps == [tiny.START_US * 1000, *logged[1:]]


def test_stream_all_of_whose_times_are_broken_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path, POSE, "RigidBodyState", [tiny.state(0) for _ in tiny.times()])
    ((kind, text),) = told(path)
    assert kind == "no_own_time" and "5 of 5" in text


def test_samples_of_kind_without_time_are_no_defect(tmp_path: Path) -> None:
    samples = [{"pos": [0.0, 0.0, 0.0], "orient": [0.0, 0.0, 0.0, 1.0]} for _ in tiny.times()]
    assert not told(written(tmp_path, "/task.place", "Pose", samples))


def test_broken_times_of_logging_are_counted_for_each_stream(tmp_path: Path) -> None:
    log = tiny.log_of({POSE: ("RigidBodyState", [tiny.state(time) for time in tiny.times()])})
    log[f"{POSE}.meta"]["timestamps"][1:] = ["x", None, -5, 1.5]
    path = tiny.write(tmp_path / "x_Logger.msg", log)
    ((kind, text),) = told(path)
    assert kind == "no_log_time" and "4 of 5" in text and "sample 1" in text and f"{POSE}.meta" in text
    assert len(messages_of(path)["task/pose"]) == tiny.COUNT


def test_time_of_logging_too_large_for_its_unit_is_reported(tmp_path: Path) -> None:
    log = tiny.log_of({POSE: ("RigidBodyState", [tiny.state(time) for time in tiny.times()])})
    log[f"{POSE}.meta"]["timestamps"][3] = 1 << 62
    path = tiny.write(tmp_path / "x_Logger.msg", log)
    ((kind, text),) = told(path)
    assert kind == "no_log_time" and "1 of 5" in text and "sample 3" in text and f"{POSE}.meta" in text
    assert len(messages_of(path)["task/pose"]) == tiny.COUNT


def test_stream_that_is_no_list_is_reported(tmp_path: Path) -> None:
    log = tiny.log_of({POSE: ("RigidBodyState", [tiny.state(time) for time in tiny.times()])})
    path = tiny.write(tmp_path / "x_Logger.msg", {"/a.b": 5, "/a.b.meta": {"timestamps": [1], "type": "double"}} | log)
    assert any("/a.b" in text for _, text in told(path))
    assert len(messages_of(path)["task/pose"]) == tiny.COUNT


def test_meta_that_is_no_map_is_reported(tmp_path: Path) -> None:
    log = tiny.log_of({POSE: ("RigidBodyState", [tiny.state(time) for time in tiny.times()])})
    path = tiny.write(tmp_path / "x_Logger.msg", log | {f"{POSE}.meta": 5})
    assert any(f"{POSE}.meta" in text for _, text in told(path))
    assert len(messages_of(path)["task/pose"]) == tiny.COUNT


@pytest.mark.parametrize("issue", [{"pos": None}, {"sourceFrame": 5}, {"orient": None}, {"targetFrame": [1]}])
@pytest.mark.parametrize("row", [0, 2])
def test_fields_of_another_kind_are_reported(row: int, issue: dict[str, Any], tmp_path: Path) -> None:
    samples = [tiny.state(time) for time in tiny.times()]
    samples[row] |= issue
    path = written(tmp_path, POSE, "RigidBodyState", samples)
    ((kind, text),) = told(path)
    assert kind == "damaged_sample" and f"sample {row} of {POSE} at byte " in text
    assert len(messages_of(path)["task/pose"]) == tiny.COUNT - 1


def old(samples: list[dict[str, Any]], *, scale: int = 1) -> list[dict[str, Any]]:
    """The same samples, of 28 June 2018."""
    for sample in samples:
        sample["timestamp"]["microseconds"] += 1_530_195_435_000_000 - tiny.START_US
        sample["timestamp"]["microseconds"] *= scale
    return samples


OTHERS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "MsgPackLogger": ("odo.pose", old([tiny.snake_case_state(time) for time in tiny.times()])),
    "MsgPackLogger with a slash": ("/odo.pose", old([tiny.snake_case_state(time) for time in tiny.times()])),
    "a ROS bag": ("/odo/pose", old([tiny.state(time) for time in tiny.times()], scale=1000)),
}


@pytest.mark.parametrize("origin", OTHERS)
def test_old_logs_that_converter_never_made_have_w_last(origin: str, tmp_path: Path) -> None:
    name, samples = OTHERS[origin]
    path = written(tmp_path, name, "RigidBodyState", samples)
    turn = messages_of(path)["odo/pose"][0][1].pose.pose.orientation
    assert [turn.x, turn.y, turn.z, turn.w] == pytest.approx([0, 0, tiny.ROOT_HALF, tiny.ROOT_HALF])
    assert not any("w x y z" in note for note in notes_of(path))


def test_in_old_folder_only_converted_log_has_w_first(tmp_path: Path) -> None:
    turned = [tiny.ROOT_HALF, 0.0, 0.0, tiny.ROOT_HALF]
    converted = old([tiny.state(time, orient=turned) for time in tiny.times()])
    logged = old([tiny.snake_case_state(time) for time in tiny.times()])
    tiny.write(tmp_path / "a_Logger_InFuse.msg", tiny.log_of({POSE: ("RigidBodyState", converted)}))
    tiny.write(tmp_path / "b_000000000.msg", tiny.log_of({"odo.pose": ("RigidBodyState", logged)}))
    messages = messages_of(tmp_path)
    for topic in ("task/pose", "odo/pose"):
        turn = messages[topic][0][1].pose.pose.orientation
        assert [turn.x, turn.y, turn.z, turn.w] == pytest.approx([0, 0, tiny.ROOT_HALF, tiny.ROOT_HALF]), topic
