"""What can be measured of a Rosario sequence: the IMU's false stretches, how the truth lies, what the log lacks."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import polars
from numpy.typing import NDArray

from fieldplay.core.errors import Defect
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import Archive, Measurement, measure
from fieldplay.datasets.rosario.nmea import GGA, RMC
from fieldplay.datasets.rosario.raw_folder import RAD_S_PER_RPM, has_velocity
from fieldplay.geometry.extrinsics import edges_from_published
from fieldplay.geometry.geodesy import earth_centred_from_geodetic, enu_from_geodetic
from fieldplay.io.table import Tables
from fieldplay.messages import records
from fieldplay.streams.stream import Stream

REAR_FIELDS = (9, 13)  # of the controller's text
MIN_STATUS = 2  # of NavSatStatus: RTK
MIN_SECONDS = 5
MOVING_M_S = 0.2  # by RTK; below it noise dominates
TURNING_RAD_S = 0.01  # rms of the turn rate, below which it is noise
LARGEST_RATIO = 2.0  # of the wheels' speed to RTK's, either way, that a slip or a wrong diameter may explain
MIN_TRACK = 0.3  # fraction of the track, below which left and right are not distinguished
MIN_UNITS = 5.0  # by which the steering must vary
ZERO_UNITS = 5.0  # by which its zero may be off: a degree
LIMIT_TOLERANCE_DEG = 0.5
Floats = NDArray[np.float64]
Columns = Callable[[records.Record], dict[str, Floats]]
ENOUGH_ROWS, ENOUGH_SECONDS = 20, 5
# By how much one second may differ from what is usual in the archive; the robot drives at walking pace
FORCE_OFF_M_S2, RATE_OFF_RAD_S = 3.0, 1.0  # medians of specific force and turn rate
WILD_M_S2, WILD_RAD_S, WILD_SHARE = 10.0, 5.0, 0.1  # single rows, and how many of them
SPREAD_FACTOR, SPREAD_M_S2 = 12.0, 1.0  # against the usual spread of the force
BRIDGED_S = 2  # good seconds between false ones
TRUTH_RMS_M = 2.0
LONGEST_STEP_NS = NS_PER_S  # between fixes, for places between them
SHORTEST_PATH_M = 1.0
SHORT_FRACTION = 0.97
MIN_POSITIONS = 5
Stamps = NDArray[np.int64]


# The wheels and the steering of a Rosario sequence against RTK and the gyroscope, second by second.
#
# All is compared as means over a second: rows of wheels, fixes and the IMU have times of their own, and memory does
# not grow with their number.


@dataclass(frozen=True)
class _Motion:
    """Each second's means: the wheels' own numbers and speed, the steering, the turn rate, and RTK's speed."""

    left: Floats
    right: Floats
    steering: Floats
    direction: Floats
    turn_rad_s: Floats
    rtk_m_s: Floats


def check_wheels(archive: Archive, tables: Tables | None) -> None:
    """Measure what the wheels' numbers mean, and report rows whose steering is beyond what the robot can do."""
    if tables is None or "wheel_numbers" not in archive.streams:
        return
    _report_steering(archive, tables)
    file = tables.tables[0].name
    measure(archive, *_measurements(archive), file=file)


def _report_steering(archive: Archive, tables: Tables) -> None:
    """Rows beyond the limit, of each file the first with how many there are; they play."""
    per_unit, limit = (archive.spec.constants[name] for name in ("steering_deg_per_unit", "steering_limit_deg"))
    issues_by_file: dict[str, tuple[int, float, int]] = {}
    for index in range(len(tables.blocks)):
        rows, name = tables.rows(index), tables.table_of(index).name
        column = "steering" if rows.has("steering") else "angle"
        offset = 0.0 if column == "steering" else archive.spec.constants["cleaned_offset_units"]
        degrees = per_unit * (rows[column] - offset)
        beyond = np.flatnonzero(np.abs(degrees) > limit + LIMIT_TOLERANCE_DEG)
        if len(beyond):
            line, value, count = issues_by_file.get(name, (int(rows.line[beyond[0]]), float(degrees[beyond[0]]), 0))
            issues_by_file[name] = line, value, count + len(beyond)
    for name, (line, value, count) in issues_by_file.items():
        got = f"got {value:.2f} deg" + (f", and in {count - 1} more rows" if count > 1 else "")
        message = f"steering: expected at most {limit:g} deg to either side, {got}; they are kept"
        archive.defects(Defect(file=name, row=line, kind="out_of_range", stream="wheel_joints", message=message))


