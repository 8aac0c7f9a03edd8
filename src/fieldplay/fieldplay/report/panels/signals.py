"""Measured numbers over time: inertial sensors, velocities, forces, weather, batteries and plain numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fieldplay.report.html.charts import Curve, line_chart
from fieldplay.report.html.markup import Html, element, joined
from fieldplay.report.html.page import Section, cards
from fieldplay.report.html.ticks import many
from fieldplay.report.panels.curves import Numbers
from fieldplay.report.panels.overview import Overview, tell_unreadable
from fieldplay.sources.source import Findings
from fieldplay_kinematics.transforms import fixed_xyz_from_rotation, rotation_from_quaternion
from fieldplay_messages.batches import Batch, Topic
from fieldplay_messages.cdr.columns import Columns, Decoder
from fieldplay_messages.stamps import NS_PER_S

MOST_CHARTS = 60
ABSENT = -1.0

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Quantity:
    """Numbers of a message that share a chart: what they are, their unit and names, and how to read them (n, names)."""

    title: str
    unit: str
    names: tuple[str, ...]
    read: Callable[[Columns], Array]
    turn: float | None = None  # of angles, which go on where they would begin anew
    may_lack: bool = False  # whether the message has a way to say that there is no number, as NaN
    is_state: bool = False  # whole numbers, which hold until the next message where these are rare


def _vector(path: str, title: str, unit: str) -> Quantity:
    return Quantity(title, unit, ("x", "y", "z"), lambda columns: columns.axes(path))


def _number(path: str, title: str, unit: str, *, may_lack: bool = False, is_state: bool = False) -> Quantity:
    return Quantity(title, unit, ("",), lambda columns: columns.numbers(path), may_lack=may_lack, is_state=is_state)


def _attitude(columns: Columns) -> Array:
    """Roll, pitch and yaw in degrees; NaN where a message says that it has none."""
    quaternions = columns.axes("orientation", "xyzw")
    told = columns.rows["orientation_covariance"][:, 0] != ABSENT
    told &= np.isfinite(quaternions).all(axis=1) & (np.abs(quaternions).max(axis=1) > 0)
    angles = np.full((len(quaternions), 3), np.nan)
    if told.any():
        angles[told] = np.degrees(fixed_xyz_from_rotation(rotation_from_quaternion(quaternions[told])))
    return angles


def _twist(path: str) -> tuple[Quantity, ...]:
    return (_vector(f"{path}.linear", "velocity", "m/s"), _vector(f"{path}.angular", "turn rate", "rad/s"))


def _wrench(path: str) -> tuple[Quantity, ...]:
    return (_vector(f"{path}.force", "force", "N"), _vector(f"{path}.torque", "torque", "N m"))


def _accel(path: str) -> tuple[Quantity, ...]:
    return (
        _vector(f"{path}.linear", "acceleration", "m/s²"),
        _vector(f"{path}.angular", "angular acceleration", "rad/s²"),
    )


PLAIN = ("Float32", "Float64", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Bool")
QUANTITIES: Mapping[str, tuple[Quantity, ...]] = {
    "sensor_msgs/msg/Imu": (
        _vector("angular_velocity", "turn rate", "rad/s"),
        _vector("linear_acceleration", "acceleration", "m/s²"),
        Quantity("attitude", "deg", ("roll", "pitch", "yaw"), _attitude, turn=360.0, may_lack=True),
    ),
    "sensor_msgs/msg/MagneticField": (_vector("magnetic_field", "magnetic field", "T"),),
    "sensor_msgs/msg/Temperature": (_number("temperature", "temperature", "°C"),),
    "sensor_msgs/msg/FluidPressure": (_number("fluid_pressure", "pressure", "Pa"),),
    "sensor_msgs/msg/RelativeHumidity": (_number("relative_humidity", "relative humidity", ""),),
    "sensor_msgs/msg/Illuminance": (_number("illuminance", "illuminance", "lx"),),
    "sensor_msgs/msg/Range": (_number("range", "range", "m", may_lack=True),),
    "sensor_msgs/msg/BatteryState": (
        _number("voltage", "voltage", "V", may_lack=True),
        _number("current", "current", "A", may_lack=True),
        _number("percentage", "charge, as a share", "", may_lack=True),
    ),
    "geometry_msgs/msg/TwistStamped": _twist("twist"),
    "geometry_msgs/msg/TwistWithCovarianceStamped": _twist("twist.twist"),
    "geometry_msgs/msg/Twist": (_vector("linear", "velocity", "m/s"), _vector("angular", "turn rate", "rad/s")),
    "geometry_msgs/msg/AccelStamped": _accel("accel"),
    "geometry_msgs/msg/AccelWithCovarianceStamped": _accel("accel.accel"),
    "geometry_msgs/msg/WrenchStamped": _wrench("wrench"),
    "geometry_msgs/msg/Vector3Stamped": (_vector("vector", "vector", ""),),
    **{f"std_msgs/msg/{name}": (_number("data", "value", "", is_state=name[0] != "F"),) for name in PLAIN},
}


@dataclass
class _Kept:
    decoder: Decoder
    numbers: list[Numbers] = field(default_factory=list)


class SignalPanel:
    """Keeps all numbers of each topic in buckets."""

    msgtypes = tuple(QUANTITIES)

    def __init__(self) -> None:
        self._topics: dict[Topic, _Kept] = {}

    def add(self, batch: Batch) -> None:
        """Measurements."""
        topic = batch.topic
        quantities = QUANTITIES[topic.msgtype]
        if topic not in self._topics:
            numbers = [Numbers(quantity.names, turn=quantity.turn) for quantity in quantities]
            self._topics[topic] = _Kept(Decoder(topic.msgtype), numbers)
        kept = self._topics[topic]
        for columns in kept.decoder.columns(batch.parts):
            for quantity, numbers_of in zip(quantities, kept.numbers, strict=True):
                numbers_of.add(columns.stamp_ns, quantity.read(columns))

    def tell(self, findings: Findings) -> None:
        """Numbers that are none; an attitude may be absent."""
        for topic, kept in self._topics.items():
            tell_unreadable(findings, topic, kept.decoder.failed)
            for quantity, numbers in zip(QUANTITIES[topic.msgtype], kept.numbers, strict=True):
                count = 0 if quantity.may_lack else numbers.not_a_number.total() + numbers.infinite.total()
                findings.add("not_finite", topic.name, f"{many(count, 'number')} of its {quantity.title}", count=count)

    def sections(self, overview: Overview) -> list[Section]:
        """A chart for each quantity of each topic."""
        axis = overview.time_axis()
        charts: list[Html] = []
        zero: list[str] = []
        for topic, kept in overview.in_order(self._topics):
            for quantity, numbers in zip(QUANTITIES[topic.msgtype], kept.numbers, strict=True):
                curves = [curve for curve in numbers.curves(overview) if np.isfinite(curve.y).any()]
                if curves and numbers.is_zero:
                    zero.append(f"{topic.name} ({quantity.title})")
                elif curves:
                    curves = _held(overview, topic, curves) if quantity.is_state else curves
                    unit = ", ".join(part for part in (quantity.title, quantity.unit) if part)
                    note = overview.subject.notes.get(topic.name, "")
                    note = note and f"({note})"
                    charts.append(line_chart(topic.name, curves, unit=unit, x_axis=axis, note=note))
        if not charts and not zero:
            return []
        told = [f"{len(charts) - MOST_CHARTS} more charts are not shown."] if len(charts) > MOST_CHARTS else []
        told += [f"Zero throughout: {', '.join(zero)}."] if zero else []
        lead = "Lines are means, bands reach from the lowest to the highest value of each moment."
        return [
            Section(
                "signals",
                "Measurements",
                joined([cards(charts[:MOST_CHARTS]), *(element("p", text, class_="lead") for text in told)]),
                lead,
            )
        ]


def _held(overview: Overview, topic: Topic, curves: list[Curve]) -> list[Curve]:
    """States in steps, where messages are rare: they come when a state changes."""
    is_rare = overview.streams[topic].usual_ns >= NS_PER_S
    return [replace(curve, is_held=is_rare) for curve in curves]
