"""`ros2 launch` as a process beside this one, its words in a file."""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

END_S = 15.0


class LaunchFailed(Exception):
    """The launch ended otherwise than it should; the message says how, with its last words."""


class Launch:
    """A launch that runs."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self._process, self._log = process, log

    def running(self) -> bool:
        """Whether it still runs; LaunchFailed when it ended badly."""
        code = self._process.poll()
        if code:
            raise self.failure(f"ended with exit code {code}")
        return code is None

    def failure(self, how: str) -> LaunchFailed:
        """What to raise when it does not do what it should."""
        words = "\n".join(f"    {line}" for line in self._log.read_text(errors="replace").splitlines()[-15:])
        return LaunchFailed(f"the launch {how}; its last words, of {self._log}:\n{words}")


@contextmanager
def launched(arguments: Sequence[str], log: Path) -> Iterator[Launch]:
    """`ros2 launch` with these arguments; in the end it is gone, with all its processes."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["ros2", "launch", *arguments], stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        yield Launch(process, log)
    finally:
        for number in (signal.SIGINT, signal.SIGKILL):
            if process.poll() is None:
                os.killpg(process.pid, number)
                try:
                    process.wait(END_S)
                except subprocess.TimeoutExpired:
                    continue
