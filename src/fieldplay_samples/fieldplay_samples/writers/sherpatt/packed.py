"""A transform as packed bits: unaligned PER of ASN.1 as the framework's C code writes it, in its whole buffer."""

import math
from typing import NamedTuple

from fieldplay_samples.motion.frames import Floats
from fieldplay_samples.writers.sherpatt.log_writer import Sample

BUFFER = 1360  # bytes that the largest transform takes
TYPE, UNALIGNED_PER, VERSION = "asn1SccTransformWithCovariance", 0, 1
LARGEST_64, LARGEST_U32, LONGEST_NAME = (1 << 63) - 1, (1 << 32) - 1, 256
US_PER_S = 1_000_000
FRACTION = 53  # bits of the mantissa of a double, all of which are written
BINARY, MINUS = 0x80, 0x40


class Measured(NamedTuple):
    """A pose (7,) x y z and x y z w of the child in the parent, with its covariance (6, 6)."""

    stamp_ns: int
    frames: tuple[str, str]  # parent, child
    pose: Floats
    covariance: Floats


def packed_transform(measured: Measured, producer: str) -> Sample:
    """A sample with a transform in packed bits; what lies behind them in the buffer is zero."""
    bits = whole(VERSION, 0, LARGEST_U32) + name(producer) + "1" * 7  # all of the pose is estimated
    for frame in measured.frames:
        bits += name(frame)
        bits += whole(measured.stamp_ns // 1000, -LARGEST_64, LARGEST_64)
        bits += whole(US_PER_S, -(1 << 31), (1 << 31) - 1)
    bits += "".join(map(real, [*measured.pose.tolist(), *measured.covariance.ravel().tolist()]))
    data = int(bits.ljust(8 * BUFFER, "0"), 2).to_bytes(BUFFER, "big")
    return {"serialization_method": UNALIGNED_PER, "type": TYPE, "data": list(data)}


def whole(value: int, low: int, high: int) -> str:
    """A whole number within limits, as 0 and 1."""
    return format(value - low, f"0{(high - low).bit_length()}b")


def name(text: str) -> str:
    """A text, which C ends with a zero."""
    data = text.encode() + b"\0"
    return whole(len(data), 0, LONGEST_NAME) + of_bytes(data)


def real(value: float) -> str:
    """A finite number: how many bytes follow, the sign, an exponent of one or two bytes, the mantissa."""
    if not value:
        return of_bytes(b"\0")
    mantissa, exponent = math.frexp(abs(value))
    power = exponent - FRACTION
    width = 1 if -128 <= power < 128 else 2
    header = BINARY | (MINUS if value < 0 else 0) | width - 1
    data = bytes([header]) + power.to_bytes(width, "big", signed=True) + int(mantissa * 2**FRACTION).to_bytes(7, "big")
    return of_bytes(bytes([len(data)]) + data)


def of_bytes(data: bytes) -> str:
    return "".join(format(byte, "08b") for byte in data)
