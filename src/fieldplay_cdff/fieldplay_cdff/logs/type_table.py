"""The types of samples: each row of TYPES defines how its samples are recognised, and the function that converts them.

A new type needs such a row and that function. The kind of samples is the name of the row.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.geometry import axes
from fieldplay.messages import records
from fieldplay.messages.records import Pixels, Record
from fieldplay_cdff.logs import log_images
from fieldplay_cdff.logs.msgpack_decode import Number, plain_name
from fieldplay_cdff.logs.sample_rows import (
    Floats,
    SampleRows,
    TreeRows,
    field,
    no_numbers,
)

Stamps = NDArray[np.int64]
M_PER_MM = 1e-3
TOO_FAR, TOO_NEAR, LAST_CODE = (1, 5), 2, 5  # ranges up to the last code are none; 0 is no code, and none either
NO_FIX, PLAIN_FIX, GBAS_FIX = -1, 0, 2
NO_SOLUTION = ("no_solution", "invalid")
BETTER = ("differential", "rtk", "widelane", "narrowlane")
MAX_BEAMS = 1 << 16
PARTS = {"position": "position", "velocity": "speed", "effort": "effort"}
UNKNOWN_VARIANCE = 1e6  # of a part that the data do not hold
NORM_ERROR = 1e-3  # of a quaternion
IDENTITY = (0.0, 0.0, 0.0, 1.0)
NO_TURN = (
    "its velocities are in the target's frame; where a sample has no orientation that of its source is not known, and "
    "leaves with a variance of 1e6"
)
W_FIRST = (1, 2, 3, 0)  # of a quaternion w x y z, its x y z w
POSITION, ORIENTATION = ("pos", "position"), ("orient", "orientation")
STATE, JOINTS, SCAN, DEPTHS, CLOUD, IMU = (
    "RigidBodyState", "Joints", "LaserScan", "DepthMap", "Pointcloud", "IMUSensors",
)  # fmt: skip
FRAME, PAIR, FIX, TRANSFORM, POSE, MAP, BITS = (
    "Frame", "FramePair", "GpsSolution", "TransformWithCovariance", "Pose", "Map", "asn1_bitstream",
)  # fmt: skip
INTEGER, LONG, NUMBER, TRUTH_VALUE = "integer", "long integer", "number", "truth value"
PLAIN = {INTEGER, LONG, NUMBER, TRUTH_VALUE}  # samples without fields
LARGEST = (1 << 63) - 1  # number that a message holds
ODOMETRY, POINTS, IMAGE = "nav_msgs/msg/Odometry", "sensor_msgs/msg/PointCloud2", "sensor_msgs/msg/Image"
RANGED = re.compile(r"(u?)int(8|16|32|64)t?")
BITS_OF = {"int": 32, "short": 16, "long": 64}
PREFIX = re.compile(r"asn[1l]scc")
MARSHALLED = re.compile(r"_m$")


# Joints, inertial sensors, laser scans, satellite fixes and plain numbers.


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
        indices = [names[name] for name in elements]
        for part, own in PARTS.items():
            columns[part][row, indices] = [_number(field(element, own)) for element in elements.values()]
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
        for index, element in enumerate(elements):
            leaf = field(element, own)
            if isinstance(leaf, Number) or (isinstance(leaf, int) and not isinstance(leaf, bool)):
                values[:, index] = rows.numbers_at(leaf)
        if bool(np.isfinite(values).any()):
            known[part] = values
    return records.Joints(stamp_ns=stamp_ns, names=tuple(names), **known)


def _named_elements(rows: SampleRows, row: int) -> dict[str, object]:
    names, elements = (field(rows.samples[row], name) for name in ("names", "elements"))
    if not isinstance(elements, list):
        rows.issues.setdefault(row, "elements: expected a list, got none")
        return {}
    names = names or [f"joint_{index + 1}" for index in range(len(elements))]
    if not isinstance(names, list) or len(names) != len(elements) or not all(isinstance(n, str) for n in names):
        rows.issues.setdefault(row, f"expected a name for each of {len(elements)} joints")
        return {}
    return dict(zip(names, elements, strict=True))


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else np.nan


def imu_from_samples(rows: SampleRows, stamp_ns: Stamps) -> records.Imu:
    """Specific force and rates; the magnetometer's numbers have no unit, and are ignored."""
    force, rates = rows.vectors(3, "acc"), rows.vectors(3, "gyro")
    rows.report_issue(no_numbers(np.hstack([force, rates])), "expected acc and gyro, got NaN")
    return records.Imu(stamp_ns=stamp_ns, angular_velocity_rad_s=rates, linear_acceleration_m_s2=force)


