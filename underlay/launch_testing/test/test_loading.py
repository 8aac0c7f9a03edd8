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
from launch_testing.binding import bound_class
from launch_testing.loader import LoadTestsFromPythonModule, suite_of
from launch_testing.markers import keep_alive, retry_on_failure
from launch_testing.test_runner import LaunchTestRunner


def ready():
    return LaunchDescription([ReadyToTest()])


def outcomes(test_class, **values):
    """Run a test class with values to bind; the names of the tests that did not pass."""
    result = unittest.TestResult()
    suite_of([test_class], values).run(result)
    assert result.testsRun > 0
    return [f"{test}: {text}" for test, text in result.failures + result.errors]


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


def test_parametrize_refuses_sets_of_another_size():
    with pytest.raises(ValueError, match="numbers differ"):
        launch_testing.parametrize("a, b", [(1, 2), (3,)])


def test_a_parametrized_description_makes_a_run_per_set(load):
    described = load(launch_testing.parametrize("side", ["left", "right"])(lambda side: ready()))
    assert [str(run) for run in described] == ["launch_tests[side=left]", "launch_tests[side=right]"]


@pytest.mark.parametrize("outer", [True, False])
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


@pytest.mark.parametrize("described", [LaunchDescription([]), None, (None, {})])
def test_a_description_without_ready_to_test_is_refused(load, described):
    (run,) = load(lambda: described)
    with pytest.raises(ValueError, match="containing a ReadyToTest action"):
        run.normalized_test_description(ready_fn=lambda: None)


def test_parameters_join_the_test_context(load):
    describe = launch_testing.parametrize("n", [7])(lambda n: (ready(), {"double": 2 * n}))
    (run,) = load(describe)
    assert run.normalized_test_description(ready_fn=lambda: None)[1] == {"n": 7, "double": 14}


def test_a_description_with_parameters_of_its_own_is_refused(load):
    with pytest.raises(ValueError, match="unexpected extra argument 'ready_fn'"):
        LaunchTestRunner(load(lambda ready_fn: None)).validate()


def test_parametrize_with_a_name_that_the_description_lacks_is_refused(load):
    describe = launch_testing.parametrize("n", [1])(lambda: None)
    with pytest.raises(ValueError, match="'n'"):
        LaunchTestRunner(load(describe)).validate()


def test_tests_and_fixtures_get_what_they_name():
    seen = []

    class Tests(unittest.TestCase):
        @classmethod
        def setUpClass(cls, speed):
            seen.append(("class", speed))

        def setUp(self, name):
            seen.append(("set up", name))

        def test_both(self, speed, name):
            seen.append((speed, name, self.speed))

        def test_none(self):
            seen.append("none")

    assert outcomes(Tests, name="n", speed=3) == []
    assert seen == [("class", 3), ("set up", "n"), (3, "n", 3), ("set up", "n"), "none"]


def test_coroutines_are_awaited_with_what_they_name():
    seen = []

    class Tests(unittest.IsolatedAsyncioTestCase):
        async def test_it(self, speed):
            seen.append(speed)

    assert outcomes(Tests, speed=3) == []
    assert seen == [3]


def test_what_nobody_provides_is_an_error_of_the_test():
    class Tests(unittest.TestCase):
        def test_it(self, unheard_of):
            """Never run."""

    (error,) = outcomes(Tests, speed=3)
    assert "unheard_of" in error


def test_values_do_not_replace_attributes_of_the_class():
    class Tests(unittest.TestCase):
        own = "mine"

        def test_it(self, own):
            self.assertEqual((self.own, own, callable(self.id)), ("mine", "theirs", True))

    assert outcomes(Tests, own="theirs", id=0) == []


def test_bound_classes_are_named_as_the_original_and_leave_it_alone():
    class Tests(unittest.TestCase):
        """Own words."""

        @unittest.expectedFailure
        def test_it(self, speed):
            """Told in reports."""
            self.assertEqual(speed, 4)

    bound = bound_class(Tests, {"speed": 3})
    case = bound("test_it")
    assert case.id() == Tests("test_it").id()
    assert case.shortDescription() == "Told in reports."
    assert not hasattr(Tests, "speed")
    assert outcomes(Tests, speed=3) == []


def test_a_test_is_retried_until_it_holds():
    tries = []

    @retry_on_failure(times=3)
    def test():
        tries.append(1)
        assert len(tries) == 3

    test()
    assert len(tries) == 3


def test_retries_end_and_are_for_assertions_only():
    tries = []

    @retry_on_failure(times=2, delay=0.0)
    def fails():
        tries.append(1)
        raise AssertionError

    @retry_on_failure(times=2)
    def breaks():
        tries.append(1)
        raise OSError

    with pytest.raises(AssertionError):
        fails()
    with pytest.raises(OSError):
        breaks()
    assert len(tries) == 3
    with pytest.raises(ValueError, match="at least 1"):
        retry_on_failure(times=0)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("launch_testing", "ReadyAggregator"),
        ("launch_testing.actions", "GTest"),
        ("launch_testing.tools", "expect_output"),
    ],
)
def test_parts_that_are_left_out_say_so(module, name):
    with pytest.raises(ImportError, match=rf"{module}.{name} .* does not cover"):
        getattr(importlib.import_module(module), name)
