"""Status and history files of IDA: blocks of `key = value`, each of the arm's or the system's state at one time."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.core.timestamps import ns_from_texts
from fieldplay.datasets.archive import Archive, plausible_ns
from fieldplay.datasets.ida.ida_products import NS_PER_S, LruCache, Product
from fieldplay.datasets.ida.lander_clock import SpacecraftClock
from fieldplay.io.containers import Files
from fieldplay.io.key_values import KeyLine, lines_of_text, plain_key
from fieldplay.messages.records import Record
from fieldplay.streams.stream import Span

ARM, SYSTEM = "ra_status", "sys_status"
HEADING = re.compile(r"(?P<before>\d+)\s*points?\s*before\s*latest\s*\(\s*index\s*=?\s*(?P<index>\d+)\s*\)\s*:?", re.I)
COMMENT = re.compile(r"[#%/*=_\-\s].*|.*:")  # rules, comments and headings, which say nothing
TIME = plain_key("time")
PREFIXES = {plain_key(kind): kind for kind in (ARM, SYSTEM)}
ARM_KEYS = re.compile(r"ace.*|mtr(?!vo1t).*|jnt.*|ref|htrcrnt|agnd")
CACHED_FILES = 8
MAX_KEYS = 500  # a file has some sixty

Stamps = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class StatusRow:
    """The arm's or the system's state at one time: its entries by their plain keys, without the prefix of the kind."""

    kind: str
    line: int
    entries: Mapping[str, KeyLine]

    def numbers(self, key: str, count: int) -> NDArray[np.float64] | None:
        """The numbers (count,) of an entry, None where it is not there or holds something else."""
        entry = self.entries.get(plain_key(key))
        numbers = None if entry is None else entry.numbers
        return numbers.reshape(-1) if numbers is not None and numbers.size == count else None


@dataclass(frozen=True, kw_only=True, eq=False)
class StatusRows:
    """The rows of one kind in one file, in the order of time."""

    stamp_ns: Stamps
    rows: tuple[StatusRow, ...]

    def only(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> "StatusRows":
        """The rows chosen by a mask or by their indices."""
        indices = np.arange(len(self.rows))[chosen]
        return StatusRows(stamp_ns=self.stamp_ns[chosen], rows=tuple(self.rows[index] for index in indices))


def blocks_of_lines(lines: Sequence[KeyLine]) -> Iterator[dict[str, KeyLine]]:
    """The blocks of a file: each begins with a heading, or with a key that does not come after the key before it.

    A key that is new has its place behind the one before it: so a block that lacks some is one all the same.
    """
    order: list[str] = []
    ranks: dict[str, int] = {}
    block: dict[str, KeyLine] = {}
    last = -1
    for line in lines:
        key = plain_key(line.key)
        if key and key not in ranks:
            order.insert(last + 1 if len(order) < MAX_KEYS else len(order), key)
            ranks = {name: rank for rank, name in enumerate(order)} if len(order) <= MAX_KEYS else ranks
            ranks.setdefault(key, len(order))
        if (not key and line.matches(HEADING)) or (key and ranks[key] <= last):
            if block:
                yield block
            block, last = {}, -1
        if key:
            block[key], last = line, ranks[key]
    if block:
        yield block


def rows_of_block(block: Mapping[str, KeyLine]) -> Iterator[StatusRow]:
    """The states in a block, distinguished by the prefixes of the keys, else by the keys."""
    parted: dict[str, dict[str, KeyLine]] = {}
    bare_time: KeyLine | None = None
    for key, line in block.items():
        prefix = next((prefix for prefix in PREFIXES if key.startswith(prefix)), "")
        if prefix:
            parted.setdefault(PREFIXES[prefix], {})[key.removeprefix(prefix)] = line
        elif key == TIME:
            bare_time = line
        else:
            parted.setdefault(ARM if ARM_KEYS.fullmatch(key) else SYSTEM, {})[key] = line
    for kind, entries in parted.items():
        if bare_time is not None:
            entries.setdefault(TIME, bare_time)
        yield StatusRow(kind=kind, line=min(entry.number for entry in entries.values()), entries=entries)


class StatusFiles:
    """All status and history files as one: a state that several of them hold at the same time counts once.

    `vectors` says how many numbers the entries hold that streams are made of, by their keys.
    """

    def __init__(
        self,
        archive: Archive,
        files: Files,
        products: Sequence[Product],
        *,
        clock: SpacecraftClock,
        vectors: Mapping[str, int],
    ) -> None:
        self._archive, self._files, self._clock, self._vectors = archive, files, clock, vectors
        self.products = tuple(products)
        self._cache: LruCache[dict[str, StatusRows]] = LruCache(CACHED_FILES)
        self.repeated = 0
        self._seen = {ARM: np.zeros(0, np.int64), SYSTEM: np.zeros(0, np.int64)}
        self.spans: dict[str, list[tuple[int, Span]]] = {ARM: [], SYSTEM: []}  # the file of each, and its stretch
        self._masks = [self._look_through(index) for index in range(len(self.products))]

    def rows(self, index: int, kind: str) -> StatusRows:
        """The states of a kind in one file that no file before has."""
        return self._parse(index)[kind].only(self._masks[index][kind])

    def _look_through(self, index: int) -> dict[str, NDArray[np.bool_]]:
        """Report what is wrong with a file; which of its states (n,) of each kind are new."""
        report = _reporter(self._archive, self.products[index].file)
        try:
            lines = lines_of_text(self._files.read(self.products[index].file))
        except ArchiveError as error:
            report("unreadable_table", str(error), None)
            lines = []
        for kind, message, row in (*_line_issues(lines), *_point_issues(lines)):
            report(kind, message, row)
        rows = self._of_kinds(lines, report, self.products[index])
        self._cache.get(index, lambda: rows)
        new = {kind: self._is_new(kind, of_kind.stamp_ns) for kind, of_kind in rows.items()}
        for kind, mask in new.items():
            stamps = rows[kind].stamp_ns[mask]
            if len(stamps):
                self.spans[kind].append((index, Span(int(stamps[0]), int(stamps[-1]), len(stamps))))
        return new

    def _is_new(self, kind: str, stamp_ns: Stamps) -> NDArray[np.bool_]:
        new: NDArray[np.bool_] = (np.diff(stamp_ns, prepend=-1) != 0) & ~np.isin(stamp_ns, self._seen[kind])
        self._seen[kind] = np.concatenate([self._seen[kind], stamp_ns[new]])
        self.repeated += int((~new).sum())
        return new

    def _parse(self, index: int) -> dict[str, StatusRows]:
        def make() -> dict[str, StatusRows]:
            lines = lines_of_text(self._files.read(self.products[index].file))
            return self._of_kinds(lines, lambda kind, message, row: None, self.products[index])

        return self._cache.get(index, make)

    def _of_kinds(self, lines: Sequence[KeyLine], report: "_Report", product: Product) -> dict[str, StatusRows]:
        blocks = [list(rows_of_block(block)) for block in blocks_of_lines(lines)]
        rows = [row for block in blocks for row in block]
        for row in rows:
            for kind, message, line in _vector_issues(row, self._vectors):
                report(kind, message, line)
        of_kinds = {kind: [row for row in rows if row.kind == kind] for kind in (ARM, SYSTEM)}
        end_s = None if product.name is None else product.name.end_s
        end_by_kind = {row.kind: end_s for row in (blocks[-1] if blocks else [])}
        return {kind: self._in_time(of_kind, report, end_s=end_by_kind.get(kind)) for kind, of_kind in of_kinds.items()}

    def _in_time(self, rows: Sequence[StatusRow], report: "_Report", *, end_s: int | None) -> StatusRows:
        """The states in the order of time; the last one may have the file's end where its own time is cut off."""
        texts = [row.entries[TIME].value if TIME in row.entries else "" for row in rows]
        reading_ns, good = ns_from_texts(np.array([text.encode("ascii", "replace") for text in texts], np.bytes_))
        first, last = plausible_ns(self._archive.spec)
        stamp_ns = self._clock.unix_ns_from_reading(reading_ns)
        good &= (stamp_ns >= first) & (stamp_ns <= last)
        bad = np.flatnonzero(~good).tolist()
        if bad[-1:] == [len(rows) - 1] and end_s is not None:
            end_ns = self._clock.unix_ns_from_reading(np.array([end_s * NS_PER_S], np.int64))
            if (stamp_ns[good] < end_ns).all():
                stamp_ns[-1:], good[-1] = end_ns, True
        for index in bad:
            row = rows[index]
            line = row.entries[TIME].number if TIME in row.entries else row.line
            got = f"'{texts[index][:40]}'" if TIME in row.entries else "none"
            then = f"it is put at {end_s}, where the file ends by its name" if good[index] else "the state is left out"
            report("implausible_time", f"expected {row.kind}.time, a reading of the clock, got {got}; {then}", line)
        states = StatusRows(stamp_ns=stamp_ns, rows=tuple(rows)).only(good)
        return states.only(np.argsort(states.stamp_ns, kind="stable"))


