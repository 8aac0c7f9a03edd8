"""What the report leaves open, measured in the data: a parameter that does not fit is reported, never changed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.acfr import navigation as turns
from fieldplay.datasets.acfr.acfr_cameras import (
    CLIPPED,
    IR,
    VISUAL,
    stream_id,
)
from fieldplay.datasets.acfr.acfr_radar import (
    RANGES,
    SPECTRUM,
    RangeEquation,
    equation_from,
    finder_of,
    metres,
    peak_bins,
    rows_of_revolution,
    spectrum_of,
)
from fieldplay.datasets.acfr.navigation import (
    ANGLES,
    NAV,
    PLACE,
    RATES,
    VELOCITY,
    grid_of,
    ned_from_frd,
)
from fieldplay.datasets.acfr.report_sets import KnownSet
from fieldplay.datasets.archive import Archive, Measurement, file_of_span, measure, sample_indices
from fieldplay.io.table import Tables
from fieldplay.io.table_rows import TimedRows
from fieldplay.kinematics.skid_steer_fit import Estimate, WheelDrive, skid_steer_fit
from fieldplay.messages.records import Clouds, Images, Joints, LaserScans, Odometry, Pixels
from fieldplay.streams.stream import Stream

BLOCKS = 16  # of a table are looked at, spread over it
LONGEST_STEP_S = 0.25
TURNING_RAD_S, MOVING_M_S = 0.01, 0.2  # below these, differences are noise
COURSE_M_S, STRAIGHT_RAD_S = 0.5, 0.05
ENOUGH_ROWS = 20  # rows
CLEARLY = 0.5  # of the two readings' distance, by which one must be nearer
SCALE_OFF = 0.1
COURSE_OFF_DEG = 10.0
JUMP_M, FASTEST_M_S = 2.0, 15.0  # a solution that is found anew moves the place; the vehicle drives at most so fast
LONGEST_STAND = 0.2  # m/s that a vehicle which stands seems to move
Floats = NDArray[np.float64]
POLES, REFLECTOR = ("left frame pole", "right frame pole"), "radar reflector"
PUBLISHED = "m_deg_fixed_xyz_frd"
SPANS, SCANS, REVOLUTIONS = 8, 100, 8  # that are looked at, spread over the archive
NEAR_DEG, NEAR_M = 3.0, 0.5
SEEN_FRACTION = 0.5  # of the scans
SAME_NS = 5_000_000
ENOUGH, MIN_BINS = 20, 3
MAX_DIFFERENCE_S = 1.0  # by so much streams may start or end apart, and durations differ
SENSORS = ("laser_", "radar_", "nav_", "visual_camera_", "ir_camera_")  # which the report's interval is about
LATE_SETS = (5, 12)  # of which the report says that some sensors start late or end early
IMAGES = 8
BLACK = 16  # a band may hold noise
CHANNELS = {"bgr8": 3, "bgra8": 4}
ALIKE = 0.5  # of the larger difference: the greens' means differ by less
Bytes = NDArray[np.uint8]


# Navigation compared with itself and with the wheels: its rates, its yaw, and what the wheels' radius must be.


def sample_blocks(tables: Tables) -> list[TimedRows]:
    """Sample blocks from all over the tables."""
    return [tables.rows(index) for index in sample_indices(len(tables.blocks), BLOCKS)]


def check_rates(archive: Archive, tables: Mapping[str, Tables]) -> None:
    """Compare the rates with the differences of the poses, once as Euler rates and once as the body's."""
    if NAV not in tables:
        return
    parts = [_rates_between(rows) for rows in sample_blocks(tables[NAV])]
    differences, reported = (np.concatenate([part[index] for part in parts]) for index in (0, 1))
    _note_scale(archive, "velocities", "places", measured=differences, reported=reported, least=MOVING_M_S)
    measured_rates, euler, body = (np.concatenate([part[index] for part in parts]) for index in (2, 3, 4))
    if len(measured_rates) < ENOUGH_ROWS or _rms(measured_rates) < TURNING_RAD_S:
        return
    chosen = archive.parameters["nav_rates"]
    as_chosen = euler if chosen == "euler" else body
    _note_scale(archive, "turn rates", "attitudes", measured=measured_rates, reported=as_chosen, least=TURNING_RAD_S)
    errors = {"euler": _rms(measured_rates - euler), "body": _rms(measured_rates - body)}
    separation = _rms(euler - body)
    text = f"turn rates as euler rates differ from the attitudes' by {errors['euler']:.2g} rad/s, as body rates by "
    text += f"{errors['body']:.2g} rad/s (rms)"
    if abs(errors["euler"] - errors["body"]) < CLEARLY * separation or separation == 0:
        measure(archive, Measurement(f"{text}: cannot be distinguished here"))
        return
    fits = min(errors, key=lambda name: errors[name])
    measure(archive, Measurement(text, "nav_rates", fits), file=tables[NAV].tables[0].name)


