"""What archives hold, as columns: one record is many rows of one kind, in SI units, without files and without ROS.

Every record has `stamp_ns` (n,). Quaternions are x y z w; covariances have the axes x y z, then the rotations about
them. A column that an archive does not hold is None. Axes are those of the frame that the dataset's description names.
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
    """The shape of one row of a column.

    Args:
        sides: lengths; a text is the length of the record's field of that name, None is any.
    """

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
    """Rows at their times. The shapes of all columns are checked when it is made.

    Args:
        stamp_ns: times (n,) in ns since 1970, as in the message's header.
        order_ns: times (n,) at which the rows are published or were logged, where these differ from `stamp_ns`.
    """

    stamp_ns: Stamps
    order_ns: Stamps | None = None

    @property
    def leaves_ns(self) -> NDArray[np.int64]:
        """When the rows (n,) are published or were logged, in ns since 1970."""
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
        """Select rows of a record that is all columns of numbers.

        Args:
            chosen: a mask (n,), or indices.

        Returns:
            A record of the selected rows.
        """
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
    """Angular rates and specific force in the sensor's frame, perhaps its orientation in the world.

    Args:
        angular_velocity_rad_s: (n, 3).
        linear_acceleration_m_s2: (n, 3), gravity included: +9.8 along z at rest where z is up.
        orientation_xyzw: (n, 4), or None.
        orientation_covariance: (n, 3, 3) in rad^2, or None.
        angular_velocity_covariance: (n, 3, 3), or None.
        linear_acceleration_covariance: (n, 3, 3), or None.
    """

    angular_velocity_rad_s: Vectors
    linear_acceleration_m_s2: Vectors
    orientation_xyzw: Quaternions | None = None
    orientation_covariance: Covariances | None = None
    angular_velocity_covariance: Covariances | None = None
    linear_acceleration_covariance: Covariances | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class MagneticField(Record):
    """The magnetic field in the sensor's frame.

    Args:
        magnetic_field_t: (n, 3) in tesla.
    """

    magnetic_field_t: Vectors


@dataclass(frozen=True, kw_only=True, eq=False)
class Temperature(Record):
    """Temperatures.

    Args:
        temperature_deg_c: (n,) in degrees Celsius.
    """

    temperature_deg_c: Numbers


@dataclass(frozen=True, kw_only=True, eq=False)
class Pressure(Record):
    """Pressures of a fluid.

    Args:
        pressure_pa: (n,) in Pa.
    """

    pressure_pa: Numbers


@dataclass(frozen=True, kw_only=True, eq=False)
class Fix(Record):
    """Satellite fixes on WGS84.

    Args:
        latitude_deg: (n,) in degrees; NaN where the position is not known.
        longitude_deg: (n,) in degrees.
        altitude_m: (n,) above the ellipsoid, not above the sea.
        status: (n,) as in sensor_msgs/NavSatStatus; -1 is no fix.
        covariance_m2: (n, 3, 3) of east, north, up; None or all zero where it is not known.
        approximate: whether the covariance follows from the kind of the fix rather than from a measurement.
    """

    latitude_deg: Numbers
    longitude_deg: Numbers
    altitude_m: Numbers
    status: Codes
    covariance_m2: Covariances | None = None
    approximate: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Odometry(Record):
    """Poses in the parent frame and twists in the child frame.

    Args:
        position_m: (n, 3) in the parent frame.
        orientation_xyzw: (n, 4) of the child in the parent.
        pose_covariance: (n, 6, 6) of x y z and the rotations about them.
        linear_velocity_m_s: (n, 3) in the child frame.
        angular_velocity_rad_s: (n, 3) in the child frame.
        twist_covariance: (n, 6, 6).
    """

    position_m: Vectors
    orientation_xyzw: Quaternions
    pose_covariance: PoseCovariances
    linear_velocity_m_s: Vectors
    angular_velocity_rad_s: Vectors
    twist_covariance: PoseCovariances


@dataclass(frozen=True, kw_only=True, eq=False)
class Pose(Record):
    """Poses in the stream's frame.

    Args:
        position_m: (n, 3).
        orientation_xyzw: (n, 4).
        covariance: (n, 6, 6) of x y z and the rotations about them, or None.
    """

    position_m: Vectors
    orientation_xyzw: Quaternions
    covariance: PoseCovariances | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Poses(Record):
    """Several poses in the stream's frame, without names.

    Args:
        position_m: (n, k, 3).
        orientation_xyzw: (n, k, 4).
    """

    position_m: ManyVectors
    orientation_xyzw: ManyQuaternions


@dataclass(frozen=True, kw_only=True, eq=False)
class Paths(Record):
    """Growing paths.

    Row i has the first `count[i]` poses of `paths[path_index[i]]`: states of one path share its poses.

    Args:
        paths: poses along each path.
        path_index: (n,) which path each row is of.
        count: (n,) how many of its poses.
    """

    paths: tuple[Pose, ...]
    path_index: Counts
    count: Counts

    def last(self) -> Pose:
        """Get the newest path.

        Returns:
            The poses of the last row, of which there must be one.
        """
        path: Pose = self.paths[self.path_index[-1]]
        return path.only(np.arange(self.count[-1]))


@dataclass(frozen=True, kw_only=True, eq=False)
class Transforms(Record):
    """Frames in their parents, all of them in each row, or those alone that are `known` in it.

    Args:
        parents: the parent of each child.
        children: names of k frames.
        translation_m: (n, k, 3), parent_t_child.
        rotation_xyzw: (n, k, 4).
        known: mask (n, k), or None where all are known.
    """

    parents: tuple[str, ...]
    children: tuple[str, ...]
    translation_m: PerChild
    rotation_xyzw: TurnPerChild
    known: KnownChildren | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Twist(Record):
    """Velocities in the stream's frame.

    Args:
        linear_velocity_m_s: (n, 3).
        angular_velocity_rad_s: (n, 3).
        covariance: (n, 6, 6), or None.
    """

    linear_velocity_m_s: Vectors
    angular_velocity_rad_s: Vectors
    covariance: PoseCovariances | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Acceleration(Record):
    """Accelerations in the stream's frame.

    Args:
        linear_m_s2: (n, 3).
        angular_rad_s2: (n, 3).
    """

    linear_m_s2: Vectors
    angular_rad_s2: Vectors


@dataclass(frozen=True, kw_only=True, eq=False)
class Joints(Record):
    """Joints by name.

    Args:
        names: of k joints.
        position: (n, k) in rad or m, or None; NaN where a row has no value for a joint.
        velocity: (n, k) in rad/s or m/s, or None.
        effort: (n, k) in N m or N, or None.
    """

    names: tuple[str, ...]
    position: PerJoint | None = None
    velocity: PerJoint | None = None
    effort: PerJoint | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class ClockReading(Record):
    """What another clock showed at the stamp.

    Args:
        time_ns: (n,) in ns.
        source: the name of the clock.
    """

    time_ns: Stamps
    source: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Batteries(Record):
    """The state of a battery.

    Args:
        voltage_v: (n,).
        current_a: (n,), or None.
        percentage: (n,) the charge as a fraction from 0 to 1, or None.
    """

    voltage_v: Numbers
    current_a: Numbers | None = None
    percentage: Numbers | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class LaserScans(Record):
    """Scans about z, counter-clockwise from x: range j < count of a row lies at angle_min + j increments.

    Args:
        angle_min_rad: (n,).
        angle_increment_rad: (n,), negative for a clockwise scanner.
        ranges_m: (n, k); +inf beyond the largest range, NaN where there is none and beyond the count.
        count: (n,) ranges of each scan.
        range_min_m: (n,).
        range_max_m: (n,).
        scan_time_s: (n,).
        time_increment_s: (n,) from range to range.
        angle_max_rad: (n,) only from messages, where it is rounded; else None.
        intensities: (n, k), all NaN where a scan has none; or None.
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
    """Forces and torques in the stream's frame.

    Args:
        force_n: (n, 3).
        torque_nm: (n, 3).
    """

    force_n: Vectors
    torque_nm: Vectors


