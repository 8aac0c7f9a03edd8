"""`fieldplay cdff export`: streams as tables in CSV and Parquet, a row for each sample."""

import csv
import json
import math
import signal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fieldplay.export import table_file
from fieldplay_cdff.tools import sample_text
from fieldplay_testing.reference_logs import (
    START_US,
    Run,
    numbered_stream,
    runner,
    states,
    write_log,
)

JOINTS = [
    (
        START_US + index,
        {
            "names": ["left", "right"],
            "elements": [{"position": 0.5 + index, "effort": math.nan}, {"position": -1.0, "effort": math.inf}],
            "cov": [[1.0, 0.25], [0.25, 2.0]],
            "is_on": index == 0,
            "empty": [],
        },
    )
    for index in range(2)
]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_log(tmp_path / "a.msg", {"/a.joints": ("Joints", JOINTS), "/a.pose": states(5)})


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def exported(run: Run, log: Path, out: Path, *arguments: object) -> list[dict[str, str]]:
    assert run("export", log, *arguments, out)[0] == 0
    return rows(out)


def test_columns_have_dotted_names_and_lists_are_one_cell_of_json(run: Run, log: Path, tmp_path: Path) -> None:
    result = exported(run, log, tmp_path / "out.csv", "/a.joints")
    assert list(result[0]) == ["log_time_ns", "names", "elements", "cov", "is_on", "empty"]
    assert json.loads(result[1]["elements"], parse_constant=pytest.fail) == [
        {"position": 1.5, "effort": "NaN"},
        {"position": -1.0, "effort": "Infinity"},
    ]
    assert (json.loads(result[0]["cov"]), result[0]["empty"]) == ([[1.0, 0.25], [0.25, 2.0]], "[]")
    assert [row["is_on"] for row in result] == ["true", "false"]


def test_lists_that_are_requested_get_column_for_each_item(run: Run, log: Path, tmp_path: Path) -> None:
    (first, _) = exported(run, log, tmp_path / "some.csv", "/a.joints", "--lists", "names,elements")
    assert list(first)[1:8] == [
        "names.0",
        "names.1",
        "elements.0.position",
        "elements.0.effort",
        "elements.1.position",
        "elements.1.effort",
        "cov",
    ]
    assert (first["names.1"], first["elements.0.effort"], first["elements.1.effort"]) == ("right", "NaN", "inf")
    (first, _) = exported(run, log, tmp_path / "all.csv", "/a.joints", "--lists", "all")
    assert [first[f"cov.{row}.{column}"] for row in (0, 1) for column in (0, 1)] == ["1.0", "0.25", "0.25", "2.0"]
    assert "empty" not in first
    (first, _) = exported(run, log, tmp_path / "path.csv", "/a.joints", "--lists", "cov.0")
    assert "cov" in first  # the list of rows is not asked for, so its items are none


def test_list_that_is_nowhere_exits_with_2_and_names_those_that_are(run: Run, log: Path, tmp_path: Path) -> None:
    code, _, result = run("export", log, "/a.joints", tmp_path / "out.csv", "--lists", "cov,nope")
    assert (code, "there is no list nope; there are names, elements, cov, empty" in result) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.msg"]


@pytest.mark.parametrize(("clock", "late_ns"), [("log", 250_000), ("sample", 0)])
def test_first_column_is_exact_time(run: Run, log: Path, tmp_path: Path, clock: str, late_ns: int) -> None:
    result = exported(run, log, tmp_path / "out.csv", "/a.pose", "--time", clock, "--lists", "pos")
    assert [int(row[f"{clock}_time_ns"]) for row in result] == [
        START_US * 1000 + 100_000_000 * index + late_ns for index in range(5)
    ]
    assert [float(row["pos.0"]) for row in result] == [0.5 * index for index in range(5)]
    assert [int(row["timestamp.microseconds"]) for row in result] == [START_US + 100_000 * index for index in range(5)]