def check_jumps(archive: Archive, tables: Mapping[str, Tables]) -> None:
    """Report where the place is farther from that of the row before than the vehicle can drive."""
    for table in tables[NAV].tables if NAV in tables else ():
        last: tuple[NDArray[np.int64], Floats] | None = None
        for rows in (table.rows(index) for index in range(len(table.blocks))):
            stamps, positions = rows.stamp_ns, rows.columns(*PLACE)
            before = (stamps[:1], positions[:1]) if last is None else last
            seconds = np.diff(np.concatenate([before[0], stamps])) / NS_PER_S
            moved_m = np.linalg.norm(np.diff(np.concatenate([before[1], positions]), axis=0), axis=1)
            last = (stamps[-1:], positions[-1:])
            most_m = JUMP_M + FASTEST_M_S * np.abs(seconds)
            for row in np.flatnonzero(moved_m > most_m).tolist():
                expected = f"expected a position at most {most_m[row]:.1f} m from that of the previous row"
                message = f"{expected}, {seconds[row]:.3f} s earlier, got {moved_m[row]:.1f} m; the row is kept"
                line = int(rows.line[row])
                archive.defects(
                    Defect(file=table.name, row=line, kind="place_jump", stream="nav_odom", message=message)
                )


def _rates_between(rows: TimedRows) -> tuple[Floats, ...]:
    """Between rows (m,): velocity from positions and as archived; turn rate from attitudes, as Euler, as body rates."""
    seconds = np.diff(rows.stamp_ns) / NS_PER_S
    near = (seconds > 0) & (seconds < LONGEST_STEP_S)
    angles, safe = rows.columns(*ANGLES), np.where(near, seconds, 1.0)
    columns = [np.diff(rows.columns(*PLACE), axis=0) / safe[:, None], _between(rows.columns(*VELOCITY))]
    columns.append(turns.flu_rates_between(angles, safe) if len(rows) > 1 else np.zeros((0, 3)))
    for reading in ("euler", "body"):
        matrices = turns.flu_rates_from(angles, reading)
        columns.append(_between(turns.apply_matrices(matrices, rows.columns(*RATES))))
    return tuple(values[near] for values in columns)


def _between(values: Floats) -> Floats:
    return (values[1:] + values[:-1]) / 2


def _rms(values: Floats) -> float:
    return float(np.sqrt((values**2).sum(axis=1).mean()))


def _note_scale(archive: Archive, what: str, of: str, *, measured: Floats, reported: Floats, least: float) -> None:
    if len(measured) < ENOUGH_ROWS or _rms(measured) < least:
        return
    # By the archived rates: the differences of poses are the noisier, and what is divided by must not be noise.
    scale = float((reported**2).sum() / ((reported * measured).sum() or np.nan))
    text = f"nav's {what} are {scale:.3f} times the differences of its {of}"
    is_off = not abs(scale - 1) <= SCALE_OFF
    measure(archive, Measurement(text, doubt=": another unit or order?" if is_off else None))


def check_course(archive: Archive, tables: Mapping[str, Tables]) -> None:
    """Note by how much the yaw differs from the course on straight runs, beside the grid's convergence."""
    if NAV not in tables:
        return
    differences = np.concatenate([_yaw_less_course(rows) for rows in sample_blocks(tables[NAV])])
    if len(differences) < ENOUGH_ROWS:
        return
    median = float(np.degrees(np.median(differences)))
    spread = float(np.degrees(np.percentile(differences, 75) - np.percentile(differences, 25)))
    convergence = np.degrees(grid_of(archive, tables[NAV]).convergence_rad())
    text = (
        f"on straight runs the yaw is {median:+.2f} deg from the course on the grid ({len(differences)} rows, "
        f"half of them within {spread:.2f} deg); a yaw from true north would be {convergence:+.2f} deg off, "
        "one from the grid's 0"
    )
    measure(archive, Measurement(text, doubt="" if abs(median) > COURSE_OFF_DEG else None))


