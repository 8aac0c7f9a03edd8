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
from launch_testing.markers import keep_alive, retry_on_failure
from launch_testing.test_runner import LaunchTestRunner


def ready():
    return LaunchDescription([ReadyToTest()])


def test_parametrize_binds_one_set_of_values_after_the_other():
    @launch_testing.parametrize("a, b", [(1, 2), (3, 4)])
    def describe(a, b, c=0):
        return a, b, c

    assert [(function(c=5), values) for function, values in describe()] == [
        ((1, 2, 5), {"a": 1, "b": 2}),
        ((3, 4, 5), {"a": 3, "b": 4}),
    ]


def test_parametrize_takes_single_values_as_they_are_or_as_tuples():
    @launch_testing.parametrize("a", ["x", ("y",), [1, 2]])
    def describe(a):
        return a

    assert [function() for function, _ in describe()] == ["x", "y", [1, 2]]


@pytest.mark.stand_in("upstream finds out when it runs")
def test_parametrize_refuses_sets_of_another_size():
    with pytest.raises(ValueError, match="numbers differ"):
        launch_testing.parametrize("a, b", [(1, 2), (3,)])


def test_a_parametrized_description_makes_a_run_per_set(load):
    described = load(launch_testing.parametrize("side", ["left", "right"])(lambda side: ready()))
    assert [str(run).replace("side=", "") for run in described] == ["launch_tests[left]", "launch_tests[right]"]


OUTSIDE = pytest.mark.stand_in("upstream passes over markers outside of parametrize")


@pytest.mark.parametrize("outer", [pytest.param(True, marks=OUTSIDE), False])
def test_markers_reach_the_runs_on_either_side_of_parametrize(load, outer):
    def mark(function):
        return launch_testing.ready_to_test_action_timeout(3)(keep_alive(function))

    parametrize = launch_testing.parametrize("n", [1, 2])
    describe = mark(parametrize(lambda n: ready())) if outer else parametrize(mark(lambda n: ready()))
    for run in load(describe):
        assert run.timeout == 3
        assert run.markers["keep_alive"]


def test_without_markers_the_defaults_hold(load):
    (run,) = load(ready)
    assert run.timeout == 15
    assert "keep_alive" not in run.markers


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


@pytest.mark.stand_in("upstream has it")
def test_the_load_tests_protocol_is_refused():
    module = types.ModuleType("tests")
    vars(module).update(generate_test_description=ready, load_tests=lambda *_: None)
    with pytest.raises(NotImplementedError, match=r"tests\.load_tests"):
        LoadTestsFromPythonModule(module)


@pytest.mark.parametrize(
    "around",
    [
        lambda action: action,
        lambda action: TimerAction(period=1.0, actions=[LogInfo(msg="soon"), action]),
        lambda action: GroupAction([TimerAction(period=1.0, actions=[action])]),
        lambda action: RegisterEventHandler(OnProcessExit(on_exit=[action])),
    ],
    ids=["plain", "timer", "nested", "event handler"],
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
    "described",
    [LaunchDescription([]), *(pytest.param(nothing, marks=FINDS_NONE) for nothing in (None, (None, {})))],
)
def test_a_description_without_ready_to_test_is_refused(load, described):
    (run,) = load(lambda: described)
    with pytest.raises(Exception, match="containing a ReadyToTest action"):
        run.normalized_test_description(ready_fn=lambda: None)


@pytest.mark.stand_in("upstream hands them to tests beside it")
def test_parameters_join_the_test_context(load):
    describe = launch_testing.parametrize("n", [7])(lambda n: (ready(), {"double": 2 * n}))
    (run,) = load(describe)
    assert run.normalized_test_description(ready_fn=lambda: None)[1] == {"n": 7, "double": 14}


def test_a_description_with_parameters_of_its_own_is_refused(load):
    with pytest.raises(Exception, match="unexpected extra argument 'ready_fn'"):
        LaunchTestRunner(load(lambda ready_fn: None)).validate()


def test_parametrize_with_a_name_that_the_description_lacks_is_refused(load):
    describe = launch_testing.parametrize("n", [1])(lambda: None)
    with pytest.raises(Exception, match="'n'"):
        LaunchTestRunner(load(describe)).validate()


def result_of(test_class):
    """What comes of the tests of a class."""
    return unittest.defaultTestLoader.loadTestsFromTestCase(test_class).run(unittest.TestResult())


def test_a_test_is_retried_until_it_holds():
    tries = []

    class Tests(unittest.TestCase):
        @retry_on_failure(times=3)
        def test_it(self):
            tries.append(1)
            assert len(tries) == 3

    assert result_of(Tests).wasSuccessful()
    assert len(tries) == 3


def test_retries_end_and_are_for_assertions_only():
    tries = []

    class Tests(unittest.TestCase):
        @retry_on_failure(times=2, delay=0.0)
        def test_that_fails(self):
            tries.append(1)
            raise AssertionError

        @retry_on_failure(times=2)
        def test_that_breaks(self):
            tries.append(1)
            raise OSError

    failed, broken = (Tests(name).run(unittest.TestResult()) for name in ("test_that_fails", "test_that_breaks"))
    assert (len(failed.failures), len(broken.errors)) == (1, 1)
    assert len(tries) == 3
    with pytest.raises((ValueError, AssertionError)):
        retry_on_failure(times=0)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("launch_testing", "ReadyAggregator"),
        ("launch_testing.actions", "GTest"),
        ("launch_testing.tools", "expect_output"),
    ],
)
@pytest.mark.stand_in("upstream has them")
def test_parts_that_are_left_out_say_so(module, name):
    with pytest.raises(ImportError, match=rf"{module}.{name} .* does not cover"):
        getattr(importlib.import_module(module), name)
