"""From a module with generate_test_description to test runs."""

from __future__ import annotations

import inspect
import unittest
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from launch import LaunchDescription, LaunchDescriptionEntity

from .actions import ReadyToTest
from .binding import bound_class
from .decorator import POST_SHUTDOWN
from .markers import MARKERS
from .parametrize import PARAMETRIZED
from .ready_to_test_action_timeout import DEFAULT_READY_TIMEOUT_S, READY_TIMEOUT

TestClass = type[unittest.TestCase]
_LOADER = unittest.TestLoader()


class TestRun:
    """One launch and the tests that belong to it."""

    __test__ = False

    def __init__(
        self,
        name: str,
        test_description_function: Callable[..., Any],
        param_args: Mapping[str, Any],
        pre_shutdown_tests: Iterable[TestClass],
        post_shutdown_tests: Iterable[TestClass],
    ) -> None:
        """Keep what a run needs; the description is generated when the run begins."""
        self.name = name
        self.test_description_function = test_description_function
        self.param_args = dict(param_args)
        self.pre_shutdown_tests = list(pre_shutdown_tests)
        self.post_shutdown_tests = list(post_shutdown_tests)
        self.timeout: float = getattr(test_description_function, READY_TIMEOUT, DEFAULT_READY_TIMEOUT_S)
        self.markers: dict[str, Any] = getattr(test_description_function, MARKERS, {})

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
        return description, {**context, **self.param_args}

    def get_launch_description(self) -> LaunchDescription:
        """Generate the launch description alone."""
        return self.normalized_test_description(ready_fn=lambda: None)[0]

    def all_cases(self) -> Iterator[unittest.TestCase]:
        """Yield all tests of the run, for reporting only: they have no arguments bound."""
        for test_class in (*self.pre_shutdown_tests, *self.post_shutdown_tests):
            for name in _LOADER.getTestCaseNames(test_class):
                yield test_class(name)

    def __str__(self) -> str:
        parameters = ", ".join(f"{name}={value}" for name, value in self.param_args.items())
        return f"{self.name}[{parameters}]" if parameters else self.name


def LoadTestsFromPythonModule(module: ModuleType, *, name: str = "launch_tests") -> list[TestRun]:
    """List the test runs of a module: one, or for a parametrized description one per set of values."""
    if hasattr(module, "load_tests"):
        raise NotImplementedError(
            f"{module.__name__}.load_tests: unittest's load_tests protocol is not covered by this launch_testing"
        )
    entrypoint = module.generate_test_description
    classes = _test_classes(module)
    after = [test_class for test_class in classes if getattr(test_class, POST_SHUTDOWN, False)]
    before = [test_class for test_class in classes if test_class not in after]
    runs = []
    for function, parameters in _expanded(entrypoint):
        run = TestRun(name, function, parameters, before, after)
        run.timeout = getattr(entrypoint, READY_TIMEOUT, run.timeout)
        run.markers = {**run.markers, **getattr(entrypoint, MARKERS, {})}
        runs.append(run)
    return runs


def suite_of(test_classes: Iterable[TestClass], values: Mapping[str, Any]) -> unittest.TestSuite:
    """Build the suite of some test classes, with `values` bound to the tests that name them."""
    return unittest.TestSuite(
        _LOADER.loadTestsFromTestCase(bound_class(test_class, values)) for test_class in test_classes
    )


def skip_reason(entrypoint: Callable[..., Any]) -> str | None:
    """Return why unittest.skip was put on a description, None if it was not."""
    if not getattr(entrypoint, "__unittest_skip__", False):
        return None
    return str(getattr(entrypoint, "__unittest_skip_why__", ""))


def _expanded(entrypoint: Callable[..., Any]) -> Iterable[tuple[Callable[..., Any], Mapping[str, Any]]]:
    if getattr(entrypoint, PARAMETRIZED, False) and skip_reason(entrypoint) is None:
        pairs: Iterable[tuple[Callable[..., Any], Mapping[str, Any]]] = entrypoint()
        return pairs
    return [(entrypoint, {})]


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
