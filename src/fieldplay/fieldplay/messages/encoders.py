"""Records of numbers become messages, a whole record at once. One function per kind of record and message type."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.messages import records
from fieldplay.messages.cdr_layout import Constant, layout_of
from fieldplay.messages.stream_spec import StreamSpec

Bytes = NDArray[np.uint8]
Encoder = Callable[[Any, StreamSpec], Bytes]

ENCODERS: dict[tuple[type[records.Record], str], Encoder] = {}
COVARIANCE_UNKNOWN, COVARIANCE_APPROXIMATED, COVARIANCE_DIAGONAL, COVARIANCE_KNOWN = range(4)
GPS_SERVICE = 1
ABSENT = -1.0


def encodes(kind: type[records.Record], msgtype: str) -> Callable[[Encoder], Encoder]:
    """Names what a function encodes."""

    def register(encoder: Encoder) -> Encoder:
        ENCODERS[kind, msgtype] = encoder
        return encoder

    return register


def encode(record: records.Record, stream: StreamSpec) -> Bytes:
    """The messages of a record (n, size)."""
    return ENCODERS[type(record), stream.type](record, stream)


def stamped_rows(
    msgtype: str, record: records.Record, frame: str, constants: Mapping[str, Constant] | None = None
) -> tuple[Bytes, NDArray[np.void]]:
    """New messages with their header filled in: the bytes (n, size), and the same memory as records of numbers."""
    data, rows = layout_of(msgtype, {"header.frame_id": frame, **(constants or {})}).rows(len(record))
    set_stamp(rows, "header.stamp", record.stamp_ns)
    return data, rows


def set_stamp(rows: NDArray[np.void], path: str, stamp_ns: NDArray[np.int64]) -> None:
    """Put times into a builtin_interfaces/Time."""
    rows[f"{path}.sec"], rows[f"{path}.nanosec"] = np.divmod(stamp_ns, NS_PER_S)


def set_axes(rows: NDArray[np.void], path: str, values: NDArray[np.float64], axes: str = "xyz") -> None:
    """Put vectors or quaternions (n, k) into their members."""
    for index, axis in enumerate(axes):
        rows[f"{path}.{axis}"] = values[:, index]


def set_covariance(rows: NDArray[np.void], path: str, covariance: NDArray[np.float64] | None) -> None:
    """Put covariances (n, k, k) into a flat list; unknown ones are all zero."""
    rows[path] = 0.0 if covariance is None else covariance.reshape(len(covariance), covariance.shape[-1] ** 2)


@encodes(records.Imu, "sensor_msgs/msg/Imu")
def _imu(record: records.Imu, stream: StreamSpec) -> Bytes:
    data, rows = stamped_rows(stream.type, record, stream.frame)
    set_axes(rows, "angular_velocity", record.angular_velocity_rad_s)
    set_axes(rows, "linear_acceleration", record.linear_acceleration_m_s2)
    set_covariance(rows, "angular_velocity_covariance", record.angular_velocity_covariance)
    set_covariance(rows, "linear_acceleration_covariance", record.linear_acceleration_covariance)
    if record.orientation_xyzw is None:
        rows["orientation.w"] = 1.0
        rows["orientation_covariance"] = 0.0
        rows["orientation_covariance"][:, 0] = ABSENT
    else:
        set_axes(rows, "orientation", record.orientation_xyzw, "xyzw")
        set_covariance(rows, "orientation_covariance", record.orientation_covariance)
    return data


@encodes(records.MagneticField, "sensor_msgs/msg/MagneticField")
def _magnetic_field(record: records.MagneticField, stream: StreamSpec) -> Bytes:
    data, rows = stamped_rows(stream.type, record, stream.frame)
    set_axes(rows, "magnetic_field", record.magnetic_field_t)
    return data


@encodes(records.Temperature, "sensor_msgs/msg/Temperature")
def _temperature(record: records.Temperature, stream: StreamSpec) -> Bytes:
    data, rows = stamped_rows(stream.type, record, stream.frame)
    rows["temperature"] = record.temperature_deg_c
    return data


@encodes(records.Pressure, "sensor_msgs/msg/FluidPressure")
def _pressure(record: records.Pressure, stream: StreamSpec) -> Bytes:
    data, rows = stamped_rows(stream.type, record, stream.frame)
    rows["fluid_pressure"] = record.pressure_pa
    return data


@encodes(records.Fix, "sensor_msgs/msg/NavSatFix")
def _fix(record: records.Fix, stream: StreamSpec) -> Bytes:
    data, rows = stamped_rows(stream.type, record, stream.frame)
    rows["status.status"], rows["status.service"] = record.status, GPS_SERVICE
    rows["latitude"], rows["longitude"], rows["altitude"] = (
        record.latitude_deg,
        record.longitude_deg,
        record.altitude_m,
    )
    set_covariance(rows, "position_covariance", record.covariance_m2)
    rows["position_covariance_type"] = _covariance_types(record)
    return data


def _covariance_types(record: records.Fix) -> NDArray[np.uint8] | int:
    """What NavSatFix says of each row's covariance."""
    covariance = record.covariance_m2
    if covariance is None:
        return COVARIANCE_UNKNOWN
    off_diagonal = covariance[:, ~np.eye(3, dtype=bool)]
    known = COVARIANCE_KNOWN if off_diagonal.any() else COVARIANCE_DIAGONAL
    kind = COVARIANCE_APPROXIMATED if record.approximate else known
    return np.where(covariance.any(axis=(1, 2)), kind, COVARIANCE_UNKNOWN).astype(np.uint8)


