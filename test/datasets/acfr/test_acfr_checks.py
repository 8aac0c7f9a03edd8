"""What is measured in an archive of ACFR: which set it is, when sensors run, where they look, how large wheels are."""

import math
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

from fieldplay.datasets.acfr.report_sets import (
    KnownSet,
    set_at,
    set_of_name,
    sets_of,
)
from support import tiny_acfr_places as places
from support.acfr_checked import inspected, noted
from support.archive_messages import messages_of, notes_of
from support.tiny_acfr import START, TinyAcfr

CONFIG = Path(__file__).parents[3] / "config" / "datasets" / "acfr.yaml"
CONSTANTS = yaml.safe_load(CONFIG.read_text())["constants"]
LASER_YAW_DEG = -1.631319
STANDING = [6154241.229, 225261.411, -600.0, *[0.0] * 9]


@pytest.fixture
def archive(tmp_path: Path) -> TinyAcfr:
    return TinyAcfr(tmp_path / "some drive")


def known(number: int) -> KnownSet:
    (result,) = (entry for entry in sets_of(CONSTANTS) if entry.number == number)
    return result


def test_report_s_sets_are_39_of_which_13_is_none() -> None:
    numbers = [entry.number for entry in sets_of(CONSTANTS)]
    assert numbers == [number for number in range(1, 41) if number != 13]
    for entry in sets_of(CONSTANTS):
        assert int(entry.name[:2]) == entry.number
        assert entry.end_s - entry.start_s == pytest.approx(entry.duration_s, abs=1.5e-3)
        assert ("Static" in entry.name) == entry.is_static == (entry.number <= 24)
    starts = [entry.start_s for entry in sets_of(CONSTANTS)]
    assert starts == sorted(starts)
    assert (known(5).duration_s, known(12).start_s, known(40).end_s) == (66.165, 1224058839.207, 1224230243.984)


def test_set_is_known_by_its_name_and_by_its_time() -> None:
    for entry in sets_of(CONSTANTS):
        assert set_of_name(entry.name, CONSTANTS) == entry
        assert set_of_name(f"{entry.name.upper()}.zip", CONSTANTS) == entry
        assert set_at(round((entry.start_s + 5) * 1e9), round((entry.end_s - 5) * 1e9), CONSTANTS) == entry
    assert set_of_name("13-StaticClear", CONSTANTS) is None
    assert set_at(1224100000 * 10**9, 1224100100 * 10**9, CONSTANTS) is None


def test_info_names_set_with_its_local_time(archive: TinyAcfr) -> None:
    archive.write_nav()
    note = noted(notes_of(archive.root), "of the report")
    assert note.startswith("set 29-DynamicDayTriangleClear of the report: open area (triangle), clear; 2008-10-17")
    assert noted(notes_of(archive.root), "visual camera: gain") == "visual camera: gain 0 (day), 10 Hz by the report"
    moved(archive, "122415887")
    assert noted(notes_of(archive.root), "visual camera: gain") == "visual camera: gain 20 (night), 10 Hz by the report"
    assert "10:12:13 local time, 378.212 s in which all sensors have data" in note


def test_folder_that_is_called_as_another_set_is_reported(tmp_path: Path) -> None:
    archive = TinyAcfr(tmp_path / "07-StaticSmoke")
    archive.write_nav()
    warning = noted(notes_of(archive.root), "warning: the folder is called 07-StaticSmoke")
    assert warning.endswith("recorded at a time of 29-DynamicDayTriangleClear")


def test_there_is_no_set_13_and_what_is_of_no_set_is_not_named(tmp_path: Path) -> None:
    archive = TinyAcfr(tmp_path / "13-StaticClear")
    line = archive.line("1300000000.0", "NAV_DATA", *map(repr, STANDING), *["0"] * 144)
    archive.write("Nav/NavQAsciiData.txt", [line])
    notes = notes_of(archive.root)
    assert "13-StaticClear: the report has no set 13" in notes
    assert not any("of the report:" in note for note in notes)


