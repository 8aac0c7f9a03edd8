"""The files of an IDA archive, with the contents of their names and labels."""

import posixpath
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.datasets.archive import Archive
from fieldplay.io.containers import Files
from fieldplay.io.file_names import last_part
from fieldplay.io.pds4 import Label, LabelledFile, label_from_xml
from fieldplay.io.seekable_zip import is_outside_archive
from fieldplay.io.table import Table, Tables
from fieldplay.io.table_rows import TimedRows

MAX_BLOCKS = 24  # blocks, at most half a megabyte of text each
T = TypeVar("T")
NAME = re.compile(
    r"A(?P<apid>\d{4})_(?P<sol>\d{4})_(?P<start>\d{9,10})_(?P<end>\d{9,10})_(?P<tag>\d{12})_(?P<product>.+)\.\w+",
    re.IGNORECASE,
)
LABEL = r".+\.xml"
READING = re.compile(r"(?:\d+/)?(?P<seconds>\d{1,10})(?:[-.:](?P<ticks>\d{1,5}))?")
DRIVE = re.compile(r"[A-Za-z]:")
TICKS_PER_S = 65536
NS_PER_S = 1_000_000_000
COLLECTIONS = {"Product_Bundle": "bundle", "Product_Collection": "collection"}


# Many small tables that may hold the same rows: each counts once.


class LruCache(Generic[T]):
    """A thread-safe cache of the most recently used values, by number."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.RLock()
        self._things: OrderedDict[int, T] = OrderedDict()

    def get(self, key: int, make: Callable[[], T]) -> T:
        """The cached value, or one made now."""
        with self._lock:
            if key not in self._things:
                self._things[key] = make()
                if len(self._things) > self._most:
                    self._things.popitem(last=False)
            self._things.move_to_end(key)
            return self._things[key]


class DistinctTables(Tables):
    """Tables of one kind as one, in which each row counts once.

    Within a table rows are the same that have the same time and numbers. Of rows of several tables that share a time
    the first counts, in the order of the tables; but where a table has several rows of that time, as with a coarse
    clock, only those with the same numbers are the same. `own` are columns that each table counts for itself.
    """

    def __init__(self, tables: Sequence[Table], own: Sequence[str] = ()) -> None:
        super().__init__(tables)
        self._own = frozenset(own)
        self._distinct: LruCache[TimedRows] = LruCache(MAX_BLOCKS)
        self._first = np.array([block.first_ns for block in self.blocks], np.int64)
        self._last = np.array([block.last_ns for block in self.blocks], np.int64)

    def rows(self, index: int) -> TimedRows:
        """The rows of one block that no block before it has."""
        return self._distinct.get(index, lambda: self.all_rows(index).only(self.is_first(index)))

    def all_rows(self, index: int) -> TimedRows:
        """The rows of one block, those that others have too among them."""
        return super().rows(index)

    def is_first(self, index: int) -> NDArray[np.bool_]:
        """Which rows (n,) of a block neither a row before them repeats nor a block before this one has."""
        first = are_new(self.all_rows(index))
        for other in self.earlier(index):
            first &= ~self.are_in(index, other)
        return first

    def are_in(self, index: int, other: int) -> NDArray[np.bool_]:
        """Which rows (n,) of a block an earlier one has."""
        rows, theirs = self.all_rows(index), self.all_rows(other)
        mask = np.isin(rows.stamp_ns, theirs.stamp_ns)
        is_one_table = self.table_of(index) is self.table_of(other)
        by_numbers = mask if is_one_table else mask & np.isin(rows.stamp_ns, _duplicate_times(rows, theirs))
        if by_numbers.any():
            own = frozenset() if is_one_table else self._own
            near = theirs.only(np.isin(theirs.stamp_ns, rows.stamp_ns[by_numbers]))
            mask[by_numbers] = _are_among(_bits(rows.only(by_numbers), own), _bits(near, own))
        return mask

    def contradict(self, index: int, other: int) -> NDArray[np.bool_]:
        """Which rows (n,) of a block an earlier one of another table has with other numbers."""
        rows, theirs = self.all_rows(index), self.all_rows(other)
        mask = self.are_in(index, other) & ~np.isin(rows.stamp_ns, _duplicate_times(rows, theirs))
        rows_of_other = np.searchsorted(theirs.stamp_ns, rows.stamp_ns[mask])
        columns = [column not in self._own for column in rows.dialect.numbers]
        first, second = rows.values[mask][:, columns], theirs.values[rows_of_other][:, columns]
        mask[mask] = ((first != second) & np.isfinite(first) & np.isfinite(second)).any(axis=1)
        return mask

    def earlier(self, index: int) -> list[int]:
        """The blocks before this one, in the order of the tables, that share some stretch of time with it."""
        overlaps = (self._first[:index] <= self._last[index]) & (self._last[:index] >= self._first[index])
        indices: list[int] = np.flatnonzero(overlaps).tolist()
        return indices


def are_new(rows: TimedRows) -> NDArray[np.bool_]:
    """Which rows (n,), in the order of time, have another time or other numbers than all before them."""
    new = np.ones(len(rows), bool)
    indices = np.flatnonzero(have_equal_neighbours(rows.stamp_ns))
    if len(indices):
        _, first = np.unique(_bits(rows.only(indices), frozenset()), axis=0, return_index=True)
        new[indices] = False
        new[indices[first]] = True
    return new


def have_equal_neighbours(stamp_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the sorted times (n,) equal the previous or the next one."""
    same = np.diff(stamp_ns) == 0
    mask: NDArray[np.bool_] = np.append(same, False) | np.append(False, same)
    return mask[: len(stamp_ns)]