@encodes(records.Odometry, "nav_msgs/msg/Odometry")
def _odometry(record: records.Odometry, stream: StreamSpec) -> Bytes:
    data, rows = stamped_rows(stream.type, record, stream.frame, {"child_frame_id": stream.child_frame})
    set_axes(rows, "pose.pose.position", record.position_m)
    set_axes(rows, "pose.pose.orientation", record.orientation_xyzw, "xyzw")
    set_covariance(rows, "pose.covariance", record.pose_covariance)
    set_axes(rows, "twist.twist.linear", record.linear_velocity_m_s)
    set_axes(rows, "twist.twist.angular", record.angular_velocity_rad_s)
    set_covariance(rows, "twist.covariance", record.twist_covariance)
    return data


@encodes(records.Twist, "geometry_msgs/msg/TwistWithCovarianceStamped")
def _twist(record: records.Twist, stream: StreamSpec) -> Bytes:
    data, rows = stamped_rows(stream.type, record, stream.frame)
    set_axes(rows, "twist.twist.linear", record.linear_velocity_m_s)
    set_axes(rows, "twist.twist.angular", record.angular_velocity_rad_s)
    set_covariance(rows, "twist.covariance", record.covariance)
    return data


@encodes(records.Twist, "geometry_msgs/msg/TwistStamped")
def _twist_alone(record: records.Twist, stream: StreamSpec) -> Bytes:
    data, rows = stamped_rows(stream.type, record, stream.frame)
    set_axes(rows, "twist.linear", record.linear_velocity_m_s)
    set_axes(rows, "twist.angular", record.angular_velocity_rad_s)
    return data


@encodes(records.Pose, "geometry_msgs/msg/PoseWithCovarianceStamped")
def _pose_with_covariance(record: records.Pose, stream: StreamSpec) -> Bytes:
    data, rows = stamped_rows(stream.type, record, stream.frame)
    set_axes(rows, "pose.pose.position", record.position_m)
    set_axes(rows, "pose.pose.orientation", record.orientation_xyzw, "xyzw")
    set_covariance(rows, "pose.covariance", record.covariance)
    return data


@encodes(records.Pose, "geometry_msgs/msg/PoseStamped")
def _pose(record: records.Pose, stream: StreamSpec) -> Bytes:
    data, rows = stamped_rows(stream.type, record, stream.frame)
    set_axes(rows, "pose.position", record.position_m)
    set_axes(rows, "pose.orientation", record.orientation_xyzw, "xyzw")
    return data


@encodes(records.Poses, "geometry_msgs/msg/PoseArray")
def _poses(record: records.Poses, stream: StreamSpec) -> Bytes:
    count = record.position_m.shape[1]
    data, rows = stamped_rows(stream.type, record, stream.frame, {"poses": count})
    for index in range(count):
        set_axes(rows, f"poses[{index}].position", record.position_m[:, index])
        set_axes(rows, f"poses[{index}].orientation", record.orientation_xyzw[:, index], "xyzw")
    return data


@encodes(records.Vector, "geometry_msgs/msg/Vector3Stamped")
def _vector(record: records.Vector, stream: StreamSpec) -> Bytes:
    data, rows = stamped_rows(stream.type, record, stream.frame)
    set_axes(rows, "vector", record.vector)
    return data


