"""Geodetic coordinates, against the formula of textbooks; and how good fixes are."""

import numpy as np

from fieldplay_samples.motion.rotations import Floats
from fieldplay_samples.sensors.gnss import (
    FixQuality,
    LocalOrigin,
    enu_from_geodetic,
    fixes,
    geodetic_from_enu,
)

LANDER = LocalOrigin(latitude_rad=np.radians(37.72351), longitude_rad=np.radians(15.00668), altitude_m=2639.838)
TIME = np.arange(3000) / 100.0


def earth_centred(geodetic: Floats) -> Floats:
    """The textbook's formula on WGS 84, from latitude, longitude (rad) and altitude (n, 3)."""
    latitude, longitude, altitude = geodetic.T
    squared = 0.00669437999014
    prime = 6378137.0 / np.sqrt(1.0 - squared * np.sin(latitude) ** 2)
    across = (prime + altitude) * np.cos(latitude)
    up = (prime * (1.0 - squared) + altitude) * np.sin(latitude)
    return np.stack([across * np.cos(longitude), across * np.sin(longitude), up], axis=1)


def test_local_plane_touches_earth_with_axes_east_north_up() -> None:
    points = np.random.default_rng(0).uniform(-1000.0, 1000.0, (200, 3))
    origin = np.array([[LANDER.latitude_rad, LANDER.longitude_rad, LANDER.altitude_m]])
    (sin_lat, sin_lon, _), (cos_lat, cos_lon, _) = np.sin(origin[0]), np.cos(origin[0])
    east, up = np.array([-sin_lon, cos_lon, 0.0]), np.array([cos_lat * cos_lon, cos_lat * sin_lon, sin_lat])
    axes = np.stack([east, np.cross(up, east), up])
    expected = earth_centred(origin) + points @ axes
    np.testing.assert_allclose(earth_centred(geodetic_from_enu(LANDER, points)), expected, atol=1e-6)


def test_local_plane_round_trips() -> None:
    points = np.array([[0.0, 0.0, 0.0], [300.0, -200.0, 50.0]])
    np.testing.assert_allclose(enu_from_geodetic(LANDER, geodetic_from_enu(LANDER, points)), points, atol=1e-7)
    origin = [LANDER.latitude_rad, LANDER.longitude_rad, LANDER.altitude_m]
    np.testing.assert_allclose(geodetic_from_enu(LANDER, points)[0], origin, rtol=1e-10)


def test_with_rtk_errors_are_of_stated_deviations() -> None:
    quality = FixQuality(wander_s=0.5)
    result = fixes(np.arange(100_000) / 100.0, np.random.default_rng(2), quality, outages_s=[])
    assert (result.fix_type == 7).all()
    np.testing.assert_array_equal(result.std_m[0], quality.rtk_std_m)
    np.testing.assert_allclose(result.error_m.std(axis=0), quality.rtk_std_m, rtol=0.1)


def test_fix_degrades_in_outage_and_recovers_after_it() -> None:
    result = fixes(TIME, np.random.default_rng(3), FixQuality(), outages_s=[(10.0, 14.0)])
    assert set(result.fix_type[(TIME >= 10.0) & (TIME < 14.0)]) == {3}
    assert set(result.fix_type[(TIME >= 14.0) & (TIME < 16.0)]) == {6}
    assert set(result.fix_type[(TIME < 10.0) | (TIME >= 16.0)]) == {7}
    assert result.std_m[1399, 0] > 0.2
    assert result.std_m[999, 0] == result.std_m[1601, 0] == 0.008
    assert (np.diff(result.std_m[1000:1400, 2]) > 0).all()


def test_errors_neither_jump_nor_exceed_what_is_stated() -> None:
    errors = []
    for seed in range(40):
        result = fixes(TIME, np.random.default_rng(seed), FixQuality(), outages_s=[(10.0, 14.0)])
        errors.append(fractions(result.error_m, result.std_m))
        assert np.abs(np.diff(result.error_m, axis=0)).max() < 0.06
    assert 0.8 < np.std(errors) < 1.2


def fractions(error_m: Floats, std_m: Floats) -> Floats:
    return error_m[1300] / std_m[1300]
