"""Events of processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._coverage import refusal
from .process_matchers import matches_executable, matches_name, matches_pid
from .process_targeted_event import ProcessTargetedEvent, ShutdownProcess, SignalProcess
from .running_process_event import (
    ProcessExited,
    ProcessIO,
    ProcessStarted,
    ProcessStderr,
    ProcessStdout,
    RunningProcessEvent,
)

__all__ = [
    "ProcessExited",
    "ProcessIO",
    "ProcessStarted",
    "ProcessStderr",
    "ProcessStdout",
    "ProcessTargetedEvent",
    "RunningProcessEvent",
    "ShutdownProcess",
    "SignalProcess",
    "matches_executable",
    "matches_name",
    "matches_pid",
]

if not TYPE_CHECKING:
    __getattr__ = refusal(__name__, ("ProcessStdin",))
