"""Navigation of ACFR's vehicle, from its lines to messages: places, attitudes, rates and their covariances."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pyproj import Geod, Proj, Transformer
from scipy.spatial.transform import Rotation

from fieldplay.core.errors import UsageError
from fieldplay.datasets.acfr import navigation as turns
from support import tiny_acfr_places as places
from support.acfr_checked import inspected, noted
from support.archive_messages import (
    messages_of,
    notes_of,
    xyz,
    xyzw,
)
from support.tiny_acfr import TinyAcfr

Floats = NDArray[np.float64]
ENU = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, -1]])
FLU = np.diag([1.0, -1, -1])
MARULAN = (-34.717, 150.0)  # latitude, longitude: in both zones
EAST_56, EAST_55, NORTH = 225261.411, 774738.589, 6154241.229
CONVERGENCE_DEG = 1.70964
STATE = [NORTH, EAST_56, -612.5, 1.5, -0.7, 0.2, 0.11, -0.23, 2.4, 0.05, -0.06, 0.3]


@pytest.fixture
def archive(tmp_path: Path) -> TinyAcfr:
    return TinyAcfr(tmp_path / "29-DynamicDayTriangleClear")


def written(archive: TinyAcfr, *, state: list[float] = STATE, **parameters: Any) -> dict[str, Any]:
    """The messages of one line."""
    places.write_nav(archive, [state], places.any_covariance())
    return {topic: result[0][1] for topic, result in messages_of(archive.root, **parameters).items()}


def attitude(angles: list[float]) -> Floats:
    """The body (FRD) in NED, by scipy."""
    return np.asarray(Rotation.from_euler("ZYX", angles[::-1]).as_matrix())


@pytest.mark.parametrize(("east", "zone"), [(EAST_56, 56), (EAST_55, 55)])
def test_place_on_border_of_two_zones_is_found_in_either(archive: TinyAcfr, east: float, zone: int) -> None:
    fix = written(archive, state=[NORTH, east, *STATE[2:]])["nav/fix"]
    assert (fix.latitude, fix.longitude) == pytest.approx(MARULAN, abs=2e-8)
    assert fix.altitude == 612.5
    assert fix.header.frame_id == "base_link"
    note = noted(notes_of(archive.root), "UTM zone")
    sign = {56: "+", 55: "-"}[zone]
    assert f"UTM zone {zone} south, by the first position, {east / 1e3:.1f} km east" in note
    assert f"north lies {sign}1.7" in note


def test_zone_may_be_chosen_and_place_that_is_not_at_marulan_then_is_reported(archive: TinyAcfr) -> None:
    fix = written(archive, utm_zone=55)["nav/fix"]
    other = Transformer.from_crs("EPSG:32755", "EPSG:4326").transform(EAST_56, NORTH)
    assert (fix.latitude, fix.longitude) == pytest.approx(other, abs=1e-9)
    notes, (defect,) = inspected(archive, utm_zone=55)
    assert "UTM zone 55 south, by the parameter utm_zone" in noted(notes, "UTM zone")
    assert (defect.kind, defect.file) == ("implausible_place", "Nav/NavQAsciiData.txt")
    assert "in zone 55 765 to 785 km east, 6154 to 6168 km north, got 225.261 km east" in defect.message


def test_pose_is_east_north_up_from_first_place_rounded(archive: TinyAcfr) -> None:
    odom = written(archive)["nav/odom"]
    assert (odom.header.frame_id, odom.child_frame_id) == ("map", "base_link")
    np.testing.assert_allclose(xyz(odom.pose.pose.position), [EAST_56 - 225300, NORTH - 6154200, 2.5], atol=1e-8)
    turn = Rotation.from_quat(xyzw(odom.pose.pose.orientation)).as_matrix()
    np.testing.assert_allclose(turn, ENU @ attitude(STATE[6:9]) @ FLU, atol=1e-12)
    assert "map's origin is 225300,6154200,610 (east, north, up in m)" in noted(notes_of(archive.root), "UTM")


def test_origin_may_be_chosen_and_nothing_is_lost_far_from_it(archive: TinyAcfr) -> None:
    odom = written(archive, map_origin="0,0,100.5")["nav/odom"]
    np.testing.assert_allclose(xyz(odom.pose.pose.position), [EAST_56, NORTH, 512.0], rtol=0, atol=1e-9)
    for text in ("0,0", "here", "0,0,nan"):
        with pytest.raises(UsageError, match="parameter map_origin: expected 'first' or east,north,up in metres"):
            notes_of(archive.root, map_origin=text)


def test_velocity_is_that_of_vehicle_ahead_left_and_up(archive: TinyAcfr) -> None:
    twist = written(archive)["nav/odom"].twist.twist
    np.testing.assert_allclose(xyz(twist.linear), FLU @ attitude(STATE[6:9]).T @ STATE[3:6], atol=1e-12)
    ahead = written(archive, state=[*STATE[:3], 0, 2, 0, 0, 0, math.pi / 2, 0, 0, 0.1])["nav/odom"].twist.twist
    np.testing.assert_allclose(xyz(ahead.linear), [2, 0, 0], atol=1e-12)  # to the east, heading east
    np.testing.assert_allclose(xyz(ahead.angular), [0, 0, -0.1], atol=1e-12)  # the yaw grows clockwise


def test_rates_of_angles_become_rates_about_body_s_axes(archive: TinyAcfr) -> None:
    twist = written(archive)["nav/odom"].twist.twist
    expected = FLU @ places.body_rates(STATE[6:9], STATE[9:12])
    np.testing.assert_allclose(xyz(twist.angular), expected, atol=1e-8)
    twist = written(archive, nav_rates="body")["nav/odom"].twist.twist
    np.testing.assert_allclose(xyz(twist.angular), [0.05, 0.06, -0.3], atol=1e-12)


def pose_numbers(ned: Floats) -> Floats:
    """East, north, up, and roll, pitch, yaw about fixed axes by scipy, from north, east, down, roll, pitch, yaw."""
    turn = ENU @ attitude(ned[3:].tolist()) @ FLU
    return np.concatenate([ENU @ ned[:3], Rotation.from_matrix(turn).as_euler("xyz")])


def test_pose_s_covariance_is_what_small_changes_of_state_make(archive: TinyAcfr) -> None:
    rows = [0, 1, 2, 6, 7, 8]
    state = np.array(STATE)[rows]
    state[:2] = 0  # the place itself does not matter, and large numbers would spoil the differences
    step = 1e-6
    jacobian = np.stack(
        [(pose_numbers(state + step * unit) - pose_numbers(state - step * unit)) / (2 * step) for unit in np.eye(6)],
        axis=1,
    )
    expected = jacobian @ places.any_covariance()[np.ix_(rows, rows)] @ jacobian.T
    odom = written(archive)["nav/odom"]
    np.testing.assert_allclose(odom.pose.covariance.reshape(6, 6), expected, atol=1e-9)


@pytest.mark.parametrize("rates", ["euler", "body"])
def test_twist_s_covariance_is_what_small_changes_of_rates_make(archive: TinyAcfr, rates: str) -> None:
    rows, angles = [3, 4, 5, 9, 10, 11], STATE[6:9]

    def twist(message: Floats) -> Floats:
        about = message[3:].tolist() if rates == "body" else places.body_rates(angles, message[3:].tolist())
        return np.concatenate([FLU @ attitude(angles).T @ message[:3], FLU @ about])

    output, step = np.array(STATE)[rows], 1e-3
    jacobian = np.stack(
        [(twist(output + step * unit) - twist(output - step * unit)) / (2 * step) for unit in np.eye(6)], 1
    )
    expected = jacobian @ places.any_covariance()[np.ix_(rows, rows)] @ jacobian.T
    odom = written(archive, nav_rates=rates)["nav/odom"]
    np.testing.assert_allclose(odom.twist.covariance.reshape(6, 6), expected, atol=1e-8)


def test_fix_s_covariance_is_about_true_east_and_north(archive: TinyAcfr) -> None:
    """The grid's axes on the ellipsoid, by walking along them."""
    grid = Proj("EPSG:32756")
    (longitude, latitude), geod = grid(EAST_56, NORTH, inverse=True), Geod(ellps="WGS84")
    bearings = [
        math.radians(geod.inv(longitude, latitude, *grid(EAST_56 + de, NORTH + dn, inverse=True))[0])
        for de, dn in ((10, 0), (0, 10))
    ]
    assert math.degrees(bearings[1]) == pytest.approx(CONVERGENCE_DEG, abs=1e-4)
    axes = np.array([[math.sin(b) for b in bearings] + [0], [math.cos(b) for b in bearings] + [0], [0, 0, 1.0]])
    expected = axes @ ENU @ places.any_covariance()[:3, :3] @ ENU.T @ axes.T
    fix = written(archive)["nav/fix"]
    np.testing.assert_allclose(fix.position_covariance.reshape(3, 3), expected, rtol=1e-4, atol=1e-9)
    assert fix.position_covariance_type == 3 and fix.status.status == 0


