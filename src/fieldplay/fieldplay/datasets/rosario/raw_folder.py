"""The raw folder of a Rosario sequence: rows of its logs become records in SI units; see docs/datasets/rosario.md."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.bags.bag_detection import PART, name_of_bag
from fieldplay.core.errors import ArchiveError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import Archive, matching_files, open_tables_of
from fieldplay.datasets.rosario.calibration import Calibration
from fieldplay.datasets.rosario.nmea import BOM, GGA, LINE, RMC, NmeaSpec
from fieldplay.datasets.row_files import image_stream, timed_files
from fieldplay.datasets.spec import ImuNoise
from fieldplay.geometry import axes
from fieldplay.io.containers import Files, FolderFiles, ListedFiles
from fieldplay.io.file_names import last_part
from fieldplay.io.table import Tables, TableStream
from fieldplay.io.table_rows import TimedRows
from fieldplay.messages import records
from fieldplay.streams.stream import EvenlyTimedStream, Stream, TruncatedStream

IMAGE_NAME = re.compile(r"(left|right)_\d{9,10}\.\d+\.png", re.IGNORECASE)
LOG = re.compile(r"(imu|gps|odometry.*)\.(log|txt)", re.IGNORECASE)
BAG = re.compile(r".+\.bag(\.\d+)?", re.IGNORECASE)
STORAGE = (".mcap", ".db3")
METADATA = "metadata.yaml"
NUMBER = re.compile(r"seq(?:uence)?[_-]?0*([1-9]\d*)(?!\d)", re.IGNORECASE)
COMPANION_NUMBER = re.compile(r"[a-z_-]+0*([1-9]\d*)\D*", re.IGNORECASE)
TIME = rb"\d{9,10}\.\d+"
NUMBER_TEXT = rb"[+-]?\d+\.?\d*(?:[eE][+-]?\d+)?"
HEAD = 1 << 13  # bytes of a log that identify it
RAW_ODOMETRY = re.compile(TIME + rb"\s+\S+\s+[^,\s]*(?:,[^,]*){17}")
IMU_LINE = re.compile(TIME + rb"(?:\s+\S+)*(?:\s+" + NUMBER_TEXT + rb"){6}")
CLEAN_LINE = re.compile(TIME + rb"(?:[\s,]+" + NUMBER_TEXT + rb"){3}[\s,]+[+-]?1(?:\.0*)?")
NMEA_LINE = re.compile(LINE.replace("(?<", "(?P<").encode())
ODOMETRY = ("raw_odometry", "odometry")
TEXT = r".+\.(log|txt|csv|dat|asc)"
START_TOLERANCE_S = 120
CAMERAS = ("left", "right")
LOGS = ("imu", "gps", "odometry")
TRUTH = "ground_truth"
SENTENCES = {  # a receiver may send only one of them
    "fix": GGA, "satellites": GGA, "fix_quality": GGA, "hdop": GGA, "velocity": RMC, "receiver_clock": RMC,
}  # fmt: skip
LARGEST_CODE = 255
UNKNOWN_VARIANCE = 1e6
STANDARD_GRAVITY_M_S2 = 9.80665
M_S_PER_KNOT = 0.514444
RAD_S_PER_RPM = 2 * np.pi / 60
NO_FIX, FIX, SBAS_FIX, GBAS_FIX = -1, 0, 1, 2  # of NavSatStatus
STATUS_OF_QUALITY = {1: FIX, 2: SBAS_FIX, 9: SBAS_FIX, 4: GBAS_FIX, 5: GBAS_FIX}
LEFT_FIELD = 9  # of the controller's text; the other rear wheel is at 13
JOINTS = ("rear_left_wheel", "rear_right_wheel", "front_steering")
RAW_JOINTS = ("rear_left_rpm", "rear_right_rpm", "steering_units", "direction")
FRONT_WHEELS = ("rpm_1", "rpm_5")  # which of the front wheels is which is not known
Floats = NDArray[np.float64]


# Which Rosario sequence it is and where it lies: its raw folder or its bag, its number, the files beside it.


@dataclass(frozen=True, kw_only=True)
class SequenceSource:
    """A sequence: the files of its raw folder, or the path of its bag; its name; the folder beside."""

    name: str
    parent: Path
    bag: Path | None = None


def source_of(root: Path, files: Files) -> SequenceSource:
    """The one sequence below a path; ArchiveError where there are several, or none."""
    root = root.resolve()
    if root.is_file() and (BAG.fullmatch(root.name) or root.suffix in STORAGE):
        return SequenceSource(name=name_of_bag(root), parent=root.parent, bag=root)
    bags, folders = bags_in(root, files), raw_folders(files)
    if len(bags) + len(folders) > 1:
        raise ArchiveError(f"{root}: {_several(root, folders, bags)}")
    if bags:
        (bag,) = bags
        return SequenceSource(name=name_of_bag(bag), parent=root.parent, bag=bag)
    name = last_part(folders[0]) if folders and folders[0] else root.stem if root.is_file() else root.name
    return SequenceSource(name=name, parent=root.parent)


def _several(root: Path, folders: Sequence[str], bags: Sequence[Path]) -> str:
    """Which sequences lie below a path, and how one of them is chosen."""
    candidates = [*(f"the raw files in {root / folder}" for folder in folders), *(f"the bag {bag}" for bag in bags)]
    remedy = "give the path of one of them"
    if bags and "" in folders:
        remedy = "give the bag's path, or take the bag out of the folder to have the raw files read"
    return f"expected one sequence, got {len(candidates)}: {', '.join(candidates)}; {remedy}"


def bags_in(root: Path, files: Files) -> list[Path]:
    """The bags of a folder: those of ROS 1, of which parts are one, and folders of ROS 2."""
    if not isinstance(files, FolderFiles):
        return []
    bags: dict[Path, Path] = {}
    for name in files.names:
        path = root / name
        if BAG.fullmatch(path.name):
            bags.setdefault(path.parent / name_of_bag(path), path)
        elif path.name == METADATA and any(
            PurePosixPath(other).suffix in STORAGE for other in _sibling_folders(name, files)
        ):
            bags[path.parent] = path.parent
    return list(bags.values())


def _sibling_folders(name: str, files: Files) -> Iterator[str]:
    folder = name.rpartition("/")[0]
    return (other for other in files.names if other.rpartition("/")[0] == folder)


def raw_folders(files: Files) -> list[str]:
    """The folders of raw sequences: those with logs, else those with images, which may lie one folder deeper."""
    logs = {
        name.rpartition("/")[0] for name in files.names if LOG.fullmatch(last_part(name)) and kind_of_log(files, name)
    }
    images = {name.rpartition("/")[0] for name in files.names if IMAGE_NAME.fullmatch(last_part(name))}
    zed = {folder.removesuffix("zed").rstrip("/") if last_part(folder) == "zed" else folder for folder in images}
    return sorted(logs or zed)


def kind_of_log(files: Files, name: str) -> str:
    """What a log is by its first lines: imu, nmea, raw_odometry, odometry, or nothing of these."""
    try:
        with files.open(name) as file:
            head = file.read(HEAD)
    except (ArchiveError, OSError):
        return ""
    lines = [line.strip() for line in head.removeprefix(BOM).splitlines()]
    kinds = {"nmea": NMEA_LINE, "raw_odometry": RAW_ODOMETRY, "imu": IMU_LINE, "odometry": CLEAN_LINE}
    return next((kind for kind, form in kinds.items() if any(form.fullmatch(line) for line in lines)), "")


def odometry_by_content(files: Files, known: Sequence[str]) -> list[str]:
    """The texts in the folders of raw sequences, but for those known, that hold odometry: its name is not public."""
    folders = set(raw_folders(files))
    names = [name for name in files.matching(TEXT) if name not in known and name.rpartition("/")[0] in folders]
    return [name for name in names if kind_of_log(files, name) in ODOMETRY]


def number_in(name: str, pattern: re.Pattern[str] = NUMBER) -> int | None:
    """The number of a sequence in a name."""
    match = pattern.search(name)
    return int(match[1]) if match else None


def sequence_at(sequences: Mapping[int, Any], first_ns: int) -> int | None:
    """The sequence that was recorded at a time."""
    late_s = {number: first_ns / NS_PER_S - known["start_s"] for number, known in sequences.items()}
    latest_s = {number: known["minutes"] * 60 + START_TOLERANCE_S for number, known in sequences.items()}
    near = [number for number in sequences if -START_TOLERANCE_S <= late_s[number] <= latest_s[number]]
    return min(near, key=lambda number: abs(late_s[number]), default=None)


@dataclass(frozen=True)
class Companion:
    """A file that belongs to a sequence, in its folder or beside it."""

    files: Files
    name: str


def companion(
    archive: Archive, source: SequenceSource, files: Files, *, pattern: str, number: int | None, what: str
) -> Companion | None:
    """The calibration or the ground truth: in the folder, else beside it; of the sequence's number, else the only one.

    One beside with another number than the sequence's belongs to another sequence.
    """
    expression = re.compile(pattern, re.IGNORECASE)
    outside = ListedFiles(source.parent, [name for name in _names_of(source.parent) if expression.fullmatch(name)])
    for location, names in ((files, files.matching(pattern)), (outside, outside.names)):
        is_sibling = location is outside
        numbers = {name: number_in(last_part(name), COMPANION_NUMBER) for name in names}
        strange = [name for name in names if is_sibling and number and numbers[name] not in (None, number)]
        fitting = [name for name in names if number and numbers[name] == number]
        chosen = fitting or [name for name in names if name not in strange]
        if len(chosen) == 1:
            archive.notes.append(f"{what}: {chosen[0]}{', next to the archive' if is_sibling else ''}")
            return Companion(location, chosen[0])
        if chosen:
            archive.notes.append(f"{what}: none is read, as it is not clear which of {', '.join(chosen)} belongs to it")
            return None
        if strange:
            archive.notes.append(f"{', '.join(strange)} next to the archive: of another sequence, not read")
    return None


def _names_of(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir() if path.is_file()]
    except OSError:
        return []


def is_sequence_bag(path: Path) -> bool:
    """Whether a file is called as the dataset's bags are."""
    match = PART.fullmatch(path.name)
    name = match["bag"] if match else path.name
    return bool(re.fullmatch(r"sequence_?0*[1-6]\.bag", name, re.IGNORECASE))


