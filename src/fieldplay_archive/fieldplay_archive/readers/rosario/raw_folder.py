"""The raw folder of a Rosario sequence as streams."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fieldplay_archive.archive import Archive, matching_files, open_tables_of
from fieldplay_archive.files.containers import Files
from fieldplay_archive.readers.rosario.calibration import Calibration
from fieldplay_archive.readers.rosario.places import Companion, kind_of_log, odometry_by_content
from fieldplay_archive.readers.rosario.rows import Conversions, velocity
from fieldplay_archive.row_files import picture_stream, timed_files
from fieldplay_archive.tables.nmea import GGA, RMC
from fieldplay_archive.tables.table_streams import Tables, TableStream
from fieldplay_messages.stamps import NS_PER_S
from fieldplay_messages.streams import EvenStream, Stream, UntilStream

CAMERAS = ("left", "right")
LOGS = ("imu", "gps", "odometry")
TRUTH = "ground_truth"
SENTENCES = {"fix": GGA, "velocity": RMC}  # a receiver may send only one of them


@dataclass(frozen=True, kw_only=True)
class Raw:
    """The streams of a raw folder, the tables that they are made of, and the names of all logs."""

    streams: Mapping[str, Stream]
    tables: Mapping[str, Tables]
    logs: tuple[str, ...]


def open_raw(archive: Archive, files: Files, calibration: Calibration) -> Raw:
    """Look through the logs and the names of the pictures."""
    found = {key: files.matching(archive.spec.tables[key].files) for key in LOGS}
    found["odometry"] += _others_with_odometry(archive, files, [name for names in found.values() for name in names])
    logs = {key: names or matching_files(archive, files, key, archive.spec.tables[key]) for key, names in found.items()}
    logs["odometry"] = _odometry_logs(archive, files, found["odometry"])
    tables = open_tables_of(archive, {key: [(files, name) for name in names] for key, names in logs.items()})
    conversions = _conversions(archive, calibration)
    made = {
        "imu": ("imu", conversions.imu),
        "fix": ("gps", conversions.fix),
        "velocity": ("gps", velocity),
        "wheel_joints": ("odometry", conversions.wheel_joints),
        "wheel_numbers": ("odometry", conversions.wheel_numbers),
    }
    streams: dict[str, Stream] = {
        name: TableStream(tables[key], convert)
        for name, (key, convert) in made.items()
        if key in tables and (name not in SENTENCES or _has_sentence(tables[key], SENTENCES[name]))
    }
    for key in CAMERAS:
        names, stamp_ns = timed_files(archive, files, key, fraction="decimal")
        if names:
            streams[key] = picture_stream(files, names, stamp_ns)
    _note_repeated(archive, tables)
    return Raw(streams=streams, tables=tables, logs=tuple(name for names in found.values() for name in names))


def _has_sentence(tables: Tables, sentence: float) -> bool:
    return any(bool((tables.rows(index)["sentence"] == sentence).any()) for index in range(len(tables.blocks)))


def _others_with_odometry(archive: Archive, files: Files, known: list[str]) -> list[str]:
    """The files of other names that hold odometry."""
    names = odometry_by_content(files, [*known, *files.matching(archive.spec.tables[TRUTH].files)])
    if names:
        archive.notes.append(f"{', '.join(names)}: taken for odometry, by what the lines hold")
    return names


def _odometry_logs(archive: Archive, files: Files, names: list[str]) -> list[str]:
    """The raw logs where there are some: a cleaned one beside them holds the same once more."""
    raw = [name for name in names if kind_of_log(files, name) == "raw_odometry"]
    if raw and len(raw) < len(names):
        others = ", ".join(name for name in names if name not in raw)
        archive.notes.append(f"{others}: the numbers of {', '.join(raw)} again, which is read")
    return raw or names


def _conversions(archive: Archive, calibration: Calibration) -> Conversions:
    offsets = (calibration.acc_offset_mg, calibration.gyro_offset_deg_s)
    if archive.parameters["imu_offsets"] == "keep":
        offsets = (None, None)
    elif any(offset is None for offset in offsets):
        archive.notes.append("the IMU's offsets are not taken off, as no calibration file tells them")
    acc, gyro = (np.zeros(3) if offset is None else offset for offset in offsets)
    return Conversions(
        parameters=archive.parameters, constants=archive.spec.constants, acc_offset_mg=acc, gyro_offset_deg_s=gyro
    )


def _note_repeated(archive: Archive, tables: Mapping[str, Tables]) -> None:
    for table in tables["imu"].tables if "imu" in tables else ():
        if table.repeated:
            count = f"{table.repeated} of {table.count} rows have the time of the row before"
            archive.notes.append(f"{table.name}: {count}, as they came in batches; imu_stamps=even spreads them")


def open_truth(archive: Archive, truth: Companion | None) -> dict[str, Stream]:
    """The ground truth, if there is one."""
    if truth is None:
        archive.notes.append("no ground truth in the archive or beside it")
        return {}
    tables = open_tables_of(archive, {TRUTH: [(truth.files, truth.name)]})
    conversions = Conversions(parameters=archive.parameters, constants=archive.spec.constants)
    return {TRUTH: TableStream(tables[TRUTH], conversions.ground_truth)} if TRUTH in tables else {}


def imu_as_wanted(archive: Archive, stream: Stream) -> Stream:
    """The IMU up to the time, and at the times, that the parameters say."""
    until_s = archive.parameters["imu_until_s"]
    if until_s > 0:
        begin_ns = min(span.first_ns for span in stream.spans)
        stream = UntilStream(stream, begin_ns + round(until_s * NS_PER_S))
    return EvenStream(stream) if archive.parameters["imu_stamps"] == "even" else stream
