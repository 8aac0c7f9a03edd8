"""What a dataset is, as its YAML says: the shape that every description has, and how one is read."""

import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml

from fieldplay.core.errors import ArchiveError
from fieldplay.core.yaml_safe import value_of_yaml
from fieldplay.geometry.camera_model import CameraModel
from fieldplay.io.table import RowsSpec
from fieldplay.io.table_format import ExpectedUnit, TableSpec
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
    """Something that the papers leave open: its default, what it may be, and what it means."""

    default: bool | int | float | str
    help: str
    choices: tuple[bool | int | float | str, ...] = ()

    def __post_init__(self) -> None:
        if self.choices and self.default not in self.choices:
            raise ValueError(f"the default {self.default!r} is not among the choices {list(self.choices)}")


@dataclass(frozen=True, kw_only=True)
class RotatingScanner:
    """The column with the angle of a rotating scanner, and a full turn in its unit, such as 360 or 2 pi.

    `values`: how many numbers a row's list usually has, as far as that is known.
    """

    column: str
    turn: float
    values: int = 0

    def __post_init__(self) -> None:
        if not self.turn > 0:
            raise ValueError(f"turn: expected a number above 0, got {self.turn}")


@dataclass(frozen=True, kw_only=True)
class TableFiles:
    """The files of one table, by a regular expression of their name, and how it may be laid out, as TableSpec says.

    `folder` is one of a folder that they lie in, at any depth, where the name alone does not tell. `display_name` is
    what messages call them, if not as the expressions do. `units` gives, for columns whose header may tell another
    unit, the one expected, or the parameter that says it.
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
        """Folder and name for a message."""
        return self.display_name or name_from_patterns(self.files, self.folder)

    def rows_spec(self, units: Mapping[str, ExpectedUnit] | None = None) -> RowsSpec:
        """What is known of the rows, with the units of columns as the parameters have them."""
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
    """Files that are one row each, as pictures and clouds, by regular expressions of their name and of a folder."""

    files: str
    folder: str = ""
    display_name: str = ""
    optional: bool = False

    def __post_init__(self) -> None:
        _require_patterns(files=[self.files], folder=[self.folder])

    @property
    def shown(self) -> str:
        """Folder and name for a message."""
        return self.display_name or name_from_patterns(self.files, self.folder)


@dataclass(frozen=True, kw_only=True)
class Extrinsic:
    """A static transform in the numbers and the convention of its source: child in parent."""

    parent: str
    child: str
    convention: str
    translation: tuple[float, float, float]
    rotation: tuple[float, ...]
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class DerivedSpec:
    """What is computed of streams, by a node or in batch: the topic, the frames, and the numbers it needs."""

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
        """The same, where a parameter of the dataset that is called as a setting takes its place."""
        return replace(self, settings={name: parameters.get(name, value) for name, value in self.settings.items()})

    def node_parameters(self) -> dict[str, Any]:
        """What the node must be told of frames and numbers; a list is of numbers or of names."""
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
    """Poses of `child` in `parent` that the archive holds as a stream, and that the joints of an arm give too."""

    stream: str
    arm: str
    parent: str
    child: str


@dataclass(frozen=True, kw_only=True)
class GnssMapFrame:
    """A map frame with its origin at the first good fix, and the odometry placed by the path of the fixes.

    `least_status` is that of a good one, in the numbers of NavSatStatus. The heading is that of the first `way_m`; of
    less than `least_way_m` there is none. `positions` is a stream of the same antenna's positions in axes of their own,
    whose frame is placed in the map by the fixes.
    """

    stream: str
    frame: str
    least_status: int
    way_m: float
    least_way_m: float
    positions: str = ""


@dataclass(frozen=True, kw_only=True)
class ImuNoise:
    """Noise of an IMU: densities in m/s²/√Hz and rad/s/√Hz, random walks in m/s³/√Hz and rad/s²/√Hz, at a rate."""

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
        """The same with all noise so many times as large."""
        noise = {item.name: factor * getattr(self, item.name) for item in fields(self) if item.name != "rate_hz"}
        return replace(self, **noise)

    @property
    def variances(self) -> tuple[float, float]:
        """Of a sample of the accelerometer and of one of the gyroscope at the rate: density² times rate."""
        densities = self.accelerometer_noise_density, self.gyroscope_noise_density
        return densities[0] ** 2 * self.rate_hz, densities[1] ** 2 * self.rate_hz


@dataclass(frozen=True, kw_only=True)
class DatasetSpec:
    """A dataset: how its archive is recognised and read, and what becomes of it."""

    name: str
    title: str
    status: str
    reader: str
    namespace: str
    detect: tuple[str, ...]
    plausible_years: tuple[int, int]
    streams: tuple[StreamSpec, ...]
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
    truth: str = ""  # the stream of poses in the map, which tells where the odometry starts
    gnss_map_frame: GnssMapFrame | None = None  # where the archive has no such stream
    truth_max_std_m: float = 0.0  # poses of the truth that claim less than this are not judged by; 0 believes all
    fusion: Mapping[str, str] = field(default_factory=dict)  # topics by the ports of pipelines that they feed
    sensors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # topics, by what methods of SLAM call them
    imu_noise: ImuNoise | None = None  # of the stream `imu`
    skip_gaps_s: float = (
        0.0  # who plays passes over longer stretches without a message, unless told otherwise; 0 is never
    )
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
    """The description of a dataset; ArchiveError names the place of what is wrong in it."""
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
    """An instance of a dataclass from a mapping; unknown, missing or wrongly typed entries are refused."""
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
    """The first name that patterns stand for, `*` for any signs: `imu*.log` for the logs or texts of an IMU."""
    name = _name_from_pattern(files)
    return f"{_name_from_pattern(folder)}/{name}" if folder else name


def _name_from_pattern(pattern: str) -> str:
    text = ANYTHING.sub("*", pattern)
    while (shorter := ONE_OF.sub(r"\1", OPTIONAL.sub("", text))) != text:
        text = shorter
    return re.sub(r"\\(.)", r"\1", text.partition("|")[0])
