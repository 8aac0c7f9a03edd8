"""`fieldplay cdff` in hands that do not know it: each thing that cannot be is one line that says what and why."""

import os
from pathlib import Path

import msgpack
import pytest

from fieldplay_testing import tiny_sherpatt as tiny
from fieldplay_testing.reference_logs import (
    FORM_2,
    Run,
    runner,
    states,
    write_log,
)

NOWHERE = Path("/proc/self")  # nobody can write there, not even root


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_log(tmp_path / "a.msg", {"/dgps.imu_pose": states(5)})


@pytest.mark.parametrize("tool", ["info", "show", "index"])
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "got an empty file"),
        (b"\x80", "got one without any stream"),
        (
            b"hello",
            "got none that can be read: corrupt near byte 0: the head of a log: expected an item of MessagePack",
        ),
    ],
)
def test_file_that_is_no_log_is_reported_with_reason(
    content: bytes, why: str, tool: str, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "x.msg"
    path.write_bytes(content)
    code, out, err = run(tool, path)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith(f"fieldplay: {path}: expected logs of MessagePack, {why}")


def test_folder_without_logs_is_reported_as_such(run: Run, tmp_path: Path) -> None:
    message = f"fieldplay: {tmp_path}: expected logs of MessagePack, got no file that is called .msg or .msg.zz\n"
    assert run("info", tmp_path) == (1, "", message)
    for name in ("a.msg", "b.msg"):
        (tmp_path / name).touch()
    assert run("info", tmp_path)[2].endswith("got empty files alone\n")


@pytest.mark.parametrize(
    "arguments", ["info PIPE", "show PIPE", "chunk PIPE OUT", "join LOG PIPE OUT", "diagram PIPE O.svg"]
)
def test_pipe_is_refused_and_not_waited_for(arguments: str, run: Run, log: Path, tmp_path: Path) -> None:
    pipe, out = tmp_path / "pipe.msg", str(tmp_path / "out.msg")
    os.mkfifo(pipe)
    named = arguments.replace("PIPE", str(pipe)).replace("LOG", str(log)).replace("OUT", out)
    code, _, err = run(*named.split())
    assert (code, "pipe.msg: expected a file or a folder, got a pipe or a device (see" in err) == (
        2,
        True,
    )


@pytest.mark.parametrize("name", ["o.msg", "o.msg.zz", "o.csv", "o.parquet", "tables"])
def test_output_that_cannot_be_written_is_named_as_user_named_it(name: str, run: Run, log: Path) -> None:
    out = NOWHERE / name
    code, printed, err = run("chunk" if ".msg" in name else "export", log, out)
    assert (code, printed, err.count("\n")) == (1, "", 1)
    assert err.startswith(f"fieldplay: cannot write {out}: ")
    assert "partial" not in err and "Errno" not in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "LOG", "--index", "first"], "argument --index: expected a whole number, got 'first'"),
        (["show", "LOG", "--time=-3"], "expected a time from the start on, got '-3'"),
        (["chunk", "LOG", "OUT.msg", "--start", "-5"], "expected a time from the start on, got '-5'"),
        (["chunk", "LOG", "FOLDER.msg"], "FOLDER.msg is a folder"),
        (["export", "LOG", "OUT.xlsx"], "OUT.xlsx: expected a name that ends in .csv or .parquet, or a new folder"),
        (["export", "LOG", "FOLDER"], "FOLDER exists; tables go into a new folder, none is replaced"),
        (["export", "LOG", "FOLDER", "--overwrite"], "FOLDER exists; tables go into a new folder, none is replaced"),
        (["diagram", "FOLDER", "OUT.svg"], "FOLDER: expected a description, got a folder"),
        (["diagram", "TEXT", "FOLDER.svg"], "FOLDER.svg is a folder"),
    ],
)
def test_invalid_arguments_are_usage_errors_in_one_line(
    arguments: list[str], message: str, run: Run, log: Path, tmp_path: Path
) -> None:
    for name in ("some", "some.msg", "some.svg"):
        (tmp_path / name).mkdir()
    text = tmp_path / "text.yaml"
    text.write_text(FORM_2)
    positions = {"LOG": log, "OUT": tmp_path / "out", "FOLDER": tmp_path / "some", "TEXT": text}

    def named(word: str) -> str:
        for name, position in positions.items():
            word = word.replace(name, str(position))
        return word

    code, printed, err = run(*map(named, arguments))
    assert (code, printed) == (2, "")
    command = f"fieldplay cdff {arguments[0]}"
    assert err == f"{command}: error: {named(message)} (see '{command} --help')\n"
    assert not list(tmp_path.glob("out*"))


def test_sample_that_no_stream_has_exits_with_1(run: Run, log: Path) -> None:
    assert run("show", log, "--index", "5") == (1, "", "fieldplay: /dgps.imu_pose has no sample 5; it has 5\n")


def test_settings_are_shown_and_are_no_log_to_cut(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x_tf.msg"
    path.write_bytes(msgpack.packb({("imu", "tcp"): tiny.FRAMES["tcp_base", "tcp"]}))
    code, out, err = run("show", path)
    lines = ["x_tf.msg (settings)", "  imu -> tcp", "    translation  [0.0, 0.0, 0.0]", "    rotation     [0, 0, 0, 1]"]
    assert (code, out.splitlines(), err) == (0, lines, "")
    assert '"imu -> tcp": {' in run("show", path, "--json")[1]
    for tool, name in (("chunk", "o.msg"), ("join", "o.msg"), ("export", "tables")):
        message = "fieldplay: x_tf.msg: settings alone, no log with samples\n"
        assert run(tool, path, tmp_path / name) == (1, "", message)
        assert not (tmp_path / name).exists()


def test_index_that_cannot_be_kept_is_reported_with_reason(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_log(tmp_path / "a.msg", {"/a": ("Text", [(tiny.START_US, {"text": "x" * 4_300_000})])})
    monkeypatch.setenv("FIELDPLAY_CACHE", str(path / "cache"))
    code, out, _ = run("index", path)
    assert (code, out.splitlines()[1].endswith(f": no index: {path} cannot be written to")) == (0, True)


@pytest.mark.parametrize("tool", ["info", "show", "index", "chunk", "join", "export", "diagram"])
def test_help_of_tool_has_example(tool: str, run: Run) -> None:
    code, out, _ = run(tool, "--help")
    assert (code, f"  fieldplay cdff {tool} " in out) == (0, True)
