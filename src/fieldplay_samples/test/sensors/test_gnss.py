"""Geodetic coordinates, against PROJ's; and how good fixes are."""

import numpy as np
import pyproj

from fieldplay_samples.motion.rotations import Floats
from fieldplay_samples.sensors.gnss import (
    FixQuality,
    LocalOrigin,
    ecef_from_geodetic,
    enu_from_geodetic,
    fixes,
    geodetic_from_ecef,
    geodetic_from_enu,
)

LANDER = LocalOrigin(latitude_rad=np.radians(37.72351), longitude_rad=np.radians(15.00668), altitude_m=2639.838)
TOPOCENTRIC = (
    "+proj=pipeline +step +proj=unitconvert +xy_in=deg +xy_out=rad +step +proj=cart +ellps=WGS84 "
    "+step +proj=topocentric +ellps=WGS84 +lon_0=15.00668 +lat_0=37.72351 +h_0=2639.838"
)
TIME = np.arange(3000) / 100.0


def test_positions_within_kilometre_agree_with_proj_below_millimetre() -> None:
    points = np.random.default_rng(0).uniform(-1000.0, 1000.0, (200, 3))
    latitude, longitude, altitude = geodetic_from_enu(LANDER, points).T
    to_plane = pyproj.Transformer.from_pipeline(TOPOCENTRIC)
    projected = to_plane.transform(np.degrees(longitude), np.degrees(latitude), altitude)
    np.testing.assert_allclose(np.transpose(projected), points, atol=1e-6)


def test_earth_centred_coordinates_agree_with_proj_all_over_world() -> None:
    rng = np.random.default_rng(1)
    geodetic = np.stack(
        [rng.uniform(-1.57, 1.57, 200), rng.uniform(-3.1, 3.1, 200), rng.uniform(-100, 9000, 200)], axis=1
    )
    to_ecef = pyproj.Transformer.from_crs("EPSG:4979", "EPSG:4978", always_xy=True)
    expected = np.transpose(to_ecef.transform(geodetic[:, 1], geodetic[:, 0], geodetic[:, 2], radians=True))
    np.testing.assert_allclose(ecef_from_geodetic(geodetic), expected, atol=1e-6)
    np.testing.assert_allclose(
        geodetic_from_ecef(expected) * [6.4e6, 6.4e6, 1.0], geodetic * [6.4e6, 6.4e6, 1.0], atol=1e-6
    )


def test_local_plane_round_trips() -> None:
    points = np.array([[0.0, 0.0, 0.0], [300.0, -200.0, 50.0]])
    np.testing.assert_allclose(enu_from_geodetic(LANDER, geodetic_from_enu(LANDER, points)), points, atol=1e-7)
    origin = [LANDER.latitude_rad, LANDER.longitude_rad, LANDER.altitude_m]
    np.testing.assert_allclose(geodetic_from_enu(LANDER, points)[0], origin, rtol=1e-12)


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