def scans_from_samples(rows: SampleRows, stamp_ns: Stamps) -> records.LaserScans:
    """Scans in metres: +inf for too far, -inf for too near, NaN for failed measurements."""
    lists = [_ranges_m(rows, row, value) for row, value in enumerate(rows.values("ranges"))]
    count = np.array([len(ranges) for ranges in lists], np.int64)
    ranges = _padded_matrix(lists)
    increment, speed = rows.numbers("angularresolution"), rows.numbers("speed")
    start = rows.numbers("startangle")
    rows.report_issue(~np.isfinite(start + increment), "expected start_angle and angular_resolution, got NaN")
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


def _padded_matrix(lists: list[Floats]) -> Floats:
    """Lists of numbers as rows, padded with NaN."""
    matrix = np.full((len(lists), max(map(len, lists), default=0)), np.nan)
    for row, values in enumerate(lists):
        matrix[row, : len(values)] = values
    return matrix


def _remissions(rows: SampleRows, count: NDArray[np.int64]) -> Floats | None:
    """The remissions (n, k), NaN where a scan has none; None where no scan has any."""
    remissions = [_remission(rows, row, value) for row, value in enumerate(rows.values("remission", "remissions"))]
    if not any(map(len, remissions)):
        return None
    for row, own in enumerate(remissions):
        if len(own) not in (0, count[row]):
            rows.notes.add("scans whose remission is not one number for each range are published without intensities")
            remissions[row] = own[:0]
    return _padded_matrix(
        [own if len(own) else np.full(size, np.nan) for own, size in zip(remissions, count, strict=True)]
    )


def _remission(rows: SampleRows, row: int, value: object) -> Floats:
    try:
        return np.zeros(0) if value is None else np.asarray(value, np.float64).reshape(-1)
    except (TypeError, ValueError, OverflowError):
        rows.notes.add("scans whose remission is no list of numbers are published without intensities")
        return np.zeros(0)


def _ranges_m(rows: SampleRows, row: int, value: object) -> Floats:
    try:
        codes = np.asarray(value, np.float64).reshape(-1)
    except (TypeError, ValueError, OverflowError):
        codes = np.zeros(0)
    if not 0 < len(codes) <= MAX_BEAMS:
        rows.issues.setdefault(row, f"ranges: expected 1 to {MAX_BEAMS} numbers, got {len(codes)}")
        return np.zeros(0)
    ranges = codes * M_PER_MM
    ranges[codes <= LAST_CODE] = np.nan
    ranges[np.isin(codes, TOO_FAR)] = np.inf
    ranges[codes == TOO_NEAR] = -np.inf
    return ranges


def fixes_from_samples(rows: SampleRows, stamp_ns: Stamps) -> records.Fix:
    """Satellite fixes; one without a solution keeps its time, has status -1, and may have a NaN position."""
    position = np.stack([rows.numbers(name) for name in ("latitude", "longitude", "altitude")], axis=1)
    status = np.array([_status(kind) for kind in rows.values("positiontype")], np.int8)
    is_wrong = np.where(status == NO_FIX, np.isinf(position).any(axis=1), no_numbers(position))
    rows.report_issue(is_wrong, "expected latitude, longitude and altitude, got NaN or infinity")
    deviations = [rows.numbers(f"deviation{axis}") for axis in ("longitude", "latitude", "altitude")]
    covariance = axes.diagonal(np.stack(deviations, axis=1) ** 2)
    unknown = ~np.isfinite(covariance).all(axis=(1, 2)) | (status == NO_FIX)
    covariance[unknown] = 0.0
    return records.Fix(
        stamp_ns=stamp_ns,
        latitude_deg=position[:, 0],
        longitude_deg=position[:, 1],
        altitude_m=position[:, 2],
        status=status,
        covariance_m2=covariance,
    )


