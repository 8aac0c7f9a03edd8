"""Joints, inertial sensors, laser scans, satellite fixes and plain numbers."""

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.geometry import axes
from fieldplay.messages import records
from fieldplay_cdff.logs.msgpack_decode.layouts import Number
from fieldplay_cdff.logs.types.rows import (
    Floats,
    SampleRows,
    TreeRows,
    field,
    no_numbers,
)

Stamps = NDArray[np.int64]

M_PER_MM = 1e-3
TOO_FAR, TOO_NEAR, LAST_CODE = (1, 5), 2, 5  # ranges up to the last code are none; 0 is no code, and none either
NO_FIX, FIX, GBAS_FIX = -1, 0, 2
NO_SOLUTION = ("no_solution", "invalid")
BETTER = ("differential", "rtk", "widelane", "narrowlane")
MOST_BEAMS = 1 << 16
PARTS = {"position": "position", "velocity": "speed", "effort": "effort"}


def joints_from_samples(rows: SampleRows, stamp_ns: Stamps) -> records.Joints:
    """Joints by name, those of all samples; NaN for one that a sample lacks. What none has is None."""
    if isinstance(rows, TreeRows):
        quick = _joints_alike(rows, stamp_ns)
        if quick is not None:
            return quick
    names: dict[str, int] = {}
    listed = []
    for row in range(len(rows)):
        listed.append(_named_elements(rows, row))
        for name in listed[-1]:
            names.setdefault(name, len(names))
    columns = {part: np.full((len(rows), len(names)), np.nan) for part in PARTS}
    for row, elements in enumerate(listed):
        places = [names[name] for name in elements]
        for part, own in PARTS.items():
            columns[part][row, places] = [_number(field(element, own)) for element in elements.values()]
    known = {part: values for part, values in columns.items() if bool(np.isfinite(values).any())}
    return records.Joints(stamp_ns=stamp_ns, names=tuple(names), **known)


def _joints_alike(rows: TreeRows, stamp_ns: Stamps) -> records.Joints | None:
    """The same of samples that are alike; None where they are no joints with names."""
    names, elements = rows.node("names"), rows.node("elements")
    if not (isinstance(names, list) and isinstance(elements, list) and 0 < len(names) == len(elements)):
        return None
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        return None
    known = {}
    for part, own in PARTS.items():
        values = np.full((len(rows), len(names)), np.nan)
        for place, element in enumerate(elements):
            leaf = field(element, own)
            if isinstance(leaf, Number) or (isinstance(leaf, int) and not isinstance(leaf, bool)):
                values[:, place] = rows.numbers_at(leaf)
        if bool(np.isfinite(values).any()):
            known[part] = values
    return records.Joints(stamp_ns=stamp_ns, names=tuple(names), **known)


def _named_elements(rows: SampleRows, row: int) -> dict[str, object]:
    names, elements = (field(rows.samples[row], name) for name in ("names", "elements"))
    if not isinstance(elements, list):
        rows.faults.setdefault(row, "elements: expected a list, got none")
        return {}
    names = names or [f"joint_{index + 1}" for index in range(len(elements))]
    if not isinstance(names, list) or len(names) != len(elements) or not all(isinstance(n, str) for n in names):
        rows.faults.setdefault(row, f"expected a name for each of {len(elements)} joints")
        return {}
    return dict(zip(names, elements, strict=True))


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else np.nan


def imu_from_samples(rows: SampleRows, stamp_ns: Stamps) -> records.Imu:
    """Specific force and rates; the magnetometer's numbers are in no unit, and left aside."""
    force, rates = rows.vectors(3, "acc"), rows.vectors(3, "gyro")
    rows.fault(no_numbers(np.hstack([force, rates])), "expected acc and gyro, got NaN")
    return records.Imu(stamp_ns=stamp_ns, angular_velocity_rad_s=rates, linear_acceleration_m_s2=force)


def scans_from_samples(rows: SampleRows, stamp_ns: Stamps) -> records.LaserScans:
    """Scans in metres: +inf for what is too far, -inf too near, NaN for faults of the measurement."""
    found = [_ranges_m(rows, row, value) for row, value in enumerate(rows.values("ranges"))]
    count = np.array([len(ranges) for ranges in found], np.int64)
    ranges = _one_matrix(found)
    increment, speed = rows.numbers("angularresolution"), rows.numbers("speed")
    start = rows.numbers("startangle")
    rows.fault(~np.isfinite(start + increment), "expected start_angle and angular_resolution, got NaN")
    turns = np.isfinite(speed) & (speed > 0)
    rate = np.where(turns, speed, 1.0)
    limits = [np.nan_to_num(rows.numbers(name)) * M_PER_MM for name in ("minrange", "maxrange")]
    return records.LaserScans(
        stamp_ns=stamp_ns,
        angle_min_rad=start,
        angle_increment_rad=increment,
        ranges_m=ranges,
        count=count,
        range_min_m=limits[0],
        range_max_m=limits[1],
        scan_time_s=np.where(turns, 2 * np.pi / rate, 0.0),
        time_increment_s=np.where(turns, np.abs(increment) / rate, 0.0),
        intensities=_remissions(rows, count),
    )