@dataclass(frozen=True, kw_only=True, eq=False)
class RosarioConversions:
    """The conversions of one archive: its parameters, the dataset's constants, the IMU's offsets in its own units."""

    parameters: Mapping[str, Any]
    constants: Mapping[str, Any]
    acc_offset_mg: Floats = field(default_factory=lambda: np.zeros(3))
    gyro_offset_deg_s: Floats = field(default_factory=lambda: np.zeros(3))
    noise: ImuNoise | None = None
    wheel_diameter_m: float = 1.0

    def imu(self, rows: TimedRows) -> records.Imu:
        """imu.log: degrees per second and thousandths of standard gravity, the calibration's offsets taken off."""
        rates = rows.columns("gyro_x", "gyro_y", "gyro_z") - self.gyro_offset_deg_s
        force = rows.columns("acc_x", "acc_y", "acc_z") - self.acc_offset_mg
        of_force, of_rates = imu_covariances(self.noise, len(rows))
        return records.Imu(
            stamp_ns=rows.stamp_ns,
            angular_velocity_rad_s=np.radians(rates),
            linear_acceleration_m_s2=force * (STANDARD_GRAVITY_M_S2 / 1000),
            angular_velocity_covariance=of_rates,
            linear_acceleration_covariance=of_force,
        )

    def fix(self, rows: TimedRows) -> records.Fix:
        """GGA: places of the antenna."""
        rows = rows.only(rows["sentence"] == GGA)
        return records.Fix(
            stamp_ns=rows.stamp_ns,
            latitude_deg=rows["latitude"],
            longitude_deg=rows["longitude"],
            altitude_m=rows["altitude"],
            status=status_of_quality(rows["quality"]),
            covariance_m2=with_known_heights(self._covariances(rows["quality"], rows["hdop"]), rows["altitude"]),
            approximate=True,
        )

    def _covariances(self, quality: Floats, hdop: Floats) -> Floats:
        """East, north, up (n, 3, 3); all zero where there is no fix."""
        deviations = {int(key): float(value) for key, value in self.constants["fix_std_m"].items()}
        return fix_covariances(quality, hdop, deviations, how=self.parameters["fix_covariance"])

    def wheel_joints(self, rows: TimedRows) -> records.Joints:
        """odometry*.log: rates of the rear wheels, signed by the commanded direction, and the steering angle."""
        left, right, steering, direction = self._wheels(rows)
        nothing = np.full(len(rows), np.nan)
        per_unit = self.constants["steering_deg_per_unit"] * self.parameters["steering_sign"]
        angle = -np.radians(per_unit * (steering + self.parameters["steering_zero_units"]))
        of_unit = RAD_S_PER_RPM if self.parameters["wheel_unit"] == "rpm" else 2 / self.wheel_diameter_m
        return records.Joints(
            stamp_ns=rows.stamp_ns,
            names=JOINTS,
            position=np.stack([nothing, nothing, angle], axis=1),
            velocity=np.stack([left * direction * of_unit, right * direction * of_unit, nothing], axis=1),
        )

    def wheel_numbers(self, rows: TimedRows) -> records.Joints:
        """odometry*.log: its own numbers, unfiltered: rpm, units of the steering, direction 1 or -1."""
        front = FRONT_WHEELS if rows.has(*FRONT_WHEELS) else ()
        columns = [*self._wheels(rows), *(rows[name] for name in front)]
        return records.Joints(stamp_ns=rows.stamp_ns, names=RAW_JOINTS + front, position=np.stack(columns, axis=1))

    def _wheels(self, rows: TimedRows) -> tuple[Floats, Floats, Floats, Floats]:
        """Left and right rpm, units of the steering without an offset, direction 1 or -1."""
        if rows.has("direction_digit"):
            first, second, steering = rows["rpm_9"], rows["rpm_13"], rows["steering"]
            direction = np.where(rows["direction_digit"] == 0, 1.0, -1.0)
        else:
            first, second = rows["vel_left"], rows["vel_right"]
            steering = rows["angle"] - self.constants["cleaned_offset_units"]
            direction = np.where(rows["direction"] < 0, -1.0, 1.0)
        left, right = (first, second) if self.parameters["left_wheel_field"] == LEFT_FIELD else (second, first)
        return left, right, steering, direction

    def ground_truth(self, rows: TimedRows) -> records.Odometry:
        """*_gt.txt: the antenna's path as published, without an orientation and without speeds."""
        height = rows["z"] if rows.has("z") else np.zeros(len(rows))
        variances = np.full((len(rows), 6), UNKNOWN_VARIANCE)
        variances[:, :2] = self.parameters["ground_truth_std_m"] ** 2
        if rows.has("z"):
            variances[:, 2] = (2 * self.parameters["ground_truth_std_m"]) ** 2
        nothing = np.zeros((len(rows), 3))
        return records.Odometry(
            stamp_ns=rows.stamp_ns,
            position_m=np.stack([rows["x"], rows["y"], height], axis=1),
            orientation_xyzw=np.tile([0.0, 0.0, 0.0, 1.0], (len(rows), 1)),
            pose_covariance=axes.diagonal(variances),
            linear_velocity_m_s=nothing,
            angular_velocity_rad_s=nothing,
            twist_covariance=axes.diagonal(np.full((len(rows), 6), UNKNOWN_VARIANCE)),
        )


