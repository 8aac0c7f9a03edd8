"""One table of record field and message field: records of numbers become messages, and messages records.

`MESSAGES` names for each message type the kind of record and its fields. Each field writes a column of a record into
the members of all messages at once, and reads it back from them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.messages import records
from fieldplay.messages.cdr_layout import Constant, layout_of
from fieldplay.messages.message_columns import Columns
from fieldplay.messages.stream_spec import StreamSpec

STAMP = "header.stamp"
JOINTS, MARKERS, PATH = "sensor_msgs/msg/JointState", "visualization_msgs/msg/MarkerArray", "nav_msgs/msg/Path"
DIAGNOSTICS, TF = "diagnostic_msgs/msg/DiagnosticArray", "tf2_msgs/msg/TFMessage"
COVARIANCE_UNKNOWN, COVARIANCE_APPROXIMATED, COVARIANCE_DIAGONAL, COVARIANCE_KNOWN = range(4)  # of NavSatFix
GPS_SERVICE = 1
ABSENT = -1.0  # first number of the covariance of an IMU's orientation: there is no orientation

Array = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Rows = NDArray[np.void]  # messages (n,) whose NumPy fields are the paths of their numbers


class FramedRecord(NamedTuple):
    """A record with the frames of its messages.

    Args:
        record: the rows.
        frame: the frame of all of them; empty where they have none.
        child_frame: the child frame; empty as well.
    """

    record: records.Record
    frame: str
    child_frame: str


# Fields: how one column of a record, or a few that belong together, stand in a message.


@dataclass(frozen=True)
class Field:
    """A member of a message; subclasses write and read it."""

    path: str

    def constants(self, record: Any, spec: StreamSpec) -> dict[str, Constant]:
        """The texts and lengths of lists by path, which determine the layout of all messages of a record."""
        return {}

    def write(self, rows: Rows, record: Any) -> None:
        """Put the column into new messages."""

    def read(self, columns: Columns) -> dict[str, Any]:
        """The fields of the record, by name, from messages of one layout."""
        return {}


@dataclass(frozen=True)
class Number(Field):
    """One number a message. A column that is None is written as `absent`."""

    column: str
    dtype: type[np.generic] = np.float64
    absent: float = 0.0

    def write(self, rows: Rows, record: Any) -> None:
        values = getattr(record, self.column)
        rows[self.path] = self.absent if values is None else values

    def read(self, columns: Columns) -> dict[str, Any]:
        return {self.column: columns.rows[self.path].astype(self.dtype)}


@dataclass(frozen=True)
class Fixed(Field):
    """A number that is the same in all messages we write, and not read."""

    value: float

    def write(self, rows: Rows, record: Any) -> None:
        rows[self.path] = self.value


@dataclass(frozen=True)
class Axes(Field):
    """A vector or a quaternion (n, k): its members are named by the letters of `axes`."""

    column: str
    axes: str = "xyz"

    @cached_property
    def members(self) -> tuple[str, ...]:
        return tuple(f"{self.path}.{axis}" for axis in self.axes)

    def write(self, rows: Rows, record: Any) -> None:
        set_axes(rows, self.path, getattr(record, self.column), self.axes)

    def read(self, columns: Columns) -> dict[str, Any]:
        return {self.column: columns.axes(self.path, self.axes)}


@dataclass(frozen=True)
class Covariance(Field):
    """Covariances (n, side, side), a flat list in the message; None is written as zeros, which means unknown."""

    column: str
    side: int
    zero_is_none: bool = False

    def write(self, rows: Rows, record: Any) -> None:
        set_covariance(rows, self.path, getattr(record, self.column))

    def read(self, columns: Columns) -> dict[str, Any]:
        values = columns.rows[self.path].astype(np.float64).reshape(-1, self.side, self.side)
        return {self.column: None if self.zero_is_none and not values.any() else values}


@dataclass(frozen=True)
class NumberList(Field):
    """Lists of numbers (n, k) of one length in all messages."""

    column: str

    def constants(self, record: Any, spec: StreamSpec) -> dict[str, Constant]:
        return {self.path: getattr(record, self.column).shape[1]}

    def write(self, rows: Rows, record: Any) -> None:
        values = getattr(record, self.column)
        if values.shape[1]:
            rows[self.path] = values

    def read(self, columns: Columns) -> dict[str, Any]:
        return {self.column: columns.list(self.path)}


@dataclass(frozen=True)
class Text(Field):
    """A text that is the same in all messages of a record."""

    column: str

    def constants(self, record: Any, spec: StreamSpec) -> dict[str, Constant]:
        return {self.path: getattr(record, self.column)}

    def read(self, columns: Columns) -> dict[str, Any]:
        return {self.column: columns.text(self.path)}


@dataclass(frozen=True)
class Time(Field):
    """A builtin_interfaces/Time besides the header's."""

    column: str

    def write(self, rows: Rows, record: Any) -> None:
        set_stamp(rows, self.path, getattr(record, self.column))

    def read(self, columns: Columns) -> dict[str, Any]:
        return {self.column: columns.field_ns(self.path)}


