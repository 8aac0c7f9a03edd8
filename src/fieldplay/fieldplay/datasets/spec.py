"""What a dataset is, as its YAML says: the shape that every description has, and how one is read."""

import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import yaml
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.core.yaml_safe import value_of_yaml
from fieldplay.geometry.camera_model import CameraModel
from fieldplay.io.table_format import ExpectedUnit, TableSpec
from fieldplay.io.table_rows import RowsSpec
from fieldplay.io.tagged_lines import TaggedLines, TaggedSpec
from fieldplay.messages.stream_spec import StreamSpec

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

OPTIONAL = re.compile(r"\([^()]*\)\?|(?<!\\)[^)\\*+?]\?")
ONE_OF = re.compile(r"\(([^()|]*)(?:\|[^()]*)?\)")
LARGEST_WHOLE = 10**300  # of whole numbers that are taken for others
ANYTHING = re.compile(r"(?:\.|\\[dwDWS])[*+]")
T = TypeVar("T", bound="DataclassInstance")
# Entries of descriptions by the names that they had before; they are read for one release.
RENAMED = {
    "blanks": "whitespace_delimited",
    "called": "display_name",
    "extract": "value_regex",
    "leftovers": "ignored_files",
    "map_of_fixes": "gnss_map_frame",
    "marked": "tagged_lines",
    "tf_instead": "tf_fallback",
    "turning": "rotating_scanner",
}
MOVED = {  # what `reader` and `package` name
    "fieldplay_archive.readers.sherpatt": "fieldplay_cdff.datasets.sherpatt",
    "fieldplay_archive.readers": "fieldplay.datasets",
    "fieldplay_kinematics": "fieldplay_ros",
    "fieldplay_fusion": "fieldplay_ros",
    "fieldplay_player": "fieldplay_ros",
}


@dataclass(frozen=True, kw_only=True)
class DatasetParameter:
    """Something that the papers leave open, decided by its default.

    Args:
        default: its value; others must be of the same type.
        help: what it means, and why this is the default.
        choices: all values that it may have; empty for any.

    Raises:
        ValueError: the default is none of the choices.
    """

    default: bool | int | float | str
    help: str
    choices: tuple[bool | int | float | str, ...] = ()

    def __post_init__(self) -> None:
        if self.choices and self.default not in self.choices:
            raise ValueError(f"the default {self.default!r} is not among the choices {list(self.choices)}")


@dataclass(frozen=True, kw_only=True)
class RotatingScanner:
    """A scanner whose rows are one angle each.

    Args:
        column: the column with the angle.
        turn: a full turn in its unit, such as 360 or 2 pi.
        values: how many numbers a row's list usually has; 0 where that is not known.

    Raises:
        ValueError: the turn is not positive.
    """

    column: str
    turn: float
    values: int = 0

    def __post_init__(self) -> None:
        if not self.turn > 0:
            raise ValueError(f"turn: expected a number above 0, got {self.turn}")