def test_parquet_holds_same_table_with_types(run: Run, log: Path, tmp_path: Path) -> None:
    for suffix in ("csv", "parquet"):
        assert run("export", log, "/a.joints", tmp_path / f"out.{suffix}", "--lists", "all")[0] == 0
    parquet = pl.read_parquet(tmp_path / "out.parquet")
    assert parquet.columns == pl.read_csv(tmp_path / "out.csv").columns
    assert parquet.schema["log_time_ns"] == pl.Int64
    assert (parquet.schema["elements.0.position"], parquet.schema["is_on"]) == (pl.Float64, pl.Boolean)
    assert parquet["log_time_ns"].to_list() == [START_US * 1000, (START_US + 1) * 1000]
    assert parquet["elements.0.position"].to_list() == [0.5, 1.5]
    assert math.isnan(parquet["elements.0.effort"][0])


def test_fields_that_appear_later_get_columns_next_to_their_neighbours(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_text, "BLOCK_ROWS", 2)
    samples: list[dict[str, Any]] = [
        {"r": [1.0], "n": 1},
        {"r": [1.0], "n": 2},
        {"r": [2.0, 3.0], "n": 2.5},
        {"m": None, "n": 4},
    ]
    log = write_log(tmp_path / "a.msg", {"/a.x": ("T", [(START_US + i, sample) for i, sample in enumerate(samples)])})
    code, out, _ = run("export", log, "/a.x", tmp_path / "out.csv", "--lists", "all")
    assert (code, "read twice, as later samples have other columns" in out) == (0, True)
    actual = rows(tmp_path / "out.csv")
    assert list(actual[0])[1:] == ["r.0", "r.1", "n"]
    assert [(row["r.0"], row["r.1"], row["n"]) for row in actual] == [
        ("1.0", "", "1.0"),
        ("1.0", "", "2.0"),
        ("2.0", "3.0", "2.5"),
        ("", "", "4.0"),
    ]