def _status(kind: object) -> int:
    text = str(kind).lower()
    if any(name in text for name in NO_SOLUTION):
        return NO_FIX
    return GBAS_FIX if any(name in text for name in BETTER) else PLAIN_FIX


def integers_from_samples(
    rows: SampleRows, stamp_ns: Stamps, *, limits: tuple[int, int] = (-(1 << 63), (1 << 63) - 1)
) -> records.Integers:
    """Numbers such as states, from the minimum to the maximum of their type."""
    rows.issues.clear()
    values = np.zeros(len(rows), np.int64)
    for row, value in enumerate(rows.samples):
        if type(value) not in (int, bool):
            rows.issues[row] = _no_number("a whole number", value)
        elif limits[0] <= value <= limits[1]:
            values[row] = value
        else:
            rows.issues[row] = f"expected a whole number from {limits[0]} to {limits[1]}, got {value}"
    return records.Integers(stamp_ns=stamp_ns, values=values)


def _no_number(requested: str, value: object) -> str:
    return str(value) if isinstance(value, ArchiveError) else f"expected {requested}, got {type(value).__name__}"


def plain_numbers(rows: SampleRows, stamp_ns: Stamps) -> records.Scalars:
    """Numbers such as cycle times; NaN is one of them."""
    rows.issues.clear()
    values = np.array([_number(value) for value in rows.samples], np.float64)
    for row, value in enumerate(rows.samples):
        if not isinstance(value, int | float) or isinstance(value, bool):
            rows.issues[row] = _no_number("a number", value)
    return records.Scalars(stamp_ns=stamp_ns, values=values)


# Poses and motions: rigid body states, transforms, bare poses.


def odometry_from_states(rows: SampleRows, stamp_ns: Stamps, *, w_first: bool = False) -> records.Odometry:
    """The source in the target; the velocity, which is in the target, is turned into the source.

    A part that is NaN throughout is not known: it is zero, or the identity, with UNKNOWN_VARIANCE. So is a velocity
    without the orientation that would rotate it, which is reported.
    """
    _require_names(rows, "sourceframe", "targetframe")
    position = rows.vectors(3, *POSITION)
    turn = _orientation(rows, w_first=w_first)
    velocity, rates = rows.vectors(3, "velocity"), rows.vectors(3, "angularvelocity")
    no_position, no_turn = _unknown(rows, "position", position), _unknown(rows, "orientation", turn)
    no_velocity, no_rates = _unknown(rows, "velocity", velocity), _unknown(rows, "angular_velocity", rates)
    rows.report_issue(no_position & no_turn & no_velocity & no_rates, "expected a pose or a motion, got neither")
    if (no_turn & ~no_velocity).any():
        rows.notes.add(NO_TURN)
        no_velocity |= no_turn
        rows.report_issue(
            no_position & no_turn & no_rates, "expected an orientation, by which its velocity is turned, got none"
        )
    _require_unit(rows, turn, ~no_turn)
    turn[no_turn] = IDENTITY
    body_R_target = np.swapaxes(_matrices(turn), 1, 2)
    position[no_position] = velocity[no_velocity] = rates[no_rates] = 0.0
    covariances = [
        _covariance(rows, "covposition", no_position),
        _covariance(rows, "covorientation", no_turn, np.swapaxes(body_R_target, 1, 2)),
        _covariance(rows, "covvelocity", no_velocity, body_R_target),
        _covariance(rows, "covangularvelocity", no_rates),
    ]
    return records.Odometry(
        stamp_ns=stamp_ns,
        position_m=position,
        orientation_xyzw=turn,
        pose_covariance=_blocks(*covariances[:2]),
        linear_velocity_m_s=np.einsum("nij,nj->ni", body_R_target, velocity),
        angular_velocity_rad_s=rates,
        twist_covariance=_blocks(*covariances[2:]),
    )


