"""Files that are one row each: images, point clouds, texts of numbers; with times in their names or in a list."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import polars
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, Defect, pluralize
from fieldplay.core.gaps import GapFinder
from fieldplay.core.timestamps import DIGITS_NS, NS_PER_S, UNIX_FROM_S, ns_from_texts
from fieldplay.datasets.archive import Archive, matching_files, plausible_ns
from fieldplay.datasets.spec import name_from_patterns
from fieldplay.io.containers import Files
from fieldplay.io.file_names import last_part
from fieldplay.io.file_table import FileTable
from fieldplay.io.plain_clouds import cloud_from_floats, cloud_from_text
from fieldplay.io.time_list import TimeList, time_list_from_bytes
from fieldplay.messages.records import Clouds, Images
from fieldplay.streams.stream import FileStream

Fraction = Literal["auto", "decimal", "nanoseconds"]
FRACTIONS = ("auto", "decimal", "nanoseconds")

# Whole seconds have nine or ten digits (1973 to 2286), with a fraction or without; milli-, micro- and nanoseconds have
# 13, 16 and 19. After '_' more digits than nanoseconds have are no fraction but the time, and what precedes a prefix.
TAIL = (
    r"(?:^|[^0-9])"
    r"(?:(?<whole>[0-9]{9,10})(?:\.(?<after_point>[0-9]+)|_(?<after_line>[0-9]{1,9}))?"
    r"|(?<count>[0-9]{13}|[0-9]{16}|[0-9]{19}))"
    r"(?:\.[A-Za-z][0-9A-Za-z]*)*$"
)
DIGITS_S = 10
NUMBERED = re.compile(r"([0-9]{1,15})(?:\.[A-Za-z][0-9A-Za-z]*)*$")  # the number in a name, before its endings
FLOATS = ".bin"  # ends the names of clouds of float32; others are text


def stamps_from_names(
    names: Sequence[str], *, fraction: Fraction = "auto"
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Parse the times at the ends of file names.

    The time is the last thing before the extension: '1656931512', '1656931512.123456' or '1656931512_123456', or one
    number of 13, 16 or 19 digits in milli-, micro- or nanoseconds. What precedes it, digits or not, is a prefix.

    With 'auto' the digits after '.' are decimals, and after '_' the names of a stream decide: decimals are padded with
    zeros, so that all names have the same number of digits (nine digits mean the same either way). A count of
    nanoseconds without leading zeros is shorter than nine digits in every tenth name, so different numbers of digits
    mean nanoseconds. Digits that fit neither, such as '_5' and '_25' alone, are an error. So give 'auto' the names of
    one stream at a time.

    Args:
        names: names or paths of files.
        fraction: what the digits after the whole seconds are: `decimal` ('_5' is half a second), `nanoseconds` ('_5' is
            five of them) or `auto`.

    Returns:
        Times (n,) in ns since 1970, exact and not made from floats, and which of the names have one; the others are 0.

    Raises:
        ValueError: `fraction` is none of these.
        ArchiveError: the digits after '_' fit neither.

    Example:
        >>> stamps_from_names(["left_1656931512.25.png"])[0].tolist()
        [1656931512250000000]
    """
    if fraction not in FRACTIONS:
        raise ValueError(f"expected fraction to be one of {', '.join(FRACTIONS)}, got '{fraction}'")
    return _stamps_from_parts(_parts(names), fraction)


def have_equal_seconds(names: Sequence[str]) -> NDArray[np.bool_]:
    """Find names with a whole second, without a fraction, that other names share.

    The order of such files within the second is not known, so none of them has a usable time.

    Args:
        names: names of files of one stream.

    Returns:
        Which of the names (n,) are such.
    """
    parts = _parts(names)
    shared = parts.select(
        polars.col("whole").is_not_null()
        & polars.col("after_point").is_null()
        & polars.col("after_line").is_null()
        & (polars.len().over("whole", "after_point", "after_line") > 1)
    )
    return shared.to_series().to_numpy().astype(bool)


def _parts(names: Sequence[str]) -> polars.DataFrame:
    """The named parts of TAIL for each name, null where there is none."""
    column = polars.Series("name", names, dtype=polars.String())
    return column.str.extract_groups(TAIL).struct.unnest()