def test_every_line_of_dataset_becomes_message_at_its_time(archive: TinyAcfr) -> None:
    archive.write_nav()
    messages = messages_of(archive.root)
    stamps = [1224198733 * 10**9 + index * 50_000_000 for index in range(20)]
    for topic in ("nav/odom", "nav/fix", "/tf"):
        assert [stamp for stamp, _ in messages[topic]] == stamps


def test_turning_back_and_forth_gives_rates_of_turn() -> None:
    angles = Rotation.random(50, random_state=4).as_euler("ZYX")[:, ::-1]
    matrices = Rotation.from_euler("ZYX", angles[:, ::-1])
    expected = (matrices[:-1].inv() * matrices[1:]).as_rotvec() / 0.1 * [1, -1, -1]
    np.testing.assert_allclose(turns.flu_rates_between(angles, np.full(49, 0.1)), expected, atol=1e-9)


@pytest.mark.parametrize("rates", ["euler", "body"])
def test_kind_of_rates_is_measured_and_wrong_one_reported(archive: TinyAcfr, rates: str) -> None:
    places.write_nav(archive, places.rolling_drive(rates=rates), places.any_covariance())
    notes, defects = inspected(archive, nav_rates=rates)
    assert defects == []
    assert noted(notes, "nav's turn rates are 1.00")
    assert noted(notes, "nav's velocities are 1.00")
    other = {"euler": "body", "body": "euler"}[rates]
    _, (defect,) = inspected(archive, nav_rates=other)
    assert defect.kind == "unit_mismatch"
    assert defect.message.endswith(f"nav_rates={other} does not fit, --set nav_rates={rates} would")


