"""Real numbers of ASN.1 (ITU-T X.690, 8.5) as double precision, in the forms that the compiler ASN1SCC gives them.

The rules ask for an odd mantissa. ASN1SCC takes all 53 bits of a double instead, the one that is not stored among them,
and so it takes those of no number and of the least numbers as well: then the bits are those of the double.
"""

import math
import struct

BINARY, MINUS = 0x80, 0x40  # bits of a header
SPECIAL = {0x40: math.inf, 0x41: -math.inf, 0x42: math.nan, 0x43: -0.0}  # headers without more
BITS_OF_BASE = (1, 3, 4)  # 2, 8, 16
MANTISSA = 52  # bits of a double that are stored
BIAS = 1023 + MANTISSA  # of an exponent whose mantissa is a whole number
NO_NUMBER = 2047  # the exponent in a double that is none; 0 that of the least


def double_from_parts(header: int, exponent: int, mantissa: int) -> float:
    """A number by the header of its encoding; ValueError where it has no such base or is too large."""
    base, scale = header >> 4 & 3, header >> 2 & 3
    if base >= len(BITS_OF_BASE):
        raise ValueError(f"expected a base of 2, 8 or 16, got a header of {header:#04x}")
    sign = -1.0 if header & MINUS else 1.0
    stored = exponent + BIAS
    if stored in (0, NO_NUMBER) and not base and not scale and mantissa >> MANTISSA == 1:
        return math.copysign(_double_of_bits(stored << MANTISSA | mantissa & ((1 << MANTISSA) - 1)), sign)
    try:
        return sign * math.ldexp(mantissa, exponent * BITS_OF_BASE[base] + scale)
    except OverflowError:
        raise ValueError(f"expected a number of double precision, got {mantissa} times 2^{exponent}") from None


def _double_of_bits(bits: int) -> float:
    return float(struct.unpack(">d", bits.to_bytes(8, "big"))[0])
