"""The sets of the report: how one is recognised, which one an archive is, and what it should have."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from fieldplay.core.errors import ArchiveError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import Archive, matching_files
from fieldplay.io.containers import Files
from fieldplay.io.file_names import folders_of, last_part

LASERS = ("laser_horizontal", "laser_vertical", "laser_port", "laser_starboard")
SPECTRUM = "radar_spectrum"
FOLDER = re.compile(
    r"Laser(Horizontal|Vertical|Port|Starboard)|Nav|Payload|RadarRangeBearing|RadarSpectrum|VideoIR|VideoVisual"
    r"|Calibration|matlabAsciiLaserData",
    re.IGNORECASE,
)
FILE = re.compile(
    r"RangeBearingQAsciiData\.txt|NavQAsciiData\.txt|HSR_ScalarPoints.*\.txt|PayloadData.*\.txt"
    r"|VideoLogAscii(Calibration)?\.txt|matlab.*Laser.*\.txt",
    re.IGNORECASE,
)
LINE = re.compile(
    rb"\s*\*?\s*\d{9,10}\.\d+[\s,]+"
    rb"(RANGE_DATA|RANGE_REFLECTIVITY_DATA|NAV_DATA|VISION_FRAME|SENSOR_DATA|BRAKE_DATA|SERVO_SETPOINT_DATA"
    rb"|ACTUATOR_SETPOINT_DATA|VELOCITY_TURN_RATE_DATA|[-+]?\d+\.?\d*([\s,]+[-+]?\d+\.?\d*){5})[\s,]",
    re.IGNORECASE,
)
SHOWN_SETS = 5
HEAD = 1 << 12  # bytes of a log that identify it
QUALIFIED = "QAsciiData"  # what the logs are called, which are read rather than their copies for Matlab
CAMERA_CALIBRATION = re.compile(r".*Camera_?Calibration", re.IGNORECASE)
RANGE_CALIBRATION = re.compile(r".*Range_?Sensors?_?Calibration", re.IGNORECASE)
STATIC = "static scene"
NEAR_S = 60.0  # sensors start before and end after the interval in which all of them have data
ARCHIVE_ENDINGS = r"\.(zip|tar|tgz|gz)$"


def recognises(path: Path, files: Files) -> bool:
    """Whether a folder or a zip holds a dataset: by files in the folders of its sensors, else by the lines of a log."""
    logs = [name for name in files.names if FILE.fullmatch(last_part(name))]
    folders = {part.lower() for name in logs for part in folders_of(name) if FOLDER.fullmatch(part)}
    return bool(folders - {"calibration"}) or any(_has_lines(files, name) for name in logs)


def _has_lines(files: Files, name: str) -> bool:
    try:
        with files.open(name) as file:
            head = file.read(HEAD)
    except (ArchiveError, OSError):
        return False
    return any(LINE.match(line + b"\n") for line in head.splitlines())


def single_dataset_name(root: Path, files: Files) -> str:
    """The name of the one dataset below a path; ArchiveError where there are several."""
    folders = sorted({_dataset_folder(name) for name in files.names if FILE.fullmatch(last_part(name))})
    if len(folders) > 1:
        raise ArchiveError(f"{root}: expected one dataset, got {len(folders)}; {_advice(root, folders)}")
    inside = last_part(folders[0]) if folders else ""
    return inside or (root.resolve().stem if root.is_file() else root.resolve().name)


def _advice(root: Path, sets: list[str]) -> str:
    """What to do with a folder or a zip of several sets."""
    shown = ", ".join(str(root / folder) for folder in sets[:SHOWN_SETS])
    more = f" and {len(sets) - SHOWN_SETS} more" if len(sets) > SHOWN_SETS else ""
    one = f"name one of {shown}{more}"
    if root.is_file():
        return f"{one}: unpack it first"
    parents = sorted({str((root / folder).parent / "*") for folder in sets})
    patterns = " ".join(f"'{parent}'" for parent in parents)
    return f"{one}, or take all of them with: fieldplay batch {patterns} --do check,report --out DIR"


def _dataset_folder(name: str) -> str:
    """The folder that has the folder of a sensor."""
    folders = folders_of(name)
    depth = next((index for index, part in enumerate(folders) if FOLDER.fullmatch(part)), len(folders))
    return "/".join(folders[:depth])


def is_camera_calibration(name: str, files: Files) -> bool:
    """Whether this is a set for a camera's calibration: lasers, one camera, and the toolbox's results."""
    has_results = any(part.lower() == "calibration" for file in files.names for part in folders_of(file))
    return has_results or bool(CAMERA_CALIBRATION.fullmatch(name))


def has_cameras(name: str, files: Files) -> bool:
    """Whether a set of this kind has both cameras: one for a camera's calibration has that one, one for ranges none."""
    return not (is_camera_calibration(name, files) or RANGE_CALIBRATION.fullmatch(name))