@encodes(records.Acceleration, "geometry_msgs/msg/AccelStamped")
def _acceleration(record: records.Acceleration, stream: StreamSpec) -> Bytes:
    data, rows = stamped_rows(stream.type, record, stream.frame)
    set_axes(rows, "accel.linear", record.linear_m_s2)
    set_axes(rows, "accel.angular", record.angular_rad_s2)
    return data


@encodes(records.Joints, "sensor_msgs/msg/JointState")
def _joints(record: records.Joints, stream: StreamSpec) -> Bytes:
    columns = {name: getattr(record, name) for name in ("position", "velocity", "effort")}
    lengths = {name: len(record.names) for name, values in columns.items() if values is not None}
    data, rows = stamped_rows(stream.type, record, stream.frame, {"name": record.names, **lengths})
    for name in lengths:
        rows[name] = columns[name]
    return data


@encodes(records.Batteries, "sensor_msgs/msg/BatteryState")
def _batteries(record: records.Batteries, stream: StreamSpec) -> Bytes:
    data, rows = stamped_rows(stream.type, record, stream.frame)
    for name in ("temperature", "charge", "capacity", "design_capacity"):
        rows[name] = np.nan  # not measured
    rows["current"] = np.nan if record.current_a is None else record.current_a
    rows["percentage"] = np.nan if record.percentage is None else record.percentage
    rows["voltage"], rows["present"] = record.voltage_v, 1
    return data


@encodes(records.LaserScans, "sensor_msgs/msg/LaserScan")
def _laser_scans(record: records.LaserScans, stream: StreamSpec) -> Bytes:
    counts = np.unique(record.count)
    if len(counts) > 1:
        raise ValueError(f"expected scans of one length, got {counts.tolist()}: see group_by_size")
    has_intensities = _has_intensities(record)
    if has_intensities.any() and not has_intensities.all():
        raise ValueError("expected scans that all have intensities, or none: see group_by_size")
    columns = {"ranges": record.ranges_m, "intensities": record.intensities if has_intensities.any() else None}
    lengths = {name: int(counts.sum()) for name, values in columns.items() if values is not None}
    data, rows = stamped_rows(stream.type, record, stream.frame, lengths)
    rows["angle_min"], rows["angle_increment"] = record.angle_min_rad, record.angle_increment_rad
    last = record.angle_max_rad
    rows["angle_max"] = record.angle_min_rad + (record.count - 1) * record.angle_increment_rad if last is None else last
    rows["scan_time"], rows["time_increment"] = record.scan_time_s, record.time_increment_s
    rows["range_min"], rows["range_max"] = record.range_min_m, record.range_max_m
    for name, values in columns.items():
        if len(counts) and values is not None:
            rows[name] = values[:, : counts[0]]
    return data


def _has_intensities(record: records.LaserScans) -> NDArray[np.bool_]:
    """Which scans (n,) have intensities: those of which one at least is a number."""
    if record.intensities is None:
        return np.zeros(len(record), bool)
    return np.asarray(~np.isnan(record.intensities).all(axis=1), bool)


def group_by_size(record: records.Record) -> list[NDArray[np.intp]]:
    """The rows of a record, parted by the size of their messages; each part is encoded on its own."""
    if isinstance(record, records.Diagnostics):
        return [np.flatnonzero(record.state_index == index) for index in np.unique(record.state_index)]
    if isinstance(record, records.LaserScans):
        size = 2 * record.count + _has_intensities(record)
        return [np.flatnonzero(size == own) for own in np.unique(size)]
    if isinstance(record, records.Transforms) and record.known is not None:
        _, of_row = np.unique(record.known, axis=0, return_inverse=True)
        return [np.flatnonzero(of_row.reshape(-1) == number) for number in np.unique(of_row)]
    return [np.arange(len(record))]


@encodes(records.Transforms, "tf2_msgs/msg/TFMessage")
def _transforms(record: records.Transforms, stream: StreamSpec) -> Bytes:
    known = np.ones(len(record.children), bool) if record.known is None else record.known[:1].all(axis=0)
    if record.known is not None and (record.known != known).any():
        raise ValueError("expected rows with the same frames: see group_by_size")
    columns = np.flatnonzero(known).tolist()
    texts: dict[str, Constant] = {"transforms": len(columns)}
    for index, column in enumerate(columns):
        texts[f"transforms[{index}].header.frame_id"] = record.parents[column]
        texts[f"transforms[{index}].child_frame_id"] = record.children[column]
    data, rows = layout_of(stream.type, texts).rows(len(record))
    for index, column in enumerate(columns):
        path = f"transforms[{index}]"
        set_stamp(rows, f"{path}.header.stamp", record.stamp_ns)
        set_axes(rows, f"{path}.transform.translation", record.translation_m[:, column])
        set_axes(rows, f"{path}.transform.rotation", record.rotation_xyzw[:, column], "xyzw")
    return data