def _yaw_less_course(rows: TimedRows) -> Floats:
    """Angles in rad where the vehicle drives straight, ahead or backward."""
    north, east, _ = rows.columns(*VELOCITY).T
    straight = (np.hypot(north, east) > COURSE_M_S) & (np.abs(rows["d_yaw"]) < STRAIGHT_RAD_S)
    difference = rows["yaw"][straight] - np.arctan2(east, north)[straight]
    folded: Floats = (difference + np.pi / 2) % np.pi - np.pi / 2
    return folded


def check_skid_steer(archive: Archive) -> None:
    """Note the wheels' radius and the track that fit the navigation, where the vehicle drives and turns."""
    if "payload_wheels" not in archive.streams or "nav_odom" not in archive.streams:
        return
    drive = _drive(archive.streams["payload_wheels"], archive.streams["nav_odom"])
    if not len(drive.wheel_stamp_ns) or not len(drive.moved_stamp_ns):
        return
    fit = skid_steer_fit(drive)
    if fit.wheel_radius_m is None:
        return
    text = f"the wheels fit the navigation with a radius of {_estimate_text(fit.wheel_radius_m)}"
    text += (
        f" and a track of {_estimate_text(fit.track_m)}"
        if fit.track_m
        else "; it turns too little to determine the track"
    )
    measure(archive, Measurement(f"{text} ({fit.rows} rows, {fit.slipping:.0%} of them slipping)"))
    if fit.wheel_radius_m.value < 0 or (fit.track_m and fit.track_m.value < 0):
        message = f"{text}: a value below 0 means reversed wheels, or left and right swapped"
        file = file_of_span(archive, "payload_wheels", 0)
        archive.defects(Defect(file=file, kind="wheel_sense", stream="payload_wheels", message=message))


def _estimate_text(estimate: Estimate) -> str:
    return f"{estimate.value:.3f} m +- {estimate.std:.3f} m"


def _drive(wheels: Stream, odometry: Stream) -> WheelDrive:
    rates = [record for record in _all(wheels) if isinstance(record, Joints) and record.velocity is not None]
    odometry_records = [record for record in _all(odometry) if isinstance(record, Odometry)]
    wheel_ns = np.concatenate([np.zeros(0, np.int64), *(record.stamp_ns for record in rates)])
    moved_ns = np.concatenate([np.zeros(0, np.int64), *(record.stamp_ns for record in odometry_records)])
    speed = np.concatenate([np.zeros(0), *(record.linear_velocity_m_s[:, 0] for record in odometry_records)])
    turn_rate = np.concatenate([np.zeros(0), *(record.angular_velocity_rad_s[:, 2] for record in odometry_records)])
    velocity = np.concatenate([np.zeros((0, 2)), *(record.velocity for record in rates if record.velocity is not None)])
    wheel_order, moved_order = np.argsort(wheel_ns, kind="stable"), np.argsort(moved_ns, kind="stable")
    return WheelDrive(
        wheel_stamp_ns=wheel_ns[wheel_order],
        wheel_rates_rad_s=velocity[wheel_order],
        moved_stamp_ns=moved_ns[moved_order],
        speed_m_s=speed[moved_order],
        turn_rate_rad_s=turn_rate[moved_order],
    )


def _all(stream: Stream) -> list[object]:
    return [stream.load(index) for index in range(len(stream.spans))]


def is_standing(archive: Archive, tables: Mapping[str, Tables]) -> bool:
    """Whether the vehicle stands still throughout, by its navigation."""
    if NAV not in tables:
        return False
    return all(bool((np.abs(rows.columns(*VELOCITY)) < LONGEST_STAND).all()) for rows in sample_blocks(tables[NAV]))


# The static scene as laser and radar see it, which determines the sense of their angles; the radar's ranges compared.


@dataclass(frozen=True, kw_only=True)
class Target:
    """A thing of the static scene, from the vehicle: horizontal range, and bearing, to the right positive."""

    range_m: float
    bearing_deg: float
    sets: tuple[int, ...] = ()  # in which it was there; all where none is named


@dataclass(frozen=True, kw_only=True)
class Sight:
    """In which share of the scans something lies at a target, and where in the median."""

    fraction: float
    bearing_deg: float
    range_m: float

    @property
    def is_seen(self) -> bool:
        return self.fraction >= SEEN_FRACTION


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
        if len(inside) < MIN_BINS:
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