def table_files(archive: Archive, files: Files, name: str) -> dict[str, list[str]]:
    """The files of each table; what a set of this kind should have and has not is reported."""
    calibration = is_camera_calibration(name, files)
    files_by_table: dict[str, list[str]] = {}
    for key, table in archive.spec.tables.items():
        usual = key in LASERS or not (calibration or (key == SPECTRUM and RANGE_CALIBRATION.fullmatch(name)))
        names = matching_files(archive, files, key, table) if usual else files.matching(table.files, table.folder)
        files_by_table[key] = _logs_rather_than_copies(archive, names)
    return files_by_table


def _logs_rather_than_copies(archive: Archive, names: list[str]) -> list[str]:
    logs = [name for name in names if QUALIFIED.lower() in last_part(name).lower()]
    copies = [name for name in names if name not in logs]
    if logs and copies:
        archive.notes.append(f"{', '.join(copies)}: copies for Matlab, not read, as {', '.join(logs)} is there")
    return logs or names


@dataclass(frozen=True, kw_only=True)
class KnownSet:
    """A set as the report's table has it: times in unix seconds."""

    number: int
    name: str
    start_s: float
    end_s: float
    duration_s: float
    area: str
    condition: str
    notes: str = ""

    @property
    def recording(self) -> dict[str, str]:
        """The facts that a bag made of this set carries in its metadata; empty ones are left out."""
        facts = {"name": self.name, "area": self.area, "condition": self.condition, "notes": self.notes}
        return {key: text for key, text in facts.items() if text}

    @property
    def is_static(self) -> bool:
        """Whether the vehicle stands before the scene that the report measured."""
        return self.area == STATIC


def sets_of(constants: Mapping[str, Any]) -> list[KnownSet]:
    """All sets of the description."""
    return [KnownSet(number=number, **entry) for number, entry in constants["sets"].items()]


def set_of_name(name: str, constants: Mapping[str, Any]) -> KnownSet | None:
    """The set whose folder is called so, whatever the case and the signs between the words."""
    plain = _normalise(name)
    return next((known for known in sets_of(constants) if _normalise(known.name) == plain), None)


def set_at(first_ns: int, last_ns: int, constants: Mapping[str, Any]) -> KnownSet | None:
    """The set that was recorded at the time, most of it where several lie near."""
    first_s, last_s = first_ns / NS_PER_S, last_ns / NS_PER_S

    def shared_s(known: KnownSet) -> float:
        return min(last_s, known.end_s + NEAR_S) - max(first_s, known.start_s - NEAR_S)

    near = [known for known in sets_of(constants) if shared_s(known) > 0]
    return max(near, key=lambda known: min(last_s, known.end_s) - max(first_s, known.start_s), default=None)


def calibration_set(archive: Archive) -> Mapping[str, Any] | None:
    """What is said of the calibration set that the archive's folder is called after."""
    plain = _normalise(archive.root.resolve().name)
    sets: Mapping[str, Mapping[str, Any]] = archive.spec.constants["calibration_sets"]
    return next((entry for name, entry in sets.items() if _normalise(name) == plain), None)


def note_set(archive: Archive) -> KnownSet | None:
    """Say which set of the report this is; None where it is none of them."""
    name, constants = archive.root.resolve().name, archive.spec.constants
    calibration = calibration_set(archive)
    if calibration is not None:
        archive.notes.append(f"{name}: the report's set for calibration: {calibration['about']}")
        archive.recording.update(name=name, notes=f"calibration: {calibration['about']}")
        return None
    spans = [span for stream in archive.streams.values() for span in stream.spans]
    first_ns, last_ns = min((s.first_ns for s in spans), default=0), max((s.last_ns for s in spans), default=0)
    named, timed = set_of_name(name, constants), set_at(first_ns, last_ns, constants)
    if re.match(r"13\D", name) and timed is None:
        archive.notes.append(f"{name}: the report has no set 13")
    known = timed or named
    if known is not None:
        archive.notes.append(_about(known, archive))
        archive.notes.append(_camera_settings(known, constants))
        archive.recording.update(known.recording)
    if named is not None and named != timed:
        when = f"a time of {timed.name}" if timed else "another time"
        archive.notes.append(f"warning: the folder is called {name}, but what it holds was recorded at {when}")
    return known


def _camera_settings(known: KnownSet, constants: Mapping[str, Any]) -> str:
    """The visual camera's gain and rate in a set."""
    gain, rates = constants["visual_camera_gain"], constants["visual_camera_hz"]
    when = "night" if known.number in gain["night_sets"] else "day"
    rate_hz = rates["others"].get(known.number, rates["static" if known.is_static else "dynamic"])
    return f"visual camera: gain {gain[when]} ({when}), {rate_hz} Hz by the report"


def _about(known: KnownSet, archive: Archive) -> str:
    offset = timezone(timedelta(seconds=archive.spec.constants["utc_offset_s"]))
    start = datetime.fromtimestamp(known.start_s, offset)
    facts = ", ".join(text for text in (known.area, known.condition, known.notes) if text)
    return (
        f"set {known.name} of the report: {facts}; {start:%Y-%m-%d %H:%M:%S} local time, "
        f"{known.duration_s:.3f} s in which all sensors have data"
    )


def _normalise(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", re.sub(ARCHIVE_ENDINGS, "", name.lower()))