@dataclass(frozen=True, kw_only=True)
class TableFiles:
    """The files of one kind of table, and how they may be laid out. One of `layouts`, `nmea` and `tagged_lines` is set.

    Args:
        files: a regular expression of the file name, without its folder.
        folder: another one, of a folder that they are in at any depth, if the name alone is ambiguous.
        display_name: what messages call them; a name that the expression stands for if empty.
        layouts: the columns that a file may have, in their order.
        nmea: a log of NMEA sentences, which its reader knows.
        tagged_lines: a log of lines whose type a word names.
        rotating_scanner: of a scanner with a row for each angle.
        header: by column, regular expressions of its names in a header.
        ranges: smallest and largest usual value by column; rows beyond are reported and kept.
        limits: smallest and largest possible value by column; rows beyond are reported and left out, unless most are.
        optional: archives may lack them; then they do not count as missing.
        whitespace_delimited: fields are separated by blanks.
        value_regex: by column, a regular expression whose group is the number in a text.
        repeated_times: rows may share a time.
        units: by column whose header may name another unit, the expected one, or the parameter that holds it.

    Raises:
        ValueError: an expression is invalid, not one kind is set, or a column is unknown.
    """

    files: str
    folder: str = ""
    display_name: str = ""
    layouts: tuple[tuple[str, ...], ...] = ()
    nmea: bool = False  # no table but a log of NMEA sentences, which its reader knows
    tagged_lines: TaggedLines | None = None  # no table but a log of marked lines
    rotating_scanner: RotatingScanner | None = None  # of a scanner whose bearings are a row each
    header: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    limits: Mapping[str, tuple[float, float]] = field(
        default_factory=dict
    )  # rows beyond are none; unless most are, see table_defects
    optional: bool = False
    whitespace_delimited: bool = False
    value_regex: Mapping[str, str] = field(default_factory=dict)
    repeated_times: bool = False
    units: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _require_patterns(files=[self.files], folder=[self.folder], value_regex=self.value_regex.values())
        _require_patterns(header=[pattern for patterns in self.header.values() for pattern in patterns])
        if bool(self.layouts) + self.nmea + (self.tagged_lines is not None) != 1:
            raise ValueError("expected one of layouts, nmea: true and tagged_lines")
        layouts = [self.tagged_lines.columns] if self.tagged_lines else self.layouts
        for what, columns in (("ranges", self.ranges), ("limits", self.limits)):
            for name in columns:
                if not all(name in layout for layout in layouts):
                    raise ValueError(f"{what}: expected a column of all layouts, got '{name}'")

    @property
    def shown(self) -> str:
        """Folder and name for messages."""
        return self.display_name or name_from_patterns(self.files, self.folder)

    def rows_spec(self, units: Mapping[str, ExpectedUnit] | None = None) -> RowsSpec:
        """Describe the rows for the parser.

        Args:
            units: of columns, as the parameters have them.

        Returns:
            What is known of a file before it is read.
        """
        if self.tagged_lines is not None:
            return TaggedSpec(tagged=self.tagged_lines, ranges=self.ranges, repeated_times=self.repeated_times)
        return TableSpec(
            layouts=self.layouts,
            header=self.header,
            ranges=self.ranges,
            whitespace_delimited=self.whitespace_delimited,
            extract=self.value_regex,
            repeated_times=self.repeated_times,
            units=units or {},
        )


@dataclass(frozen=True, kw_only=True)
class RowFiles:
    """Files that are one row each: images, clouds, texts of one row of numbers.

    Args:
        files: a regular expression of the file name, without its folder.
        folder: another one, of a folder that they are in at any depth.
        display_name: what messages call them; a name that the expression stands for if empty.
        optional: archives may lack them; then they do not count as missing.
        times: a regular expression of the name of a file that lists their times, in their folder or above it: a line
            for each of them, with its name or in the order of the numbers in their names. Empty where the names of the
            files have the times.
        points: of clouds in plain numbers, float32 in `.bin` and text in others: what a point has, in its order.
        columns: of texts of one row of numbers: names of the numbers in their order; `_` begins those not read.

    Raises:
        ValueError: an expression is invalid, or points lack x, y or z.
    """

    files: str
    folder: str = ""
    display_name: str = ""
    optional: bool = False
    times: str = ""
    points: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _require_patterns(files=[self.files], folder=[self.folder], times=[self.times])
        if self.points and not {"x", "y", "z"} <= set(self.points):
            raise ValueError(f"points: expected x, y and z among them, got {', '.join(self.points)}")

    @property
    def shown(self) -> str:
        """Folder and name for messages."""
        return self.display_name or name_from_patterns(self.files, self.folder)


@dataclass(frozen=True, kw_only=True)
class Extrinsic:
    """A static transform as published: the child in the parent, in the numbers and the convention of its source.

    Args:
        parent: the parent frame.
        child: the child frame.
        convention: a key of `CONVENTIONS` of geometry/extrinsics.py.
        translation: three numbers in the convention's unit.
        rotation: angles, a quaternion or nine numbers of a matrix, as the convention says.
        source: where the numbers are printed.
    """

    parent: str
    child: str
    convention: str
    translation: tuple[float, float, float]
    rotation: tuple[float, ...]
    source: str = ""

    @classmethod
    def from_transform(cls, parent: str, child: str, parent_t_child: NDArray[np.float64]) -> "Extrinsic":
        """Make a row of a transform, as of a calibration file.

        Args:
            parent: the parent frame.
            child: the child frame.
            parent_t_child: parent_T_child (4, 4) in m.

        Returns:
            The row.
        """
        x, y, z = map(float, parent_t_child[:3, 3])
        rotation = tuple(map(float, parent_t_child[:3, :3].reshape(-1)))
        return cls(parent=parent, child=child, convention="m_matrix", translation=(x, y, z), rotation=rotation)


