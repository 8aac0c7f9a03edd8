"""The types of samples: a row of TYPES for each tells how its samples are known, and which function converts them.

A new type is such a row and that function. What the samples are like is its kind: the name of the row.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fieldplay.messages.records import Pixels, Record
from fieldplay_cdff.logs.msgpack_decode.values import plain_name
from fieldplay_cdff.logs.types import (
    depths,
    numbers,
    pictures,
    poses,
)

STATE, JOINTS, SCAN, DEPTHS, CLOUD, IMU = (
    "RigidBodyState", "Joints", "LaserScan", "DepthMap", "Pointcloud", "IMUSensors",
)  # fmt: skip
FRAME, PAIR, FIX, TRANSFORM, POSE, MAP, BITS = (
    "Frame", "FramePair", "GpsSolution", "TransformWithCovariance", "Pose", "Map", "asn1_bitstream",
)  # fmt: skip
INTEGER, LONG, NUMBER, TRUTH_VALUE = "integer", "long integer", "number", "truth value"
PLAIN = {INTEGER, LONG, NUMBER, TRUTH_VALUE}  # samples without fields
LARGEST = (1 << 63) - 1  # number that a message holds
ODOMETRY, POINTS, IMAGE = "nav_msgs/msg/Odometry", "sensor_msgs/msg/PointCloud2", "sensor_msgs/msg/Image"

RANGED = re.compile(r"(u?)int(8|16|32|64)t?")
BITS_OF = {"int": 32, "short": 16, "long": 64}
PREFIX = re.compile(r"asn[1l]scc")
MARSHALLED = re.compile(r"_m$")


@dataclass(frozen=True, kw_only=True, eq=False)
class SampleType:
    """How samples of a kind are known, and what becomes of them.

    `names` are those of the type in all spellings, without capitals, underscores and hyphens (where none are given,
    the kind's own). Samples of other types are known by their `fields`: all those of one of the texts, | between
    spellings. Without a `message` they do not play.

    One function converts them: `record` many at once, `picture` or `points` each when it is asked for. The last is
    told the sample's stamp and how many nanoseconds a unit of its times has; `earliest_ns` how long after the stamp
    the first point was measured.
    """

    kind: str
    message: str = ""
    names: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    record: Callable[..., Record] | None = None
    picture: Callable[[Any], Pixels | bytes] | None = None
    points: Callable[[Any, int, int], depths.Points] | None = None
    earliest_ns: Callable[[Any, int, int], int] | None = None
    frames: int = 1  # that the message has: none, one, or a parent and a child
    sides: tuple[str, ...] = ()  # of a sample with several pictures, the fields that hold them
    has_quaternions: bool = False  # `record` is told `w_first`, whether those that are lists have w first
    has_limits: bool = False  # `record` is told `limits`, the least and the largest number of the type

    @cached_property
    def spellings(self) -> frozenset[str]:
        """Plain names of the type."""
        return frozenset(self.names or (plain_name(self.kind),))

    @cached_property
    def signs(self) -> tuple[tuple[tuple[str, ...], ...], ...]:
        """The fields as lists of spellings, for each text."""
        return tuple(tuple(tuple(field.split("|")) for field in text.split()) for text in self.fields)


# Of those that hold others' fields too the more special stand first.
ROWS = (
    SampleType(
        kind=PAIR, message=IMAGE, fields=("left right baseline",), sides=("left", "right"),
        picture=pictures.image_of_frame,
    ),
    SampleType(
        kind=STATE, message=ODOMETRY, fields=("pos|position orient|orientation velocity|sourceframe",), frames=2,
        has_quaternions=True, record=poses.odometry_from_states,
    ),
    SampleType(
        kind=POSE, message="geometry_msgs/msg/PoseStamped", fields=("pos|position orient|orientation",),
        has_quaternions=True, record=poses.poses_from_samples,
    ),
    SampleType(
        kind=JOINTS, message="sensor_msgs/msg/JointState", fields=("names elements",), frames=0,
        record=numbers.joints_from_samples,
    ),
    SampleType(
        kind=SCAN, message="sensor_msgs/msg/LaserScan", fields=("ranges startangle",), record=numbers.scans_from_samples
    ),
    SampleType(
        kind=DEPTHS, message=POINTS, fields=("distances verticalinterval",), points=depths.points_from_depth_map,
        earliest_ns=depths.earliest_offset_ns,
    ),
    SampleType(kind=IMU, message="sensor_msgs/msg/Imu", fields=("acc gyro",), record=numbers.imu_from_samples),
    SampleType(
        kind=FIX, message="sensor_msgs/msg/NavSatFix", names=("gpssolution", "solution"),
        fields=("latitude longitude",), record=numbers.fixes_from_samples,
    ),
    SampleType(kind=BITS, fields=("serializationmethod data",)),
    SampleType(
        kind=FRAME, message=IMAGE, names=("frame", "image"), picture=pictures.image_of_frame,
        fields=("image datasize|size", "data.rows data.cols data.depth"),
    ),
    SampleType(kind=CLOUD, message=POINTS, fields=("points|data.points",), points=depths.points_from_cloud),
    SampleType(
        kind=TRANSFORM, message=ODOMETRY, fields=("data.translation data.orientation",), frames=2,
        has_quaternions=True, record=poses.odometry_from_transforms,
    ),
    SampleType(kind=MAP),
    SampleType(
        kind=INTEGER, message="std_msgs/msg/Int32", frames=0, has_limits=True, record=numbers.whole_numbers,
        names=("int8t", "int16t", "int32t", "uint8t", "uint16t", "int8", "int16", "int32", "uint8", "uint16", "int",
               "short"),
    ),
    SampleType(
        kind=LONG, message="std_msgs/msg/Int64", frames=0, has_limits=True, record=numbers.whole_numbers,
        names=("int64t", "uint32t", "uint64t", "int64", "uint32", "uint64", "long", "unsignedint"),
    ),
    SampleType(
        kind=NUMBER, message="std_msgs/msg/Float64", frames=0, record=numbers.plain_numbers,
        names=("double", "float", "doublet", "floatt", "float32", "float64"),
    ),
    SampleType(
        kind=TRUTH_VALUE, message="std_msgs/msg/Bool", frames=0, has_limits=True, record=numbers.whole_numbers,
        names=("bool", "boolean", "truth value"),
    ),
)  # fmt: skip
TYPES = {row.kind: row for row in ROWS}


def _without_prefix(text: str) -> tuple[str, str]:
    """A type without its path and its spelling's additions, and the plain name of that."""
    own = MARSHALLED.sub("", re.split(r"/|::", text)[-1])
    return own, PREFIX.sub("", plain_name(own))


def canonical_type(text: str) -> str:
    """A type without what spellings add: /base/samples/RigidBodyState_m and asn1SccRigidbodystate are RigidBodyState.

    One that is not known is returned as it is, without its path.
    """
    own, plain = _without_prefix(text)
    return next((kind for kind, row in TYPES.items() if plain in row.spellings), own)


def range_of(text: str) -> tuple[int, int]:
    """The least and the largest number of a type of whole numbers; of what is unknown or larger, those of int64."""
    _, plain = _without_prefix(text)
    if plain in TYPES[TRUTH_VALUE].spellings:
        return 0, 1
    match = RANGED.fullmatch("uint32" if plain == "unsignedint" else plain)
    bits = int(match[2]) if match else BITS_OF.get(plain, 64)
    if match and match[1]:
        return 0, min((1 << bits) - 1, LARGEST)
    return -(1 << bits - 1), (1 << bits - 1) - 1


def kind_of(text: str, sample: Any) -> str:
    """The kind of a stream's samples by its type and the first of them; "" where neither is known."""
    named = canonical_type(text) if text else ""
    if named in (INTEGER, LONG, NUMBER) and isinstance(sample, bool):
        return named
    by_fields = _kind_by_fields(sample, is_named=bool(named))
    if named in (MAP, BITS) or not by_fields:
        return named if named in TYPES else ""
    return by_fields


def _kind_by_fields(sample: Any, *, is_named: bool) -> str:
    if isinstance(sample, bool):
        return TRUTH_VALUE
    if isinstance(sample, int | float) and not is_named:
        return LONG if isinstance(sample, int) else NUMBER
    if not isinstance(sample, dict):
        return ""
    names = {plain_name(name) for name in sample if isinstance(name, str)}
    for name, inner in sample.items():
        if isinstance(inner, dict):
            names |= {f"{plain_name(str(name))}.{plain_name(str(key))}" for key in inner}
    for kind, row in TYPES.items():
        if any(all(any(name in names for name in field) for field in fields) for fields in row.signs):
            return kind
    return ""
