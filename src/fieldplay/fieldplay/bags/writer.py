"""Writes a rosbag2 bag: a folder with its storage files and metadata.yaml, which appears when it is complete."""

import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fieldplay.bags.compression import Compression
from fieldplay.bags.mcap_writer import CHUNK_SIZE, McapWriter
from fieldplay.bags.metadata import METADATA, metadata_text
from fieldplay.bags.sqlite import SqliteWriter
from fieldplay.bags.storage import Channel, Contents, StorageWriter
from fieldplay.core.atomic_output import Partial
from fieldplay.core.errors import BagError
from fieldplay.streams.message_block import MergedBlock

StorageName = Literal["mcap", "sqlite3"]


@dataclass(frozen=True, kw_only=True)
class Split:
    """When a bag goes on in a next file: before a message, if its file has so many bytes of messages already.

    Or if that message is more than so much later than the first of the file. None is never.
    """

    size: int | None = None
    duration_ns: int | None = None

    def stop(self, messages: MergedBlock, start: int, written: int, first_ns: int) -> int:
        """Up to which message a file goes on that holds so many bytes, from the message `start` on."""
        stops = [len(messages)]
        if self.size is not None:
            ends = np.cumsum(messages.size[start:]) + written
            stops.append(start if written >= self.size else start + int(np.searchsorted(ends, self.size)) + 1)
        if self.duration_ns is not None:
            stops.append(max(start, int(np.searchsorted(messages.stamp_ns, first_ns + self.duration_ns, "right"))))
        return min(stops)