@dataclass(frozen=True)
class ChildFrame(Field):
    """The frame of the moving body, by the description of the stream."""

    def constants(self, record: Any, spec: StreamSpec) -> dict[str, Constant]:
        return {self.path: spec.child_frame}


@dataclass(frozen=True)
class ImuOrientation(Field):
    """An orientation with its covariance; where there is none the covariance starts with -1."""

    def write(self, rows: Rows, record: records.Imu) -> None:
        if record.orientation_xyzw is None:
            rows["orientation.w"] = 1.0
            rows["orientation_covariance"] = 0.0
            rows["orientation_covariance"][:, 0] = ABSENT
        else:
            set_axes(rows, "orientation", record.orientation_xyzw, "xyzw")
            set_covariance(rows, "orientation_covariance", record.orientation_covariance)

    def read(self, columns: Columns) -> dict[str, Any]:
        covariance = columns.rows["orientation_covariance"].astype(np.float64).reshape(-1, 3, 3)
        if (covariance[:, 0, 0] == ABSENT).all():
            return {"orientation_xyzw": None, "orientation_covariance": None}
        return {"orientation_xyzw": columns.axes("orientation", "xyzw"), "orientation_covariance": covariance}


@dataclass(frozen=True)
class FixCovariance(Field):
    """The covariance of a satellite fix and how it is known."""

    def write(self, rows: Rows, record: records.Fix) -> None:
        covariance = record.covariance_m2
        set_covariance(rows, "position_covariance", covariance)
        if covariance is None:
            rows["position_covariance_type"] = COVARIANCE_UNKNOWN
            return
        known = COVARIANCE_KNOWN if covariance[:, ~np.eye(3, dtype=bool)].any() else COVARIANCE_DIAGONAL
        kind = COVARIANCE_APPROXIMATED if record.approximate else known
        rows["position_covariance_type"] = np.where(covariance.any(axis=(1, 2)), kind, COVARIANCE_UNKNOWN)

    def read(self, columns: Columns) -> dict[str, Any]:
        kinds = columns.rows["position_covariance_type"]
        covariance = columns.rows["position_covariance"].astype(np.float64).reshape(-1, 3, 3)
        return {
            "covariance_m2": covariance if kinds.any() else None,
            "approximate": bool((kinds == COVARIANCE_APPROXIMATED).any()),
        }


@dataclass(frozen=True)
class JointLists(Field):
    """Names of joints, and up to three lists with a number for each; lists without numbers are columns that are None.

    Read are the numbers that have a joint; joints without a number get NaN.
    """

    LISTS = ("position", "velocity", "effort")

    def constants(self, record: records.Joints, spec: StreamSpec) -> dict[str, Constant]:
        lengths = {name: len(record.names) for name in self.LISTS if getattr(record, name) is not None}
        return {"name": record.names, **lengths}

    def write(self, rows: Rows, record: records.Joints) -> None:
        for name in self.LISTS if record.names else ():
            if (values := getattr(record, name)) is not None:
                rows[name] = values

    def read(self, columns: Columns) -> dict[str, Any]:
        names = columns.names("name")
        return {"names": names, **{name: self._per_joint(columns.list(name), len(names)) for name in self.LISTS}}

    @staticmethod
    def _per_joint(values: Array, count: int) -> Array | None:
        if not values.shape[1]:
            return None
        missing = max(count - values.shape[1], 0)
        return (
            np.pad(values, ((0, 0), (0, missing)), constant_values=np.nan)[:, :count] if missing else values[:, :count]
        )

    @classmethod
    def check(cls, columns: Columns) -> None:
        """ValueError where a list of numbers is there and has not one for each joint."""
        count = len(columns.names("name"))
        for name in cls.LISTS:
            values = columns.list(name)
            if values.shape[1] not in (0, count):
                raise ValueError(f"expected a {name} for each of {count} joints, got {values[0].tolist()}")


