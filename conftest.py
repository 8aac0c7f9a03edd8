"""Runs of all tests: how they begin, and in which order."""

import importlib.util
import os
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pytest

from fieldplay_testing import session as test_session
from fieldplay_testing.session import pytest_collection_finish as pytest_collection_finish
from fieldplay_testing.session import pytest_configure as pytest_configure
from fieldplay_testing.session import pytest_terminal_summary as pytest_terminal_summary

# Before NumPy loads: tests run side by side on all processors, where threads of one would wait for those of the other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

UNDERLAY = Path(__file__).parent / "underlay"
WAITING = ("test/launch/", "src/fieldplay_ros/", "underlay/")  # for processes, discovery and the time of playing
IMPORTED_AS = {"tf2_ros": "tf2_ros_programs", "tf2_ros_py": "tf2_ros"}  # where it is not the package's own name


def pytest_addoption(parser: pytest.Parser) -> None:
    """A hook of pytest: the tests of stand-ins can be had on what they stand for."""
    parser.addoption(
        "--on-upstream",
        action="store_true",
        help="of the underlay run what is imported from upstream, without the stand-ins' own ways (marker stand_in)",
    )


def pytest_collection(session: pytest.Session) -> None:
    """Let processes side by side collect other folders first, so that each finds files that are compiled already."""
    args = session.config.args
    shift = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % (len(args) or 1)
    args[:] = args[shift:] + args[:shift]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The same order in all processes, whichever they collected in; on upstream's packages what is asked of both."""
    test_session.pytest_collection_modifyitems(config, items)
    if config.getoption("--on-upstream"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("stand_in")])
        items[:] = [item for item in items if not item.get_closest_marker("stand_in")]
    if "PYTEST_XDIST_WORKER" in os.environ:
        folders = config.getini("testpaths")
        items.sort(key=lambda item: (*(item.nodeid.startswith(f"{name}/") for name in reversed(folders)), item.path))
        items[:] = spread_waiting(items)


def spread_waiting(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Put the files whose tests wait for processes evenly between those that compute: they run side by side then."""
    files = [list(group) for _, group in groupby(items, lambda item: item.path)]
    waiting = [file for file in files if file[0].nodeid.startswith(WAITING)]
    computing = [file for file in files if not file[0].nodeid.startswith(WAITING)]
    step = len(computing) / (len(waiting) or 1)
    places = [(index, file) for index, file in enumerate(computing)]
    places += [(step * index - 0.5, file) for index, file in enumerate(waiting)]
    return [item for _, file in sorted(places, key=lambda place: place[0]) for item in file]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Of the underlay only tests, and only those of stand-ins that are in use, or on upstream those that are not.

    What a file named test_own_* imports is in the stand-in alone.
    """
    if collection_path.name.startswith("test_own_") and UNDERLAY in collection_path.parents:
        return config.getoption("--on-upstream") or None
    if collection_path.parent.parent != UNDERLAY:
        return test_session.pytest_ignore_collect(collection_path)
    return collection_path.name != "test" or is_in_use(collection_path.parent) == config.getoption("--on-upstream")


def is_in_use(stand_in: Path) -> bool:
    """Whether it is what Python imports."""
    try:
        spec = importlib.util.find_spec(IMPORTED_AS.get(stand_in.name, stand_in.name))
    except ValueError:  # of a module that somebody made by hand
        return False
    return spec is not None and spec.origin is not None and stand_in in Path(spec.origin).resolve().parents
