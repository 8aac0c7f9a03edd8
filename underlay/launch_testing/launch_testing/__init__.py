"""Tests of launched processes: stand-in for upstream's launch_testing."""

from typing import TYPE_CHECKING

from . import actions, asserts, markers, util
from ._not_covered import refuse
from .io_handler import ActiveIoHandler, IoHandler
from .markers import post_shutdown_test
from .proc_info_handler import ActiveProcInfoHandler, ProcInfoHandler

__all__ = [
    "ActiveIoHandler",
    "ActiveProcInfoHandler",
    "IoHandler",
    "ProcInfoHandler",
    "actions",
    "asserts",
    "markers",
    "post_shutdown_test",
    "util",
]

if not TYPE_CHECKING:
    __getattr__ = refuse(__name__, "ReadyAggregator event_handlers parametrize ready_to_test_action_timeout tools")
