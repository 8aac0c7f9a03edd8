"""`fieldplay cdff info`, `show` and `index`: what they say about logs made by hand."""

import json
import math
import zipfile
import zlib
from pathlib import Path

import msgpack
import pytest

from fieldplay_cdff.logs import file_index as index_cache
from fieldplay_testing.reference_logs import (
    START_US,
    Run,
    numbered_stream,
    runner,
    states,
    write_log,
)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_log(tmp_path / "a.msg", {"/odometry.pose": states(11), "/state.value": ("int32_t", [(START_US, 7)])})


def test_info_gives_count_times_rate_gap_and_bytes_of_each_stream(run: Run, log: Path) -> None:
    code, out, err = run("info", log, "--json")
    result = json.loads(out)
    assert (code, err, result["faults"]) == (0, "", [])
    (file,) = result["files"]
    assert (file["file"], file["bytes"]) == ("a.msg", log.stat().st_size)
    pose, value = file["streams"]
    assert (pose["stream"], pose["type"], pose["dialect"], pose["unit"]) == (
        "/odometry.pose",
        "RigidBodyState",
        "InFuse",
        "us",
    )
    assert (pose["count"], pose["lag_s"]) == (11, 0.00025)
    assert pose["bytes"] == sum(len(msgpack.packb(sample)) for _, sample in states(11)[1])
    start = START_US * 1000
    assert pose["sampled"] == {"first_ns": start, "last_ns": start + 10**9, "rate_hz": 10.0, "max_gap_s": 0.1}
    assert pose["logged"]["first_ns"] == start + 250_000
    assert (value["dialect"], value["count"], value["logged"]["rate_hz"]) == ("plain value", 1, None)


def test_info_shows_times_in_utc(run: Run, log: Path) -> None:
    _, out, _ = run("info", log)
    assert "11 samples, 10.00 Hz, largest gap 0.100 s" in out
    assert "sampled 2018-11-27T09:30:00.000000Z to 2018-11-27T09:30:01.000000Z" in out
    assert "logged  2018-11-27T09:30:00.000250Z to 2018-11-27T09:30:01.000250Z, 0.250 ms later" in out


def test_info_joins_parts_of_group_in_order_of_their_names(run: Run, tmp_path: Path) -> None:
    for number, start in ((1, START_US + 5_000_000), (0, START_US)):
        write_log(tmp_path / f"r_{number}.msg", {"/a.x": numbered_stream(start, start + 1_000_000)})
    for paths in ([tmp_path], [tmp_path / "r_1.msg", tmp_path / "r_0.msg"]):
        _, out, _ = run("info", *paths, "--json")
        result = json.loads(out)
        assert [file["file"] for file in result["files"]] == ["r_0.msg", "r_1.msg"]
        (joined,) = result["streams"]
        assert (joined["count"], joined["logged"]["max_gap_s"]) == (4, 4.0)
    assert "streams in several of the 2 files:" in run("info", tmp_path)[1]


def test_info_knows_packed_logs_nanoseconds_and_rock(run: Run, tmp_path: Path) -> None:
    plain = write_log(
        tmp_path / "plain.msg", {"/a.x": numbered_stream(START_US * 1000, kind="/base/samples/RigidBodyState_m")}
    )
    packed = tmp_path / "packed.msg.zz"
    packed.write_bytes(zlib.compress(plain.read_bytes()))
    _, out, _ = run("info", packed, "--json")
    (stream,) = json.loads(out)["files"][0]["streams"]
    assert (stream["dialect"], stream["unit"]) == ("Rock, packed", "ns")
    assert stream["logged"]["first_ns"] == START_US * 1000


def test_info_sums_up_files_of_settings(run: Run, tmp_path: Path) -> None:
    frames = {("imu", "body"): {"translation": [0, 0, 0], "rotation": [0, 0, 0, 1]}}
    (tmp_path / "r_tf.msg").write_bytes(msgpack.packb(frames))
    (tmp_path / "r_camera.msg").write_bytes(msgpack.packb({"/right/camera_info": {"baseline": 0.09, "intrinsic": {}}}))
    code, out, _ = run("info", tmp_path)
    assert code == 0
    assert "1 transform: imu -> body" in out
    assert "/right/camera_info, baseline 0.09 m" in out


