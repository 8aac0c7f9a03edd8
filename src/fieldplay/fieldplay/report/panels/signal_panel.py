"""Measured numbers over time: inertial sensors, velocities, forces, weather, batteries and plain numbers."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.number_text import count_noun
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.geometry.transforms import fixed_xyz_from_rotation, rotation_from_quaternion
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.records import Code, Imu, Joints, Record
from fieldplay.recording.record_batches import Issues, RecordBatch
from fieldplay.report.html.charts import MAX_SERIES, Curve, line_chart
from fieldplay.report.html.html_page import (
    Html,
    Section,
    cards,
    element,
    join_html,
)
from fieldplay.report.panels.overview_panel import Numbers, Overview

JOINTS = "sensor_msgs/msg/JointState"
JOINT_QUANTITIES = ("position", "velocity", "effort")
UNITS = {"position": "rad or m", "velocity": "rad/s or m/s", "effort": "N m or N"}
MAX_JOINT_CHARTS = 30
MAX_JOINTS = 64
TURN_RAD = 2 * np.pi
JointNumbers = dict[str, Numbers]
MAX_CHARTS = 60
ABSENT = -1.0
PLAIN_NUMBERS = ("Float32", "Float64", "Int8", "Int16", "Int32", "Int64", "UInt16", "UInt32", "UInt64", "Bool")
Array = NDArray[np.float64]


# Joints over time: positions, and velocities and efforts where they are told.


class JointPanel:
    """Keeps each joint of each topic in buckets; the joints in a message may differ from message to message."""

    msgtypes = (JOINTS,)

    def __init__(self) -> None:
        self._numbers: dict[Topic, dict[str, JointNumbers]] = {}  # by quantity and joint

    def add(self, batch: RecordBatch) -> None:
        """States of joints."""
        for record, *_ in batch.records:
            if isinstance(record, Joints):
                self._add_record(batch.topic, record)

    def report_issues(self, issues: Issues) -> None:
        """Numbers that are none; NaN says that a joint has no such number."""
        for topic, quantity, joints in self._charts(list(self._numbers.items())):
            for name, numbers in joints.items():
                count = numbers.infinite.total()
                issues.add(
                    "not_finite",
                    topic.name,
                    f"{count_noun(count, 'infinite number')} as {quantity} of {name}",
                    count=count,
                )

    def sections(self, overview: Overview) -> list[Section]:
        """A chart for each quantity of each topic, of as many joints as one can tell apart."""
        axis = overview.time_axis()
        charts: list[Html] = []
        zero: list[str] = []
        for topic, quantity, joints in self._charts(overview.in_order(self._numbers)):
            note = overview.subject.notes.get(topic.name, "")
            units = {**UNITS, **overview.subject.units.get(topic.name, {})}
            names = [name for name, numbers in joints.items() if numbers.is_zero]
            zero += [f"{topic.name} ({quantity} of {', '.join(names)})"] if names else []
            curves = [c for numbers in joints.values() if not numbers.is_zero for c in numbers.curves(overview)]
            for part in _groups(curves, quantity):
                charts.append(
                    line_chart(
                        topic.name, part, unit=f"{quantity}, {units[quantity]}", x_axis=axis, note=note and f"({note})"
                    )
                )
        if not charts and not zero:
            return []
        more = (
            [f"{len(charts) - MAX_JOINT_CHARTS} more charts are not shown."] if len(charts) > MAX_JOINT_CHARTS else []
        )
        more += [f"Zero throughout: {'; '.join(zero)}."] if zero else []
        body = [cards(charts[:MAX_JOINT_CHARTS]), *(element("p", text, class_="lead") for text in more)]
        return [Section("joints", "Joints", join_html(body))]

    @staticmethod
    def _charts(topics: list[tuple[Topic, dict[str, JointNumbers]]]) -> Iterator[tuple[Topic, str, JointNumbers]]:
        for topic, quantities in topics:
            for quantity, joints in quantities.items():
                yield topic, quantity, joints

    def _add_record(self, topic: Topic, record: Joints) -> None:
        for quantity in JOINT_QUANTITIES:
            values = getattr(record, quantity)
            if values is None or not values.shape[1]:
                continue
            joints = self._numbers.setdefault(topic, {}).setdefault(quantity, {})
            for name, column in zip(record.names, values.T, strict=True):
                if name in joints or len(joints) < MAX_JOINTS:
                    joints.setdefault(name, Numbers([name])).add(record.leaves_ns, column[:, None])


def _groups(curves: list[Curve], quantity: str) -> list[list[Curve]]:
    """As many curves as one can tell apart; what turns on and on, as wheels do, apart from what goes to and fro."""
    kinds: list[list[Curve]] = [[], []]
    for curve in curves:
        kinds[quantity == "position" and _range(curve) > TURN_RAD].append(curve)
    return [kind[start : start + MAX_SERIES] for kind in kinds for start in range(0, len(kind), MAX_SERIES)]


def _range(curve: Curve) -> float:
    values = curve.y[np.isfinite(curve.y)]
    return float(np.ptp(values)) if len(values) else 0.0


@dataclass(frozen=True)
class Quantity:
    """Numbers of a message that share a chart: what they are, their unit and names, and how to read them (n, names)."""

    title: str
    unit: str
    names: tuple[str, ...]
    read: Callable[[Record], Array]
    turn: float | None = None  # of angles, which go on where they would begin anew
    may_lack: bool = False  # whether the message has a way to say that there is no number, as NaN
    is_state: bool = False  # whole numbers, which hold until the next message where these are rare


def _vector(column: str, title: str, unit: str) -> Quantity:
    return Quantity(title, unit, ("x", "y", "z"), attrgetter(column))


def _number(column: str, title: str, unit: str, *, may_lack: bool = False, is_state: bool = False) -> Quantity:
    def read(record: Record) -> Array:
        values = getattr(record, column)
        return np.full((len(record), 1), np.nan) if values is None else np.asarray(values, np.float64)[:, None]

    return Quantity(title, unit, ("",), read, may_lack=may_lack, is_state=is_state)


def _attitude(record: Record) -> Array:
    """Roll, pitch and yaw in degrees; NaN where it is said that there is none."""
    if not isinstance(record, Imu) or record.orientation_xyzw is None:
        return np.full((len(record), 3), np.nan)
    quaternions, has_orientation = record.orientation_xyzw, np.ones(len(record), bool)
    if record.orientation_covariance is not None:
        has_orientation = record.orientation_covariance[:, 0, 0] != ABSENT
    has_orientation &= np.isfinite(quaternions).all(axis=1) & (np.abs(quaternions).max(axis=1) > 0)
    angles = np.full((len(quaternions), 3), np.nan)
    if has_orientation.any():
        angles[has_orientation] = np.degrees(
            fixed_xyz_from_rotation(rotation_from_quaternion(quaternions[has_orientation]))
        )
    return angles


TWIST = (_vector("linear_velocity_m_s", "velocity", "m/s"), _vector("angular_velocity_rad_s", "turn rate", "rad/s"))
WRENCH = (_vector("force_n", "force", "N"), _vector("torque_nm", "torque", "N m"))
ACCELERATION = (
    _vector("linear_m_s2", "acceleration", "m/s²"),
    _vector("angular_rad_s2", "angular acceleration", "rad/s²"),
)
PLAIN = (*((name, "values") for name in PLAIN_NUMBERS), ("UInt8", "code"))
QUANTITIES: Mapping[str, tuple[Quantity, ...]] = {
    "sensor_msgs/msg/Imu": (
        _vector("angular_velocity_rad_s", "turn rate", "rad/s"),
        _vector("linear_acceleration_m_s2", "acceleration", "m/s²"),
        Quantity("attitude", "deg", ("roll", "pitch", "yaw"), _attitude, turn=360.0, may_lack=True),
    ),
    "sensor_msgs/msg/MagneticField": (_vector("magnetic_field_t", "magnetic field", "T"),),
    "sensor_msgs/msg/Temperature": (_number("temperature_deg_c", "temperature", "°C"),),
    "sensor_msgs/msg/FluidPressure": (_number("pressure_pa", "pressure", "Pa"),),
    "sensor_msgs/msg/RelativeHumidity": (_number("values", "relative humidity", ""),),
    "sensor_msgs/msg/Illuminance": (_number("values", "illuminance", "lx"),),
    "sensor_msgs/msg/Range": (_number("values", "range", "m", may_lack=True),),
    "sensor_msgs/msg/BatteryState": (
        _number("voltage_v", "voltage", "V", may_lack=True),
        _number("current_a", "current", "A", may_lack=True),
        _number("percentage", "charge, as a share", "", may_lack=True),
    ),
    "geometry_msgs/msg/TwistStamped": TWIST,
    "geometry_msgs/msg/TwistWithCovarianceStamped": TWIST,
    "geometry_msgs/msg/Twist": TWIST,
    "geometry_msgs/msg/AccelStamped": ACCELERATION,
    "geometry_msgs/msg/AccelWithCovarianceStamped": ACCELERATION,
    "geometry_msgs/msg/WrenchStamped": WRENCH,
    "geometry_msgs/msg/Vector3Stamped": (_vector("vector", "vector", ""),),
    **{f"std_msgs/msg/{name}": (_number(column, "value", "", is_state=name[0] != "F"),) for name, column in PLAIN},
}
CODES = 256
FEW_CODES = 12  # of which the shares are told; a topic of more is a number rather than a state
NAMED = re.compile(r"\b(\d+) ([^,;:]+)")  # in a note such as "6 RTK float, 7 RTK fixed"


@dataclass
class _TopicNumbers:
    numbers: list[Numbers] = field(default_factory=list)
    codes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(CODES, np.int64))

    def code_fractions(self, note: str) -> str:
        """How often each code came, with its name in the note; empty where there are none, one, or too many."""
        codes = np.flatnonzero(self.codes)
        if not 0 < len(codes) <= FEW_CODES:
            return ""
        names, total = dict(NAMED.findall(note)), self.codes.sum()
        order = sorted(codes.tolist(), key=lambda code: -self.codes[code])
        return ", ".join(
            f"{names.get(str(code), '').strip() or code} {100 * self.codes[code] / total:.1f} %" for code in order
        )


class SignalPanel:
    """Keeps all numbers of each topic in buckets."""

    msgtypes = tuple(QUANTITIES)

    def __init__(self) -> None:
        self._topics: dict[Topic, _TopicNumbers] = {}

    def add(self, batch: RecordBatch) -> None:
        """Measurements."""
        topic = batch.topic
        quantities = QUANTITIES[topic.msgtype]
        if topic not in self._topics:
            numbers = [Numbers(quantity.names, period=quantity.turn) for quantity in quantities]
            self._topics[topic] = _TopicNumbers(numbers)
        content = self._topics[topic]
        for record, *_ in batch.records:
            if isinstance(record, Code):
                content.codes += np.bincount(record.code, minlength=CODES)
            for quantity, numbers_of in zip(quantities, content.numbers, strict=True):
                numbers_of.add(record.leaves_ns, quantity.read(record))

    def report_issues(self, issues: Issues) -> None:
        """Numbers that are none; an attitude may be absent."""
        for topic, content in self._topics.items():
            for quantity, numbers in zip(QUANTITIES[topic.msgtype], content.numbers, strict=True):
                count = 0 if quantity.may_lack else numbers.not_a_number.total() + numbers.infinite.total()
                issues.add(
                    "not_finite",
                    topic.name,
                    f"{count_noun(count, 'number')} of its {quantity.title}",
                    count=count,
                )

    def sections(self, overview: Overview) -> list[Section]:
        """A chart for each quantity of each topic."""
        axis = overview.time_axis()
        charts: list[Html] = []
        zero: list[str] = []
        for topic, content in overview.in_order(self._topics):
            for quantity, numbers in zip(QUANTITIES[topic.msgtype], content.numbers, strict=True):
                curves = [curve for curve in numbers.curves(overview) if np.isfinite(curve.y).any()]
                if curves and numbers.is_zero:
                    zero.append(f"{topic.name} ({quantity.title})")
                elif curves:
                    curves = _as_states(overview, topic, curves) if quantity.is_state else curves
                    unit = ", ".join(part for part in (quantity.title, quantity.unit) if part)
                    note = overview.subject.notes.get(topic.name, "")
                    fractions = content.code_fractions(note)
                    note = "; ".join(part for part in (note and f"({note})", fractions) if part)
                    charts.append(line_chart(topic.name, curves, unit=unit, x_axis=axis, note=note))
        if not charts and not zero:
            return []
        texts = [f"{len(charts) - MAX_CHARTS} more charts are not shown."] if len(charts) > MAX_CHARTS else []
        texts += [f"Zero throughout: {', '.join(zero)}."] if zero else []
        lead = "Lines are means, bands reach from the lowest to the highest value of each moment."
        return [
            Section(
                "signals",
                "Measurements",
                join_html([cards(charts[:MAX_CHARTS]), *(element("p", text, class_="lead") for text in texts)]),
                lead,
            )
        ]


def _as_states(overview: Overview, topic: Topic, curves: list[Curve]) -> list[Curve]:
    """States in steps, where messages are rare: they come when a state changes."""
    is_rare = overview.streams[topic].usual_ns >= NS_PER_S
    return [replace(curve, is_held=is_rare) for curve in curves]
