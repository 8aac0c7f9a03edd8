"""The bags of a store, its parts: each a folder that is a rosbag2 bag (MCAP), written product by product.

A product is its messages and, behind them, its record: JSON in a std_msgs/String on a topic of its own. They are in
the file before the next begins, so that a process that is killed loses none that it has kept.
"""

import fcntl
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fieldplay.bags.channels import Contents, channel_of_type
from fieldplay.bags.mcap_reader import McapReader
from fieldplay.bags.mcap_writer import McapWriter
from fieldplay.bags.metadata import METADATA, metadata_text
from fieldplay.core.atomic_output import Partial
from fieldplay.core.errors import ArchiveError
from fieldplay.streams.message_block import Messages
from fieldplay.streams.payloads import PiecePayloads
from fieldplay_cdff.products.index import IndexedProduct, Place
from fieldplay_cdff.products.product import (
    Product,
    ProductMessage,
    StoreError,
    digest_of,
    product_of_text,
)

RECORDS, TEXT = "/products/record", "std_msgs/msg/String"
PREFIX = "part_"
TEXT_HEAD = struct.Struct("<BBHI")  # of CDR, little endian, and the length with the 0 at the end
FIRST_ROOM = 64 << 10


def part_names(folder: Path) -> list[str]:
    """The parts of a store, in their order."""
    names = (path.name for path in folder.glob(f"{PREFIX}[0-9]*") if path.is_dir())
    return sorted(name for name in names if name.removeprefix(PREFIX).isdecimal())


def part_file(folder: Path, name: str) -> Path:
    """The storage file of a part."""
    return folder / name / f"{name}_0.mcap"