def _duplicate_times(*parts: TimedRows) -> NDArray[np.int64]:
    """Times that several different rows of a part have."""
    stamps = [part.stamp_ns[are_new(part)] for part in parts]
    return np.concatenate([part[have_equal_neighbours(part)] for part in stamps])


def _bits(rows: TimedRows, without: frozenset[str]) -> NDArray[np.int64]:
    """Times and numbers (n, 1 + k) as they are in memory, one form of zero and of NaN; but for some columns."""
    columns = [column not in without for column in rows.dialect.numbers]
    values = np.where(np.isnan(rows.values), np.nan, rows.values + 0.0)[:, columns]
    return np.column_stack([rows.stamp_ns, np.ascontiguousarray(values).view(np.int64)])


def _are_among(rows: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the rows (n, k) are among others (m, k)."""
    _, groups = np.unique(np.concatenate([rows, others]), axis=0, return_inverse=True)
    groups = groups.reshape(-1)
    return np.asarray(np.isin(groups[: len(rows)], groups[len(rows) :]), bool)


@dataclass(frozen=True, kw_only=True)
class ProductName:
    """The contents of a file's name: the packet's kind, the sol, and clock seconds at its start and end."""

    apid: int
    sol: int
    start_s: int
    end_s: int
    tag: str  # yymmddhhmmss of no use: neither the start nor the end
    product: str


@dataclass(frozen=True, kw_only=True)
class Product:
    """A file of the archive, with the contents of its name and label, if any."""

    file: str
    name: ProductName | None
    label: Label | None = None
    label_file: str = ""

    @property
    def described(self) -> LabelledFile | None:
        """What the label says of this file."""
        return None if self.label is None else self.label.file(last_part(self.file))

    @property
    def start_ns(self) -> int | None:
        """The clock's reading in nanoseconds where the file begins, by its name, else by its label."""
        if self.name is not None:
            return self.name.start_s * NS_PER_S
        return None if self.label is None else reading_ns(self.label.texts.get("spacecraft_clock_start", ""))


@dataclass(frozen=True, kw_only=True)
class Labels:
    """The labels of an archive by the file that they describe (folder and name in lower case), and their own files."""

    of_file: dict[str, tuple[str, Label]] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)


def name_from_file(file: str) -> ProductName | None:
    """The contents of a file's name, None for other names."""
    match = NAME.fullmatch(last_part(file))
    if match is None:
        return None
    return ProductName(
        apid=int(match["apid"]),
        sol=int(match["sol"]),
        start_s=int(match["start"]),
        end_s=int(match["end"]),
        tag=match["tag"],
        product=match["product"].lower(),
    )