def _stamps_from_parts(parts: polars.DataFrame, fraction: Fraction) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Bring all times to the text of decimal seconds, which then becomes integers at once."""
    whole, point, line, count = (polars.col(name) for name in ("whole", "after_point", "after_line", "count"))
    if fraction == "nanoseconds":
        whole = polars.when(point.str.len_bytes() > DIGITS_NS).then(None).otherwise(whole)  # no such count
        point = point.str.zfill(DIGITS_NS)
    if fraction == "nanoseconds" or (fraction == "auto" and _are_counts(parts["after_line"].drop_nulls())):
        line = line.str.zfill(DIGITS_NS)
    seconds = polars.coalesce(whole, count.str.head(DIGITS_S))
    rest = polars.coalesce(point, line, count.str.slice(DIGITS_S), polars.lit(""))
    texts = parts.select((seconds + "." + rest).fill_null("")).to_series()
    return ns_from_texts(np.array(texts.to_list(), dtype=np.bytes_))


def _are_counts(digits: polars.Series) -> bool:
    """Whether the digits after '_' of one stream are counts of nanoseconds rather than decimal text."""
    length = digits.str.len_bytes()
    if length.n_unique() <= 1 or ((length > 1) & digits.str.starts_with("0")).any():  # a count begins with no zero
        return False
    if length.max() != DIGITS_NS:
        short, long = digits[int(length.arg_min() or 0)], digits[int(length.arg_max() or 0)]
        raise ArchiveError(
            f"expected fractions of one length, or counts of nanoseconds, after '_' in file names, got '_{short}' and "
            f"'_{long}': say whether they are decimal or nanoseconds"
        )
    return True


def timed_files(
    archive: Archive, files: Files, key: str, *, fraction: Fraction = "auto"
) -> tuple[list[str], NDArray[np.int64]]:
    """List the files of one kind with their times: those in their names, or of the file that the description names.

    Files without a usable time, and gaps and duplicate times within a folder, are reported as defects.

    Args:
        archive: the archive.
        files: where the files are.
        key: of `rows:` in the description.
        fraction: see `stamps_from_names`.

    Returns:
        The names of the usable files, and their times (n,) in ns since 1970, in the order of the names.
    """
    names = matching_files(archive, files, key, archive.spec.rows[key])
    if archive.spec.rows[key].times:
        return listed_files(archive, files, key, names)
    texts = names if all(map(str.isascii, names)) else [_as_text(name) for name in names]
    try:
        stamp_ns, good = stamps_from_names(texts, fraction=fraction)
    except ArchiveError as error:
        archive.defects(
            Defect(file=archive.spec.rows[key].files, kind="ambiguous_time", stream=key, message=str(error))
        )
        return [], np.zeros(0, np.int64)
    first, last = plausible_ns(archive.spec)
    possible = good & (stamp_ns >= first) & (stamp_ns <= last)
    clash = have_equal_seconds(texts) & possible
    for row in np.flatnonzero(~possible):
        message = "expected a time in the name, got none"
        if good[row]:
            message = f"expected a time that can be in the name, got {int(stamp_ns[row]) / NS_PER_S:.9g} s"
        archive.defects(Defect(file=names[row], kind="no_time_in_name", stream=key, message=message))
    for row in np.flatnonzero(clash):
        message = "expected a fraction of the second in the name: another file has the same whole second"
        archive.defects(Defect(file=names[row], kind="time_not_unique", stream=key, message=message))
    usable = possible & ~clash
    usable_names, stamp_ns = [names[row] for row in np.flatnonzero(usable)], stamp_ns[usable]
    for defect in _defects_of_order(usable_names, stamp_ns, key):
        archive.defects(defect)
    return usable_names, stamp_ns


def listed_files(archive: Archive, files: Files, key: str, names: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Give files the times that a file in their folder or above it lists.

    Where its lines name files, these count; else line i is the time of the file whose name has the number i, from 0 on.
    Files without a time, times without a file and lines that are no time are reported as defects.

    Args:
        archive: the archive.
        files: where the files are.
        key: of `rows:` in the description, which has the pattern of the list's name as `times`.
        names: names of the files.

    Returns:
        The names of those with a time, and their times (n,) in ns since 1970.
    """
    usable: list[str] = []
    stamps: list[int] = []
    by_folder: dict[str, list[str]] = {}
    for name in names:
        by_folder.setdefault(name.rpartition("/")[0], []).append(name)
    for folder, own in by_folder.items():
        source = list_of_times(files, folder, archive.spec.rows[key].times)
        if source is None:
            usable_own, own_ns = _times_without_list(archive, own, key)
            usable += usable_own
            stamps += own_ns
            continue
        rows = read_times(archive, files, source, key)
        stamp_of = _stamps_by_file(archive, own, rows, source, key)
        usable += stamp_of
        stamps += stamp_of.values()
    stamp_ns = np.array(stamps, np.int64)
    for defect in _defects_of_order(usable, stamp_ns, key):
        archive.defects(defect)
    return usable, stamp_ns


