"""What the packages import is what requirements/libraries.txt installs, and what each package.xml names."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = sorted(path.parent for path in ROOT.glob("src/*/package.xml"))
DISTRIBUTIONS = {
    "cv2": "opencv-python-headless",
    "yaml": "PyYAML",
    "rerun": "rerun-sdk",
    "rerun_cli": "rerun-sdk",
}  # by the name that is imported, where they differ
KEYS = {"cv2": "python3-opencv", "tf2_ros": "tf2_ros_py"}  # of rosdep and ROS, where they are not python3-NAME or NAME
ROS = re.compile(r"rclpy|tf2_ros|launch(_ros)?|ament_index_python|\w+_(msgs|interfaces|msgs_py)")
NOT_INSTALLED = {*sys.stdlib_module_names, "compression", "_typeshed"}  # `compression` came with Python 3.14
BY_NAME = re.compile(r"import_module\(\"([\w.]+)\"\)")


def imported(package: Path) -> set[str]:
    """The libraries and the packages of ROS that a package imports anywhere, not ours."""
    found: set[str] = set()
    for path in (package / package.name).rglob("*.py"):
        text = path.read_text()
        for name in (*names_in(ast.parse(text)), *BY_NAME.findall(text)):
            parts = name.split(".")
            found.add(".".join(parts[:2]) if parts[0] == "backports" else parts[0])
    return {name for name in found if name not in NOT_INSTALLED and not name.startswith("fieldplay")}


def names_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [alias.name for alias in node.names] if node.module == "backports" else [""]
            yield from (f"{node.module}.{name}".rstrip(".") for name in names)


def test_the_libraries_that_are_installed_are_those_that_are_imported() -> None:
    files = [ROOT / "requirements" / f"{name}.txt" for name in ("libraries", "batch", "view")]
    lines = [line for file in files for line in file.read_text().splitlines()]
    listed = {line.split()[0].rstrip(";") for line in lines if line and not line.startswith("#")}
    used = {name for package in PACKAGES for name in imported(package) if not ROS.fullmatch(name)}
    assert {DISTRIBUTIONS.get(name, name) for name in used} == listed


@pytest.mark.parametrize("package", [path.name for path in PACKAGES])
def test_a_package_names_what_it_imports(package: str) -> None:
    """By its key of rosdep, or in the comment about what has none."""
    text = (ROOT / "src" / package / "package.xml").read_text()
    named = set(re.findall(r"<(?:exec_)?depend>(\S+?)</", text))
    without = {name for comment in re.findall(r"<!-- (.*?): no rosdep key", text) for name in comment.split(", ")}
    used = imported(ROOT / "src" / package)
    keys = {name: KEYS.get(name, name if ROS.fullmatch(name) else f"python3-{name}") for name in used}
    assert {name for name, key in keys.items() if key not in named and name not in without} == set()
