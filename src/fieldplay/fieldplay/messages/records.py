"""What archives hold, as columns: one record is many rows of one kind, in SI units, without files and without ROS.

Every record has `stamp_ns` (n,). Quaternions are x y z w; covariances have the axes x y z, then the turns about them.
A column that an archive does not hold is None. Axes are those of the frame that the dataset's description names.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated, TypeVar, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.camera_model import CameraModel

Kind = TypeVar("Kind", bound="Record")


@dataclass(frozen=True)
class Shape:
    """The shape of one row of a column; a text is the length of the record's field of that name, None is any."""

    sides: tuple[int | str | None, ...] = ()


Stamps = Annotated[NDArray[np.int64], Shape()]
Numbers = Annotated[NDArray[np.float64], Shape()]
Codes = Annotated[NDArray[np.int8], Shape()]
Bytes = Annotated[NDArray[np.uint8], Shape()]
Counts = Annotated[NDArray[np.int64], Shape()]
Lists = Annotated[NDArray[np.float64], Shape((None,))]
Vectors = Annotated[NDArray[np.float64], Shape((3,))]
Quaternions = Annotated[NDArray[np.float64], Shape((4,))]
Covariances = Annotated[NDArray[np.float64], Shape((3, 3))]
PoseCovariances = Annotated[NDArray[np.float64], Shape((6, 6))]
PerJoint = Annotated[NDArray[np.float64], Shape(("names",))]
PerChild = Annotated[NDArray[np.float64], Shape(("children", 3))]
TurnPerChild = Annotated[NDArray[np.float64], Shape(("children", 4))]
PerMarker = Annotated[NDArray[np.float64], Shape(("names", 3))]
QuaternionPerMarker = Annotated[NDArray[np.float64], Shape(("names", 4))]
KnownChildren = Annotated[NDArray[np.bool_], Shape(("children",))]
ManyVectors = Annotated[NDArray[np.float64], Shape((None, 3))]
ManyQuaternions = Annotated[NDArray[np.float64], Shape((None, 4))]


