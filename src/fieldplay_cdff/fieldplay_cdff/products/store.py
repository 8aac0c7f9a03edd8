"""A folder of products: bags, and their index."""

import fcntl
import os
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fieldplay.bags.mcap_reader import McapReader
from fieldplay.bags.mcap_writer import McapWriter
from fieldplay.bags.metadata import METADATA, metadata_text
from fieldplay.bags.storage import Contents, channel_of_type
from fieldplay.core.atomic_output import Partial
from fieldplay.core.errors import ArchiveError
from fieldplay.streams.message_block import MergedBlock, MessageBlock
from fieldplay_cdff.products.index import FILE, IndexedProduct, Location, ProductIndex, ProductIndexError
from fieldplay_cdff.products.product import (
    EVERYTHING,
    Product,
    ProductQuery,
    StoreError,
    TypedMessage,
    digest_of,
    product_of_text,
)

RECORDS, TEXT = "/products/record", "std_msgs/msg/String"
PREFIX = "part_"
TEXT_HEAD = struct.Struct("<BBHI")  # of CDR, little endian, and the length with the 0 at the end
FIRST_ROOM = 64 << 10
PART_BYTES, PART_PRODUCTS = 256 << 20, 1000  # after which the next part starts
MAX_REPORTED = 3  # issues of a part


# The bags of a store, its parts: each a folder that is a rosbag2 bag (MCAP), written product by product.
#
# A product is its messages, followed by its record: JSON in a std_msgs/String on a topic of its own. They are in
# the file before the next starts, so that a process that is killed loses none that it has kept.


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
        """The next part of a store, after the last one that it ever had; another process may be faster."""
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

    def add(self, product: Product, messages: Sequence[TypedMessage]) -> list[Location]:
        """Append a product in a chunk of its own; return the locations of its messages."""
        text = product.text().encode()
        record = TEXT_HEAD.pack(0, 1, 0, len(text) + 1) + text + b"\0"
        whole = [*messages, TypedMessage(RECORDS, TEXT, record)]
        batch = MergedBlock(
            channel=np.array([self._channel(each) for each in whole]),
            stamp_ns=np.full(len(whole), product.stamp_ns, np.int64),
            block=MessageBlock.of_messages([each.data for each in whole]),
        )
        block, offsets = self._storage.write_chunk(batch)
        self._contents.add(batch)
        self.bytes += int(batch.size.sum())
        self.count += 1
        return [(block, offset) for offset in offsets[:-1]]

    def _channel(self, message: TypedMessage) -> int:
        if message.topic not in self._channels:
            channel = channel_of_type(message.topic, message.msgtype)
            self._channels[message.topic] = self._contents.add_channel(channel)
            self._storage.add_channel(channel)
        return self._channels[message.topic]

    def finish(self) -> int:
        """Complete the bag; return how many bytes its file has."""
        self._storage.finish(self._contents, self.path.name)
        text = metadata_text(self._contents, storage="mcap", files={self.path.name: self._contents})
        (self._folder / METADATA).write_text(text, "utf-8")
        return self.path.stat().st_size

    def abandon(self) -> None:
        """Close a part that cannot be written any more, as far as it is complete; remove it if it has no products."""
        with suppress(OSError):
            self._storage.close()
        with suppress(OSError):
            os.truncate(self.path, self._storage.position)
        if not self.count:
            remove_part(self._folder.parent, self.name)


