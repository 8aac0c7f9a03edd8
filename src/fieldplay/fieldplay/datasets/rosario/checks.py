"""What can be measured of a Rosario sequence: the IMU's false stretches, how the truth lies, what the log lacks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import polars
from numpy.typing import NDArray

from fieldplay.core.errors import Defect
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.rosario.nmea import GGA, RMC
from fieldplay.datasets.rosario.raw_folder import has_velocity
from fieldplay.geometry.geodesy import enu_from_geodetic
from fieldplay.io.table_streams import Tables
from fieldplay.messages import records
from fieldplay.streams.stream import Stream

ENOUGH_ROWS, ENOUGH_SECONDS = 20, 5
# By how much one second may differ from what is usual in the archive; the robot drives at walking pace
FORCE_OFF_M_S2, RATE_OFF_RAD_S = 3.0, 1.0  # medians of specific force and turn rate
WILD_M_S2, WILD_RAD_S, WILD_SHARE = 10.0, 5.0, 0.1  # single rows, and how many of them
SPREAD_FACTOR, SPREAD_M_S2 = 12.0, 1.0  # against the usual spread of the force
BRIDGED_S = 2  # good seconds between false ones
TRUTH_RMS_M = 2.0
LONGEST_STEP_NS = NS_PER_S  # between fixes, for places between them
SHORTEST_WAY_M = 1.0
SHORT_SHARE = 0.97
FEWEST_PLACES = 5

Floats = NDArray[np.float64]
Stamps = NDArray[np.int64]


@dataclass(frozen=True)
class _Usual:
    """What is usual in an archive: medians of specific force and turn rate, and how the force spreads about its own."""

    force: float
    rate: float
    spread: float


def check_imu(archive: Archive, file: str) -> None:
    """Report the stretches in which the IMU, of a log or a bag, shows what it shows nowhere else, for a second or more.

    Each second's medians are compared with those of the whole archive, so that single bumps do not count.
    """
    stream = archive.streams.get("imu")
    if stream is None or not len(stream.spans):
        return
    begin_ns = min(span.first_ns for span in stream.spans)
    seconds = _seconds_of_imu(stream, begin_ns, None)
    if not len(seconds):
        return
    usual = _Usual(*(float(np.median(seconds[name].to_numpy())) for name in ("force", "rate", "spread")))
    archive.notes.append(f"measured: the specific force is {usual.force:.2f} m/s2 (median norm)")
    seconds = _seconds_of_imu(stream, begin_ns, usual)
    false = seconds.filter(_is_false(usual)) if len(seconds) >= ENOUGH_SECONDS else seconds.clear()
    for first, last in _stretches(false["second"].to_list()):
        of = false.filter(polars.col("second").is_between(first, last))
        force, rate, wild = (float(of[name].to_numpy().max()) for name in ("force", "rate", "wild"))
        shown = f"specific force up to {force:.1f} m/s2, rates up to {rate:.2f} rad/s (medians of a second)"
        place = f"from {first} s to {last + 1} s after its begin the IMU shows what it shows nowhere else"
        cure = f"--set imu_until_s={first} leaves out what comes from there"
        message = f"{place}: {shown}, {wild:.0%} of single rows beyond reason; {cure}"
        archive.defects(Defect(file=file, kind="implausible_imu", stream="imu", message=message))


def _is_false(usual: _Usual) -> polars.Expr:
    return (
        ((polars.col("force") - usual.force).abs() > FORCE_OFF_M_S2)
        | (polars.col("rate") > usual.rate + RATE_OFF_RAD_S)
        | (polars.col("wild") > WILD_SHARE)
        | (polars.col("spread") > max(SPREAD_FACTOR * usual.spread, SPREAD_M_S2))
        | ((polars.col("distinct") == 1) & (usual.spread > 0))  # it stands still
    )


def _seconds_of_imu(stream: Stream, begin_ns: int, usual: _Usual | None) -> polars.DataFrame:
    """Each second's medians of specific force and rate, the spread of the force, and the share of wild rows."""
    return polars.concat([_statistics(stream.load(index), begin_ns, usual) for index in range(len(stream.spans))])