@dataclass(frozen=True, kw_only=True, eq=False)
class Record:
    """Rows at their times; the shapes of all columns are checked.

    They leave at their stamps, or at `order_ns` where these are others.
    """

    stamp_ns: Stamps
    order_ns: Stamps | None = None

    @property
    def leaves_ns(self) -> NDArray[np.int64]:
        """When the rows (n,) leave."""
        return self.stamp_ns if self.order_ns is None else self.order_ns

    def __post_init__(self) -> None:
        for name, shape in _shapes(type(self)).items():
            value = getattr(self, name)
            sides = tuple(len(getattr(self, side)) if isinstance(side, str) else side for side in shape.sides)
            requested = (len(self.stamp_ns), *sides)
            if value is not None and not _fits(value.shape, requested):
                raise ValueError(f"{type(self).__name__}.{name}: expected shape {requested}, got {value.shape}")

    def __len__(self) -> int:
        return len(self.stamp_ns)

    def only(self: Kind, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> Kind:
        """The rows chosen by a mask or by their indices, of a record that is all columns of numbers."""
        columns = {name: getattr(self, name) for name in _shapes(type(self))}
        return replace(self, **{name: value[chosen] for name, value in columns.items() if value is not None})


def _fits(shape: tuple[int, ...], requested: tuple[int | None, ...]) -> bool:
    return len(shape) == len(requested) and all(side in (None, got) for got, side in zip(shape, requested, strict=True))


_SHAPES: dict[type[object], dict[str, Shape]] = {}


def _shapes(kind: type[object]) -> dict[str, Shape]:
    """The shapes of a record's columns, from their annotations; looked up once, as a live record is one row."""
    if kind in _SHAPES:
        return _SHAPES[kind]
    shapes = _SHAPES[kind] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        for part in (hint, *get_args(hint)):
            for extra in getattr(part, "__metadata__", ()):
                if isinstance(extra, Shape):
                    shapes[name] = extra
    return shapes


@dataclass(frozen=True, kw_only=True, eq=False)
class Imu(Record):
    """Rates and specific force (gravity included: +9.8 along z at rest, z up), perhaps an orientation in the world."""

    angular_velocity_rad_s: Vectors
    linear_acceleration_m_s2: Vectors
    orientation_xyzw: Quaternions | None = None
    orientation_covariance: Covariances | None = None
    angular_velocity_covariance: Covariances | None = None
    linear_acceleration_covariance: Covariances | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class MagneticField(Record):
    """The magnetic field."""

    magnetic_field_t: Vectors


@dataclass(frozen=True, kw_only=True, eq=False)
class Temperature(Record):
    """Temperatures."""

    temperature_deg_c: Numbers


@dataclass(frozen=True, kw_only=True, eq=False)
class Pressure(Record):
    """Pressures of a fluid."""

    pressure_pa: Numbers


@dataclass(frozen=True, kw_only=True, eq=False)
class Fix(Record):
    """Satellite fixes on WGS84, the altitude above the ellipsoid, the covariance of east, north, up.

    The status has the numbers of NavSatStatus; where it is -1 the place may be unknown (NaN). A covariance that is None
    or all zero is unknown; one that follows from the kind of the fix rather than from a measurement is `approximate`.
    """

    latitude_deg: Numbers
    longitude_deg: Numbers
    altitude_m: Numbers
    status: Codes
    covariance_m2: Covariances | None = None
    approximate: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Odometry(Record):
    """Poses in the parent frame and twists in the child frame, each with its covariance."""

    position_m: Vectors
    orientation_xyzw: Quaternions
    pose_covariance: PoseCovariances
    linear_velocity_m_s: Vectors
    angular_velocity_rad_s: Vectors
    twist_covariance: PoseCovariances


@dataclass(frozen=True, kw_only=True, eq=False)
class Pose(Record):
    """Poses in the frame, perhaps with a covariance."""

    position_m: Vectors
    orientation_xyzw: Quaternions
    covariance: PoseCovariances | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Poses(Record):
    """Several poses in the frame (n, k), without names."""

    position_m: ManyVectors
    orientation_xyzw: ManyQuaternions


@dataclass(frozen=True, kw_only=True, eq=False)
class Paths(Record):
    """Ways as the poses along them: row i has the first `count[i]` of those in `ways[place[i]]`."""

    paths: tuple[Pose, ...]
    path_index: Counts
    count: Counts

    def last(self) -> Pose:
        """The poses of the last row, of which there must be one."""
        path: Pose = self.paths[self.path_index[-1]]
        return path.only(np.arange(self.count[-1]))


@dataclass(frozen=True, kw_only=True, eq=False)
class Transforms(Record):
    """Frames `children` in their `parents`, all of them in each row, or those alone that are `known` in it."""

    parents: tuple[str, ...]
    children: tuple[str, ...]
    translation_m: PerChild
    rotation_xyzw: TurnPerChild
    known: KnownChildren | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Twist(Record):
    """Velocities in the frame, perhaps with a covariance."""

    linear_velocity_m_s: Vectors
    angular_velocity_rad_s: Vectors
    covariance: PoseCovariances | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Acceleration(Record):
    """Accelerations in the frame."""

    linear_m_s2: Vectors
    angular_rad_s2: Vectors


@dataclass(frozen=True, kw_only=True, eq=False)
class Joints(Record):
    """Joints by name: angles in rad or ways in m, their rates, and efforts."""

    names: tuple[str, ...]
    position: PerJoint | None = None
    velocity: PerJoint | None = None
    effort: PerJoint | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class ClockReading(Record):
    """What another clock showed at the stamp."""

    time_ns: Stamps
    source: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Batteries(Record):
    """Voltages of a battery, perhaps its current and its charge as a share."""

    voltage_v: Numbers
    current_a: Numbers | None = None
    percentage: Numbers | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class LaserScans(Record):
    """Scans about z, counter-clockwise from x: range j < count of a row lies at angle_min + j increments.

    Behind the count the ranges (n, k) are NaN. One beyond the largest is +inf, one that is none is NaN. Intensities
    are of the ranges, all NaN where a scan has none. The last angle is told only where it comes from a message, which
    has it rounded.
    """

    angle_min_rad: Numbers
    angle_increment_rad: Numbers
    ranges_m: Lists
    count: Counts
    range_min_m: Numbers
    range_max_m: Numbers
    scan_time_s: Numbers
    time_increment_s: Numbers
    angle_max_rad: Numbers | None = None
    intensities: Lists | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Wrench(Record):
    """Forces and torques in the frame."""

    force_n: Vectors
    torque_nm: Vectors


@dataclass(frozen=True, kw_only=True, eq=False)
class Vector(Record):
    """One vector each in the frame, such as by how much a place is off."""

    vector: Vectors


@dataclass(frozen=True, kw_only=True, eq=False)
class Code(Record):
    """Small numbers that stand for something, as the archive has them."""

    code: Bytes


@dataclass(frozen=True, kw_only=True, eq=False)
class Scalars(Record):
    """One number each, such as a cycle time."""

    values: Numbers


@dataclass(frozen=True, kw_only=True, eq=False)
class Integers(Record):
    """One whole number each, such as a state."""

    values: Counts


@dataclass(frozen=True, kw_only=True, eq=False)
class Values(Record):
    """Plain numbers whose order the dataset's page tells; NaN where there is none."""

    values: Lists


@dataclass(frozen=True)
class State:
    """How a part of a robot is, in the words of diagnostic_msgs: level 0 is fine, 1 a warning, 2 an error."""

    name: str
    level: int
    message: str
    values: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Diagnostics(Record):
    """How the parts of a robot are: row i is in `states[place[i]]`."""

    states: tuple[tuple[State, ...], ...]
    state_index: Counts


@dataclass(frozen=True, kw_only=True, eq=False)
class Markers(Record):
    """Named shapes (as visualization_msgs/Marker has them: 1 cube, 2 sphere, 3 cylinder), their sizes along x, y, z."""

    names: tuple[str, ...]
    shapes: tuple[int, ...]
    position_m: PerMarker
    orientation_xyzw: QuaternionPerMarker
    size_m: PerMarker
    colour_rgba: QuaternionPerMarker


@dataclass(frozen=True, kw_only=True, eq=False)
class Images(Record):
    """Images as the archive holds them, each read on request.

    `load` gives the bytes of one row's file, or its pixels where they are not `packed`; `names` are the places. Pixels
    that no PNG can hold, such as floats, are not `packable`: they are sent as they are, whatever is asked for.
    """

    names: tuple[str, ...]
    load: Callable[[int], "bytes | Pixels"]
    packed: bool = True
    packable: bool = True


@dataclass(frozen=True, kw_only=True, eq=False)
class CameraInfos(Images):
    """What is known of the camera that took each of these pictures."""

    camera: CameraModel


@dataclass(frozen=True, kw_only=True, eq=False)
class Pixels:
    """A picture as rows of `step` bytes, in an encoding of sensor_msgs such as bgr8."""

    height: int
    width: int
    encoding: str
    step: int
    data: bytes
    is_bigendian: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Clouds(Record):
    """Point clouds, each read when it is asked for.

    `load` gives the points of one row as a structured array, x, y, z first, then what there is; `names` their place.
    """

    names: tuple[str, ...]
    load: Callable[[int], NDArray[np.void]]

    def only(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> "Clouds":
        """The rows chosen by a mask or by their indices."""
        rows = np.arange(len(self))[chosen].tolist()
        order_ns = None if self.order_ns is None else self.order_ns[chosen]
        names, load = tuple(self.names[row] for row in rows), self.load
        return Clouds(stamp_ns=self.stamp_ns[chosen], order_ns=order_ns, names=names, load=lambda row: load(rows[row]))


def concatenate(parts: Sequence[Kind]) -> Kind:
    """Concatenate records of one kind, which have the same names where they have names."""
    first = parts[0]
    if len(parts) == 1:
        return first
    columns = {name: [getattr(part, name) for part in parts] for name in _shapes(type(first))}
    columns_of_all = {
        name: np.concatenate(values) for name, values in columns.items() if all(value is not None for value in values)
    }
    starts = np.cumsum([0, *map(len, parts)]).tolist()
    if isinstance(first, Diagnostics):
        states = [part.states for part in parts if isinstance(part, Diagnostics)]
        shifts = np.repeat(np.cumsum([0, *map(len, states)])[:-1], [len(part) for part in parts])
        columns_of_all["state_index"] = columns_of_all["state_index"] + shifts
        return replace(first, **columns_of_all, states=tuple(chain(*states)))
    if isinstance(first, Clouds):
        clouds = [part for part in parts if isinstance(part, Clouds)]

        def load(row: int) -> NDArray[np.void]:
            index = bisect_right(starts, row) - 1
            return clouds[index].load(row - starts[index])

        return replace(first, **columns_of_all, names=tuple(chain(*(part.names for part in clouds))), load=load)
    return replace(first, **columns_of_all)