@dataclass(frozen=True, kw_only=True, eq=False)
class Vector(Record):
    """One vector each in the stream's frame, such as a position error.

    Args:
        vector: (n, 3).
    """

    vector: Vectors


@dataclass(frozen=True, kw_only=True, eq=False)
class Code(Record):
    """Codes (small integers) as archived.

    Args:
        code: (n,) uint8.
    """

    code: Bytes


@dataclass(frozen=True, kw_only=True, eq=False)
class Scalars(Record):
    """One number each, such as a cycle time.

    Args:
        values: (n,).
    """

    values: Numbers


@dataclass(frozen=True, kw_only=True, eq=False)
class Integers(Record):
    """One whole number each, such as a state.

    Args:
        values: (n,) int64.
    """

    values: Counts


@dataclass(frozen=True, kw_only=True, eq=False)
class Values(Record):
    """Plain numbers whose order the dataset's page describes.

    Args:
        values: (n, k), NaN where there is none.
    """

    values: Lists


@dataclass(frozen=True)
class State:
    """The state of a part of a robot, in the words of diagnostic_msgs.

    Args:
        name: of the part.
        level: 0 is fine, 1 a warning, 2 an error.
        message: a line of text.
        values: pairs of key and value.
    """

    name: str
    level: int
    message: str
    values: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Diagnostics(Record):
    """States of the parts of a robot: row i is `states[state_index[i]]`.

    Args:
        states: the different states of all parts.
        state_index: (n,).
    """

    states: tuple[tuple[State, ...], ...]
    state_index: Counts


