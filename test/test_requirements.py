"""What the packages import is what requirements/libraries.txt installs, and what each package.xml names."""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = sorted(path.parent for path in ROOT.glob("src/*/package.xml"))
DISTRIBUTIONS = {
    "cv2": "opencv-python-headless",
    "jinja2": "Jinja2",
    "markupsafe": "MarkupSafe",
    "yaml": "PyYAML",
    "rerun": "rerun-sdk",
    "rerun_cli": "rerun-sdk",
    "mcap_ros2": "mcap-ros2-support",
}  # by the name that is imported, where they differ
KEYS = {"cv2": "python3-opencv", "tf2_ros": "tf2_ros_py"}  # of rosdep and ROS, where they are not python3-NAME or NAME
TESTING = "fieldplay_testing"
OURS = re.compile("fieldplay(_|$)")
ROS = re.compile(r"rclpy|tf2_ros|launch(_ros)?|ament_index_python|\w+_(msgs|interfaces|msgs_py)")
NOT_INSTALLED = {*sys.stdlib_module_names, "compression", "_typeshed"}  # `compression` came with Python 3.14
BY_NAME = re.compile(r"import_module\(\"([\w.]+)\"\)")


@cache
def imported(folder: Path) -> frozenset[str]:
    """The libraries, and the packages of ROS and of ours, that a folder imports anywhere."""
    names: set[str] = set()
    for path in folder.rglob("*.py"):
        text = path.read_text()
        for name in (*names_in(ast.parse(text)), *BY_NAME.findall(text)):
            parts = name.split(".")
            names.add(".".join(parts[:2]) if parts[0] == "backports" else parts[0])
    return frozenset(names - NOT_INSTALLED)


def names_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [alias.name for alias in node.names] if node.module == "backports" else [""]
            yield from (f"{node.module}.{name}".rstrip(".") for name in names)


def test_libraries_that_are_installed_are_those_that_are_imported() -> None:
    listed = set().union(*map(required, ("libraries", "batch", "view")))
    shipped = [package / package.name for package in PACKAGES if package.name != TESTING]
    assert libraries_of(shipped) == listed
    tests = [ROOT / "src" / TESTING / TESTING, *ROOT.glob("src/*/test")]
    assert libraries_of(tests) <= listed | required("test")


def required(name: str) -> set[str]:
    lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
    return {re.split("[ ;<>=]", line)[0] for line in lines if line and not line.startswith("#")}


def libraries_of(folders: list[Path]) -> set[str]:
    used = {name for folder in folders for name in imported(folder) if not OURS.match(name) and not ROS.fullmatch(name)}
    return {DISTRIBUTIONS.get(name, name) for name in used}


@pytest.mark.parametrize("package", [path.name for path in PACKAGES])
def test_package_names_what_it_imports(package: str) -> None:
    """By its key of rosdep, or in the comment about what has none; what its tests import, too."""
    folder = ROOT / "src" / package
    text = (folder / "package.xml").read_text()
    without = {name for comment in re.findall(r"<!-- (.*?): no rosdep key", text) for name in comment.split(", ")}
    for position, kinds in ((package, "exec_"), ("test", "exec_|test_")):
        named = {package, *re.findall(rf"<(?:{kinds})?depend>(\S+?)</", text)}
        used = {name for name in imported(folder / position) if package != TESTING or not OURS.match(name)}
        assert {name for name in used if key_of(name) not in named and name not in without} == set(), position


def key_of(name: str) -> str:
    is_ros = ROS.fullmatch(name) or OURS.match(name)
    return KEYS.get(name, name if is_ros else f"python3-{name}")
