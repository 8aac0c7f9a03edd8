"""`fieldplay cdff chunk` and `join`: smaller and larger logs whose samples have the same bytes."""

import signal
import zlib
from pathlib import Path
from typing import Any

import msgpack
import pytest

from fieldplay_cdff.tools import cuts
from fieldplay_testing.reference_logs import (
    START_US,
    Run,
    numbered_stream,
    read_log,
    runner,
    states,
    write_log,
)

FLAT = {
    "/a.x/time/microseconds": [START_US, START_US + 1000, START_US + 2000],
    "/a.x/position/data": [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]],
    "/a.x.meta/timestamps": [START_US + 5, START_US + 1005, START_US + 2005],
    "/a.x.meta/type": "/base/samples/RigidBodyState_m",
}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    other = numbered_stream(*(START_US + 250_000 * index for index in range(5)), kind="T")
    return write_log(tmp_path / "a.msg", {"/odometry.pose": states(11), "/b.x": other})


def numbers(path: Path, stream: str = "/odometry.pose") -> list[int]:
    return [round(sample["pos"][0] * 2) for sample in read_log(path)[stream]]


@pytest.mark.parametrize(
    ("arguments", "taken"),
    [
        (["--start", "2", "--end", "5"], [2, 3, 4]),
        (["--start", "8"], [8, 9, 10]),
        (
            ["--start", "0.3", "--end", "0.6"],
            [3, 4, 5],
        ),  # from the log's begin, 0.25 ms before the first pose is logged
        (["--end", "1s"], list(range(10))),
        (["--start", "1543311000.95"], [10]),
        (["--start", str(START_US + 800_250), "--end", str(START_US + 900_250)], [8]),
        (["--start", "2018-11-27T09:30:00.9Z"], [9, 10]),
        (["--start", "9", "--end", "2018-11-27T09:30:00.95Z"], [9]),
        ([], list(range(11))),
    ],
)
def test_interval_is_cut_by_index_or_logging_time(
    run: Run, log: Path, tmp_path: Path, arguments: list[str], taken: list[int]
) -> None:
    out = tmp_path / "out.msg"
    code, printed, _ = run("chunk", log, "/odometry.pose", *arguments, out)
    assert (code, f"{len(taken)} sample" in printed) == (0, True)
    assert numbers(out) == taken
    times = [START_US + 100_000 * index + 250 for index in taken]
    assert read_log(out)["/odometry.pose.meta"] == {"timestamps": times, "type": "RigidBodyState"}


