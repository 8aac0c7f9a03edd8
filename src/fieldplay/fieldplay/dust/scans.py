"""Scans of a laser as rows, and the neighbours of each return in its own scan and in the one before."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import Array

NO_RETURN, OK, IN_FRONT, ISOLATED, UNKNOWN = range(5)
OUTCOMES = 5
Outcomes = NDArray[np.uint8]
Flags = NDArray[np.bool_]


# What the comparison of lasers with a radar needs to know, with the names of the dataset's description.


@dataclass(frozen=True, kw_only=True)
class IntegritySettings:
    """Lengths in metres, times in seconds, angles in degrees. The defaults fit a radar with a beam of 3 degrees."""

    radar_delay_s: float = 0.15  # a revolution counts from so long after its stamp on: then it is complete
    radar_memory_s: float = 0.4  # and so long after that
    radar_nearest_m: float = 1.0  # what the radar says to be nearer is taken for its own leakage
    cell_deg: float = 3.0  # to either side of a radar return: half its beam and half the step to the next
    below_m: float = 0.5  # a laser return this far below the radar's plane may be of something that is too low for it
    above_m: float = 2.5  # what stands on the ground and is met above the plane blocks it too, but for what hangs over
    tolerance_m: float = 0.5  # in front is what is nearer than the radar's nearest return by more than this
    tolerance_share: float = 0.15  # and this share of the range: the beam's footprint on the ground
    trace_scans: int = 22  # a return is steady if it can be traced back through so many scans, 0.3 s of a fast laser,
    steady_m: float = 0.15  # with steps of at most so much
    isolated_m: float = 0.5  # a single return stands out from its neighbours by more than this
    isolated_within_m: float = 15.0  # from farther away a single drop sends back too little
    window_s: float = 2.0  # of the shares
    report_s: float = 1.0  # between two reports
    dust_share: float = 0.03  # of the compared returns in front of the radar's: dust or smoke from here on
    rain_share: float = 0.004  # of the returns that stand alone: rain from here on,
    cloud_share: float = 0.15  # unless so many of the flagged returns lie together: then it is thin dust or smoke
    least_judged: int = 200  # fewer compared returns in a window give no condition

    def __post_init__(self) -> None:
        for name in (entry.name for entry in fields(self)):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name}: expected a number from 0 on, got {getattr(self, name)}")
        for name in ("window_s", "report_s", "radar_memory_s", "trace_scans"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}: expected more than 0, got {getattr(self, name)}")


def integrity_from_settings(settings: Mapping[str, Any]) -> IntegritySettings:
    """The settings from a mapping by name; other names are left alone, as the node has some of its own."""
    names = (entry.name for entry in fields(IntegritySettings) if entry.name in settings)
    return IntegritySettings(**{name: settings[name] for name in names})


@dataclass(frozen=True, eq=False, kw_only=True)
class Scans:
    """Scans at their times (n,): where they begin and their step (n,), and ranges (n, k), NaN where there is none.

    Infinite is a beam that met nothing. Shorter scans are filled up with NaN.
    """

    stamp_ns: NDArray[np.int64]
    angle_min_rad: Array
    angle_increment_rad: Array
    ranges_m: Array

    def __len__(self) -> int:
        return len(self.stamp_ns)

    def only(self, rows: slice | NDArray[np.bool_]) -> "Scans":
        """Some of the scans."""
        return Scans(
            stamp_ns=self.stamp_ns[rows],
            angle_min_rad=self.angle_min_rad[rows],
            angle_increment_rad=self.angle_increment_rad[rows],
            ranges_m=self.ranges_m[rows],
        )

    @property
    def angles_rad(self) -> Array:
        """The angle of each beam (n, k)."""
        angles: Array = self.angle_min_rad[:, None] + self.angle_increment_rad[:, None] * np.arange(
            self.ranges_m.shape[1]
        )
        return angles


def scans_from_messages(
    stamp_ns: NDArray[np.int64], angle_min_rad: Array, angle_increment_rad: Array, *, ranges_m: Array,
    limits_m: tuple[Array, Array],
) -> Scans:  # fmt: skip
    """Scans with the precision of messages, single floats, so that a node and a batch see the same numbers.

    A range outside of the limits (n,), the least and the largest, is none; what is infinite stays so.
    """
    ranges = ranges_m.astype(np.float32)
    low, high = (limit.astype(np.float32)[:, None] for limit in limits_m)
    with np.errstate(invalid="ignore"):
        inside = ((ranges >= low) & (ranges <= high)) | np.isposinf(ranges)
    return Scans(
        stamp_ns=stamp_ns,
        angle_min_rad=angle_min_rad.astype(np.float32).astype(np.float64),
        angle_increment_rad=angle_increment_rad.astype(np.float32).astype(np.float64),
        ranges_m=np.where(inside, ranges, np.nan).astype(np.float64),
    )


def concatenate_scans(first: Scans, then: Scans) -> Scans:
    """Concatenate scans, the shorter ones padded with NaN."""
    parts = (first, then)
    ranges = np.full((len(first) + len(then), max(part.ranges_m.shape[1] for part in parts)), np.nan)
    for part, rows in zip(parts, (slice(None, len(first)), slice(len(first), None)), strict=True):
        ranges[rows, : part.ranges_m.shape[1]] = part.ranges_m
    return Scans(
        stamp_ns=np.concatenate([part.stamp_ns for part in parts]),
        angle_min_rad=np.concatenate([part.angle_min_rad for part in parts]),
        angle_increment_rad=np.concatenate([part.angle_increment_rad for part in parts]),
        ranges_m=ranges,
    )


def shift_beams(values: Array, steps: int) -> Array:
    """The values (n, k) shifted by so many beams, NaN beyond the ends."""
    moved = np.full(values.shape, np.nan)
    if abs(steps) < values.shape[1]:
        source, target = (
            (slice(steps, None), slice(None, -steps)) if steps > 0 else (slice(None, steps), slice(-steps, None))
        )
        moved[:, target] = values[:, source]
    return moved


def previous_scan_values(
    scans: Scans, previous: Scans | None, values: Array, previous_values: Array | None
) -> tuple[Array, Array]:
    """The values (n, k) at the two beams of the scan before that enclose each beam, NaN where there is none.

    The first scan comes after `previous`, which is one scan with values (1, k'), or after nothing.
    """
    width = values.shape[1]
    earlier = np.full(values.shape, np.nan)
    earlier[1:] = values[:-1]
    starts = np.full(len(values), np.nan)
    starts[1:] = scans.angle_min_rad[:-1]
    if previous is not None and previous_values is not None and len(values):
        shared = min(width, previous_values.shape[1])
        earlier[0, :shared] = previous_values[0, :shared]
        starts[0] = previous.angle_min_rad[0]
    shift = np.nan_to_num((scans.angle_min_rad - starts) / scans.angle_increment_rad, posinf=0.0, neginf=0.0)
    lower = np.floor(np.clip(shift, -width, width) + 1e-3).astype(np.intp)[:, None] + np.arange(width)
    first, second = (_at(earlier, lower + step) for step in (0, 1))
    return first, second


def _at(values: Array, index: NDArray[np.intp]) -> Array:
    """Values (n, k) at indices (n, k), NaN where the index is out of range."""
    inside = (index >= 0) & (index < values.shape[1])
    result = np.take_along_axis(values, np.where(inside, index, 0), axis=1)
    return np.where(inside, result, np.nan)