def test_info_gives_where_log_is_cut_off_and_what_is_before(run: Run, log: Path) -> None:
    log.write_bytes(log.read_bytes()[:700])
    code, out, _ = run("info", log)
    assert code == 0
    assert "fault: a.msg: corrupt near byte" in out
    assert "samples" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "/no/such.msg"], "there is no such folder or file"),
        (["show", "/no/such.msg"], "there is no such folder or file"),
        (
            ["show", "LOG", "/odometry.posse"],
            "there is no stream /odometry.posse; there are /odometry.pose, /state.value",
        ),
        (["show", "LOG", "/odometry.pose", "--index", "11"], "has no sample 11; it has 11"),
        (["show", "LOG", "--time", "noon"], "expected an index (120), seconds from the start of the log"),
        (["show", "LOG", "--time", "1", "--index", "1"], "not allowed with"),
        (["show", "LOG", "--depth", "0"], "expected a count from 1, got '0'"),
        (["sing"], "invalid choice: 'sing'"),
        ([], "required: TOOL"),
    ],
)
def test_usage_error_exits_with_2(run: Run, log: Path, arguments: list[str], message: str) -> None:
    code, out, err = run(*(log if each == "LOG" else each for each in arguments))
    assert (code, out) == (2, "")
    assert message in err


def test_file_that_is_no_log_exits_with_1(run: Run, tmp_path: Path) -> None:
    (tmp_path / "text.msg").write_text("no log at all")
    code, _, err = run("info", tmp_path / "text.msg")
    assert (code, "expected logs of MessagePack" in err) == (1, True)


def test_show_prints_first_sample_of_each_stream(run: Run, log: Path) -> None:
    code, out, _ = run("show", log)
    assert code == 0
    assert "/odometry.pose, sample 0 of 11, RigidBodyState\n  sampled 2018-11-27T09:30:00.000000Z\n" in out
    assert "  pos          [0.0, 0.25, -1.0]\n" in out
    assert out.endswith("/state.value, sample 0 of 1, int32_t\n  logged 2018-11-27T09:30:00.000000Z\n  7\n")


@pytest.mark.parametrize(
    ("arguments", "row"),
    [
        (["--index", "3"], 3),
        (["--index", "-1"], 10),
        (["--time", "0.31"], 3),
        (["--time", "2018-11-27T09:30:00.74Z"], 7),
        (["--time", "1543311000.96"], 10),
        (["--time", "1"], 10),
        (["--time", str(START_US + 240_000)], 2),
    ],
)
def test_show_takes_sample_of_index_or_nearest_to_time(run: Run, log: Path, arguments: list[str], row: int) -> None:
    _, out, _ = run("show", log, "odometry.pose", *arguments, "--json")
    result = json.loads(out)
    assert (result["index"], result["sample"]["pos"][0]) == (row, 0.5 * row)


def test_show_abbreviates_long_lists_by_length_and_range(run: Run, tmp_path: Path) -> None:
    sample = {
        "ranges": list(range(23, 60_023, 100)),
        "distances": [1.5, math.nan, math.inf] * 200,
        "cov": [[math.nan] * 3] * 3,
        "names": [f"joint_{index}" for index in range(30)],
        "elements": [{"position": 0.5, "raw": index} for index in range(3)],
    }
    path = write_log(tmp_path / "a.msg", {"/a.x": ("T", [(START_US, sample)])})
    _, out, _ = run("show", path)
    assert "600 numbers from 23 to 59923: 23, 123, 223, …" in out
    assert "600 numbers from 1.5 to 1.5, 400 of them nan or inf: 1.5, nan, inf, …" in out
    assert "3 x 3 numbers, all nan" in out
    assert "30 items: 'joint_0', 'joint_1', 'joint_2', …" in out
    assert "    2: position 0.5, raw 2\n" in out
    _, out, _ = run("show", path, "--max-list", "30")
    assert "'joint_28', 'joint_29']" in out


