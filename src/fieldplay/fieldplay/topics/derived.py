"""What nodes would publish of an archive: the same computations, fed with its streams, as feeds beside its own."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from fieldplay.core.errors import ArchiveError, UsageError
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.spec import DerivedSpec
from fieldplay.geometry.extrinsics import Edge
from fieldplay.geometry.frames import Frames
from fieldplay.geometry.transforms import Array, quaternion_from_rotation
from fieldplay.kinematics.computation import (
    TF,
    Computation,
    FrameNames,
    Output,
    computation_kind,
)
from fieldplay.messages.records import (
    Clouds,
    Record,
    Transforms,
    concatenate,
)
from fieldplay.streams.stream import Span, Stream
from fieldplay.streams.topic_stream import (
    DERIVED,
    LazyBlock,
    TopicStream,
    messages_of_record,
)

AT_ONCE_NS = 5_000_000_000
NOTHING = Record(stamp_ns=np.zeros(0, np.int64))


@dataclass(frozen=True, kw_only=True)
class DerivedOptions:
    """Naming, frames and ordering of derived topics."""

    topic: Callable[[str], str]
    frame_prefix: str
    tf_rank: int
    rank: int
    first_ns: int  # rows before it are not there, as they are not for a node
    odom_tf: bool = True  # whether an odometry places its base on /tf
    static: Sequence[Edge] = ()  # the dataset's own static tree, without prefix
    urdf: Path | None = None  # the model of its robot, where there is one


@dataclass(frozen=True)
class FedStream:
    """A stream, and what its messages are about."""

    stream: Stream
    frames: FrameNames = field(default=FrameNames())


def derived_topic_streams(archive: Archive, options: DerivedOptions, *, of_joints: bool = True) -> list[TopicStream]:
    """All that can be computed of the streams that the archive has; the frames of joints on /tf if they are wanted."""
    if of_joints:
        return _feeds_of_specs(archive, archive.spec.derived, options)
    feeds: list[TopicStream] = []
    for spec in archive.spec.derived:
        spec_feeds = _feeds_of_specs(archive, [spec], options)
        if computation_kind(spec.kind).publishes_joint_tf:
            base = {options.frame_prefix + spec.child_frames[0]} if spec.odom_tf and options.odom_tf else set()
            spec_feeds = [
                _with_children(feed, base) if feed.topic == TF else feed
                for feed in spec_feeds
                if feed.topic != TF or base
            ]
        feeds += spec_feeds
    return feeds


def _with_children(feed: TopicStream, children: Collection[str]) -> TopicStream:
    """A feed of transforms with some of their child frames alone."""

    def load(index: int) -> Record:
        record = feed.records(index)
        if not isinstance(record, Transforms):
            return record
        columns = [column for column, child in enumerate(record.children) if child in children]
        return replace(
            record,
            parents=tuple(record.parents[column] for column in columns),
            children=tuple(record.children[column] for column in columns),
            translation_m=record.translation_m[:, columns],
            rotation_xyzw=record.rotation_xyzw[:, columns],
            known=None if record.known is None else record.known[:, columns],
        )

    return replace(feed, records=load)


def _feeds_of_specs(archive: Archive, chosen: Sequence[DerivedSpec], options: DerivedOptions) -> list[TopicStream]:
    feeds: list[TopicStream] = []
    specs = {stream.id: stream for stream in archive.spec.streams}
    for spec in chosen:
        if all(name in archive.streams for name in spec.streams):
            sources = [
                FedStream(archive.streams[name], FrameNames(specs[name].frame, specs[name].child_frame))
                for name in spec.streams
            ]
            spec = spec.with_parameters(archive.parameters)
            feeds += feeds_of_computation(spec, sources, options, requested=archive.parameters)
    return feeds


def feeds_of_joints(archive: Archive, options: DerivedOptions) -> list[TopicStream]:
    """On /tf the frames that joint states alone determine."""
    specs = [spec for spec in archive.spec.derived if computation_kind(spec.kind).publishes_joint_tf]
    return [feed for feed in _feeds_of_specs(archive, specs, options) if feed.topic == TF]


def feeds_of_computation(
    spec: DerivedSpec, sources: Sequence[FedStream], options: DerivedOptions, requested: Collection[str] = ()
) -> list[TopicStream]:
    """The output topics of one computation. Raise where a setting is invalid: UsageError if requested."""
    try:
        first = _make_computation(spec, sources, options)
    except ValueError as error:
        raise (UsageError if str(error).partition(":")[0] in requested else ArchiveError)(str(error)) from None
    streams = {name: source.stream for name, source in zip(_names(spec, first), sources, strict=True)}
    if first.period_ns is not None:
        return _feeds_of_periodic(first, streams, options)
    leads = dict.fromkeys(output.of or first.inputs[0].name for output in first.outputs)
    runs = {lead: _Run(_make_computation(spec, sources, options), lead, streams, options.first_ns) for lead in leads}
    return [
        _feed(output, runs[lead].computation, streams[lead].spans, partial(runs[lead].record, output.topic), options)
        for output in first.outputs
        for lead in [output.of or first.inputs[0].name]
        if not output.live_only
    ]


def _settings(spec: DerivedSpec, options: DerivedOptions) -> dict[str, Any]:
    """As a node would have them; of several of one kind this is the one that is named as the topic."""
    kind = computation_kind(spec.kind)
    names = {setting.name for setting in kind.settings}
    frames = {"frame": spec.frame, "child_frames": list(spec.child_frames)}
    settings = {**{name: value for name, value in frames.items() if value}, **spec.settings}
    settings |= {"frame_prefix": options.frame_prefix, "odom_tf": options.odom_tf}
    if kind.each:
        settings[kind.each] = [spec.topic]
    if "urdf" in names:
        if options.urdf is None:
            raise ArchiveError(f"{spec.kind}: expected the model of a robot (`robot` in the description), got none")
        settings["urdf"] = str(options.urdf)
    return settings


def _names(spec: DerivedSpec, computation: Computation) -> Sequence[str]:
    """The inputs that the streams are: those of their names, or all of them in their order."""
    names = [entry.name for entry in computation.inputs]
    return spec.streams if set(spec.streams) <= set(names) else names


def _make_computation(spec: DerivedSpec, sources: Sequence[FedStream], options: DerivedOptions) -> Computation:
    computation, prefix = computation_kind(spec.kind)(_settings(spec, options)), options.frame_prefix
    computation.link = partial(_link, options)
    for name, source in zip(_names(spec, computation), sources, strict=True):
        computation.frames[name] = FrameNames(*(name and prefix + name for name in source.frames))
    return computation


def _link(options: DerivedOptions, parent: str, child: str) -> Array:
    """parent_T_child (4, 4) of two frames, by the static tree of the dataset."""
    tree, prefix = Frames(), options.frame_prefix
    for edge in options.static:
        rotation = quaternion_from_rotation(edge.parent_t_child[:3, :3])
        values = np.concatenate([edge.parent_t_child[:3, 3], rotation])[None]
        stamp_ns = np.zeros(1, np.int64)
        tree.add(prefix + edge.parent, prefix + edge.child, is_static=True, stamp_ns=stamp_ns, values=values)
    transform = tree.transform(parent, child, np.zeros(1, np.int64)) if tree.are_fixed(parent, child) else None
    if transform is None:
        there = ", ".join(tree.names) or "none"
        raise ArchiveError(f"expected {parent} and {child} to be joined by static frames, there are {there}")
    return np.asarray(transform[0][0], np.float64)


def _feed(
    output: Output,
    computation: Computation,
    spans: Sequence[Span],
    load: Callable[[int], Record],
    options: DerivedOptions,
) -> TopicStream:
    output = output.in_frame(computation.frames)

    def messages(record: Record) -> LazyBlock:
        return (
            LazyBlock.of_rows(np.zeros((0, 1), np.uint8))
            if type(record) is Record
            else messages_of_record(record, output)
        )

    return TopicStream(
        topic=TF if output.topic == TF else options.topic(output.topic),
        msgtype=output.type,
        spans=spans,
        records=load,
        messages=messages,
        frame=output.frame,
        child_frame=output.child_frame,
        rank=options.tf_rank if output.topic == TF else options.rank,
        latched=output.latched,
        stream=DERIVED,
    )


class _Run:
    """A computation that goes through the rows of one input, span by span, and of those beside it as far as needed.

    What was found of a span is kept until one that begins at another time, and goes on where this one ended. The spans
    are asked for in the order of time; whoever goes back begins anew.
    """

    def __init__(self, computation: Computation, lead: str, streams: Mapping[str, Stream], first_ns: int) -> None:
        self.computation = computation
        self._lead, self._first_ns, self._stream = lead, first_ns, streams[lead]
        there = [entry for entry in computation.inputs if entry.name in streams]
        paired = [entry for entry in there if entry.latched or entry.sync_with == lead]
        self._paired = {entry.name: _PairedRows(streams[entry.name], first_ns, entry.latched) for entry in paired}
        self._records: dict[int, dict[str, Record]] = {}
        self._current_ns: int | None = None
        self._lock = Lock()

    def record(self, topic: str, index: int) -> Record:
        """What a span became on a topic; a player's readings ask in threads of their own."""
        with self._lock:
            return self._record(topic, index)

    def _record(self, topic: str, index: int) -> Record:
        if index not in self._records:
            if self._stream.spans[index].first_ns != self._current_ns:
                self._records.clear()
            self._records[index] = self._compute(index)
        return self._records[index].get(topic, NOTHING)

    def _compute(self, index: int) -> dict[str, Record]:
        span = self._stream.spans[index]
        if self._current_ns is not None and span.first_ns < self._current_ns:
            self.computation.reset()
            for paired in self._paired.values():
                paired.rewind()
        self._current_ns = span.first_ns
        records: dict[str, list[Record]] = {}
        for name, record in self._rows(index, span.last_ns):
            for output, part in self.computation.step(name, record):
                records.setdefault(output.topic, []).append(part)
        return {topic: concatenate(parts) for topic, parts in records.items()}

    def _rows(self, index: int, last_ns: int) -> Iterator[tuple[str, Record]]:
        """What the rows of a span go with, and then these."""
        for name, paired in self._paired.items():
            yield from ((name, record) for record in paired.until(last_ns))
        record = _since(self._stream.load(index), self._first_ns)
        if len(record):
            yield self._lead, record