def _times_without_list(archive: Archive, names: Sequence[str], key: str) -> tuple[list[str], list[int]]:
    """The times in the names themselves, where all have some; else that there is no list is reported."""
    stamp_ns, is_time = stamps_from_names([_as_text(name) for name in names])
    first, last = plausible_ns(archive.spec)
    list_name, folder = name_from_patterns(archive.spec.rows[key].times), names[0].rpartition("/")[0]
    first = max(first, UNIX_FROM_S * NS_PER_S)  # a smaller number is a count of the files
    if (is_time & (stamp_ns >= first) & (stamp_ns <= last)).all():
        archive.notes.append(f"no {list_name} for {folder or key}: the times are those in the names of the files")
        return list(names), stamp_ns.tolist()
    message = (
        f"expected the times of {pluralize(len(names), 'file')} in {list_name}, got no such file; they are left out"
    )
    archive.defects(Defect(file=folder or names[0], kind="no_times", stream=key, message=message))
    return [], []


def list_of_times(files: Files, folder: str, pattern: str) -> str | None:
    """Find the file that lists the times of a folder's files.

    Args:
        files: all files.
        folder: the folder.
        pattern: a regular expression of its name.

    Returns:
        Its name: the one in the folder, else in the nearest folder above; None where there is none.
    """
    by_folder = {name.rpartition("/")[0]: name for name in reversed(files.matching(pattern))}
    above = [folder]
    while folder:
        folder = folder.rpartition("/")[0]
        above.append(folder)
    return next((by_folder[each] for each in above if each in by_folder), None)


def read_times(archive: Archive, files: Files, name: str, key: str) -> TimeList:
    """Parse a file of times; lines without a time, times that cannot be and times that run back are reported.

    Args:
        archive: the archive.
        files: where the file is.
        name: of the file.
        key: what the description calls the kind of files whose times they are, for reports.

    Returns:
        The times line by line; none where the file cannot be read.
    """

    def report(row: int, kind: str, message: str) -> None:
        archive.defects(Defect(file=name, row=row, kind=kind, stream=key, message=message))

    try:
        times = time_list_from_bytes(files.read(name))
    except (ArchiveError, OSError) as error:
        archive.defects(Defect(file=name, kind="damaged_file", stream=key, message=str(error)))
        return time_list_from_bytes(b"")
    for bad in times.bad:
        report(bad.line, bad.kind, f"{bad.message}; its file is left out")
    first, last = plausible_ns(archive.spec)
    is_possible = times.is_time & (times.stamp_ns >= first) & (times.stamp_ns <= last)
    for index in np.flatnonzero(times.is_time & ~is_possible).tolist():
        got = f"{int(times.stamp_ns[index]) / NS_PER_S:.9g} s"
        report(int(times.line[index]), "implausible_time", f"expected a time that this dataset can hold, got {got}")
    rows = np.flatnonzero(is_possible)
    steps = np.diff(times.stamp_ns[rows])
    for index in np.flatnonzero(steps < 0).tolist():
        message = f"the time runs back by {-int(steps[index]) / NS_PER_S:.9f} s"
        report(int(times.line[rows[index + 1]]), "backward_time", message)
    return replace(times, is_time=is_possible)


def _stamps_by_file(archive: Archive, names: Sequence[str], times: TimeList, source: str, key: str) -> dict[str, int]:
    """The times of the files that have one, in the order of the lines; what does not fit is reported."""
    lines = _lines_of_files(names, times)
    if not len(times):
        message = f"expected the times of {pluralize(len(names), 'file')}, got none; they are left out"
        archive.defects(Defect(file=source, kind="no_times", stream=key, message=message))
        return {}
    for name in names:
        if name not in lines:
            message = f"expected a line with its time in {source}, got none ({pluralize(len(times), 'line')}); left out"
            archive.defects(Defect(file=name, kind="no_time", stream=key, message=message))
    used = np.zeros(len(times), bool)
    used[list(lines.values())] = True
    unused = np.flatnonzero(~used & times.is_time)
    for run in np.split(unused, np.flatnonzero(np.diff(unused) > 1) + 1) if len(unused) else ():
        first, last = int(times.line[run[0]]), int(times.line[run[-1]])
        what = f"line {first}" if first == last else f"lines {first} to {last}"
        named = f" ({times.names[run[0]]})" if times.names[run[0]] else ""
        message = f"expected a file for the time of {what}{named}, got none"
        archive.defects(Defect(file=source, row=first, kind="missing_file", stream=key, message=message))
    return {name: int(times.stamp_ns[line]) for name, line in lines.items() if times.is_time[line]}


def further_times(archive: Archive, files: Files, names: Sequence[str], *, times: str, key: str) -> dict[str, int]:
    """Read other times of files that have theirs, such as the ends of sweeps; none that are missing are reported.

    Args:
        archive: the archive.
        files: where the files are.
        names: of files in one folder.
        times: a regular expression of the name of the list.
        key: what the description calls the kind of files.

    Returns:
        Times in ns since 1970 by the names of the files that have one.
    """
    source = list_of_times(files, names[0].rpartition("/")[0], times) if names else None
    if source is None:
        return {}
    listed = read_times(archive, files, source, key)
    lines = _lines_of_files(names, listed)
    return {name: int(listed.stamp_ns[line]) for name, line in lines.items() if listed.is_time[line]}


