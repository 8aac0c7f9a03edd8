"""The map of an archive that has fixes and wheels but no true poses: odom stands in it where the robot truly began."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from pyproj import Transformer

from fieldplay.datasets.archive import Archive
from fieldplay.datasets.registry import spec_of_dataset
from fieldplay.messages import records
from fieldplay.streams.stream import InMemoryStream
from fieldplay.topics.selection import Selection
from fieldplay.topics.static_tf import map_edges
from fieldplay.topics.topic_checks import missing_outputs

START_NS = 1_514_301_945_000_000_000
LENGTH_S, WHEELS_HZ, FIX_HZ = 40, 10, 5
WHEELBASE_M, RADIUS_M, LEVER_M = 1.6, 0.285, (1.8, -0.03, 1.593)
STANDS_S = 12.0  # at first: longer than the first look at its way
HEADING = 2.5
Array = NDArray[np.float64]


def speed_at(time: Array) -> Array:
    """It stands, backs out of a place, and goes on forwards."""
    since = time - STANDS_S
    return np.where(since < 0, 0.0, np.where(since < 5, -0.6 * np.sin(np.pi * since / 5), 0.9 * np.sin(since / 9)))


def steering_at(time: Array) -> Array:
    return 0.12 * np.sin(time / 4)


def true_poses(times: Array) -> Array:
    """x, y, heading of the base at times (n,) in east and north of its start, by small steps."""
    fine = np.arange(0, LENGTH_S + 0.001, 0.001)
    middle = (fine[1:] + fine[:-1]) / 2
    turn = speed_at(middle) * np.tan(steering_at(middle)) / WHEELBASE_M
    heading = HEADING + np.concatenate([[0], np.cumsum(turn * 0.001)])
    along = speed_at(middle) * 0.001
    halfway = (heading[1:] + heading[:-1]) / 2
    x, y = (np.concatenate([[0], np.cumsum(along * part(halfway))]) for part in (np.cos, np.sin))
    return np.column_stack([np.interp(times, fine, column) for column in (x, y, heading)])


def antenna_at(times: Array) -> Array:
    """East, north, up of the antenna, in metres from where the base began."""
    x, y, heading = true_poses(times).T
    cos, sin = np.cos(heading), np.sin(heading)
    forward, left, up = LEVER_M
    return np.column_stack([x + cos * forward - sin * left, y + sin * forward + cos * left, np.full(len(x), up)])


def fixes(status: int = 2, until_s: float = LENGTH_S) -> records.Fix:
    """The antenna's fixes; the first two are none."""
    times = np.arange(0.13, until_s, 1 / FIX_HZ)
    geodetic = Transformer.from_pipeline(
        "+proj=pipeline +step +inv +proj=topocentric +ellps=WGS84 +lat_0=-33.03 +lon_0=-60.88 +h_0=68 "
        "+step +inv +proj=cart +ellps=WGS84 +step +proj=unitconvert +xy_in=rad +xy_out=deg"
    )
    longitude, latitude, height = geodetic.transform(*antenna_at(times).T)
    statuses = np.full(len(times), status, np.int8)
    statuses[:2] = 0
    stamps = START_NS + np.round(times * 1e9).astype(np.int64)
    return records.Fix(
        stamp_ns=stamps, latitude_deg=latitude + (statuses < 1), longitude_deg=longitude, altitude_m=height,
        status=statuses,
    )  # fmt: skip


def wheels(speed_fraction: float = 1.0) -> records.Joints:
    times = np.arange(0, LENGTH_S, 1 / WHEELS_HZ)
    rate, none = speed_fraction * speed_at(times) / RADIUS_M, np.full(len(times), np.nan)
    return records.Joints(
        stamp_ns=START_NS + np.round(times * 1e9).astype(np.int64),
        names=("rear_left_wheel", "rear_right_wheel", "front_steering"),
        position=np.column_stack([none, none, steering_at(times)]),
        velocity=np.column_stack([rate, rate, none]),
    )