def imu_covariances(noise: ImuNoise | None, count: int) -> tuple[Floats | None, Floats | None]:
    """Covariances (n, 3, 3) of specific force and of turn rates by the noise of the IMU; None where it is not known."""
    if noise is None:
        return None, None
    force, rates = (np.broadcast_to(np.eye(3) * variance, (count, 3, 3)) for variance in noise.variances)
    return force, rates


def velocity(rows: TimedRows) -> records.Twist:
    """RMC: the velocity in the plane, east north; sentences without one are left out."""
    rows = rows.only(has_velocity(rows))
    speed, course = rows["speed"] * M_S_PER_KNOT, np.radians(rows["course"])
    linear = np.stack([speed * np.sin(course), speed * np.cos(course), np.zeros(len(rows))], axis=1)
    return records.Twist(
        stamp_ns=rows.stamp_ns, linear_velocity_m_s=linear, angular_velocity_rad_s=np.zeros_like(linear)
    )


def receiver_clock(rows: TimedRows) -> records.ClockReading:
    """RMC: the receiver's own time, UTC, to the microsecond; sentences without date and time are left out."""
    rows = rows.only((rows["sentence"] == RMC) & np.isfinite(rows["utc"]))
    microseconds = np.round(rows["utc"] * 1e6).astype(np.int64)
    return records.ClockReading(stamp_ns=rows.stamp_ns, time_ns=microseconds * 1000, source="gps")


