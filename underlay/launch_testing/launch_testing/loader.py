"""From a module with generate_test_description to a test run, with what its tests are handed."""

from __future__ import annotations

import functools
import inspect
import unittest
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from launch import LaunchDescription, LaunchDescriptionEntity

from .actions import ReadyToTest
from .markers import MARKERS, POST_SHUTDOWN

TestClass = type[unittest.TestCase]
_LOADER = unittest.TestLoader()
# By this name unittest knows the frames that it leaves out of tracebacks.
__unittest = True


class TestRun:
    """One launch and the tests that belong to it; the description is generated when the run begins."""

    __test__ = False

    def __init__(self, name: str, module: ModuleType) -> None:
        """Find the tests of a module."""
        if hasattr(module, "load_tests"):
            raise NotImplementedError(
                f"{module.__name__}.load_tests: unittest's load_tests protocol is not covered by this launch_testing"
            )
        self.name = name
        self.test_description_function = module.generate_test_description
        for parameter in inspect.signature(self.test_description_function).parameters:
            raise ValueError(f"generate_test_description has unexpected extra argument {parameter!r}")
        classes = _test_classes(module)
        self.post_shutdown_tests = [each for each in classes if getattr(each, POST_SHUTDOWN, False)]
        self.pre_shutdown_tests = [each for each in classes if each not in self.post_shutdown_tests]
        self.markers: dict[str, Any] = getattr(self.test_description_function, MARKERS, {})

    def normalized_test_description(self, ready_fn: Callable[[], object]) -> tuple[LaunchDescription, dict[str, Any]]:
        """Generate the launch description and the test context; `ready_fn` will be called by ReadyToTest."""
        result = self.test_description_function()
        description, context = result if isinstance(result, tuple) else (result, {})
        ready_actions = list(_ready_actions([description])) if isinstance(description, LaunchDescription) else []
        if not ready_actions:
            raise ValueError(
                "generate_test_description must return a LaunchDescription containing a ReadyToTest action, "
                "or a tuple of that and a dictionary"
            )
        for action in ready_actions:
            action._add_callback(ready_fn)
        return description, context

    def all_cases(self) -> Iterator[unittest.TestCase]:
        """Yield all tests of the run, for reporting only: they have no arguments bound."""
        for test_class in (*self.pre_shutdown_tests, *self.post_shutdown_tests):
            for name in _LOADER.getTestCaseNames(test_class):
                yield test_class(name)


def LoadTestsFromPythonModule(module: ModuleType, *, name: str = "launch_tests") -> list[TestRun]:
    """List the test runs of a module: one."""
    return [TestRun(name, module)]


def suite_of(test_classes: Iterable[TestClass], values: Mapping[str, Any]) -> unittest.TestSuite:
    """Build the suite of some test classes, with `values` bound to the tests and fixtures that name them."""
    bound = (_bound_class(test_class, values) for test_class in test_classes)
    return unittest.TestSuite(map(_LOADER.loadTestsFromTestCase, bound))


def _bound_class(test_class: TestClass, values: Mapping[str, Any]) -> TestClass:
    namespace: dict[str, Any] = {"__module__": test_class.__module__, "__qualname__": test_class.__qualname__}
    for name in (*_LOADER.getTestCaseNames(test_class), "setUp", "tearDown"):
        function = getattr(test_class, name)
        names = list(inspect.signature(function).parameters)[1:]
        if arguments := {name: values[name] for name in names if name in values}:
            namespace[name] = _with_arguments(function, arguments)
    return type(test_class.__name__, (test_class,), namespace)


def _with_arguments(function: Callable[..., Any], arguments: dict[str, Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(self: Any) -> Any:
        return function(self, **arguments)

    return call


def _test_classes(module: ModuleType) -> list[TestClass]:
    own = (unittest.TestCase, unittest.FunctionTestCase, unittest.IsolatedAsyncioTestCase)
    members = [value for _, value in sorted(vars(module).items()) if inspect.isclass(value) and value not in own]
    # A class can have two names in a module.
    return list(dict.fromkeys(value for value in members if issubclass(value, unittest.TestCase)))


def _ready_actions(entities: Iterable[LaunchDescriptionEntity]) -> Iterator[ReadyToTest]:
    for entity in entities:
        if isinstance(entity, ReadyToTest):
            yield entity
        yield from _ready_actions(entity.describe_sub_entities())
        for _, conditional in entity.describe_conditional_sub_entities():
            yield from _ready_actions(conditional)
