"""The archive of InSight's robotic arm (IDA) at the Planetary Data System: a bundle, a folder of products, or one."""

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.datasets.archive import (
    Archive,
    note_ignored_files,
    plausible_ns,
)
from fieldplay.datasets.base_reader import DatasetReader
from fieldplay.datasets.ida import ida_products as products_of_ida
from fieldplay.datasets.ida.calibration import (
    ParameterFile,
    check_counts,
    describe_arm,
    describe_deck,
    describe_lander,
    describe_uploads,
    geometry_rows,
    newest_before,
    read_parameter_files,
    uploads_of_files,
)
from fieldplay.datasets.ida.checks import ARM_KIND, check_lander_arm, check_rotors
from fieldplay.datasets.ida.forces import (
    COMPUTED,
    ComputedForce,
    check_forces,
    check_torques,
)
from fieldplay.datasets.ida.ida_products import DistinctTables, Labels, Product
from fieldplay.datasets.ida.lander_clock import (
    SpacecraftClock,
    check_label_times,
    clock_of,
    note_times,
)
from fieldplay.datasets.ida.motion_rows import ELAPSED, MotionFormat, MotionSpec
from fieldplay.datasets.ida.status_files import StatusFiles, StatusStream
from fieldplay.datasets.ida.streams import (
    VECTORS,
    IdaConversions,
    status_diagnostics,
    status_streams,
)
from fieldplay.datasets.ida.survey import (
    STATES,
    note_survey,
    state_record,
    survey,
)
from fieldplay.io.containers import (
    Files,
    ListedFiles,
    open_files,
    starts_as_zip,
)
from fieldplay.io.file_names import last_part
from fieldplay.io.pds4 import label_from_xml
from fieldplay.io.table import Table, TableStream
from fieldplay.streams.stream import InMemoryStream, JoinedStream, Stream

TEXTS = ("status", "history", "parameters", "labels", "places")  # the kinds of files besides the rows
DIAGNOSTICS = "diagnostics"
FIELDS = (57, 58)
Upload = tuple[int, ParameterFile]  # from when on (ns) a parameter file holds
HEAD = 1 << 14


def recognises(path: Path, files: Files) -> bool:
    """Whether a folder, a zip or a file is of this archive: by names that only it has, a label, or the columns."""
    names = [name for name in files.names if products_of_ida.name_from_file(name)]
    if names or files.matching(r"ida_sc_coordinates\.\w+"):
        return True
    tables = files.matching(r".*eu\.csv")
    if any(_has_columns(files, name) for name in tables):
        return True
    return any("insight_ida" in _lid(files, name) for name in files.matching(products_of_ida.LABEL))


def _has_columns(files: Files, name: str) -> bool:
    try:
        with files.open(name) as file:
            lines = file.read(HEAD).splitlines()
    except (ArchiveError, OSError):
        return False
    return any(line.count(b",") + 1 in FIELDS for line in lines)


def _lid(files: Files, name: str) -> str:
    try:
        return label_from_xml(files.read(name)).lid
    except ArchiveError:
        return ""


class Reader(DatasetReader):
    """Products of IDA: a bundle, a folder, or one product."""

    def open_files(self) -> Files:
        return _files_of(self.archive)

    def make_streams(self) -> Mapping[str, Stream]:
        archive, files = self.archive, self.files
        labels = products_of_ida.read_labels(archive, files)
        clock = clock_of(archive.spec)
        uploads = _uploads(archive, files, labels, clock=clock)
        motion = _motion_streams(archive, files, labels, clock=clock, uploads=uploads)
        status = _status_streams(archive, files, labels, clock=clock, motion_diagnostics=motion.get(DIAGNOSTICS))
        streams = {name: stream for name, stream in (motion | status).items() if len(stream.spans)}
        describe_lander(archive, files)
        streams |= _parameters(archive, uploads, streams=streams, motion=_extent(motion))
        read = [name for kind in TEXTS for name in files.matching(archive.spec.rows[kind].files)]
        note_ignored_files(archive, files, read=read)
        note_times(archive, streams, clock)
        archive.checks += [check_lander_arm, check_rotors, check_forces, check_torques]
        return streams


open_archive = Reader.open