class _PairedRows:
    """Rows of a stream, read as needed; all of them for a state, which holds from before the start."""

    def __init__(self, stream: Stream, first_ns: int, is_state: bool) -> None:
        self._stream, self._first_ns = stream, None if is_state else first_ns
        indices = [i for i, span in enumerate(stream.spans) if is_state or span.last_ns >= first_ns]
        self._order = sorted(indices, key=lambda index: stream.spans[index].first_ns)
        self._next = 0

    def until(self, last_ns: int) -> list[Record]:
        """The next rows, up to a time."""
        parts = []
        while self._next < len(self._order) and self._span(self._next).first_ns <= last_ns:
            record = self._stream.load(self._order[self._next])
            parts.append(record if self._first_ns is None else _since(record, self._first_ns))
            self._next += 1
        parts = [record for record in parts if len(record)]
        return [concatenate(parts)] if parts and isinstance(parts[0], Clouds) else parts

    def _span(self, position: int) -> Span:
        return self._stream.spans[self._order[position]]

    def rewind(self) -> None:
        """Begin anew, unless it is a state, which is known already."""
        self._next = self._next if self._first_ns is None else 0


def _since(record: Record, first_ns: int) -> Record:
    """The rows from a time on."""
    late = record.stamp_ns >= first_ns
    return record if late.all() else record.only(late)