def is_written(folder: Path, name: str) -> bool:
    """Whether a living process writes a part: it has it locked."""
    try:
        descriptor = os.open(part_file(folder, name), os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


class PartWriter:
    """A part while it is written, locked; its metadata are written at the end, as a recorder does it."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name, self._folder = name, folder
        self.path = folder / f"{name}_0.mcap"
        self.bytes = self.count = 0
        self._contents = Contents()
        self._channels: dict[str, int] = {}
        self._file = self.path.open("xb")
        fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._storage = McapWriter(self._file, chunk_size=FIRST_ROOM)

    @classmethod
    def after(cls, store: Path, last: str) -> "PartWriter":
        """The next part of a store, behind the last one that it ever had; another process may be faster."""
        number = int(last.removeprefix(PREFIX) or 0)
        while True:
            number += 1
            name = f"{PREFIX}{number:06d}"
            try:
                (store / name).mkdir()
            except FileExistsError:
                continue
            try:
                return cls(store / name, name)
            except OSError:
                remove_part(store, name)
                raise

    def add(self, product: Product, messages: Sequence[ProductMessage]) -> list[Place]:
        """Put a product behind those before, in a chunk of its own; where its messages lie."""
        text = product.text().encode()
        record = TEXT_HEAD.pack(0, 1, 0, len(text) + 1) + text + b"\0"
        whole = [*messages, ProductMessage(RECORDS, TEXT, record)]
        batch = Messages(
            channel=np.array([self._channel(each) for each in whole]),
            stamp_ns=np.full(len(whole), product.stamp_ns, np.int64),
            payloads=PiecePayloads([each.data for each in whole]),
        )
        block, offsets = self._storage.write_chunk(batch)
        self._contents.add(batch)
        self.bytes += int(batch.size.sum())
        self.count += 1
        return [(block, offset) for offset in offsets[:-1]]

    def _channel(self, message: ProductMessage) -> int:
        if message.topic not in self._channels:
            channel = channel_of_type(message.topic, message.msgtype)
            self._channels[message.topic] = self._contents.add_channel(channel)
            self._storage.add_channel(channel)
        return self._channels[message.topic]

    def finish(self) -> int:
        """Make it a whole bag; how many bytes its file has."""
        self._storage.finish(self._contents, self.path.name)
        text = metadata_text(self._contents, storage="mcap", files={self.path.name: self._contents})
        (self._folder / METADATA).write_text(text, "utf-8")
        return self.path.stat().st_size

    def abandon(self) -> None:
        """Let go of it where it cannot be written on, as far as it is whole; without a product nothing stays."""
        with suppress(OSError):
            self._storage.close()
        with suppress(OSError):
            os.truncate(self.path, self._storage.position)
        if not self.count:
            remove_part(self._folder.parent, self.name)


class PartReader:
    """A part that is read; whole or cut off."""

    def __init__(self, store: Path, name: str) -> None:
        self.name, self.path = name, part_file(store, name)
        self._storage = McapReader(self.path)

    def close(self) -> None:
        self._storage.close()

    @property
    def is_cut(self) -> bool:
        """Whether its end is missing, once it was gone through."""
        return self._storage.is_cut

    def messages(self, found: IndexedProduct, *, as_they_are: bool = False) -> list[ProductMessage]:
        """The messages of a product; StoreError where they are damaged, or cannot be read at all."""
        product = found.product
        read: list[ProductMessage] = []
        try:
            for (topic, msgtype), (block, offset) in zip(product.messages, found.places, strict=True):
                (data,) = self._storage.read(block, [offset])
                read.append(ProductMessage(topic, msgtype, data))
        except ArchiveError as error:
            raise StoreError(f"product {product.id} in {self.path} cannot be read: {error}") from None
        digest = digest_of(read)
        if digest != product.digest and not as_they_are:
            raise StoreError(
                f"product {product.id} in {self.path} is damaged: expected SHA-256 {product.digest[:12]}.., "
                f"got {digest[:12]}.."
            )
        return read

    def products(self, faults: list[str]) -> Iterator[tuple[Product, list[Place]]]:
        """All products whose record is there, in the order of the file; what cannot be read is told."""
        index = self._storage.index()
        nowhere: NDArray[np.int64] = np.zeros(0, np.int64)
        faults += [f"{self.path}: {fault}" for fault in self._storage.faults if not self.is_cut]
        numbers = np.concatenate([np.full(len(own.stamp_ns), number) for number, own in index.items()] or [nowhere])
        blocks = np.concatenate([own.block for own in index.values()] or [nowhere])
        offsets = np.concatenate([own.offset for own in index.values()] or [nowhere])
        before: list[tuple[str, Place]] = []
        for row in np.lexsort((offsets, blocks)):
            topic, place = self._storage.topics[int(numbers[row])].topic.name, (int(blocks[row]), int(offsets[row]))
            if topic != RECORDS:
                before.append((topic, place))
                continue
            try:
                (data,) = self._storage.read(place[0], [place[1]])
                product = product_of_text(data[TEXT_HEAD.size : -1])
                own = before[len(before) - len(product.messages) :]
                if [name for name, _ in own] != [name for name, _ in product.messages]:
                    raise StoreError(f"expected the messages of product {product.id} before its record")
                yield product, [each for _, each in own]
            except (ArchiveError, StoreError) as error:
                faults.append(f"{self.path}: a product is left out: {error}")
            before.clear()


def rewritten(
    store: Path, name: str, kept: Iterator[IndexedProduct], faults: list[str]
) -> tuple[int, dict[int, list[Place]]]:
    """Write a part anew with these products alone; how many bytes it has, and where they lie now."""
    target = store / name
    reader = PartReader(store, name)
    partial = Partial(target, is_folder=True)
    try:
        writer = PartWriter(partial.path, name)
        places = {}
        for found in kept:
            try:
                messages = reader.messages(found, as_they_are=True)
            except StoreError as error:
                faults.append(f"{error}; it is left out")
                continue
            places[found.product.id] = writer.add(found.product, messages)
        size = writer.finish()
        partial.commit()
    except BaseException:
        partial.remove()
        raise
    finally:
        reader.close()
    return size, places


def remove_part(store: Path, name: str) -> None:
    """Take a part away; what else lies in its folder stays."""
    for path in (store / name / METADATA, part_file(store, name)):
        path.unlink(missing_ok=True)
    with suppress(OSError):
        (store / name).rmdir()
