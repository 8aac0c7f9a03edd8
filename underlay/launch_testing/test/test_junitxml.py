"""Results as JUnit XML."""

import io
import unittest
import xml.etree.ElementTree as ET

import pytest

from launch import LaunchDescription
from launch_testing import test_result as results
from launch_testing.junitxml import unittestResultsToXml


def written(**by_name):
    """What a reader of the file gets."""
    stream = io.BytesIO()
    unittestResultsToXml(name="all", test_results=by_name).write(stream, encoding="utf-8", xml_declaration=True)
    return ET.fromstring(stream.getvalue())


def text_of(told):
    """What is told of a failure: as text, or as upstream by an attribute."""
    return told.text or told.get("message")


@pytest.fixture
def run_of():
    """Run test functions and return the result."""

    def run(**tests):
        test_class = type("Tests", (unittest.TestCase,), {"__qualname__": "Tests", "__module__": "package", **tests})
        runner = unittest.TextTestRunner(stream=io.StringIO(), resultclass=results.TestResult)
        return runner.run(unittest.defaultTestLoader.loadTestsFromTestCase(test_class))

    return run


@pytest.fixture
def whole_run(load):
    (run,) = load(lambda: LaunchDescription([]), active=[_test_one], after=[_test_two])
    return run


def _test_one(self):
    """Stands for a test."""


def _test_two(self):
    """Stands for a test."""


_test_one.__name__, _test_two.__name__ = "test_one", "test_two"


def test_kinds_of_outcomes_are_counted_and_told(run_of):
    def fail(self):
        self.assertEqual(1, 2)

    def error(self):
        raise OSError("broken")

    def skip(self):
        self.skipTest("not now")

    root = written(run=run_of(test_a=lambda self: None, test_b=fail, test_c=error, test_d=skip))
    assert {name: root.get(name) for name in ("name", "tests", "failures", "errors")} == {
        "name": "all",
        "tests": "4",
        "failures": "1",
        "errors": "1",
    }
    suite = root.find("testsuite")
    assert suite.get("skipped") == "1"
    cases = {case.get("name"): case for case in suite}
    assert list(cases) == ["test_a", "test_b", "test_c", "test_d"]
    assert {case.get("classname") for case in suite} == {"package.Tests"}
    assert len(cases["test_a"]) == 0
    assert "1 != 2" in cases["test_b"].find("failure").get("message")
    assert "broken" in text_of(cases["test_c"].find("error"))
    assert cases["test_d"].find("skipped").get("message") == "not now"


@pytest.mark.stand_in("upstream writes a file that is no XML")
def test_what_xml_cannot_hold_is_replaced(run_of):
    def error(self):
        raise OSError("broken \x1b[31m")

    (case,) = written(run=run_of(test_a=error)).iter("testcase")
    assert "broken ?[31m" in case.find("error").text


@pytest.mark.stand_in("upstream tells of no failure there")
def test_a_failing_subtest_fails_its_test(run_of):
    def parts(self):
        for n in (1, 2):
            with self.subTest(n=n):
                self.assertEqual(n, 1)

    (case,) = written(run=run_of(test_parts=parts)).iter("testcase")
    assert "2 != 1" in case.find("failure").text


@pytest.mark.stand_in("upstream loses it")
def test_a_failing_set_up_of_the_class_is_not_lost(run_of):
    @classmethod
    def broken(cls):
        raise OSError("no ground")

    (case,) = written(run=run_of(setUpClass=broken, test_a=lambda self: None)).iter("testcase")
    assert "setUpClass" in case.get("name")
    assert "no ground" in case.find("error").text


def test_a_failed_launch_fails_every_test(whole_run):
    root = written(run=results.FailResult(whole_run, "launch died"))
    assert root.get("failures") == "2"
    assert ["launch died" in text_of(case.find("failure")) for case in root.iter("testcase")] == [True] * 2


@pytest.mark.stand_in("upstream counts tests alone")
def test_a_failed_launch_without_tests_still_counts(load):
    (run,) = load(lambda: LaunchDescription([]))
    result = results.FailResult(run, "launch died")
    assert not result.wasSuccessful()
    assert written(run=result).get("failures") == "1"


def test_a_skipped_launch_skips_every_test(whole_run):
    result = results.SkipResult(whole_run, "no hardware")
    assert result.wasSuccessful()
    suite = written(run=result).find("testsuite")
    assert (suite.get("tests"), suite.get("skipped"), suite.get("failures")) == ("2", "2", "0")
    assert {case.find("skipped").get("message") for case in suite} == {"no hardware"}


def test_results_are_appended(run_of):
    def fail(self):
        self.fail("second")

    result = run_of(test_a=lambda self: None)
    result.append(run_of(test_b=fail))
    assert not result.wasSuccessful()
    root = written(run=result)
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