_Report = Callable[[str, str, int | None], None]
_Issue = tuple[str, str, int]


def _reporter(archive: Archive, file: str) -> _Report:
    def report(kind: str, message: str, row: int | None) -> None:
        archive.defects(Defect(file=file, kind=kind, message=message, row=row))

    return report


def _line_issues(lines: Sequence[KeyLine]) -> Iterator[_Issue]:
    """The lines that are neither entries nor headings."""
    for line in lines:
        if not line.key and not line.matches(HEADING) and not line.matches(COMMENT):
            yield "not_key_value", f"expected 'key = value' or a heading, got '{line.shown}'", line.number


def _point_issues(lines: Sequence[KeyLine]) -> Iterator[_Issue]:
    """Where the points of a history do not count down by one to the latest."""
    previous: int | None = None
    last = 0
    for line in lines:
        match = line.matches(HEADING) if not line.key else None
        if match:
            point = int(match["before"])
            if previous is not None and point != previous - 1:
                yield "missing_points", f"expected {previous - 1} points before the latest, got {point}", line.number
            previous, last = point, line.number
    if previous:
        yield "missing_points", f"expected the history to go on to the latest, got its end {previous} before", last


def _vector_issues(row: StatusRow, vectors: Mapping[str, int]) -> Iterator[_Issue]:
    """The entries that do not hold as many numbers as they should."""
    for key, count in vectors.items():
        entry = row.entries.get(plain_key(key))
        if entry is not None and (entry.is_open or row.numbers(key, count) is None):
            lost = "" if not entry.is_open else " and the end of the file" if entry.is_cut else " without ']'"
            message = f"{row.kind}.{key}: expected {count} numbers, got '{entry.shown}'{lost}"
            yield "not_a_number", message, entry.number


class StatusStream:
    """A stream made of the states of one kind, file by file."""

    def __init__(self, files: StatusFiles, kind: str, convert: Callable[[StatusRows], Record]) -> None:
        self._files, self._kind, self._convert = files, kind, convert
        self._file_indices = [index for index, _ in files.spans[kind]]
        self.spans = [span for _, span in files.spans[kind]]

    def load(self, index: int) -> Record:
        return self._convert(self._files.rows(self._file_indices[index], self._kind))