@pytest.mark.parametrize("name", ["VisualCameraCalibration", "IRcameraCalibration", "RangeSensorsCalibration"])
def test_sets_for_calibration_are_known(tmp_path: Path, name: str) -> None:
    archive = TinyAcfr(tmp_path / name)
    archive.write_lasers()
    assert noted(notes_of(archive.root), f"{name}: the report's set for calibration: lasers")


def drive(archive: TinyAcfr, first_s: float, last_s: float) -> list[str]:
    """A line of navigation each second."""
    return [
        archive.line(places.text_at(t - START, 3), "NAV_DATA", *map(repr, STANDING), *["0"] * 144)
        for t in np.arange(first_s, last_s, 1.0)
    ]


def test_time_in_which_all_sensors_have_data_is_compared_with_report(archive: TinyAcfr) -> None:
    whole = known(29)
    lines = drive(archive, whole.start_s + 0.4, whole.end_s)
    archive.write("Nav/NavQAsciiData.txt", lines)
    note = noted(inspected(archive)[0], "all sensors have data for")
    assert note.startswith("measured: all sensors have data for 377.000 s, from 1224198733.514 to 1224199110.514")
    assert note.endswith("the report has 378.212 s, from 1224198733.114 to 1224199111.326")
    archive.write("Nav/NavQAsciiData.txt", lines[:200])
    note = noted(inspected(archive)[0], "all sensors have data for")
    assert note.startswith("warning: all sensors have data for 199.000 s")
    assert note.endswith("this is a part of it, or some sensors start late or end early")


def test_sensors_that_start_late_or_end_early_are_reported_each(archive: TinyAcfr) -> None:
    archive.write("Nav/NavQAsciiData.txt", drive(archive, START, START + 20))
    places.write_radar(archive, [(14.5 + index / 100, 1.0, 5.0, 1.0) for index in range(200)])
    notes, _ = inspected(archive)
    late = noted(notes, "streams that start after the first")
    assert late == "measured: streams that start after the first: radar_points 14.500 s"
    early = noted(notes, "streams that end before the last")
    assert early.startswith("measured: streams that end before the last: radar_points 4.")


def poles(angle_deg: float) -> float:
    """The frame's poles as LaserHorizontal has them, clockwise from its own x, before a wall."""
    bearing = angle_deg + LASER_YAW_DEG
    if abs(bearing + 32.96) < 0.8:
        return 3.492
    return 3.794 if abs(bearing - 39.44) < 0.8 else 20.0


def mirrored(angle_deg: float) -> float:
    return poles(-angle_deg)


def nothing(angle_deg: float) -> float:
    return 20.0


def standing_at(root: Path, start: str) -> TinyAcfr:
    """A set in which the vehicle stands, all of whose times begin with other digits; see `moved`."""
    archive = TinyAcfr(root / "standing", dynamic=False)
    places.write_nav(archive, [STANDING] * 20, places.any_covariance())
    moved(archive, start)
    return archive


def moved(archive: TinyAcfr, start: str, *, before: str = str(START)[:9]) -> None:
    """Let the times of all logs begin with these nine digits instead of the first nine of START."""
    for path in archive.root.rglob("*.txt"):
        path.write_text(path.read_text().replace(before, start))


SET_14, SET_22, NO_SET = "122411243", "122412233", "122410003"


@pytest.mark.parametrize("start", [SET_14, NO_SET])
def test_frame_s_poles_are_found_where_report_has_them(tmp_path: Path, start: str) -> None:
    static = standing_at(tmp_path, start)
    places.write_scans(static, poles)
    moved(static, start)
    notes, defects = inspected(static)
    assert defects == []
    note = noted(notes, "LaserHorizontal in the static scene")
    assert "(expected -33.0 deg, 3.49 m)" in note and "(expected +39.4 deg, 3.79 m)" in note
    value = [float(part.split(" deg")[0]) for part in note.split("pole at ")[1:]]
    np.testing.assert_allclose(value, [-32.96, 39.44], atol=0.8)


