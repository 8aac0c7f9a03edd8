"""From a test module to runs: decorators, parameters, what tests are handed."""

import importlib
import types
import unittest

import pytest

import launch_testing
from launch import LaunchDescription
from launch.actions import GroupAction, LogInfo, RegisterEventHandler, TimerAction
from launch.event_handlers import OnProcessExit
from launch_testing.actions import ReadyToTest
from launch_testing.loader import LoadTestsFromPythonModule


def ready():
    return LaunchDescription([ReadyToTest()])


@pytest.mark.stand_in("upstream keeps suites of them")
def test_test_classes_are_sorted_into_before_and_after_the_shutdown():
    class Before(unittest.TestCase):
        def test_a(self):
            """Never run."""

    @launch_testing.post_shutdown_test()
    class After(unittest.TestCase):
        def test_b(self):
            """Never run."""

    module = types.ModuleType("tests")
    names = {"Before": Before, "After": After, "Again": After, "TestCase": unittest.TestCase}
    vars(module).update(generate_test_description=ready, **names)
    (run,) = LoadTestsFromPythonModule(module)
    assert (run.pre_shutdown_tests, run.post_shutdown_tests) == ([Before], [After])
    assert [case.id().rpartition(".")[2] for case in run.all_cases()] == ["test_a", "test_b"]


@pytest.mark.parametrize(
    "around",
    [
        lambda action: action,
        lambda action: TimerAction(period=1.0, actions=[LogInfo(msg="soon"), action]),
        lambda action: GroupAction([TimerAction(period=1.0, actions=[action])]),
        lambda action: RegisterEventHandler(OnProcessExit(on_exit=[action])),
    ],
)
def test_ready_to_test_is_found_wherever_it_is(load, around):
    called = []
    action = ReadyToTest()
    (run,) = load(lambda: LaunchDescription([around(action)]))
    run.normalized_test_description(ready_fn=lambda: called.append(True))
    action.execute(None)
    assert called == [True]


FINDS_NONE = pytest.mark.stand_in("upstream takes it for a description, and raises an AttributeError")


@pytest.mark.parametrize(
    "described", [LaunchDescription([]), *(pytest.param(nothing, marks=FINDS_NONE) for nothing in (None, (None, {})))]
)
def test_a_description_without_ready_to_test_is_refused(load, described):
    (run,) = load(lambda: described)
    with pytest.raises(Exception, match="containing a ReadyToTest action"):
        run.normalized_test_description(ready_fn=lambda: None)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("launch_testing", "parametrize"),
        ("launch_testing.actions", "GTest"),
        ("launch_testing.asserts", "assertSequentialStdout"),
        ("launch_testing.markers", "retry_on_failure"),
    ],
)
@pytest.mark.stand_in("upstream has them")
def test_parts_that_are_left_out_say_so(module, name):
    with pytest.raises(ImportError, match=rf"{module}.{name} .* does not cover"):
        getattr(importlib.import_module(module), name)