class PartReader:
    """A part for reading; complete or truncated."""

    def __init__(self, store: Path, name: str) -> None:
        self.name, self.path = name, part_file(store, name)
        self._storage = McapReader(self.path)

    def close(self) -> None:
        self._storage.close()

    @property
    def is_cut(self) -> bool:
        """Whether its end is missing, once it was gone through."""
        return self._storage.is_cut

    def messages(self, indexed: IndexedProduct, *, as_they_are: bool = False) -> list[TypedMessage]:
        """The messages of a product; StoreError where they are damaged, or cannot be read at all."""
        product = indexed.product
        read: list[TypedMessage] = []
        try:
            for (topic, msgtype), (block, offset) in zip(product.messages, indexed.locations, strict=True):
                (data,) = self._storage.read(block, [offset])
                read.append(TypedMessage(topic, msgtype, data))
        except ArchiveError as error:
            raise StoreError(f"product {product.id} in {self.path} cannot be read: {error}") from None
        digest = digest_of(read)
        if digest != product.digest and not as_they_are:
            raise StoreError(
                f"product {product.id} in {self.path} is damaged: expected SHA-256 {product.digest[:12]}.., "
                f"got {digest[:12]}.."
            )
        return read

    def products(self, issues: list[str]) -> Iterator[tuple[Product, list[Location]]]:
        """Return all products whose record exists, in file order; report unreadable ones."""
        index = self._storage.index()
        nowhere: NDArray[np.int64] = np.zeros(0, np.int64)
        issues += [f"{self.path}: {issue}" for issue in self._storage.issues if not self.is_cut]
        numbers = np.concatenate([np.full(len(own.stamp_ns), number) for number, own in index.items()] or [nowhere])
        blocks = np.concatenate([own.block for own in index.values()] or [nowhere])
        offsets = np.concatenate([own.offset for own in index.values()] or [nowhere])
        before: list[tuple[str, Location]] = []
        for row in np.lexsort((offsets, blocks)):
            topic, location = self._storage.topics[int(numbers[row])].topic.name, (int(blocks[row]), int(offsets[row]))
            if topic != RECORDS:
                before.append((topic, location))
                continue
            try:
                (data,) = self._storage.read(location[0], [location[1]])
                product = product_of_text(data[TEXT_HEAD.size : -1])
                own = before[len(before) - len(product.messages) :]
                if [name for name, _ in own] != [name for name, _ in product.messages]:
                    raise StoreError(f"expected the messages of product {product.id} before its record")
                yield product, [each for _, each in own]
            except (ArchiveError, StoreError) as error:
                issues.append(f"{self.path}: a product is left out: {error}")
            before.clear()


def rewritten(
    store: Path, name: str, products: Iterator[IndexedProduct], issues: list[str]
) -> tuple[int, dict[int, list[Location]]]:
    """Write a part anew with these products alone; how many bytes it has, and where they lie now."""
    target = store / name
    reader = PartReader(store, name)
    partial = Partial(target, is_folder=True)
    try:
        writer = PartWriter(partial.path, name)
        locations = {}
        for product in products:
            try:
                messages = reader.messages(product, as_they_are=True)
            except StoreError as error:
                issues.append(f"{error}; it is left out")
                continue
            locations[product.product.id] = writer.add(product.product, messages)
        size = writer.finish()
        partial.commit()
    except BaseException:
        partial.remove()
        raise
    finally:
        reader.close()
    return size, locations


def remove_part(store: Path, name: str) -> None:
    """Take a part away; what else lies in its folder stays."""
    for path in (store / name / METADATA, part_file(store, name)):
        path.unlink(missing_ok=True)
    with suppress(OSError):
        (store / name).rmdir()


def _silent(text: str) -> None:
    del text


