import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import trapezoid

from fieldplay_samples.sensors.weather import NO_PUFFS, Puffs, distance_at, optical_depth
from fieldplay_samples.world.rays import Rays

Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def puffs() -> Puffs:
    rng = np.random.default_rng(5)
    return Puffs(
        born_s=rng.uniform(0.0, 3.0, 12),
        born_at=rng.uniform([2.5, -1.5, -0.5], [5.5, 1.5, 2.5], (12, 3)),
        drift_m_s=np.tile([0.3, -1.0, 0.1], (12, 1)),
        area_m2=rng.uniform(0.5, 1.5, 12),
        size_m=rng.uniform(0.3, 0.5, 12),
        growth_m_s=0.1,
        settling_s=10.0,
        longest_s=8.0,
    )


def fan(count: int) -> Rays:
    azimuth, up = np.linspace(-0.6, 0.6, count), np.linspace(-0.1, 0.2, count)
    directions = np.stack([np.cos(up) * np.cos(azimuth), np.cos(up) * np.sin(azimuth), np.sin(up)], axis=1)
    return Rays(origins=np.tile([0.0, 0.0, 1.0], (count, 1)), directions=directions)


def extinction(puffs: Puffs, points: Array, time_s: float) -> Array:
    """What the puffs take per metre at points (n, 3), each of them a normal density times the area that it shades."""
    total = np.zeros(len(points))
    for number in range(len(puffs)):
        age = time_s - puffs.born_s[number]
        size = puffs.size_m[number] + 0.1 * age
        away = np.linalg.norm(points - puffs.born_at[number] - age * puffs.drift_m_s[number], axis=1)
        density = np.exp(-0.5 * (away / size) ** 2) / (2.0 * np.pi * size**2) ** 1.5
        total += puffs.area_m2[number] * np.exp(-age / 10.0) * density
    return total


def test_depth_is_integral_of_puffs_densities(puffs: Puffs) -> None:
    rays, time = fan(9), 4.0
    along = np.linspace(0.0, 7.0, 4001)
    expected = [
        trapezoid(extinction(puffs, origin + along[:, None] * direction, time), along)
        for origin, direction in zip(rays.origins, rays.directions, strict=True)
    ]
    depths = optical_depth(puffs, rays, np.full(9, 7.0), time_s=np.full(9, time))
    assert depths.max() > 0.5
    np.testing.assert_allclose(depths, expected, rtol=0.02, atol=0.01)


def test_distance_of_depth_is_where_it_is_reached(puffs: Puffs) -> None:
    rays, time, end = fan(200), np.full(200, 4.0), np.full(200, 9.0)
    requested = 0.4 * optical_depth(puffs, rays, end, time_s=time)
    inside = np.flatnonzero(requested > 0.01)
    distance = distance_at(puffs, rays.subset(inside), requested[inside], end_m=end[inside], time_s=time[inside])
    assert len(inside) > 50
    reached = optical_depth(puffs, rays.subset(inside), distance, time_s=time[inside])
    np.testing.assert_allclose(reached, requested[inside], atol=2e-3)


def test_air_is_clear_before_first_and_after_last_puff(puffs: Puffs) -> None:
    rays = fan(50)
    for time_s in (0.0, 11.1):
        assert not optical_depth(puffs, rays, np.full(50, 50.0), time_s=np.full(50, time_s)).any()
    assert not optical_depth(NO_PUFFS, rays, np.full(50, 50.0), time_s=np.full(50, 4.0)).any()


def test_wind_carries_cloud(puffs: Puffs) -> None:
    rays = fan(400)
    middles = []
    for time_s in (3.5, 5.0):
        depth = optical_depth(puffs, rays, np.full(400, 50.0), time_s=np.full(400, time_s))
        middles.append(np.average(rays.directions[:, 1], weights=depth))
    assert middles[1] < middles[0] - 0.1