def _files_of(archive: Archive) -> Files:
    """The files of a folder or zip; of one product the product and its label, of a label also what it describes."""
    root = archive.root
    if not root.is_file() or zipfile.is_zipfile(root) or starts_as_zip(root):
        return open_files(root, archive.defects)
    siblings = {path.name.lower(): path.name for path in root.parent.iterdir() if path.is_file()}
    requested = [f"{root.stem}.xml".lower()]
    if root.suffix.lower() == ".xml":
        try:
            requested += [file.name.lower() for file in label_from_xml(root.read_bytes()).files]
        except (ArchiveError, OSError):
            requested = []  # reading it again reports why
    return ListedFiles(
        root.parent, [root.name, *{siblings[name] for name in requested if name in siblings} - {root.name}]
    )


def _products(archive: Archive, files: Files, labels: Labels, *, kind: str) -> list[Product]:
    """The files of a kind, compared with their names and labels."""
    spec = archive.spec
    pattern = spec.tables[kind].files if kind in spec.tables else spec.rows[kind].files
    products = products_of_ida.products_of(files, pattern, labels)
    products_of_ida.check_names(archive, products)
    products_of_ida.check_sizes(archive, files, products)
    if not products:
        archive.notes.append(f"no file for '{kind}'")
    return products


def _motion_streams(
    archive: Archive, files: Files, labels: Labels, *, clock: SpacecraftClock, uploads: Sequence[Upload]
) -> dict[str, Stream]:
    products = _products(archive, files, labels, kind="motion")
    all_tables = (_table(archive, files, product, clock=clock) for product in products)
    tables = [table for table in all_tables if table is not None]
    check_label_times(archive, products, clock)
    _note_tables(archive, tables)
    if not tables:
        return {}
    distinct = DistinctTables(tables, own=[ELAPSED])
    results = survey(archive, distinct)
    note_survey(archive, results)
    conversions = IdaConversions(parameters=archive.parameters, tools=_tool_names(archive))
    streams: dict[str, Stream] = {name: InMemoryStream(state_record(results, name)) for name in STATES}
    for name, (needed, convert) in conversions.streams().items():
        if not needed or not results.columns.isdisjoint(needed):
            streams[name] = TableStream(distinct, convert)
    arm = next((spec for spec in archive.spec.derived if spec.kind == ARM_KIND), None)
    if arm is not None and {"tau1", "stat", "tool"} <= results.columns:
        settings = arm.with_parameters(archive.parameters).settings
        streams[COMPUTED] = TableStream(distinct, ComputedForce(settings, uploads, archive.parameters))
    return streams


def _tool_names(archive: Archive) -> tuple[str, ...]:
    """The names of the tools by their number, two of which the sources call the other way round."""
    names = list(archive.spec.constants["tools"])
    if archive.parameters["tool_numbering"] == "flight":
        names[2], names[3] = names[3], names[2]
    return tuple(names)


def _table(archive: Archive, files: Files, product: Product, *, clock: SpacecraftClock) -> Table | None:
    """The rows of one file, None where it has none that can be read; a label that says otherwise is reported."""
    described = archive.spec.tables["motion"]

    def report(message: str) -> None:
        archive.defects(Defect(file=product.file, kind="label_mismatch", message=message))

    spec = MotionSpec(
        layouts=described.layouts,
        ranges=described.ranges,
        product=product,
        clock=clock,
        report=report,
    )
    try:
        table = Table(
            files, product.file, spec, archive.defects,
            plausible_ns=plausible_ns(archive.spec), cache=archive.row_cache, is_one_of_many=True,
        )  # fmt: skip
    except (ArchiveError, OSError) as error:
        archive.defects(Defect(file=product.file, kind="unreadable_table", message=str(error)))
        return None
    for column in _missing_columns(table, described.layouts):
        message = f"column {column}: expected it by the specification, got none in the heading or the label"
        archive.defects(Defect(file=product.file, kind="missing_column", message=f"{message}; what is left plays"))
    expected_count = (
        None if product.described is None or product.described.table is None else product.described.table.records
    )
    if expected_count is not None and expected_count != table.count:
        report(f"expected {expected_count} rows by the label {product.label_file}, got {table.count} that can be read")
    return table if table.blocks else None


