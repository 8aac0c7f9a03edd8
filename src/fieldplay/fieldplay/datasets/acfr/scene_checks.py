"""The static scene as laser and radar see it, which tells the sense of their angles; the radar's ranges compared."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import Defect
from fieldplay.datasets.acfr.navigation import ned_from_frd
from fieldplay.datasets.acfr.navigation_checks import stands
from fieldplay.datasets.acfr.radar import (
    RANGES,
    SPECTRUM,
    RangeEquation,
    equation_from,
    metres,
    peak_bins,
    spectrum_of,
)
from fieldplay.datasets.acfr.sets import KnownSet
from fieldplay.datasets.acfr.sweeps import finder_of, rows_of_revolution
from fieldplay.datasets.archive import Archive, spread
from fieldplay.io.row_cache import TableRows
from fieldplay.io.table_streams import Tables
from fieldplay.messages.records import Clouds, LaserScans
from fieldplay.streams.stream import Stream

POLES, REFLECTOR = ("left frame pole", "right frame pole"), "radar reflector"
PUBLISHED = "m_deg_fixed_xyz_frd"
SPANS, SCANS, REVOLUTIONS = 8, 100, 8  # that are looked at, spread over the archive
NEAR_DEG, NEAR_M = 3.0, 0.5
SEEN_SHARE = 0.5  # of the scans
SAME_NS = 5_000_000
ENOUGH, FEWEST_BINS = 20, 3

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Target:
    """A thing of the static scene, from the vehicle: horizontal range, and bearing, to the right positive."""

    range_m: float
    bearing_deg: float
    sets: tuple[int, ...] = ()  # in which it was there; all where none is named


@dataclass(frozen=True, kw_only=True)
class Sight:
    """In which share of the scans something lies at a target, and where in the median."""

    share: float
    bearing_deg: float
    range_m: float

    @property
    def is_seen(self) -> bool:
        return self.share >= SEEN_SHARE


@dataclass(frozen=True, kw_only=True)
class Seeing:
    """How ranges are found in spectra: the equation, its bins (0 for those of the lines), how far peaks are sought."""

    equation: RangeEquation
    bins: int
    farthest_m: float

    def peaks_m(self, spectrum: Floats) -> Floats:
        """The range of the strongest peak of each row (n, bins), NaN where the bins are too few to seek in."""
        count = spectrum.shape[1]
        range_m = self.equation.range_m(np.arange(1, count + 1), self.bins or count)
        inside = np.flatnonzero((range_m >= 0) & (range_m <= self.farthest_m))
        if len(inside) < FEWEST_BINS:
            return np.full(len(spectrum), np.nan)
        top = peak_bins(spectrum[:, inside[0] : inside[-1] + 1]) + inside[0]
        return self.equation.range_m(top, self.bins or count)


def target_of(constants: Mapping[str, Any], name: str) -> Target:
    """A target by its name in the description."""
    entry, vehicle = constants["reference_objects"][name], constants["scene_vehicle"]
    right, ahead = entry["x"] - vehicle["x"], entry["y"] - vehicle["y"]
    return Target(
        range_m=float(np.hypot(right, ahead)),
        bearing_deg=float(np.degrees(np.arctan2(right, ahead))),
        sets=tuple(entry.get("sets", ())),
    )


def sight_of(scans: list[Floats], turn: Floats, target: Target, *, mirrored: bool) -> Sight:
    """How a target is seen in scans, each of points (n, 3) in the sensor's frame (FLU), which `turn` takes to FRD.

    `mirrored` takes the sensor's left for its right.
    """
    sign = np.array([1.0, 1.0 if mirrored else -1.0, -1.0])
    bearings, ranges = [np.zeros(0)], [np.zeros(0)]
    seen = 0
    for points in scans:
        x, y, _ = turn @ (points * sign).T
        bearing, range_m = np.degrees(np.arctan2(y, x)), np.hypot(x, y)
        near = (np.abs(bearing - target.bearing_deg) < NEAR_DEG) & (np.abs(range_m - target.range_m) < NEAR_M)
        seen += bool(near.any())
        bearings.append(bearing[near])
        ranges.append(range_m[near])
    bearing, range_m = np.concatenate(bearings), np.concatenate(ranges)
    if not len(bearing):
        return Sight(share=0.0, bearing_deg=np.nan, range_m=np.nan)
    return Sight(share=seen / len(scans), bearing_deg=float(np.median(bearing)), range_m=float(np.median(range_m)))


def body_from_sensor(archive: Archive, sensor: str) -> Floats | None:
    """The published rotation (3, 3) of a sensor in the body, both FRD; None where it is not published so."""
    for row in archive.spec.extrinsics:
        if (row.parent, row.child, row.convention) == ("base_link", sensor, PUBLISHED):
            turn: Floats = ned_from_frd(np.radians([row.rotation]))[0]
            return turn
    return None


def check_poles(archive: Archive, tables: Mapping[str, Tables], known: KnownSet | None) -> None:
    """Note where LaserHorizontal sees the poles of the frame before the vehicle; mirrored ones are a defect."""
    stream, turn = archive.streams.get("laser_horizontal_scan"), body_from_sensor(archive, "laser_horizontal")
    if stream is None or turn is None or not _is_static(archive, tables, known):
        return
    scans = list(_scans(stream))
    targets = {name: target_of(archive.spec.constants, name) for name in POLES}
    sights = {name: sight_of(scans, turn, target, mirrored=False) for name, target in targets.items()}
    others = {name: sight_of(scans, turn, target, mirrored=True) for name, target in targets.items()}
    text = "; ".join(_told(name, sights[name], target) for name, target in targets.items())
    if sum(sight.is_seen for sight in others.values()) > sum(sight.is_seen for sight in sights.values()):
        message = f"LaserHorizontal sees the frame's poles left for right: {text}; mirrored: "
        message += "; ".join(_told(name, others[name], target) for name, target in targets.items())
        archive.defects(Defect(file="LaserHorizontal", kind="laser_sense", message=message))
    elif known is not None or any(sight.is_seen for sight in sights.values()):
        archive.notes.append(f"measured: LaserHorizontal in the static scene: {text}")


def check_reflector(archive: Archive, tables: Mapping[str, Tables], known: KnownSet | None) -> None:
    """Note where the radar sees the reflector on its pole, in the sets that have it: this tells its angle's sense."""
    stream, turn = archive.streams.get("radar_points"), body_from_sensor(archive, "radar")
    target = target_of(archive.spec.constants, REFLECTOR)
    is_there = known.number in target.sets if known is not None else _is_static(archive, tables, known)
    if stream is None or turn is None or not is_there:
        return
    clouds = list(_clouds(stream))
    sight, other = (sight_of(clouds, turn, target, mirrored=mirrored) for mirrored in (False, True))
    text = f"the radar in the static scene: {_told(REFLECTOR, sight, target)}"
    if other.is_seen and not sight.is_seen:
        cure = f"--set radar_angle_sense={-archive.parameters['radar_angle_sense']} would turn it round"
        message = f"{text}; with the angle the other way: {_told(REFLECTOR, other, target)}; {cure}"
        archive.defects(Defect(file="RadarRangeBearing", kind="radar_sense", message=message))
    elif known is not None or sight.is_seen:
        archive.notes.append(f"measured: {text}; seen in both senses" if other.is_seen else f"measured: {text}")


