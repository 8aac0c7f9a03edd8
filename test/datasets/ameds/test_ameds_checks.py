"""What the AMEDS paper leaves open is measured in the data: said where a setting does not fit, silent where it does."""

import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from scipy.spatial.transform import Rotation

from fieldplay.cli.main import main
from fieldplay.core.errors import Defect
from fieldplay.datasets.registry import open_dataset
from fieldplay.io import table
from fieldplay.io.table import Tables
from fieldplay.io.table_rows import TimedRows
from fieldplay.topics.topic_checks import check_settings

START = 1656931512
SECONDS = 4
TICKS_PER_RAD = 1 / 1.924102418e-5
SIGNS = (-1, 1, 1, -1)
RADIUS_M = 0.15
DRIVEN_RAD = 0.5
TICKS_PER_TURN = 30000

Row = Callable[[float], Sequence[float]]


def rates(t: float) -> list[float]:
    """Turn rates of the body, FRD, rad/s: the rover sways."""
    return [0.1 * math.sin(3 * t), 0.05 * math.cos(2 * t), 0.2 * math.sin(t)]


def steered(t: float) -> float:
    return 0.3 * math.sin(t)


class Rover:
    """A drive of some seconds, whose tables may be written in other units or conventions than the paper's."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        self.write_imu()
        self.write_pose()
        self.write("GnssBodyAngularVelocity.csv", 100, rates)
        self.write_platform()
        self.write_wheels()

    def write(self, name: str, rate_hz: int, row: Row) -> None:
        times = [index / rate_hz for index in range(SECONDS * rate_hz)]
        lines = [f"{START + t:.2f}," + ",".join(map(repr, map(float, row(t)))) for t in times]
        (self.root / name).write_text("\n".join(lines) + "\n")

    def write_imu(
        self, *, gyro: float = math.degrees(1), mag: float = 1.0, down: float = -1.0, pressure: float = 1.0
    ) -> None:
        """Factors on the gyroscope (rad/s), the magnetometer (G), gravity (g) and the pressure (Pa)."""

        def row(t: float) -> list[float]:
            gyroscope = [gyro * rate + 0.001 * math.sin(90 * t) for rate in rates(t)]
            return [0.1, 0.2, down * 9.81, *gyroscope, 0.27 * mag, 0, 0.36 * mag, 31, 74000 * pressure, 12]

        self.write("GnssImu.csv", 100, row)

    def write_pose(self, *, offset_s: float = 0.25, drift: float = 0.0, angle: float = 1.0) -> None:
        """How far the device's clock is behind, how fast it drifts, and the unit of latitude in rad."""

        def row(t: float) -> list[float]:
            position = [math.radians(37.72351) * angle, math.radians(15.00668) * angle, 2639.838]
            return [START + t * (1 - drift) - offset_s, *position, 0.01, 0.02, 0.03, 0.1, 0.0, 1.0, 7]

        self.write("GnssPose.csv", 100, row)

    def write_platform(self, *, sign: float = -1.0) -> None:
        """The sign of the turn rate against that of the INS: its z axis points down."""
        self.write("Platform2DVelocity.csv", 50, lambda t: [0.3, 0, sign * rates(t)[2], 0.1, 0.1, 0.1])

    def write_wheels(self, *, zero_deg: float = 0.0) -> None:
        """What the steering angles show when the wheels stand straight."""
        speed = 0.3

        def ticks(t: float) -> list[float]:
            driven = speed * t / RADIUS_M / (2 * math.pi) * TICKS_PER_TURN
            return [speed] * 8 + [driven] * 4 + [sign * steered(t) * TICKS_PER_RAD for sign in SIGNS]

        self.write("PlatformMotorEncoders.csv", 50, ticks)
        self.write_wheel_poses(zero_deg=zero_deg)

    def write_wheel_poses(
        self, *, zero_deg: float = 0.0, angles: str = "fixed xyz", positions: bool = False, shift_m: float = 0.0
    ) -> None:
        """Wheels that have turned by 0.5 rad at any time, in one of the orders of angles."""

        def row(t: float) -> list[float]:
            results: list[float] = []
            for x, y, side in ((0.402, 0.396, 1), (-0.402, 0.396, 1), (-0.402, -0.396, -1), (0.402, -0.396, -1)):
                wheel = [x - side * 0.143 * math.sin(steered(t)), y + side * 0.143 * math.cos(steered(t)), -0.135]
                turn = Rotation.from_rotvec([0, 0, steered(t) + side * math.pi / 2]) * Rotation.from_rotvec(
                    [side * DRIVEN_RAD, 0, 0]
                )
                location = [wheel[0] + shift_m, *wheel[1:]] if positions else []
                order = angles.removeprefix("fixed ").removeprefix("moving ")
                results += [*location, *turn.as_euler(order if angles.startswith("fixed") else order.upper())]
            return [*results, *[DRIVEN_RAD] * 4, *[math.radians(zero_deg) + steered(t)] * 4]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scipy's, of angles that are not unique
            self.write("PlatformWheelPoseEstimate.csv", 100, row)


