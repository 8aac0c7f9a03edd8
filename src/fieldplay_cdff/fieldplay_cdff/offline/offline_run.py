"""A pipeline on an archive or a bag: its inputs in the order of time, its outputs into a bag, and statistics."""

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import numpy as np

from fieldplay.bags.storage import Qos, channel_of_type
from fieldplay.bags.writer import BagWriter
from fieldplay.core.errors import ArchiveError, UsageError
from fieldplay.core.progress import Progress, no_progress
from fieldplay.geometry.transforms import Array
from fieldplay.kinematics.computation import ON_TF
from fieldplay.recording.input_topics import camera_info_topic, find_topic, topic_of_input, topics_by_input
from fieldplay.recording.recording import COMPRESSED, STATIC, Message, Recording
from fieldplay.streams.message_block import MergedBlock, MessageBlock, RawMessage
from fieldplay.trajectories.trajectory import Trajectory
from fieldplay_cdff.io.outputs import (
    ODOMETRY,
    OutTopics,
    static_messages,
)
from fieldplay_cdff.io.sources import FRAME, VALUES, PortReader, PortSource, reason_of
from fieldplay_cdff.offline.elevation import HeightError
from fieldplay_cdff.pipeline import Pipeline, PipelineOutput
from fieldplay_cdff.pipeline.pipeline_graph import HOLD
from fieldplay_cdff.products.product_recorder import ProductKeeper
from fieldplay_cdff.steps.values import Cloud, ElevationGrid
from fieldplay_cdff.stereo.keyframe_map import KeyframeMap

BATCH = 500  # messages, or so many bytes, that are written at once
BATCH_BYTES = 16 << 20
SUCCESS = "success"
MAX_REPORTED = 3  # of a topic's inputs that are skipped


def bindings(
    data: Recording, ports: Mapping[str, str], arguments: Sequence[str], known: Mapping[str, str]
) -> list[PortSource]:
    """Return the source of each available input; UsageError or ArchiveError names a missing one."""
    requested = topics_by_input(arguments, ports)
    sources: list[PortSource] = []
    for port, kind in ports.items():
        if kind not in VALUES:
            raise UsageError(f"no topic can feed the input {port}, which is a {kind}")
        if port in requested:
            topic = data.topic(requested[port], suffix=COMPRESSED)
        elif port in known and (topic_or_none := find_topic(data, known[port])) is not None:
            topic = topic_or_none
        else:
            topic = topic_of_input(data, port, VALUES[kind][0])
        if topic.type not in VALUES[kind][0]:
            expected = " or ".join(VALUES[kind][0])
            raise UsageError(f"{port} takes {expected}, but {topic.name} is {topic.type}")
        if not topic.count:
            raise ArchiveError(f"{topic.name}: expected messages for the input {port}, got none")
        twin = next((other.port for other in sources if other.topic == topic.name), "")
        if twin:
            raise UsageError(f"{topic.name} feeds both {twin} and {port}: --input PORT=TOPIC distinguishes them")
        info = camera_info_topic(data, topic) if kind == FRAME else ""
        sources.append(PortSource(port=port, kind=kind, topic=topic.name, msgtype=topic.type, info=info))
    return sources


@dataclass(frozen=True, kw_only=True)
class FusionPart:
    """The time range and topics of a run, and its additional outputs."""

    start_s: float = 0.0
    duration_s: float | None = None
    passthrough: str = ""


@dataclass
class FusionResult:
    """The result of a run: poses by their times, the last cloud, what was skipped and why."""

    stamps_ns: list[int] = field(default_factory=list)
    poses: list[Array] = field(default_factory=list)
    cloud: Cloud | None = None
    cloud_ns: int = 0
    trajectory: Trajectory | None = None  # final estimate of all poses, if the pipeline has one
    keyframes: KeyframeMap | None = None
    grid: ElevationGrid | None = None
    heights: HeightError | None = None  # of those that were compared
    skipped: Counter[str] = field(default_factory=Counter)
    points_lost: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    wall_s: float = 0.0
    nothing: str = ""  # why no input was accepted, where that is so

    @property
    def scene_ns(self) -> int:
        """When the camera had the scene's frame: at the first pose; without poses a cloud defines its own scene."""
        return self.stamps_ns[0] if self.stamps_ns else self.cloud_ns


