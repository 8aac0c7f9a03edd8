"""Measured numbers over time: joints, inertial sensors, velocities, forces, weather, batteries and plain numbers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.number_text import count_noun
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.records import Code, Joints
from fieldplay.recording.record_batches import Issues, RecordBatch
from fieldplay.report import figures as fig
from fieldplay.report.overview import Numbers, Overview, Panel
from fieldplay.report.page import Section, join, render
from fieldplay.topics.quantities import JOINT_UNITS, QUANTITIES, Quantity

JOINTS = "sensor_msgs/msg/JointState"
MAX_JOINT_CHARTS, MAX_CHARTS, MAX_JOINTS = 30, 60, 64
TURN_RAD = 2 * np.pi
CODES = 256
FEW_CODES = 12  # whose fractions are shown; a topic of more is a number rather than a state
NAMED = re.compile(r"\b(\d+) ([^,;:]+)")  # in a note such as "6 RTK float, 7 RTK fixed"
LEAD = "Lines are means, bands reach from the lowest to the highest value of each moment."
JointNumbers = dict[str, Numbers]


def _section(
    key: str, title: str, charts: Sequence[fig.Chart], zero: str, *, most: int, lead: str = ""
) -> list[Section]:
    """As many charts as are shown, how many are not, and what is zero throughout."""
    if not charts and not zero:
        return []
    texts = [f"{len(charts) - most} more charts are not shown."] if len(charts) > most else []
    texts += [f"Zero throughout: {zero}."] if zero else []
    body = [
        render("cards", [fig.line_chart(chart) for chart in charts[:most]]),
        *(render("paragraph", text) for text in texts),
    ]
    return [Section(key, title, join(body), lead)]


class JointPanel(Panel):
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
                message = f"{count_noun(count, 'infinite number')} as {quantity} of {name}"
                issues.add("not_finite", topic.name, message, count=count)

    def sections(self, overview: Overview) -> list[Section]:
        """A chart for each quantity of each topic, of as many joints as one can distinguish."""
        axis = overview.time_axis()
        charts: list[fig.Chart] = []
        zero: list[str] = []
        for topic, quantity, joints in self._charts(overview.in_order(self._numbers)):
            note = overview.subject.notes.get(topic.name, "")
            unit = {**JOINT_UNITS, **overview.subject.units.get(topic.name, {})}[quantity]
            names = [name for name, numbers in joints.items() if numbers.is_zero]
            zero += [f"{topic.name} ({quantity} of {', '.join(names)})"] if names else []
            curves = [c for numbers in joints.values() if not numbers.is_zero for c in numbers.curves(overview)]
            unit, note = f"{quantity}, {unit}", note and f"({note})"
            groups = _groups(curves, quantity)
            charts += [fig.Chart(title=topic.name, curves=each, unit=unit, x_axis=axis, note=note) for each in groups]
        return _section("joints", "Joints", charts, "; ".join(zero), most=MAX_JOINT_CHARTS)

    @staticmethod
    def _charts(topics: list[tuple[Topic, dict[str, JointNumbers]]]) -> Iterator[tuple[Topic, str, JointNumbers]]:
        for topic, quantities in topics:
            for quantity, joints in quantities.items():
                yield topic, quantity, joints

    def _add_record(self, topic: Topic, record: Joints) -> None:
        for quantity in JOINT_UNITS:
            values = getattr(record, quantity)
            if values is None or not values.shape[1]:
                continue
            joints = self._numbers.setdefault(topic, {}).setdefault(quantity, {})
            for name, column in zip(record.names, values.T, strict=True):
                if name in joints or len(joints) < MAX_JOINTS:
                    joints.setdefault(name, Numbers([name])).add(record.leaves_ns, column[:, None])


def _groups(curves: list[fig.Curve], quantity: str) -> list[list[fig.Curve]]:
    """As many curves as one can distinguish; continuous joints, such as wheels, apart from others."""
    kinds: list[list[fig.Curve]] = [[], []]
    for curve in (curve for curve in curves if np.isfinite(curve.y).any()):
        kinds[int(quantity == "position" and np.nanmax(curve.y) - np.nanmin(curve.y) > TURN_RAD)].append(curve)
    return [kind[start : start + fig.MAX_SERIES] for kind in kinds for start in range(0, len(kind), fig.MAX_SERIES)]


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


class SignalPanel(Panel):
    """Keeps all numbers of each topic in buckets."""

    msgtypes = tuple(QUANTITIES)

    def __init__(self) -> None:
        self._topics: dict[Topic, _TopicNumbers] = {}

    def add(self, batch: RecordBatch) -> None:
        """Measurements."""
        topic = batch.topic
        quantities = QUANTITIES[topic.msgtype]
        if topic not in self._topics:
            self._topics[topic] = _TopicNumbers([Numbers(each.names, period=each.turn) for each in quantities])
        content = self._topics[topic]
        for record, *_ in batch.records:
            if isinstance(record, Code):
                content.codes += np.bincount(record.code, minlength=CODES)
            for quantity, numbers in zip(quantities, content.numbers, strict=True):
                numbers.add(record.leaves_ns, quantity.read(record))

    def report_issues(self, issues: Issues) -> None:
        """Numbers that are none; an attitude may be absent."""
        for topic, content in self._topics.items():
            for quantity, numbers in zip(QUANTITIES[topic.msgtype], content.numbers, strict=True):
                count = 0 if quantity.may_lack else numbers.not_a_number.total() + numbers.infinite.total()
                message = f"{count_noun(count, 'number')} of its {quantity.title}"
                issues.add("not_finite", topic.name, message, count=count)

    def sections(self, overview: Overview) -> list[Section]:
        """A chart for each quantity of each topic."""
        charts: list[fig.Chart] = []
        zero: list[str] = []
        for topic, content in overview.in_order(self._topics):
            for quantity, numbers in zip(QUANTITIES[topic.msgtype], content.numbers, strict=True):
                curves = [curve for curve in numbers.curves(overview) if np.isfinite(curve.y).any()]
                if curves and numbers.is_zero:
                    zero.append(f"{topic.name} ({quantity.title})")
                elif curves:
                    charts.append(_chart(overview, topic, quantity, curves, content))
        return _section("signals", "Measurements", charts, ", ".join(zero), most=MAX_CHARTS, lead=LEAD)


def _chart(
    overview: Overview, topic: Topic, quantity: Quantity, curves: list[fig.Curve], content: _TopicNumbers
) -> fig.Chart:  # fmt: skip
    if quantity.is_state:  # in steps, where messages are rare: they come when a state changes
        is_rare = overview.streams[topic].usual_ns >= NS_PER_S
        curves = [replace(curve, is_held=is_rare) for curve in curves]
    note = overview.subject.notes.get(topic.name, "")
    note = "; ".join(part for part in (note and f"({note})", content.code_fractions(note)) if part)
    unit = ", ".join(part for part in (quantity.title, quantity.unit) if part)
    return fig.Chart(title=topic.name, curves=curves, unit=unit, x_axis=overview.time_axis(), note=note)
