"""Values as packed bits, by asn1tools from a description in ASN.1 of our own: a second route beside the reader's."""

import warnings
from typing import Any

import asn1tools

ASN1 = """
Logs DEFINITIONS AUTOMATIC TAGS ::= BEGIN
Int32 ::= INTEGER (-2147483648..2147483647)
Card32 ::= INTEGER (0..4294967295)
Name ::= OCTET STRING (SIZE (0..256))
Vector ::= SEQUENCE (SIZE (3)) OF REAL
Turn ::= SEQUENCE (SIZE (4)) OF REAL
Square ::= SEQUENCE (SIZE (3)) OF Vector
Time ::= SEQUENCE { microseconds INTEGER (-9223372036854775807..9223372036854775807), usecPerSec Int32 }
Six ::= SEQUENCE (SIZE (6)) OF REAL
TransformWithCovariance ::= SEQUENCE {
  metadata SEQUENCE {
    msgVersion Card32, producerId Name, dataEstimated SEQUENCE (SIZE (7)) OF BOOLEAN,
    parentFrameId Name, parentTime Time, childFrameId Name, childTime Time },
  data SEQUENCE { translation Vector, orientation Turn, cov SEQUENCE (SIZE (6)) OF Six } }
RigidBodyState ::= SEQUENCE {
  timestamp Time, sourceFrame Name, targetFrame Name, pos Vector, cov-position Square, orient Turn,
  cov-orientation Square, velocity Vector, cov-velocity Square, angular-velocity Vector, cov-angular-velocity Square }
Pose ::= SEQUENCE { pos Vector, orient Turn }
State ::= SEQUENCE { position REAL, speed REAL, effort REAL, raw REAL, acceleration REAL }
Joints ::= SEQUENCE {
  timestamp Time, names SEQUENCE (SIZE (0..50)) OF Name, elements SEQUENCE (SIZE (0..50)) OF State }
OldJoints ::= SEQUENCE {
  timestamp Time, names SEQUENCE (SIZE (0..30)) OF Name, elements SEQUENCE (SIZE (0..30)) OF State }
IMUSensors ::= SEQUENCE { timestamp Time, acc Vector, gyro Vector, mag Vector }
LaserScan ::= SEQUENCE {
  ref-time Time, start-angle REAL, angular-resolution REAL, speed REAL, ranges SEQUENCE (SIZE (1..2000)) OF Int32,
  minRange Card32, maxRange Card32, remission SEQUENCE (SIZE (1..2000)) OF REAL }
Odd ::= SEQUENCE {
  free INTEGER, narrow INTEGER (-5..5), one INTEGER (7), colour ENUMERATED { red, green, blue },
  letters IA5String (SIZE (1..9)) OPTIONAL, raw OCTET STRING (SIZE (2)), flag BOOLEAN OPTIONAL }
END
"""
with warnings.catch_warnings():  # it uses names of its parser that are old
    warnings.simplefilter("ignore", DeprecationWarning)
    CODER: Any = asn1tools.compile_string(ASN1, "uper")
BUFFERS = {"TransformWithCovariance": 1360, "RigidBodyState": 1164, "Pose": 91, "Joints": 16120, "IMUSensors": 129}


def of_asn1(value: Any) -> Any:
    """The value as asn1tools takes it: names with -, texts as bytes with C's zero behind them."""
    if isinstance(value, dict):
        return {key.replace("_", "-"): of_asn1(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [of_asn1(inner) for inner in value]
    return value.encode() + b"\0" if isinstance(value, str) else value


def pack_sample(kind: str, value: Any, *, size: int = 0, prefix: str = "asn1Scc") -> dict[str, Any]:
    """Make a sample of asn1_bitstream of `size` bytes, filled with zeros, or no longer than needed."""
    data = bytes(CODER.encode(kind, of_asn1(value)))
    return {"serialization_method": 0, "type": f"{prefix}{kind}", "data": list(data.ljust(size, b"\0"))}