def satellites(rows: TimedRows) -> records.Code:
    """GGA: the number of satellites in use; sentences without it are left out."""
    return _codes(rows, "satellites")


def fix_quality(rows: TimedRows) -> records.Code:
    """GGA: the quality of the fix, which distinguishes RTK fixed (4) from float (5)."""
    return _codes(rows, "quality")


def _codes(rows: TimedRows, column: str) -> records.Code:
    rows = rows.only((rows["sentence"] == GGA) & (rows[column] >= 0) & (rows[column] <= LARGEST_CODE))
    return records.Code(stamp_ns=rows.stamp_ns, code=rows[column].astype(np.uint8))


def dilution(rows: TimedRows) -> records.Scalars:
    """GGA: HDOP; sentences without one are left out."""
    rows = rows.only((rows["sentence"] == GGA) & np.isfinite(rows["hdop"]))
    return records.Scalars(stamp_ns=rows.stamp_ns, values=rows["hdop"])


def has_velocity(rows: TimedRows) -> NDArray[np.bool_]:
    """Which rows (n,) are RMC that call themselves valid and have a speed and a course."""
    is_whole = np.isfinite(rows["speed"]) & np.isfinite(rows["course"])
    mask: NDArray[np.bool_] = (rows["sentence"] == RMC) & is_whole & (rows["valid"] == 1)
    return mask