def archive_of(fix: records.Fix, joints: records.Joints) -> Archive:
    spec = spec_of_dataset("rosario")
    antenna = replace(spec.extrinsics[0], translation=LEVER_M)
    streams = {"fix": InMemoryStream(fix), "wheel_joints": InMemoryStream(joints)}
    return Archive(
        root=Path("made"), spec=replace(spec, extrinsics=(antenna, *spec.extrinsics[1:])), parameters={},
        streams=streams,
    )  # fmt: skip


@pytest.mark.parametrize("start_s", [0.0, 3.3, 12.5, 20.0, 33.0, 38.5])
def test_odometry_is_at_true_pose_whatever_its_start(start_s: float) -> None:
    (edge,) = map_edges(archive_of(fixes(), wheels()), START_NS + round(start_s * 1e9))
    assert (edge.parent, edge.child) == ("map", "odom")
    start = np.ceil(start_s * WHEELS_HZ) / WHEELS_HZ
    x, y, heading = true_poses(np.array([start]))[0]
    east, north, up = antenna_at(np.array([0.13 + 2 / FIX_HZ]))[0]  # the first good fix is the map's origin
    result = edge.parent_t_child
    turned = np.arctan2(result[1, 0], result[0, 0]) - heading
    assert np.degrees(abs((turned + np.pi) % (2 * np.pi) - np.pi)) < 0.2
    np.testing.assert_allclose(result[:3, 3], [x - east, y - north, -up], atol=0.01)
    np.testing.assert_allclose(result[2, :3], [0, 0, 1], atol=1e-12)


def test_wheel_scale_does_not_change_heading() -> None:
    exact, slow = (map_edges(archive_of(fixes(), wheels(fraction)), START_NS)[0] for fraction in (1.0, 0.9))
    np.testing.assert_allclose(slow.parent_t_child, exact.parent_t_child, atol=0.03)


def test_fix_without_altitude_takes_height_of_first_fix() -> None:
    fix = fixes()
    height = fix.altitude_m.copy()
    height[3:] = np.nan
    (edge,) = map_edges(archive_of(replace(fix, altitude_m=height), wheels()), START_NS + 20 * 10**9)
    assert edge.parent_t_child[2, 3] == pytest.approx(-LEVER_M[2], abs=0.01)


@pytest.mark.parametrize(
    ("fix", "joints", "reason"),
    [
        (fixes(status=1), wheels(), "no fix of gps/fix is good enough: expected a status of 2 or above"),
        (fixes(until_s=STANDS_S), wheels(), "expected a path length of 1.0 m on gps/fix and the wheels, got 0.00 m"),
        (fixes(), wheels(0.0), "expected a path length of 1.0 m on gps/fix and the wheels, got 0.00 m"),
    ],
)
def test_standing_robot_sends_no_map_frame_and_reports_it(
    fix: records.Fix, joints: records.Joints, reason: str
) -> None:
    archive = archive_of(fix, joints)
    assert map_edges(archive, START_NS) == []
    assert missing_outputs(archive, Selection(derived=True)) == [f"map -> odom: not sent: {reason}"]
    assert missing_outputs(archive, Selection(map_tf=True)) == [f"map -> odom: not sent: {reason}"]
    assert missing_outputs(archive, Selection()) == []


def test_missing_fixes_are_reported_unless_odometry_is_missing() -> None:
    archive = archive_of(fixes(), wheels())
    del archive.streams["fix"]
    assert missing_outputs(archive, Selection(derived=True)) == ["map -> odom: not sent: there is no gps/fix"]
    archive = archive_of(fixes(), wheels())
    del archive.streams["wheel_joints"]
    assert map_edges(archive, START_NS) == []
    assert missing_outputs(archive, Selection(derived=True)) == []


TRUTH_TURN = -0.8  # of the ground truth's axes against east and north


def true_odometry() -> records.Odometry:
    """The robot's true trajectory from its start, as archived odometry: x ahead at first."""
    times = np.arange(0, LENGTH_S, 1 / WHEELS_HZ)
    x, y, heading = true_poses(times).T
    cos, sin = np.cos(HEADING), np.sin(HEADING)
    yaw = heading - HEADING
    zero = np.zeros(len(times))
    return odometry_record(
        times,
        np.column_stack([cos * x + sin * y, cos * y - sin * x, zero]),
        np.column_stack([zero, zero, np.sin(yaw / 2), np.cos(yaw / 2)]),
    )


