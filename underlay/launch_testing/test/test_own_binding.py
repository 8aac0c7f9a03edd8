"""How the stand-in hands values to tests, by its own functions."""

import unittest

from launch_testing.binding import bound_class
from launch_testing.loader import suite_of


def outcomes(test_class, **values):
    """Run a test class with values to bind; the names of the tests that did not pass."""
    result = unittest.TestResult()
    suite_of([test_class], values).run(result)
    assert result.testsRun > 0
    return [f"{test}: {text}" for test, text in result.failures + result.errors]


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
