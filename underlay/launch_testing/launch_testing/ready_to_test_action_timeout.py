"""The decorator that sets how long the tests wait for ReadyToTest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

READY_TIMEOUT = "__ready_to_test_action_timeout__"
DEFAULT_READY_TIMEOUT_S = 15.0
Function = TypeVar("Function", bound=Callable[..., Any])


def ready_to_test_action_timeout(timeout: float) -> Callable[[Function], Function]:
    """Give the launch `timeout` seconds, instead of 15, to reach its ReadyToTest action."""

    def mark(test_description: Function) -> Function:
        setattr(test_description, READY_TIMEOUT, timeout)
        return test_description

    return mark