def test_show_goes_no_deeper_than_is_requested(run: Run, log: Path) -> None:
    _, out, _ = run("show", log, "odometry.pose", "--depth", "1")
    assert "  timestamp    1 fields: microseconds\n" in out
    _, out, _ = run("show", log, "odometry.pose", "--depth", "2")
    assert f"  timestamp\n    microseconds  {START_US}\n" in out


def test_show_as_json_has_arguments_for_what_json_has_no_numbers_for(run: Run, tmp_path: Path) -> None:
    sample = {"values": [1.5, math.nan, math.inf, -math.inf], "count": 2**63}
    path = write_log(tmp_path / "a.msg", {"/a.x": ("T", [(START_US, sample)])})
    _, out, _ = run("show", path, "/a.x", "--json")
    result = json.loads(out, parse_constant=pytest.fail)
    assert result["sample"] == {"values": [1.5, "NaN", "Infinity", "-Infinity"], "count": 2**63}


def test_index_gives_whether_index_is_kept_valid_or_outdated(
    run: Run, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIELDPLAY_CACHE", str(tmp_path / "cache"))

    def state() -> dict[str, object]:
        code, out, _ = run("index", log, "--json")
        result = json.loads(out)
        assert (code, result["folder"]) == (0, str(tmp_path / "cache"))
        (only,) = result["logs"]
        return dict(only)

    assert (state()["state"], state()["index"]) == ("small", None)
    monkeypatch.setattr(index_cache, "SMALLEST", 0)
    remaining = state()
    assert (remaining["state"], remaining["samples"]) == ("valid", 12)
    assert Path(str(remaining["index"])).parent == tmp_path / "cache"
    assert [path.name for path in log.parent.iterdir() if path.is_file()] == ["a.msg"]
    monkeypatch.setattr(index_cache, "SMALLEST", 1 << 30)
    write_log(log, {"/a.x": numbered_stream(START_US)})
    assert state()["state"] == "outdated"
    assert "1 index forgotten" in run("index", log, "--forget")[1]
    assert state()["state"] == "small"


def test_show_leaves_out_streams_without_such_sample_unless_they_are_named(run: Run, log: Path) -> None:
    code, out, err = run("show", log, "--index", "4")
    assert (code, "/state.value" in out) == (0, False)
    assert err == "fieldplay: /state.value has no sample 4; it has 1\n"
    assert run("show", log, "/state.value", "--index", "4")[0] == 2


def test_of_log_before_and_after_its_conversion_one_is_read_and_other_named(run: Run, tmp_path: Path) -> None:
    for name in ("x_Logger.msg", "x_Logger_InFuse.msg"):
        write_log(tmp_path / name, {"/a.x": numbered_stream(START_US)})
    _, out, err = run("info", tmp_path)
    assert out.startswith("x_Logger_InFuse.msg: ")
    assert err.startswith("fieldplay: note: x_Logger.msg: the same log as x_Logger_InFuse.msg")
    both = run("info", tmp_path / "x_Logger.msg", tmp_path / "x_Logger_InFuse.msg", "--json")[1]
    assert [file["file"] for file in json.loads(both)["files"]] == ["x_Logger.msg", "x_Logger_InFuse.msg"]


def test_logs_in_zip_are_read_where_they_are_but_alone(run: Run, log: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as zipped:
        zipped.write(log, "logs/a.msg")
    code, out, _ = run("info", tmp_path / "logs.zip", "--json")
    assert (code, json.loads(out)["files"][0]["streams"][0]["count"]) == (0, 11)
    code, _, err = run("info", tmp_path / "logs.zip", log)
    assert (code, "a zip is read alone" in err) == (2, True)