def reader_of(data: Recording, sources: Sequence[PortSource], every: int = 1) -> PortReader:
    """Return the reader of the inputs with the cameras of their images; ArchiveError names their issues."""
    reader = PortReader(sources, every)
    for source in reader.awaited:
        message = next(iter(data.messages(source.info)), None)
        if message is not None:
            reader.add_camera_info(source, message.data, message.stamp_ns)
    reader.require_stereo()
    return reader


class BatchedBag:
    """A bag that is written message by message, many at once."""

    def __init__(self, writer: BagWriter, types: Mapping[str, str]) -> None:
        self._writer = writer
        self._channels = {
            topic: writer.add_channel(channel_of_type(topic, kind, latched_qos() if topic == STATIC else None))
            for topic, kind in types.items()
        }
        self._waiting: list[RawMessage] = []
        self._bytes = 0
        self.counts = Counter[str]()

    def add(self, message: RawMessage) -> None:
        """The next message."""
        self._waiting.append(message)
        self._bytes += len(message.data)
        self.counts[message.topic] += 1
        if len(self._waiting) >= BATCH or self._bytes >= BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if not self._waiting:
            return
        order = sorted(self._waiting, key=lambda each: each.stamp_ns)
        self._writer.write(MergedBlock(
            channel=np.array([self._channels[each.topic] for each in order]),
            stamp_ns=np.array([each.stamp_ns for each in order], np.int64),
            block=MessageBlock.of_messages([each.data for each in order]),
        ))  # fmt: skip
        self._waiting, self._bytes = [], 0


def latched_qos() -> Qos:
    """The quality of service for late subscribers."""
    return Qos(durability="transient_local", depth=1)


@dataclass
class FusionRun:
    """A pipeline, the sources of its inputs, and the destination of its outputs."""

    data: Recording
    pipeline: Pipeline
    reader: PortReader
    outputs: OutTopics
    part: FusionPart
    progress: Progress = no_progress
    keeper: ProductKeeper | None = None
    models: Mapping[str, Cloud] = field(default_factory=dict)  # inputs that are available from the start

    def __post_init__(self) -> None:
        self.result = FusionResult()
        self._has_edges = False
        self.reader.refuses_issues = SUCCESS in self.pipeline.outputs

    def passthrough(self) -> dict[str, str]:
        """Return the topics that are copied unchanged: the requested ones; else the static tree and all odometry."""
        requested = re.compile(self.part.passthrough)
        return {
            name: topic.type
            for name, topic in self.data.topics.items()
            if name == STATIC or (requested.search(name) if self.part.passthrough else topic.type == ODOMETRY)
        }

    def into(self, bag: BatchedBag | None) -> FusionResult:
        """Run all of it; outputs are written if there is a bag."""
        start = time.monotonic()
        passed = self.passthrough() if bag else {}
        requested = list(dict.fromkeys([*passed, *self.reader.sources]))
        spans = [
            topic for topic in map(self.data.topics.__getitem__, self.reader.sources) if topic.first_ns is not None
        ]
        first_ns = min(int(t.first_ns or 0) for t in spans) if spans else 0
        length_ns = max(max((int(t.last_ns or 0) for t in spans), default=0) - first_ns, 1)
        if self.part.duration_s is not None:
            length_ns = max(min(length_ns, round(self.part.duration_s * 1e9)), 1)
        done = 0
        self._feed_models(first_ns)
        for message in self._in_order(requested):
            if bag and message.topic in passed:
                bag.add(RawMessage(message.topic, message.stamp_ns, message.data))
            if message.topic in self.reader.sources:
                for out in self._feed(message):
                    if bag:
                        bag.add(out)
                done += 1
                fraction = (message.stamp_ns - first_ns - round(self.part.start_s * 1e9)) / length_ns
                self.progress(min(max(fraction, 0.0), 1.0), done)
        for out in self._finish():
            if bag:
                bag.add(out)
        if bag:
            bag.flush()
            self.result.counts = dict(bag.counts)
        self.result.notes += self.reader.notes
        self.result.points_lost += self.reader.points_lost
        self.result.wall_s = time.monotonic() - start
        return self.result

    def _feed_models(self, stamp_ns: int) -> None:
        for port, cloud in self.models.items():
            self.pipeline.feed(port, cloud, stamp_ns)

    def _in_order(self, topics: Sequence[str]) -> Iterator[Message]:
        """The messages of the part; of those with one time what is held comes first, as the others are to have it."""
        held = {
            topic for topic, source in self.reader.sources.items()
            if self.pipeline.graph.inputs[source.port].policy == HOLD
        }  # fmt: skip
        messages = self.data.messages(*topics, start=self.part.start_s, duration=self.part.duration_s)
        if not held:  # then nothing has to wait for others of its time, of which there may be many
            yield from messages
            return
        for _, together in groupby(messages, key=lambda message: message.stamp_ns):
            yield from sorted(together, key=lambda message: message.topic not in held)

    def _feed(self, message: Message) -> Iterator[RawMessage]:
        at_ns = message.stamp_ns
        try:
            opened = self.reader.read(message.topic, message.data, at_ns)
            if opened is None:
                return
            at_ns = opened.stamp_ns
            value = self.reader.value(opened)
        except ArchiveError as error:
            self._skip(message.topic, f"{message.topic} at {at_ns / 1e9:.3f} s: {error}")
            port = self.reader.sources[message.topic].port
            yield from self._output_messages(self.pipeline.refuse(port, at_ns, reason_of(error)))
            return
        if self.reader.edges and not self._has_edges:
            self._has_edges = True
            yield from static_messages(self.reader.edges, at_ns)
        if self.keeper:
            self.keeper.receive_input(opened.source.port, at_ns)
        yield from self._output_messages(self.pipeline.feed(opened.source.port, value, at_ns))

    def _finish(self) -> Iterator[RawMessage]:
        yield from self._output_messages(self.pipeline.finish())
        if self.keeper:
            self.keeper.finish()

    def _skip(self, topic: str, text: str) -> None:
        self.result.skipped[topic] += 1
        if self.result.skipped[topic] <= MAX_REPORTED:
            self.result.notes.append(text)

    def _output_messages(self, outputs: Sequence[PipelineOutput]) -> Iterator[RawMessage]:
        if self.keeper:
            self.keeper.keep(outputs, self.reader.camera_frame)
        for port, value, stamp_ns in outputs:
            kind = self.pipeline.outputs[port]
            if kind == "Pose":
                self.result.stamps_ns.append(stamp_ns)
                self.result.poses.append(value)
            elif kind == "TransformWithCovariance":
                self.result.stamps_ns.append(stamp_ns)
                self.result.poses.append(value.pose)
            elif kind == "Trajectory":
                self.result.trajectory = value
            elif kind == "KeyframeMap":
                self.result.keyframes = value
            elif kind == "Pointcloud":
                self.result.cloud, self.result.cloud_ns = value, stamp_ns
            elif kind == "Map":
                self.result.grid = value
            yield from self.outputs.messages(port, value, stamp_ns, self.reader.camera_frame)


