"""Joints over time: positions, and velocities and efforts where they are told."""

from collections.abc import Iterator

import numpy as np

from fieldplay.core.number_text import many
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.records import Joints
from fieldplay.recording.record_source import Issues, RecordBatch
from fieldplay.report.html.charts import MOST_SERIES, Curve, line_chart
from fieldplay.report.html.markup import Html, element, joined
from fieldplay.report.html.page import Section, cards
from fieldplay.report.panels.curves import Numbers
from fieldplay.report.panels.overview import Overview

JOINTS = "sensor_msgs/msg/JointState"
QUANTITIES = ("position", "velocity", "effort")
UNITS = {"position": "rad or m", "velocity": "rad/s or m/s", "effort": "N m or N"}
MOST_CHARTS = 30
MOST_JOINTS = 64
TURN_RAD = 2 * np.pi

JointNumbers = dict[str, Numbers]


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

    def tell(self, findings: Issues) -> None:
        """Numbers that are none; NaN says that a joint has no such number."""
        for topic, quantity, joints in self._charts(list(self._numbers.items())):
            for name, numbers in joints.items():
                count = numbers.infinite.total()
                findings.add(
                    "not_finite", topic.name, f"{many(count, 'infinite number')} as {quantity} of {name}", count=count
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
        more = [f"{len(charts) - MOST_CHARTS} more charts are not shown."] if len(charts) > MOST_CHARTS else []
        more += [f"Zero throughout: {'; '.join(zero)}."] if zero else []
        body = [cards(charts[:MOST_CHARTS]), *(element("p", text, class_="lead") for text in more)]
        return [Section("joints", "Joints", joined(body))]

    @staticmethod
    def _charts(kept: list[tuple[Topic, dict[str, JointNumbers]]]) -> Iterator[tuple[Topic, str, JointNumbers]]:
        for topic, quantities in kept:
            for quantity, joints in quantities.items():
                yield topic, quantity, joints

    def _add_record(self, topic: Topic, record: Joints) -> None:
        for quantity in QUANTITIES:
            values = getattr(record, quantity)
            if values is None or not values.shape[1]:
                continue
            joints = self._numbers.setdefault(topic, {}).setdefault(quantity, {})
            for name, column in zip(record.names, values.T, strict=True):
                if name in joints or len(joints) < MOST_JOINTS:
                    joints.setdefault(name, Numbers([name])).add(record.leaves_ns, column[:, None])


def _groups(curves: list[Curve], quantity: str) -> list[list[Curve]]:
    """As many curves as one can tell apart; what turns on and on, as wheels do, apart from what goes to and fro."""
    kinds: list[list[Curve]] = [[], []]
    for curve in curves:
        kinds[quantity == "position" and _range(curve) > TURN_RAD].append(curve)
    return [kind[place : place + MOST_SERIES] for kind in kinds for place in range(0, len(kind), MOST_SERIES)]


def _range(curve: Curve) -> float:
    values = curve.y[np.isfinite(curve.y)]
    return float(np.ptp(values)) if len(values) else 0.0
