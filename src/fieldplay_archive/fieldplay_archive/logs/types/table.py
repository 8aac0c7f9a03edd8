"""What kind of samples a stream has: by the name of their type in its spellings, or by their fields."""

import re
from typing import Any

from fieldplay_archive.logs.messagepack.values import plain_name

STATE, JOINTS, SCAN, DEPTHS, CLOUD, IMU = (
    "RigidBodyState", "Joints", "LaserScan", "DepthMap", "Pointcloud", "IMUSensors",
)  # fmt: skip
FRAME, PAIR, FIX, TRANSFORM, POSE, MAP, BITS = (
    "Frame", "FramePair", "GpsSolution", "TransformWithCovariance", "Pose", "Map", "asn1_bitstream",
)  # fmt: skip
INTEGER, LONG, NUMBER, TRUTH_VALUE = "integer", "long integer", "number", "truth value"
PLAIN = {INTEGER, LONG, NUMBER, TRUTH_VALUE}  # samples without fields
LARGEST = (1 << 63) - 1  # number that a message holds

NAMES = {
    plain_name(kind): kind for kind in (STATE, JOINTS, SCAN, DEPTHS, CLOUD, IMU, FRAME, PAIR, FIX, TRANSFORM, POSE)
}
NAMES |= {"solution": FIX, "image": FRAME, "map": MAP, "asn1bitstream": BITS}
INTEGERS = {
    "int8t", "int16t", "int32t", "uint8t", "uint16t", "int8", "int16", "int32", "uint8", "uint16", "int", "short",
}  # fmt: skip
LONGS = {"int64t", "uint32t", "uint64t", "int64", "uint32", "uint64", "long", "unsignedint"}
NUMBERS = {"double", "float", "doublet", "floatt", "float32", "float64"}
RANGED = re.compile(r"(u?)int(8|16|32|64)t?")
BITS_OF = {"int": 32, "short": 16, "long": 64}
TRUTH_NAMES = ("bool", "boolean", TRUTH_VALUE)
PREFIX = re.compile(r"asn[1l]scc")
MARSHALLED = re.compile(r"_m$")

# The fields that tell a kind; of those that hold others' fields too the more special stand first.
FIELDS: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...] = (
    (PAIR, (("left",), ("right",), ("baseline",))),
    (STATE, (("pos", "position"), ("orient", "orientation"), ("velocity", "sourceframe"))),
    (POSE, (("pos", "position"), ("orient", "orientation"))),
    (JOINTS, (("names",), ("elements",))),
    (SCAN, (("ranges",), ("startangle",))),
    (DEPTHS, (("distances",), ("verticalinterval",))),
    (IMU, (("acc",), ("gyro",))),
    (FIX, (("latitude",), ("longitude",))),
    (BITS, (("serializationmethod",), ("data",))),
    (FRAME, (("image",), ("datasize", "size"))),
    (FRAME, (("data.rows",), ("data.cols",), ("data.depth",))),
    (CLOUD, (("points", "data.points"),)),
    (TRANSFORM, (("data.translation",), ("data.orientation",))),
)


def canonical_type(text: str) -> str:
    """A type without what spellings add: /base/samples/RigidBodyState_m and asn1SccRigidbodystate are RigidBodyState.

    One that is not known is returned as it is, without its path.
    """
    own = MARSHALLED.sub("", re.split(r"/|::", text)[-1])
    plain = PREFIX.sub("", plain_name(own))
    if plain in NAMES:
        return NAMES[plain]
    if plain in TRUTH_NAMES:
        return TRUTH_VALUE
    for names, kind in ((INTEGERS, INTEGER), (LONGS, LONG), (NUMBERS, NUMBER)):
        if plain in names:
            return kind
    return own


def range_of(text: str) -> tuple[int, int]:
    """The least and the largest number of a type of whole numbers; of what is unknown or larger, those of int64."""
    plain = PREFIX.sub("", plain_name(MARSHALLED.sub("", re.split(r"/|::", text)[-1])))
    if plain in TRUTH_NAMES:
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
        return named if named in KNOWN else ""
    return by_fields


KNOWN = {*NAMES.values(), *PLAIN}


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
    for kind, fields in FIELDS:
        if all(any(name in names for name in spellings) for spellings in fields):
            return kind
    return ""
