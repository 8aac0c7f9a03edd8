"""What is measured in a Rosario sequence: told where something is odd, silent where nothing is."""

import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fieldplay_archive.datasets import open_dataset
from fieldplay_archive.outlets.checks import check_settings
from fieldplay_messages.errors import Defect
from helpers import tiny_rosario as tiny
from helpers.tiny_rosario import TinyRosario

SECONDS = 30
Row = Callable[[float, random.Random], Sequence[float]]


@pytest.fixture
def archive(tmp_path: Path) -> TinyRosario:
    """A drive of half a minute without pictures."""
    made = TinyRosario(tmp_path / "sequence01", seconds=SECONDS)
    made.root.mkdir()
    made.write_calibration()
    return made


def write_imu(archive: TinyRosario, row: Row) -> None:
    """imu.log of a bumpy field; row gives rates in deg/s and force in milli-g."""
    chance = random.Random(3)
    lines = [" ".join([text, *(f"{value:.4f}" for value in row(t, chance))]) for t, text, _ in tiny.times(140, SECONDS)]
    archive.write(archive.root / "imu.log", lines)


def bumpy(t: float, chance: random.Random) -> list[float]:
    rates = [chance.gauss(0, 5), chance.gauss(0, 5), 10 * math.sin(t)]
    return [*rates, 915 + chance.gauss(0, 150), chance.gauss(0, 100), -400 + chance.gauss(0, 150)]


def frozen(t: float, chance: random.Random) -> list[float]:
    return [1.0, 2.0, 3.0, 915.0, 3.0, -400.0]


def far_off(t: float, chance: random.Random) -> list[float]:
    return [*bumpy(t, chance)[:3], 3000 + chance.gauss(0, 100), 0.0, 0.0]


def spinning(t: float, chance: random.Random) -> list[float]:
    return [400.0 + chance.gauss(0, 5), 0.0, 0.0, *bumpy(t, chance)[3:]]


def spiky(t: float, chance: random.Random) -> list[float]:
    return [0.0, 0.0, 0.0, -8000.0, 0.0, 0.0] if chance.random() < 0.3 else bumpy(t, chance)


def found(archive: TinyRosario) -> tuple[list[str], list[Defect]]:
    with open_dataset(archive.root) as opened:
        check_settings(opened)
        kept = [defect for defect in opened.defects.kept if defect.kind != "missing_file"]
        return opened.notes, kept


@pytest.mark.parametrize("false", [frozen, far_off, spinning, spiky])
def test_a_stretch_of_false_rows_of_the_imu_is_told_with_its_time(archive: TinyRosario, false: Row) -> None:
    write_imu(archive, lambda t, chance: (false if 12 <= t < 16 else bumpy)(t, chance))
    _, (defect,) = found(archive)
    assert (defect.file, defect.kind, defect.stream) == ("imu.log", "implausible_imu", "imu")
    assert defect.message.startswith("from 12 s to 16 s after its begin the IMU shows what it shows nowhere else")
    assert "--set imu_until_s=12" in defect.message


def test_a_bumpy_ride_and_single_knocks_are_no_fault_of_the_imu(archive: TinyRosario) -> None:
    def knocked(t: float, chance: random.Random) -> list[float]:
        return [0, 0, 0, 6000, 0, 0] if chance.random() < 0.005 else bumpy(t, chance)

    write_imu(archive, knocked)
    notes, defects = found(archive)
    assert defects == []
    assert any(note.startswith("measured: the specific force is ") for note in notes)


def test_the_ground_truth_s_turn_against_the_fixes_is_measured(archive: TinyRosario) -> None:
    archive.write_gps()
    archive.write_truth()
    notes, defects = found(archive)
    (text,) = (note for note in notes if "the ground truth turned by" in note)
    angle_deg, rms_m = float(text.split("turned by ")[1].split()[0]), float(text.split("within ")[1].split()[0])
    assert angle_deg == pytest.approx(tiny.TRUTH_DEG - tiny.GRID_DEG, abs=0.01)
    assert rms_m < 0.1  # the grid's scale
    assert text.startswith("measured: ") and defects == []


def test_the_ground_truth_of_another_drive_is_warned_of(archive: TinyRosario) -> None:
    archive.write_gps()
    archive.write_truth()
    truth = archive.root.parent / "sequence01_gt.txt"
    rows = [line.split() for line in truth.read_text().splitlines()]
    archive.write(truth, [" ".join([row[0], str(30 * math.sin(k)), "0"]) for k, row in enumerate(rows)])
    assert any(note.startswith("warning: the ground truth turned by") for note in found(archive)[0])
    archive.write(truth, [" ".join([str(float(row[0]) + 1e5), *row[1:3]]) for row in rows])
    assert any("rows have fixes around them: is it of this sequence?" in note for note in found(archive)[0])


def test_what_the_receiver_s_log_lacks_is_counted_and_its_clock_compared(archive: TinyRosario) -> None:
    archive.no_fix = lambda t: t < 2
    archive.write_gps()
    log = archive.root / "gps.log"
    log.write_text(log.read_text().replace(f"{tiny.START}.", f"{tiny.START - 1}.5"))
    notes, _ = found(archive)
    assert "fixes without a position: 10" in notes
    assert any("the computer's clock is +0.000 s against GPS" in note for note in notes)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1, "easy, 615.15 m, 9.3 min; this is 30.0 s of about 558 s"),
        (4, "medium, 152.32 m, 2.7 min; this is 30.0 s of about 162 s"),
    ],
)
def test_a_sequence_that_is_shorter_than_the_paper_s_is_noted(tmp_path: Path, number: int, text: str) -> None:
    archive = TinyRosario(tmp_path / f"sequence0{number}", number=number, seconds=SECONDS)
    archive.root.mkdir()
    write_imu(archive, bumpy)
    notes, defects = found(archive)
    assert any(f"sequence {number} of the paper: {text}" in note for note in notes)
    assert defects == []