@pytest.mark.parametrize("start", [SET_14, NO_SET])
def test_poles_that_are_seen_left_for_right_are_defect(tmp_path: Path, start: str) -> None:
    static = standing_at(tmp_path, start)
    places.write_scans(static, mirrored)
    moved(static, start)
    _, (defect,) = inspected(static)
    assert defect.kind == "laser_sense"
    assert "left for right: left frame pole not seen" in defect.message


def test_poles_that_are_not_seen_are_reported_for_set_of_report_only(tmp_path: Path) -> None:
    static = standing_at(tmp_path, SET_14)
    places.write_scans(static, nothing)
    moved(static, SET_14)
    notes, defects = inspected(static)
    assert defects == []
    assert "right frame pole not seen (expected at +39.4 deg, 3.79 m)" in noted(notes, "static scene: left frame pole")
    moved(static, NO_SET, before=SET_14)
    assert not any("LaserHorizontal in" in note for note in inspected(static)[0])


# Ranges and bearings (right positive) from the vehicle's sensor frame, of the objects in the plan of the scene.
SIGHTS = {
    "left frame pole": (3.492, -32.96), "right frame pole": (3.794, 39.44), "left laser pole": (6.254, -19.91),
    "right laser pole": (7.030, 20.83), "radar reflector": (6.224, -9.43), "ground reflector": (10.746, 3.15),
    "rear left frame pole": (12.38, -8.8),
}  # fmt: skip


@pytest.mark.parametrize(("start", "absent"), [(SET_14, {"radar reflector", "ground reflector"}), (SET_22, set())])
def test_objects_of_static_scene_stand_around_vehicle_in_map(tmp_path: Path, start: str, absent: set[str]) -> None:
    yaw = 0.5  # clockwise from the grid's north
    static = TinyAcfr(tmp_path / "standing", dynamic=False)
    places.write_nav(static, [[*STANDING[:8], yaw, *STANDING[9:]]] * 20, places.any_covariance())
    moved(static, start)
    messages = messages_of(static.root)
    ((_, array),) = messages["reference_objects"]
    stamp, odometry = messages["nav/odom"][0]
    vehicle = odometry.pose.pose.position
    markers = {marker.ns: marker for marker in array.markers}
    assert len(array.markers) == len(markers) == 15 and [marker.id for marker in array.markers] == [*range(15)]
    assert {marker.header.frame_id for marker in array.markers} == {"map"}
    assert {m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in array.markers} == {stamp}
    assert {name for name, marker in markers.items() if marker.color.a < 0.5} == absent
    for name, (range_m, bearing_deg) in SIGHTS.items():
        at = markers[name].pose.position
        east, north = at.x - vehicle.x, at.y - vehicle.y
        assert math.hypot(east, north) == pytest.approx(range_m, abs=6e-3)
        assert math.degrees(math.atan2(east, north) - yaw) == pytest.approx(bearing_deg, abs=0.06)
    laser_pole, table = markers["left laser pole"], markers["table"]
    assert (laser_pole.type, laser_pole.scale.z) == (3, 1.75)
    assert laser_pole.pose.position.z - vehicle.z == pytest.approx(1.75 / 2 - 0.93)
    assert (table.type, table.scale.y, table.scale.z) == (1, pytest.approx(0.92), pytest.approx(1.22))
    assert 2 * math.atan2(table.pose.orientation.z, table.pose.orientation.w) == pytest.approx(math.pi / 2 - yaw)


def test_other_sets_have_no_objects_and_one_without_navigation_reports_it(archive: TinyAcfr, tmp_path: Path) -> None:
    archive.write_nav()
    assert "reference_objects" not in messages_of(archive.root)
    static = TinyAcfr(tmp_path / "14-StaticMorningClear", dynamic=False)
    places.write_scans(static, poles)
    moved(static, SET_14)
    assert "as there is no navigation" in noted(notes_of(static.root), "reference_objects")


