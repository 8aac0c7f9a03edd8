"""How a run of tests begins, for the conftest.py of each package and of the workspace.

It talks to itself alone: its own ROS domain on this machine, logs, caches; and finds itself soon.
"""

import gc
import importlib.util
import os
import re
import signal
import socket
import tempfile
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Domains above 101 use ports that Linux may give to any program.
FIRST_DOMAIN, LAST_DOMAIN = 1, 101
LOCK_PORT = 21_400
SHARED_MEMORY, PORT = Path("/dev/shm"), re.compile(r"fast(?:rtps|dds)_port(\d+)")
FIRST_PORT, PORTS_PER_DOMAIN = 7400, 250
STARTED = pytest.StashKey[bool]()
REPORTED = pytest.StashKey[bool]()
COLLECTED_AFTER = (20_000, 20, 20)  # new objects, and collections of the generation before

# What an environment may lack, and the imports of a test file that need it.
OPTIONAL = {
    "rclpy": re.compile(
        r"^(?:import|from) (?:rclpy|\w+_(?:msgs|interfaces)|ament_index_python|launch\w*|tf2_ros|"
        r"campaigns\.day|fieldplay_(?:bringup|ros)|\w+(?:\.\w+)*\.nodes|"
        r"support\.launch\w*)\b",
        re.MULTILINE,
    ),
    "rerun": re.compile(r"^(?:import|from) (?:rerun|fieldplay\.view|support\.rerun_recordings)\b", re.MULTILINE),
    "material": re.compile(r"^(?:import|from) (?:mkdocs|material)\b", re.MULTILINE),
    "distributed": re.compile(r"^(?:import|from) (?:dask|distributed)\b", re.MULTILINE),
}


def reserve_domain() -> tuple[int, socket.socket]:
    """A domain that no other run on this machine uses, and the socket that holds it for as long as it is open.

    One in which programs were killed comes last: they may have left locks in its shared memory, for which others wait.
    """
    size = LAST_DOMAIN - FIRST_DOMAIN + 1
    start = os.getpid() * 7
    domains = [FIRST_DOMAIN + (start + attempt) % size for attempt in range(size)]
    remains = domains_with_remains(path.name for path in SHARED_MEMORY.glob("*_port*"))
    for domain in sorted(domains, key=remains.__contains__):
        lock = socket.socket()
        try:
            lock.bind(("127.0.0.1", LOCK_PORT + domain))
        except OSError:
            lock.close()
        else:
            return domain, lock
    raise RuntimeError("every ROS domain is in use on this machine")


def domains_with_remains(names: Iterable[str]) -> set[int]:
    """The domains whose ports of Fast DDS are among the names of shared memory."""
    ports = [int(match[1]) for match in map(PORT.fullmatch, names) if match]
    return {(port - FIRST_PORT) // PORTS_PER_DOMAIN for port in ports}


def restore_interrupts() -> None:
    """Undo what a shell does to whom it runs in the background: what ignores SIGINT has children that do, too.

    Tests interrupt what they start, and would wait for its end.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def profiles_variable() -> str:
    """What Fast DDS takes its settings from: 3 complains of the name that 2 knows, and 2 does not know that of 3."""
    prefixes = filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
    has_3 = any(Path(prefix, "share", "fastdds").is_dir() for prefix in prefixes)
    return "FASTDDS_DEFAULT_PROFILES_FILE" if has_3 else "FASTRTPS_DEFAULT_PROFILES_FILE"


def pytest_configure(config: pytest.Config) -> None:
    """A hook of pytest: once in a run, however many of its conftest.py have it."""
    if config.stash.get(STARTED, False):
        return
    config.stash[STARTED] = True
    gc.disable()  # until all is imported and collected
    config.addinivalue_line("markers", "needs(*names): left out where `missing_modules` names one of them")
    settings.register_profile("unhurried", deadline=None)  # speed is no matter of tests, on a busy machine least of all
    settings.load_profile("unhurried")
    restore_interrupts()
    domain, lock = reserve_domain()
    logs = tempfile.TemporaryDirectory(prefix="fieldplay-log-")
    cache = tempfile.TemporaryDirectory(prefix="fieldplay-cache-")
    os.environ[profiles_variable()] = str(Path(__file__).with_name("quick_discovery.xml"))
    os.environ.update(
        ROS_DOMAIN_ID=str(domain),
        ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST",
        ROS_LOG_DIR=logs.name,
        FIELDPLAY_CACHE=cache.name,
        RCUTILS_COLORIZED_OUTPUT="0",
    )
    config.add_cleanup(lock.close)
    config.add_cleanup(logs.cleanup)
    config.add_cleanup(cache.cleanup)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Keep the garbage collector from walking through all modules and tests, which stay, again and again."""
    if not gc.isenabled():
        gc.freeze()
        gc.set_threshold(*COLLECTED_AFTER)
        gc.enable()


@cache
def missing_modules() -> list[str]:
    """The optional modules that this environment lacks, and `numpy>=2` where NumPy is older."""
    missing = [name for name in OPTIONAL if importlib.util.find_spec(name) is None]
    return missing if int(version("numpy").split(".")[0]) >= 2 else [*missing, "numpy>=2"]


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the test files that import what is not installed.

    The text decides: importing such a file ends the collection, and the plugin of launch_testing imports all files.
    """
    if not (collection_path.name.startswith("test_") and collection_path.suffix == ".py"):
        return None
    missing = missing_modules()
    if not missing:
        return None
    text = collection_path.read_text(encoding="utf-8")
    return True if any(OPTIONAL[name].search(text) for name in missing if name in OPTIONAL) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests marked as in need of what is not installed: `pytest.mark.needs("rclpy")`."""
    missing = set(missing_modules())
    needy = [item for item in items if any(missing & set(mark.args) for mark in item.iter_markers("needs"))]
    if needy:
        config.hook.pytest_deselected(items=needy)
        items[:] = [item for item in items if item not in needy]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say once what was left out."""
    missing = missing_modules()
    if missing and not config.stash.get(REPORTED, False):
        config.stash[REPORTED] = True
        terminalreporter.write_line(f"not installed, so the tests that need it were left out: {', '.join(missing)}")