@dataclass(frozen=True)
class ScanLists(Field):
    """The ranges and intensities of scans of one length, and their last angle."""

    def constants(self, record: records.LaserScans, spec: StreamSpec) -> dict[str, Constant]:
        counts, has_intensities = np.unique(record.count), _has_intensities(record)
        if len(counts) > 1:
            raise ValueError(f"expected scans of one length, got {counts.tolist()}: see group_by_size")
        if has_intensities.any() and not has_intensities.all():
            raise ValueError("expected scans that all have intensities, or none: see group_by_size")
        length = int(counts.sum())
        return {"ranges": length, **({"intensities": length} if has_intensities.any() else {})}

    def write(self, rows: Rows, record: records.LaserScans) -> None:
        computed = record.angle_min_rad + (record.count - 1) * record.angle_increment_rad
        rows["angle_max"] = computed if record.angle_max_rad is None else record.angle_max_rad
        for path, values in (("ranges", record.ranges_m), ("intensities", record.intensities)):
            if path in (rows.dtype.names or ()) and values is not None:
                rows[path] = values[:, : record.count[0]]

    def read(self, columns: Columns) -> dict[str, Any]:
        ranges, intensities = columns.list("ranges"), columns.list("intensities")
        return {
            "angle_max_rad": columns.rows["angle_max"].astype(np.float64),
            "ranges_m": ranges,
            "count": np.full(len(ranges), ranges.shape[1]),
            "intensities": intensities if intensities.shape == ranges.shape and ranges.size else None,
        }


def _has_intensities(record: records.LaserScans) -> NDArray[np.bool_]:
    """Which scans (n,) have intensities: those of which one at least is a number."""
    if record.intensities is None:
        return np.zeros(len(record), bool)
    return np.asarray(~np.isnan(record.intensities).all(axis=1), bool)


@dataclass(frozen=True)
class PoseList(Field):
    """Positions (n, k, 3) and orientations (n, k, 4) of a list of k members, each with its paths within a member."""

    position: Axes
    orientation: Axes

    def constants(self, record: Any, spec: StreamSpec) -> dict[str, Constant]:
        return {self.path: getattr(record, self.position.column).shape[1]}

    def write(self, rows: Rows, record: Any) -> None:
        for axes in (self.position, self.orientation):
            values = getattr(record, axes.column)
            for index in range(values.shape[1]):
                set_axes(rows, f"{self.path}[{index}].{axes.path}", values[:, index], axes.axes)

    def read(self, columns: Columns) -> dict[str, Any]:
        return {axes.column: self.stacked(columns, axes) for axes in (self.position, self.orientation)}

    def stacked(self, columns: Columns, axes: Axes) -> Array:
        """A vector of each member (n, k, axes)."""
        count = columns.length(self.path)
        parts = [columns.axes(f"{self.path}[{index}].{axes.path}", axes.axes) for index in range(count)]
        return np.stack(parts, axis=1) if parts else np.zeros((len(columns.rows), 0, len(axes.axes)))

    def stamp_ns(self, columns: Columns) -> dict[str, NDArray[np.int64]]:
        """The time of the first member as that of the record."""
        return {"stamp_ns": columns.time_ns(f"{self.path}[0].{STAMP}")} if columns.length(self.path) else {}


@dataclass(frozen=True)
class TransformList(PoseList):
    """The transforms of a TFMessage: those that are known in all rows of the record."""

    def constants(self, record: records.Transforms, spec: StreamSpec) -> dict[str, Constant]:
        indices = self._known(record)
        texts: dict[str, Constant] = {self.path: len(indices)}
        for index, child in enumerate(indices):
            texts[f"{self.path}[{index}].header.frame_id"] = record.parents[child]
            texts[f"{self.path}[{index}].child_frame_id"] = record.children[child]
        return texts

    def write(self, rows: Rows, record: records.Transforms) -> None:
        for index, child in enumerate(self._known(record)):
            path = f"{self.path}[{index}]"
            set_stamp(rows, f"{path}.{STAMP}", record.stamp_ns)
            set_axes(rows, f"{path}.{self.position.path}", record.translation_m[:, child])
            set_axes(rows, f"{path}.{self.orientation.path}", record.rotation_xyzw[:, child], "xyzw")

    def read(self, columns: Columns) -> dict[str, Any]:
        paths = [f"{self.path}[{index}]" for index in range(columns.length(self.path))]
        return {
            **super().read(columns),
            **self.stamp_ns(columns),
            "parents": tuple(columns.text(f"{path}.header.frame_id") for path in paths),
            "children": tuple(columns.text(f"{path}.child_frame_id") for path in paths),
        }

    @staticmethod
    def _known(record: records.Transforms) -> list[int]:
        if record.known is None:
            return list(range(len(record.children)))
        known = record.known[:1].all(axis=0)
        if (record.known != known).any():
            raise ValueError("expected rows with the same frames: see group_by_size")
        return [int(index) for index in np.flatnonzero(known)]