@pytest.fixture
def rover(tmp_path: Path) -> Rover:
    return Rover(tmp_path / "Traverse_0")


def measured(rover: Rover, **parameters: Any) -> tuple[list[Defect], list[str]]:
    """The defects that the checks find, and what they note."""
    with open_dataset(rover.root, None, parameters) as archive:
        before = archive.defects.total
        check_settings(archive)
        return archive.defects.listed[before:], [note for note in archive.notes if note.startswith("measured: ")]


def test_data_that_fit_settings_are_measured_in_silence(rover: Rover) -> None:
    defects, notes = measured(rover)
    assert defects == []
    drive = [note for note in notes if "drive angles are" in note]  # the estimates of this archive have none
    assert len(drive) == 1
    poses = [note for note in notes if "roll, pitch, yaw" in note]
    (best,) = (note.partition(" (")[0] for note in poses)
    assert best.endswith("fit their angles best as fixed x y z, steering from 0 deg: 0.00 deg")
    assert [note for note in notes if note not in drive + poses] == [
        "measured: gyroscope against GnssBodyAngularVelocity has the slope 57.296",
        "measured: the magnetic field has a norm of 0.45 (at Etna 0.45 G or 450 mG)",
        "measured: the accelerometer shows -9.81 along its z axis (down)",
        "measured: RTK (fixed) in 100.0 % of GnssPose's rows: RTK fixed 100.0 %",
        "measured: the host's clock is +0.250000 s against the INS's, with a spread (5 to 95 %) of 0.000000 s",
        "measured: platform_velocity: the turn rate against the INS's has the slope -1.000",
        "measured: steering angles are +0.00 deg from those of the ticks",
        "measured: drive speed and ticks together give a wheel radius of 0.1500 m",
    ]