@dataclass(frozen=True, kw_only=True)
class DerivedSpec:
    """Something that is computed of streams, live by a node or from the archive.

    Args:
        kind: the kind of the computation (entry points `fieldplay.computations`).
        streams: ids of the streams that it takes, in the order of its inputs.
        topic: where the result is.
        name: of the node.
        node: the program that computes it live; empty where another node computes it too.
        package: the package of the program.
        frame: the frame of the result.
        child_frames: frames that it places.
        odom_tf: its transforms start with odom -> base_link, unless somebody else publishes that.
        settings: of the computation; a parameter of the dataset of the same name takes precedence.
    """

    kind: str
    streams: tuple[str, ...]
    topic: str
    name: str = ""  # of the node
    node: str = ""  # the program that computes it live; none where another's does so beside its own
    package: str = "fieldplay_ros"  # that has the program
    frame: str = ""
    child_frames: tuple[str, ...] = ()
    odom_tf: bool = False  # its transforms begin with odom -> base_link, unless somebody else publishes that
    settings: Mapping[str, Any] = field(default_factory=dict)

    def with_parameters(self, parameters: Mapping[str, Any]) -> "DerivedSpec":
        """Apply the dataset's parameters.

        Args:
            parameters: values by name.

        Returns:
            The same, with those settings replaced that are called as a parameter.
        """
        return replace(self, settings={name: parameters.get(name, value) for name, value in self.settings.items()})

    def node_parameters(self) -> dict[str, Any]:
        """List the parameters of the node.

        Returns:
            Frames and numbers by name; a list is of floats or of names.
        """
        numbers = {
            name: [item if isinstance(item, str) else float(item) for item in value]
            if isinstance(value, list)
            else value
            for name, value in self.settings.items()
        }
        children = {"child_frames": list(self.child_frames)} if self.child_frames else {}  # no list may be empty
        return {"frame": self.frame, **children, **numbers}


@dataclass(frozen=True, kw_only=True)
class PoseCheck:
    """Poses that the archive holds as a stream, and that the joints of an arm give too.

    Args:
        stream: the id of the stream of poses.
        arm: the name of the derived arm.
        parent: the frame of the poses.
        child: the frame that they place.
    """

    stream: str
    arm: str
    parent: str
    child: str


@dataclass(frozen=True, kw_only=True)
class GnssMapFrame:
    """A map frame with its origin at the first good satellite fix, and the odometry placed by the path of the fixes.

    Args:
        stream: the id of the stream of fixes.
        frame: the name of the map frame.
        least_status: of a good fix, in the numbers of sensor_msgs/NavSatStatus.
        way_m: the heading is that of the first metres of path.
        least_way_m: a shorter path gives no heading.
        positions: a stream of the same antenna's positions in axes of their own, whose frame is placed by the fixes.
    """

    stream: str
    frame: str
    least_status: int
    way_m: float
    least_way_m: float
    positions: str = ""


@dataclass(frozen=True, kw_only=True)
class ImuNoise:
    """The noise of an IMU.

    Args:
        accelerometer_noise_density: in m/s²/√Hz.
        gyroscope_noise_density: in rad/s/√Hz.
        accelerometer_random_walk: in m/s³/√Hz.
        gyroscope_random_walk: in rad/s²/√Hz.
        rate_hz: of its samples.

    Raises:
        ValueError: a number is negative or not finite.
    """

    accelerometer_noise_density: float
    gyroscope_noise_density: float
    accelerometer_random_walk: float
    gyroscope_random_walk: float
    rate_hz: float = 0.0

    def __post_init__(self) -> None:
        for item in fields(self):
            if not 0 <= getattr(self, item.name) < float("inf"):
                raise ValueError(f"{item.name}: expected a number from 0 on, got {getattr(self, item.name)}")

    def scale(self, factor: float) -> "ImuNoise":
        """Scale all noise.

        Args:
            factor: by which it is multiplied; the rate stays.

        Returns:
            The scaled noise.
        """
        noise = {item.name: factor * getattr(self, item.name) for item in fields(self) if item.name != "rate_hz"}
        return replace(self, **noise)

    @property
    def variances(self) -> tuple[float, float]:
        """Variances of a sample of the accelerometer and of the gyroscope at the rate: density² times rate."""
        densities = self.accelerometer_noise_density, self.gyroscope_noise_density
        return densities[0] ** 2 * self.rate_hz, densities[1] ** 2 * self.rate_hz