@dataclass(frozen=True)
class MarkerList(PoseList):
    """Named shapes; the shapes read are those of the first message."""

    SIZE, COLOUR = Axes("scale", "size_m"), Axes("color", "colour_rgba", "rgba")

    def constants(self, record: records.Markers, spec: StreamSpec) -> dict[str, Constant]:
        texts: dict[str, Constant] = {self.path: len(record.names)}
        for index, name in enumerate(record.names):
            path = f"{self.path}[{index}]"
            texts |= {f"{path}.header.frame_id": spec.frame, f"{path}.ns": name, f"{path}.text": name}
        return texts

    def write(self, rows: Rows, record: records.Markers) -> None:
        super().write(rows, record)
        for index, shape in enumerate(record.shapes):
            path = f"{self.path}[{index}]"
            set_stamp(rows, f"{path}.{STAMP}", record.stamp_ns)
            rows[f"{path}.id"], rows[f"{path}.type"] = index, shape
            set_axes(rows, f"{path}.scale", record.size_m[:, index])
            set_axes(rows, f"{path}.color", record.colour_rgba[:, index], "rgba")

    def read(self, columns: Columns) -> dict[str, Any]:
        paths = [f"{self.path}[{index}]" for index in range(columns.length(self.path))]
        return {
            **super().read(columns),
            **self.stamp_ns(columns),
            "names": tuple(columns.text(f"{path}.ns") for path in paths),
            "shapes": tuple(int(columns.rows[f"{path}.type"][0]) for path in paths),
            **{axes.column: self.stacked(columns, axes) for axes in (self.SIZE, self.COLOUR)},
        }


@dataclass(frozen=True)
class PathPoses(PoseList):
    """The poses of paths that are read; how growing paths are written stands with the streams."""

    def read(self, columns: Columns) -> dict[str, Any]:
        position, orientation = self.stacked(columns, self.position), self.stacked(columns, self.orientation)
        count = position.shape[1]
        stamps = [columns.field_ns(f"{self.path}[{index}].{STAMP}") for index in range(count)]
        stamp_ns = np.array(stamps, np.int64).T.reshape(-1, count)
        poses = zip(stamp_ns, position, orientation, strict=True)
        paths = tuple(records.Pose(stamp_ns=ns, position_m=at, orientation_xyzw=turn) for ns, at, turn in poses)
        return {"paths": paths, "path_index": np.arange(len(paths)), "count": np.full(len(paths), count)}


@dataclass(frozen=True)
class StatusList(Field):
    """The states of the parts of a robot; all rows of a record that is written are in one."""

    def constants(self, record: records.Diagnostics, spec: StreamSpec) -> dict[str, Constant]:
        states = self._states(record)
        texts: dict[str, Constant] = {self.path: len(states)}
        for index, state in enumerate(states):
            path = f"{self.path}[{index}]"
            texts |= {f"{path}.name": state.name, f"{path}.message": state.message}
            texts[f"{path}.values"] = len(state.values)
            for number, (key, value) in enumerate(state.values):
                texts |= {f"{path}.values[{number}].key": key, f"{path}.values[{number}].value": value}
        return texts

    def write(self, rows: Rows, record: records.Diagnostics) -> None:
        for index, state in enumerate(self._states(record)):
            rows[f"{self.path}[{index}].level"] = state.level

    @staticmethod
    def _states(record: records.Diagnostics) -> Sequence[records.State]:
        numbers = np.unique(record.state_index)
        if len(numbers) > 1:
            raise ValueError(f"expected rows in one state, got {len(numbers)}: see group_by_size")
        return record.states[numbers[0]] if len(numbers) else ()

    def read(self, columns: Columns) -> dict[str, Any]:
        count = columns.length(self.path)
        levels = [columns.rows[f"{self.path}[{index}].level"].astype(int) for index in range(count)]
        by_row = np.array(levels).reshape(count, -1).T
        different, number = np.unique(by_row, axis=0, return_inverse=True)
        states = tuple(tuple(self._state(columns, i, int(row[i])) for i in range(count)) for row in different)
        return {"states": states, "state_index": number.reshape(-1).astype(np.int64)}

    def _state(self, columns: Columns, index: int, level: int) -> records.State:
        path = f"{self.path}[{index}]"
        pairs = [f"{path}.values[{number}]" for number in range(columns.length(f"{path}.values"))]
        values = tuple((columns.text(f"{pair}.key"), columns.text(f"{pair}.value")) for pair in pairs)
        return records.State(columns.text(f"{path}.name"), level, columns.text(f"{path}.message"), values)


