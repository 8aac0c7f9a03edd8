import numpy as np
import pyproj

from fieldplay.geometry.geodesy import earth_centred_from_geodetic, enu_from_geodetic

LANDER = np.array([np.radians(37.72351), np.radians(15.00668), 2639.838])
POSITIONS = LANDER + np.random.default_rng(1).normal(size=(100, 3)) * [1e-3, 1e-3, 100]


def test_ecef_positions_agree_with_proj() -> None:
    to_earth = pyproj.Transformer.from_crs("EPSG:4979", "EPSG:4978", always_xy=True)
    expected = to_earth.transform(np.degrees(POSITIONS[:, 1]), np.degrees(POSITIONS[:, 0]), POSITIONS[:, 2])
    np.testing.assert_allclose(earth_centred_from_geodetic(*POSITIONS.T), np.stack(expected, axis=-1), atol=1e-7)


def test_enu_positions_agree_with_proj() -> None:
    local = pyproj.Transformer.from_pipeline(
        "+proj=pipeline +step +proj=cart +ellps=WGS84 +step +proj=topocentric +ellps=WGS84 "
        f"+lat_0={np.degrees(LANDER[0])} +lon_0={np.degrees(LANDER[1])} +h_0={LANDER[2]}"
    )
    expected = local.transform(np.degrees(POSITIONS[:, 1]), np.degrees(POSITIONS[:, 0]), POSITIONS[:, 2])
    np.testing.assert_allclose(enu_from_geodetic(POSITIONS, LANDER), np.stack(expected, axis=-1), atol=1e-6)


def test_origin_is_zero_and_north_is_second_axis() -> None:
    steps = np.array([[0, 0, 0], [1e-6, 0, 0], [0, 0, 5]])
    enu = enu_from_geodetic(LANDER + steps, LANDER)
    np.testing.assert_allclose(enu, [[0, 0, 0], [0, 6.362, 0], [0, 0, 5]], atol=1e-4)
