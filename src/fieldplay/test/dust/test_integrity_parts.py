"""What the judgement of laser returns is made of: the radar's views, neighbours, steadiness and shares, by hand."""

import numpy as np
import pytest

from fieldplay.dust.classify import NO_HISTORY as UNKNOWN
from fieldplay.dust.classify import STEADY, UNSTEADY, air_verdict, is_recurrent, steadiness, update_rates
from fieldplay.dust.radar_returns import (
    BINS,
    RadarViews,
    mounting_from_base,
    nearest_at,
    nearest_from_returns,
    no_views,
    project_to_radar,
)
from fieldplay.dust.scans import (
    OUTCOMES,
    IntegritySettings,
    Scans,
    concatenate_scans,
    previous_scan_values,
    scans_from_messages,
    shift_beams,
)
from fieldplay_testing.hazy_scene import LASER, PORT, RADAR, Array

SETTINGS = IntegritySettings()
SECOND = 10**9


def scans(stamp_ns: list[int], starts_deg: list[float], ranges_m: list[list[float]]) -> Scans:
    return Scans(
        stamp_ns=np.array(stamp_ns),
        angle_min_rad=np.radians(starts_deg),
        angle_increment_rad=np.full(len(stamp_ns), np.radians(1.0)),
        ranges_m=np.array(ranges_m, float),
    )


def test_radar_return_covers_neighbouring_angles_and_nearest_wins() -> None:
    returns = [(10.0, 0.5), (12.0, 2.5), (0.4, 90.5)]
    points = np.array([(r * np.cos(np.radians(a)), r * np.sin(np.radians(a)), 0.0) for r, a in returns])
    nearest = nearest_from_returns(SETTINGS, points)
    assert nearest[[357, 0, 3]] == pytest.approx([10, 10, 10])
    assert nearest[[4, 5]] == pytest.approx([12, 12])
    assert np.isinf(nearest[[6, 356, 90]]).all()  # what is very near is the radar's own