@dataclass(frozen=True)
class NoOrientation(Field):
    """Quaternions of length 0 for poses whose message has no rotation."""

    def read(self, columns: Columns) -> dict[str, Any]:
        return {"orientation_xyzw": np.zeros((len(columns.rows), 4))}


# The table.


@dataclass(frozen=True)
class MessageType:
    """The record that messages of a type become, and their fields; `has_header` where the type starts with a header."""

    record: type[records.Record]
    fields: tuple[Field, ...] = ()
    has_header: bool = True
    is_written: bool = True


def _stamped(record: type[records.Record], *fields: Field) -> MessageType:
    return MessageType(record, fields)


def _plain(record: type[records.Record], *fields: Field) -> MessageType:
    return MessageType(record, fields, has_header=False)


def _scalar(path: str) -> MessageType:
    return _stamped(records.Scalars, Number(path, "values"))


def _pose(path: str) -> tuple[Axes, Axes]:
    return Axes(f"{path}position", "position_m"), Axes(f"{path}orientation", "orientation_xyzw", "xyzw")


def _twist(path: str) -> tuple[Axes, Axes]:
    linear = Axes(f"{path}linear", "linear_velocity_m_s")
    return linear, Axes(f"{path}angular", "angular_velocity_rad_s")


def _acceleration(path: str) -> tuple[Axes, Axes]:
    return Axes(f"{path}linear", "linear_m_s2"), Axes(f"{path}angular", "angular_rad_s2")


FLOATS = _plain(records.Scalars, Number("data", "values"))
INTEGERS = _plain(records.Integers, Number("data", "values", np.int64))
TRANSLATION = Axes("transform.translation", "translation_m")
ROTATION = Axes("transform.rotation", "rotation_xyzw", "xyzw")