class BagWriter:
    """A bag while it is written, as a context manager.

    Leaving the context finishes the bag; with an exception, or after any failed write, nothing of it stays. An
    existing bag is refused, or with `overwrite` replaced once the new one is complete. `compression` is that of
    MCAP's chunks, `split` says when the next file begins: NAME_0, NAME_1 and so on. Of what is `in_parts` each file is
    written by `write_part`, in any process that has this object, and counts once `take_part` is called with it.
    `custom_data` are texts about the recording, which the metadata keep.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        storage: StorageName = "mcap",
        compression: Compression = "none",
        overwrite: bool = False,
        chunk_size: int = CHUNK_SIZE,
        split: Split | None = None,
        in_parts: bool = False,
        custom_data: Mapping[str, str] | None = None,
    ) -> None:
        if storage not in ("mcap", "sqlite3"):
            raise BagError(f"a bag's storage is mcap or sqlite3, got {storage!r}")
        if compression not in ("none", "zstd") or (storage == "sqlite3" and compression != "none"):
            raise BagError(f"storage {storage} has no compression {compression!r}: mcap has none or zstd, sqlite3 none")
        self.path = Path(path).resolve()
        self._storage_name = storage
        self._compression = compression
        self._overwrite = overwrite
        self._chunk_size = chunk_size
        self._split = split or Split()
        self._in_parts = in_parts
        self._contents = Contents(custom_data=custom_data)
        self._files: dict[str, Contents] = {}  # what is in each; the last is being written
        self._written = 0  # bytes of messages in that one
        self._failed = False

    @property
    def counts(self) -> NDArray[np.int64]:
        """MergedBlock written so far (channels,), in the order of the channels."""
        return np.array(self._contents.counts)

    def __enter__(self) -> "BagWriter":
        with self._write_errors():
            self._folder = Partial(self.path, is_folder=True, check=self._require_free_path)
            try:
                if not self._in_parts:
                    self._start_file()
            except BaseException:  # an interrupt leaves nothing behind either
                self._folder.remove()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._finish()
                return
        except BaseException:
            self._abandon()
            raise
        self._abandon()

    def add_channel(self, channel: Channel) -> int:
        """Make a channel known, before or between messages, and give its number for MergedBlock.channel."""
        with self._write_errors():
            number = self._contents.add_channel(channel)
            if not self._in_parts:
                self._file.add_channel(channel)
                self._storage.add_channel(channel)
        return number

    def write_part(self, number: int, batches: Iterable[MergedBlock]) -> Contents:
        """Write one file of a bag that is written in parts; what is in it."""
        contents = Contents(self._contents.channels, self._contents.custom_data)
        with self._write_errors():
            storage = self._new_storage(self._name_of_file(number))
        for messages in batches:
            if len(messages):
                with self._write_errors():
                    contents.add(messages)
                    storage.write(messages)
        with self._write_errors():
            storage.finish(contents, self._name_of_file(number))
        return contents

    def take_part(self, number: int, contents: Contents) -> None:
        """Count a part, in the order of their numbers; one without a message is taken away, if it is not the first."""
        name = self._name_of_file(number)
        if number and not contents.message_count:
            (self._folder.path / name).unlink()
            return
        self._contents.join(contents)
        self._files[name] = contents

    def write(self, messages: MergedBlock) -> None:
        """Write a batch behind those before it."""
        if len(messages):
            with self._write_errors():
                self._contents.add(messages)
                start = 0
                while start < len(messages):
                    start = self._write_from(messages, start)

    def _require_free_path(self) -> None:
        """Raise BagError where another bag may not be replaced, or the path is not a bag."""
        if not os.path.lexists(self.path):
            return
        if not self._overwrite:
            raise BagError(f"{self.path} exists already")
        is_bag = self.path.is_dir() and ((self.path / METADATA).exists() or not any(self.path.iterdir()))
        if not is_bag:
            raise BagError(f"{self.path} exists and is no bag: it is not overwritten")

    def _write_from(self, messages: MergedBlock, start: int) -> int:
        """Put into the file what still belongs there; where the next begins."""
        is_empty = not self._file.message_count
        first_ns = int(messages.stamp_ns[start]) if is_empty else int(self._file.first_ns)
        stop = self._split.stop(messages, start, self._written, first_ns)
        if stop == start and not is_empty:
            self._finish_file()
            self._start_file()
            return start
        part = messages.part(start, max(stop, start + 1))
        self._file.add(part)
        self._storage.write(part)
        self._written += int(part.size.sum())
        return start + len(part)

    @property
    def _file(self) -> Contents:
        return self._files[self._file_name]

    @property
    def _file_name(self) -> str:
        return list(self._files)[-1]

    def _start_file(self) -> None:
        name = self._name_of_file(len(self._files))
        self._storage = self._new_storage(name)
        self._files[name], self._written = Contents(self._contents.channels, self._contents.custom_data), 0

    def _name_of_file(self, number: int) -> str:
        return f"{self.path.name}_{number}.{'mcap' if self._storage_name == 'mcap' else 'db3'}"

    def _new_storage(self, name: str) -> StorageWriter:
        """A file with all channels that are known."""
        storage = self._create_storage(self._folder.path / name)
        for channel in self._contents.channels:
            storage.add_channel(channel)
        return storage

    def _finish_file(self) -> None:
        self._storage.finish(self._file, self._file_name)

    def _create_storage(self, path: Path) -> StorageWriter:
        if self._storage_name == "sqlite3":
            return SqliteWriter(path)
        return McapWriter.create(path, compression=self._compression, chunk_size=self._chunk_size)

    def _finish(self) -> None:
        if self._failed:
            raise BagError(f"{self.path} is not finished: a part of it could not be written")
        with self._write_errors():
            if not self._in_parts:
                self._finish_file()
            text = metadata_text(self._contents, storage=self._storage_name, files=self._files)
            (self._folder.path / METADATA).write_text(text, "utf-8")
            self._folder.commit()

    def _abandon(self) -> None:
        if not self._in_parts:
            with suppress(OSError, BagError):
                self._storage.close()
        self._folder.remove()

    @contextmanager
    def _write_errors(self) -> Iterator[None]:
        """Mark the bag as failed on any error inside, and raise OSError as BagError."""
        try:
            yield
        except OSError as error:
            self._failed = True
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            reason = "no space left on the disk" if full else os.strerror(error.errno or errno.EIO)
            raise BagError(f"cannot write the bag {self.path}: {reason}") from error
        except BaseException:
            self._failed = True
            raise
