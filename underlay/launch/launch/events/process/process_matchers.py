"""Matchers for the events that ask something of a process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...actions.execute_local import ExecuteLocal


def matches_pid(pid: int) -> Callable[[ExecuteLocal], bool]:
    """Accept the process with that id."""
    return lambda action: action.process_details is not None and action.process_details.get("pid") == pid


def matches_name(name: str) -> Callable[[ExecuteLocal], bool]:
    """Accept the process with that name, number included, as in ``talker-1``."""
    return lambda action: action.process_details is not None and action.process_details["name"] == name


def matches_executable(executable: str) -> Callable[[ExecuteLocal], bool]:
    """Accept the processes whose executable's path ends so."""
    return lambda action: action.process_details is not None and action.process_details["cmd"][0].endswith(executable)
