"""The pytest plugin that runs a launch test file as one test item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ..loader import LoadTestsFromPythonModule, TestRun
from ..test_result import SkipResult
from ..test_runner import LaunchTestRunner
from . import hookspecs
from .failure import LaunchTestFailure

ENTRYPOINT = "generate_test_description"


class LaunchTestItem(pytest.Item):
    """All test runs of one launch test file."""

    def __init__(
        self,
        *,
        test_runs: list[TestRun],
        runner_cls: type[LaunchTestRunner] = LaunchTestRunner,
        **kwargs: Any,
    ) -> None:
        """Run `test_runs` by a runner of class `runner_cls`; made by from_parent."""
        super().__init__(**kwargs)
        self.test_runs = test_runs
        self.runner_cls = runner_cls

    def runtest(self) -> None:
        """Run, and fail if any of the tests did."""
        arguments = [argument for group in self.config.getoption("--launch-args") for argument in group]
        runner = self.runner_cls(self.test_runs, arguments)
        runner.validate()
        results = runner.run()
        if not all(result.wasSuccessful() for result in results.values()):
            raise LaunchTestFailure(results)
        skipped = [result.skipped[0][1] for result in results.values() if isinstance(result, SkipResult)]
        if len(skipped) == len(results):
            pytest.skip("; ".join(skipped))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the failed tests instead of a traceback of the runner."""
        if isinstance(excinfo.value, LaunchTestFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Name the item in reports."""
        return self.path, 0, f"launch tests: {self.name}"


class LaunchTestModule(pytest.Module):
    """A file with a launch test."""

    def makeitem(self, **kwargs: Any) -> LaunchTestItem:
        """Make the item of the file; for subclasses."""
        return LaunchTestItem.from_parent(self, **kwargs)

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Yield the one item; the file's TestCase classes are not collected by themselves."""
        name = self.path.stem
        item = self.makeitem(name=name, test_runs=LoadTestsFromPythonModule(self.obj, name=name))
        for mark in getattr(getattr(self.obj, ENTRYPOINT), "pytestmark", ()):
            item.add_marker(getattr(pytest.mark, mark.name).with_args(*mark.args, **mark.kwargs))
        yield item


class _Candidate(pytest.Module):
    """A file that may hold a launch test, which only its import will tell.

    The import waits for collect(), where pytest reports a failure as one of this file. A failed import must not be
    tried twice: pytest would take the half-imported module for a good one.
    """

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Let a plugin claim the file, or else collect it as any module."""
        entrypoint = getattr(self.obj, ENTRYPOINT, None)
        if entrypoint is None:
            return super().collect()
        claimed: pytest.Collector | None = self.ihook.pytest_launch_collect_makemodule(
            path=self.path, parent=self.parent, entrypoint=entrypoint
        )
        return super().collect() if claimed is None else claimed.collect()


def has_mark(entrypoint: Callable[..., Any], name: str) -> bool:
    """Tell whether a function has the pytest mark of that name."""
    return any(mark.name == name for mark in getattr(entrypoint, "pytestmark", ()))


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Look closer at the files that mention generate_test_description."""
    if ENTRYPOINT not in module_path.read_text(encoding="utf-8", errors="replace"):
        return None
    return _Candidate.from_parent(parent, path=module_path)


@pytest.hookimpl(trylast=True)
def pytest_launch_collect_makemodule(
    path: Path, parent: pytest.Collector, entrypoint: Callable[..., Any]
) -> pytest.Collector | None:
    """Claim the files whose generate_test_description is marked by pytest.mark.launch_test."""
    return LaunchTestModule.from_parent(parent, path=path) if has_mark(entrypoint, "launch_test") else None


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Make pytest_launch_collect_makemodule known."""
    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --launch-args."""
    parser.addoption(
        "--launch-args",
        action="append",
        nargs="*",
        default=[],
        help="launch arguments of launch tests, in the form name:=value",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line(
        "markers", "launch_test: the generate_test_description function of a launch test, run as one test with its file"
    )