class ProductStore:
    """A store for reading, and with `is_written` for writing. `report` receives the issues that are repaired.

    Several processes may write to one, each into parts of its own, and others read meanwhile. A part starts with the
    first product, and after so many bytes or products; an incomplete part of a killed process is repaired at the next
    start.
    """

    def __init__(
        self,
        folder: Path,
        *,
        is_written: bool = False,
        report: Callable[[str], None] = _silent,
        part_bytes: int = PART_BYTES,
        part_products: int = PART_PRODUCTS,
    ) -> None:
        self.folder, self._report = folder, report
        self._most_bytes, self._most_products = part_bytes, part_products
        self._writer: PartWriter | None = None
        self._reader: PartReader | None = None
        self._require_folder(is_written=is_written)
        self._is_writable = is_written
        self._index = self._open_index()
        try:
            self._bring_up_to_date()
        except BaseException:
            self._index.close()
            raise

    def __enter__(self) -> "ProductStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _require_folder(self, *, is_written: bool) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            raise StoreError(f"{self.folder}: expected the folder of a store of products, got a file")
        if is_written:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(f"products cannot be kept in {self.folder}: {error.strerror}") from None
        if not self.folder.is_dir():
            raise StoreError(f"{self.folder}: there is no such store of products")
        is_store = (self.folder / FILE).exists() or bool(part_names(self.folder))
        if not is_store and (not is_written or any(self.folder.iterdir())):
            raise StoreError(f"{self.folder}: expected a store of products, with {FILE} and part_000001, got neither")

    def _open_index(self) -> ProductIndex:
        """The index; one that does not serve is made anew, in memory where nothing can be written."""
        path = self.folder / FILE
        try:
            return ProductIndex(path)
        except ProductIndexError as error:
            issue = str(error)
            self._report(f"{error}; it is made anew of the bags")
            with suppress(OSError, StoreError):
                path.unlink()
                path.with_name(f"{FILE}-journal").unlink(missing_ok=True)
                return ProductIndex(path)
        except StoreError as error:
            issue = str(error)
        if self._is_writable:
            raise StoreError(f"products cannot be kept in {self.folder}: {issue}")
        with suppress(StoreError):
            return ProductIndex(path, is_read_only=True)
        return ProductIndex(None)

    def _bring_up_to_date(self) -> None:
        """Index new data: parts that are new, changed, or were left by a process that died."""
        known = self._index.parts()
        names = part_names(self.folder)
        unknown = [name for name in names if self._has_new_data(name)]
        if set(known) <= set(names) and not unknown:
            return
        try:
            with self._index.transaction():
                self._read_new_data(sorted(set(known) - set(names)), unknown)
        except StoreError:  # read-only, locked, or the disk is full, which does not affect readers
            if self._is_writable:
                raise
            self._index.close()
            self._index = ProductIndex(None)
            with self._index.transaction():
                self._read_new_data([], names)

    def _read_new_data(self, gone: Sequence[str], unknown: Sequence[str]) -> None:
        for name in gone:
            self._report(f"{part_file(self.folder, name)} is gone, and what it held")
            self._index.drop_part(name)
        for name in unknown:
            if self._has_new_data(name):  # another process may have been faster
                self._take_part(name)

    def _has_new_data(self, name: str) -> bool:
        known = self._index.parts().get(name)
        is_open = is_written(self.folder, name)
        if known is None:
            return part_file(self.folder, name).exists() or not is_open
        return known.is_open != is_open or (not is_open and known.size != self._size(name))

    def _size(self, name: str) -> int:
        try:
            return part_file(self.folder, name).stat().st_size
        except FileNotFoundError:
            return 0

    def _take_part(self, name: str) -> None:
        """Index a part by its content; an unfinished one is completed if the store is writable."""
        self._index.drop_part(name)
        is_open = is_written(self.folder, name)
        if not self._size(name):
            if self._is_writable and not is_open:
                remove_part(self.folder, name)
            return
        issues: list[str] = []
        reader = PartReader(self.folder, name)
        try:
            count = 0
            for product, locations in reader.products(issues):
                self._index.add(product, name, locations)
                count += 1
        finally:
            reader.close()
        self._index.set_part(name, self._size(name), is_open=is_open)
        self._report_issues(name, issues)
        if reader.is_cut and not is_open:
            self._report(f"{reader.path} was cut off: {count} products in it are complete")
            if self._is_writable:
                self._rewrite(name)

    def _report_issues(self, name: str, issues: Sequence[str]) -> None:
        for issue in issues[:MAX_REPORTED]:
            self._report(issue)
        if len(issues) > MAX_REPORTED:
            self._report(f"{part_file(self.folder, name)}: {len(issues) - MAX_REPORTED} more faults")

    def _rewrite(self, name: str) -> None:
        """Rewrite a part with the products that are in the index; remove it if there are none."""
        if next(self._index.of_part(name), None) is None:
            remove_part(self.folder, name)
            self._index.drop_part(name)
            return
        issues: list[str] = []
        try:
            size, locations = rewritten(self.folder, name, self._index.of_part(name), issues)
        except OSError as error:
            raise StoreError(f"{part_file(self.folder, name)} cannot be written anew: {_describe(error)}") from None
        self._report_issues(name, issues)
        self._index.drop(name, [e.product.id for e in self._index.of_part(name) if e.product.id not in locations])
        for id_, own in locations.items():
            self._index.move(id_, own)
        self._index.set_part(name, size, is_open=False)
        self._index.settle(name)

    def close(self) -> None:
        """Finish writing, and close all files."""
        try:
            self._finish_part()
        finally:
            self._release_reader()
            self._index.close()

    def _release_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _finish_part(self) -> None:
        """Complete the part that is written, without products that were deleted meanwhile."""
        writer, self._writer = self._writer, None
        if writer is None:
            return
        try:
            size = writer.finish()
        except OSError as error:
            writer.abandon()
            raise StoreError(f"{writer.path} cannot be finished: {_describe(error)}; the next start will") from None
        with self._index.transaction():
            self._index.set_part(writer.name, size, is_open=False)
            if self._index.has_forgotten(writer.name):
                self._rewrite(writer.name)

    def add(self, product: Product, messages: Sequence[TypedMessage]) -> Product:
        """Store a product, which gets its number; raise StoreError where it cannot be stored completely."""
        if not self._is_writable:
            raise StoreError(f"{self.folder} is open for reading")
        writer = self._writer
        if writer is not None and (writer.bytes >= self._most_bytes or writer.count >= self._most_products):
            self._finish_part()
        try:
            with self._index.transaction():
                product = replace(product, id=self._index.next_id())
                writer = self._writer = self._writer or self._next_part()
                return self._index.add(product, writer.name, writer.add(product, messages))
        except (OSError, StoreError) as error:
            if self._writer is not None:  # the next product starts another part
                self._writer.abandon()
                self._writer = None
            raise StoreError(f"a product cannot be kept in {self.folder}: {_describe(error)}") from None

    def _next_part(self) -> PartWriter:
        names = [*self._index.parts(), *part_names(self.folder)]
        writer = PartWriter.after(self.folder, max(names, default=""))
        self._index.set_part(writer.name, 0, is_open=True)
        return writer

    def query(self, query: ProductQuery = EVERYTHING) -> Iterator[Product]:
        """Yield the products of a query, by their stamps."""
        return (indexed.product for indexed in self._index.query(query))

    def count(self, query: ProductQuery = EVERYTHING) -> int:
        """Return how many products match a query."""
        return self._index.count(query)

    @property
    def kinds(self) -> Counter[str]:
        """Count the products of each kind."""
        return Counter(self._index.kinds())

    def messages(self, id_: int) -> list[TypedMessage]:
        """The messages of a product; StoreError where there is none of that number, or its bytes are damaged."""
        try:
            return self._read(id_)
        except StoreError:  # another process may just have written its part anew
            self._release_reader()
            return self._read(id_)

    def _read(self, id_: int) -> list[TypedMessage]:
        indexed = next(self._index.query(ProductQuery(ids=(id_,))), None)
        if indexed is None:
            raise StoreError(f"{self.folder} has no product {id_}")
        if self._reader is None or self._reader.name != indexed.part:
            self._release_reader()
            try:
                self._reader = PartReader(self.folder, indexed.part)
            except FileNotFoundError:
                raise StoreError(f"{part_file(self.folder, indexed.part)} is gone, with product {id_}") from None
        return self._reader.messages(indexed)

    def forget(self, query: ProductQuery) -> int:
        """Delete the products of a query; return how many there were.

        The parts that held them are written anew without them, at once; one that another process writes, by that
        process when it finishes it.
        """
        if not self._is_writable:
            raise StoreError(f"{self.folder} is open for reading")
        self._release_reader()
        by_part: dict[str, list[int]] = {}
        for indexed in self._index.query(query):
            by_part.setdefault(indexed.part, []).append(indexed.product.id)
        if self._writer is not None and self._writer.name in by_part:
            self._finish_part()
        with self._index.transaction():
            for name, ids in by_part.items():
                is_open = is_written(self.folder, name)
                self._index.drop(name, ids, but_note=is_open)
                if not is_open:
                    self._rewrite(name)
        return sum(map(len, by_part.values()))


def _describe(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
