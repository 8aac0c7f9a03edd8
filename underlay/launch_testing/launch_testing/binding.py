"""Handing proc_info, proc_output and the test context to tests, by name."""

from __future__ import annotations

import functools
import inspect
import unittest
from collections.abc import Callable, Mapping
from typing import Any

_LOADER = unittest.TestLoader()
# By this name unittest knows the frames that it leaves out of tracebacks.
__unittest = True


def bound_class(test_class: type[unittest.TestCase], values: Mapping[str, Any]) -> type[unittest.TestCase]:
    """Derive a test class whose tests and fixtures get the arguments that they name out of `values`.

    The values are attributes too, where the class has none of that name. A class of its own for each run, so that
    the runs of a parametrized test do not see each other's values.
    """
    namespace: dict[str, Any] = {
        "__module__": test_class.__module__,
        "__qualname__": test_class.__qualname__,
        "__doc__": test_class.__doc__,
    }
    namespace.update((name, value) for name, value in values.items() if not hasattr(test_class, name))
    for name in (*_LOADER.getTestCaseNames(test_class), "setUp", "tearDown"):
        function = getattr(test_class, name)
        if wanted := _wanted(function, values):
            namespace[name] = _with_arguments(function, wanted)
    for name in ("setUpClass", "tearDownClass"):
        function = getattr(test_class, name).__func__
        if wanted := _wanted(function, values):
            namespace[name] = classmethod(_with_arguments(function, wanted))
    return type(test_class.__name__, (test_class,), namespace)


def _wanted(function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    names = list(inspect.signature(function).parameters)[1:]
    return {name: values[name] for name in names if name in values}


def _with_arguments(function: Callable[..., Any], arguments: dict[str, Any]) -> Callable[..., Any]:
    # A plain wrapper would hide from unittest that a test is a coroutine, which would then never run.
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def call_async(first: Any, *args: Any, **kwargs: Any) -> Any:
            return await function(first, *args, **{**arguments, **kwargs})

        return call_async

    @functools.wraps(function)
    def call(first: Any, *args: Any, **kwargs: Any) -> Any:
        return function(first, *args, **{**arguments, **kwargs})

    return call
