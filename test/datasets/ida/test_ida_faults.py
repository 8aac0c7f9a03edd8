"""Damaged and lying files of IDA: each fault is told once, with its place, and all else plays."""

from pathlib import Path

import numpy as np
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

JOINTS = Selection(topics="joint_states$")
FILE = f"{Motion().stem}.csv"
LABEL = f"{Motion().stem}.xml"
FIRST_LINE = 2  # of the rows


@pytest.fixture
def bundle(tmp_path: Path) -> TinyIda:
    return TinyIda(tmp_path / "bundle")


def counts(root: Path) -> dict[str, int]:
    return {topic: len(result) for topic, result in messages_of(root).items()}


def put(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


def line_of(index: int) -> int:
    return FIRST_LINE + index


@pytest.mark.parametrize("text", ["broken", "", "NaN", "1e999", "0.1O3\xe9", "-inf"])
def test_cell_that_is_no_number_costs_only_what_needs_it(bundle: TinyIda, text: str) -> None:
    bundle.write_motion(Motion(change=lambda row: row | ({"tcase3": text} if row["enc1"] == "0.1070" else {})))
    (defect,) = defects_of(bundle.root)
    assert (Path(defect.file).name, defect.row) == (FILE, line_of(7))
    assert "column tcase3: expected a number" in defect.message
    actual = counts(bundle.root)
    assert (actual["elbow/case_temperature"], actual["wrist/case_temperature"], actual["joint_states"]) == (29, 30, 30)


def test_each_bad_cell_of_row_is_reported(bundle: TinyIda) -> None:
    def damage(row: Row) -> Row:
        return row | ({"enc2": "x", "Fr": "y", "stat": "?"} if row["enc1"] == "0.1070" else {})

    bundle.write_motion(Motion(change=damage))
    assert places_of(defects_of(bundle.root)) == [("not_a_number", FILE, line_of(7))] * 3
    actual = counts(bundle.root)
    assert (actual["joint_states"], actual["wrench"], actual["motors"]) == (29, 23, 30)


@pytest.mark.parametrize("text", ["", "soon", "12:00:00"])
def test_row_without_time_is_left_out(bundle: TinyIda, text: str) -> None:
    bundle.write_motion(Motion(change=lambda row: row | ({"time": text} if row["enc1"] == "0.1070" else {})))
    kinds = places_of(defects_of(bundle.root))
    assert kinds == [("not_a_number", FILE, line_of(7)), ("label_mismatch", FILE, None)]
    assert counts(bundle.root)["joint_states"] == 29


def test_time_of_another_century_is_left_out(bundle: TinyIda) -> None:
    bundle.write_motion(Motion(change=lambda row: row | ({"time": "3e9"} if row["enc1"] == "0.1070" else {})))
    assert ("implausible_time", FILE, line_of(7)) in places_of(defects_of(bundle.root))
    assert counts(bundle.root)["joint_states"] == 29


@pytest.mark.parametrize("rows", [29, 28, 1])
def test_file_that_is_cut_off_plays_up_to_there(bundle: TinyIda, rows: int) -> None:
    path = bundle.write_motion(Motion())
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: FIRST_LINE - 1 + rows]) + lines[-1][:200])
    defects = defects_of(bundle.root)
    assert ("short_row", FILE, line_of(rows)) in places_of(defects)
    assert any(f"expected 30 rows by the label {LABEL_PATH}, got {rows}" in defect.message for defect in defects)
    assert counts(bundle.root)["joint_states"] == rows


LABEL_PATH = f"data_raw_calibrated/{LABEL}"


def test_row_of_more_columns_is_left_out(bundle: TinyIda) -> None:
    path = bundle.write_motion(Motion())
    put(path, b"0.1070,", b"0.1070,0.1071,")
    assert ("long_row", FILE, line_of(7)) in places_of(defects_of(bundle.root))
    assert counts(bundle.root)["joint_states"] == 29