def odometry_from_transforms(rows: SampleRows, stamp_ns: Stamps, *, w_first: bool = False) -> records.Odometry:
    """The child in the parent; motions are not known."""
    position = rows.vectors(3, "data.translation", "translation")
    turn = rows.vectors(4, "data.orientation", "orientation")
    turn = turn[:, W_FIRST] if w_first else turn
    _require_finite(rows, "translation", position)
    _require_finite(rows, "orientation", turn)
    _require_unit(rows, turn, np.ones(len(rows), bool))
    covariance = rows.vectors(36, "data.cov", "cov").reshape(-1, 6, 6)
    covariance[~np.isfinite(covariance).all(axis=(1, 2))] = 0.0
    none = np.zeros((len(rows), 3))
    return records.Odometry(
        stamp_ns=stamp_ns,
        position_m=position,
        orientation_xyzw=turn,
        pose_covariance=covariance,
        linear_velocity_m_s=none,
        angular_velocity_rad_s=none,
        twist_covariance=np.tile(np.eye(6) * UNKNOWN_VARIANCE, (len(rows), 1, 1)),
    )


def poses_from_samples(rows: SampleRows, stamp_ns: Stamps, *, w_first: bool = False) -> records.Pose:
    """Bare poses."""
    position, turn = rows.vectors(3, *POSITION), _orientation(rows, w_first=w_first)
    _require_finite(rows, "position", position)
    _require_finite(rows, "orientation", turn)
    _require_unit(rows, turn, np.ones(len(rows), bool))
    return records.Pose(stamp_ns=stamp_ns, position_m=position, orientation_xyzw=turn)


def _orientation(rows: SampleRows, *, w_first: bool) -> Floats:
    """Quaternions (n, 4) x y z w; Rock's own form names its parts, so the order is for lists alone."""
    turn = rows.vectors(4, *ORIENTATION)
    if w_first:
        is_list = ~rows.has_parts(*ORIENTATION)
        turn[is_list] = turn[is_list][:, W_FIRST]
    return turn


def _unknown(rows: SampleRows, name: str, values: Floats) -> NDArray[np.bool_]:
    """Which rows (n,) have nothing but NaN; those that have some of it, or infinity, are defective."""
    is_nan = np.isnan(values)
    unknown = np.asarray(is_nan.all(axis=1), bool)
    rows.report_issue(no_numbers(values) & ~unknown, f"{name}: expected numbers, got NaN")
    return unknown


def _require_names(rows: SampleRows, *names: str) -> None:
    """Frames that are named are so by texts."""
    for name in names:
        values = rows.values(name)
        if set(map(type, values)) <= {str, type(None)}:
            continue
        for row, value in enumerate(values):
            if not isinstance(value, str | None):
                rows.issues.setdefault(row, f"{name}: expected a text, got {type(value).__name__}")


def _require_finite(rows: SampleRows, name: str, values: Floats) -> None:
    rows.report_issue(no_numbers(values), f"{name}: expected numbers, got NaN")


def _require_unit(rows: SampleRows, turn: Floats, requested: NDArray[np.bool_]) -> None:
    off = np.abs(np.linalg.norm(np.nan_to_num(turn), axis=1) - 1) > NORM_ERROR
    rows.report_issue(requested & off, "orientation: expected a unit quaternion, got one of another length")


def _matrices(turn: Floats) -> Floats:
    """Rotations (n, 3, 3) of quaternions."""
    return np.stack([axes.rotate_vectors(turn, axis) for axis in np.eye(3)], axis=-1)


