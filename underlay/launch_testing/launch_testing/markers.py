"""Markers for test descriptions."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from launch._coverage import refusal

__all__ = ["keep_alive"]

if not TYPE_CHECKING:
    __getattr__ = refusal(__name__, "retry_on_failure")

MARKERS = "__markers__"
POST_SHUTDOWN = "__post_shutdown_test__"
Description = TypeVar("Description", bound=Callable[..., Any])
TestClass = TypeVar("TestClass", bound=type[unittest.TestCase])


def keep_alive(test_description: Description) -> Description:
    """Keep the launch running until the tests are done, even when every process has ended."""
    markers = {**getattr(test_description, MARKERS, {}), "keep_alive": True}
    setattr(test_description, MARKERS, markers)
    return test_description


def post_shutdown_test() -> Callable[[TestClass], TestClass]:
    """Mark a TestCase class to run once all launched processes have ended."""

    def mark(test_class: TestClass) -> TestClass:
        setattr(test_class, POST_SHUTDOWN, True)
        return test_class

    return mark