def _measurements(archive: Archive) -> Iterator[Measurement]:
    motion = _motion(archive)
    if motion is None:
        return
    yield from _speed_unit(archive, motion)
    yield from _check_left_wheel(archive, motion)
    yield from _steering(archive, motion)


def _speed_unit(archive: Archive, motion: _Motion) -> Iterator[Measurement]:
    """The mean of the rear wheels in metres per second, by either unit, over RTK's speed."""
    known = np.isfinite(motion.rtk_m_s) & (motion.rtk_m_s > MOVING_M_S)
    if known.sum() < MIN_SECONDS:
        return
    numbers, rtk = ((motion.left + motion.right) / 2)[known], motion.rtk_m_s[known]
    ratio = float((numbers * rtk).sum() / (rtk**2).sum())
    ratios = {unit: factor * ratio for unit, factor in _m_s_per(archive).items()}
    chosen = archive.parameters["wheel_unit"]
    best = min(ratios, key=lambda unit: abs(np.log(max(ratios[unit], 1e-9))))
    fits = best if 1 / LARGEST_RATIO < ratios[best] < LARGEST_RATIO else None
    text = f"the rear wheels, taken for {chosen}, are {ratios[chosen]:.3f} times as fast as the antenna by RTK"
    yield Measurement(text, "wheel_unit", fits)


def _m_s_per(archive: Archive) -> dict[str, float]:
    """What one of a unit of the wheels is in metres per second."""
    radius_m = _robot(archive)["wheel_diameter_m"] / 2
    return {"rpm": RAD_S_PER_RPM * radius_m, "m/s": 1.0}


def _robot(archive: Archive) -> Mapping[str, Any]:
    """The lengths of the robot, as its odometry takes them."""
    return next(item.settings for item in archive.spec.derived if item.kind == "ackermann_odometry")


def _check_left_wheel(archive: Archive, motion: _Motion) -> Iterator[Measurement]:
    """In a turn to the left the right wheel is faster: by the track, for each unit of turn rate."""
    drives = _steady(motion)
    turn_rate = motion.turn_rad_s[drives]
    if len(turn_rate) < MIN_SECONDS or np.sqrt((turn_rate**2).mean()) < TURNING_RAD_S:
        return
    factor = _m_s_per(archive)[archive.parameters["wheel_unit"]]
    faster = ((motion.right - motion.left) * motion.direction)[drives] * factor
    track_m = float((faster * turn_rate).sum() / (turn_rate**2).sum())
    text = f"the right wheel is faster in turns to the left as by a track of {track_m:.2f} m"
    if abs(track_m) < MIN_TRACK * _robot(archive)["track_m"]:
        yield Measurement(f"{text}: too little to distinguish left and right")
        return
    chosen = archive.parameters["left_wheel_field"]
    (other,) = (field for field in REAR_FIELDS if field != chosen)
    yield Measurement(text, "left_wheel_field", chosen if track_m > 0 else other)


def _steering(archive: Archive, motion: _Motion) -> Iterator[Measurement]:
    """Turn rate over speed against the steering's units: the slope has the sign, the root is the zero."""
    drives = _steady(motion)
    units, turn_rate = motion.steering[drives], motion.turn_rad_s[drives]
    if len(turn_rate) < MIN_SECONDS or units.std() < MIN_UNITS:
        return
    factor = _m_s_per(archive)[archive.parameters["wheel_unit"]]
    speed = ((motion.left + motion.right) / 2 * motion.direction)[drives] * factor
    wheelbase_m = _robot(archive)["wheelbase_m"]
    (offset, slope), *_ = np.linalg.lstsq(np.column_stack([speed, speed * units]), turn_rate, rcond=None)
    if np.sqrt((turn_rate**2).mean()) < TURNING_RAD_S or not slope:
        return
    degrees = float(np.degrees(-slope * wheelbase_m))
    zero = round(float(offset / slope), 2)
    direction = 1 if degrees > 0 else -1
    yield Measurement(f"a unit of the steering turns by {abs(degrees):.3f} deg", "steering_sign", direction)
    chosen = archive.parameters["steering_zero_units"]
    fits = chosen if abs(zero - chosen) < ZERO_UNITS else zero
    yield Measurement(
        f"the robot drives straight on at {-zero:+.2f} units of the steering", "steering_zero_units", fits
    )