def test_large_whole_numbers_stay_exact_whatever_they_are_mixed_with(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_text, "BLOCK_ROWS", 1)
    values = {
        "unsigned": [2**64 - 1, 2**63],
        "signed": [-(2**63), 2**63 - 1],
        "mixed": [2**60 + 1, 0.5],
        "word": [1, "a"],
    }
    samples = [{name: own[index] for name, own in values.items()} for index in (0, 1)]
    log = write_log(tmp_path / "a.msg", {"/a.x": ("T", [(START_US + i, sample) for i, sample in enumerate(samples)])})
    result = exported(run, log, tmp_path / "out.csv", "/a.x")
    assert {name: [row[name] for row in result] for name in values} == {
        name: [str(value) for value in own] for name, own in values.items()
    }
    assert run("export", log, "/a.x", tmp_path / "out.parquet")[0] == 0
    assert pl.read_parquet(tmp_path / "out.parquet")["unsigned"].to_list() == values["unsigned"]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_blocks_make_one_table_in_order_of_log(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(sample_text, "BLOCK_ROWS", 7)
    monkeypatch.setattr(table_file, "GROUP_ROWS", 20)
    log = write_log(tmp_path / "a.msg", {"/a.pose": states(100)})
    out = tmp_path / f"out.{form}"
    assert run("export", log, "/a.pose", out, "--lists", "pos")[0] == 0
    parquet = pl.read_csv(out) if form == "csv" else pl.read_parquet(out)
    assert parquet["pos.0"].to_list() == [0.5 * index for index in range(100)]


def test_several_streams_go_into_folder_by_their_names(run: Run, log: Path, tmp_path: Path) -> None:
    code, out, _ = run("export", log, tmp_path / "tables", "--format", "parquet")
    assert code == 0
    assert sorted(path.name for path in (tmp_path / "tables").iterdir()) == ["a.joints.parquet", "a.pose.parquet"]
    assert f"{tmp_path / 'tables' / 'a.pose.parquet'}: 5 rows of 5 columns" in out


def test_streams_whose_names_look_alike_get_files_of_their_own(run: Run, tmp_path: Path) -> None:
    log = write_log(
        tmp_path / "a.msg",
        {"/a/x": numbered_stream(START_US), "/a_x": numbered_stream(START_US), "a:x": numbered_stream(START_US)},
    )
    assert run("export", log, tmp_path / "tables")[0] == 0
    assert sorted(path.name for path in (tmp_path / "tables").iterdir()) == ["a_x.csv", "a_x_2.csv", "a_x_3.csv"]


def test_plain_values_and_empty_streams_are_tables_too(run: Run, tmp_path: Path) -> None:
    log = write_log(tmp_path / "a.msg", {"/a.n": ("int32_t", [(START_US, 4)]), "/a.none": ("T", [])})
    assert exported(run, log, tmp_path / "n.csv", "/a.n") == [{"log_time_ns": str(START_US * 1000), "value": "4"}]
    assert run("export", log, "/a.none", tmp_path / "none.parquet")[0] == 0
    assert pl.read_parquet(tmp_path / "none.parquet").shape == (0, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["LOG", "OUT.csv"], "is for one stream, and these are 2: name a folder; there are /a.joints, /a.pose"),
        (["LOG", "/a.pose", "/a.joints", "OUT.csv"], "is for one stream, and these are 2"),
        (["LOG", "/b.pose", "OUT.csv"], "there is no stream /b.pose; there are /a.joints, /a.pose"),
        (["LOG", "/a.pose", "OUT.csv", "--time", "noon"], "invalid choice: 'noon'"),
    ],
)
def test_usage_error_exits_with_2_and_writes_nothing(
    run: Run, log: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    text = [str(log) if word == "LOG" else word.replace("OUT", str(tmp_path / "out")) for word in arguments]
    code, out, err = run("export", *text)
    assert (code, out) == (2, "")
    assert message in err
    assert [path.name for path in tmp_path.iterdir()] == ["a.msg"]


def test_image_is_not_spread_over_too_many_columns(run: Run, tmp_path: Path) -> None:
    log = write_log(tmp_path / "a.msg", {"/a.image": ("Frame", [(START_US, {"data": [1] * 20_001})])})
    code, _, err = run("export", log, "/a.image", tmp_path / "out.csv", "--lists", "all")
    assert (code, "20001 columns are more than the 20000" in err) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.msg"]
    assert len(exported(run, log, tmp_path / "out.csv", "/a.image")[0]["data"]) == 3 * 20_001


@pytest.mark.parametrize("out", ["out.csv", "out.parquet", "folder"])
def test_interrupted_export_leaves_no_files(
    run: Run, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    def interrupted(*_: object) -> pl.DataFrame:
        signal.raise_signal(signal.SIGINT)
        raise AssertionError

    monkeypatch.setattr(table_file, "_frame", interrupted)
    code, _, err = run("export", log, *([] if out == "folder" else ["/a.pose"]), tmp_path / out)
    assert (code, "nothing was left behind" in err) == (130, True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.msg"]


def test_what_cannot_be_written_exits_with_1(
    run: Run, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        def sink_parquet(self, *_: object, **__: object) -> None:
            raise OSError("no space left on device")

    monkeypatch.setattr("fieldplay.export.table_file.register_io_source", lambda *_, **__: Broken())
    code, _, err = run("export", log, "/a.pose", tmp_path / "out.parquet")
    assert (code, "cannot write the table: no space left on device" in err) == (1, True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.msg"]


def test_sample_that_cannot_be_read_is_reported_and_has_time_alone(run: Run, tmp_path: Path) -> None:
    samples: list[Any] = [{"n": 1}, {"n": {5: "no name of a field"}}, {"n": 3}]
    log = write_log(tmp_path / "a.msg", {"/a.x": ("T", [(START_US + i, sample) for i, sample in enumerate(samples)])})
    code, _, err = run("export", log, "/a.x", tmp_path / "out.csv")
    assert (code, "a.msg: sample 1 of /a.x at byte" in err) == (0, True)
    assert [row["n"] for row in rows(tmp_path / "out.csv")] == ["1", "", "3"]
    code, _, err = run("export", log, "/a.x", tmp_path / "strict.csv", "--strict")
    assert (code, "--strict: 1 fault; nothing is written" in err) == (1, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.msg", "out.csv"]
