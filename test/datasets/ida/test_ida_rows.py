"""Rows of IDA that cannot be, or seem to be others' repetitions: what is told, and what plays all the same."""

from pathlib import Path

import pytest

from fieldplay.topics.selection import Selection
from support import tiny_ida as tiny
from support.ida_messages import (
    defects_of,
    messages_of,
    notes_of,
    places_of,
)
from support.tiny_ida import Motion, Row, TinyIda

FILE = f"{Motion().stem}.csv"
SEVENTH = "0.1070"  # enc1 there
LINE = 9


@pytest.fixture
def bundle(tmp_path: Path) -> TinyIda:
    return TinyIda(tmp_path / "bundle")


def counts(root: Path) -> dict[str, int]:
    return {topic: len(result) for topic, result in messages_of(root).items()}


def index_of(row: Row) -> int:
    return round(float(row["enc1"]) * 1000 - 100)


def in_seventh(**cells: str) -> Motion:
    return Motion(change=lambda row: row | (cells if row["enc1"] == SEVENTH else {}))


@pytest.mark.parametrize(
    ("column", "text"),
    [
        *(("tool", text) for text in ("300", "-1", "10", "2.5")),
        *(("grapple_phase", text) for text in ("300", "6", "-1")),
        *(("stat", text) for text in ("-1", "8589934592", "0x100000000", "1.5")),
    ],
)
def test_code_impossible_is_reported_and_rest_of_row_plays(bundle: TinyIda, column: str, text: str) -> None:
    bundle.write_motion(in_seventh(**{column: text}))
    (defect,) = defects_of(bundle.root)
    assert places_of([defect]) == [("impossible_code", FILE, LINE)]
    assert f"column {column}: expected a whole number from 0 to " in defect.message
    messages = messages_of(bundle.root)
    assert len(messages["joint_states"]) == len(messages["motors"]) == 30
    assert (len(messages["tool"]), len(messages["grapple/phase"])) == (2, 2)
    at = messages["joint_states"][7][0]
    (output,) = (message for stamp, message in messages["/diagnostics"] if stamp == at)
    names = {"tool": ["ida: tool"], "grapple_phase": ["ida: grapple"]}
    missing = names.get(column, [f"ida: {joint}" for joint in messages["joint_states"][0][1].name])
    assert {status.name for status in output.status}.isdisjoint(missing)
    assert len(output.status) == 6 - len(missing)


def test_bits_without_meaning_are_reported_and_eight_digits_are_decimal(bundle: TinyIda) -> None:
    bundle.write_motion(Motion(change=lambda row: row | {"stat": "33554433"}))
    defects = defects_of(bundle.root)
    assert places_of(defects) == [("impossible_code", FILE, 2 + index) for index in range(30)]
    assert "got 33554433 (0x2000001); the others count" in defects[0].message
    status = messages_of(bundle.root)["/diagnostics"][0][1].status[0]
    assert {value.key: value.value for value in status.values}["motor"] == "on"


def test_eight_digits_that_start_with_other_bits_than_spare_ones_are_decimal(bundle: TinyIda) -> None:
    bundle.write_motion(Motion(change=lambda row: row | {"stat": "00983041"}))  # 0xF0001
    assert defects_of(bundle.root) == []
    status = messages_of(bundle.root)["/diagnostics"][0][1].status[0]
    values = {value.key: value.value for value in status.values}
    assert (values["motor"], values["heater"], values["brake"]) == ("on", "on", "on")


def test_file_in_which_no_code_is_one_has_no_states_and_plays(bundle: TinyIda) -> None:
    bundle.write_motion(Motion(change=lambda row: row | dict.fromkeys(("stat", "tool", "grapple_phase"), "-99999")))
    assert defects_of(bundle.root) == []
    actual = counts(bundle.root)
    assert actual["joint_states"] == 30 and not {"tool", "grapple/phase", "/diagnostics"} & set(actual)


def coarse(row: Row, form: str) -> Row:
    return row | {"time": form.format(float(row["time"]))}


@pytest.mark.parametrize("form", ["{:.0f}", "{:.0f}.0", "{:.6g}"])
def test_rows_of_coarse_clock_have_their_times_by_elapsed_time(bundle: TinyIda, form: str) -> None:
    bundle.write_motion(Motion(change=lambda row: coarse(row, form)))
    stamps = [stamp for stamp, _ in messages_of(bundle.root)["joint_states"]]
    expected = [tiny.utc_ns(f"{tiny.START_S + index / 10:.1f}") for index in range(30)]
    assert [got - requested for got, requested in zip(stamps, expected, strict=True)] == pytest.approx(
        [0] * 30, abs=1e6
    )
    assert defects_of(bundle.root) == []
    assert any(f"by elapsed_time, from the first row on: {FILE}" in note for note in notes_of(bundle.root))


def test_rows_of_coarse_clock_without_another_are_kept_and_reported(bundle: TinyIda) -> None:
    columns = [name for name in tiny.COLUMNS if name != "elapsed_time"]
    bundle.write_motion(Motion(columns=columns, change=lambda row: coarse(row, "{:.0f}")))
    (defect,) = defects_of(bundle.root)
    assert places_of([defect]) == [("conflicting_rows", FILE, 2)]
    assert "got 30 rows that share theirs with others, which have other numbers; all are kept" in defect.message
    assert counts(bundle.root)["joint_states"] == 30


