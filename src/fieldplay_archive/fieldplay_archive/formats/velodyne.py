"""What a Velodyne cloud without ring and time tells about them: the laser and the time within the sweep.

All functions work on points (n, 3) x y z in the lidar's own frame, z up, that are finite and not at the origin: whoever
calls drops the others first. A point that is NaN would get some ring, and no cloud with one would get times.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

FAR_FROM_LASER_DEG = 0.1
# In a firing group the azimuth of each laser is off by up to 4.2 deg to either side; some tenths are left for noise.
JITTER_RAD = np.deg2rad(9.0)
LONGEST_SWEEP_TURNS = 1.1


def ring_from_elevation(
    xyz: NDArray[np.floating], elevations_deg: ArrayLike
) -> tuple[NDArray[np.uint16], NDArray[np.bool_]]:
    """The ring (n,) of points (n, 3), and which of them (n,) lie further than 0.1 deg from any laser.

    The ring is the rank by elevation, 0 the lowest, of the laser nearest to the point's elevation.
    """
    lasers = np.sort(np.asarray(elevations_deg, np.float64).ravel())
    if not len(lasers) or not np.isfinite(lasers).all():
        raise ValueError(f"expected the elevations of one laser or more in degrees, got {lasers.tolist()}")
    x, y, z = np.asarray(xyz).T
    elevation = np.rad2deg(np.arctan2(z, np.sqrt(x * x + y * y)))
    ring = np.searchsorted((lasers[1:] + lasers[:-1]) / 2, elevation)
    far = np.abs(elevation - lasers[ring]) > FAR_FROM_LASER_DEG
    return ring.astype(np.uint16), far


def times_from_azimuth(xyz: NDArray[np.floating], revolution_s: float) -> NDArray[np.float32] | None:
    """Seconds (n,) within the sweep since the first of the points (n, 3); None if they are not in firing order.

    The lidar turns clockwise seen from above, so the azimuth falls. As each laser of a firing group looks a few degrees
    ahead of or behind the others, a point's own azimuth is no clock: its time is taken half-way between the furthest
    azimuth so far and the nearest one still to come, which never falls. The two differ by no more than the spread of a
    group in a cloud in firing order; one that is stored ring by ring, the other way round or shuffled is told by that.
    """
    x, y, _ = np.asarray(xyz, np.float64).T
    if not len(x):
        return np.zeros(0, np.float32)
    swept = _swept(np.arctan2(y, x))
    furthest = np.maximum.accumulate(swept)
    nearest_to_come = np.minimum.accumulate(swept[::-1])[::-1]
    if not (furthest - nearest_to_come).max() <= JITTER_RAD:
        return None
    turns = (furthest + nearest_to_come) / (4 * np.pi)
    turns -= turns[0]
    if turns[-1] > LONGEST_SWEEP_TURNS:
        return None
    times: NDArray[np.float32] = (turns * revolution_s).astype(np.float32)
    return times


def _swept(azimuth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Angle turned clockwise since the first point; a step is a jitter back or else forward by up to nearly a turn."""
    swept: NDArray[np.float64] = azimuth[0] - azimuth
    step = np.diff(swept)
    turns = np.where(step < -JITTER_RAD, 1, 0) - (step >= 2 * np.pi - JITTER_RAD)
    swept[1:] += 2 * np.pi * np.cumsum(turns)
    return swept


def time_order(time: NDArray[np.floating]) -> NDArray[np.intp]:
    """The order (n,) that sorts points by time, oldest first; points of one time stay in the order of the file."""
    return np.argsort(time, kind="stable")