def reflector(*, sense: int) -> list[tuple[float, float, float, float]]:
    """Turns of the radar past the reflector at 6.22 m, -9.43 degrees, as its mounting as printed sees it."""
    mounting = Rotation.from_euler("ZYX", [173.278081, 191.161703, -0.151571], degrees=True).as_matrix()
    angles = np.radians((np.arange(500) * 2.88) % 360)
    rays = mounting @ np.stack([np.cos(angles), np.sin(sense * angles), np.zeros(500)])
    bearings, flat = np.degrees(np.arctan2(rays[1], rays[0])), np.hypot(rays[0], rays[1])
    ranges = np.where(np.abs(bearings + 9.43) < 2, 6.224 / flat, 25.0)
    return [(index / 1000, float(angles[index]), float(ranges[index]), 60.0) for index in range(500)]


@pytest.mark.parametrize("start", [SET_22, NO_SET])
def test_reflector_gives_sense_of_radar_s_angle(tmp_path: Path, start: str) -> None:
    static = standing_at(tmp_path, start)
    places.write_radar(static, reflector(sense=1))
    moved(static, start)
    notes, defects = inspected(static)
    assert defects == []
    note = noted(notes, "the radar in the static scene")
    assert note.startswith("measured") and "(expected -9.4 deg, 6.22 m)" in note
    assert float(note.split("reflector at ")[1].split(" deg")[0]) == pytest.approx(-9.43, abs=2)
    _, (defect,) = inspected(static, radar_angle_sense=-1)
    assert defect.kind == "radar_sense" and defect.message.endswith("--set radar_angle_sense=1 would reverse it")


def test_radar_that_turns_other_way_is_reported(tmp_path: Path) -> None:
    static = standing_at(tmp_path, SET_22)
    places.write_radar(static, reflector(sense=-1))
    moved(static, SET_22)
    _, (defect,) = inspected(static)
    assert defect.kind == "radar_sense"
    assert inspected(static, radar_angle_sense=-1)[1] == []


def test_no_reflector_is_sought_in_sets_that_have_none(tmp_path: Path) -> None:
    static = standing_at(tmp_path, SET_14)
    places.write_radar(static, reflector(sense=1))
    moved(static, SET_14)
    assert not any("the radar in the static scene" in note for note in inspected(static)[0])


RADIUS_M, TRACK_M = 0.31, 1.9


def skid_steered(archive: TinyAcfr, sign: float = 1.0) -> None:
    """A minute of bends, and the wheels' rates that make them."""
    states, lines = [], []
    north = east = yaw = 0.0
    for index in range(1200):
        t = index / 20
        speed, rate = 1.5 + 0.8 * math.sin(0.5 * t), 0.5 * math.sin(0.35 * t)
        states.append([6154241.2 + north, 225261.4 + east, -600.0, speed * math.cos(yaw), speed * math.sin(yaw), 0.0,
                       0.0, 0.0, yaw, 0.0, 0.0, rate])  # fmt: skip
        left_turn = -rate
        wheels = ((speed + side * TRACK_M / 2 * left_turn) / RADIUS_M for side in (-1, 1))
        for sensor, value in zip((4, 5), wheels, strict=True):
            lines.append(archive.line(places.text_at(t), "SENSOR_DATA", str(sensor), f"{sign * value:.9f}"))
        yaw += rate / 20
        north, east = north + speed * math.cos(yaw) / 20, east + speed * math.sin(yaw) / 20
    places.write_nav(archive, states, places.any_covariance())
    archive.write("Payload/PayloadData1.txt", lines)


def test_wheels_radius_and_track_are_found(archive: TinyAcfr) -> None:
    skid_steered(archive)
    notes, defects = inspected(archive)
    assert defects == []
    note = noted(notes, "the wheels fit the navigation")
    assert "with a radius of 0.310 m +- 0.000 m and a track of 1.900 m +- 0.000 m" in note


def test_wheels_that_turn_other_way_are_defect(archive: TinyAcfr) -> None:
    skid_steered(archive, sign=-1.0)
    _, (defect,) = inspected(archive)
    assert (defect.kind, defect.stream) == ("wheel_sense", "payload_wheels")
    assert (archive.root / defect.file).is_file()


def test_sound_dataset_has_no_defects(tmp_path: Path) -> None:
    archive = TinyAcfr(tmp_path / "29-DynamicDayTriangleClear")
    archive.write_all()
    assert inspected(archive)[1] == []
