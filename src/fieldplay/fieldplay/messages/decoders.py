"""Messages become records: the way back from the encoders, all messages of one layout at once."""

from collections.abc import Callable
from functools import partial
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from fieldplay.messages import records
from fieldplay.messages.encoders import ABSENT, COVARIANCE_APPROXIMATED
from fieldplay.messages.message_columns import Columns

STAMP, JOINTS = "header.stamp", "sensor_msgs/msg/JointState"
MARKERS = "visualization_msgs/msg/MarkerArray"

Array = NDArray[np.float64]


class Times(TypedDict):
    """The times (n,) of a record: what its messages tell, and when they leave."""

    stamp_ns: NDArray[np.int64]
    order_ns: NDArray[np.int64]


Decode = Callable[[Columns, Times], records.Record]

DECODERS: dict[str, Decode] = {}


def decodes(*msgtypes: str) -> Callable[[Decode], Decode]:
    """Names what a function decodes."""

    def register(decode: Decode) -> Decode:
        DECODERS.update(dict.fromkeys(msgtypes, decode))
        return decode

    return register


def _column(columns: Columns, path: str) -> Array:
    return columns.rows[path].astype(np.float64)


def _list(columns: Columns, path: str) -> Array:
    """The numbers (n, k) of a list, which may be empty."""
    has_any = path in (columns.rows.dtype.names or ())
    return _column(columns, path) if has_any else np.zeros((len(columns.rows), 0))


def _covariance(columns: Columns, path: str, side: int) -> Array:
    return _column(columns, path).reshape(-1, side, side)


@decodes("sensor_msgs/msg/Imu")
def _imu(columns: Columns, times: Times) -> records.Record:
    covariance = _covariance(columns, "orientation_covariance", 3)
    is_absent = bool((covariance[:, 0, 0] == ABSENT).all())
    return records.Imu(
        **times,
        angular_velocity_rad_s=columns.axes("angular_velocity"),
        linear_acceleration_m_s2=columns.axes("linear_acceleration"),
        orientation_xyzw=None if is_absent else columns.axes("orientation", "xyzw"),
        orientation_covariance=None if is_absent else covariance,
        angular_velocity_covariance=_known_covariance(columns, "angular_velocity_covariance"),
        linear_acceleration_covariance=_known_covariance(columns, "linear_acceleration_covariance"),
    )


def _known_covariance(columns: Columns, path: str) -> Array | None:
    """Covariances (n, 3, 3); None where all are zero, which is unknown."""
    covariance = _covariance(columns, path, 3)
    return covariance if covariance.any() else None


@decodes("sensor_msgs/msg/MagneticField")
def _magnetic_field(columns: Columns, times: Times) -> records.Record:
    return records.MagneticField(**times, magnetic_field_t=columns.axes("magnetic_field"))


@decodes("sensor_msgs/msg/Temperature")
def _temperature(columns: Columns, times: Times) -> records.Record:
    return records.Temperature(**times, temperature_deg_c=_column(columns, "temperature"))


@decodes("sensor_msgs/msg/FluidPressure")
def _pressure(columns: Columns, times: Times) -> records.Record:
    return records.Pressure(**times, pressure_pa=_column(columns, "fluid_pressure"))


@decodes("sensor_msgs/msg/NavSatFix")
def _fix(columns: Columns, times: Times) -> records.Record:
    kinds = columns.rows["position_covariance_type"]
    return records.Fix(
        **times,
        latitude_deg=_column(columns, "latitude"),
        longitude_deg=_column(columns, "longitude"),
        altitude_m=_column(columns, "altitude"),
        status=columns.rows["status.status"].astype(np.int8),
        covariance_m2=_covariance(columns, "position_covariance", 3) if kinds.any() else None,
        approximate=bool((kinds == COVARIANCE_APPROXIMATED).any()),
    )


@decodes("nav_msgs/msg/Odometry")
def _odometry(columns: Columns, times: Times) -> records.Record:
    return records.Odometry(
        **times,
        position_m=columns.axes("pose.pose.position"),
        orientation_xyzw=columns.axes("pose.pose.orientation", "xyzw"),
        pose_covariance=_covariance(columns, "pose.covariance", 6),
        linear_velocity_m_s=columns.axes("twist.twist.linear"),
        angular_velocity_rad_s=columns.axes("twist.twist.angular"),
        twist_covariance=_covariance(columns, "twist.covariance", 6),
    )