MESSAGES: Mapping[str, MessageType] = {
    "sensor_msgs/msg/Imu": _stamped(
        records.Imu,
        ImuOrientation("orientation"),
        Axes("angular_velocity", "angular_velocity_rad_s"),
        Axes("linear_acceleration", "linear_acceleration_m_s2"),
        Covariance("angular_velocity_covariance", "angular_velocity_covariance", 3, zero_is_none=True),
        Covariance("linear_acceleration_covariance", "linear_acceleration_covariance", 3, zero_is_none=True),
    ),
    "sensor_msgs/msg/MagneticField": _stamped(records.MagneticField, Axes("magnetic_field", "magnetic_field_t")),
    "sensor_msgs/msg/Temperature": _stamped(records.Temperature, Number("temperature", "temperature_deg_c")),
    "sensor_msgs/msg/FluidPressure": _stamped(records.Pressure, Number("fluid_pressure", "pressure_pa")),
    "sensor_msgs/msg/RelativeHumidity": _scalar("relative_humidity"),
    "sensor_msgs/msg/Illuminance": _scalar("illuminance"),
    "sensor_msgs/msg/Range": _scalar("range"),
    "sensor_msgs/msg/NavSatFix": _stamped(
        records.Fix,
        Number("status.status", "status", np.int8),
        Fixed("status.service", GPS_SERVICE),
        Number("latitude", "latitude_deg"),
        Number("longitude", "longitude_deg"),
        Number("altitude", "altitude_m"),
        FixCovariance("position_covariance"),
    ),
    "nav_msgs/msg/Odometry": _stamped(
        records.Odometry,
        ChildFrame("child_frame_id"),
        *_pose("pose.pose."),
        Covariance("pose.covariance", "pose_covariance", 6),
        *_twist("twist.twist."),
        Covariance("twist.covariance", "twist_covariance", 6),
    ),
    "geometry_msgs/msg/TwistWithCovarianceStamped": _stamped(
        records.Twist, *_twist("twist.twist."), Covariance("twist.covariance", "covariance", 6)
    ),
    "geometry_msgs/msg/TwistStamped": _stamped(records.Twist, *_twist("twist.")),
    "geometry_msgs/msg/Twist": _plain(records.Twist, *_twist("")),
    "geometry_msgs/msg/PoseWithCovarianceStamped": _stamped(
        records.Pose, *_pose("pose.pose."), Covariance("pose.covariance", "covariance", 6)
    ),
    "geometry_msgs/msg/PoseStamped": _stamped(records.Pose, *_pose("pose.")),
    "geometry_msgs/msg/PointStamped": _stamped(records.Pose, Axes("point", "position_m"), NoOrientation("")),
    "geometry_msgs/msg/TransformStamped": _stamped(
        records.Pose,
        ChildFrame("child_frame_id"),
        Axes("transform.translation", "position_m"),
        Axes("transform.rotation", "orientation_xyzw", "xyzw"),
    ),
    "geometry_msgs/msg/PoseArray": _stamped(records.Poses, PoseList("poses", *_pose(""))),
    PATH: MessageType(records.Paths, (PathPoses("poses", *_pose("pose.")),), is_written=False),
    TF: _plain(records.Transforms, TransformList("transforms", TRANSLATION, ROTATION)),
    MARKERS: _plain(records.Markers, MarkerList("markers", *_pose("pose."))),
    "geometry_msgs/msg/Vector3Stamped": _stamped(records.Vector, Axes("vector", "vector")),
    "geometry_msgs/msg/AccelStamped": _stamped(records.Acceleration, *_acceleration("accel.")),
    "geometry_msgs/msg/AccelWithCovarianceStamped": _stamped(records.Acceleration, *_acceleration("accel.accel.")),
    "geometry_msgs/msg/WrenchStamped": _stamped(
        records.Wrench, Axes("wrench.force", "force_n"), Axes("wrench.torque", "torque_nm")
    ),
    JOINTS: _stamped(records.Joints, JointLists("name")),
    "sensor_msgs/msg/BatteryState": _stamped(
        records.Batteries,
        Number("voltage", "voltage_v"),
        Number("current", "current_a", absent=np.nan),
        Number("percentage", "percentage", absent=np.nan),
        *(Fixed(path, np.nan) for path in ("temperature", "charge", "capacity", "design_capacity")),  # not measured
        Fixed("present", 1),
    ),
    "sensor_msgs/msg/LaserScan": _stamped(
        records.LaserScans,
        Number("angle_min", "angle_min_rad"),
        Number("angle_increment", "angle_increment_rad"),
        Number("range_min", "range_min_m"),
        Number("range_max", "range_max_m"),
        Number("scan_time", "scan_time_s"),
        Number("time_increment", "time_increment_s"),
        ScanLists("ranges"),
    ),
    DIAGNOSTICS: _stamped(records.Diagnostics, StatusList("status")),
    "sensor_msgs/msg/TimeReference": _stamped(
        records.ClockReading, Time("time_ref", "time_ns"), Text("source", "source")
    ),
    "std_msgs/msg/UInt8": _plain(records.Code, Number("data", "code", np.uint8)),
    **dict.fromkeys((f"std_msgs/msg/{name}" for name in ("Float64", "Float32", "UInt64")), FLOATS),
    **dict.fromkeys(
        (f"std_msgs/msg/{name}" for name in ("Int64", "Int32", "Int16", "Int8", "UInt32", "UInt16", "Bool")), INTEGERS
    ),
    "std_msgs/msg/Float64MultiArray": _plain(records.Values, NumberList("data", "values")),
}


# Encoding and decoding by the table.


def encodes(kind: type[records.Record], msgtype: str) -> bool:
    """Check whether records can be encoded.

    Args:
        kind: the class of the records.
        msgtype: the type of the messages.

    Returns:
        Whether records of this kind become messages of this type.
    """
    entry = MESSAGES.get(msgtype)
    return entry is not None and entry.is_written and entry.record is kind