def _statistics(record: records.Record, begin_ns: int, usual: _Usual | None) -> polars.DataFrame:
    if not isinstance(record, records.Imu):
        raise TypeError(f"expected an IMU, got {type(record).__name__}")
    force = np.linalg.norm(record.linear_acceleration_m_s2, axis=1)
    rate = np.linalg.norm(record.angular_velocity_rad_s, axis=1)
    wild = np.zeros(len(force), bool)
    if usual is not None:
        wild = (np.abs(force - usual.force) > WILD_M_S2) | (rate > usual.rate + WILD_RAD_S)
    columns = {"second": (record.stamp_ns - begin_ns) // NS_PER_S, "force": force, "rate": rate, "wild": wild}
    seconds = (
        polars.DataFrame(columns)
        .group_by("second")
        .agg(
            force=polars.col("force").median(),
            rate=polars.col("rate").median(),
            wild=polars.col("wild").mean(),
            spread=(polars.col("force") - polars.col("force").median()).abs().median(),
            distinct=polars.col("force").n_unique(),
            rows=polars.len(),
        )
    )
    return seconds.filter(polars.col("rows") >= ENOUGH_ROWS)


def _stretches(seconds: list[int]) -> Iterator[tuple[int, int]]:
    """First and last of the runs of seconds that lie close together."""
    numbers = np.array(sorted(set(seconds)), int)
    runs = np.cumsum(np.diff(numbers, prepend=numbers[:1]) > BRIDGED_S + 1)
    for _, run in groupby(zip(runs.tolist(), numbers.tolist(), strict=True), key=lambda pair: pair[0]):
        members = [second for _, second in run]
        yield members[0], members[-1]


def check_ground_truth(archive: Archive, file: str) -> None:
    """Note by how much the ground truth is turned against east and north, and how well it then lies on the fixes."""
    if "ground_truth" not in archive.streams or "fix" not in archive.streams:
        return
    truth, fixes = _truth(archive.streams["ground_truth"]), _fixes(archive.streams["fix"])
    places, near = _places_at(fixes, truth[0])
    if near.sum() < FEWEST_PLACES:
        archive.notes.append(f"warning: {file}: {int(near.sum())} rows have fixes around them: is it of this sequence?")
        return
    angle_deg, rms_m, way_m = _fit(truth[1][near], places[near])
    if way_m < SHORTEST_WAY_M:
        return
    text = f"the ground truth turned by {angle_deg:+.3f} deg lies on the fixes (east, north) within {rms_m:.3f} m (rms)"
    archive.notes.append(f"measured: {text}" if rms_m < TRUTH_RMS_M else f"warning: {text}: is it of this sequence?")


def _truth(stream: Stream) -> tuple[Stamps, Floats]:
    stamps: list[Stamps] = [np.zeros(0, np.int64)]
    places: list[Floats] = [np.zeros((0, 2))]
    for index in range(len(stream.spans)):
        record = stream.load(index)
        if isinstance(record, records.Odometry):
            stamps.append(record.stamp_ns)
            places.append(record.position_m[:, :2])
    return np.concatenate(stamps), np.concatenate(places)


def _fixes(stream: Stream) -> tuple[Stamps, Floats]:
    """Times (n,) and places (n, 2), east and north of the first fix."""
    stamps: list[Stamps] = [np.zeros(0, np.int64)]
    geodetic: list[Floats] = [np.zeros((0, 3))]
    for index in range(len(stream.spans)):
        record = stream.load(index)
        if isinstance(record, records.Fix):
            degrees = np.stack([record.latitude_deg, record.longitude_deg, record.altitude_m], axis=1)
            there = (record.status >= 0) & np.isfinite(degrees[:, :2]).all(axis=1)
            stamps.append(record.stamp_ns[there])
            geodetic.append(np.nan_to_num(degrees[there]) * [np.pi / 180, np.pi / 180, 1])
    all_stamps, rows = np.concatenate(stamps), np.concatenate(geodetic)
    order = np.argsort(all_stamps, kind="stable")
    return all_stamps[order], enu_from_geodetic(rows[order], rows[order][0])[:, :2] if len(rows) else np.zeros((0, 2))


def _places_at(fixes: tuple[Stamps, Floats], stamp_ns: Stamps) -> tuple[Floats, NDArray[np.bool_]]:
    """Places (n, 2) between the fixes at times (n,), and at which of the times fixes are near on both sides."""
    times, places = fixes
    if len(times) < 2:
        return np.zeros((len(stamp_ns), 2)), np.zeros(len(stamp_ns), bool)
    after = np.clip(np.searchsorted(times, stamp_ns), 1, len(times) - 1)
    inside = (stamp_ns >= times[0]) & (stamp_ns <= times[-1])
    near = inside & (times[after] - times[after - 1] <= LONGEST_STEP_NS)
    seconds, wanted = (times - times[0]) / NS_PER_S, (stamp_ns - times[0]) / NS_PER_S
    return np.stack([np.interp(wanted, seconds, places[:, axis]) for axis in (0, 1)], axis=1), near


def _fit(truth: Floats, places: Floats) -> tuple[float, float, float]:
    """The turn in degrees that lays one path (n, 2) on another, what is left (rms) and how far the path goes, in m."""
    first, second = truth - truth.mean(axis=0), places - places.mean(axis=0)
    along = float((first * second).sum())
    across = float((first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]).sum())
    angle = np.arctan2(across, along)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    left = first @ turn.T - second
    extent = float(np.ptp(places, axis=0).max())
    return float(np.degrees(angle)), float(np.sqrt((left**2).sum(axis=1).mean())), extent