@decodes("geometry_msgs/msg/TwistWithCovarianceStamped")
def _twist(columns: Columns, times: Times) -> records.Record:
    return records.Twist(
        **times,
        linear_velocity_m_s=columns.axes("twist.twist.linear"),
        angular_velocity_rad_s=columns.axes("twist.twist.angular"),
        covariance=_covariance(columns, "twist.covariance", 6),
    )


@decodes("geometry_msgs/msg/TwistStamped")
def _twist_alone(columns: Columns, times: Times) -> records.Record:
    linear, angular = columns.axes("twist.linear"), columns.axes("twist.angular")
    return records.Twist(**times, linear_velocity_m_s=linear, angular_velocity_rad_s=angular)


@decodes("geometry_msgs/msg/PoseWithCovarianceStamped")
def _pose_with_covariance(columns: Columns, times: Times) -> records.Record:
    return records.Pose(
        **times,
        position_m=columns.axes("pose.pose.position"),
        orientation_xyzw=columns.axes("pose.pose.orientation", "xyzw"),
        covariance=_covariance(columns, "pose.covariance", 6),
    )


@decodes("geometry_msgs/msg/PoseStamped")
def _pose(columns: Columns, times: Times) -> records.Record:
    position, orientation = columns.axes("pose.position"), columns.axes("pose.orientation", "xyzw")
    return records.Pose(**times, position_m=position, orientation_xyzw=orientation)


@decodes("geometry_msgs/msg/PoseArray")
def _poses(columns: Columns, times: Times) -> records.Record:
    position, orientation = _members(columns, "poses", position="position", rotation="orientation")
    return records.Poses(**times, position_m=position, orientation_xyzw=orientation)


@decodes("nav_msgs/msg/Path")
def _path(columns: Columns, times: Times) -> records.Record:
    position, orientation = _members(columns, "poses", position="pose.position", rotation="pose.orientation")
    count = position.shape[1]
    stamps = [columns.field_ns(f"poses[{index}].{STAMP}") for index in range(count)]
    stamp_ns = np.array(stamps, np.int64).T.reshape(-1, count)
    rows = zip(stamp_ns, position, orientation, strict=True)
    paths = tuple(records.Pose(stamp_ns=ns, position_m=at, orientation_xyzw=quaternion) for ns, at, quaternion in rows)
    return records.Paths(**times, paths=paths, path_index=np.arange(len(paths)), count=np.full(len(paths), count))


@decodes("tf2_msgs/msg/TFMessage")
def _transforms(columns: Columns, times: Times) -> records.Record:
    """The time is that of the first transform."""
    count, path = _length(columns, "transforms"), f"transforms[0].{STAMP}"
    if count:
        times = Times(stamp_ns=columns.time_ns(path), order_ns=times["order_ns"])
    members = {"position": "transform.translation", "rotation": "transform.rotation"}
    translation, rotation = _members(columns, "transforms", **members)
    return records.Transforms(
        **times,
        parents=tuple(columns.text(f"transforms[{index}].header.frame_id") for index in range(count)),
        children=tuple(columns.text(f"transforms[{index}].child_frame_id") for index in range(count)),
        translation_m=translation,
        rotation_xyzw=rotation,
    )


@decodes(MARKERS)
def _markers(columns: Columns, times: Times) -> records.Record:
    """The time is that of the first marker; the shapes are those of the first message."""
    count = _length(columns, "markers")
    if count:
        times = Times(stamp_ns=columns.time_ns(f"markers[0].{STAMP}"), order_ns=times["order_ns"])
    position, orientation = _members(columns, "markers", position="pose.position", rotation="pose.orientation")
    paths = [f"markers[{index}]" for index in range(count)]
    size = [columns.axes(f"{path}.scale") for path in paths]
    colour = [columns.axes(f"{path}.color", "rgba") for path in paths]
    rows = len(columns.rows)
    return records.Markers(
        **times,
        names=tuple(columns.text(f"{path}.ns") for path in paths),
        shapes=tuple(int(columns.rows[f"{path}.type"][0]) for path in paths),
        position_m=position,
        orientation_xyzw=orientation,
        size_m=np.stack(size, axis=1) if count else np.zeros((rows, 0, 3)),
        colour_rgba=np.stack(colour, axis=1) if count else np.zeros((rows, 0, 4)),
    )


