"""Faults in the navigation of ACFR's vehicle: covariances that cannot be or are not there, and places that jump."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from support import tiny_acfr_places as places
from support.acfr_checked import inspected, noted
from support.archive_messages import messages_of, notes_of
from support.tiny_acfr import TinyAcfr

STANDING = [6154241.229, 225261.411, -600.0, *[0.0] * 9]
FIRST_OF_COVARIANCE = 14  # words before it: time, type, state
ROW = 7  # counted from 0


@pytest.fixture
def archive(tmp_path: Path) -> TinyAcfr:
    archive = TinyAcfr(tmp_path / "29-DynamicDayTriangleClear")
    places.write_nav(archive, [STANDING] * 20, places.any_covariance())
    return archive


def changed(archive: TinyAcfr, arguments: slice, *new: str) -> None:
    """Other words in one line of the log."""
    path = archive.root / "Nav" / "NavQAsciiData.txt"
    lines = path.read_text().splitlines()
    parts = lines[ROW].split(" ")
    parts[arguments] = new
    lines[ROW] = " ".join(parts)
    path.write_text("\n".join(lines) + "\n")


def cell(row: int, column: int) -> slice:
    """Where a cell of the covariance, counted from 1, stands in its line."""
    position = FIRST_OF_COVARIANCE + 12 * (row - 1) + column - 1
    return slice(position, position + 1)


@pytest.mark.parametrize(
    ("position", "text", "kind", "unknown"),
    [
        ((1, 1), "-1", "negative_variance", {"pose", "fix"}),
        ((5, 5), "-1", "negative_variance", {"twist"}),
        ((9, 9), "-1e-9", "negative_variance", {"pose"}),
        ((1, 2), "x", "not_a_number", {"pose", "fix"}),
        ((1, 5), "x", "not_a_number", set()),  # between pose and twist: no message has it
    ],
)
def test_covariance_impossible_is_reported_and_unknown_where_it_counts(
    archive: TinyAcfr, position: tuple[int, int], text: str, kind: str, unknown: set[str]
) -> None:
    changed(archive, cell(*position), text)
    _, defects = inspected(archive)
    assert [(defect.row, defect.kind) for defect in defects] == [(ROW + 1, kind)]
    messages = messages_of(archive.root)
    odometry, fix = messages["nav/odom"][ROW][1], messages["nav/fix"][ROW][1]
    covariances = {"pose": odometry.pose.covariance, "twist": odometry.twist.covariance, "fix": fix.position_covariance}
    assert {name for name, values in covariances.items() if not np.any(values)} == unknown
    assert fix.position_covariance_type == (0 if "fix" in unknown else 3)
    assert len(messages["nav/odom"]) == 20 and all(np.isfinite(values).all() for values in covariances.values())


def test_missing_cell_costs_covariance_alone(archive: TinyAcfr) -> None:
    changed(archive, cell(4, 7))
    _, (defect,) = inspected(archive)
    assert (defect.row, defect.kind) == (ROW + 1, "short_row")
    messages = messages_of(archive.root)["nav/odom"]
    assert len(messages) == 20 and not messages[ROW][1].pose.covariance.any()
    assert messages[ROW][1].pose.pose.position == messages[ROW - 1][1].pose.pose.position


@pytest.mark.parametrize("position", range(2, 14))
def test_missing_number_of_state_costs_row(archive: TinyAcfr, position: int) -> None:
    changed(archive, slice(position, position + 1))
    assert [(defect.row, defect.kind) for defect in inspected(archive)[1]] == [(ROW + 1, "short_row")]
    assert len(messages_of(archive.root)["nav/odom"]) == 19


def test_log_without_covariances_plays_and_they_are_unknown(archive: TinyAcfr) -> None:
    path = archive.root / "Nav" / "NavQAsciiData.txt"
    lines = path.read_text().splitlines()
    path.write_text("".join(" ".join(line.split(" ")[:FIRST_OF_COVARIANCE]) + "\n" for line in lines))
    _, (defect,) = inspected(archive)
    assert (defect.file, defect.kind) == ("Nav/NavQAsciiData.txt", "no_covariance")
    messages = messages_of(archive.root)
    assert len(messages["nav/odom"]) == 20 and not messages["nav/odom"][3][1].pose.covariance.any()
    assert messages["nav/fix"][3][1].position_covariance_type == 0


def test_place_that_jumps_is_reported_with_its_row(archive: TinyAcfr) -> None:
    states = [[STANDING[0] + (3700.0 if index >= ROW else 0.0), *STANDING[1:]] for index in range(20)]
    places.write_nav(archive, states, places.any_covariance())
    (defect,) = (defect for defect in inspected(archive)[1] if defect.kind == "place_jump")
    assert (defect.file, defect.row) == ("Nav/NavQAsciiData.txt", ROW + 1)
    assert "at most 2.8 m from that of the previous row, 0.050 s earlier, got 3700.0 m" in defect.message


def test_fast_drive_and_pause_are_no_jumps(archive: TinyAcfr) -> None:
    states = [[STANDING[0] + 0.5 * index + (30.0 if index >= ROW else 0.0), *STANDING[1:]] for index in range(20)]
    places.write_nav(archive, states, places.any_covariance())
    path = archive.root / "Nav" / "NavQAsciiData.txt"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:ROW], *(line.replace("*1224198733.", "*1224198763.") for line in lines[ROW:])]))
    assert [defect.kind for defect in inspected(archive)[1]] == ["gap"]


def test_file_that_ends_without_line_end_is_reported_and_its_last_row_plays(archive: TinyAcfr, tmp_path: Path) -> None:
    cut = TinyAcfr(tmp_path / "cut" / archive.root.name)
    shutil.copytree(archive.root, cut.root)
    path = cut.root / "Nav" / "NavQAsciiData.txt"
    path.write_text(path.read_text().rstrip("\n"))
    note = noted(notes_of(cut.root), "ends without a line end")
    assert note == "warning: Nav/NavQAsciiData.txt:20: the file ends without a line end: its last number may be cut"
    assert not any("line end" in note for note in notes_of(archive.root))
    assert inspected(cut)[1] == [] and len(messages_of(cut.root)["nav/odom"]) == 20
