"""The folders of an ACFR dataset: how one is recognised, and what an archive of its kind should have."""

import re
from pathlib import Path

from fieldplay_archive.archive import Archive, matching_files
from fieldplay_archive.files.containers import Files, folders_of, last_part
from fieldplay_messages.errors import ArchiveError

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
HEAD = 1 << 12  # bytes of a log that tell what it is
QUALIFIED = "QAsciiData"  # what the logs are called, which are read rather than their copies for Matlab
CAMERA_CALIBRATION = re.compile(r".*Camera_?Calibration", re.IGNORECASE)
RANGE_CALIBRATION = re.compile(r".*Range_?Sensors?_?Calibration", re.IGNORECASE)


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


def require_one(root: Path, files: Files) -> str:
    """The name of the one dataset below a path; ArchiveError where there are several."""
    found = sorted({_above(name) for name in files.names if FILE.fullmatch(last_part(name))})
    if len(found) > 1:
        several = ", ".join(str(root / folder) for folder in found)
        raise ArchiveError(f"{root}: expected one dataset, got {len(found)}; name one of {several}")
    inside = last_part(found[0]) if found else ""
    return inside or (root.resolve().stem if root.is_file() else root.resolve().name)


def _above(name: str) -> str:
    """The folder that has the folder of a sensor."""
    folders = folders_of(name)
    place = next((index for index, part in enumerate(folders) if FOLDER.fullmatch(part)), len(folders))
    return "/".join(folders[:place])


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
    found: dict[str, list[str]] = {}
    for key, table in archive.spec.tables.items():
        usual = key in LASERS or not (calibration or (key == SPECTRUM and RANGE_CALIBRATION.fullmatch(name)))
        names = matching_files(archive, files, key, table) if usual else files.matching(table.files, table.folder)
        found[key] = _logs_rather_than_copies(archive, names)
    return found


def _logs_rather_than_copies(archive: Archive, names: list[str]) -> list[str]:
    logs = [name for name in names if QUALIFIED.lower() in last_part(name).lower()]
    copies = [name for name in names if name not in logs]
    if logs and copies:
        archive.notes.append(f"{', '.join(copies)}: copies for Matlab, not read, as {', '.join(logs)} is there")
    return logs or names