@dataclass(frozen=True, kw_only=True, eq=False)
class Markers(Record):
    """Named shapes.

    Args:
        names: of k shapes.
        shapes: k numbers as in visualization_msgs/Marker: 1 cube, 2 sphere, 3 cylinder.
        position_m: (n, k, 3).
        orientation_xyzw: (n, k, 4).
        size_m: (n, k, 3) along x, y and z.
        colour_rgba: (n, k, 4) from 0 to 1.
    """

    names: tuple[str, ...]
    shapes: tuple[int, ...]
    position_m: PerMarker
    orientation_xyzw: QuaternionPerMarker
    size_m: PerMarker
    colour_rgba: QuaternionPerMarker


@dataclass(frozen=True, kw_only=True, eq=False)
class Images(Record):
    """Images as the archive holds them, each read on request.

    Args:
        names: where each image is, such as the name of its file.
        load: reads one row: the bytes of its file, or its pixels where they are not `packed`. Called from several
            threads.
        packed: whether the rows are encoded files, such as PNG or JPEG.
        packable: whether a PNG can hold the pixels. Floats are not: they are sent as they are, whatever is requested.
    """

    names: tuple[str, ...]
    load: Callable[[int], "bytes | Pixels"]
    packed: bool = True
    packable: bool = True


@dataclass(frozen=True, kw_only=True, eq=False)
class CameraInfos(Images):
    """Images with the camera that took them.

    Args:
        camera: the camera of all rows.
    """

    camera: CameraModel


@dataclass(frozen=True, kw_only=True, eq=False)
class Pixels:
    """An image in memory.

    Args:
        height: in pixels.
        width: in pixels.
        encoding: as in sensor_msgs/Image, such as bgr8.
        step: bytes of a row of pixels.
        data: the rows, one after the other.
        is_bigendian: whether numbers of several bytes start with the highest.
    """

    height: int
    width: int
    encoding: str
    step: int
    data: bytes
    is_bigendian: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Clouds(Record):
    """Point clouds, each read on request.

    Args:
        names: where each cloud is, such as the name of its file.
        load: reads one row: points (m,) as a structured array, x, y, z in m first, then what else there is. Called from
            several threads.
    """

    names: tuple[str, ...]
    load: Callable[[int], NDArray[np.void]]

    def only(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> "Clouds":
        """Select rows; no cloud is read.

        Args:
            chosen: a mask (n,), or indices.

        Returns:
            A record of the selected rows.
        """
        rows = np.arange(len(self))[chosen].tolist()
        order_ns = None if self.order_ns is None else self.order_ns[chosen]
        names, load = tuple(self.names[row] for row in rows), self.load
        return Clouds(stamp_ns=self.stamp_ns[chosen], order_ns=order_ns, names=names, load=lambda row: load(rows[row]))


def concatenate(parts: Sequence[Kind]) -> Kind:
    """Concatenate records of one kind.

    Columns that are missing in a part are dropped.

    Args:
        parts: one or more records, with the same names where they have names.

    Returns:
        A record of all rows, in the order of the parts.
    """
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
        # Indices point into the states of their own part: shift them to where these are among all.
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
