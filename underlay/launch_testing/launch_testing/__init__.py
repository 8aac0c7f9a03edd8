"""Tests of launched processes: stand-in for upstream's launch_testing."""

from typing import TYPE_CHECKING

from . import tools
from ._not_covered import refuse
from .decorator import post_shutdown_test
from .io_handler import ActiveIoHandler, IoHandler
from .parametrize import parametrize
from .proc_info_handler import ActiveProcInfoHandler, ProcInfoHandler
from .ready_to_test_action_timeout import ready_to_test_action_timeout

__all__ = [
    "ActiveIoHandler",
    "ActiveProcInfoHandler",
    "IoHandler",
    "ProcInfoHandler",
    "parametrize",
    "post_shutdown_test",
    "ready_to_test_action_timeout",
    "tools",
]

if not TYPE_CHECKING:
    __getattr__ = refuse(__name__, ("ReadyAggregator",))