def sight_of(scans: list[Floats], rotation: Floats, target: Target, *, mirrored: bool) -> Sight:
    """How a target is seen in scans, each of points (n, 3) in the sensor's frame (FLU), which `turn` takes to FRD.

    `mirrored` takes the sensor's left for its right.
    """
    flip = np.array([1.0, 1.0 if mirrored else -1.0, -1.0])
    bearings, ranges = [np.zeros(0)], [np.zeros(0)]
    seen = 0
    for points in scans:
        x, y, _ = rotation @ (points * flip).T
        bearing, range_m = np.degrees(np.arctan2(y, x)), np.hypot(x, y)
        near = (np.abs(bearing - target.bearing_deg) < NEAR_DEG) & (np.abs(range_m - target.range_m) < NEAR_M)
        seen += bool(near.any())
        bearings.append(bearing[near])
        ranges.append(range_m[near])
    bearing, range_m = np.concatenate(bearings), np.concatenate(ranges)
    if not len(bearing):
        return Sight(fraction=0.0, bearing_deg=np.nan, range_m=np.nan)
    return Sight(fraction=seen / len(scans), bearing_deg=float(np.median(bearing)), range_m=float(np.median(range_m)))


def body_from_sensor(archive: Archive, sensor: str) -> Floats | None:
    """The published rotation (3, 3) of a sensor in the body, both FRD; None where it is not published so."""
    for row in archive.spec.extrinsics:
        if (row.parent, row.child, row.convention) == ("base_link", sensor, PUBLISHED):
            rotation: Floats = ned_from_frd(np.radians([row.rotation]))[0]
            return rotation
    return None


def check_poles(archive: Archive, tables: Mapping[str, Tables], known: KnownSet | None) -> None:
    """Note where LaserHorizontal sees the poles of the frame before the vehicle; mirrored ones are a defect."""
    stream, rotation = archive.streams.get("laser_horizontal_scan"), body_from_sensor(archive, "laser_horizontal")
    if stream is None or rotation is None or not _is_static(archive, tables, known):
        return
    scans = list(_scans(stream))
    targets = {name: target_of(archive.spec.constants, name) for name in POLES}
    sights = {name: sight_of(scans, rotation, target, mirrored=False) for name, target in targets.items()}
    others = {name: sight_of(scans, rotation, target, mirrored=True) for name, target in targets.items()}
    text = "; ".join(_sight_text(name, sights[name], target) for name, target in targets.items())
    if sum(sight.is_seen for sight in others.values()) > sum(sight.is_seen for sight in sights.values()):
        message = f"LaserHorizontal sees the frame's poles left for right: {text}; mirrored: "
        message += "; ".join(_sight_text(name, others[name], target) for name, target in targets.items())
        archive.defects(Defect(file="LaserHorizontal", kind="laser_sense", message=message))
    elif known is not None or any(sight.is_seen for sight in sights.values()):
        measure(archive, Measurement(f"LaserHorizontal in the static scene: {text}"))


def check_reflector(archive: Archive, tables: Mapping[str, Tables], known: KnownSet | None) -> None:
    """Note where the radar sees the reflector, in the sets that have it: this determines its angle's sense."""
    stream, rotation = archive.streams.get("radar_points"), body_from_sensor(archive, "radar")
    target = target_of(archive.spec.constants, REFLECTOR)
    is_there = known.number in target.sets if known is not None else _is_static(archive, tables, known)
    if stream is None or rotation is None or not is_there:
        return
    clouds = list(_clouds(stream))
    sight, other = (sight_of(clouds, rotation, target, mirrored=mirrored) for mirrored in (False, True))
    text = f"the radar in the static scene: {_sight_text(REFLECTOR, sight, target)}"
    if other.is_seen and not sight.is_seen:
        remedy = f"--set radar_angle_sense={-archive.parameters['radar_angle_sense']} would reverse it"
        message = f"{text}; with the angle reversed: {_sight_text(REFLECTOR, other, target)}; {remedy}"
        archive.defects(Defect(file="RadarRangeBearing", kind="radar_sense", message=message))
    elif known is not None or sight.is_seen:
        measure(archive, Measurement(f"{text}; seen in both senses" if other.is_seen else text))


def _is_static(archive: Archive, tables: Mapping[str, Tables], known: KnownSet | None) -> bool:
    return known.is_static if known is not None else is_standing(archive, tables)


def _sight_text(name: str, sight: Sight, target: Target) -> str:
    expected = f"{target.bearing_deg:+.1f} deg, {target.range_m:.2f} m"
    if not sight.is_seen:
        return f"{name} not seen (expected at {expected})"
    return f"{name} at {sight.bearing_deg:+.1f} deg, {sight.range_m:.2f} m (expected {expected})"