def _steady(motion: _Motion) -> NDArray[np.bool_]:
    """The seconds in which the robot drives one way, and the gyroscope is known."""
    moves = np.where(np.isfinite(motion.rtk_m_s), motion.rtk_m_s, np.inf) > MOVING_M_S
    mask: NDArray[np.bool_] = (np.abs(motion.direction) == 1) & np.isfinite(motion.turn_rad_s) & moves
    mask &= (motion.left + motion.right) > 0
    return mask


def _motion(archive: Archive) -> _Motion | None:
    """The means of all seconds that have wheels."""
    wheels = _seconds(archive.streams["wheel_numbers"], _wheel_columns)
    if wheels is None or "imu" not in archive.streams:
        return None
    rotation = _base_R_imu(archive)
    turn_rates = _seconds(archive.streams["imu"], lambda record: _turn_columns(record, rotation))
    speeds = _speeds(archive)
    for other in (turn_rates, speeds):
        if other is not None:
            wheels = wheels.join(other, on="second", how="left")
    absent = np.full(len(wheels), np.nan)

    def column(name: str) -> Floats:
        return wheels[name].fill_null(np.nan).to_numpy() if name in wheels.columns else absent

    return _Motion(*(column(name) for name in ("left", "right", "steering", "direction", "turn", "speed")))


def _speeds(archive: Archive) -> polars.DataFrame | None:
    """RTK's speed by the second: the receiver's, else from the fixes of successive seconds."""
    if "velocity" in archive.streams:
        return _seconds(archive.streams["velocity"], _speed_columns)
    positions = _seconds(archive.streams["fix"], _position_columns) if "fix" in archive.streams else None
    if positions is None:
        return None
    positions = positions.filter(polars.all_horizontal(polars.col("x", "y", "z").is_finite())).sort("second")
    step = polars.col("second").diff()
    earth_m = np.stack([positions[axis].to_numpy() for axis in "xyz"], axis=1)
    distances_m = np.linalg.norm(np.diff(earth_m, axis=0, prepend=earth_m[:1]), axis=1)
    positions = positions.with_columns(speed=polars.Series(distances_m), step=step)
    return positions.filter(polars.col("step") == 1).select("second", "speed")