def check_nmea(archive: Archive, tables: Mapping[str, Tables]) -> None:
    """Note what the log of the receiver lacks, and how far the clocks are apart."""
    if "gps" not in tables:
        return
    blocks = [tables["gps"].rows(index) for index in range(len(tables["gps"].blocks))]
    missing = {"fixes without a position": 0, "fixes without a height": 0, "RMC without a valid velocity, left out": 0}
    apart = [np.zeros(0)]
    for rows in blocks:
        fixes = rows.only(rows["sentence"] == GGA)
        no_fix = np.isnan(fixes["latitude"])
        velocities = rows.only(rows["sentence"] == RMC)
        counts = (no_fix, ~no_fix & np.isnan(fixes["altitude"]), ~has_velocity(velocities))
        missing = {name: count + int(more.sum()) for (name, count), more in zip(missing.items(), counts, strict=True)}
        seconds = velocities.stamp_ns / NS_PER_S - velocities["utc"]
        apart.append(seconds[np.isfinite(seconds)])
    archive.notes += [f"{name}: {count}" for name, count in missing.items() if count]
    offsets = np.concatenate(apart)
    if len(offsets):
        spread = float(np.percentile(offsets, 95) - np.percentile(offsets, 5))
        text = f"the computer's clock is {float(np.median(offsets)):+.3f} s against GPS"
        archive.notes.append(f"measured: {text}, with a spread (5 to 95 %) of {spread:.3f} s")


def check_length(archive: Archive, sequence: int | None) -> None:
    """Note how long the archive is beside the paper's length of the sequence, where it is shorter."""
    known = archive.spec.constants["sequences"].get(sequence)
    spans = [span for name, stream in archive.streams.items() if name != "ground_truth" for span in stream.spans]
    if known is None or not spans:
        return
    length_s = (max(span.last_ns for span in spans) - min(span.first_ns for span in spans)) / NS_PER_S
    expected_s = known["minutes"] * 60
    text = f"sequence {sequence} of the paper: {known['difficulty']}, {known['length_m']} m, {known['minutes']} min"
    if length_s < SHORT_SHARE * expected_s:
        text += f"; this is {length_s:.1f} s of about {expected_s:.0f} s: a part of it, or cut"
    archive.notes.append(f"{text} ({known['about']})")
