"""The tools that read the code: each one must have nothing to say."""

import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = sorted(path.parent for path in ROOT.glob("*/*/package.xml"))
EVERY_DATASET_HAS = {"__init__.py", "reader.py", "streams.py", "calibration.py", "checks.py", "scenario.py"}


def complaints(*command: str, **environment: str) -> str:
    """What a tool prints when it exits with a fault, else nothing."""
    result = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    return result.stdout + result.stderr if result.returncode else ""


def test_ruff_finds_nothing() -> None:
    assert complaints("ruff", "check", "--quiet", ".") == ""


def test_code_is_formatted_as_ruff_does() -> None:
    assert complaints("ruff", "format", "--quiet", "--diff", ".") == ""


@pytest.mark.needs("numpy>=2")  # the types of older releases are not as exact
def test_mypy_finds_nothing() -> None:
    modules = [module.parent for package in PACKAGES for module in sorted(package.glob("*/__init__.py"))]
    assert modules
    arguments = [argument for module in modules for argument in ("-p", module.name)]
    modules.append(ROOT / "campaigns")
    arguments += ["-p", "campaigns"]
    path = os.pathsep.join(str(module.parent) for module in modules)
    assert complaints(sys.executable, "-m", "mypy", "--no-error-summary", *arguments, MYPYPATH=path) == ""


def test_shellcheck_finds_nothing() -> None:
    assert complaints("shellcheck", "ws", ".ci/run") == ""


def test_no_two_test_files_share_name() -> None:
    """ROS 2's own launch_testing imports each by its bare name."""
    tests = [path for folder in ("src", "underlay", "test") for path in ROOT.glob(f"{folder}/**/test/**/test_*.py")]
    tests += ROOT.glob("test/**/test_*.py")
    paths = defaultdict(set)
    for path in tests:
        paths[path.name].add(str(path.relative_to(ROOT)))
    assert paths
    assert {name: result for name, result in paths.items() if len(result) > 1} == {}


def test_module_names_occur_once_but_for_files_of_every_dataset() -> None:
    paths = defaultdict(set)
    for path in (ROOT / "src").glob("*/*/**/*.py"):
        if "test" not in path.relative_to(ROOT).parts and path.name not in EVERY_DATASET_HAS:
            paths[path.name].add(str(path.relative_to(ROOT)))
    assert len(paths) > 100
    assert {name: result for name, result in paths.items() if len(result) > 1} == {}


def test_launch_test_finds_what_tests_share() -> None:
    """As `launch_test FILE`, which does not put the file's folder on the path; and it imports all it uses."""
    own = "|".join(path.stem for path in (ROOT / "test").glob("*.py"))
    texts = {path.name: path.read_text() for path in (ROOT / "test").rglob("test_*.py")}
    launched = {name: text for name, text in texts.items() if re.search("^def generate_test_description", text, re.M)}
    assert launched
    for name, text in launched.items():
        before = re.split(rf"^(?:import|from) (?:{own})\b", text, maxsplit=1, flags=re.M)[0]
        assert before == text or "\nsys.path.append(str(Path(__file__).parents[1]))" in before, name
        used = set(re.findall(r"@?launch_testing\.(asserts|markers|actions|util)\.", text))
        assert used <= set(re.findall(r"^import launch_testing\.(\w+)$", text, re.M)), name


def test_no_python_file_is_longer_than_800_lines() -> None:
    files = [
        path
        for folder in ("src", "underlay", "test", "bench", "campaigns", "launch")
        for path in (ROOT / folder).rglob("*.py")
    ]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in files}
    assert {name: length for name, length in lengths.items() if length > 800} == {}
