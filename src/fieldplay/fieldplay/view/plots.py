"""Numbers over time, places on the map and words: the entries that are not drawn in space."""

from collections.abc import Iterator

import numpy as np
import rerun as rr
from numpy.typing import NDArray

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.messages import records
from fieldplay.messages.records import Record
from fieldplay.report.panels.joints import UNITS
from fieldplay.report.panels.signals import QUANTITIES, TWIST, Quantity
from fieldplay.view.entry import Entry, split

ODOMETRY = "nav_msgs/msg/Odometry"
PLAIN = ("value", "vector")  # what has no better name than its topic
LEVELS = ("INFO", "WARN", "ERROR", "WARN")  # of diagnostics, by their number; the last is stale


def numbers(record: Record, msgtype: str) -> Iterator[Entry]:
    """The numbers of a record, those of one unit together."""
    for quantity in TWIST if msgtype == ODOMETRY else QUANTITIES.get(msgtype, ()):
        values = quantity.read(record)
        if not quantity.may_lack or np.isfinite(values).any():
            yield _series(values, _names(quantity), "" if quantity.title in PLAIN else _word(quantity.title))


def joints(record: records.Joints) -> Iterator[Entry]:
    """Positions, velocities and efforts, as far as they are told."""
    for name, unit in UNITS.items():
        values = getattr(record, name)
        if values is not None and record.names:
            yield _series(values, tuple(f"{joint} [{unit}]" for joint in record.names), name)


def values(record: records.Values) -> Iterator[Entry]:
    """Plain numbers, which have their places for names."""
    yield _series(record.values, tuple(map(str, range(record.values.shape[1]))), "")


def clock(record: records.ClockReading) -> Iterator[Entry]:
    """By how much the other clock is ahead."""
    ahead_s = (record.time_ns - record.stamp_ns) / NS_PER_S
    yield _series(ahead_s[:, None], (f"{record.source or 'clock'} ahead [s]",), "")


def fixes(record: records.Fix) -> Iterator[Entry]:
    """Places on the map, and the altitude; where the place is not known there is none."""
    places = np.stack([record.latitude_deg, record.longitude_deg], axis=1)
    known = np.isfinite(places).all(axis=1)
    still = (rr.GeoPoints.from_fields(radii=rr.Radius.ui_points(4.0)),)
    yield Entry(columns=split(rr.GeoPoints.columns(positions=places[known]), known), still=still)
    yield _series(record.altitude_m[:, None], ("altitude [m]",), "altitude")


def states(record: records.Diagnostics) -> Iterator[Entry]:
    """A line for each message: what is worst in it."""
    lines = [_line(states) for states in record.states]
    levels, texts = [level for level, _ in lines], [text for _, text in lines]
    place = record.place.tolist()
    yield Entry(columns=rr.TextLog.columns(text=[texts[k] for k in place], level=[levels[k] for k in place]))


def _line(states: tuple[records.State, ...]) -> tuple[str, str]:
    worst = max((state.level for state in states), default=0)
    text = "; ".join(f"{state.name}: {state.message}" for state in states if state.level == worst)
    return LEVELS[worst] if 0 <= worst < len(LEVELS) else "ERROR", text


def _series(values: NDArray[np.float64], names: tuple[str, ...], below: str) -> Entry:
    """Curves (n, names)."""
    columns = rr.Scalars.columns(scalars=np.ascontiguousarray(values, np.float64).reshape(-1))
    still = (rr.SeriesLines(names=list(names)),)
    return Entry(columns=split(columns, np.full(len(values), values.shape[1])), below=below, still=still)


def _names(quantity: Quantity) -> tuple[str, ...]:
    unit = f" [{quantity.unit}]" if quantity.unit else ""
    return tuple(f"{name or quantity.title}{unit}" for name in quantity.names)


def _word(title: str) -> str:
    return title.replace(",", "").replace(" ", "_")
