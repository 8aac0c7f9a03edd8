"""Documents: short lines, and a description of the house that names what is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "bench/*.md", "campaigns/*.md", "config/*.md", "src/**/*.md")
    for path in ROOT.glob(pattern)
)
LONGEST = 120
CODE = re.compile(r"`([^`\n]+)`")
PLACE = re.compile(r"[\w./]+(?:\.py|/)")


def test_there_are_documents() -> None:
    assert ROOT / "docs" / "datasets" / "ida.md" in DOCUMENTS


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_line_is_longer_than_one_can_read(path: Path) -> None:
    lines = enumerate(path.read_text("utf-8").splitlines(), start=1)
    lengths = {number: len(line) for number, line in lines if not line.startswith("|")}  # a row of a table is one line
    assert {number: length for number, length in lengths.items() if length > LONGEST} == {}


def test_every_file_and_folder_that_architecture_names_is_there() -> None:
    named = {name.rstrip("/") for name in CODE.findall((ROOT / "ARCHITECTURE.md").read_text()) if PLACE.fullmatch(name)}
    there = {
        "/" + path.relative_to(ROOT).as_posix()
        for folder in (
            "src",
            "underlay",
            "test",
            "bench",
            "campaigns",
            "config",
            "docs",
            "launch",
            "requirements",
            "urdf",
            "bags",
        )
        for path in [ROOT / folder, *(ROOT / folder).rglob("*")]
        if "__pycache__" not in path.parts
    }
    assert len(named) > 40
    missing = {name for name in named if not any(path.endswith(f"/{name}") for path in there)}
    assert missing <= {".ws", "jazzy", "wheels"}  # which ./ws makes