def _length(columns: Columns, path: str) -> int:
    value = columns.texts[path]
    return value if isinstance(value, int) else len(value)


def _members(columns: Columns, path: str, *, position: str, rotation: str) -> tuple[Array, Array]:
    """Places (n, k, 3) and turns (n, k, 4) of a list of k in each message."""
    count, rows = _length(columns, path), len(columns.rows)
    if not count:
        return np.zeros((rows, 0, 3)), np.zeros((rows, 0, 4))
    positions = [columns.axes(f"{path}[{index}].{position}") for index in range(count)]
    rotations = [columns.axes(f"{path}[{index}].{rotation}", "xyzw") for index in range(count)]
    return np.stack(positions, axis=1), np.stack(rotations, axis=1)


@decodes("geometry_msgs/msg/Vector3Stamped")
def _vector(columns: Columns, times: Times) -> records.Record:
    return records.Vector(**times, vector=columns.axes("vector"))


@decodes("geometry_msgs/msg/AccelStamped")
def _acceleration(columns: Columns, times: Times) -> records.Record:
    return records.Acceleration(
        **times, linear_m_s2=columns.axes("accel.linear"), angular_rad_s2=columns.axes("accel.angular")
    )


@decodes("geometry_msgs/msg/WrenchStamped")
def _wrench(columns: Columns, times: Times) -> records.Record:
    return records.Wrench(**times, force_n=columns.axes("wrench.force"), torque_nm=columns.axes("wrench.torque"))


@decodes(JOINTS)
def _joints(columns: Columns, times: Times) -> records.Record:
    """Of a list with more or fewer numbers than joints those that have a joint, NaN for the others."""
    names = _names(columns)
    position, velocity, effort = (_per_joint(columns, name, len(names)) for name in ("position", "velocity", "effort"))
    return records.Joints(
        **times,
        names=names,
        position=position,
        velocity=velocity,
        effort=effort,
    )


def check_joints(columns: Columns) -> None:
    """ValueError where a list of numbers is there and has not one for each joint."""
    count = len(_names(columns))
    for path in ("position", "velocity", "effort"):
        values = _list(columns, path)
        if values.shape[1] not in (0, count):
            raise ValueError(f"expected a {path} for each of {count} joints, got {values[0].tolist()}")


def _names(columns: Columns) -> tuple[str, ...]:
    value = columns.texts["name"]
    return () if isinstance(value, str | int) else tuple(value)


def _per_joint(columns: Columns, path: str, count: int) -> Array | None:
    values = _list(columns, path)
    if not values.shape[1]:
        return None
    if values.shape[1] == count:
        return values
    missing = max(count - values.shape[1], 0)
    return np.pad(values, ((0, 0), (0, missing)), constant_values=np.nan)[:, :count]


@decodes("sensor_msgs/msg/BatteryState")
def _batteries(columns: Columns, times: Times) -> records.Record:
    return records.Batteries(
        **times,
        voltage_v=_column(columns, "voltage"),
        current_a=_column(columns, "current"),
        percentage=_column(columns, "percentage"),
    )


@decodes("sensor_msgs/msg/LaserScan")
def _laser_scans(columns: Columns, times: Times) -> records.Record:
    ranges = _list(columns, "ranges")
    intensities = _list(columns, "intensities")
    return records.LaserScans(
        **times,
        angle_min_rad=_column(columns, "angle_min"),
        angle_max_rad=_column(columns, "angle_max"),
        angle_increment_rad=_column(columns, "angle_increment"),
        ranges_m=ranges,
        count=np.full(len(ranges), ranges.shape[1]),
        range_min_m=_column(columns, "range_min"),
        range_max_m=_column(columns, "range_max"),
        scan_time_s=_column(columns, "scan_time"),
        time_increment_s=_column(columns, "time_increment"),
        intensities=intensities if intensities.shape == ranges.shape and ranges.size else None,
    )


