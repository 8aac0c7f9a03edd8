"""ros2 run."""

from __future__ import annotations

import argparse
import shlex
import signal
import subprocess
import sys

from ros2cli.options import Argument, Verb
from ros2cli.packages import executables


def _run_executable(args: argparse.Namespace) -> int | str:
    """Run the executable and return its exit code, or what keeps it from running."""
    paths = executables(args.package_name, args.executable_name)
    if not paths:
        return "No executable found"
    if len(paths) > 1:
        return "\n".join(["Multiple executables found:", *(f"- {path}" for path in paths)])
    return _run([*shlex.split(args.prefix or ""), str(paths[0]), *args.argv])


def _run(command: list[str]) -> int:
    """Run ``command`` to its end: Ctrl-C reaches it from the terminal, SIGTERM is passed on to it."""
    with _Signals() as signals:
        try:
            process = subprocess.Popen(command)
        except OSError as error:
            raise RuntimeError(f"{command[0]}: {error.strerror}") from None
        signals.pass_on_to(process)
        code = process.wait()
    if code:
        died = -code in signal.valid_signals()
        reason = signal.strsignal(-code) if died else f"Process exited with failure {code}"
        sys.stdout.write(f"[ros2run]: {reason}\n")
    return code


class _Signals:
    """From before the executable starts, so that none is missed: SIGINT is its own affair, SIGTERM is passed on."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._terminated = False

    def __enter__(self) -> _Signals:
        self._before = {
            signal.SIGINT: signal.signal(signal.SIGINT, lambda *_: None),
            signal.SIGTERM: signal.signal(signal.SIGTERM, self._terminate),
        }
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def pass_on_to(self, process: subprocess.Popen[bytes]) -> None:
        """The executable runs."""
        self._process = process
        if self._terminated:
            process.terminate()

    def _terminate(self, *_: object) -> None:
        self._terminated = True
        if self._process is not None:
            self._process.terminate()


VERBS = {
    "run": Verb(
        _run_executable,
        Argument("--prefix", help="Command to put before the executable (e.g. 'gdb -ex run --args')"),
        Argument("package_name", help="Package that has the executable"),
        Argument("executable_name", help="Name of the executable"),
        Argument("argv", nargs=argparse.REMAINDER, help="Whatever the executable is to be given"),
    )
}
