"""Every pipeline that comes with the workspace is documented: a row, a page, a sample, a test, the commands."""

import re
from pathlib import Path

import pytest

from fieldplay.cli.main import main
from fieldplay_cdff.pipeline import pipelines
from fieldplay_samples.write_sample import datasets, settings_of

ROOT = Path(__file__).parents[2]
OVERVIEW = (ROOT / "docs" / "fusion.md").read_text("utf-8")
SAMPLE = re.compile(r"`(\w+)(?: --set (\w+)=(\w+))?`")
LINK = re.compile(r"\[(\w+)\]\((fusion/[\w-]+\.md)\)")
TESTS = ("test", "src/*/test")
NAMES = [info.name for info in pipelines()]


def rows() -> list[list[str]]:
    """Of the table of pipelines: pipelines with their pages, what they compute, the paper's name, sample, test."""
    table = OVERVIEW.partition("## Pipelines\n")[2].partition("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if ".py`" in line]


def test_table_has_the_paper_s_eight_pipelines() -> None:
    assert len([row for row in rows() if not row[2].startswith("announced") and "moving base" not in row[2]]) == 8


@pytest.mark.parametrize("name", NAMES)
def test_pipeline_has_row_test_that_names_it_and_page_with_its_ports(name: str) -> None:
    (row,) = [row for row in rows() if name in dict(LINK.findall(row[0]))]
    (test,) = [path for folder in TESTS for path in ROOT.glob(f"{folder}/**/{row[4].strip('`')}")]
    assert re.search(rf"\b{name}\b", test.read_text("utf-8"))
    page = (ROOT / "docs" / dict(LINK.findall(row[0]))[name]).read_text("utf-8")
    heading = page.partition("\n")[0].removeprefix("# ")
    assert name.startswith(heading) and re.search(rf"\b{name}\b", page)
    assert re.search("[Mm]easured", page) and re.search(r"\d", page)
    (info,) = [info for info in pipelines() if info.name == name]
    assert [port for port in (*info.inputs, *info.outputs) if f"`{port}`" not in page] == []
    assert f"`{info.topic}" in page


def test_samples_can_be_made() -> None:
    match = [SAMPLE.match(row[3]) for row in rows()]
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
