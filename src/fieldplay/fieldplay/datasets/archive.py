"""An open archive: its streams, notes and defects."""

import math
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldplay.bags.bag_topics import Bag
from fieldplay.core.errors import (
    ArchiveError,
    Defect,
    UsageError,
    unknown_name,
)
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.spec import (
    DatasetParameter,
    DatasetSpec,
    ImuNoise,
    RowFiles,
    TableFiles,
)
from fieldplay.io.containers import Files
from fieldplay.io.table import GroupStream, Table, Tables, TableStream, Watch
from fieldplay.io.table_format import ExpectedUnit
from fieldplay.io.table_rows import RowCache, RowsSpec, unit_of_digits
from fieldplay.streams.stream import Stream

if TYPE_CHECKING:
    from fieldplay.datasets.origins import Origin

SHOWN = 20  # defects listed in a summary
LISTED_PER_KIND = 1000
OTHERS_SHOWN = 5
MAX_S = 2**31 - 1  # what the seconds of a message can hold, up to 2038
NOISE_FACTOR = "imu_noise_factor"  # a parameter of datasets with known IMU noise
WARNING = "warning: "  # prefix of notes that are shown even where notes are not
MEASURED = "measured: "  # how notes of what was measured in the data start


class IssueLog:
    """Collects defects; call it with each.

    All are counted, the first thousand of each kind in a file are kept. Files that are one row each, such as images,
    count together as their stream. Calls from several threads are safe.
    """

    def __init__(self) -> None:
        self.listed: list[Defect] = []
        self.counts: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def __call__(self, defect: Defect) -> None:
        key = (defect_scope(defect), defect.kind)
        with self._lock:
            self.counts[key] += 1
            if self.counts[key] <= LISTED_PER_KIND:
                self.listed.append(defect)

    def join(self, listed: Sequence[Defect], counts: Counter[tuple[str, str]]) -> None:
        """Add the defects that another process found in the same archive; those that both found count once.

        Args:
            listed: the defects that it kept.
            counts: its counts by file and kind.
        """
        known = set(self.listed)
        more = counts - Counter((defect_scope(defect), defect.kind) for defect in listed)
        for defect in listed:
            if defect not in known:
                self(defect)
        self.counts.update(more)

    @property
    def total(self) -> int:
        """How many defects there are, those that are not kept included."""
        return self.counts.total()

    @property
    def dropped(self) -> Counter[tuple[str, str]]:
        """How many defects are counted but not kept, by file and kind."""
        return self.counts - Counter((defect_scope(defect), defect.kind) for defect in self.listed)

    def summary_lines(self) -> list[str]:
        """Describe the defects in lines of text.

        Returns:
            A line of counts by kind, then the first defects of each file; nothing where there are none.
        """
        if not self.total:
            return []
        kinds: Counter[str] = Counter()
        for (_, kind), count in self.counts.items():
            kinds[kind] += count
        counted = f"{self.total} defect{'s' if self.total > 1 else ''}"
        lines = [f"{counted}: " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())]
        shown = self._first_of_each_file()
        lines += [f"  {defect}" for defect in shown]
        if self.total > len(shown):
            lines.append(f"  and {self.total - len(shown)} more: fieldplay check lists them")
        return lines

    def _first_of_each_file(self) -> list[Defect]:
        """The first defects of each file: one at least, however many files there are."""
        of_file = Counter(defect.file for defect in self.listed)
        most, shown = max(SHOWN // max(len(of_file), 1), 1), []
        seen: Counter[str] = Counter()
        for defect in self.listed:
            seen[defect.file] += 1
            if seen[defect.file] <= most:
                shown.append(defect)
        return shown


def file_of_span(archive: "Archive", stream: str, index: int) -> str:
    """Name the file that a span of a stream was read from.

    Args:
        archive: the archive.
        stream: the id of the stream.
        index: of the span.

    Returns:
        The name of the file, or of the archive where the span is of several files or of none.
    """
    own = archive.streams.get(stream)
    return (
        own.file(index) if isinstance(own, TableStream | GroupStream) and index < len(own.spans) else archive.root.name
    )


def defect_scope(defect: Defect) -> str:
    """Name the scope within which a defect is counted.

    Args:
        defect: the defect.

    Returns:
        Its file, or its stream where files are one row each.
    """
    is_of_many = defect.row is not None or defect.sample is not None
    return defect.file if is_of_many or defect.stream is None else defect.stream


@dataclass(frozen=True, kw_only=True)
class ParameterUpload:
    """Parameters that a robot had from a time on.

    Args:
        file: the name of the file that has them.
        stamp_ns: the time from which they hold.
        sets: values as text, by set and key.
    """

    file: str
    stamp_ns: int
    sets: Mapping[str, Mapping[str, str]]

    def changes_from(self, before: "ParameterUpload") -> list[tuple[str, str, str | None, str | None]]:
        """Compare with an earlier upload.

        Args:
            before: the earlier upload.

        Returns:
            Set, key, value before and value now of all that differ; None where there is no value.
        """
        changes = []
        for name in dict.fromkeys((*before.sets, *self.sets)):
            old, new = before.sets.get(name, {}), self.sets.get(name, {})
            keys = dict.fromkeys((*old, *new))
            changes += [(name, key, old.get(key), new.get(key)) for key in keys if old.get(key) != new.get(key)]
        return changes


@dataclass(kw_only=True)
class Archive(AbstractContextManager["Archive"]):
    """An open archive: its streams by id, in the order of the dataset's description, with notes and defects.

    A reader fills it in; everything after the reader uses `spec` and `parameters` from here.

    Args:
        root: the folder or file.
        spec: the dataset's description; a reader may replace it, for instance if the archive has its own calibration.
        parameters: the parameters of the dataset, defaults included.
        streams: streams by id.
        notes: lines of text about unusual facts; those that start with `warning: ` are always shown.
        defects: collects defects; call it with a Defect.
        missing: files of the dataset that are not there: no defects unless the whole dataset is requested.
        on_close: resources that are closed with the archive.
        checks: functions that measure and report, run by `info`, `check` and `convert`.
        slow_checks: functions that `check` alone runs.
        row_cache: keeps the parsed rows of all tables.
        bag: the bag that it is, where it is of no dataset.
        uploads: parameter files of the robot in time order.
        origin: the archive of which it was made, where it is a bag of ours.
        topic_streams: topic streams by selection, made once per command.
        recording: facts of the recording by name, such as name, area, condition.
    """

    root: Path
    spec: DatasetSpec
    parameters: Mapping[str, Any]
    streams: dict[str, Stream] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    defects: IssueLog = field(default_factory=IssueLog)
    missing: list[Defect] = field(default_factory=list)  # files of the dataset; no defects unless all are asked for
    on_close: ExitStack = field(default_factory=ExitStack)
    checks: list[Callable[["Archive"], None]] = field(default_factory=list)
    slow_checks: list[Callable[["Archive"], None]] = field(default_factory=list)  # which `check` alone runs
    row_cache: RowCache = field(default_factory=RowCache)  # of all tables
    bag: Bag | None = None  # that it is, where it is of no dataset
    uploads: list[ParameterUpload] = field(default_factory=list)  # parameter files, in the order of time
    origin: "Origin | None" = None  # the archive of which it was made, where it is a bag of ours
    topic_streams: list[tuple[Any, Any]] = field(default_factory=list)  # what was made of it for some selections
    recording: dict[str, str] = field(default_factory=dict)  # facts of the recording: name, area, condition, notes

    def note_missing(self, file: str, message: str, *, stream: str | None = None) -> None:
        """Note a file of the dataset that is not there, as in a partial download.

        Args:
            file: its name for messages.
            message: what was expected, and what follows from its absence.
            stream: the id of the stream that it would have been.
        """
        self.missing.append(Defect(file=file, kind="missing_file", stream=stream, message=message))
        self.notes.append(str(self.missing[-1]))

    @property
    def imu_noise(self) -> ImuNoise | None:
        """The noise of the dataset's IMU, scaled as its parameters say; None where the description has none."""
        return imu_noise_of(self.spec, self.parameters)

    @property
    def warnings(self) -> list[str]:
        """The notes that matter to everybody who uses the data."""
        return [note for note in self.notes if note.startswith(WARNING)]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the files, and delete temporary ones."""
        self.on_close.close()
        self.row_cache.close()


def imu_noise_of(spec: DatasetSpec, parameters: Mapping[str, Any]) -> ImuNoise | None:
    """Compute the noise of a dataset's IMU.

    Args:
        spec: the dataset's description.
        parameters: its parameters; `imu_noise_factor` scales the noise.

    Returns:
        The noise; None where the description has none.
    """
    return None if spec.imu_noise is None else spec.imu_noise.scale(float(parameters.get(NOISE_FACTOR, 1.0)))


def open_tables(archive: Archive, files: Files) -> dict[str, Tables]:
    """Parse the tables that the description names (`tables:`), each file once.

    Args:
        archive: the archive; defects and notes go there, and its cache keeps the rows.
        files: where the tables are.

    Returns:
        Tables by the key of the description. A kind without any readable table is left out, and noted or reported.
    """
    names = {key: matching_files(archive, files, key, table) for key, table in archive.spec.tables.items()}
    return open_tables_of(archive, {key: [(files, name) for name in file_names] for key, file_names in names.items()})


def open_tables_of(
    archive: Archive,
    file_lists: Mapping[str, Sequence[tuple[Files, str]]],
    *,
    own: Mapping[str, RowsSpec] = MappingProxyType({}),
    watch: Callable[[str, str], Watch | None] = lambda key, file: None,
) -> dict[str, Tables]:
    """Parse tables in given files, for kinds that the file names do not determine.

    Args:
        archive: the archive; defects and notes go there, and its cache keeps the rows.
        file_lists: by key of the description, where each file is and its name.
        own: formats that only the reader knows, by key, in place of the description's layouts.
        watch: makes, for a key and a file, an object whose `add` sees the rows of each block while the file is parsed,
            in the order of the file; or None.

    Returns:
        Tables by key. A kind without any readable table is left out, and reported.
    """
    tables_by_kind: dict[str, list[Table]] = {}
    for key, here in file_lists.items():
        spec = own.get(key) or archive.spec.tables[key].rows_spec(_units(archive, key))
        tables_by_kind[key] = _tables_of(archive, key, [(files, name, spec, watch(key, name)) for files, name in here])
    _note_mappings(archive, [table for tables in tables_by_kind.values() for table in tables])
    return {key: Tables(tables) for key, tables in tables_by_kind.items() if tables}


def _note_mappings(archive: Archive, tables: list[Table]) -> None:
    """Note how columns were identified, a line for each method."""
    for mapping in sorted({table.format.mapping for table in tables}):
        names = ", ".join(table.name for table in tables if table.format.mapping == mapping)
        archive.notes.append(f"columns by {mapping}: {names}")
    units = {
        table.name: {unit_of_digits(digits) for digits in table.format.dialect.digits.values()}
        for table in tables
        if not getattr(table.format, "has_known_clocks", False)
    }
    for unit in sorted({unit for own_units in units.values() for unit in own_units}):
        names = ", ".join(name for name, own_units in units.items() if unit in own_units)
        archive.notes.append(f"times taken for {unit}, as they are so large: {names}")


def _tables_of(archive: Archive, key: str, entries: Sequence[tuple[Files, str, RowsSpec, Watch | None]]) -> list[Table]:
    tables: list[Table] = []
    for files, name, spec, watch in entries:
        try:
            table = Table(
                files, name, spec, archive.defects,
                plausible_ns=plausible_ns(archive.spec), cache=archive.row_cache, watch=watch,
                limits=archive.spec.tables[key].limits,
            )  # fmt: skip
        except (ArchiveError, OSError) as error:
            archive.defects(Defect(file=name, kind="unreadable_table", message=str(error)))
            continue
        if table.open_row is not None and archive.spec.tables[key].tagged_lines is not None:
            cut = "the file ends without a line end: its last number may be cut"
            archive.notes.append(f"warning: {name}:{table.open_row}: {cut}")
        if tables and _columns_of(table) != _columns_of(tables[0]):
            message = f"expected the columns of {tables[0].name}, got others"
            archive.defects(Defect(file=name, kind="unreadable_table", message=message))
        elif table.blocks:
            tables.append(table)
    return tables


def _units(archive: Archive, key: str) -> dict[str, ExpectedUnit]:
    """The units of a table's columns; a parameter that is not at its default was chosen."""
    units = {}
    for column, unit in archive.spec.tables[key].units.items():
        parameter = archive.spec.parameters.get(unit)
        chosen = unit if parameter is None else archive.parameters[unit]
        units[column] = ExpectedUnit(str(chosen), is_chosen=parameter is not None and chosen != parameter.default)
    return units


def _columns_of(table: Table) -> set[str]:
    dialect = table.format.dialect
    return {*dialect.clocks, *dialect.numbers}


def matching_files(archive: Archive, files: Files, key: str, requested: TableFiles | RowFiles) -> list[str]:
    """List the files of one kind; that there are none is noted.

    Args:
        archive: the archive.
        files: the files to search.
        key: what the description calls the kind.
        requested: the entry of the description, with the pattern of the names.

    Returns:
        The names, sorted.
    """
    names = files.matching(requested.files, requested.folder)
    if not names and requested.optional:
        archive.notes.append(f"no file for '{key}'")
    elif not names:
        message = f"expected files for '{key}' of this name, got none; the rest plays"
        archive.note_missing(requested.shown, message, stream=key)
    return names


def note_ignored_files(archive: Archive, files: Files, *, read: Sequence[str] = ()) -> None:
    """Note which files are not read, and why.

    Args:
        archive: the archive; `ignored_files` of its description has reasons by pattern.
        files: all files.
        read: names of further files that the reader uses.
    """
    spec = archive.spec
    for pattern, why in spec.ignored_files.items():
        for name in files.matching(pattern):
            archive.notes.append(f"{name}: {why}")
    patterns = [(table.files, table.folder) for table in spec.tables.values()]
    patterns += [(rows.files, rows.folder) for rows in spec.rows.values()]
    patterns += [(pattern, "") for pattern in spec.ignored_files]
    known = {*read, *(name for pattern, folder in patterns for name in files.matching(pattern, folder))}
    others = [name for name in files.names if name not in known]
    if others:
        shown = ", ".join(others[:OTHERS_SHOWN]) + (", ..." if len(others) > OTHERS_SHOWN else "")
        archive.notes.append(f"files of other names, which are not read: {len(others)} ({shown})")


def sample_indices(count: int, most: int) -> list[int]:
    """Choose indices spread evenly over a sequence.

    Args:
        count: the length of the sequence.
        most: the largest number of indices.

    Returns:
        Ascending indices, the first and the last of the sequence among them.

    Example:
        >>> sample_indices(10, 3)
        [0, 4, 9]
    """
    return sorted({int(index) for index in np.linspace(0, count - 1, min(most, count))})


def plausible_ns(spec: DatasetSpec) -> tuple[int, int]:
    """Convert the description's plausible years.

    Args:
        spec: the dataset's description.

    Returns:
        The first and the last time that a row can have, in ns since 1970; others are defects.
    """
    first, last = (int(datetime(year, 1, 1, tzinfo=timezone.utc).timestamp()) for year in spec.plausible_years)
    return first * NS_PER_S, min(last, MAX_S) * NS_PER_S


def chosen_parameters(spec: DatasetSpec, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Validate the parameters of a dataset.

    Args:
        spec: the dataset's description.
        chosen: values by name, of those that differ from their defaults.

    Returns:
        All parameters by name, defaults included; numbers are of the type of the default.

    Raises:
        UsageError: a parameter is unknown, or its value is no choice or of another type.
    """
    values: dict[str, Any] = {name: parameter.default for name, parameter in spec.parameters.items()}
    for name, value in chosen.items():
        if name not in spec.parameters:
            raise UsageError(unknown_name(name, spec.parameters, what="parameter", owner=spec.name))
        values[name] = _parameter_value(name, value, spec.parameters[name])
    return values


def _parameter_value(name: str, value: Any, parameter: DatasetParameter) -> Any:
    """A value as the parameter's default is: one of the choices, or of the default's type."""
    if parameter.choices:
        for choice in parameter.choices:
            if value == choice and isinstance(value, bool) == isinstance(choice, bool):
                return choice
        raise UsageError(f"parameter {name}: expected one of {list(parameter.choices)}, got {value!r}")
    if isinstance(parameter.default, float) and not isinstance(value, bool):
        with suppress(TypeError, ValueError, OverflowError):  # YAML takes 1e-3 for a text
            if math.isfinite(float(value)):
                return float(value)
    elif type(value) is type(parameter.default):
        return value
    raise UsageError(f"parameter {name}: expected a value such as {parameter.default!r}, got {value!r}")


# What is measured in an archive about what its papers leave open: reported where a parameter does not fit.


@dataclass(frozen=True)
class Measurement:
    """What a check measured about something that the papers leave open.

    Args:
        text: the result as a line of text, with the numbers.
        parameter: the parameter that it speaks for, or empty.
        fits: the value of the parameter that fits; None where none does.
        doubt: what follows the text where the result is not as expected, which makes it a warning; else None.
    """

    text: str
    parameter: str = ""
    fits: str | float | None = None
    doubt: str | None = field(default=None, kw_only=True)


def measure(archive: Archive, *measurements: Measurement, file: str = "") -> None:
    """Note measurements, and report a defect for each that contradicts a parameter.

    Args:
        archive: the archive.
        measurements: the measurements.
        file: the name of the file for defects.
    """
    for measurement in measurements:
        if measurement.doubt is not None:
            archive.notes.append(f"{WARNING}{measurement.text}{measurement.doubt}")
            continue
        archive.notes.append(f"measured: {measurement.text}")
        chosen = archive.parameters.get(measurement.parameter)
        if measurement.parameter == "" or (measurement.fits is not None and chosen == measurement.fits):
            continue
        remedy = f"; {measurement.parameter}={chosen} does not fit"
        if measurement.fits is not None:
            remedy += f", --set {measurement.parameter}={measurement.fits} would"
        archive.defects(Defect(file=file, kind="unit_mismatch", message=measurement.text + remedy))
