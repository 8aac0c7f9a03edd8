"""What is measured in a Rosario sequence: told where something is odd, silent where nothing is."""

import math
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.core.errors import Defect
from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.selection import Selection
from fieldplay.topics.topic_checks import check_settings
from support import tiny_rosario as tiny
from support.archive_messages import messages_of
from support.tiny_rosario import TinyRosario

SECONDS = 30
Row = Callable[[float, random.Random], Sequence[float]]


@pytest.fixture
def archive(tmp_path: Path) -> TinyRosario:
    """A drive of half a minute without pictures."""
    archive = TinyRosario(tmp_path / "sequence01", seconds=SECONDS)
    archive.root.mkdir()
    archive.write_calibration()
    return archive


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
        remaining = [defect for defect in opened.defects.listed if defect.kind != "missing_file"]
        return opened.notes, remaining


@pytest.mark.parametrize("false", [frozen, far_off, spinning, spiky])
def test_interval_of_false_rows_of_imu_is_reported_with_its_time(archive: TinyRosario, false: Row) -> None:
    write_imu(archive, lambda t, chance: (false if 12 <= t < 16 else bumpy)(t, chance))
    _, (defect,) = found(archive)
    assert (defect.file, defect.kind, defect.stream) == ("imu.log", "implausible_imu", "imu")
    assert defect.message.startswith("from 12 s to 16 s after its start the IMU's values differ from all others")
    assert "--set imu_until_s=12" in defect.message


def test_bumpy_ride_and_single_knocks_are_no_defect_of_imu(archive: TinyRosario) -> None:
    def knocked(t: float, chance: random.Random) -> list[float]:
        return [0, 0, 0, 6000, 0, 0] if chance.random() < 0.005 else bumpy(t, chance)

    write_imu(archive, knocked)
    notes, defects = found(archive)
    assert defects == []
    assert any(note.startswith("measured: the specific force is ") for note in notes)


def test_ground_truth_s_turn_against_fixes_is_measured(archive: TinyRosario) -> None:
    archive.write_gps()
    archive.write_truth()
    notes, defects = found(archive)
    (text,) = (note for note in notes if "the ground truth turned by" in note)
    angle_deg, rms_m = float(text.split("turned by ")[1].split()[0]), float(text.split("within ")[1].split()[0])
    assert angle_deg == pytest.approx(tiny.TRUTH_DEG - tiny.GRID_DEG, abs=0.01)
    assert rms_m < 0.1  # the grid's scale
    assert text.startswith("measured: ") and defects == []


def test_ground_truth_of_another_drive_is_warned_of(archive: TinyRosario) -> None:
    archive.write_gps()
    archive.write_truth()
    truth = archive.root.parent / "sequence01_gt.txt"
    rows = [line.split() for line in truth.read_text().splitlines()]
    archive.write(truth, [" ".join([row[0], str(30 * math.sin(k)), "0"]) for k, row in enumerate(rows)])
    assert any(note.startswith("warning: the ground truth turned by") for note in found(archive)[0])
    archive.write(truth, [" ".join([str(float(row[0]) + 1e5), *row[1:3]]) for row in rows])
    assert any("rows have fixes around them: is it of this sequence?" in note for note in found(archive)[0])


def test_what_receiver_s_log_lacks_is_counted_and_its_clock_compared(archive: TinyRosario) -> None:
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
def test_sequence_that_is_shorter_than_paper_s_is_noted(tmp_path: Path, number: int, text: str) -> None:
    archive = TinyRosario(tmp_path / f"sequence0{number}", number=number, seconds=SECONDS)
    archive.root.mkdir()
    write_imu(archive, bumpy)
    notes, defects = found(archive)
    assert any(f"sequence {number} of the paper: {text}" in note for note in notes)
    assert defects == []


BASE_R_IMU = Rotation.from_quat(tiny.CALIBRATION["imu"]["rotation_imu_baselink"]).as_matrix()  # type: ignore[index]
WHEELBASE_M, TRACK_M, M_S_PER_RPM = 1.6, 1.054, math.pi * 0.57 / 60