def encode(record: records.Record, spec: StreamSpec) -> Bytes:
    """Encode all rows of a record at once.

    Args:
        record: n rows of one kind whose messages have one size, see `group_by_size`.
        spec: the stream: message type, frame and child frame.

    Returns:
        The messages as CDR, (n, size).

    Raises:
        KeyError: no message of this type is made of this kind of record.
        ValueError: the messages would differ in size.
    """
    if not encodes(type(record), spec.type):
        raise KeyError((type(record), spec.type))
    entry = MESSAGES[spec.type]
    constants: dict[str, Constant] = {"header.frame_id": spec.frame} if entry.has_header else {}
    for each in entry.fields:
        constants |= each.constants(record, spec)
    data, rows = layout_of(spec.type, constants).rows(len(record))
    if entry.has_header:
        set_stamp(rows, STAMP, record.stamp_ns)
    if len(record):
        for each in entry.fields:
            each.write(rows, record)
    return data


def group_by_size(record: records.Record) -> list[NDArray[np.intp]]:
    """Group the rows of a record by the size of their messages, as `encode` takes rows of one size.

    Args:
        record: n rows.

    Returns:
        The indices of the rows of each group; together they are all n.
    """
    if isinstance(record, records.Diagnostics):
        return [np.flatnonzero(record.state_index == index) for index in np.unique(record.state_index)]
    if isinstance(record, records.LaserScans):
        size = 2 * record.count + _has_intensities(record)
        return [np.flatnonzero(size == own) for own in np.unique(size)]
    if isinstance(record, records.Transforms) and record.known is not None:
        _, of_row = np.unique(record.known, axis=0, return_inverse=True)
        return [np.flatnonzero(of_row.reshape(-1) == number) for number in np.unique(of_row)]
    return [np.arange(len(record))]


def decode(msgtype: str, columns: Columns) -> Iterator[FramedRecord]:
    """Decode messages of one layout into records.

    Times are those of the headers, or of the log where a message has none; rows are published at the times of the log.

    Args:
        msgtype: the type of the messages, a key of MESSAGES.
        columns: the members of n messages as columns.

    Yields:
        One record with the frames of the messages; several where the transforms of a message have different times.
    """
    entry = MESSAGES[msgtype]
    has_stamp = f"{STAMP}.sec" in (columns.rows.dtype.names or ())
    members: dict[str, Any] = {"stamp_ns": columns.time_ns() if has_stamp else columns.stamp_ns}
    for each in entry.fields:
        members |= each.read(columns)
    record = entry.record(order_ns=columns.stamp_ns, **members)
    frame = columns.text("header.frame_id") or columns.text("markers[0].header.frame_id")
    parts = _of_one_time(columns, record) if isinstance(record, records.Transforms) else [record]
    yield from (FramedRecord(part, frame, columns.text("child_frame_id")) for part in parts)


def _of_one_time(columns: Columns, record: records.Transforms) -> Sequence[records.Transforms]:
    """The transforms, each alone where those of a message differ in their times."""
    stamps = [columns.time_ns(f"transforms[{index}].{STAMP}") for index in range(len(record.children))]
    if all((stamp_ns == record.stamp_ns).all() for stamp_ns in stamps):
        return [record]
    return [
        replace(
            record,
            stamp_ns=stamp_ns,
            parents=(record.parents[index],),
            children=(record.children[index],),
            translation_m=record.translation_m[:, [index]],
            rotation_xyzw=record.rotation_xyzw[:, [index]],
        )
        for index, stamp_ns in enumerate(stamps)
    ]


def set_stamp(rows: Rows, path: str, stamp_ns: NDArray[np.int64]) -> None:
    """Put times (n,) into a builtin_interfaces/Time."""
    rows[f"{path}.sec"], rows[f"{path}.nanosec"] = np.divmod(stamp_ns, NS_PER_S)


def set_axes(rows: Rows, path: str, values: Array, axes: str = "xyz") -> None:
    """Put vectors or quaternions (n, k) into their members."""
    for index, axis in enumerate(axes):
        rows[f"{path}.{axis}"] = values[:, index]


def set_covariance(rows: Rows, path: str, covariance: Array | None) -> None:
    """Put covariances (n, k, k) into a flat list; unknown ones are all zero."""
    rows[path] = 0.0 if covariance is None else covariance.reshape(len(covariance), covariance.shape[-1] ** 2)
