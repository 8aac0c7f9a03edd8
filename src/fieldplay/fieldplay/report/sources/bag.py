"""A rosbag2 bag as a source: a folder with metadata.yaml, one that a crash left without, or a storage file alone."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml

from fieldplay.report.html.ticks import many
from fieldplay.report.sources.mcap import McapFile, StoredMessage
from fieldplay.report.sources.sqlite import SqliteFile
from fieldplay.sources.archive import size_of_files
from fieldplay.sources.source import Findings, Subject
from fieldplay_archive.spec import LOADER
from fieldplay_messages.bags.metadata import METADATA
from fieldplay_messages.batches import Batch, Topic, batch_of_messages, parts_of_lengths
from fieldplay_messages.errors import BagError
from fieldplay_messages.progress import Progress

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

STORAGES = {".mcap": McapFile, ".db3": SqliteFile}
INFORMATION = "rosbag2_bagfile_information"
LEAST_WALL_NS = 10**17  # three years: what is later is a time of day, not of a simulation
MOST_HELD = 4096
BATCH, BATCH_BYTES = 2048, 4 << 20
COPIED = 1 << 20


def is_bag(path: Path) -> bool:
    """Whether a path is to be read as a bag: it has metadata of one, or is or holds a storage file."""
    if path.is_dir():
        return (path / METADATA).is_file() or any(_is_storage(inner) for inner in path.iterdir())
    return _is_storage(path)


def _is_storage(path: Path) -> bool:
    return _plain_name(path).suffix in STORAGES and path.is_file()


def _plain_name(path: Path) -> Path:
    return path.with_suffix("") if path.suffix == ".zstd" else path


@dataclass
class _Waiting:
    """Messages of a topic that make the next batch."""

    stamps: list[int] = field(default_factory=list)
    messages: list[bytes] = field(default_factory=list)
    size: int = 0


class BagSource:
    """A bag on the disk. It may be damaged: what can be read is given, and what cannot is told."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.findings = Findings()
        self._information = self._read_information()
        self._files = self._storage_files()
        if not self._files:
            raise BagError(f"{path}: no storage file (.mcap, .db3) of a bag in it")
        listed = (entry["topic_metadata"] for entry in self._listed_topics())
        self.topics = [Topic(str(entry["name"]), str(entry["type"])) for entry in listed]
        self._readable = 0

    @property
    def subject(self) -> Subject:
        kinds = sorted({_plain_name(file).suffix.removeprefix(".") for file in self._files})
        facts = [("storage", " and ".join("sqlite3" if kind == "db3" else kind for kind in kinds))]
        for name, key in (("ROS distribution", "ros_distro"), ("compression", "compression_format")):
            if self._information.get(key):
                facts.append((name, str(self._information[key])))
        if len(self._files) > 1:
            facts.append(("files", str(len(self._files))))
        return Subject(
            title=self._path.resolve().name,
            name=self._path.resolve().name,
            kind="rosbag2 bag",
            size_bytes=size_of_files(self._path),
            facts=tuple(facts),
        )

    def batches(self, progress: Progress) -> Iterator[Batch]:
        """All messages that can be read, by topic in batches."""
        waiting: dict[tuple[Topic, bool], _Waiting] = {}
        for message in self._timed(self._messages(progress)):
            self._readable += 1
            queue = waiting.setdefault((message.topic, message.is_cdr), _Waiting())
            queue.stamps.append(message.stamp_ns)
            queue.messages.append(bytes(message.data))
            queue.size += len(message.data)
            if len(queue.stamps) >= BATCH or queue.size >= BATCH_BYTES:
                yield self._batch(message.topic, message.is_cdr, waiting.pop((message.topic, message.is_cdr)))
        for (topic, is_cdr), queue in waiting.items():
            yield self._batch(topic, is_cdr, queue)
        self._compare_counts()

    def _timed(self, messages: Iterator[StoredMessage]) -> Iterator[StoredMessage]:
        """The messages, those that were logged at time 0, before the recorder had a clock, at the first other time."""
        held: list[StoredMessage] = []
        for first in messages:
            if first.stamp_ns or len(held) == MOST_HELD:
                break
            held.append(first)
        else:
            yield from held
            return
        start_ns = first.stamp_ns if first.stamp_ns > LEAST_WALL_NS else 0
        if start_ns and held:
            text = f"{many(len(held), 'message')} logged at time 0, before the recorder had a clock: put to the start"
            self.findings.add("without_time", self._path.resolve().name, text, count=len(held))
        yield from (message._replace(stamp_ns=start_ns) for message in held)
        yield first
        yield from messages

    def _batch(self, topic: Topic, is_cdr: bool, queue: _Waiting) -> Batch:
        stamp_ns = np.array(queue.stamps, np.int64)
        return batch_of_messages(topic, stamp_ns, parts_of_lengths(stamp_ns, queue.messages) if is_cdr else [])

    def _messages(self, progress: Progress) -> Iterator[StoredMessage]:
        total = max(sum(file.stat().st_size for file in self._files), 1)
        packs_messages = str(self._information.get("compression_mode")).lower() == "message"
        before = 0
        with ExitStack() as stack:
            for path in self._files:
                storage = STORAGES[_plain_name(path).suffix](self._unpacked(path, stack))
                for message in storage.messages():
                    if packs_messages:
                        message = message._replace(data=self._decompressed(message.data, path.name))
                    yield message
                    progress(min((before + storage.position) / total, 1.0), self._readable)
                before += path.stat().st_size
                for fault in storage.faults:
                    self.findings.add("damaged_bag", path.name, fault)
                self.topics += [topic for topic in storage.topics if topic not in self.topics]

    def _unpacked(self, path: Path, stack: ExitStack) -> Path:
        """A storage file as it is, or without the compression of the file as a whole."""
        if path.suffix != ".zstd":
            return path
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="fieldplay-")))
        target = folder / path.stem
        try:
            with zstd.open(path, "rb") as packed, target.open("wb") as unpacked:
                while data := packed.read(COPIED):
                    unpacked.write(data)
        except (zstd.ZstdError, EOFError) as error:
            self.findings.add("damaged_bag", path.name, f"its compression ends early: {error}")
        return target

    def _decompressed(self, data: bytes | memoryview, name: str) -> bytes:
        try:
            return zstd.decompress(bytes(data))
        except (zstd.ZstdError, EOFError) as error:
            self.findings.add("damaged_message", name, f"zstd: {error}")
            return b""

    def _read_information(self) -> dict[str, Any]:
        """What metadata.yaml says; nothing, and a finding, where it is not there or says nothing."""
        if not self._path.is_dir():
            return {}
        try:
            content = yaml.load((self._path / METADATA).read_text("utf-8"), LOADER)
            information = content[INFORMATION]
            return {str(key): value for key, value in information.items()}
        except FileNotFoundError:
            self.findings.add("damaged_bag", METADATA, "it is not there: the recording may have ended in a crash")
        except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
            self.findings.add("damaged_bag", METADATA, f"it cannot be read: {error}")
        return {}

    def _storage_files(self) -> list[Path]:
        """The files that the metadata name, in order, and those that it does not."""
        if not self._path.is_dir():
            return [self._path]
        named = self._information.get("relative_file_paths")
        paths = [self._path / Path(str(name)).name for name in named] if isinstance(named, list) else []
        for path in paths:
            if not path.is_file():
                self.findings.add("damaged_bag", path.name, "metadata.yaml names this file, but it is not there")
        others = sorted(path for path in self._path.iterdir() if _is_storage(path) and path not in paths)
        if paths:
            for path in others:
                self.findings.note(f"{path.name}: metadata.yaml does not name this file; it was left aside")
        return [path for path in paths if _is_storage(path)] or others

    def _listed_topics(self) -> list[dict[str, Any]]:
        listed = self._information.get("topics_with_message_count")
        if not isinstance(listed, list):
            return []
        return [
            entry
            for entry in listed
            if isinstance(entry, dict) and {"name", "type"} <= set(entry.get("topic_metadata") or ())
        ]

    def _compare_counts(self) -> None:
        expected = self._information.get("message_count")
        if isinstance(expected, int) and expected != self._readable:
            message = f"expected {expected} messages as it says, got {self._readable}"
            self.findings.add("message_count", METADATA, message)