def nothing_accepted(pipeline: Pipeline) -> str:
    """Return a sentence on why no input was accepted; "" if one was, or if the pipeline has no `success`."""
    statistics = pipeline.statistics
    if SUCCESS not in pipeline.outputs or statistics.accepted > statistics.by_definition:
        return ""
    if statistics.accepted and not statistics.refused:  # a first pair alone
        return ""
    reasons = ", ".join(statistics.refusals()) or "no input was complete"
    first = " beyond the first pair, which is the scene" if statistics.by_definition else ""
    return f"{pipeline.name} accepted nothing of {statistics.input_sets} sets of inputs{first}: {reasons}"


def run_fusion(run: FusionRun, out: Path, *, overwrite: bool = False, strict: bool = False) -> FusionResult:
    """Run a pipeline, and write its outputs and the copied topics into a bag.

    Returns:
        Report the result; `nothing` is the reason if no input was accepted: `success` in the bag shows that.

    Raises:
        ArchiveError: where nothing came out at all, or with `strict` where an input was skipped or a step failed;
            nothing is written then.
    """
    pipeline = run.pipeline
    with BagWriter(out, overwrite=overwrite, custom_data=run.data.custom_data) as writer:
        result = run.into(BatchedBag(writer, {STATIC: ON_TF.type, **run.passthrough(), **run.outputs.topics()}))
        own = sum(count for topic, count in result.counts.items() if topic.startswith(f"{run.outputs.prefix}/"))
        if not own:
            last = [failure.message for failure in pipeline.failures][-1:] or result.notes[-1:]
            why = "".join(last or pipeline.statistics.unmatched_inputs()) or "no input was accepted"
            raise ArchiveError(f"{pipeline.name} gave nothing: {why}")
        result.nothing = nothing_accepted(pipeline)
        issues = result.skipped.total() + len(pipeline.failures)
        if strict and issues:
            raise ArchiveError(f"{issues} inputs were skipped or steps failed, and none may: nothing was written")
    return result