def _missing_columns(table: Table, layouts: Sequence[Sequence[str]]) -> list[str]:
    """The columns that a file lacks of the layout that it lacks the fewest of."""
    assert isinstance(table.format, MotionFormat)
    own = set(table.format.own.columns)
    return min(([name for name in layout if name not in own] for layout in layouts), key=len)


def _note_tables(archive: Archive, tables: Sequence[Table]) -> None:
    for mapping in sorted({table.format.mapping for table in tables}):
        names = [table.name for table in tables if table.format.mapping == mapping]
        archive.notes.append(f"columns by {mapping}: {_some(names)}")
    formats = [(table.name, table.format) for table in tables if isinstance(table.format, MotionFormat)]
    if relative := [name for name, form in formats if form.shift_ns]:
        how = "column 1 is not the spacecraft clock: its first row is taken to be at the start in the name or label"
        archive.notes.append(f"{how}: {_some(relative)}")
    if coarse := [name for name, form in formats if form.finer is not None]:
        how = "column 1 is too coarse to separate the rows: their times are by elapsed_time, from the first row on"
        archive.notes.append(f"{how}: {_some(coarse)}")


def _some(names: Sequence[str], most: int = 3) -> str:
    shown = ", ".join(map(last_part, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _status_streams(
    archive: Archive, files: Files, labels: Labels, *, clock: SpacecraftClock, motion_diagnostics: Stream | None
) -> dict[str, Stream]:
    """The streams of status and history; the diagnostics go beside those that are there already."""
    kinds = ("status", "history")
    products = [p for kind in kinds for p in _products(archive, files, labels, kind=kind)]
    if not products:
        return {}
    status = StatusFiles(archive, files, products, clock=clock, vectors=VECTORS)
    if status.repeated:
        text = "duplicate states in status and history files, counted once"
        archive.notes.append(f"{text}: {status.repeated}")
    streams: dict[str, Stream] = {
        name: StatusStream(status, kind, convert) for name, (kind, convert) in status_streams().items()
    }
    diagnostics = [StatusStream(status, kind, status_diagnostics) for kind in status.spans]
    streams[DIAGNOSTICS] = JoinedStream([*diagnostics, *([] if motion_diagnostics is None else [motion_diagnostics])])
    return streams


def _extent(streams: Mapping[str, Stream]) -> tuple[int, int] | None:
    """The first and the last time of these streams."""
    spans = [span for stream in streams.values() for span in stream.spans]
    return (min(span.first_ns for span in spans), max(span.last_ns for span in spans)) if spans else None


def _uploads(archive: Archive, files: Files, labels: Labels, *, clock: SpacecraftClock) -> list[Upload]:
    """The parameter files in the order of time, and from when on each holds."""
    parameter_files = read_parameter_files(archive, files, _products(archive, files, labels, kind="parameters"))
    check_counts(archive, parameter_files)
    stamps = clock.unix_ns_from_reading(np.array([file.reading_ns for file in parameter_files], np.int64)).tolist()
    archive.uploads = uploads_of_files(parameter_files, stamps)
    return list(zip(stamps, parameter_files, strict=True))


def _parameters(
    archive: Archive,
    uploads: Sequence[Upload],
    *,
    streams: Mapping[str, Stream],
    motion: tuple[int, int] | None,
) -> dict[str, Stream]:
    """The arm's geometry by the parameter files, else by the description.

    The description has the numbers that hold at the first row of motion: states may begin long before it.
    """
    parameter_files, stamps = [file for _, file in uploads], [stamp for stamp, _ in uploads]
    extent = _extent(streams)
    if extent is None and not parameter_files:
        return {}
    first_ns = stamps[0] if extent is None else extent[0]
    described_ns, last_ns = motion or extent or (first_ns, first_ns)
    first = newest_before(parameter_files, stamps, described_ns)
    describe_arm(archive, first)
    later = [file for at, file in uploads if described_ns < at <= last_ns]
    deck = first or next(iter(later or parameter_files), None)
    describe_deck(archive, deck)
    describe_uploads(archive, later, deck)
    return {"arm_geometry": InMemoryStream(geometry_rows(parameter_files, stamps, first_ns))}