def _covariance(rows: SampleRows, name: str, unknown: NDArray[np.bool_], turn: Floats | None = None) -> Floats:
    """Covariances (n, 3, 3), turned into other axes; zero where they hold NaN, large where there is no value at all."""
    covariances = rows.vectors(9, name).reshape(-1, 3, 3)
    covariances[~np.isfinite(covariances).all(axis=(1, 2))] = 0.0
    if turn is not None:
        covariances = turn @ covariances @ np.swapaxes(turn, 1, 2)
    covariances[unknown] = np.eye(3) * UNKNOWN_VARIANCE
    return covariances


def _blocks(first: Floats, second: Floats) -> Floats:
    whole = np.zeros((len(first), 6, 6))
    whole[:, :3, :3], whole[:, 3:, 3:] = first, second
    return whole


@dataclass(frozen=True, kw_only=True, eq=False)
class SampleType:
    """Recognition and conversion of the samples of a kind.

    `names` are those of the type in all spellings, without capitals, underscores and hyphens (where none are given,
    the kind's own). Samples of other types are known by their `fields`: all those of one of the texts, | between
    spellings. Without a `message` they are not published.

    One function converts them: `record` converts many at once, `picture` or `points` each on demand. The last
    receives the sample's stamp and the time unit in nanoseconds; `earliest_ns` is how long after the stamp
    the first point was measured.
    """

    kind: str
    message: str = ""
    names: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    record: Callable[..., Record] | None = None
    image: Callable[[Any], Pixels | bytes] | None = None
    points: Callable[[Any, int, int], log_images.Points] | None = None
    earliest_ns: Callable[[Any, int, int], int] | None = None
    frames: int = 1  # that the message has: none, one, or a parent and a child
    sides: tuple[str, ...] = ()  # of a sample with several images, the fields that hold them
    has_quaternions: bool = False  # `record` receives `w_first`, whether quaternions that are lists have w first
    has_limits: bool = False  # `record` receives `limits`, the minimum and maximum number of the type

    @cached_property
    def spellings(self) -> frozenset[str]:
        """Plain names of the type."""
        return frozenset(self.names or (plain_name(self.kind),))

    @cached_property
    def field_spellings(self) -> tuple[tuple[tuple[str, ...], ...], ...]:
        """The fields as lists of spellings, for each text."""
        return tuple(tuple(tuple(field.split("|")) for field in text.split()) for text in self.fields)


