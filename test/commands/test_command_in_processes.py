"""The command `fieldplay` in processes of its own: signals, pipes that close, completion in the shell."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

WAIT_S = 30.0


@pytest.fixture(scope="module")
def archive(write_ameds: Callable[[Path], Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive that no test changes."""
    root: Path = write_ameds(tmp_path_factory.mktemp("archive") / "Traverse_5").root
    return root


def script(*arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    """The real command in a process of its own."""
    program = shutil.which("fieldplay")
    assert program
    return subprocess.Popen([program, *map(str, arguments)], **options)


def test_installed_command_runs_without_ros(tmp_path: Path) -> None:
    blocked = tmp_path / "rclpy"
    blocked.mkdir()
    (blocked / "__init__.py").write_text("raise ImportError('ROS is not wanted here')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    with script("list", stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}) as process:
        out, _ = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0
    assert b"\nameds " in b"\n" + out


def test_products_of_small_matrices_are_work_of_one_thread(tmp_path: Path) -> None:
    """A pipeline's clouds take ten times the processor time otherwise. NumPy must not be there before this is said."""
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, os, sys\n"
        "atexit.register(lambda: print('told', os.environ.get('OPENBLAS_NUM_THREADS'), 'numpy' in sys.modules))\n"
    )
    remaining = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    env = {**remaining, "PYTHONPATH": os.pathsep.join([str(tmp_path), remaining.get("PYTHONPATH", "")])}
    with script("--help", stdout=subprocess.PIPE, env=env) as process:
        out, _ = process.communicate(timeout=WAIT_S)
    assert b"told 1 False" in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_conversion_leaves_nothing(number: signal.Signals, archive: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "bag"
    with script("convert", archive, out, "--images", "raw", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        end = time.monotonic() + WAIT_S
        while not list(tmp_path.glob("new/.bag.partial-*/*")):
            assert process.poll() is None and time.monotonic() < end, "no bag was begun"
        process.send_signal(number)
        _, output = process.communicate(timeout=WAIT_S)
    assert process.returncode == 128 + number
    assert b"interrupted; nothing was left behind" in output
    assert b"Traceback" not in output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["info", "check"])
def test_reader_that_disappears_is_no_defect(command: str, archive: Path) -> None:
    with script(command, archive, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        rows = process.stderr.read()
        assert process.wait(WAIT_S) == 0
    assert rows == b""


def test_conversion_that_nobody_listens_to_goes_on(tiny_ameds: Any, tmp_path: Path) -> None:
    (tiny_ameds.root / "MainCam_1656931512.000000.jpg").write_bytes(b"")
    bag = tmp_path / "bag"
    with script("convert", tiny_ameds.root, bag, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        process.stderr.close()
        assert process.wait(WAIT_S) == 0
    assert "message_count: 59" in (bag / "metadata.yaml").read_text()


def test_output_that_cannot_be_written_is_reported(archive: Path) -> None:
    with open("/dev/full", "wb") as full, script("info", archive, stdout=full, stderr=subprocess.PIPE) as process:
        _, output = process.communicate(timeout=WAIT_S)
    assert process.returncode == 1
    assert output == b"fieldplay: No space left on device\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [("fieldplay con", {"convert"}), ("fieldplay convert a b --storage ", {"mcap", "sqlite3"}),
     ("fieldplay info a --dataset am", {"ameds"}), ("fieldplay check a --js", {"--json"})],
)  # fmt: skip
def test_shell_completes_commands_options_and_values(line: str, expected: set[str], tmp_path: Path) -> None:
    requested = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_SHELL": "bash", "_ARGCOMPLETE_IFS": "\n", "COMP_LINE": line}
    requested |= {"COMP_POINT": str(len(line)), "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "words")}
    with script(env={**os.environ, **requested}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        process.wait(WAIT_S)
    assert {word.strip() for word in (tmp_path / "words").read_text().splitlines()} == expected
