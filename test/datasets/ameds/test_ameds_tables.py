"""Tables of AMEDS in the forms that the paper leaves open: the same messages leave."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fieldplay.core.errors import Defect
from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.selection import Selection
from fieldplay.topics.topic_checks import check
from support.archive_messages import messages_of, notes_of, stored_of

TABLES = Selection(topics="imu/.*|gnss/.*|air/.*|platform/.*|.*_arm/.*")
IMU = "time,acc_x,acc_y,acc_z,{gyro},mag_x,mag_y,mag_z,imu_temperature,pressure,outside_temperature\n"


def change(root: Path, of_line: Callable[[int, str], str]) -> None:
    for path in root.rglob("*.csv"):
        lines = path.read_text().splitlines()
        path.write_text("".join(of_line(number, line) + "\n" for number, line in enumerate(lines)))


def in_nanoseconds(text: str) -> str:
    whole, _, rest = text.partition(".")
    return f"{whole}{rest:0<9}"


FORMS: dict[str, Callable[[int, str], str]] = {
    "a delimiter at the end": lambda _, line: f"{line},",
    "semicolons, one at the end": lambda _, line: line.replace(",", ";") + ";",
    "blanks": lambda _, line: line.replace(",", " "),
    "columns of blanks": lambda _, line: "  " + line.replace(",", "   "),
    "an index": lambda number, line: f"{number},{line}",
    "quotes": lambda _, line: ",".join(f'"{part}"' for part in line.split(",")),
    "nanoseconds": lambda _, line: ",".join([in_nanoseconds(line.split(",")[0]), *line.split(",")[1:]]),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_table_in_another_form_gives_same(tiny_ameds: Any, form: Callable[[int, str], str]) -> None:
    expected = stored_of(tiny_ameds.root, TABLES)
    change(tiny_ameds.root, form)
    assert stored_of(tiny_ameds.root, TABLES) == expected
    assert defects_of(tiny_ameds.root) == []


def defects_of(root: Path) -> list[Defect]:
    with open_dataset(root) as archive:
        return [defect for defect in check(archive, TABLES) if defect.file.endswith(".csv")]


def test_unit_of_times_is_noted(tiny_ameds: Any) -> None:
    change(tiny_ameds.root, FORMS["nanoseconds"])
    (note,) = (note for note in notes_of(tiny_ameds.root) if note.startswith("times taken for nanoseconds"))
    assert "GnssImu.csv" in note and "MainArmJointAngles.csv" in note


def test_blank_or_quote_within_number_is_reported_and_never_joins_two(tiny_ameds: Any) -> None:
    path = tiny_ameds.root / "PlatformMotorEncoders.csv"
    lines = path.read_text().splitlines()
    lines[4] = re.sub(r",([^,]*)$", r",\1 77", lines[4])
    lines[6] = re.sub(r",([^,]*)$", r",\g<1>5\"1", lines[6])
    path.write_text("\n".join(lines) + "\n")
    defects = defects_of(tiny_ameds.root)
    assert [(defect.kind, defect.row) for defect in defects] == [("not_a_number", 5), ("not_a_number", 7)]
    assert "column steer_4_ticks: expected a number, got '" in defects[0].message


@pytest.mark.parametrize("titles", ["gyro_x_rad_s,gyro_y_rad_s,gyro_z_rad_s", "gyro_x [rad/s],gyro_y,gyro_z (rad/s)"])
def test_header_s_unit_counts_unless_another_is_chosen(tiny_ameds: Any, titles: str) -> None:
    path = tiny_ameds.root / "GnssImu.csv"
    (_, first), *_ = messages_of(tiny_ameds.root, TABLES)["imu/data_raw"]
    (_, chosen), *_ = messages_of(tiny_ameds.root, TABLES, gyro_unit="rad/s")["imu/data_raw"]
    path.write_text(IMU.format(gyro=titles) + path.read_text())
    (_, result), *_ = messages_of(tiny_ameds.root, TABLES)["imu/data_raw"]
    assert result.angular_velocity.x == pytest.approx(chosen.angular_velocity.x, rel=1e-12)
    assert (result.angular_velocity.y == first.angular_velocity.y) == ("gyro_y," in titles)
    assert any("gyro_z in rad/s by the header, made deg/s" in note for note in notes_of(tiny_ameds.root))


def test_degrees_in_header_of_pose_are_taken_for_that(tiny_ameds: Any) -> None:
    path = tiny_ameds.root / "GnssPose.csv"
    expected = messages_of(tiny_ameds.root, TABLES)["gnss/fix"][0][1]
    rows = [line.split(",") for line in path.read_text().splitlines()]
    for row in rows:
        row[2:4] = [repr(float(value) * 180 / 3.141592653589793) for value in row[2:4]]
    header = "time,device_time,lat [deg],lon [deg],alt [m],std_n,std_e,std_d,roll,pitch,yaw,fix_type"
    path.write_text("\n".join([header, *map(",".join, rows)]) + "\n")
    fix = messages_of(tiny_ameds.root, TABLES)["gnss/fix"][0][1]
    assert (fix.latitude, fix.longitude) == (
        pytest.approx(expected.latitude, abs=1e-12), pytest.approx(expected.longitude, abs=1e-12)
    )  # fmt: skip
    assert defects_of(tiny_ameds.root) == []
