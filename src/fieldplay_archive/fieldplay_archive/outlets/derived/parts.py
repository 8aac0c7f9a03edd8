"""What all that is derived needs: where it goes, feeds of it, and odometry that goes on from span to span."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.spec import DerivedSpec
from fieldplay_kinematics.extrinsics import Edge
from fieldplay_kinematics.transforms import Array
from fieldplay_messages import records
from fieldplay_messages.feeds.feed import Feed, RowMessages, SpanMessages
from fieldplay_messages.streams import Stream

Stamps = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Rows = tuple[Stamps, Bytes]
NO_ROWS: Bytes = np.zeros((0, 1), np.uint8)

Inputs = TypeVar("Inputs")
State = TypeVar("State")
Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where derived topics go: names before topics and frames, and what comes first at equal times."""

    topic: Callable[[str], str]
    frame_prefix: str
    tf_rank: int
    rank: int
    first_ns: int  # rows before it are not there, as they are not for a node
    odom_tf: bool = True  # whether an odometry places its base on /tf
    static: Sequence[Edge] = ()  # the dataset's own static tree, without prefix
    urdf: Path | None = None  # the model of its robot, where there is one


def with_parameters(spec: DerivedSpec, parameters: Mapping[str, Any]) -> DerivedSpec:
    """The same, where a parameter of the dataset that is called as a setting takes its place."""
    return replace(spec, settings={name: parameters.get(name, value) for name, value in spec.settings.items()})


@dataclass(frozen=True, kw_only=True, eq=False)
class _Made(records.Record):
    """Rows that are messages already."""

    messages: SpanMessages


def feed_of_made(*, load: Callable[[int], tuple[Stamps, SpanMessages]], **of_feed: Any) -> Feed:
    """A feed whose messages are made as a whole."""

    def made(index: int) -> _Made:
        stamp_ns, messages = load(index)
        return _Made(stamp_ns=stamp_ns, messages=messages)

    return Feed(**of_feed, records=made, messages=lambda record: record.messages)


def feed_of_rows(stream: Stream, topic: str, msgtype: str, *, rank: int, make: Callable[[int], Rows]) -> Feed:
    """Messages of one size; make gives those of a span, with their times."""

    def load(index: int) -> tuple[Stamps, SpanMessages]:
        stamp_ns, data = make(index)
        return stamp_ns, RowMessages(data)

    return feed_of_made(topic=topic, msgtype=msgtype, spans=stream.spans, load=load, rank=rank, stream="derived")


def positions_of(stream: Stream, index: int) -> tuple[records.Joints, Array]:
    """The joints of a span, and their positions (n, k)."""
    record = stream.load(index)
    if not isinstance(record, records.Joints) or record.position is None:
        raise TypeError(f"expected positions of joints, got {type(record).__name__}")
    return record, record.position


def velocities_of(stream: Stream, index: int) -> tuple[records.Joints, Array]:
    """The joints of a span, and their velocities (n, k)."""
    record = stream.load(index)
    if not isinstance(record, records.Joints) or record.velocity is None:
        raise TypeError(f"expected velocities of joints, got {type(record).__name__}")
    return record, record.velocity


class Chain(Generic[Inputs, State, Found]):
    """Something computed span by span: each goes on where the one before ended, and is kept until the next.

    `inputs` gives the times and the inputs of a span; `compute` goes on from a state, or from None at the start and
    where time runs back, as when a recording follows another.
    """

    def __init__(
        self,
        inputs: Callable[[int], tuple[Stamps, Inputs]],
        compute: Callable[[State | None, Stamps, Inputs], tuple[Found, State]],
    ) -> None:
        self._inputs = inputs
        self._compute = compute
        self._kept: tuple[int, Stamps, Found | None] | None = None
        self._state: State | None = None
        self._last_ns: int | None = None

    def rows(self, index: int) -> tuple[Stamps, Found | None]:
        """Times of a span and what was found for them, None where there are no rows. The spans in the order of time."""
        if self._kept is None or self._kept[0] != index:
            stamp_ns, inputs = self._inputs(index)
            found = self._next(stamp_ns, inputs) if len(stamp_ns) else None
            self._kept = (index, stamp_ns, found)
        return self._kept[1:]

    def _next(self, stamp_ns: Stamps, inputs: Inputs) -> Found:
        runs_back = self._last_ns is not None and stamp_ns[0] < self._last_ns
        found, self._state = self._compute(None if runs_back else self._state, stamp_ns, inputs)
        self._last_ns = int(stamp_ns[-1])
        return found