TRAPS: dict[str, tuple[Callable[[Rover], None], str, object, str]] = {
    "gyroscope in rad/s": (
        lambda rover: rover.write_imu(gyro=1.0), "gyro_unit", "rad/s",
        "gyroscope against GnssBodyAngularVelocity has the slope 1.000; gyro_unit=deg/s does not fit",
    ),
    "magnetometer in mG": (
        lambda rover: rover.write_imu(mag=1000.0), "magnetometer_unit", "mG",
        "the magnetic field has a norm of 450 (at Etna 0.45 G or 450 mG); magnetometer_unit=G does not fit",
    ),
    "accelerometer that shows up": (
        lambda rover: rover.write_imu(down=1.0), "accelerometer_sign", -1,
        "the accelerometer shows 9.81 along its z axis (down); accelerometer_sign=1 does not fit",
    ),
    "platform axes that look down": (
        lambda rover: rover.write_platform(sign=1.0), "platform_axes", "frd",
        "platform_velocity: the turn rate against the INS's has the slope 1.000; platform_axes=flu does not fit",
    ),
    "steering from 90 degrees": (
        lambda rover: rover.write_wheels(zero_deg=90.0), "steering_zero_deg", 90.0,
        "steering angles are +90.00 deg from those of the ticks; steering_zero_deg=0.0 does not fit",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TRAPS)
def test_setting_that_data_contradict_is_reported_with_what_would_fit(name: str, rover: Rover) -> None:
    write, parameter, fits, message = TRAPS[name]
    write(rover)
    ((defect,), _) = measured(rover)
    of_file = {"platform_axes": "Platform2DVelocity.csv", "steering_zero_deg": "PlatformWheelPoseEstimate.csv"}
    file = of_file.get(parameter, "GnssImu.csv")
    assert (defect.kind, Path(defect.file).name, defect.row) == ("unit_mismatch", file, None)
    assert defect.message == f"{message}, --set {parameter}={fits} would"
    assert measured(rover, **{parameter: fits})[0] == []


@pytest.mark.parametrize("name", TRAPS)
def test_setting_that_was_turned_without_need_is_reported_too(name: str, rover: Rover) -> None:
    _, parameter, other, _ = TRAPS[name]
    ((defect,), _) = measured(rover, **{parameter: other})
    assert defect.message.count(f"; {parameter}={other} does not fit, --set {parameter}=") == 1


@pytest.mark.parametrize("order", ["fixed xyz", "moving xyz", "fixed zxz", "moving zxz"])
@pytest.mark.parametrize("zero_deg", [0.0, 90.0])
def test_order_of_wheels_angles_is_detected(order: str, zero_deg: float, rover: Rover) -> None:
    rover.write_wheel_poses(angles=order, zero_deg=zero_deg)
    defects, notes = measured(rover, steering_zero_deg=zero_deg)
    assert defects == []
    kind, letters = order.split()
    requested = " ".join([kind, *letters])
    (note,) = (note for note in notes if "roll, pitch, yaw" in note)
    assert f"best as {requested}, steering from {zero_deg:g} deg: 0.00 deg (" in note


@pytest.mark.parametrize(("shift_m", "kinds"), [(0.0, []), (0.05, ["pose_mismatch"])])
def test_places_of_wheels_are_compared_where_there_are_any(shift_m: float, kinds: list[str], rover: Rover) -> None:
    rover.write_wheel_poses(positions=True, shift_m=shift_m)
    defects, notes = measured(rover)
    assert [defect.kind for defect in defects] == kinds
    assert f"measured: the wheels' places are {shift_m * 1e3:.1f} mm from those of their steering angles" in notes


def test_wheel_poses_that_fit_no_reading_are_defect(rover: Rover) -> None:
    rover.write("PlatformWheelPoseEstimate.csv", 100, lambda t: [1.0] * 12 + [0.5] * 4 + [steered(t)] * 4)
    ((defect,), _) = measured(rover)
    assert (defect.kind, defect.stream) == ("pose_mismatch", "wheel_estimate")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda rover: rover.write_imu(gyro=-1.0), "slope -1.000; gyro_unit=deg/s does not fit"),
        (lambda rover: rover.write_imu(down=0.0), "shows 0.00 along its z axis (down); accelerometer_sign=1 does"),
        (lambda rover: rover.write_platform(sign=0.01), "has the slope 0.010; platform_axes=flu does not fit"),
        (lambda rover: rover.write_wheels(zero_deg=45.0), "+45.00 deg from those of the ticks; steering_zero_deg="),
    ],
)  # fmt: skip
def test_data_that_fit_no_setting_are_reported_without_advice(
    write: Callable[[Rover], None], message: str, rover: Rover
) -> None:
    write(rover)
    defect, *others = measured(rover)[0]
    assert {other.kind for other in others} <= {"pose_mismatch"}
    assert message in defect.message
    assert "--set" not in defect.message


@pytest.mark.parametrize(
    ("write", "file", "kind", "message"),
    [
        (lambda rover: rover.write_pose(angle=math.degrees(1)), "GnssPose.csv", "implausible_unit",
         "expected rad, got 37.724, 15.007, which look like deg"),
        (lambda rover: rover.write_imu(pressure=0.01), "GnssImu.csv", "implausible_unit", "expected Pa, got 740"),
        (lambda rover: rover.write_pose(offset_s=7200.0), "GnssPose.csv", "clock_offset",
         "the host's clock is +7200.000000 s against the INS's"),
        (lambda rover: rover.write_pose(drift=0.5), "GnssPose.csv", "clock_offset", "a spread (5 to 95 %) of 1.79"),
    ],
)  # fmt: skip
def test_what_no_setting_cures_is_reported_with_its_file(
    write: Callable[[Rover], None], file: str, kind: str, message: str, rover: Rover
) -> None:
    write(rover)
    ((defect,), _) = measured(rover)
    assert (defect.file, defect.kind) == (file, kind)
    assert message in defect.message


def test_one_row_beyond_all_measure_does_not_speak_for_rest(rover: Rover) -> None:
    table = rover.root / "GnssPose.csv"
    first, rest = table.read_text().split("\n", 1)
    fields = first.split(",")
    fields[2] = "37.7"
    table.write_text(",".join(fields) + "\n" + rest)
    assert measured(rover)[0] == []