class Drive:
    """Half a minute of bends at walking pace: wheels, gyroscope and RTK tell the same, unless a number is changed."""

    per_rpm = M_S_PER_RPM  # what one unit of the log's wheels is in m/s
    swapped = False  # left and right
    zero, sign = 5.67, 1  # of the steering

    def __init__(self, archive: TinyRosario) -> None:
        self.archive = archive

    def write(self, *, cleaned: bool = False) -> None:
        self._write_odometry(cleaned=cleaned)
        self._write_imu()
        self._write_gps()

    def steering_rad(self, t: float) -> float:
        return math.radians(8.0) * math.sin(t / 3)

    def speed_m_s(self, t: float) -> float:
        return 0.9 + 0.2 * math.sin(t / 5)

    def turn_rad_s(self, t: float) -> float:
        return self.speed_m_s(t) / WHEELBASE_M * math.tan(self.steering_rad(t))

    def units(self, t: float) -> float:
        return -self.sign * math.degrees(self.steering_rad(t)) / 0.19 - self.zero

    def _write_odometry(self, *, cleaned: bool) -> None:
        lines = []
        for t, text, _ in tiny.times(10, SECONDS):
            left, right = ((self.speed_m_s(t) + side * self.turn_rad_s(t) * TRACK_M / 2) / self.per_rpm
                           for side in ((1, -1) if self.swapped else (-1, 1)))  # fmt: skip
            fields = ["0"] * 16
            fields[9], fields[13] = f"{left:.4f}", f"{right:.4f}"
            raw = f"{text} odom: {','.join(fields)},{self.units(t):.3f},0)"
            lines.append(f"{text} {left:.4f} {right:.4f} {self.units(t) + 5.67:.3f} 1" if cleaned else raw)
        self.archive.write(self.archive.root / "odometry_raw.log", lines)

    def _write_imu(self) -> None:
        def row(t: float, chance: random.Random) -> list[float]:
            rates = np.degrees(BASE_R_IMU.T @ [0, 0, self.turn_rad_s(t)]) + np.array([0.5, -0.25, 0.125])
            return [*(rate + chance.gauss(0, 2) for rate in rates), 915 + chance.gauss(0, 150), 0.0, -400.0]

        write_imu(self.archive, row)

    def write_fixes_alone(self) -> None:
        """GGA on a straight line eastwards, as far as the speed makes it."""
        lines, gone = [], 0.0
        for t, text, _ in tiny.times(5, SECONDS):
            lines.append(f"{text} gps: {tiny.gga(gone / 2)}")  # which goes 2 m in a second, and north by its square
            gone += self.speed_m_s(t) / 5
        self.archive.write(self.archive.root / "gps.log", lines)

    def _write_gps(self) -> None:
        lines = []
        for t, text, _ in tiny.times(5, SECONDS):
            body = f"GPRMC,1525{45 + t % 15:05.2f},A,3301.8000000,S,06052.8000000,W,{self.speed_m_s(t) / 0.514444:.6f}"
            lines.append(f"{text} gps: {tiny.sentence(body + ',090.0,261217,,,A')}")
        self.archive.write(self.archive.root / "gps.log", lines)


@pytest.fixture
def drive(archive: TinyRosario) -> Drive:
    return Drive(archive)


def mismatches(archive: TinyRosario, **parameters: object) -> list[str]:
    with open_dataset(archive.root, None, parameters) as opened:
        check_settings(opened)
        return [defect.message for defect in opened.defects.listed if defect.kind == "unit_mismatch"]


@pytest.mark.parametrize("cleaned", [False, True])
def test_wheels_that_fit_rtk_and_gyroscope_are_measured_in_silence(drive: Drive, cleaned: bool) -> None:
    drive.write(cleaned=cleaned)
    notes, defects = found(drive.archive)
    assert defects == []
    output = " ".join(note for note in notes if "wheel" in note or "steering" in note)
    form = (
        r"measured: the rear wheels, taken for rpm, are (\S+) times as fast as the antenna by RTK "
        r"measured: the right wheel is faster in turns to the left as by a track of (\S+) m "
        r"measured: a unit of the steering turns by (\S+) deg "
        r"measured: the robot drives straight on at (\S+) units of the steering"
    )
    measured = re.fullmatch(form, output)
    assert measured, output
    assert [float(text) for text in measured.groups()] == pytest.approx([1, TRACK_M, 0.19, -5.67], rel=0.05)