def test_of_rows_of_one_time_in_file_same_count_once_and_others_are_kept(bundle: TinyIda) -> None:
    path = bundle.write_motion(Motion())
    lines = path.read_bytes().splitlines(keepends=True)
    other = lines[8].replace(b"0.1070,", b"0.1071,", 1)
    path.write_bytes(b"".join([*lines[:9], lines[8], other, *lines[9:]]))
    path.with_suffix(".xml").unlink()
    (defect,) = defects_of(bundle.root)
    assert places_of([defect]) == [("conflicting_rows", FILE, LINE)]
    assert counts(bundle.root)["joint_states"] == 31
    assert any(": 1 rows have the time and the numbers of a row before in the same" in n for n in notes_of(bundle.root))


def test_elapsed_times_of_two_files_need_not_start_together(bundle: TinyIda) -> None:
    bundle.write_motion(Motion())
    bundle.write_motion(Motion(apid=88, change=lambda row: row | {"elapsed_time": f"{index_of(row) / 36000 + 3:.7f}"}))
    assert defects_of(bundle.root) == []
    assert counts(bundle.root)["joint_states"] == 30


@pytest.mark.parametrize(
    ("column", "topic"),
    [("enc1", "joint_states"), ("tgrapple", "grapple/temperature"), ("cur3", "motors"), ("x_pot", "archived/tool_pot")],
)
def test_archive_s_mark_of_what_is_invalid_is_no_measurement_anywhere(bundle: TinyIda, column: str, topic: str) -> None:
    bundle.write_motion(in_seventh(**{column: "-99999.0000"}))
    assert defects_of(bundle.root) == []
    actual = counts(bundle.root)
    assert (actual[topic], actual["heater"]) == (29, 30)
    assert f"measured: {column} has no number in 1 rows: marked as invalid there, or reported" in notes_of(bundle.root)


@pytest.mark.parametrize(
    ("column", "text", "expected"),
    [
        ("enc1", "9.9", "column enc1: expected -3.6314 to 1.5585, got 9.9; the row is kept"),
        ("Fr", "1e9", "column fr: expected -2000 to 2000, got 1e+09"),
        ("tgrapple", "-300", "column tgrapple: expected -150 to 200, got -300"),
        ("x_enc", "20", "column x_enc: expected -4 to 4, got 20"),
        ("cur2", "5000", "column cur2: expected -700 to 700, got 5000"),
    ],
)
def test_number_that_can_mean_nothing_is_reported_and_its_row_kept(
    bundle: TinyIda, column: str, text: str, expected: str
) -> None:
    row = {column: text} if column != "enc1" else {"enc1": text, "enc2": "0.2070"}
    bundle.write_motion(in_seventh(**row))
    (defect,) = (defect for defect in defects_of(bundle.root) if defect.kind == "out_of_range")
    assert (Path(defect.file).name, defect.row) == (FILE, LINE)
    assert expected in defect.message
    assert counts(bundle.root)["joint_states"] == 30


def test_label_that_names_all_columns_governs_where_heading_reports_otherwise(bundle: TinyIda) -> None:
    titles = ",".join(tiny.FIELDS).replace("enc2(rad)", "ENC").replace("pot2(rad)", "enc2(rad)").replace("ENC", "pot2")
    path = bundle.write_motion(Motion(header=f"#{titles}"))
    (defect,) = defects_of(bundle.root)
    assert places_of([defect]) == [("label_mismatch", FILE, None)]
    assert "expected column 4 to be enc2, got pot2, by the label" in defect.message
    assert defect.message.endswith("the label counts")
    assert messages_of(bundle.root)["joint_states"][0][1].position[1] == 0.2
    assert any(note.startswith("columns by label, the heading names other columns") for note in notes_of(bundle.root))
    path.with_suffix(".xml").unlink()
    assert messages_of(bundle.root)["joint_states"][0][1].position[1] == 0.2005


@pytest.mark.parametrize(
    ("column", "topic", "names"),
    [
        ("enc4", "joint_states", ["shoulder_yaw", "shoulder_pitch", "elbow"]),
        ("pot1", "joint_states_pot", ["shoulder_pitch", "elbow", "wrist"]),
        ("volt2", "motors", ["shoulder_yaw", "elbow", "wrist"]),
        ("Fr", "heater", ["heater"]),
    ],
)
def test_column_that_heading_and_label_lack_is_reported_and_rest_plays(
    bundle: TinyIda, column: str, topic: str, names: list[str]
) -> None:
    bundle.write_motion(Motion(columns=[name for name in tiny.COLUMNS if name != column]))
    (defect,) = defects_of(bundle.root)
    assert places_of([defect]) == [("missing_column", FILE, None)]
    assert f"column {column.lower()}: expected it by the specification, got none in" in defect.message
    messages = messages_of(bundle.root, Selection(derived=True))
    assert len(messages["joint_states"]) == len(messages["joint_states_pot"]) == len(messages["motors"]) == 30
    assert messages[topic][7][1].name == names
    assert ("wrench" in messages) == (column != "Fr") and ("tcp" in messages) == (column != "enc4")
    if column == "enc4":
        assert list(messages["joint_states"][7][1].position) == [0.107, 0.207, 0.307]


def test_label_that_gives_another_column_time_does_not_govern(bundle: TinyIda) -> None:
    swapped = {"<name>time<": "<name>other<", "<name>enc1<": "<name>time<", "<name>other<": "<name>enc1<"}
    bundle.write_motion(Motion(label=swapped))
    assert any(defect.message.endswith("the heading counts") for defect in defects_of(bundle.root))
    assert counts(bundle.root)["joint_states"] == 30
