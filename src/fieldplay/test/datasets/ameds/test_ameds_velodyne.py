import numpy as np
import pytest
from numpy.typing import NDArray

from fieldplay.datasets.ameds.ameds_clouds import ring_from_elevation, time_order, times_from_azimuth

LASERS = 8
ELEVATIONS_DEG = (-25, -1, -1.667, 0, 15, 0.333, -0.333, 7)
RANK = (0, 2, 1, 4, 7, 5, 3, 6)
OFFSETS_DEG = (1.4, -4.2, 1.4, -1.4, 1.4, -1.4, 4.2, -1.4)  # of the azimuth of each laser in a firing group
TURN_S = 0.2


def points_at(
    azimuth_deg: NDArray[np.float64], elevation_deg: NDArray[np.float64], seed: int = 3
) -> NDArray[np.float32]:
    azimuth, elevation = np.deg2rad(azimuth_deg), np.deg2rad(elevation_deg)
    distance = np.random.default_rng(seed).uniform(0.5, 150, azimuth.shape)
    across = distance * np.cos(elevation)
    xyz = np.stack([across * np.cos(azimuth), across * np.sin(azimuth), distance * np.sin(elevation)], axis=-1)
    return xyz.astype(np.float32)


def sweep(groups: int = 500, *, start_deg: float = 0, turns: float = 1.0, spread: float = 1.0) -> NDArray[np.float32]:
    """A clockwise sweep in firing order (groups, lasers, 3)."""
    azimuth = start_deg - 360 * turns * np.arange(groups)[:, None] / groups + spread * np.array(OFFSETS_DEG)
    return points_at(azimuth, np.broadcast_to(np.array(ELEVATIONS_DEG, float), azimuth.shape))


def firing_times_s(groups: int = 500, turns: float = 1.0) -> NDArray[np.float64]:
    return np.repeat(turns * TURN_S * np.arange(groups) / groups, LASERS)


def test_ring_is_rank_of_laser_by_elevation() -> None:
    ring, far = ring_from_elevation(sweep().reshape(-1, 3), ELEVATIONS_DEG)
    assert ring.dtype == np.uint16
    np.testing.assert_array_equal(ring.reshape(-1, LASERS), np.broadcast_to(RANK, (500, LASERS)))
    assert not far.any()


def test_points_between_lasers_get_nearest_ring_and_are_flagged() -> None:
    elevation = np.array([-40, -1.667, -1.58, -1.5, -1.4, -1.09, 0.15, 0.18, 15.09, 15.11, 60])
    ring, far = ring_from_elevation(points_at(np.zeros(11), elevation), ELEVATIONS_DEG)
    assert ring.tolist() == [0, 1, 1, 1, 1, 2, 4, 5, 7, 7, 7]
    assert far.tolist() == [True, False, False, True, True, False, True, True, False, True, True]


@pytest.mark.parametrize("elevations", [[], [1.0, float("nan")]])
def test_empty_elevation_table_is_rejected(elevations: list[float]) -> None:
    with pytest.raises(ValueError, match="expected the elevations of one laser or more in degrees"):
        ring_from_elevation(sweep().reshape(-1, 3), elevations)


def test_a_single_laser_has_ring_zero() -> None:
    ring, far = ring_from_elevation(points_at(np.zeros(2), np.array([1.0, -30])), [1.0])
    assert ring.tolist() == [0, 0]
    assert far.tolist() == [False, True]


@pytest.mark.parametrize("start_deg", [0, 90, 179.9, -179.9, 3])
def test_without_offsets_time_is_fraction_of_revolution(start_deg: float) -> None:
    time = times_from_azimuth(sweep(start_deg=start_deg, spread=0).reshape(-1, 3), TURN_S)
    assert time is not None
    assert time.dtype == np.float32
    np.testing.assert_allclose(time, firing_times_s(), atol=1e-6)


@pytest.mark.parametrize("turns", [0.01, 0.3, 1.0, 1.03])
@pytest.mark.parametrize("start_deg", [0, 178, -178])
def test_laser_offsets_do_not_change_times_within_sweep(start_deg: float, turns: float) -> None:
    time = times_from_azimuth(sweep(start_deg=start_deg, turns=turns).reshape(-1, 3), TURN_S)
    assert time is not None
    assert time.min() == 0
    assert time.max() < 1.1 * TURN_S
    assert (np.diff(time) >= 0).all()
    spread_s = 2 * max(OFFSETS_DEG) / 360 * TURN_S
    assert np.abs(time - firing_times_s(turns=turns)).max() < spread_s
    if turns >= 0.3:
        inner = slice(50 * LASERS, -50 * LASERS)
        assert np.ptp((time - firing_times_s(turns=turns))[inner]) < 0.0005


def test_missing_points_do_not_change_times() -> None:
    keep_mask = np.random.default_rng(1).random(500 * LASERS) < 0.4
    keep_mask[120 * LASERS : 420 * LASERS] = False  # 216 deg of sky
    time = times_from_azimuth(sweep().reshape(-1, 3)[keep_mask], TURN_S)
    assert time is not None
    assert np.abs(time - (firing_times_s()[keep_mask] - firing_times_s()[keep_mask][0])).max() < 0.005


@pytest.mark.parametrize(
    "order",
    [
        lambda cloud: cloud.transpose(1, 0, 2),  # ring by ring
        lambda cloud: cloud.transpose(1, 0, 2)[:, ::-1],
        lambda cloud: cloud[::-1],  # against the turn
        lambda cloud: cloud * np.array([1, -1, 1], np.float32),
        lambda cloud: np.random.default_rng(2).permutation(cloud.reshape(-1, 3)),
        lambda cloud: np.concatenate([cloud, cloud]),  # two turns
        lambda cloud: np.concatenate([cloud[:250], cloud[240:250], cloud[200:]]),  # a piece once more
    ],
    ids=["rings", "rings_reversed", "reversed", "mirrored", "shuffled", "two_turns", "repeated"],
)
def test_unordered_points_have_no_times(order: object) -> None:
    assert callable(order)
    assert times_from_azimuth(order(sweep()).reshape(-1, 3), TURN_S) is None


def test_non_finite_point_gives_no_times() -> None:
    cloud = sweep().reshape(-1, 3).copy()
    cloud[77] = np.nan
    assert times_from_azimuth(cloud, TURN_S) is None


def test_times_scale_with_revolution_period() -> None:
    slow, fast = (times_from_azimuth(sweep().reshape(-1, 3), turn) for turn in (0.2, 0.1))
    assert slow is not None and fast is not None
    np.testing.assert_allclose(slow, 2 * fast, rtol=1e-6)


def test_points_of_equal_time_keep_their_order() -> None:
    order = time_order(np.array([0.2, 0.1, 0.2, 0.0, 0.1], np.float32))
    assert order.tolist() == [3, 1, 4, 0, 2]


def test_no_points_give_no_rings_and_no_times() -> None:
    none = np.zeros((0, 3), np.float32)
    ring, far = ring_from_elevation(none, ELEVATIONS_DEG)
    assert ring.shape == far.shape == time_order(none[:, 0]).shape == (0,)
    time = times_from_azimuth(none, TURN_S)
    assert time is not None and time.shape == (0,)
    one = times_from_azimuth(np.ones((1, 3), np.float32), TURN_S)
    assert one is not None and one.tolist() == [0]