def test_revolution_counts_from_completion_until_too_old() -> None:
    views = RadarViews(stamp_ns=np.array([0, SECOND // 8]), nearest_m=np.array([[5.0] * BINS, [4.0] * BINS]))
    requested = np.array([0.1, 0.16, 0.3, 0.5, 0.56, 0.7]) * SECOND
    nearest = nearest_at(SETTINGS, views, requested.astype(np.int64))[:, 0]
    assert nearest.tolist() == [np.inf, 5, 4, 4, 4, np.inf]
    assert np.isinf(nearest_at(SETTINGS, no_views(), np.array([0]))).all()


def test_single_revolutions_stay_ordered_and_future_ones_are_dropped() -> None:
    views = no_views()
    for stamp_ns in (10, 20, 30, 25):
        views = views.with_revolutions(SETTINGS, np.array([stamp_ns]), [np.array([[float(stamp_ns), 0.0, 0.0]])])
    assert views.stamp_ns.tolist() == [10, 20, 25]
    assert views.nearest_m[:, 0].tolist() == [10, 20, 25]
    assert views.between(11, 20).stamp_ns.tolist() == [20]


@pytest.mark.parametrize(("laser", "height_m"), [(LASER, -0.34), (PORT, -0.22)])
def test_laser_points_are_transformed_to_radar(laser: Array, height_m: float) -> None:
    """Straight ahead at 2.5 m: below the radar's plane, which looks down more steeply. By hand for the tilts alone."""
    ahead = np.array([[-np.arctan2(laser[1, 0], laser[0, 0])]])
    seen = project_to_radar(mounting_from_base(laser, RADAR), ahead, np.array([[2.5]]))
    down, radar_down = np.arcsin(laser[2, 0]), -np.radians(11.161703)
    level, height = laser[0, 3] + 0.025753 + 2.5 * np.cos(down), laser[2, 3] + 2.5 * np.sin(down) - 1.399104
    by_hand = -level * np.sin(radar_down) + height * np.cos(radar_down)
    assert seen.above_m[0, 0] == pytest.approx(by_hand, abs=0.03)
    assert seen.above_m[0, 0] == pytest.approx(height_m, abs=0.05)


def test_laser_points_fall_into_bins_of_equal_radar_points() -> None:
    """A point of the laser and the same point in the radar's frame fall into one bin."""
    mounting = mounting_from_base(LASER, RADAR)
    angles, ranges = np.radians([[-60.0, -10.0, 25.0, 70.0]]), np.array([[3.0, 6.0, 9.0, 12.0]])
    local = np.stack([ranges * np.cos(angles), ranges * np.sin(angles), 0 * angles], axis=-1)[0]
    points = (np.linalg.inv(RADAR) @ LASER @ np.c_[local, np.ones(4)].T).T[:, :3]
    seen = project_to_radar(mounting, angles, ranges)
    for point, bin_index, distance in zip(points, seen.bin[0], seen.range_m[0], strict=True):
        nearest = nearest_from_returns(SETTINGS, point[None])
        assert nearest[bin_index] == pytest.approx(np.linalg.norm(point)) == pytest.approx(distance)


def test_neighbours_in_previous_scan_are_at_same_angles() -> None:
    rows = scans([0, 1, 2, 3, 4], [-90, -89.75, -89.5, -89.25, -90], [[10, 11, 12, 13]] * 5)
    first, second = previous_scan_values(rows, None, rows.ranges_m, None)
    assert np.isnan(first[0]).all()
    assert first[1].tolist() == [10, 11, 12, 13]  # a quarter of a step on: between beam i and i + 1 of the scan before
    assert np.array_equal(second[1], [11, 12, 13, np.nan], equal_nan=True)
    assert np.array_equal(first[4], [np.nan, 10, 11, 12], equal_nan=True)  # three quarters back: between i - 1 and i
    assert second[4].tolist() == [10, 11, 12, 13]
    later = previous_scan_values(
        rows.only(slice(1, None)), rows.only(slice(0, 1)), rows.ranges_m[1:], rows.ranges_m[:1]
    )
    assert np.array_equal(later[0], first[1:], equal_nan=True)
    assert np.array_equal(shift_beams(rows.ranges_m[:1], 1)[0], [11, 12, 13, np.nan], equal_nan=True)
    assert np.array_equal(shift_beams(rows.ranges_m[:1], -2)[0], [np.nan, np.nan, 10, 11], equal_nan=True)


SCAN_NS = 13_333_333


def trace_last_scan(ranges_m: list[list[float]], starts_deg: list[float] | None = None) -> list[int]:
    """What becomes of the last scan's returns."""
    starts = starts_deg or [-90 + 0.25 * (row % 4) for row in range(len(ranges_m))]
    rows = scans([row * SCAN_NS for row in range(len(ranges_m))], starts, ranges_m)
    requested = np.zeros(rows.ranges_m.shape, bool)
    requested[-1] = True
    outcomes: list[int] = steadiness(SETTINGS, rows, requested)[-1].tolist()
    return outcomes


def test_standing_and_moving_objects_are_traced_back_and_dust_is_not() -> None:
    time_s = np.arange(30) * 0.01333
    standing, coming, racing = np.full(30, 7.0), 9.0 - 2.0 * time_s, 40.0 - 15.0 * time_s
    dust = 5.0 + np.random.default_rng(3).exponential(1.0, 30)
    gap = np.full(30, 99.0)  # so that no column is beside another
    columns = np.stack([standing, gap, coming, gap, dust, gap, racing, gap], axis=-1)
    assert trace_last_scan(columns.tolist())[:7:2] == [STEADY, STEADY, UNSTEADY, UNSTEADY]
    assert trace_last_scan(columns[-20:].tolist())[:5:2] == [UNKNOWN, UNKNOWN, UNSTEADY]


def test_object_may_move_sideways_and_be_missed_once_but_not_twice() -> None:
    ranges = np.full((30, 40), 12.0)
    beams = 5 + np.arange(30) // 2  # half a beam with each scan
    ranges[np.arange(30), beams] = 6.0
    assert trace_last_scan(ranges.tolist(), [-90.0] * 30)[beams[-1]] == STEADY
    ranges[20] = 12.0
    assert trace_last_scan(ranges.tolist(), [-90.0] * 30)[beams[-1]] == STEADY
    ranges[19] = np.nan
    assert trace_last_scan(ranges.tolist(), [-90.0] * 30)[beams[-1]] == UNSTEADY
    far = np.full((30, 80), 12.0)
    far[np.arange(30), 5 + 2 * np.arange(30)] = 6.0
    assert trace_last_scan(far.tolist(), [-90.0] * 30)[63] == UNSTEADY


def test_nothing_is_traced_across_a_pause() -> None:
    rows = scans([*range(20), *range(SECOND, SECOND + 20)], [-90.0] * 40, [[5.0]] * 40)
    outcomes = steadiness(SETTINGS, rows, np.ones((40, 1), bool))
    assert outcomes[-1] == UNKNOWN


def test_previous_scans_may_be_separate_and_shorter() -> None:
    before_them = scans([row * SCAN_NS for row in range(25)], [-90.0] * 25, [[5.0, 8.0]] * 25)
    then = scans([25 * SCAN_NS], [-90.0], [[5.1, 8.0, 9.0]])
    assert steadiness(SETTINGS, concatenate_scans(before_them, then), np.ones((1, 3), bool)).tolist() == [
        [STEADY, STEADY, UNSTEADY]
    ]


def test_return_in_every_fourth_scan_is_often_there_and_drop_is_not() -> None:
    ranges = np.full((30, 9), 12.0)
    ranges[1::4, 2], ranges[29, 6], ranges[10, 6] = 5.0, 5.0, 5.0
    rows = scans([row * SCAN_NS for row in range(30)], [-90 + 0.25 * (row % 4) for row in range(30)], ranges.tolist())
    requested = np.zeros((1, 9), bool)
    requested[0, [2, 6]] = True
    assert is_recurrent(SETTINGS, rows, requested)[0, [2, 6]].tolist() == [True, False]
    assert steadiness(SETTINGS, rows, requested)[0, 2] == UNSTEADY


def test_ranges_have_float32_precision_and_nan_beyond_limits() -> None:
    one = np.array([0.1])
    scans = scans_from_messages(
        np.array([5]), one, one, ranges_m=np.array([[0.1, 0.05, 90.0, np.inf, np.nan]]), limits_m=(one, 800 * one)
    )
    expected = [[np.float64(np.float32(0.1)), np.nan, np.nan, np.inf, np.nan]]
    assert np.array_equal(scans.ranges_m, expected, equal_nan=True)
    assert scans.angle_min_rad[0] == np.float32(0.1)


def test_rates_are_those_of_the_last_seconds() -> None:
    stamps = np.arange(5) * SECOND
    counts = np.zeros((5, OUTCOMES), np.int64)
    counts[:] = [10, 80, 10, 5, 5]  # none, ok, in front, isolated, unknown
    counts[0] = [0, 100, 0, 0, 0]
    fractions, reports, counted = update_rates(SETTINGS, None, stamps, counts=counts)
    assert fractions.in_front.tolist() == pytest.approx([0, 10 / 190, 20 / 180, 20 / 180, 20 / 180])
    assert fractions.isolated[1:3].tolist() == pytest.approx([5 / 200, 10 / 200])
    assert fractions.suspect[2] == pytest.approx(0.15)
    assert fractions.no_return[2] == pytest.approx(20 / 220)
    assert [report.stamp_ns for report in reports] == stamps[1:].tolist()
    assert reports[0].values[0] == ("suspect_share", "0.0750")
    assert counted.stamp_ns.tolist() == [3 * SECOND, 4 * SECOND]
    nothing, _, _ = update_rates(SETTINGS, None, stamps[:1], counts=np.zeros((1, OUTCOMES), np.int64))
    assert np.isnan(nothing.suspect).all()


@pytest.mark.parametrize(
    ("in_front", "isolated", "judged", "verdict"),
    [
        (0.0, 0.0, 1000, "clear"),
        (0.2, 0.01, 1000, "dust or smoke"),
        (0.2, 0.0, 10, "not classified"),
        (0.001, 0.02, 1000, "rain"),
        (0.016, 0.02, 1000, "dust or smoke"),
        (0.009, 0.02, 1000, "rain"),
        (np.nan, 0.02, 0, "rain"),
        (np.nan, np.nan, 0, "not classified"),
    ],
)
def test_the_verdict(in_front: float, isolated: float, judged: int, verdict: str) -> None:
    assert air_verdict(SETTINGS, in_front, isolated, judged=judged) == verdict
