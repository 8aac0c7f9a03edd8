"""The tables of behaviours in the README of each stand-in name tests that there are, and tell which are its own."""

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest

UNDERLAY = Path(__file__).parents[1] / "underlay"
PACKAGES = ["launch", "launch_ros", "launch_testing", "ros2cli", "sensor_msgs_py", "tf2_ros_py"]
FILES = re.compile(r"`(test_\w+\.py)`")
ROW = re.compile(r"\| .+ \| `(\w+)` \| (same|differs: .+|not run: .+) \|")
LONGEST = 120


class Told(NamedTuple):
    """What a row tells of a test, which is in one of some files."""

    files: list[str]
    name: str
    upstream: str


class Marks(NamedTuple):
    """Whether all cases of a test are the stand-in's own, and whether any is."""

    all_cases: bool
    any_case: bool


def table_of(package: str) -> list[Told]:
    text = (UNDERLAY / package / "README.md").read_text("utf-8").partition("\n## Behaviours\n")[2].partition("\n## ")[0]
    output, files = [], []
    for line in text.splitlines():
        if line.startswith("**`"):
            files = FILES.findall(line)
        elif line.startswith("|") and not line.startswith(("|---", "| behaviour |")):
            row = ROW.fullmatch(line)
            assert row, line
            assert len(line) <= LONGEST, line
            output.append(Told(files, f"test_{row[1]}", row[2]))
    return output


def marks_in(path: Path) -> dict[str, Marks]:
    tree = ast.parse(path.read_text("utf-8"))
    names = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and "stand_in" in ast.dump(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    def is_mark(node: ast.expr) -> bool:
        call = node.func if isinstance(node, ast.Call) else node
        return ast.unparse(call) == "pytest.mark.stand_in" or (isinstance(node, ast.Name) and node.id in names)

    results = {}
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        parts = [node for decorator in function.decorator_list for node in ast.walk(decorator)]
        is_own = "pytestmark" in names or any(map(is_mark, function.decorator_list))
        has_own = any(isinstance(node, ast.expr) and is_mark(node) for node in parts)
        results[function.name] = Marks(is_own, is_own or has_own)
    return results


@pytest.mark.parametrize("package", PACKAGES)
def test_each_behaviour_has_test_that_is_marked_where_upstream_differs(package: str) -> None:
    table = table_of(package)
    assert len(table) > 15
    for row in table:
        counts = [marks_in(UNDERLAY / package / "test" / file) for file in row.files]
        marks = [tests[row.name] for tests in counts if row.name in tests]
        assert marks, f"no file of {row.files} has {row.name}"
        if row.upstream == "same":
            assert not all(mark.all_cases for mark in marks), f"{row.name} is marked as the stand-in's own"
        elif row.upstream.startswith("differs"):
            assert any(mark.any_case for mark in marks), f"{row.name} is not marked as the stand-in's own"


def test_each_mark_reports_why() -> None:
    nodes = [node for path in UNDERLAY.glob("*/test/*.py") for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    marks = [node for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node) == "pytest.mark.stand_in"]
    calls = [node for node in nodes if isinstance(node, ast.Call) and node.func in marks]
    assert len(calls) == len(marks) > 20
    assert all(len(call.args) == 1 and isinstance(call.args[0], ast.Constant) and call.args[0].value for call in calls)
