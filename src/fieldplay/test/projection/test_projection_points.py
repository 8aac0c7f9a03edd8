"""Scans and clouds as points with their times."""

import numpy as np
import pytest

from fieldplay.projection.points import points_from_cloud, points_from_scan

QUARTER = np.pi / 2


def test_rays_are_counter_clockwise_with_own_times() -> None:
    result = points_from_scan(
        [2.0, 3.0, 4.0], angle_min_rad=-QUARTER, angle_increment_rad=QUARTER, time_increment_s=0.01
    )
    np.testing.assert_allclose(result.points, [[0, -2, 0], [3, 0, 0], [0, 4, 0]], atol=1e-12)
    np.testing.assert_allclose(result.offsets_s, [0, 0.01, 0.02])


def test_rays_without_echo_are_dropped_and_angles_stay() -> None:
    ranges = [np.inf, np.nan, 0.0, 5.0, 0.05, 90.0, -1.0]
    result = points_from_scan(ranges, angle_min_rad=0, angle_increment_rad=0.1, time_increment_s=1, limits_m=(0.1, 80))
    assert result.offsets_s.tolist() == [3.0]
    assert np.arctan2(result.points[0, 1], result.points[0, 0]) == pytest.approx(0.3)


def test_an_empty_scan_has_no_points() -> None:
    assert len(points_from_scan([], angle_min_rad=0, angle_increment_rad=0.1)) == 0


def test_finite_points_of_cloud_keep_their_times() -> None:
    kind = [("x", "f4"), ("y", "f4"), ("z", "f4"), ("intensity", "f4"), ("time", "f4")]
    rows = [(1, 2, 3, 0, 0.1), (np.nan, 2, 3, 0, 0.2), (0, 0, 0, 0, 0.3), (4, 5, 6, 0, 0.4), (1, 1, 1, 0, np.nan)]
    result = points_from_cloud(np.array(rows, kind))
    np.testing.assert_allclose(result.points, [[1, 2, 3], [4, 5, 6]])
    np.testing.assert_allclose(result.offsets_s, [0.1, 0.4], rtol=1e-6)


def test_cloud_without_times_has_zero_offsets() -> None:
    result = points_from_cloud(np.array([(1, 2, 3)], [("x", "f8"), ("y", "f8"), ("z", "f8")]))
    assert result.offsets_s.tolist() == [0.0]