@pytest.mark.parametrize("end", ["\r\n", "\n"])
@pytest.mark.parametrize("with_label", [True, False])
def test_lines_may_end_with_either_newline(bundle: TinyIda, end: str, with_label: bool) -> None:
    path = bundle.write_motion(Motion(end=end))
    if not with_label:
        path.with_suffix(".xml").unlink()
    messages = messages_of(bundle.root, JOINTS)["joint_states"]
    assert [message.position[1] for _, message in messages] == pytest.approx([0.2 + 0.001 * i for i in range(30)])
    expected = [("label_mismatch", FILE, None)] if end == "\n" and with_label else []
    assert places_of(defects_of(bundle.root)) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('<object_length unit="byte">678', '<object_length unit="byte">580', "expected a heading of 580 bytes"),
        ('<object_length unit="byte">678', '<object_length unit="byte">1200', "expected a heading of 1200 bytes"),
        ("<fields>58", "<fields>57", "expected 57 columns by the label"),
        ("<records>30", "<records>927", "expected 927 rows by the label"),
        ("Comma", "Semicolon", "expected ';' between columns"),
        ("Carriage-Return Line-Feed", "Line-Feed", "expected lines that end in b'\\n'"),
        ("<name>enc2</name>", "<name>pot2</name>", "expected column 4 to be pot2, got enc2"),
        (">209<", ">210<", "start_sol_number: expected 209 as the file's name has it, got 210"),
        ("_clock_start>615088547", "_clock_start>615088000", "spacecraft_clock_start: expected 615088547"),
        ("13:56:40.702Z</start", "13:57:40.702Z</start", "start_date_time: expected 2019-06-29T13:56:40Z"),
        (":a0087_", ":a0099_", "expected an identifier that ends in a0087_"),
        ("<File><file_name>", "<File><file_size unit='byte'>12</file_size><file_name>", "expected 12 bytes"),
    ],
)
def test_label_that_lies_is_reported_and_file_counts(bundle: TinyIda, old: str, new: str, expected: str) -> None:
    bundle.write_motion(Motion(label={old: new}))
    defects = defects_of(bundle.root)
    assert {defect.kind for defect in defects} == {"label_mismatch"}
    assert any(expected in defect.message for defect in defects)
    messages = messages_of(bundle.root, JOINTS)["joint_states"]
    assert len(messages) == 30
    np.testing.assert_allclose(messages[3][1].position, [0.103, 0.203, 0.303, 0.403], atol=1e-12)


def test_heading_in_print_of_text_version_is_understood(bundle: TinyIda) -> None:
    titles = ",".join(tiny.FIELDS).replace("x_enc_defl", "x enc def1").replace("elapsed_time", "elapsedtime")
    bundle.write_motion(Motion(header="#" + titles.replace("pot1", "potl").replace("th_pot(", "thpot(")))
    assert [note for note in notes_of(bundle.root) if note.startswith("columns by header")]
    assert counts(bundle.root)["archived/tool_enc_defl"] == 30


def test_columns_in_another_order_are_found_by_heading_or_by_label(bundle: TinyIda) -> None:
    turned = [tiny.COLUMNS[0], *reversed(tiny.COLUMNS[1:])]
    for header, mapping in ((None, "header"), ("# columns: see the label", "label")):
        bundle.write_motion(Motion(columns=turned, header=header))
        assert [note for note in notes_of(bundle.root) if note.startswith(f"columns by {mapping}")]
        assert defects_of(bundle.root) == []
        _, message = messages_of(bundle.root, JOINTS)["joint_states"][3]
        np.testing.assert_allclose(message.position, [0.103, 0.203, 0.303, 0.403], atol=1e-12)


@pytest.mark.parametrize("header", ["", "# a heading\r\n# of two lines", "#1,2,3"])
def test_columns_are_reported_by_their_number_without_heading_and_label(bundle: TinyIda, header: str) -> None:
    path = bundle.write_motion(Motion(header=header))
    path.with_suffix(".xml").unlink()
    assert defects_of(bundle.root) == []
    assert counts(bundle.root)["joint_states"] == 30


def test_57_columns_of_table_12_are_understood(bundle: TinyIda) -> None:
    path = bundle.write_motion(Motion(columns=[name for name in tiny.COLUMNS if name != "elapsed_time"], header=""))
    path.with_suffix(".xml").unlink()
    bundle.write_motion(Motion(apid=88, indices=range(30, 60)))
    assert defects_of(bundle.root) == []
    assert counts(bundle.root)["joint_states"] == 60


def test_label_s_own_constants_are_no_numbers(bundle: TinyIda) -> None:
    name, constant = "<name>tgrapple</name>", "<missing_constant>18.0030</missing_constant>"
    bundle.write_motion(Motion(label={name: f"{name}<Special_Constants>{constant}</Special_Constants>"}))
    assert defects_of(bundle.root) == []
    actual = counts(bundle.root)
    assert (actual["grapple/temperature"], actual["joint_states"]) == (29, 30)