# Of those that hold others' fields too the more specific come first.
ROWS = (
    SampleType(
        kind=PAIR, message=IMAGE, fields=("left right baseline",), sides=("left", "right"),
        image=log_images.image_of_frame,
    ),
    SampleType(
        kind=STATE, message=ODOMETRY, fields=("pos|position orient|orientation velocity|sourceframe",), frames=2,
        has_quaternions=True, record=odometry_from_states,
    ),
    SampleType(
        kind=POSE, message="geometry_msgs/msg/PoseStamped", fields=("pos|position orient|orientation",),
        has_quaternions=True, record=poses_from_samples,
    ),
    SampleType(
        kind=JOINTS, message="sensor_msgs/msg/JointState", fields=("names elements",), frames=0,
        record=joints_from_samples,
    ),
    SampleType(
        kind=SCAN, message="sensor_msgs/msg/LaserScan", fields=("ranges startangle",), record=scans_from_samples
    ),
    SampleType(
        kind=DEPTHS, message=POINTS, fields=("distances verticalinterval",), points=log_images.points_from_depth_map,
        earliest_ns=log_images.earliest_offset_ns,
    ),
    SampleType(kind=IMU, message="sensor_msgs/msg/Imu", fields=("acc gyro",), record=imu_from_samples),
    SampleType(
        kind=FIX, message="sensor_msgs/msg/NavSatFix", names=("gpssolution", "solution"),
        fields=("latitude longitude",), record=fixes_from_samples,
    ),
    SampleType(kind=BITS, fields=("serializationmethod data",)),
    SampleType(
        kind=FRAME, message=IMAGE, names=("frame", "image"), image=log_images.image_of_frame,
        fields=("image datasize|size", "data.rows data.cols data.depth"),
    ),
    SampleType(kind=CLOUD, message=POINTS, fields=("points|data.points",), points=log_images.points_from_cloud),
    SampleType(
        kind=TRANSFORM, message=ODOMETRY, fields=("data.translation data.orientation",), frames=2,
        has_quaternions=True, record=odometry_from_transforms,
    ),
    SampleType(kind=MAP),
    SampleType(
        kind=INTEGER, message="std_msgs/msg/Int32", frames=0, has_limits=True, record=integers_from_samples,
        names=("int8t", "int16t", "int32t", "uint8t", "uint16t", "int8", "int16", "int32", "uint8", "uint16", "int",
               "short"),
    ),
    SampleType(
        kind=LONG, message="std_msgs/msg/Int64", frames=0, has_limits=True, record=integers_from_samples,
        names=("int64t", "uint32t", "uint64t", "int64", "uint32", "uint64", "long", "unsignedint"),
    ),
    SampleType(
        kind=NUMBER, message="std_msgs/msg/Float64", frames=0, record=plain_numbers,
        names=("double", "float", "doublet", "floatt", "float32", "float64"),
    ),
    SampleType(
        kind=TRUTH_VALUE, message="std_msgs/msg/Bool", frames=0, has_limits=True, record=integers_from_samples,
        names=("bool", "boolean", "truth value"),
    ),
)  # fmt: skip
TYPES = {row.kind: row for row in ROWS}


def _without_prefix(text: str) -> tuple[str, str]:
    """A type without its path and its spelling's additions, and the plain name of that."""
    own = MARSHALLED.sub("", re.split(r"/|::", text)[-1])
    return own, PREFIX.sub("", plain_name(own))


def canonical_type(text: str) -> str:
    """A type without what spellings add: /base/samples/RigidBodyState_m and asn1SccRigidbodystate are RigidBodyState.

    One that is not known is returned as it is, without its path.
    """
    own, plain = _without_prefix(text)
    return next((kind for kind, row in TYPES.items() if plain in row.spellings), own)


def range_of(text: str) -> tuple[int, int]:
    """The minimum and maximum of an integer type; for unknown or larger ones, those of int64."""
    _, plain = _without_prefix(text)
    if plain in TYPES[TRUTH_VALUE].spellings:
        return 0, 1
    match = RANGED.fullmatch("uint32" if plain == "unsignedint" else plain)
    bits = int(match[2]) if match else BITS_OF.get(plain, 64)
    if match and match[1]:
        return 0, min((1 << bits) - 1, LARGEST)
    return -(1 << bits - 1), (1 << bits - 1) - 1


def kind_of(text: str, sample: Any) -> str:
    """The kind of a stream's samples by its type and the first of them; "" where neither is known."""
    named = canonical_type(text) if text else ""
    if named in (INTEGER, LONG, NUMBER) and isinstance(sample, bool):
        return named
    by_fields = _kind_by_fields(sample, is_named=bool(named))
    if named in (MAP, BITS) or not by_fields:
        return named if named in TYPES else ""
    return by_fields


def _kind_by_fields(sample: Any, *, is_named: bool) -> str:
    if isinstance(sample, bool):
        return TRUTH_VALUE
    if isinstance(sample, int | float) and not is_named:
        return LONG if isinstance(sample, int) else NUMBER
    if not isinstance(sample, dict):
        return ""
    names = {plain_name(name) for name in sample if isinstance(name, str)}
    for name, inner in sample.items():
        if isinstance(inner, dict):
            names |= {f"{plain_name(str(name))}.{plain_name(str(key))}" for key in inner}
    for kind, row in TYPES.items():
        if any(all(any(name in names for name in field) for field in fields) for fields in row.field_spellings):
            return kind
    return ""
