"""The tools that read the code: each one must have nothing to say."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = sorted(path.parent for path in ROOT.glob("*/*/package.xml"))


def complaints(*command: str, **environment: str) -> str:
    """What a tool prints when it exits with a fault, else nothing."""
    result = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    return result.stdout + result.stderr if result.returncode else ""


def test_ruff_finds_nothing() -> None:
    assert complaints("ruff", "check", "--quiet", ".") == ""


def test_the_code_is_formatted_as_ruff_does() -> None:
    assert complaints("ruff", "format", "--quiet", "--diff", ".") == ""


def test_mypy_finds_nothing() -> None:
    modules = [module.parent for package in PACKAGES for module in sorted(package.glob("*/__init__.py"))]
    assert modules
    arguments = [argument for module in modules for argument in ("-p", module.name)]
    path = os.pathsep.join(str(module.parent) for module in modules)
    assert complaints(sys.executable, "-m", "mypy", "--no-error-summary", *arguments, MYPYPATH=path) == ""


def test_shellcheck_finds_nothing() -> None:
    assert complaints("shellcheck", "ws", ".ci/run") == ""


def test_no_python_file_is_longer_than_400_lines() -> None:
    files = [
        path for folder in ("src", "underlay", "test", "bench", "launch") for path in (ROOT / folder).rglob("*.py")
    ]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in files}
    assert {name: length for name, length in lengths.items() if length > 400} == {}
