"""Runs of all tests: how they begin, and in which order."""

import importlib.util
import os
from pathlib import Path

import pytest

from fieldplay_testing import session as test_session
from fieldplay_testing.session import pytest_collection_finish as pytest_collection_finish
from fieldplay_testing.session import pytest_configure as pytest_configure
from fieldplay_testing.session import pytest_terminal_summary as pytest_terminal_summary

# Before NumPy loads: tests run side by side on all processors, where threads of one would wait for those of the other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

UNDERLAY = Path(__file__).parent / "underlay"
IMPORTED_AS = {"tf2_ros": "tf2_ros_programs", "tf2_ros_py": "tf2_ros"}  # where it is not the package's own name


def pytest_addoption(parser: pytest.Parser) -> None:
    """A hook of pytest: the tests of stand-ins can be had on what they stand for."""
    parser.addoption(
        "--on-upstream",
        action="store_true",
        help="of the underlay run what is imported from upstream, without the stand-ins' own ways (marker stand_in)",
    )


def pytest_collection(session: pytest.Session) -> None:
    """Of two processes side by side one begins at the end, so that each finds half of the files compiled already."""
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
        session.config.args.reverse()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The same order in all processes, whichever they collected in; on upstream's packages what is asked of both."""
    test_session.pytest_collection_modifyitems(config, items)
    if config.getoption("--on-upstream"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("stand_in")])
        items[:] = [item for item in items if not item.get_closest_marker("stand_in")]
    if "PYTEST_XDIST_WORKER" in os.environ:
        folders = config.getini("testpaths")
        items.sort(key=lambda item: (*(item.nodeid.startswith(f"{name}/") for name in reversed(folders)), item.path))


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