@encodes(records.Markers, "visualization_msgs/msg/MarkerArray")
def _markers(record: records.Markers, stream: StreamSpec) -> Bytes:
    texts: dict[str, Constant] = {"markers": len(record.names)}
    for index, name in enumerate(record.names):
        path = f"markers[{index}]"
        texts |= {f"{path}.header.frame_id": stream.frame, f"{path}.ns": name, f"{path}.text": name}
    data, rows = layout_of(stream.type, texts).rows(len(record))
    for index, shape in enumerate(record.shapes):
        path = f"markers[{index}]"
        set_stamp(rows, f"{path}.header.stamp", record.stamp_ns)
        rows[f"{path}.id"], rows[f"{path}.type"] = index, shape
        set_axes(rows, f"{path}.pose.position", record.position_m[:, index])
        set_axes(rows, f"{path}.pose.orientation", record.orientation_xyzw[:, index], "xyzw")
        set_axes(rows, f"{path}.scale", record.size_m[:, index])
        set_axes(rows, f"{path}.color", record.colour_rgba[:, index], "rgba")
    return data


@encodes(records.Diagnostics, "diagnostic_msgs/msg/DiagnosticArray")
def _diagnostics(record: records.Diagnostics, stream: StreamSpec) -> Bytes:
    indices = np.unique(record.state_index)
    if len(indices) > 1:
        raise ValueError(f"expected rows in one state, got {len(indices)}: see group_by_size")
    states = record.states[indices[0]] if len(indices) else ()
    texts: dict[str, Constant] = {"status": len(states)}
    for i, state in enumerate(states):
        path = f"status[{i}]"
        texts |= {f"{path}.name": state.name, f"{path}.message": state.message, f"{path}.values": len(state.values)}
        for j, (key, value) in enumerate(state.values):
            texts |= {f"{path}.values[{j}].key": key, f"{path}.values[{j}].value": value}
    data, rows = stamped_rows(stream.type, record, stream.frame, texts)
    for i, state in enumerate(states):
        rows[f"status[{i}].level"] = state.level
    return data


@encodes(records.Wrench, "geometry_msgs/msg/WrenchStamped")
def _wrench(record: records.Wrench, stream: StreamSpec) -> Bytes:
    data, rows = stamped_rows(stream.type, record, stream.frame)
    set_axes(rows, "wrench.force", record.force_n)
    set_axes(rows, "wrench.torque", record.torque_nm)
    return data


@encodes(records.Code, "std_msgs/msg/UInt8")
def _code(record: records.Code, stream: StreamSpec) -> Bytes:
    data, rows = layout_of(stream.type, {}).rows(len(record))
    rows["data"] = record.code
    return data


@encodes(records.Scalars, "std_msgs/msg/Float64")
@encodes(records.Scalars, "std_msgs/msg/Float32")
def _scalars(record: records.Scalars, stream: StreamSpec) -> Bytes:
    data, rows = layout_of(stream.type, {}).rows(len(record))
    rows["data"] = record.values
    return data


@encodes(records.Integers, "std_msgs/msg/Int64")
@encodes(records.Integers, "std_msgs/msg/Int32")
@encodes(records.Integers, "std_msgs/msg/Bool")
def _integers(record: records.Integers, stream: StreamSpec) -> Bytes:
    data, rows = layout_of(stream.type, {}).rows(len(record))
    rows["data"] = record.values
    return data


@encodes(records.Values, "std_msgs/msg/Float64MultiArray")
def _values(record: records.Values, stream: StreamSpec) -> Bytes:
    data, rows = layout_of(stream.type, {"data": record.values.shape[1]}).rows(len(record))
    rows["data"] = record.values
    return data


@encodes(records.ClockReading, "sensor_msgs/msg/TimeReference")
def _clock(record: records.ClockReading, stream: StreamSpec) -> Bytes:
    data, rows = stamped_rows(stream.type, record, stream.frame, {"source": record.source})
    set_stamp(rows, "time_ref", record.time_ns)
    return data
