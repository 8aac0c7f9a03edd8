"""The decorator that moves a test class behind the shutdown."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import TypeVar

POST_SHUTDOWN = "__post_shutdown_test__"
TestClass = TypeVar("TestClass", bound=type[unittest.TestCase])


def post_shutdown_test() -> Callable[[TestClass], TestClass]:
    """Mark a TestCase class to run once all launched processes have ended."""

    def mark(test_class: TestClass) -> TestClass:
        setattr(test_class, POST_SHUTDOWN, True)
        return test_class

    return mark