def test_rover_that_stands_gives_nothing_of_its_rates(rover: Rover) -> None:
    rover.write("GnssBodyAngularVelocity.csv", 100, lambda t: [0.0001, 0, 0])
    defects, notes = measured(rover)
    assert defects == []
    assert not any("slope" in note for note in notes)


@pytest.mark.parametrize("name", ["GnssImu", "GnssPose", "GnssBodyAngularVelocity", "PlatformMotorEncoders"])
def test_what_is_missing_is_not_measured_and_rest_is(name: str, rover: Rover) -> None:
    (rover.root / f"{name}.csv").unlink()
    defects, notes = measured(rover)
    assert defects == []
    assert notes


def test_measuring_reads_samples_and_never_table_as_whole(rover: Rover, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "BLOCK_SIZE", 500)  # some five rows
    read: list[int] = []
    between = Tables.rows_between

    def counted(self: Tables, first_ns: int, last_ns: int) -> TimedRows:
        rows = between(self, first_ns, last_ns)
        read.append(len(rows))
        return rows

    monkeypatch.setattr(Tables, "rows_between", counted)
    defects, notes = measured(rover)
    assert (defects, len(notes)) == ([], 10)
    assert 16 <= len(read) <= 3 * 16
    assert max(read) < 30


def test_info_shows_what_was_measured_and_what_does_not_fit(rover: Rover, capsys: pytest.CaptureFixture[str]) -> None:
    rover.write_imu(gyro=1.0)
    assert main(["info", "--verbose", str(rover.root)]) == 0
    out = capsys.readouterr().out
    assert "  note: measured: gyroscope against GnssBodyAngularVelocity has the slope 1.000\n" in out
    assert "  note: measured: drive speed and ticks together give a wheel radius of 0.1500 m\n" in out
    assert "  GnssImu.csv: gyroscope against GnssBodyAngularVelocity has the slope 1.000; gyro_unit=deg/s" in out


@pytest.mark.parametrize("speed", [0.05, 0.4, -0.7])
def test_wheel_radius_is_right_though_ticks_are_whole(tmp_path: Path, speed: float) -> None:
    """A slow wheel turns by a few ticks from row to row, which single steps cannot tell well."""
    rover = Rover(tmp_path / "rover")
    ticks_per_m = TICKS_PER_TURN / (2 * math.pi * 0.2)

    def row(t: float) -> list[float]:
        ticks = [round(7 * wheel + speed * t * ticks_per_m) for wheel in range(4)]
        return [speed] * 8 + [float(value) for value in ticks] + [0.0] * 4

    rover.write("PlatformMotorEncoders.csv", 50, row)
    with open_dataset(rover.root) as archive:
        for each in archive.checks:
            each(archive)
        (result,) = (note for note in archive.notes if "wheel radius" in note)
    assert result == "measured: drive speed and ticks together give a wheel radius of 0.2000 m"


@pytest.mark.parametrize(("down", "kinds"), [(0.3, []), (-9.81, ["gravity_in_acceleration"])])
def test_whether_gravity_is_in_body_s_acceleration_is_measured(tmp_path: Path, down: float, kinds: list[str]) -> None:
    rover = Rover(tmp_path / "rover")
    rover.write("GnssBodyAcceleration.csv", 100, lambda t: [0.1, 0.2 * math.sin(t), down])
    with open_dataset(rover.root) as archive:
        for each in archive.checks:
            each(archive)
        assert any(note.startswith("measured: GnssBodyAcceleration has a norm of ") for note in archive.notes)
        result = [defect.kind for defect in archive.defects.listed if defect.stream == "acceleration"]
    assert result == kinds


def test_fraction_of_rtk_is_measured_by_all_rows(rover: Rover) -> None:
    path = rover.root / "GnssPose.csv"
    lines = path.read_text().splitlines()
    for row in range(100):
        lines[row] = lines[row].rpartition(",")[0] + (",6" if row < 40 else ",4")
    path.write_text("\n".join(lines) + "\n")
    _, notes = measured(rover)
    (message,) = (note for note in notes if "RTK" in note)
    assert message == (
        "measured: RTK (fixed) in 75.0 % of GnssPose's rows: RTK fixed 75.0 %, differential 15.0 %, RTK float 10.0 %"
    )