def _one_matrix(lists: list[Floats]) -> Floats:
    """Lists of numbers as rows, with NaN behind those that are shorter."""
    found = np.full((len(lists), max(map(len, lists), default=0)), np.nan)
    for row, own in enumerate(lists):
        found[row, : len(own)] = own
    return found


def _remissions(rows: SampleRows, count: NDArray[np.int64]) -> Floats | None:
    """The remissions (n, k), NaN where a scan has none; None where no scan has any."""
    found = [_remission(rows, row, value) for row, value in enumerate(rows.values("remission", "remissions"))]
    if not any(map(len, found)):
        return None
    for row, own in enumerate(found):
        if len(own) not in (0, count[row]):
            rows.notes.add("scans whose remission is not one number for each range leave without intensities")
            found[row] = own[:0]
    return _one_matrix([own if len(own) else np.full(size, np.nan) for own, size in zip(found, count, strict=True)])


def _remission(rows: SampleRows, row: int, value: object) -> Floats:
    try:
        return np.zeros(0) if value is None else np.asarray(value, np.float64).reshape(-1)
    except (TypeError, ValueError, OverflowError):
        rows.notes.add("scans whose remission is no list of numbers leave without intensities")
        return np.zeros(0)


def _ranges_m(rows: SampleRows, row: int, value: object) -> Floats:
    try:
        codes = np.asarray(value, np.float64).reshape(-1)
    except (TypeError, ValueError, OverflowError):
        codes = np.zeros(0)
    if not 0 < len(codes) <= MOST_BEAMS:
        rows.faults.setdefault(row, f"ranges: expected 1 to {MOST_BEAMS} numbers, got {len(codes)}")
        return np.zeros(0)
    ranges = codes * M_PER_MM
    ranges[codes <= LAST_CODE] = np.nan
    ranges[np.isin(codes, TOO_FAR)] = np.inf
    ranges[codes == TOO_NEAR] = -np.inf
    return ranges


def fixes_from_samples(rows: SampleRows, stamp_ns: Stamps) -> records.Fix:
    """Satellite fixes; one without a solution keeps its time, has status -1, and may have NaN for its place."""
    place = np.stack([rows.numbers(name) for name in ("latitude", "longitude", "altitude")], axis=1)
    status = np.array([_status(kind) for kind in rows.values("positiontype")], np.int8)
    is_wrong = np.where(status == NO_FIX, np.isinf(place).any(axis=1), no_numbers(place))
    rows.fault(is_wrong, "expected latitude, longitude and altitude, got NaN or infinity")
    deviations = [rows.numbers(f"deviation{axis}") for axis in ("longitude", "latitude", "altitude")]
    covariance = axes.diagonal(np.stack(deviations, axis=1) ** 2)
    unknown = ~np.isfinite(covariance).all(axis=(1, 2)) | (status == NO_FIX)
    covariance[unknown] = 0.0
    return records.Fix(
        stamp_ns=stamp_ns,
        latitude_deg=place[:, 0],
        longitude_deg=place[:, 1],
        altitude_m=place[:, 2],
        status=status,
        covariance_m2=covariance,
    )


def _status(kind: object) -> int:
    text = str(kind).lower()
    if any(name in text for name in NO_SOLUTION):
        return NO_FIX
    return GBAS_FIX if any(name in text for name in BETTER) else FIX


def whole_numbers(
    rows: SampleRows, stamp_ns: Stamps, *, limits: tuple[int, int] = (-(1 << 63), (1 << 63) - 1)
) -> records.Integers:
    """Numbers such as states, from the least to the largest that their type holds."""
    rows.faults.clear()
    values = np.zeros(len(rows), np.int64)
    for row, value in enumerate(rows.samples):
        if type(value) not in (int, bool):
            rows.faults[row] = _no_number("a whole number", value)
        elif limits[0] <= value <= limits[1]:
            values[row] = value
        else:
            rows.faults[row] = f"expected a whole number from {limits[0]} to {limits[1]}, got {value}"
    return records.Integers(stamp_ns=stamp_ns, values=values)


def _no_number(wanted: str, value: object) -> str:
    return str(value) if isinstance(value, ArchiveError) else f"expected {wanted}, got {type(value).__name__}"


def plain_numbers(rows: SampleRows, stamp_ns: Stamps) -> records.Scalars:
    """Numbers such as cycle times; NaN is one of them."""
    rows.faults.clear()
    values = np.array([_number(value) for value in rows.samples], np.float64)
    for row, value in enumerate(rows.samples):
        if not isinstance(value, int | float) or isinstance(value, bool):
            rows.faults[row] = _no_number("a number", value)
    return records.Scalars(stamp_ns=stamp_ns, values=values)