def test_on_flat_ground_kind_of_rates_cannot_be_reported(archive: TinyAcfr) -> None:
    states = [[*state[:6], 0, 0, state[8], 0, 0, state[11]] for state in places.rolling_drive(rates="euler")]
    places.write_nav(archive, states, places.any_covariance())
    notes, defects = inspected(archive, nav_rates="body")
    assert defects == []
    assert noted(notes, "cannot be distinguished here")


def test_rates_in_another_unit_are_reported(archive: TinyAcfr) -> None:
    states = [[*s[:9], *(math.degrees(rate) for rate in s[9:])] for s in places.rolling_drive(rates="euler")]
    places.write_nav(archive, states, places.any_covariance())
    notes, _ = inspected(archive)
    assert noted(notes, "warning: nav's turn rates are 57.").endswith("another unit or order?")


@pytest.mark.parametrize("backward", [False, True])
def test_yaw_is_compared_with_course_next_to_grid_s_convergence(archive: TinyAcfr, backward: bool) -> None:
    states = places.straight_drive(yaw_off_deg=CONVERGENCE_DEG, backward=backward)
    places.write_nav(archive, states, places.any_covariance())
    note = noted(inspected(archive)[0], "measured: on straight runs")
    assert "the yaw is +1.71 deg from the course on the grid" in note
    assert "a yaw from true north would be +1.71 deg off, one from the grid's 0" in note


def test_yaw_far_from_course_is_warning(archive: TinyAcfr) -> None:
    places.write_nav(archive, places.straight_drive(yaw_off_deg=-30), places.any_covariance())
    assert "the yaw is -30.00 deg" in noted(inspected(archive)[0], "warning: on straight runs")