@dataclass(frozen=True, kw_only=True)
class DatasetSpec:
    """The description of a dataset, `<name>.yaml`: how its archive is recognised and read, and what becomes of it.

    Args:
        name: of the dataset, and of the file.
        title: for people.
        status: how well it is known, for `fieldplay list`.
        reader: the module with `open_archive` and perhaps `recognises(path, files)`.
        namespace: before its topics.
        detect: regular expressions of file names.
        bag_topics: a bag whose metadata name none of these topics is not of this dataset.
        plausible_years: the first year whose times can be true, and the first after that cannot.
        streams: in the order that their messages have at equal times.
        parameters: by name, what the papers leave open.
        tables: by key, files of tables.
        rows: by key, files that are one row each.
        constants: numbers for its reader.
        cameras: by name.
        extrinsics: as published.
        tree: the static frames that are published: children by parent.
        projections: sensors in cameras, by rows of their own besides the tree.
        ignored_files: by regular expression of file names, why they are not read.
        derived: what is computed.
        pose_checks: poses that are compared with those of an arm.
        robot: the name of the file in `urdf/`.
        joins_zips: whether a folder of its zips as downloaded is one archive.
        truth: the id of the stream of poses in the map, where odometry starts.
        gnss_map_frame: a map by satellite fixes, where there is no such stream.
        truth_max_std_m: truth poses with a larger reported standard deviation are not used; 0 uses all.
        fusion: topics by the ports of pipelines.
        sensors: topics by what SLAM methods call them.
        imu_noise: of the stream `imu`.
        skip_gaps_s: the player skips longer times without a message; 0 skips none.
        tf_fallback: switches of transforms that place a frame where no odometry can be computed.
        tf_off: switches of transforms that are off by default.

    Raises:
        ValueError: an expression is invalid.
    """

    name: str
    title: str
    status: str
    reader: str
    namespace: str
    detect: tuple[str, ...]
    plausible_years: tuple[int, int]
    streams: tuple[StreamSpec, ...]
    bag_topics: tuple[str, ...] = ()
    parameters: Mapping[str, DatasetParameter] = field(default_factory=dict)
    tables: Mapping[str, TableFiles] = field(default_factory=dict)
    rows: Mapping[str, RowFiles] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    cameras: Mapping[str, CameraModel] = field(default_factory=dict)
    extrinsics: tuple[Extrinsic, ...] = ()
    tree: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    projections: tuple[Extrinsic, ...] = ()  # sensors in cameras by rows of their own, beside the tree
    ignored_files: Mapping[str, str] = field(default_factory=dict)
    derived: tuple[DerivedSpec, ...] = ()
    pose_checks: tuple[PoseCheck, ...] = ()
    robot: str = ""  # the file in urdf/
    joins_zips: bool = False  # a folder of its zips as downloaded is one archive
    truth: str = ""  # the stream of poses in the map with which the odometry starts
    gnss_map_frame: GnssMapFrame | None = None  # where the archive has no such stream
    truth_max_std_m: float = 0.0  # maximum reported standard deviation of truth poses; 0 uses all
    fusion: Mapping[str, str] = field(default_factory=dict)  # topics by the ports of pipelines that they feed
    sensors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # topics, by what methods of SLAM call them
    imu_noise: ImuNoise | None = None  # of the stream `imu`
    skip_gaps_s: float = 0.0  # longer gaps without a message are skipped by default when playing; 0 is never
    tf_fallback: tuple[str, ...] = ()  # switches of tf of what places a frame where no odometry can be computed
    tf_off: tuple[str, ...] = ()  # switches of tf that are off unless asked for, as odom_tf; all others are on

    def __post_init__(self) -> None:
        _require_patterns(detect=self.detect, ignored_files=self.ignored_files)


def _require_patterns(**patterns: Iterable[str]) -> None:
    """ValueError names the entry that holds what is no regular expression."""
    for key, texts in patterns.items():
        for text in texts:
            try:
                re.compile(text)
            except (re.error, OverflowError, RecursionError) as error:
                raise ValueError(f"{key}: expected a regular expression, got '{text}': {error}") from None


def spec_from_file(path: Path) -> DatasetSpec:
    """Read the description of a dataset; once, as long as the file stays as it is.

    Args:
        path: the YAML file.

    Returns:
        The description.

    Raises:
        ArchiveError: it cannot be read, or an entry is unknown, missing or of another type; the message says where.
    """
    try:
        state = path.stat()
        return _spec_from_file(path, (state.st_ino, state.st_size, state.st_mtime_ns))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ArchiveError(f"{path}: {error}") from None


@cache
def _spec_from_file(path: Path, state: tuple[int, ...]) -> DatasetSpec:
    """The same, made once of a file that stays as it is: all descriptions are read to find out what an archive is."""
    spec = build(DatasetSpec, value_of_yaml(path.read_text("utf-8")), str(path))
    if spec.name != path.stem:
        raise ArchiveError(f"{path}.name: expected '{path.stem}', as the file is called, got '{spec.name}'")
    return spec


