"""Tests of launched processes: stand-in for upstream's launch_testing."""

from typing import TYPE_CHECKING

from launch._coverage import refusal

from . import actions, asserts, markers, util
from .markers import post_shutdown_test

__all__ = ["actions", "asserts", "markers", "post_shutdown_test", "util"]

if not TYPE_CHECKING:
    __getattr__ = refusal(
        __name__,
        "ActiveIoHandler ActiveProcInfoHandler IoHandler ProcInfoHandler ReadyAggregator event_handlers parametrize "
        "ready_to_test_action_timeout tools",
    )