def status_of_quality(quality: Floats) -> NDArray[np.int8]:
    """NavSatStatus of GGA's quality; one that says nothing of satellites, as dead reckoning, is no fix."""
    status = np.full(len(quality), NO_FIX, np.int8)
    for code, meaning in STATUS_OF_QUALITY.items():
        status[quality == code] = meaning
    return status


def fix_covariances(quality: Floats, hdop: Floats, deviations_m: Mapping[int, float], *, how: str) -> Floats:
    """Covariances (n, 3, 3) of east, north, up, all zero where unknown.

    `hdop`, as the authors have it: diag(1, 1, 4) HDOP². `quality`: the deviation that belongs to the quality instead
    of 1 m, so that the kind of the fix shows; without an HDOP it counts alone.
    """
    scale = np.zeros(len(quality))
    for code in STATUS_OF_QUALITY:
        scale[quality == code] = deviations_m[code] if how == "quality" else 1.0
    factor = hdop if how == "hdop" else np.where(np.isfinite(hdop), hdop, 1.0)
    variance = (scale * np.where(np.isfinite(factor), factor, 0.0)) ** 2
    return axes.diagonal(variance[:, None] * np.array([1.0, 1.0, 4.0]))


def with_known_heights(covariances: Floats, altitude_m: Floats) -> Floats:
    """Covariances (n, 3, 3) where a fix without an altitude (n,) has no more than a place in the plane."""
    flat = np.isnan(altitude_m) & covariances.any(axis=(1, 2))
    result: Floats = covariances.copy()
    result[flat, 2, :] = result[flat, :, 2] = 0.0
    result[flat, 2, 2] = UNKNOWN_VARIANCE
    return result


@dataclass(frozen=True, kw_only=True)
class Raw:
    """The streams of a raw folder, the tables that they are made of, and the names of all logs."""

    streams: Mapping[str, Stream]
    tables: Mapping[str, Tables]
    logs: tuple[str, ...]


