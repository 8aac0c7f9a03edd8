"""Results as JUnit XML."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Any

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Kind of outcome in unittest, and the element it becomes.
_OUTCOMES = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def unittestResultsToXml(
    *, name: str = "launch_test", test_results: Mapping[str, Any] | None = None
) -> ET.ElementTree[ET.Element]:
    """Make a document of results by suite name; a result is one of launch_testing.test_result."""
    suites = [unittestResultToXml(suite, result) for suite, result in (test_results or {}).items()]
    root = ET.Element("testsuites", name=name)
    for total in ("tests", "failures", "errors"):
        root.set(total, str(sum(int(suite.attrib[total]) for suite in suites)))
    root.set("time", _seconds(sum(float(suite.attrib["time"]) for suite in suites)))
    root.extend(suites)
    return ET.ElementTree(root)


def unittestResultToXml(name: str, test_result: Any) -> ET.Element:
    """Make the element of one suite."""
    suite = ET.Element("testsuite", name=name, tests=str(test_result.testsRun))
    for kind in _OUTCOMES:
        suite.set(kind, str(len(getattr(test_result, kind))))
    suite.set("time", _seconds(sum(test_result.testTimes.values())))
    cases = list(test_result.testCases)
    suite.extend(unittestCaseToXml(test_result, case) for case in cases)
    # A failing setUpClass belongs to no test, yet must not get lost.
    for kind, tag in _OUTCOMES.items():
        for origin, text in getattr(test_result, kind):
            if _case_of(origin) not in cases:
                element = ET.SubElement(suite, "testcase", classname=name, name=str(origin), time="0")
                element.append(_outcome(tag, text))
    return suite


def unittestCaseToXml(test_result: Any, test_case: Any) -> ET.Element:
    """Make the element of one test."""
    class_name = f"{type(test_case).__module__}.{type(test_case).__qualname__}"
    element = ET.Element(
        "testcase",
        classname=class_name,
        name=test_case.id().removeprefix(f"{class_name}."),
        time=_seconds(test_result.testTimes.get(test_case, 0.0)),
    )
    for kind, tag in _OUTCOMES.items():
        for origin, text in getattr(test_result, kind):
            if _case_of(origin) == test_case:
                element.append(_outcome(tag, text))
    return element


def _case_of(origin: Any) -> Any:
    """The test that an outcome belongs to: itself, or for a subtest the test around it."""
    return getattr(origin, "test_case", origin)


def _outcome(tag: str, text: str) -> ET.Element:
    legal = _NOT_IN_XML.sub("?", text)
    element = ET.Element(tag, message=legal)
    element.text = legal
    return element


def _seconds(duration: float) -> str:
    return str(round(duration, 3))
