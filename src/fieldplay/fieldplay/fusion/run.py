"""A pipeline on an archive or a bag: its inputs in the order of time, what comes out into a bag, and figures."""

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fieldplay.data.field_data import STATIC, FieldData, Message
from fieldplay.fusion.bindings import Binding
from fieldplay_fusion.dfn.values import Cloud, Frame
from fieldplay_fusion.messages.inputs import VALUES, StereoCamera, frame_of_picture
from fieldplay_fusion.messages.outputs import ODOMETRY, OutMessage, OutTopics
from fieldplay_fusion.messages.stereo_faults import StereoFaults
from fieldplay_fusion.pipeline import Pipeline
from fieldplay_fusion.projection.cameras import CameraModel
from fieldplay_kinematics.transforms import Array
from fieldplay_messages.bags.channels import Qos, channel_of_type
from fieldplay_messages.bags.writer import BagWriter
from fieldplay_messages.batches import Part
from fieldplay_messages.cdr.record_decoder import RecordDecoder
from fieldplay_messages.errors import ArchiveError
from fieldplay_messages.feeds.messages import Messages
from fieldplay_messages.feeds.payloads import PiecePayloads
from fieldplay_messages.progress import Progress, unwatched
from fieldplay_messages.records import CameraInfos, Record

FRAME = "Frame"
BATCH = 500  # messages, or so many bytes, that are written at once
BATCH_BYTES = 16 << 20
SUCCESS = "success"


@dataclass(frozen=True, kw_only=True)
class FusionPart:
    """Which part of the data runs, and what else is written."""

    start_s: float = 0.0
    duration_s: float | None = None
    every: int = 1
    passed: str = ""


@dataclass
class Fused:
    """What came of a run: poses by their times, the last cloud, what was skipped and why."""

    stamps_ns: list[int] = field(default_factory=list)
    poses: list[Array] = field(default_factory=list)
    cloud: Cloud | None = None
    skipped: Counter[str] = field(default_factory=Counter)
    told: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    wall_s: float = 0.0


class EveryNth:
    """Which sets of inputs are taken, where pictures of a set come one after the other."""

    def __init__(self, every: int) -> None:
        self._every, self._number, self._seen = every, -1, set[str]()

    def takes(self, port: str) -> bool:
        """Whether the next of a port belongs to a set that is taken."""
        if not self._seen or port in self._seen:
            self._number, self._seen = self._number + 1, set()
        self._seen.add(port)
        return self._number % self._every == 0


def cameras_of(data: FieldData, found: Sequence[Binding]) -> dict[str, StereoCamera]:
    """The cameras of the pictures that feed a pipeline, by port; ArchiveError names what is wrong with them."""
    cameras: dict[str, StereoCamera] = {}
    for binding in found:
        if binding.kind == FRAME and binding.info:
            message = next(iter(data.messages(binding.info)), None)
            record = None if message is None else record_of(message)
            if isinstance(record, CameraInfos):
                try:
                    cameras[binding.port] = StereoCamera(record.camera)
                except ArchiveError as error:
                    raise ArchiveError(f"{binding.info}: {error}") from None
    return cameras


def require_stereo(found: Sequence[Binding], cameras: Mapping[str, StereoCamera]) -> None:
    """ArchiveError where left and right are no rectified pair: no camera, other sizes, no baseline."""
    sides = {side: next((b for b in found if b.port.lower().startswith(side)), None) for side in ("left", "right")}
    if any(binding is None or binding.kind != FRAME for binding in sides.values()):
        return
    for side, binding in sides.items():
        assert binding is not None
        if not binding.topic.count:
            raise ArchiveError(f"{binding.topic.name}: there is no picture of the {side} camera")
        if binding.port not in cameras:
            raise ArchiveError(
                f"{binding.topic.name}: expected the CameraInfo of the {side} camera beside it, got none"
            )
    left, right = (cameras[binding.port] for binding in sides.values() if binding is not None)
    names = [binding.info for binding in sides.values() if binding is not None]
    sizes = [(each.info.width, each.info.height) for each in (left, right)]
    if sizes[0] != sizes[1]:
        told = " and ".join(f"{name} {width} x {height}" for name, (width, height) in zip(names, sizes, strict=True))
        raise ArchiveError(f"expected pictures of one size, got {told}")
    if not right.baseline_m > 0:
        raise ArchiveError(
            f"{names[1]}: expected P[3] = -fx * baseline below 0 of the right camera of a rectified pair, "
            f"got a baseline of {right.baseline_m:g} m"
        )


def models_of(cameras: Mapping[str, StereoCamera]) -> tuple[dict[str, CameraModel], float]:
    """The cameras as pipelines know them, `left` and `right`, and the baseline of the pair."""
    found = {
        side: each for port, each in cameras.items() for side in ("left", "right") if port.lower().startswith(side)
    }
    baseline_m = found["right"].baseline_m if "right" in found else 0.0
    return {side: each.camera for side, each in found.items()}, baseline_m


def record_of(message: Message) -> Record | None:
    """One message as a record of one row; None where it cannot be read."""
    part = Part(np.array([message.stamp_ns]), np.frombuffer(message.data, np.uint8)[None])
    found = next(RecordDecoder(message.type).records([part]), None)
    return None if found is None else found.record