def test_wheels_in_m_s_are_reported(drive: Drive) -> None:
    drive.per_rpm = 1.0
    drive.write()
    (message,) = mismatches(drive.archive)
    assert message.startswith("the rear wheels, taken for rpm, are 0.030 times as fast as the antenna by RTK")
    assert message.endswith("wheel_unit=rpm does not fit, --set wheel_unit=m/s would")
    assert mismatches(drive.archive, wheel_unit="m/s") == []
    rates = messages_of(drive.archive.root, Selection(topics="joint_states"), wheel_unit="m/s")["wheels/joint_states"]
    assert rates[0][1].velocity[:2].mean() == pytest.approx(0.9 / 0.285, rel=1e-4)


def test_speed_is_that_of_fixes_where_receiver_gives_none(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiny, "place_at", lambda t: (2.0 * t, 0.0))
    drive.per_rpm = 1.0
    drive.write()
    drive.write_fixes_alone()
    (message,) = mismatches(drive.archive)
    assert message.endswith("wheel_unit=rpm does not fit, --set wheel_unit=m/s would")
    assert mismatches(drive.archive, wheel_unit="m/s") == []


def test_wheels_of_no_known_unit_are_reported(drive: Drive) -> None:
    drive.per_rpm = M_S_PER_RPM / 5
    drive.write()
    (message,) = mismatches(drive.archive)
    assert message.endswith("are 5.000 times as fast as the antenna by RTK; wheel_unit=rpm does not fit")


def test_left_and_right_wheels_that_are_swapped_are_reported(drive: Drive) -> None:
    drive.swapped = True
    drive.write()
    (message,) = mismatches(drive.archive)
    assert "of -1.0" in message and "left_wheel_field=9 does not fit, --set left_wheel_field=13 would" in message
    assert mismatches(drive.archive, left_wheel_field=13) == []


def test_steering_of_another_zero_or_sign_is_reported(drive: Drive) -> None:
    drive.zero = -20.0
    drive.write()
    (message,) = mismatches(drive.archive)
    assert "steering_zero_units=5.67 does not fit, --set steering_zero_units=-" in message
    fitting = float(message.split("=")[-1].split()[0])
    assert fitting == pytest.approx(-20.0, abs=0.5)
    assert mismatches(drive.archive, steering_zero_units=-20.0) == []
    drive.zero, drive.sign = 5.67, -1
    drive.write()
    (message,) = mismatches(drive.archive)
    assert message.endswith("steering_sign=1 does not fit, --set steering_sign=-1 would")
    assert mismatches(drive.archive, steering_sign=-1) == []


@pytest.mark.parametrize("cleaned", [False, True])
def test_steering_that_robot_cannot_do_is_defect(drive: Drive, cleaned: bool) -> None:
    drive.write(cleaned=cleaned)
    path = drive.archive.root / "odometry_raw.log"
    lines = path.read_text().splitlines()
    for row in (6, 7):
        text = lines[row].split(" " if cleaned else ",")
        text[3 if cleaned else 16] = str(300.0 + 5.67 * cleaned)
        lines[row] = (" " if cleaned else ",").join(text)
    path.write_text("\n".join(lines) + "\n")
    _, defects = found(drive.archive)
    (defect,) = [defect for defect in defects if defect.kind == "out_of_range"]
    assert (defect.file, defect.row, defect.stream) == ("odometry_raw.log", 7, "wheel_joints")
    assert "expected at most 19 deg to either side, got 57.00 deg, and in 1 more rows" in defect.message
    assert len(messages_of(drive.archive.root, Selection(topics="joint_states"))["wheels/joint_states"]) == 300


def test_what_is_known_of_sequence_goes_into_bag_s_metadata(archive: TinyRosario) -> None:
    archive.write_odometry()
    with open_dataset(archive.root) as opened:
        assert opened.recording["name"] == "sequence 1" and opened.recording["condition"] == "easy"
        assert opened.recording["notes"].startswith("3 turns of 180 degrees")