def reading_ns(text: str) -> int | None:
    """The clock's reading in nanoseconds of text such as `1/0615088547-32768`: seconds, and ticks of 1/65536."""
    match = READING.fullmatch(text.strip())
    if match is None:
        return None
    return int(match["seconds"]) * NS_PER_S + round(int(match["ticks"] or 0) * NS_PER_S / TICKS_PER_S)


def read_labels(archive: Archive, files: Files) -> Labels:
    """All labels; one that cannot be read, or that names a file outside the archive or a missing one, is reported."""
    labels = Labels()
    there = {name.lower() for name in files.names}
    for file in files.matching(LABEL):
        labels.files.append(file)
        try:
            label = label_from_xml(files.read(file))
        except ArchiveError as error:
            archive.defects(Defect(file=file, kind="unreadable_label", message=str(error)))
            continue
        _note_collection(archive, file, label)
        for described in label.files:
            path = _path_of(file, described.name)
            if path is None:
                message = f"expected a file in the label's folder, got '{described.name}', which leaves the archive"
                archive.defects(Defect(file=file, kind="unsafe_path", row=described.line, message=message))
            elif path.lower() in there:
                labels.of_file[path.lower()] = (file, label)
            elif label.product_class not in COLLECTIONS:
                message = f"expected the file {described.name} that the label describes, next to it, got none"
                archive.note_missing(file, message)
    return labels


def _path_of(label_file: str, name: str) -> str | None:
    """The path in the archive of a file that a label names, None where it leads out of the archive."""
    path = name.replace("\\", "/")
    inside = posixpath.normpath(posixpath.join(posixpath.dirname(label_file), path))
    return None if DRIVE.match(path) or is_outside_archive(inside) else inside


def _note_collection(archive: Archive, file: str, label: Label) -> None:
    if label.product_class in COLLECTIONS:
        archive.notes.append(f"{file}: {COLLECTIONS[label.product_class]} {label.lid}, version {label.version}")


def products_of(files: Files, pattern: str, labels: Labels) -> list[Product]:
    """The files of one kind, in the order of their kinds of packets and of the clock."""
    products = []
    for file in files.matching(pattern):
        label_file, label = labels.of_file.get(file.lower(), ("", None))
        products.append(Product(file=file, name=name_from_file(file), label=label, label_file=label_file))
    return sorted(products, key=_sort_key)


def _sort_key(product: Product) -> tuple[int, int, int, str, str]:
    name = product.name
    if name is None:
        return 1, 0, 0, "", product.file
    return 0, name.apid, name.start_s, name.tag, product.file


def check_names(archive: Archive, products: list[Product]) -> None:
    """Report where a label contradicts the name of its file, in identity, sol or clock."""
    for product in products:
        for message in _contradictions(product):
            archive.defects(Defect(file=product.label_file, kind="label_mismatch", message=message))


def _contradictions(product: Product) -> Iterator[str]:
    label, name, described = product.label, product.name, product.described
    if label is None or described is None:
        return
    stem = last_part(product.file).rpartition(".")[0].lower()
    if label.lid and label.lid.rpartition(":")[2].lower() != stem:
        yield f"expected an identifier that ends in {stem}, got {label.lid}"
    if name is None:
        return
    expected_values = {
        "start_sol_number": name.sol,
        "spacecraft_clock_start": name.start_s,
        "spacecraft_clock_stop": name.end_s,
    }
    for tag, expected in expected_values.items():
        text = label.texts.get(tag, "")
        value = reading_ns(text)
        if value is not None and abs(value - expected * NS_PER_S) >= NS_PER_S:
            yield f"{tag}: expected {expected} as the file's name has it, got {text}"


def check_sizes(archive: Archive, files: Files, products: list[Product]) -> None:
    """Report files that are shorter or longer than their label says."""
    for product in products:
        described = product.described
        if described is None or described.size is None:
            continue
        size = files.size(product.file)
        if size != described.size:
            message = f"expected {described.size} bytes by the label {product.label_file}, got {size}"
            archive.defects(Defect(file=product.file, kind="label_mismatch", message=message))