def open_raw(archive: Archive, files: Files, calibration: Calibration) -> Raw:
    """Look through the logs and the names of the images."""
    file_names = {key: files.matching(archive.spec.tables[key].files) for key in LOGS}
    file_names["odometry"] += _others_with_odometry(
        archive, files, [name for names in file_names.values() for name in names]
    )
    logs = {
        key: names or matching_files(archive, files, key, archive.spec.tables[key]) for key, names in file_names.items()
    }
    logs["odometry"] = _odometry_logs(archive, files, file_names["odometry"])
    file_lists = {key: [(files, name) for name in names] for key, names in logs.items()}
    tables = open_tables_of(archive, file_lists, own={"gps": NmeaSpec(ranges=archive.spec.tables["gps"].ranges)})
    conversions = _conversions(archive, calibration)
    converters = {
        "imu": ("imu", conversions.imu),
        "fix": ("gps", conversions.fix),
        "velocity": ("gps", velocity),
        "receiver_clock": ("gps", receiver_clock),
        "satellites": ("gps", satellites),
        "fix_quality": ("gps", fix_quality),
        "hdop": ("gps", dilution),
        "wheel_joints": ("odometry", conversions.wheel_joints),
        "wheel_numbers": ("odometry", conversions.wheel_numbers),
    }
    streams: dict[str, Stream] = {
        name: TableStream(tables[key], convert)
        for name, (key, convert) in converters.items()
        if key in tables and (name not in SENTENCES or _has_sentence(tables[key], SENTENCES[name]))
    }
    for key in CAMERAS:
        names, stamp_ns = timed_files(archive, files, key, fraction="decimal")
        if names:
            streams[key] = image_stream(files, names, stamp_ns)
    _note_repeated(archive, tables)
    return Raw(streams=streams, tables=tables, logs=tuple(name for names in file_names.values() for name in names))


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


def _conversions(archive: Archive, calibration: Calibration) -> RosarioConversions:
    offsets = (calibration.acc_offset_mg, calibration.gyro_offset_deg_s)
    if archive.parameters["imu_offsets"] == "keep":
        offsets = (None, None)
    elif any(offset is None for offset in offsets):
        archive.notes.append("the IMU's offsets are not subtracted, as no calibration file gives them")
    acc, gyro = (np.zeros(3) if offset is None else offset for offset in offsets)
    return RosarioConversions(
        parameters=archive.parameters, constants=archive.spec.constants, acc_offset_mg=acc, gyro_offset_deg_s=gyro,
        noise=archive.imu_noise, wheel_diameter_m=_wheel_diameter_m(archive),
    )  # fmt: skip


def _wheel_diameter_m(archive: Archive) -> float:
    """That of the odometry that is computed of the wheels."""
    settings = (item.settings for item in archive.spec.derived if item.kind == "ackermann_odometry")
    return float(next(settings, {"wheel_diameter_m": 1.0})["wheel_diameter_m"])


def _note_repeated(archive: Archive, tables: Mapping[str, Tables]) -> None:
    for table in tables["imu"].tables if "imu" in tables else ():
        if table.repeated:
            count = f"{table.repeated} of {table.count} rows have the time of the row before"
            archive.notes.append(f"{table.name}: {count}, as they came in batches; imu_stamps=even spaces them evenly")


def open_truth(archive: Archive, truth: Companion | None) -> dict[str, Stream]:
    """The ground truth, if there is one."""
    if truth is None:
        archive.notes.append("no ground truth in the archive or next to it")
        return {}
    tables = open_tables_of(archive, {TRUTH: [(truth.files, truth.name)]})
    conversions = RosarioConversions(parameters=archive.parameters, constants=archive.spec.constants)
    return {TRUTH: TableStream(tables[TRUTH], conversions.ground_truth)} if TRUTH in tables else {}


def imu_by_parameters(archive: Archive, stream: Stream) -> Stream:
    """The IMU up to the time, and with the times, that the parameters choose."""
    until_s = archive.parameters["imu_until_s"]
    if until_s > 0:
        start_ns = min(span.first_ns for span in stream.spans)
        stream = TruncatedStream(stream, start_ns + round(until_s * NS_PER_S))
    return EvenlyTimedStream(stream) if archive.parameters["imu_stamps"] == "even" else stream