def _feeds_of_periodic(
    computation: Computation, streams: Mapping[str, Stream], options: DerivedOptions
) -> list[TopicStream]:
    """Topics of a computation that reports periodically: computed at once, in the order of time."""
    spans = [span for stream in streams.values() for span in stream.spans]
    if not spans:
        return []
    first_ns, last_ns = min(span.first_ns for span in spans), max(span.last_ns for span in spans)
    assert computation.period_ns is not None
    whole = [Span(first_ns, last_ns, max(1, (last_ns - first_ns) // computation.period_ns))]

    @cache
    def compute_all() -> dict[str, Record]:
        parts: dict[str, list[Record]] = {}
        for name, record in _in_time(computation, streams, options.first_ns):
            for output, rows in computation.step(name, record):
                if not output.live_only:
                    parts.setdefault(output.topic, []).append(rows)
        return {topic: concatenate(those) for topic, those in parts.items()}

    def load(topic: str, _: int) -> Record:
        return compute_all().get(topic, NOTHING)

    return [
        _feed(output, computation, whole, partial(load, output.topic), options)
        for output in computation.outputs
        if not output.live_only
    ]


def _in_time(computation: Computation, streams: Mapping[str, Stream], first_ns: int) -> Iterator[tuple[str, Record]]:
    """All rows from a time on, a part of the time after the other."""
    whole: dict[str, Record] = {}
    for name, stream in streams.items():
        parts = [computation.reduce_rows(_since(stream.load(index), first_ns)) for index in range(len(stream.spans))]
        if parts:
            record = concatenate(parts)
            whole[name] = record.only(np.argsort(record.stamp_ns, kind="stable"))
    borders = np.unique(np.concatenate([record.stamp_ns // AT_ONCE_NS for record in whole.values()]))
    for part in borders.tolist():
        for name, record in whole.items():
            start, end = np.searchsorted(record.stamp_ns, (part * AT_ONCE_NS, (part + 1) * AT_ONCE_NS))
            if start < end:
                yield name, record.only(np.arange(start, end))