def _scans(stream: Stream) -> Iterator[Floats]:
    """Points (n, 3) of scans from all over the stream."""
    for index in sample_indices(len(stream.spans), SPANS):
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
    for index in sample_indices(len(stream.spans), SPANS):
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
    parts = [_compare_with_ranges(rows, tables[RANGES], seeing) for rows in _revolutions(tables[SPECTRUM])]
    differences_m, differences_deg = (
        np.concatenate([np.zeros(0), *(part[index] for part in parts)]) for index in (0, 1)
    )
    if len(differences_m) < ENOUGH:
        measure(archive, Measurement("spectra and ranges of the radar have no times in common"))
        return
    median, most = float(np.median(differences_m)), float(np.percentile(differences_m, 95))
    text = (
        f"the spectra's peaks differ from RadarRangeBearing's ranges by {median:.4f} m in the median, 95 % of them by "
        f"less than {most:.3f} m ({len(differences_m)} lines, "
        f"whose bearings differ by {float(np.median(differences_deg)):.3f} deg)"
    )
    measure(archive, Measurement(text))
    if median > archive.spec.constants["radar"]["m_per_bin"]:
        file = tables[SPECTRUM].tables[0].name
        archive.defects(Defect(file=file, kind="radar_ranges", message=f"{text}: more than a bin"))


def _revolutions(tables: Tables) -> Iterator[TimedRows]:
    for table in tables.tables:
        revolutions = finder_of(table).revolutions
        for index in sample_indices(len(revolutions), REVOLUTIONS):
            yield rows_of_revolution(table, revolutions[index])


def _compare_with_ranges(rows: TimedRows, ranges: Tables, seeing: Seeing) -> tuple[Floats, Floats]:
    """Differences (m,) of peaks and bearings from the ranges at the same times."""
    if not len(rows):
        return np.zeros(0), np.zeros(0)
    peaks_m = seeing.peaks_m(spectrum_of(rows))
    nearest, near = ranges.nearest(rows.stamp_ns, SAME_NS)
    range_m = metres(nearest["range"], nearest["unit"])
    bearing_deg = rows["angle_deg"] - np.degrees(nearest["start_angle"])
    near &= np.isfinite(range_m) & np.isfinite(peaks_m)
    difference_deg = np.abs((bearing_deg + 180) % 360 - 180)
    return np.abs(peaks_m - range_m)[near], difference_deg[near]


def add_checks(archive: Archive, tables: Mapping[str, Tables], known: KnownSet | None) -> None:
    """Add what is measured when somebody asks what the archive, of a known set or another, holds."""
    archive.checks.append(lambda opened: check_times(opened, known))
    archive.checks.append(lambda opened: check_rates(opened, tables))
    archive.checks.append(lambda opened: check_jumps(opened, tables))
    archive.checks.append(lambda opened: check_course(opened, tables))
    archive.checks.append(check_skid_steer)
    archive.checks.append(lambda opened: check_poles(opened, tables, known))
    archive.checks.append(lambda opened: check_reflector(opened, tables, known))
    archive.checks.append(lambda opened: check_radar_ranges(opened, tables))
    archive.checks.append(check_mosaic)
    archive.checks.append(check_black_bands)


def check_times(archive: Archive, known: KnownSet | None) -> None:
    """Note when sensors start and end apart, and the interval of all of them beside the report's."""
    times = {
        name: (min(span.first_ns for span in stream.spans), max(span.last_ns for span in stream.spans))
        for name, stream in archive.streams.items()
        if name.startswith(SENSORS) and stream.spans
    }
    if not times:
        return
    start_ns, end_ns = min(first for first, _ in times.values()), max(last for _, last in times.values())
    late = {name: (first - start_ns) / NS_PER_S for name, (first, _) in times.items()}
    early = {name: (end_ns - last) / NS_PER_S for name, (_, last) in times.items()}
    for what, gaps_s in (("start after the first", late), ("end before the last", early)):
        texts = [f"{name} {seconds:.3f} s" for name, seconds in gaps_s.items() if seconds > MAX_DIFFERENCE_S]
        if texts:
            measure(archive, Measurement(f"streams that {what}: {', '.join(texts)}"))
    common_ns = (max(first for first, _ in times.values()), min(last for _, last in times.values()))
    _compare_with_report(archive, common_ns, known)