@decodes("diagnostic_msgs/msg/DiagnosticArray")
def _diagnostics(columns: Columns, times: Times) -> records.Record:
    count = _length(columns, "status")
    rows = [columns.rows[f"status[{index}].level"].astype(int) for index in range(count)]
    levels, state_index = np.unique(np.array(rows).reshape(count, -1).T, axis=0, return_inverse=True)
    states = tuple(tuple(_state(columns, f"status[{i}]", int(row[i])) for i in range(count)) for row in levels)
    return records.Diagnostics(**times, states=states, state_index=state_index.reshape(-1).astype(np.int64))


def _state(columns: Columns, path: str, level: int) -> records.State:
    keys = [f"{path}.values[{index}]" for index in range(_length(columns, f"{path}.values"))]
    values = tuple((columns.text(f"{key}.key"), columns.text(f"{key}.value")) for key in keys)
    return records.State(columns.text(f"{path}.name"), level, columns.text(f"{path}.message"), values)


@decodes("std_msgs/msg/UInt8")
def _code(columns: Columns, times: Times) -> records.Record:
    return records.Code(**times, code=columns.rows["data"].astype(np.uint8))


@decodes("std_msgs/msg/Float64", "std_msgs/msg/Float32", "std_msgs/msg/UInt64")
def _scalars(columns: Columns, times: Times) -> records.Record:
    return records.Scalars(**times, values=_column(columns, "data"))


@decodes("std_msgs/msg/Int64", "std_msgs/msg/Int32", "std_msgs/msg/Int16", "std_msgs/msg/Int8", "std_msgs/msg/Bool")
@decodes("std_msgs/msg/UInt32", "std_msgs/msg/UInt16")
def _integers(columns: Columns, times: Times) -> records.Record:
    return records.Integers(**times, values=columns.rows["data"].astype(np.int64))


@decodes("std_msgs/msg/Float64MultiArray")
def _values(columns: Columns, times: Times) -> records.Record:
    return records.Values(**times, values=_list(columns, "data"))


@decodes("sensor_msgs/msg/TimeReference")
def _clock(columns: Columns, times: Times) -> records.Record:
    return records.ClockReading(**times, time_ns=columns.field_ns("time_ref"), source=columns.text("source"))


# Types that no archive becomes, but that bags of others hold.


def _measured_value(columns: Columns, times: Times, *, path: str) -> records.Record:
    return records.Scalars(**times, values=_column(columns, path))


decodes("sensor_msgs/msg/RelativeHumidity")(partial(_measured_value, path="relative_humidity"))
decodes("sensor_msgs/msg/Illuminance")(partial(_measured_value, path="illuminance"))
decodes("sensor_msgs/msg/Range")(partial(_measured_value, path="range"))


@decodes("geometry_msgs/msg/Twist")
def _plain_twist(columns: Columns, times: Times) -> records.Record:
    linear, angular = columns.axes("linear"), columns.axes("angular")
    return records.Twist(**times, linear_velocity_m_s=linear, angular_velocity_rad_s=angular)


@decodes("geometry_msgs/msg/AccelWithCovarianceStamped")
def _acceleration_with_covariance(columns: Columns, times: Times) -> records.Record:
    linear, angular = columns.axes("accel.accel.linear"), columns.axes("accel.accel.angular")
    return records.Acceleration(**times, linear_m_s2=linear, angular_rad_s2=angular)


@decodes("geometry_msgs/msg/TransformStamped")
def _transform(columns: Columns, times: Times) -> records.Record:
    position, quaternion = columns.axes("transform.translation"), columns.axes("transform.rotation", "xyzw")
    return records.Pose(**times, position_m=position, orientation_xyzw=quaternion)


@decodes("geometry_msgs/msg/PointStamped")
def _point(columns: Columns, times: Times) -> records.Record:
    """Quaternions of length 0, as no rotation is told."""
    position = columns.axes("point")
    return records.Pose(**times, position_m=position, orientation_xyzw=np.zeros((len(position), 4)))