@pytest.mark.parametrize("arguments", [["--end", "0"], ["--start", "99"], ["--start", "500s"]])
def test_interval_without_samples_exits_with_1_and_writes_nothing(
    run: Run, log: Path, tmp_path: Path, arguments: list[str]
) -> None:
    code, _, result = run("chunk", log, *arguments, tmp_path / "out.msg")
    assert (code, "no sample is in this time range" in result) == (1, True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.msg"]


def test_only_named_streams_are_taken_in_their_order_and_all_by_default(run: Run, log: Path, tmp_path: Path) -> None:
    run("chunk", log, "b.x", "odometry.pose", tmp_path / "two.msg")
    assert list(read_log(tmp_path / "two.msg")) == ["/b.x", "/b.x.meta", "/odometry.pose", "/odometry.pose.meta"]
    run("chunk", log, tmp_path / "all.msg")
    assert read_log(tmp_path / "all.msg") == read_log(log)


def test_options_may_stand_between_names(run: Run, log: Path, tmp_path: Path) -> None:
    assert run("chunk", "--start", "1", log, "/odometry.pose", "--end", "2", tmp_path / "out.msg")[0] == 0
    assert numbers(tmp_path / "out.msg") == [1]


def test_bytes_of_samples_are_copied_as_they_are(run: Run, tmp_path: Path) -> None:
    odd = bytes([0x82, 0xA1, 0x61, 0xD2, 0, 0, 0, 5, 0xA1, 0x62, 0xCA, 0x3F, 0x80, 0, 0])  # wide 5, float of four bytes
    log = tmp_path / "a.msg"
    meta = msgpack.packb({"timestamps": [START_US, START_US + 1], "type": "T"})
    log.write_bytes(b"\x82\xa4/a.x\x92" + odd + odd + b"\xa9/a.x.meta" + meta)
    run("chunk", log, "--end", "1", tmp_path / "out.msg")
    assert (tmp_path / "out.msg").read_bytes().count(odd) == 1
    run("chunk", log, tmp_path / "all.msg")
    assert (tmp_path / "all.msg").read_bytes().count(odd) == 2


def test_flattened_logs_become_plain_ones_with_same_values(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "flat.msg"
    log.write_bytes(msgpack.packb(FLAT))
    assert run("chunk", log, "--start", "1", tmp_path / "out.msg")[0] == 0
    actual = read_log(tmp_path / "out.msg")
    assert [sample["position"]["data"] for sample in actual["/a.x"]] == FLAT["/a.x/position/data"][1:]
    assert [sample["time"]["microseconds"] for sample in actual["/a.x"]] == FLAT["/a.x/time/microseconds"][1:]
    assert actual["/a.x.meta"] == {"timestamps": FLAT["/a.x.meta/timestamps"][1:], "type": FLAT["/a.x.meta/type"]}


def test_log_is_packed_where_its_name_reports_it(run: Run, log: Path, tmp_path: Path) -> None:
    assert run("chunk", log, tmp_path / "out.msg.zz")[0] == 0
    assert msgpack.unpackb(zlib.decompress((tmp_path / "out.msg.zz").read_bytes())) == read_log(log)
    assert run("chunk", tmp_path / "out.msg.zz", "/b.x", "--end", "2", tmp_path / "again.msg")[0] == 0
    assert [sample["number"] for sample in read_log(tmp_path / "again.msg")["/b.x"]] == ["0", "1"]


def test_join_puts_parts_together_in_order_of_their_names(run: Run, tmp_path: Path) -> None:
    for number in (10, 2, 1):
        times = (START_US + number * 1_000_000, START_US + number * 1_000_000 + 1)
        write_log(tmp_path / f"r_{number:02d}.msg", {"/a.x": numbered_stream(*times, prefix=f"{number}-")})
    assert (
        run("join", tmp_path / "r_10.msg", tmp_path / "r_01.msg", tmp_path / "r_02.msg", tmp_path / "all.msg")[0] == 0
    )
    log = read_log(tmp_path / "all.msg")
    assert [sample["number"] for sample in log["/a.x"]] == ["1-0", "1-1", "2-0", "2-1", "10-0", "10-1"]
    assert log["/a.x.meta"]["timestamps"] == sorted(log["/a.x.meta"]["timestamps"])


def test_samples_without_logging_time_get_their_own(run: Run, log: Path, tmp_path: Path) -> None:
    content = read_log(log)
    del content["/odometry.pose.meta"]["timestamps"][3:]
    log.write_bytes(msgpack.packb(content))
    run("chunk", log, "/odometry.pose", "--start", "2", "--end", "4", tmp_path / "out.msg")
    times = read_log(tmp_path / "out.msg")["/odometry.pose.meta"]["timestamps"]
    assert times == [START_US + 200_250, START_US + 300_000]


def test_what_is_before_cut_is_taken_and_defect_reported_but_not_with_strict(
    run: Run, log: Path, tmp_path: Path
) -> None:
    log.write_bytes(log.read_bytes()[:700])
    code, _, err = run("chunk", log, tmp_path / "out.msg")
    assert (code, "corrupt near byte" in err) == (0, True)
    whole = len(read_log(tmp_path / "out.msg")["/odometry.pose"])
    assert 0 < whole < 11
    code, _, err = run("chunk", log, tmp_path / "strict.msg", "--strict")
    assert (code, "--strict: 1 fault; nothing is written" in err) == (1, True)
    assert not (tmp_path / "strict.msg").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["LOG", "OUT.txt"], "expected a name that ends in .msg or .msg.zz"),
        (["LOG", "LOG"], "lies in the archive, which is never written to"),
        (["LOG", "/no.x", "OUT.msg"], "there is no stream /no.x; there are /odometry.pose, /b.x"),
        (["LOG", "OUT.msg", "--start", "soon"], "expected an index (120), seconds from the start of the log"),
        (["LOG", "FOLDER/none/out.msg"], "there is no such folder"),
        (["LOG"], "required: OUT"),
    ],
)
def test_usage_error_exits_with_2_and_writes_nothing(
    run: Run, log: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    positions = {"LOG": log, "OUT": tmp_path / "out", "FOLDER": tmp_path}
    text = [
        arg if arg.startswith("-") else str(positions[arg]) if arg in positions else _placed(arg, positions)
        for arg in arguments
    ]
    before = log.read_bytes()
    code, out, err = run("chunk", *text)
    assert (code, out) == (2, "")
    assert message in err
    assert (sorted(path.name for path in tmp_path.iterdir()), log.read_bytes()) == (["a.msg"], before)


def _placed(word: str, positions: dict[str, Path]) -> str:
    for name, position in positions.items():
        if word.startswith(name):
            return str(position) + word.removeprefix(name)
    return word


def test_existing_file_is_replaced_with_overwrite_alone_and_log_itself_never(
    run: Run, log: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.msg"
    out.write_text("mine")
    code, _, err = run("chunk", log, out)
    assert (code, "exists; --overwrite replaces it" in err, out.read_text()) == (2, True, "mine")
    assert run("chunk", log, "/odometry.pose", "--end", "3", out, "--overwrite")[0] == 0
    assert numbers(out) == [0, 1, 2]
    assert run("chunk", log, "--end", "3", log, "--overwrite")[0] == 2
    assert len(read_log(log)["/odometry.pose"]) == 11


def test_interrupted_cut_leaves_no_files(run: Run, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied = cuts._copy_bytes

    def interrupted(*arguments: Any, **options: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return copied(*arguments, **options)

    monkeypatch.setattr(cuts, "_copy_bytes", interrupted)
    code, _, err = run("chunk", log, tmp_path / "out.msg")
    assert (code, "nothing was left behind" in err) == (130, True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.msg"]


def test_sample_that_lacks_value_is_reported_and_not_copied(run: Run, tmp_path: Path) -> None:
    pose, last = ({"time": START_US, "image": list(range(9)), "attributes": [1], "size": 1} for _ in range(2))
    broken = msgpack.packb(last).replace(msgpack.packb(last["image"]), b"", 1)
    meta = msgpack.packb("/a.x.meta") + msgpack.packb({"timestamps": [START_US] * 2, "type": "Frame"})
    head = b"\x82" + msgpack.packb("/a.x") + b"\x92" + msgpack.packb(pose)
    (tmp_path / "a.msg").write_bytes(head + broken + meta)
    code, _, err = run("chunk", tmp_path / "a.msg", tmp_path / "out.msg")
    assert (code, f"corrupt near byte {len(head)}: sample 1 of /a.x" in err) == (0, True)
    assert read_log(tmp_path / "out.msg")["/a.x"] == [pose]


def test_that_stream_lies_in_two_recordings_is_noted(run: Run, tmp_path: Path) -> None:
    for name in ("a.msg", "b.msg"):
        write_log(tmp_path / name, {"/odometry.pose": states(3)})
    code, _, err = run("join", tmp_path / "a.msg", tmp_path / "b.msg", tmp_path / "out.msg")
    assert (code, "note: /odometry.pose lies in a.msg and in b.msg" in err) == (0, True)
    assert "0.200 s before the end of the first" in err