def _seconds(stream: Stream, columns: Columns) -> polars.DataFrame | None:
    """The means of each second of the stream's columns; None where it has none."""
    parts = []
    for index in range(len(stream.spans)):
        record = stream.load(index)
        frame = polars.DataFrame({"second": record.stamp_ns // NS_PER_S, **columns(record)})
        parts.append(frame.group_by("second").agg(polars.all().sum(), polars.len().alias("rows")))
    if not parts:
        return None
    summed = polars.concat(parts).group_by("second").agg(polars.all().sum())
    names = [name for name in summed.columns if name not in ("second", "rows")]
    return summed.select("second", *(polars.col(name) / polars.col("rows") for name in names))


def _wheel_columns(record: records.Record) -> dict[str, Floats]:
    if not isinstance(record, records.Joints) or record.position is None:
        raise TypeError(f"expected joints, got {type(record).__name__}")
    return dict(zip(("left", "right", "steering", "direction"), record.position[:, :4].T, strict=True))


def _turn_columns(record: records.Record, base_R_imu: Floats) -> dict[str, Floats]:
    if not isinstance(record, records.Imu):
        raise TypeError(f"expected an IMU, got {type(record).__name__}")
    return {"turn": record.angular_velocity_rad_s @ base_R_imu[2]}


def _speed_columns(record: records.Record) -> dict[str, Floats]:
    if not isinstance(record, records.Twist):
        raise TypeError(f"expected velocities, got {type(record).__name__}")
    return {"speed": np.linalg.norm(record.linear_velocity_m_s[:, :2], axis=1)}


def _position_columns(record: records.Record) -> dict[str, Floats]:
    """Earth-centred positions, NaN where there is no fix."""
    if not isinstance(record, records.Fix):
        raise TypeError(f"expected fixes, got {type(record).__name__}")
    altitude = np.nan_to_num(record.altitude_m)
    positions = earth_centred_from_geodetic(np.radians(record.latitude_deg), np.radians(record.longitude_deg), altitude)
    positions[record.status < MIN_STATUS] = np.nan
    return dict(zip("xyz", positions.T, strict=True))


def _base_R_imu(archive: Archive) -> Floats:
    edges = edges_from_published(archive.spec.extrinsics, archive.spec.tree)
    rotation: Floats = next(edge.parent_t_child for edge in edges if edge.child == "imu")[:3, :3]
    return rotation


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
    start_ns = min(span.first_ns for span in stream.spans)
    seconds = _seconds_of_imu(stream, start_ns, None)
    if not len(seconds):
        return
    usual = _Usual(*(float(np.median(seconds[name].to_numpy())) for name in ("force", "rate", "spread")))
    measure(archive, Measurement(f"the specific force is {usual.force:.2f} m/s2 (median norm)"))
    seconds = _seconds_of_imu(stream, start_ns, usual)
    false = seconds.filter(_is_false(usual)) if len(seconds) >= ENOUGH_SECONDS else seconds.clear()
    for first, last in _stretches(false["second"].to_list()):
        of = false.filter(polars.col("second").is_between(first, last))
        force, rate, wild = (float(of[name].to_numpy().max()) for name in ("force", "rate", "wild"))
        shown = f"specific force up to {force:.1f} m/s2, rates up to {rate:.2f} rad/s (medians of a second)"
        interval = f"from {first} s to {last + 1} s after its start the IMU's values differ from all others"
        remedy = f"--set imu_until_s={first} leaves out what comes from there"
        message = f"{interval}: {shown}, {wild:.0%} of single rows beyond reason; {remedy}"
        archive.defects(Defect(file=file, kind="implausible_imu", stream="imu", message=message))


def _is_false(usual: _Usual) -> polars.Expr:
    return (
        ((polars.col("force") - usual.force).abs() > FORCE_OFF_M_S2)
        | (polars.col("rate") > usual.rate + RATE_OFF_RAD_S)
        | (polars.col("wild") > WILD_SHARE)
        | (polars.col("spread") > max(SPREAD_FACTOR * usual.spread, SPREAD_M_S2))
        | ((polars.col("distinct") == 1) & (usual.spread > 0))  # it stands still
    )


def _seconds_of_imu(stream: Stream, start_ns: int, usual: _Usual | None) -> polars.DataFrame:
    """Each second's medians of specific force and rate, the spread of the force, and the share of wild rows."""
    return polars.concat([_statistics(stream.load(index), start_ns, usual) for index in range(len(stream.spans))])


def _statistics(record: records.Record, start_ns: int, usual: _Usual | None) -> polars.DataFrame:
    if not isinstance(record, records.Imu):
        raise TypeError(f"expected an IMU, got {type(record).__name__}")
    force = np.linalg.norm(record.linear_acceleration_m_s2, axis=1)
    rate = np.linalg.norm(record.angular_velocity_rad_s, axis=1)
    wild = np.zeros(len(force), bool)
    if usual is not None:
        wild = (np.abs(force - usual.force) > WILD_M_S2) | (rate > usual.rate + WILD_RAD_S)
    columns = {"second": (record.stamp_ns - start_ns) // NS_PER_S, "force": force, "rate": rate, "wild": wild}
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
    positions, near = _positions_at(fixes, truth[0])
    if near.sum() < MIN_POSITIONS:
        archive.notes.append(f"warning: {file}: {int(near.sum())} rows have fixes around them: is it of this sequence?")
        return
    angle_deg, rms_m, length_m = _fit(truth[1][near], positions[near])
    if length_m < SHORTEST_PATH_M:
        return
    text = f"the ground truth turned by {angle_deg:+.3f} deg lies on the fixes (east, north) within {rms_m:.3f} m (rms)"
    measure(archive, Measurement(text, doubt=None if rms_m < TRUTH_RMS_M else ": is it of this sequence?"))


def _truth(stream: Stream) -> tuple[Stamps, Floats]:
    stamps: list[Stamps] = [np.zeros(0, np.int64)]
    positions: list[Floats] = [np.zeros((0, 2))]
    for index in range(len(stream.spans)):
        record = stream.load(index)
        if isinstance(record, records.Odometry):
            stamps.append(record.stamp_ns)
            positions.append(record.position_m[:, :2])
    return np.concatenate(stamps), np.concatenate(positions)


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


def _positions_at(fixes: tuple[Stamps, Floats], stamp_ns: Stamps) -> tuple[Floats, NDArray[np.bool_]]:
    """Positions (n, 2) interpolated between fixes at times (n,), and which times have near fixes on both sides."""
    times, positions = fixes
    if len(times) < 2:
        return np.zeros((len(stamp_ns), 2)), np.zeros(len(stamp_ns), bool)
    after = np.clip(np.searchsorted(times, stamp_ns), 1, len(times) - 1)
    inside = (stamp_ns >= times[0]) & (stamp_ns <= times[-1])
    near = inside & (times[after] - times[after - 1] <= LONGEST_STEP_NS)
    seconds, requested = (times - times[0]) / NS_PER_S, (stamp_ns - times[0]) / NS_PER_S
    return np.stack([np.interp(requested, seconds, positions[:, axis]) for axis in (0, 1)], axis=1), near


def _fit(truth: Floats, positions: Floats) -> tuple[float, float, float]:
    """The turn in degrees that lays one path (n, 2) on another, what is left (rms) and how far the path goes, in m."""
    first, second = truth - truth.mean(axis=0), positions - positions.mean(axis=0)
    along = float((first * second).sum())
    across = float((first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]).sum())
    angle = np.arctan2(across, along)
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    left = first @ rotation.T - second
    extent = float(np.ptp(positions, axis=0).max())
    return float(np.degrees(angle)), float(np.sqrt((left**2).sum(axis=1).mean())), extent


def check_nmea(archive: Archive, tables: Mapping[str, Tables]) -> None:
    """Note what the log of the receiver lacks, and how far the clocks are apart."""
    if "gps" not in tables:
        return
    blocks = [tables["gps"].rows(index) for index in range(len(tables["gps"].blocks))]
    missing = {"fixes without a position": 0, "fixes without a height": 0, "RMC without a valid velocity, left out": 0}
    differences = [np.zeros(0)]
    for rows in blocks:
        fixes = rows.only(rows["sentence"] == GGA)
        no_fix = np.isnan(fixes["latitude"])
        velocities = rows.only(rows["sentence"] == RMC)
        counts = (no_fix, ~no_fix & np.isnan(fixes["altitude"]), ~has_velocity(velocities))
        missing = {name: count + int(more.sum()) for (name, count), more in zip(missing.items(), counts, strict=True)}
        seconds = velocities.stamp_ns / NS_PER_S - velocities["utc"]
        differences.append(seconds[np.isfinite(seconds)])
    archive.notes += [f"{name}: {count}" for name, count in missing.items() if count]
    offsets = np.concatenate(differences)
    if len(offsets):
        spread = float(np.percentile(offsets, 95) - np.percentile(offsets, 5))
        text = f"the computer's clock is {float(np.median(offsets)):+.3f} s against GPS"
        measure(archive, Measurement(f"{text}, with a spread (5 to 95 %) of {spread:.3f} s"))


def check_length(archive: Archive, sequence: int | None) -> None:
    """Note how long the archive is beside the paper's length of the sequence, where it is shorter."""
    known = archive.spec.constants["sequences"].get(sequence)
    spans = [span for name, stream in archive.streams.items() if name != "ground_truth" for span in stream.spans]
    if known is None or not spans:
        return
    length_s = (max(span.last_ns for span in spans) - min(span.first_ns for span in spans)) / NS_PER_S
    expected_s = known["minutes"] * 60
    text = f"sequence {sequence} of the paper: {known['difficulty']}, {known['length_m']} m, {known['minutes']} min"
    if length_s < SHORT_FRACTION * expected_s:
        text += f"; this is {length_s:.1f} s of about {expected_s:.0f} s: a part of it, or cut"
    archive.notes.append(f"{text} ({known['about']})")
