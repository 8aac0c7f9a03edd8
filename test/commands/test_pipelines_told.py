"""Every pipeline that comes with the workspace is told of: a row, a section, a sample, a test, the commands."""

import re
from pathlib import Path

import pytest

from fieldplay.cli.main import main
from fieldplay_cdff.pipeline import pipelines
from fieldplay_samples.write_sample import datasets, settings_of

ROOT = Path(__file__).parents[2]
TOLD = (ROOT / "docs" / "fusion.md").read_text("utf-8")
SAMPLE = re.compile(r"`(\w+)(?: --set (\w+)=(\w+))?`")
SECTIONS = re.split(r"^## ", TOLD, flags=re.MULTILINE)[1:]
TESTS = ("test", "src/*/test")
NAMES = [info.name for info in pipelines()]


def rows() -> list[list[str]]:
    """Of the table of what there is: the paper's name, pipelines, sample, test."""
    table = TOLD.partition("## What there is\n")[2].partition("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if ".py`" in line]


def test_rows_of_paper_s_table_are_there() -> None:
    assert len([row for row in rows() if not row[0].startswith(("announced", "the same"))]) == 8


@pytest.mark.parametrize("name", NAMES)
def test_pipeline_has_row_test_that_names_it_and_section(name: str) -> None:
    (row,) = [row for row in rows() if name in row[1].split(", ")]
    (test,) = [path for folder in TESTS for path in ROOT.glob(f"{folder}/**/{row[3].strip('`')}")]
    assert re.search(rf"\b{name}\b", test.read_text("utf-8"))
    section = next(part for part in SECTIONS if name.startswith(part.partition("\n")[0]))
    heading, _, partition = section.partition("\n")
    assert partition.lstrip().startswith("Needs ") or name == "Reconstruction3D"
    assert name in partition or name == heading
    assert re.search("[Mm]easured", section) and re.search(r"\d", section)


def test_samples_can_be_made() -> None:
    match = [SAMPLE.match(row[2]) for row in rows()]
    for dataset, setting, _ in (each.groups() for each in match if each):
        assert dataset in datasets()
        assert setting is None or setting in settings_of(dataset)
    assert sum(each is not None for each in match) >= 8


def test_commands_name_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuse", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[0] for line in lines if not line.startswith(" ")] == NAMES
    assert main(["list"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith(f": {', '.join(NAMES)}")