class BatchedBag:
    """A bag that is written message by message, many at once."""

    def __init__(self, writer: BagWriter, types: Mapping[str, str]) -> None:
        self._writer = writer
        self._channels = {
            topic: writer.add_channel(channel_of_type(topic, kind, latched() if topic == STATIC else None))
            for topic, kind in types.items()
        }
        self._waiting: list[OutMessage] = []
        self._bytes = 0
        self.counts = Counter[str]()

    def add(self, message: OutMessage) -> None:
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
        self._writer.write(Messages(
            channel=np.array([self._channels[each.topic] for each in order]),
            stamp_ns=np.array([each.stamp_ns for each in order], np.int64),
            payloads=PiecePayloads([each.data for each in order]),
        ))  # fmt: skip
        self._waiting, self._bytes = [], 0


def latched() -> Qos:
    """The quality of service of what late listeners are given too."""
    return Qos(durability="transient_local", depth=1)


@dataclass
class FusionRun:
    """A pipeline, what feeds it, and where its outputs go."""

    data: FieldData
    pipeline: Pipeline
    found: Sequence[Binding]
    cameras: Mapping[str, StereoCamera]
    outputs: OutTopics
    part: FusionPart
    progress: Progress = unwatched

    def __post_init__(self) -> None:
        self.result = Fused()
        self._ports = {binding.topic.name: binding for binding in self.found}
        self._stereo = StereoFaults()
        self._nth = EveryNth(self.part.every)

    def passed(self) -> dict[str, str]:
        """The topics that are written as they are: those asked for; else the static tree and all odometry."""
        wanted = re.compile(self.part.passed)
        return {
            name: topic.type
            for name, topic in self.data.topics.items()
            if name == STATIC or (wanted.search(name) if self.part.passed else topic.type == ODOMETRY)
        }

    def into(self, bag: BatchedBag | None) -> Fused:
        """Run all of it; what comes out is written where there is a bag."""
        begin = time.monotonic()
        passed = self.passed() if bag else {}
        wanted = list(dict.fromkeys([*passed, *self._ports]))
        spans = [b.topic for b in self.found if b.topic.first_ns is not None and b.topic.last_ns is not None]
        first_ns = min(int(t.first_ns or 0) for t in spans) if spans else 0
        length_ns = max(max((int(t.last_ns or 0) for t in spans), default=0) - first_ns, 1)
        if self.part.duration_s is not None:
            length_ns = max(min(length_ns, round(self.part.duration_s * 1e9)), 1)
        done = 0
        for message in self.data.messages(*wanted, start=self.part.start_s, duration=self.part.duration_s):
            if bag and message.topic in passed:
                bag.add(OutMessage(message.topic, message.data, message.stamp_ns))
            if message.topic in self._ports:
                for out in self._fed(self._ports[message.topic], message):
                    if bag:
                        bag.add(out)
                done += 1
                share = (message.stamp_ns - first_ns - round(self.part.start_s * 1e9)) / length_ns
                self.progress(min(max(share, 0.0), 1.0), done)
        for out in self._taken(self.pipeline.finish()):
            if bag:
                bag.add(out)
        if bag:
            bag.flush()
            self.result.counts = dict(bag.counts)
        self.result.wall_s = time.monotonic() - begin
        return self.result

    def _fed(self, binding: Binding, message: Message) -> Iterator[OutMessage]:
        if binding.kind == FRAME and not self._nth.takes(binding.port):
            return
        try:
            value = self._value(binding, message)
        except ArchiveError as error:
            self._skip(str(error), f"{message.topic} at {message.stamp_ns / 1e9:.3f} s: {error}")
            return
        yield from self._taken(self.pipeline.feed(binding.port, value, message.stamp_ns))

    def _value(self, binding: Binding, message: Message) -> Any:
        record = record_of(message)
        if record is None:
            raise ArchiveError("its bytes cannot be read")
        if binding.kind != FRAME:
            return VALUES[binding.kind][1](record)
        frame: Frame = frame_of_picture(record, self.cameras.get(binding.port))
        self._stereo.require_light(frame)
        warning = self._stereo.hear(binding.port, frame)
        if warning:
            self.result.told.append(warning)
        return frame

    def _skip(self, kind: str, text: str) -> None:
        self.result.skipped[kind] += 1
        if self.result.skipped[kind] <= 3:
            self.result.told.append(text)

    def _taken(self, outputs: Sequence[Any]) -> Iterator[OutMessage]:
        for port, value, stamp_ns in outputs:
            kind = self.pipeline.outputs[port]
            if kind == "Pose":
                self.result.stamps_ns.append(stamp_ns)
                self.result.poses.append(value)
            elif kind == "Pointcloud":
                self.result.cloud = value
            yield from self.outputs.messages(port, value, stamp_ns)


def fused(run: FusionRun, out: Path, *, overwrite: bool = False, strict: bool = False) -> Fused:
    """Run a pipeline, and write a bag of what comes out and of what is passed on."""
    pipeline = run.pipeline
    with BagWriter(out, overwrite=overwrite) as writer:
        result = run.into(BatchedBag(writer, {**run.passed(), **run.outputs.topics()}))
        own = sum(count for topic, count in result.counts.items() if topic.startswith(f"{run.outputs.place}/"))
        if not (pipeline.statistics.accepted if SUCCESS in pipeline.outputs else own):
            last = [failure.message for failure in pipeline.failures][-1:] or list(result.skipped)[-1:]
            raise ArchiveError(f"{pipeline.name} gave nothing: {''.join(last) or 'no input was accepted'}")
        faults = result.skipped.total() + len(pipeline.failures)
        if strict and faults:
            raise ArchiveError(f"{faults} inputs were skipped or steps failed, and none may: nothing was written")
    return result
