"""Every test run talks to itself alone: its own ROS domain on this machine, logs, caches; and finds itself soon."""

import importlib.util
import os
import socket
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# Before NumPy loads: tests run side by side on all processors, where threads of one would wait for those of the other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Domains above 101 use ports that Linux may give to any program.
FIRST_DOMAIN, LAST_DOMAIN = 1, 101
LOCK_PORT = 21_400

UNDERLAY = Path(__file__).parent / "underlay"
IMPORTED_AS = {"tf2_ros": "tf2_ros_programs", "tf2_ros_py": "tf2_ros"}  # where it is not the package's own name


def reserve_domain() -> tuple[int, socket.socket]:
    """A domain that no other run on this machine uses, and the socket that holds it for as long as it is open."""
    size = LAST_DOMAIN - FIRST_DOMAIN + 1
    start = os.getpid() * 7
    for attempt in range(size):
        domain = FIRST_DOMAIN + (start + attempt) % size
        lock = socket.socket()
        try:
            lock.bind(("127.0.0.1", LOCK_PORT + domain))
        except OSError:
            lock.close()
        else:
            return domain, lock
    raise RuntimeError("every ROS domain is in use on this machine")


def pytest_configure(config: pytest.Config) -> None:
    settings.register_profile("unhurried", deadline=None)  # speed is no matter of tests, on a busy machine least of all
    settings.load_profile("unhurried")
    domain, lock = reserve_domain()
    logs = tempfile.TemporaryDirectory(prefix="fieldplay-log-")
    cache = tempfile.TemporaryDirectory(prefix="fieldplay-cache-")
    os.environ.update(
        ROS_DOMAIN_ID=str(domain),
        ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST",
        ROS_LOG_DIR=logs.name,
        FIELDPLAY_CACHE=cache.name,
        RCUTILS_COLORIZED_OUTPUT="0",
        FASTRTPS_DEFAULT_PROFILES_FILE=str(Path(__file__).parent / "test" / "quick_discovery.xml"),
    )
    config.add_cleanup(lock.close)
    config.add_cleanup(logs.cleanup)
    config.add_cleanup(cache.cleanup)


def pytest_collection(session: pytest.Session) -> None:
    """Of two processes side by side one begins at the end, so that each finds half of the files compiled already."""
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
        session.config.args.reverse()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The same order in all processes, whichever they collected in."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        folders = config.getini("testpaths")
        items.sort(key=lambda item: (*(item.nodeid.startswith(f"{name}/") for name in reversed(folders)), item.path))


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Of the underlay only tests, and only those of stand-ins that are in use: ROS 2 may have the packages itself."""
    if collection_path.parent.parent != UNDERLAY:
        return None
    return collection_path.name != "test" or not is_in_use(collection_path.parent)


def is_in_use(stand_in: Path) -> bool:
    """Whether it is what Python imports."""
    try:
        spec = importlib.util.find_spec(IMPORTED_AS.get(stand_in.name, stand_in.name))
    except ValueError:  # of a module that somebody made by hand
        return False
    return spec is not None and spec.origin is not None and stand_in in Path(spec.origin).resolve().parents