def odometry_record(times: Array, position_m: Array, orientation_xyzw: Array) -> records.Odometry:
    nothing = np.zeros((len(times), 3))
    return records.Odometry(
        stamp_ns=START_NS + np.round(times * 1e9).astype(np.int64), position_m=position_m,
        orientation_xyzw=orientation_xyzw, pose_covariance=np.zeros((len(times), 6, 6)), linear_velocity_m_s=nothing,
        angular_velocity_rad_s=nothing, twist_covariance=np.zeros((len(times), 6, 6)),
    )  # fmt: skip


def ground_truth() -> records.Odometry:
    """The antenna's positions from its first good fix, in axes of their own."""
    times = np.arange(0.13 + 2 / FIX_HZ, LENGTH_S - 1, 1 / FIX_HZ)
    positions = antenna_at(times) - antenna_at(times[:1])
    cos, sin = np.cos(TRUTH_TURN), np.sin(TRUTH_TURN)
    turned = np.column_stack(
        [cos * positions[:, 0] + sin * positions[:, 1], cos * positions[:, 1] - sin * positions[:, 0]]
    )
    return odometry_record(times, np.column_stack([turned, positions[:, 2]]), np.tile([0.0, 0, 0, 1], (len(times), 1)))


@pytest.mark.parametrize("start_s", [0.0, 20.0])
def test_archived_odometry_is_placed_in_map_for_any_start(start_s: float) -> None:
    archive = archive_of(fixes(), wheels())
    archive.streams = {"fix": archive.streams["fix"], "odom_archived": InMemoryStream(true_odometry())}
    (edge,) = map_edges(archive, START_NS + round(start_s * 1e9))
    assert (edge.parent, edge.child) == ("map", "odom")
    east, north, up = antenna_at(np.array([0.13 + 2 / FIX_HZ]))[0]
    np.testing.assert_allclose(edge.parent_t_child[:3, 3], [-east, -north, -up], atol=0.01)
    assert np.arctan2(edge.parent_t_child[1, 0], edge.parent_t_child[0, 0]) == pytest.approx(HEADING, abs=0.003)


def test_ground_truth_matches_antenna_position_by_tf() -> None:
    archive = archive_of(fixes(), wheels())
    archive.streams["ground_truth"] = InMemoryStream(ground_truth())
    odom, truth = map_edges(archive, START_NS)
    assert (truth.parent, truth.child) == ("map", "ground_truth")
    rows = ground_truth()
    x, y, heading = true_poses((rows.stamp_ns - START_NS) / 1e9).T
    cos, sin = np.cos(HEADING), np.sin(HEADING)
    in_odom = np.column_stack([cos * x + sin * y, cos * y - sin * x, np.zeros(len(x))])
    yaw = heading - HEADING
    forward, left, up = LEVER_M
    in_odom += np.column_stack(
        [np.cos(yaw) * forward - np.sin(yaw) * left, np.sin(yaw) * forward + np.cos(yaw) * left, np.full(len(x), up)]
    )
    by_tf = in_odom @ odom.parent_t_child[:3, :3].T + odom.parent_t_child[:3, 3]
    by_file = rows.position_m @ truth.parent_t_child[:3, :3].T + truth.parent_t_child[:3, 3]
    np.testing.assert_allclose(by_file, by_tf, atol=0.05)


def test_ground_truth_of_another_drive_gets_no_map_frame() -> None:
    archive = archive_of(fixes(), wheels())
    rows = ground_truth()
    archive.streams["ground_truth"] = InMemoryStream(replace(rows, position_m=rows.position_m[::-1] * [1, -4, 1]))
    assert [edge.child for edge in map_edges(archive, START_NS)] == ["odom"]
    (line,) = missing_outputs(archive, Selection(derived=True))
    assert line.startswith("map -> ground_truth: not sent: ground_truth/odom does not fit the fixes: ")
