"""Markers for test descriptions and for single tests."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

MARKERS = "__markers__"
Description = TypeVar("Description", bound=Callable[..., Any])
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def keep_alive(test_description: Description) -> Description:
    """Keep the launch running until the tests are done, even when every process has ended."""
    markers = {**getattr(test_description, MARKERS, {}), "keep_alive": True}
    setattr(test_description, MARKERS, markers)
    return test_description


def retry_on_failure(
    *, times: int, delay: float | None = None
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Run a test up to `times` times until it no longer fails an assertion, pausing `delay` seconds in between."""
    if times < 1:
        raise ValueError(f"times must be at least 1, got {times}")

    def decorate(test: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @functools.wraps(test)
        def attempt(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            for _ in range(times - 1):
                try:
                    return test(*args, **kwargs)
                except AssertionError:
                    time.sleep(delay or 0)
            return test(*args, **kwargs)

        return attempt

    return decorate