HOSTILE = {
    "billion laughs": '<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;&b;&b;">]>',
    "external entity": '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>',
    "document type of elsewhere": '<!DOCTYPE a SYSTEM "http://127.0.0.1:1/a.dtd">',
}


@pytest.mark.parametrize("doctype", HOSTILE.values(), ids=HOSTILE)
def test_label_with_document_type_is_refused_and_its_file_plays(bundle: TinyIda, doctype: str) -> None:
    path = bundle.write_motion(Motion())
    put(path.with_suffix(".xml"), b"<Product_Observational", doctype.encode() + b"<Product_Observational")
    (defect,) = defects_of(bundle.root)
    assert (defect.kind, Path(defect.file).name) == ("unreadable_label", LABEL)
    assert "expected no DOCTYPE, got one" in defect.message
    assert counts(bundle.root)["joint_states"] == 30


@pytest.mark.parametrize("data", [b"", b"\x00\x01", b"<a>", b"<html/>", b"<?xml version='1.0' encoding='x-none'?><a/>"])
def test_label_that_is_none_is_reported_and_its_file_plays(bundle: TinyIda, data: bytes) -> None:
    bundle.write_motion(Motion()).with_suffix(".xml").write_bytes(data)
    assert places_of(defects_of(bundle.root)) == [("unreadable_label", LABEL, None)]
    assert counts(bundle.root)["joint_states"] == 30


def test_latin_1_in_label_is_read(bundle: TinyIda) -> None:
    path = bundle.write_motion(Motion())
    put(path.with_suffix(".xml"), b"IDA SciHi", "IDA SciHi, 20 °C".encode("latin-1"))
    assert defects_of(bundle.root) == []
    assert any("the labels' UTC" in note for note in notes_of(bundle.root))


def test_label_whose_file_is_not_there_is_reported(bundle: TinyIda) -> None:
    path = bundle.write_motion(Motion())
    bundle.write_motion(Motion(start_s=tiny.START_S + 1)).unlink()
    assert not defects_of(bundle.root)
    assert any("615088548" in note and "got none" in note for note in notes_of(bundle.root))
    path.unlink()
    assert not defects_of(path.with_suffix(".xml"))


def test_rows_of_equal_time_count_once_in_whatever_files(bundle: TinyIda) -> None:
    bundle.write_motion(Motion())
    bundle.write_motion(Motion(apid=88, indices=range(0, 30, 3)))
    bundle.write_motion(Motion(start_s=tiny.START_S + 2, indices=range(20, 40)))
    messages = messages_of(bundle.root)
    stamps = [stamp for stamp, _ in messages["joint_states"]]
    assert stamps == [tiny.utc_ns(f"{tiny.START_S + i // 10}.{i % 10}") for i in range(40)]
    assert (len(messages["tool"]), len(messages["grapple/phase"])) == (2, 2)
    matches = [note for note in notes_of(bundle.root) if "counted once" in note]
    assert any("A0088" in note and ": 10 rows have the time of rows of" in note for note in matches)
    assert any("615088549" in note and ": 10 rows have the time of rows of" in note for note in matches)
    assert defects_of(bundle.root) == []


def test_rows_of_equal_time_and_other_numbers_are_reported(bundle: TinyIda) -> None:
    bundle.write_motion(Motion())
    bundle.write_motion(Motion(apid=88, change=lambda row: row | ({"volt2": "29"} if row["enc1"] == "0.1070" else {})))
    (defect,) = defects_of(bundle.root)
    assert (defect.kind, defect.row) == ("conflicting_rows", line_of(7))
    assert "1 rows have the times of rows of" in defect.message
    assert messages_of(bundle.root)["motors"][7][1].velocity[1] == pytest.approx(24.007)


def late(row: Row, *, after: int, by_s: float, moved_rad: float) -> Row:
    index = round(float(row["enc1"]) * 1000 - 100)
    if index < after:
        return row
    angles = {f"enc{joint}": f"{float(row[f'enc{joint}']) + moved_rad:.4f}" for joint in (1, 2, 3, 4)}
    time = {"time": f"{float(row['time']) + by_s:.1f}", "elapsed_time": f"{(index * 0.1 + by_s) / 3600:.7f}"}
    return row | angles | time