def _is_static(archive: Archive, tables: Mapping[str, Tables], known: KnownSet | None) -> bool:
    return known.is_static if known is not None else stands(archive, tables)


def _told(name: str, sight: Sight, target: Target) -> str:
    expected = f"{target.bearing_deg:+.1f} deg, {target.range_m:.2f} m"
    if not sight.is_seen:
        return f"{name} not seen (expected at {expected})"
    return f"{name} at {sight.bearing_deg:+.1f} deg, {sight.range_m:.2f} m (expected {expected})"


def _scans(stream: Stream) -> Iterator[Floats]:
    """Points (n, 3) of scans from all over the stream."""
    for index in spread(len(stream.spans), SPANS):
        record = stream.load(index)
        if not isinstance(record, LaserScans):
            continue
        for row in range(min(len(record), SCANS)):
            ranges = record.ranges_m[row]
            angle = record.angle_min_rad[row] + np.arange(len(ranges)) * record.angle_increment_rad[row]
            good = np.isfinite(ranges)
            x, y = ranges[good] * np.cos(angle[good]), ranges[good] * np.sin(angle[good])
            yield np.stack([x, y, np.zeros(len(x))], axis=1)


def _clouds(stream: Stream) -> Iterator[Floats]:
    """Points (n, 3) of clouds from all over the stream."""
    for index in spread(len(stream.spans), SPANS):
        record = stream.load(index)
        if isinstance(record, Clouds):
            for row in range(len(record)):
                points = record.load(row)
                yield np.stack([points[axis].astype(np.float64) for axis in "xyz"], axis=1)


def check_radar_ranges(archive: Archive, tables: Mapping[str, Tables]) -> None:
    """Compare the peaks of the spectra with the archive's own ranges at the same times."""
    if RANGES not in tables or SPECTRUM not in tables:
        return
    seeing = Seeing(
        equation=equation_from(archive.spec.constants),
        bins=archive.parameters["radar_bins"],
        farthest_m=archive.spec.constants["radar"]["farthest_m"],
    )
    parts = [_beside(rows, tables[RANGES], seeing) for rows in _revolutions(tables[SPECTRUM])]
    apart_m, apart_deg = (np.concatenate([np.zeros(0), *(part[place] for part in parts)]) for place in (0, 1))
    if len(apart_m) < ENOUGH:
        archive.notes.append("measured: spectra and ranges of the radar have no times in common")
        return
    median, most = float(np.median(apart_m)), float(np.percentile(apart_m, 95))
    text = (
        f"the spectra's peaks differ from RadarRangeBearing's ranges by {median:.4f} m in the median, 95 % of them by "
        f"less than {most:.3f} m ({len(apart_m)} lines, whose bearings differ by {float(np.median(apart_deg)):.3f} deg)"
    )
    archive.notes.append(f"measured: {text}")
    if median > archive.spec.constants["radar"]["m_per_bin"]:
        file = tables[SPECTRUM].tables[0].name
        archive.defects(Defect(file=file, kind="radar_ranges", message=f"{text}: more than a bin"))


def _revolutions(tables: Tables) -> Iterator[TableRows]:
    for table in tables.tables:
        found = finder_of(table).revolutions
        for index in spread(len(found), REVOLUTIONS):
            yield rows_of_revolution(table, found[index])


def _beside(rows: TableRows, ranges: Tables, seeing: Seeing) -> tuple[Floats, Floats]:
    """By how much peaks and bearings (m,) differ from those of the ranges at the same times."""
    if not len(rows):
        return np.zeros(0), np.zeros(0)
    peaks_m = seeing.peaks_m(spectrum_of(rows))
    nearest, near = ranges.nearest(rows.stamp_ns, SAME_NS)
    range_m = metres(nearest["range"], nearest["unit"])
    bearing_deg = rows["angle_deg"] - np.degrees(nearest["start_angle"])
    near &= np.isfinite(range_m) & np.isfinite(peaks_m)
    apart_deg = np.abs((bearing_deg + 180) % 360 - 180)
    return np.abs(peaks_m - range_m)[near], apart_deg[near]
