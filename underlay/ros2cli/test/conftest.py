"""The command as a function and as a process, a node to look at, and a package to run things of."""

import contextlib
import importlib.util
import io
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

import ros2cli
from ros2cli.cli import main

# Far above what a busy machine needs: nothing waits so long but what would wait for ever.
PATIENCE_S = 300.0
ENDING_S = 60.0
NOTICE_S = 0.1
IS_UPSTREAM = importlib.util.find_spec("ros2cli.daemon") is not None
FOLDER = tempfile.TemporaryDirectory()
COMMAND = (sys.executable, f"{FOLDER.name}/ros2")  # named so, as the usage begins with the name
Path(COMMAND[1]).write_text("import sys\nfrom ros2cli.cli import main\nsys.exit(main())\n")


def environment() -> dict[str, str]:
    """Return this environment, with this very package to be found first."""
    home = str(Path(ros2cli.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([home, *filter(None, [os.environ.get("PYTHONPATH")])])}


@pytest.fixture(scope="session", autouse=True)
def daemon_that_ends() -> Iterator[None]:
    """Upstream's commands leave a daemon behind them, which ends here."""
    yield
    if IS_UPSTREAM:
        subprocess.run([*COMMAND, "daemon", "stop"], env=environment(), check=True, timeout=PATIENCE_S)


@dataclass
class Outcome:
    """What a finished command leaves."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def spinning() -> Callable[[Node], AbstractContextManager[None]]:
    """Serve a node in a thread; the end comes between two callbacks, for amidst one it is an error of rclpy's."""

    @contextmanager
    def serve(node: Node) -> Iterator[None]:
        executor, ends = SingleThreadedExecutor(context=node.context), threading.Event()
        executor.add_node(node)

        def spin() -> None:
            while not ends.is_set():
                executor.spin_once(NOTICE_S)

        thread = threading.Thread(target=spin)
        thread.start()
        yield
        ends.set()
        thread.join()
        executor.shutdown()

    return serve


def run_here(capfd: pytest.CaptureFixture[str], words: tuple[str, ...]) -> Outcome:
    capfd.readouterr()
    try:
        result = main(argv=words)
    except SystemExit as end:
        result = end.code
    sys.stdout.flush()
    out, err = capfd.readouterr()
    return Outcome(1, out, err + result) if isinstance(result, str) else Outcome(int(result or 0), out, err)


def run_outside(words: tuple[str, ...], given: str | None) -> Outcome:
    done = subprocess.run(
        [*COMMAND, *words],
        env=environment(),
        input=given or "",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr.removesuffix("\n"))


@pytest.fixture
def ros2(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Run the command: the stand-in in this process, its end turned into an exit code as the interpreter does it."""

    def run(*words: str, given: str | None = None) -> Outcome:
        if IS_UPSTREAM:  # which may be called but once in a process
            return run_outside(words, given)
        if given is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        return run_here(capfd, words)

    return run


class RunningCommand:
    """The command as a process, in a process group of its own, ended for good where it would never end."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._process = subprocess.Popen(
            [*COMMAND, *words],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._guard = threading.Timer(PATIENCE_S, self.kill)
        self._guard.start()

    def read_until(self, text: str) -> str:
        """Return the output up to the line that has ``text`` in it, or all of it."""
        read = ""
        for line in self._process.stdout:
            read += line
            if text in line:
                break
        return read

    @property
    def state(self) -> str:
        """Whether it runs, or how it has ended."""
        code = self._process.poll()
        return "it still runs" if code is None else f"it has ended with {code}"

    def terminate(self) -> None:
        self._process.terminate()

    def interrupt_group(self) -> None:
        """Do what Ctrl-C in a terminal does."""
        os.killpg(self._process.pid, signal.SIGINT)

    def finish(self) -> tuple[int, str]:
        """Return exit code and remaining output."""
        out = self._process.stdout.read()
        return self._process.wait(), out

    def kill(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End it in order: who is killed may hold a lock of the shared memory, for which others then wait."""
        self._guard.cancel()
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            self.interrupt_group()
            self._process.wait(ENDING_S)
        self.kill()
        self._process.stdout.close()
        self._process.wait()


def _starting() -> Iterator[Callable[..., RunningCommand]]:
    started: list[RunningCommand] = []

    def start(*words: str) -> RunningCommand:
        started.append(RunningCommand(words))
        return started[-1]

    yield start
    for command in started:
        command.close()


# For one test, and for all tests of a module.
start_ros2 = pytest.fixture(_starting, name="start_ros2")
start_many = pytest.fixture(_starting, scope="module", name="start_many")


@pytest.fixture
def first_line_of_ros2() -> Callable[..., tuple[str, str]]:
    """Run the command into a reader that leaves after the first line; return that and all of stderr."""

    def run(*words: str) -> tuple[str, str]:
        pipeline = ["sh", "-c", '"$@" | head -n 1', "sh", *COMMAND, *words]
        done = subprocess.run(
            pipeline, env=environment(), capture_output=True, text=True, check=True, timeout=PATIENCE_S
        )
        return done.stdout, done.stderr

    return run


@pytest.fixture
def demo_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Put files into an installed package called demo; executables, where their name starts with lib/."""
    marker = tmp_path / "share/ament_index/resource_index/packages/demo"
    marker.parent.mkdir(parents=True)
    marker.touch()
    (tmp_path / "share/demo").mkdir()
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join([str(tmp_path), os.environ.get("AMENT_PREFIX_PATH", "")]))

    def add(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if name.startswith("lib/") else 0o644)
        return path

    return add
