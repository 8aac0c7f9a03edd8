"""The arrow of dependence between packages, and between the folders of the library; ROS only where it is said."""

import ast
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src"
TESTING = "fieldplay_testing"
MAY_IMPORT: dict[str, set[str]] = {
    "fieldplay_interfaces": set(),
    "fieldplay_samples": set(),
    "fieldplay": {"fieldplay_samples"},
    "fieldplay_cdff": {"fieldplay"},
    "fieldplay_ros": {"fieldplay", "fieldplay_cdff", "fieldplay_interfaces"},
    "fieldplay_bringup": {"fieldplay", "fieldplay_cdff", "fieldplay_ros", "fieldplay_samples"},
    TESTING: {"fieldplay", "fieldplay_cdff"},  # each module what those have whose tests use it
}
# The folders of the library, each of which imports only those before it; "" are the modules of the root.
ORDER = (
    "core",
    "geometry",
    "messages",
    "streams",
    "bags",
    "io",
    "kinematics",
    "trajectories",
    "dust",
    "datasets",
    "topics",
    "convert",
    "recording",
    "",
    "evaluation",
    "export",
    "projection",
    "report",
    "view",
    "benchmark",
    "player",
    "cli",
)
ROS_FILES = (
    "/nodes/",
    "/fieldplay_ros/",
    "fieldplay_bringup/describe.py",
    "fieldplay_bringup/fusion_launch.py",
    "fieldplay_bringup/demo/steps.py",
    "fieldplay_bringup/demo/steps.py",
    "fieldplay_bringup/demo/__main__.py",
)
BLOCK_ROS = """
import importlib, sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in ("rclpy", "tf2_ros", "launch", "launch_ros") or top.endswith(("_msgs", "_interfaces", "_msgs_py")):
            raise ImportError(f"{name} is ROS")
sys.meta_path.insert(0, Blocked())
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def modules(package: str) -> Iterator[Path]:
    yield from sorted((SRC / package / package).rglob("*.py"))


def imported_packages(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imported_names(path)}


@cache
def folder_of(name: str) -> str:
    """The folder (dotted) of one of our modules or packages; nothing of what is not ours."""
    path = SRC / name.partition(".")[0] / name.replace(".", "/")
    if path.is_dir():
        return name
    return name.rpartition(".")[0] if path.with_suffix(".py").is_file() else ""


@cache
def imported_names(path: Path) -> tuple[str, ...]:
    """What a file imports: modules, and what may be modules."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(names)


def test_folder_of_library_imports_only_those_before_it() -> None:
    for path in modules("fieldplay"):
        own = path.relative_to(SRC / "fieldplay" / "fieldplay").parts
        here = own[0] if len(own) > 1 else ""
        before = {*ORDER[: ORDER.index(here)], here}
        for name in imported_names(path):
            folder = folder_of(name)
            if folder.partition(".")[0] == "fieldplay":
                there = folder.split(".")[1] if "." in folder else ""
                assert there in before or (name == "fieldplay" and here == "cli"), f"{path}: {name}"


def is_ros_file(path: Path) -> bool:
    return any(part in path.as_posix() for part in ROS_FILES)


def dotted(path: Path, package: str) -> str:
    parts = path.relative_to(SRC / package).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("package", sorted(path.name for path in SRC.glob("fieldplay*")))
def test_package_imports_only_what_lies_below_it(package: str) -> None:
    for path in modules(package):
        ours = {name for name in imported_packages(path) if name.startswith("fieldplay")}
        assert ours <= MAY_IMPORT[package] | {package}, path


@pytest.mark.parametrize("package", sorted(MAY_IMPORT))
def test_so_do_its_tests_with_what_they_share(package: str) -> None:
    """Else they would not run where only the packages are built that its package.xml names."""
    below = MAY_IMPORT[package] | {package, TESTING}
    for path in (SRC / package / "test").rglob("*.py"):
        ours = {name for name in reached_packages(path) if name.startswith("fieldplay")}
        assert ours <= below, path


def reached_packages(path: Path) -> set[str]:
    """What a test imports, itself and by the modules that it shares with others."""
    shared = {SRC / TESTING / f"{name.replace('.', '/')}.py" for name in imported_names(path) if TESTING in name}
    return imported_packages(path).union(*(reached_packages(other) for other in shared if other.is_file()))


def test_no_folders_import_each_other_in_circle() -> None:
    below: dict[str, set[str]] = {}
    for package in sorted(path.name for path in SRC.glob("fieldplay*")):
        for path in modules(package):
            here = folder_of(dotted(path.parent / "__init__.py", package))
            there = {folder_of(name) for name in imported_names(path)}
            below.setdefault(here, set()).update(there - {here, ""})
    assert "fieldplay.core" in below["fieldplay.messages"]
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_all_but_ros_files_import_where_there_is_no_ros() -> None:
    names = [
        dotted(path, package.name)
        for package in sorted(SRC.glob("fieldplay*"))
        for path in modules(package.name)
        if not is_ros_file(path) and path.name != "__main__.py"
    ]
    if importlib.util.find_spec("rerun") is None:  # an extra, which the viewer alone imports
        names = [name for name in names if not name.startswith("fieldplay.view.")]
    assert "fieldplay.core.timestamps" in names
    result = subprocess.run([sys.executable, "-c", BLOCK_ROS, *names], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