def _compare_with_report(archive: Archive, common_ns: tuple[int, int], known: KnownSet | None) -> None:
    first_s, last_s = (value / NS_PER_S for value in common_ns)
    text = f"all sensors have data for {max(last_s - first_s, 0):.3f} s, from {first_s:.3f} to {last_s:.3f}"
    if known is None:
        measure(archive, Measurement(text))
        return
    summary = f"{text}; the report has {known.duration_s:.3f} s, from {known.start_s:.3f} to {known.end_s:.3f}"
    if abs(first_s - known.start_s) <= MAX_DIFFERENCE_S and abs(last_s - known.end_s) <= MAX_DIFFERENCE_S:
        measure(archive, Measurement(summary))
        return
    why = "other times"
    if known.number in LATE_SETS:
        why = "it also says that some start late or end early"
    elif first_s >= known.start_s - MAX_DIFFERENCE_S and last_s <= known.end_s + MAX_DIFFERENCE_S:
        why = "this is a part of it, or some sensors start late or end early"
    archive.notes.append(f"warning: {summary}: {why}")


def check_mosaic(archive: Archive) -> None:
    """Note where the greens of the visual camera's mosaic lie: their means are alike, those of red and blue are not."""
    encoded = f"bayer_{archive.parameters['bayer']}8"
    mosaics = (pixels for pixels in _sample_images(archive, VISUAL) if pixels.encoding == encoded)
    means = [_phases(pixels) for pixels in mosaics if min(pixels.width, pixels.height) > 1]
    if not means:
        return
    top_left, top_right, low_left, low_right = np.mean(means, axis=0)
    main, other = abs(top_left - low_right), abs(top_right - low_left)
    if min(main, other) > ALIKE * max(main, other):
        measure(archive, Measurement("no two of the mosaic's four colours are alike: perhaps --set bayer=none"))
        return
    kinds = ("rggb", "bggr") if other < main else ("grbg", "gbrg")
    text = f"the greens of the visual camera's mosaic lie as in {kinds[0]} and {kinds[1]}"
    fits = archive.parameters["bayer"] in kinds
    measure(archive, Measurement(text, doubt=None if fits else f", not as in {archive.parameters['bayer']}"))


def check_black_bands(archive: Archive) -> None:
    """Note what is left of whole infra-red images without the black bands: the others were clipped to that."""
    camera = archive.spec.cameras.get(IR)
    if camera is None:
        return
    whole = [_grey(pixels) for pixels in _sample_images(archive, IR) if (pixels.width, pixels.height) != CLIPPED]
    whole = [image for image in whole if image.shape == (camera.height, camera.width)]
    if not whole:
        return
    bright = np.max(whole, axis=0) > BLACK
    columns, rows = np.flatnonzero(bright.any(axis=0)), np.flatnonzero(bright.any(axis=1))
    if not len(columns) or (len(columns), len(rows)) == (camera.width, camera.height):
        return
    left, top = int(columns[0]), int(rows[0])
    width, height = int(columns[-1]) + 1 - left, int(rows[-1]) + 1 - top
    text = f"without black bands the infra-red images are {width} x {height}, from column {left}, row {top}"
    fits = f": images of {CLIPPED[0]} x {CLIPPED[1]} play with --set ir_clip_x_px={left} --set ir_clip_y_px={top}"
    measure(archive, Measurement(f"{text}{fits if (width, height) == CLIPPED else ''}"))


def _sample_images(archive: Archive, camera: str) -> Iterator[Pixels]:
    """Sample images from all over the stream, without defective ones."""
    stream = archive.streams.get(stream_id(camera))
    if stream is None:
        return
    for index in sample_indices(len(stream.spans), IMAGES):
        record = stream.load(index)
        if not isinstance(record, Images):
            continue
        try:
            pixels = record.load(0)
        except (ArchiveError, OSError):
            continue  # reported when it is read to be sent
        if isinstance(pixels, Pixels):
            yield pixels


def _grey(pixels: Pixels) -> Bytes:
    """The pixels (height, width), of a coloured image the brightest colour."""
    rows = np.frombuffer(pixels.data, np.uint8).reshape(pixels.height, pixels.step)
    channels = CHANNELS.get(pixels.encoding, 1)
    brightest: Bytes = rows[:, : pixels.width * channels].reshape(pixels.height, pixels.width, channels).max(axis=2)
    return brightest


def _phases(pixels: Pixels) -> list[float]:
    """The mean of each of the mosaic's four colours."""
    grey = _grey(pixels)
    return [float(grey[row::2, column::2].mean()) for row in (0, 1) for column in (0, 1)]
