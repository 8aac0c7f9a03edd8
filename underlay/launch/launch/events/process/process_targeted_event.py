"""Events that ask something of a process."""

from __future__ import annotations

import signal as signals
from collections.abc import Callable
from typing import Any

from ...event import Event
from ...utilities import ensure_argument_type


class ProcessTargetedEvent(Event):
    """Something shall be done to the processes that a matcher accepts."""

    name = "launch.events.process.ProcessTargetedEvent"

    def __init__(self, *, process_matcher: Callable[[Any], bool]) -> None:
        """Ask it of the actions for which `process_matcher` is true."""
        self.__process_matcher = process_matcher

    @property
    def process_matcher(self) -> Callable[[Any], bool]:
        """The matcher: from an action that runs a process to whether it is meant."""
        return self.__process_matcher


class ShutdownProcess(ProcessTargetedEvent):
    """A process shall end: by SIGINT, then SIGTERM, then SIGKILL."""

    name = "launch.events.process.ShutdownProcess"


class SignalProcess(ProcessTargetedEvent):
    """A signal shall be sent to a process."""

    name = "launch.events.process.SignalProcess"

    def __init__(self, *, signal_number: str | signals.Signals, process_matcher: Callable[[Any], bool]) -> None:
        """Send `signal_number`, a member of signal.Signals or the text 'SIGKILL'."""
        super().__init__(process_matcher=process_matcher)
        ensure_argument_type(signal_number, (str, signals.Signals), "signal_number", "SignalProcess")
        if isinstance(signal_number, str) and signal_number != "SIGKILL":
            raise ValueError(f"'{signal_number}' is no signal: use a member of signal.Signals, or the text 'SIGKILL'")
        self.__signal = signal_number

    @property
    def signal(self) -> str | signals.Signals:
        """The signal as it was given."""
        return self.__signal

    @property
    def signal_name(self) -> str:
        """The name of the signal, as in ``SIGINT``."""
        return self.__signal if isinstance(self.__signal, str) else self.__signal.name
