"""Helpers for test descriptions and for looking up processes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol, TypeAlias

from launch import Action
from launch.actions import ExecuteProcess

__all__ = ["NO_CMD_ARGS", "KeepAliveProc", "NoMatchingProcessException", "resolveProcesses"]

NO_CMD_ARGS: Final = object()
"""Pass it as `cmd_args` to match only a process that was started without arguments."""

ProcessRef: TypeAlias = Action | str | None


class NoMatchingProcessException(Exception):
    """Nothing was recorded for the process asked for."""


class ProcessRecord(Protocol):
    """What proc_info and proc_output have in common."""

    def processes(self) -> Iterable[Any]:
        """Actions of the recorded processes."""


def process_name(action: Any) -> str:
    """Name of the process of an action, as launch numbers it."""
    details = getattr(action, "process_details", None)
    return str(details["name"]) if details else "Unknown - process not launched yet"


def resolveProcesses(
    info_obj: ProcessRecord,
    *,
    process: ProcessRef = None,
    cmd_args: Any = None,
    strict_proc_matching: bool = True,
) -> list[Any]:
    """List the recorded actions that `process` refers to.

    Args:
        info_obj: proc_info or proc_output.
        process: the action itself, or a part of the process's name; None or "" for all processes.
        cmd_args: with a name, one argument or a list of them, all of which the command must hold; or NO_CMD_ARGS.
        strict_proc_matching: whether more than one match of a name is an error.

    Raises:
        NoMatchingProcessException: nothing is recorded for it.
    """
    recorded = list(info_obj.processes())
    if process is None or process == "":
        if not recorded:
            raise NoMatchingProcessException("No data recorded for any process")
        return recorded
    if isinstance(process, str):
        return _by_name(recorded, process, cmd_args, strict_proc_matching)
    if not isinstance(process, Action):
        raise TypeError(f"process must be the action that starts it or a part of its name, not {type(process)}")
    if process not in recorded:
        raise NoMatchingProcessException(f"No data recorded for process {process_name(process)!r}")
    return [process]


def _by_name(recorded: Sequence[Any], name: str, cmd_args: Any, strict: bool) -> list[Any]:
    found = [action for action in recorded if name in process_name(action) and _has_arguments(action, cmd_args)]
    wanted = f"processes matching name {name!r}" + ("" if cmd_args is None else f" and cmd_args {cmd_args!r}")
    if not found:
        names = ", ".join(map(process_name, recorded)) or "none"
        raise NoMatchingProcessException(f"Did not find any {wanted}. Processes: {names}")
    if strict and len(found) > 1:
        names = ", ".join(map(process_name, found))
        raise LookupError(f"Found multiple {wanted}: {names}")
    return found


def _has_arguments(action: Any, cmd_args: Any) -> bool:
    if cmd_args is None:
        return True
    arguments = action.process_details["cmd"][1:]
    if cmd_args is NO_CMD_ARGS:
        return not arguments
    wanted = [cmd_args] if isinstance(cmd_args, str) else cmd_args
    return all(argument in arguments for argument in wanted)


# SIGINT must end it with exit code 0. That holds once the interpreter is up, which -I and -S hasten.
_SCRIPT = """
import signal, sys
signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
while True:
    signal.pause()
"""


def KeepAliveProc() -> ExecuteProcess:
    """Make an action that idles until the launch shuts down.

    A launch ends by itself when its last process ends. Where all processes under test end on their own, this one
    keeps the launch running while the tests look at them.
    """
    return ExecuteProcess(cmd=[sys.executable, "-I", "-S", "-c", _SCRIPT])