@pytest.mark.parametrize("by_s", [5.0, 90000.0])
def test_pause_is_gap_only_if_arm_is_elsewhere_after_it(bundle: TinyIda, by_s: float) -> None:
    bundle.write_motion(Motion(change=lambda row: late(row, after=10, by_s=by_s, moved_rad=0.0)))
    assert defects_of(bundle.root) == []
    assert any("in which the arm rested" in note for note in notes_of(bundle.root))
    bundle.write_motion(Motion(change=lambda row: late(row, after=10, by_s=by_s, moved_rad=0.25)))
    (defect,) = defects_of(bundle.root)
    assert (defect.kind, defect.row) == ("gap", line_of(10))
    assert f"no row for {by_s:.0f}." in defect.message and "is 0.2510 rad away after it" in defect.message


def test_no_gap_is_reported_between_files_nor_where_another_file_has_rows(bundle: TinyIda) -> None:
    bundle.write_motion(Motion())
    bundle.write_motion(Motion(start_s=tiny.START_S + 500, indices=range(5000, 5030)))
    assert defects_of(bundle.root) == []
    bundle.write_motion(Motion(start_s=tiny.START_S + 900, indices=[*range(9000, 9030), *range(9060, 9090)]))
    assert [defect.kind for defect in defects_of(bundle.root)] == ["gap"]
    bundle.write_motion(Motion(apid=88, start_s=tiny.START_S + 903, indices=range(9030, 9060)))
    assert defects_of(bundle.root) == []


def test_elapsed_time_that_does_not_advance_as_clock_is_reported_once(bundle: TinyIda) -> None:
    bundle.write_motion(Motion(change=lambda row: row | ({"elapsed_time": "0.5"} if row["enc1"] >= "0.1200" else {})))
    (defect,) = defects_of(bundle.root)
    assert (defect.kind, defect.row) == ("elapsed_mismatch", line_of(20))
    assert "got +1798.0 s more 2.0 s after the first row" in defect.message


def test_units_that_seem_wrong_and_turns_of_th_are_noted(bundle: TinyIda) -> None:
    wrapped = {"th_enc": "-3.1300"}
    bundle.write_motion(Motion(change=lambda row: row | (wrapped if row["enc1"] >= "0.1200" else {"th_enc": "3.1300"})))
    notes = notes_of(bundle.root)
    assert any("th lies between -3.1300 and 3.1300 rad; 1 jumps by a turn" in note for note in notes)
    assert any("htr_cur is never above 0.0015: A, it seems" in note for note in notes)


def test_table_that_is_none_is_reported_and_others_play(bundle: TinyIda) -> None:
    bundle.write_motion(Motion())
    for name, data in (("a_eu.csv", b""), ("b_eu.csv", b"\x00" * 100), ("c_eu.csv", b"1,2,3\n4,5,6\n")):
        bundle.path("data_raw_calibrated", name).write_bytes(data)
    assert [kind for kind, _, _ in places_of(defects_of(bundle.root))] == ["unreadable_table"] * 3
    assert counts(bundle.root)["joint_states"] == 30


def test_hundreds_of_files_need_no_more_open_ones_than_few(bundle: TinyIda) -> None:
    import resource

    for index in range(120):
        bundle.write_motion(Motion(start_s=tiny.START_S + index, indices=range(10 * index, 10 * index + 2)))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(list(Path("/proc/self/fd").iterdir())) + 24, hard))
    try:
        assert counts(bundle.root)["joint_states"] == 240
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("name", ["../../secret.csv", "/etc/passwd", "..\\..\\secret.csv", "C:\\secret.csv"])
def test_label_that_names_file_outside_archive_is_reported(bundle: TinyIda, name: str) -> None:
    (bundle.root.parent / "secret.csv").write_text("1,2\n")
    path = bundle.write_motion(Motion()).with_suffix(".xml")
    put(path, f"<file_name>{FILE}".encode(), f"<file_name>{name}".encode())
    line = path.read_text().partition("<file_name>")[0].count("\n") + 1
    (defect,) = defects_of(bundle.root)
    assert places_of([defect]) == [("unsafe_path", LABEL, line)]
    assert f"got '{name}', which leaves the archive" in defect.message
    assert counts(bundle.root)["joint_states"] == 30


def test_label_may_name_file_of_another_folder_of_archive(bundle: TinyIda) -> None:
    path = bundle.write_motion(Motion())
    label = path.with_suffix(".xml").rename(bundle.path("labels", LABEL))
    put(label, f"<file_name>{FILE}".encode(), f"<file_name>../data_raw_calibrated/{FILE}".encode())
    assert defects_of(bundle.root) == []