def build(kind: type[T], data: Any, where: str) -> T:
    """Make a dataclass from a mapping, recursively.

    Args:
        kind: the dataclass.
        data: the mapping; former names of entries are accepted with a FutureWarning.
        where: where the mapping is, for messages.

    Returns:
        An instance.

    Raises:
        ArchiveError: an entry is unknown, missing or of another type.
    """
    if not isinstance(data, Mapping):
        raise ArchiveError(f"{where}: expected a mapping, got {_value_text(data)}")
    known = {item.name: item for item in fields(kind)}
    data = _with_new_names(data, known, where)
    for name in data:
        if name not in known:
            raise ArchiveError(f"{where}.{name}: there is no such entry; expected one of {', '.join(sorted(known))}")
    hints = _hints(kind)
    values = {}
    for name, item in known.items():
        if name in data:
            values[name] = _value(hints[name], data[name], f"{where}.{name}")
        elif item.default is MISSING and item.default_factory is MISSING:
            raise ArchiveError(f"{where}: expected an entry '{name}', got none")
    try:
        return kind(**values)
    except ValueError as error:
        raise ArchiveError(f"{where}: {error}") from None


def _with_new_names(data: Mapping[Any, Any], known: Collection[str], where: str) -> dict[Any, Any]:
    """The entries by their names of today, and modules where they are now, each with a warning."""
    renamed: dict[Any, Any] = {}
    for name, value in data.items():
        new = RENAMED.get(name, "") if name not in known else ""
        if new in known and new not in data:
            warnings.warn(f"{where}.{name}: is called '{new}' now", FutureWarning, stacklevel=2)
            name = new
        if name in ("reader", "package") and isinstance(value, str):
            old = next((old for old in MOVED if value == old or value.startswith(f"{old}.")), "")
            if old:
                new_name = MOVED[old] + value.removeprefix(old)
                warnings.warn(f"{where}.{name}: '{value}' is '{new_name}' now", FutureWarning, stacklevel=2)
                value = new_name
        renamed[name] = value
    return renamed


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _value(hint: Any, data: Any, where: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return data
    if origin in (Union, UnionType):
        return _one_of(arguments, data, where)
    if is_dataclass(hint) and isinstance(hint, type):
        return build(hint, data, where)
    if origin is tuple:
        return _tuple(arguments, data, where)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(arguments, data, where)
    if hint is float and isinstance(data, int) and not isinstance(data, bool) and abs(data) < LARGEST_WHOLE:
        return float(data)
    if not isinstance(data, hint) or (isinstance(data, bool) and hint is not bool):
        raise ArchiveError(f"{where}: expected {hint.__name__}, got {_value_text(data)}")
    return data


def _one_of(hints: tuple[Any, ...], data: Any, where: str) -> Any:
    if data is None and NoneType in hints:
        return None
    choices = [hint for hint in hints if hint is not NoneType]
    for hint in choices:
        try:
            return _value(hint, data, where)
        except ArchiveError:
            if hint is choices[-1]:
                raise
    return None


def _tuple(arguments: tuple[Any, ...], data: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(data, Sequence) or isinstance(data, str):
        raise ArchiveError(f"{where}: expected a list, got {_value_text(data)}")
    if arguments[-1] is Ellipsis:
        arguments = (arguments[0],) * len(data)
    if len(arguments) != len(data):
        raise ArchiveError(f"{where}: expected {len(arguments)} entries, got {len(data)}")
    return tuple(
        _value(hint, item, f"{where}[{i}]") for i, (hint, item) in enumerate(zip(arguments, data, strict=True))
    )


def _mapping(arguments: tuple[Any, ...], data: Any, where: str) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise ArchiveError(f"{where}: expected a mapping, got {_value_text(data)}")
    return {
        _value(arguments[0], key, where): _value(arguments[1], item, f"{where}.{key}") for key, item in data.items()
    }


def _value_text(data: Any) -> str:
    text = repr(data)
    return f"{type(data).__name__} {text if len(text) <= 40 else text[:37] + '...'}"


def name_from_patterns(files: str, folder: str = "") -> str:
    """Make a readable name of regular expressions, for messages about files that are missing.

    Args:
        files: of the file name.
        folder: of the folder; may be empty.

    Returns:
        The first name that they stand for, with `*` for any characters: `imu*.log` for the logs or texts of an IMU.
    """
    name = _name_from_pattern(files)
    return f"{_name_from_pattern(folder)}/{name}" if folder else name


def _name_from_pattern(pattern: str) -> str:
    text = ANYTHING.sub("*", pattern)
    while (shorter := ONE_OF.sub(r"\1", OPTIONAL.sub("", text))) != text:
        text = shorter
    return re.sub(r"\\(.)", r"\1", text.partition("|")[0])