def _lines_of_files(names: Sequence[str], times: TimeList) -> dict[str, int]:
    """The line of each file, as an index: by name, else by the number in its name, else by the order of the names."""
    if times.has_names:
        by_name = {last_part(name).rpartition(".")[0]: name for name in names}  # some lists leave the ending out
        by_name |= {last_part(name): name for name in names}
        named = ((by_name.get(last_part(text)), index) for index, text in enumerate(times.names))
        return {name: index for name, index in named if name is not None}
    numbers = [NUMBERED.search(last_part(name)) for name in names]
    indices = range(len(names)) if None in numbers else [int(match[1]) for match in numbers if match is not None]
    return {name: index for name, index in zip(names, indices, strict=True) if index < len(times)}


def _as_text(name: str) -> str:
    """A name need not be text."""
    return name.encode("utf-8", "replace").decode()


def _defects_of_order(names: list[str], stamp_ns: NDArray[np.int64], key: str) -> Iterator[Defect]:
    """The files of a folder that have the time of another there, or come after a gap."""
    known: dict[str, int] = {}
    folder = np.array([known.setdefault(name.rpartition("/")[0], len(known)) for name in names], np.int32)
    order = np.lexsort((stamp_ns, folder))
    for rows in np.split(order, np.flatnonzero(np.diff(folder[order])) + 1) if names else ():
        times = stamp_ns[rows]
        for index in np.flatnonzero(np.diff(times) == 0).tolist():
            message = f"the time in the name is that of {names[rows[index]]}"
            yield Defect(file=names[rows[index + 1]], kind="duplicate_time", stream=key, message=message)
        for index, gap_ns in GapFinder().gaps(times):
            message = f"no file for {gap_ns / NS_PER_S:.3f} s before this one"
            yield Defect(file=names[rows[index]], kind="gap", stream=key, message=message)


def image_stream(files: Files, names: list[str], stamp_ns: NDArray[np.int64]) -> FileStream:
    """Make a stream of image files, each read on request.

    Args:
        files: where the files are; they must stay open.
        names: their names.
        stamp_ns: their times (n,), in any order.

    Returns:
        A stream of Images in time order.
    """

    def load_images(names: tuple[str, ...], stamp_ns: NDArray[np.int64]) -> Images:
        return Images(stamp_ns=stamp_ns, names=names, load=lambda row: files.read(names[row]))

    return FileStream(names, stamp_ns, load_images)


def cloud_stream(
    files: Files, names: list[str], stamp_ns: NDArray[np.int64], decode: Callable[[bytes, str], NDArray[np.void]]
) -> FileStream:
    """Make a stream of point cloud files, each read on request.

    Args:
        files: where the files are; they must stay open.
        names: their names.
        stamp_ns: their times (n,), in any order.
        decode: makes points (m,), a structured array, of the bytes and the name of a file, or raises ArchiveError;
            called from several threads.

    Returns:
        A stream of Clouds in time order.
    """

    def clouds(names: tuple[str, ...], stamp_ns: NDArray[np.int64]) -> Clouds:
        return Clouds(stamp_ns=stamp_ns, names=names, load=lambda row: decode(files.read(names[row]), names[row]))

    return FileStream(names, stamp_ns, clouds)


def file_table(archive: Archive, files: Files, key: str) -> FileTable | None:
    """Read the text files of one row of numbers each that the description names (`rows:` with `columns` and `times`).

    Args:
        archive: the archive; defects go there, and its cache keeps the rows.
        files: where the files are.
        key: of `rows:` in the description.

    Returns:
        The table; None where no file has both a time and a row.
    """
    names, stamp_ns = timed_files(archive, files, key)
    table = FileTable(
        files, names, stamp_ns, archive.spec.rows[key].columns,
        stream=key, report=archive.defects, cache=archive.row_cache,
    )  # fmt: skip
    return table if table.count else None


def cloud_decoder(archive: Archive, key: str) -> Callable[[bytes, str], NDArray[np.void]]:
    """Make the function that decodes clouds of plain numbers, for `cloud_stream`.

    Args:
        archive: the archive.
        key: of `rows:` in the description, which has the fields of a point as `points`.

    Returns:
        A function of the bytes and the name of a file.
    """
    fields = archive.spec.rows[key].points

    def decode(data: bytes, name: str) -> NDArray[np.void]:
        return (cloud_from_floats if name.lower().endswith(FLOATS) else cloud_from_text)(data, fields)

    return decode
