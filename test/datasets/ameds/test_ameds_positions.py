"""Positions of AMEDS that cannot be: single ones are no rows, and where most are so the unit is another."""

import math
from pathlib import Path
from typing import Any

import pytest

from fieldplay.core.errors import Defect
from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.selection import Selection
from fieldplay.topics.topic_checks import check
from support.archive_messages import messages_of

COLUMNS = {"latitude": 2, "longitude": 3, "altitude": 4, "roll": 8, "pitch": 9, "yaw": 10}
FIX = Selection(topics="gnss/(fix|odom)")


def change(root: Path, name: str, value: float, lines: range) -> None:
    path = root / "GnssPose.csv"
    rows = [line.split(",") for line in path.read_text().splitlines()]
    for line in lines:
        rows[line - 1][COLUMNS[name]] = repr(value)
    path.write_text("\n".join(",".join(row) for row in rows) + "\n")


def defects_of(root: Path) -> list[Defect]:
    with open_dataset(root) as archive:
        return [defect for defect in check(archive, Selection()) if defect.file == "GnssPose.csv"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("latitude", 2.5), ("latitude", 37.72), ("longitude", 7.0), ("longitude", -4.0), ("altitude", 1e9),
        ("roll", 7.0), ("pitch", 2.0), ("yaw", 360.0),
    ],
)  # fmt: skip
def test_row_with_impossible_position_is_left_out_and_reported(tiny_ameds: Any, name: str, value: float) -> None:
    change(tiny_ameds.root, name, value, range(6, 7))
    messages = messages_of(tiny_ameds.root, FIX)
    assert len(messages["gnss/fix"]) == len(messages["gnss/odom"]) == 199
    (defect,) = defects_of(tiny_ameds.root)
    assert (defect.kind, defect.row) == ("impossible_value", 6)
    assert f"column {name}: expected " in defect.message
    assert defect.message.endswith(f", got {value:g}; the row is left out")


def test_longitude_may_run_to_whole_turn_and_leaves_within_half(tiny_ameds: Any) -> None:
    change(tiny_ameds.root, "longitude", 4.0, range(1, 2))
    fixes = [message for _, message in messages_of(tiny_ameds.root, FIX)["gnss/fix"]]
    assert fixes[0].longitude == pytest.approx(math.degrees(4) - 360, abs=1e-12)
    assert fixes[1].longitude == pytest.approx(15.00668, abs=1e-12)


@pytest.mark.parametrize(("name", "value"), [("altitude", 2639838.0), ("yaw", 300.0)])
def test_where_most_rows_are_beyond_unit_is_another_and_all_are_kept(tiny_ameds: Any, name: str, value: float) -> None:
    change(tiny_ameds.root, name, value, range(1, 201))
    assert len(messages_of(tiny_ameds.root, FIX)["gnss/fix"]) == 200
    (defect,) = (result for result in defects_of(tiny_ameds.root) if result.kind == "implausible_unit")
    assert f"{name}: expected " in defect.message and "in most rows, which are kept" in defect.message
