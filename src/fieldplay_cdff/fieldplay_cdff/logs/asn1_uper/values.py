"""Reads packed bits: the unaligned packed encoding rules (PER) of ASN.1, ITU-T X.691, for the kinds that logs have.

A kind reads its value and tells how many bits it takes at most (`most_bits`), None where there is no limit.
"""

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

LARGEST_LIST = (1 << 16) - 1  # lists that may be longer are encoded in fragments, which is not read
REAL_BITS = 13 * 8  # that ASN1SCC takes for a real number at most
EXPONENT = 3  # in a header: bits that tell how many bytes the exponent has
BINARY, MINUS = 0x80, 0x40  # bits of a header
SPECIAL = {0x40: math.inf, 0x41: -math.inf, 0x42: math.nan, 0x43: -0.0}  # headers without more
BITS_OF_BASE = (1, 3, 4)  # 2, 8, 16
MANTISSA = 52  # bits of a double that are stored
BIAS = 1023 + MANTISSA  # of an exponent whose mantissa is a whole number
NO_NUMBER = 2047  # the exponent in a double that is none; 0 that of the least


class BitsError(ValueError):
    """What is wrong with some bits, at which of them, and in which field; the outer names are put before it."""

    def __init__(self, message: str, bit: int) -> None:
        super().__init__(message)
        self.bit = bit
        self.names: list[str] = []

    def __str__(self) -> str:
        return f"{'.'.join(self.names)} at bit {self.bit}: {self.args[0]}"


class Bits:
    """Bytes of which bits are taken one after the other, the highest first; `place` is the next one."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def take(self, width: int) -> int:
        """The next bits as a number that is not negative."""
        begin, end = self.place, self.place + width
        if end > 8 * len(self.data):
            raise BitsError(f"expected {width} bits, got {8 * len(self.data) - begin} up to the end", begin)
        self.place = end
        whole = int.from_bytes(self.data[begin >> 3 : (end + 7) >> 3], "big")
        return whole >> (-end & 7) & ((1 << width) - 1)

    def length(self) -> int:
        """A length that nothing limits, below 2^14."""
        begin, length = self.place, self.take(8)
        if length < 0x80:
            return length
        if length >= 0xC0:
            raise BitsError("expected a length below 16384, got one in pieces", begin)
        return (length & 0x3F) << 8 | self.take(8)


class PackedKind(Protocol):
    """What may be packed."""

    @property
    def most_bits(self) -> int | None:
        """How many bits a value takes at most."""

    def read(self, bits: Bits) -> Any:
        """A value; BitsError where the bits are none."""


@dataclass(frozen=True)
class PackedWhole:
    """A whole number between two limits, or with one or none of them."""

    low: int | None = None
    high: int | None = None

    @property
    def most_bits(self) -> int | None:
        return None if self.low is None or self.high is None else (self.high - self.low).bit_length()

    def read(self, bits: Bits) -> int:
        width, begin = self.most_bits, bits.place
        if width is None:
            return self._of_bytes(bits)
        value = (self.low or 0) + bits.take(width)
        if self.high is not None and value > self.high:
            raise BitsError(f"expected a number from {self.low} to {self.high}, got {value}", begin)
        return value

    def _of_bytes(self, bits: Bits) -> int:
        begin, count = bits.place, bits.length()
        if not count:
            raise BitsError("expected a number of bytes, got none", begin)
        value = bits.take(8 * count)
        if self.low is not None:
            return self.low + value
        return value - (value >> (8 * count - 1) << 8 * count)


@dataclass(frozen=True)
class PackedTruth:
    """True or false."""

    most_bits: int | None = 1

    def read(self, bits: Bits) -> bool:
        return bool(bits.take(1))


@dataclass(frozen=True)
class PackedChoice:
    """One of some names, by its number."""

    names: tuple[str, ...]

    @property
    def most_bits(self) -> int | None:
        return (len(self.names) - 1).bit_length()

    def read(self, bits: Bits) -> str:
        return self.names[PackedWhole(0, len(self.names) - 1).read(bits)]


@dataclass(frozen=True)
class PackedReal:
    """A real number: a length, then a header with the sign, the exponent and the mantissa; nothing for zero."""

    most_bits: int | None = REAL_BITS

    def read(self, bits: Bits) -> float:
        begin, count = bits.place, bits.length()
        if not count:
            return 0.0
        header, rest = bits.take(8), count - 1
        if not rest and header in SPECIAL:
            return SPECIAL[header]
        if not header & BINARY:
            raise BitsError(f"expected a real number in binary form, got a header of {header:#04x}", begin)
        width = (header & EXPONENT) + 1
        if width > EXPONENT:
            width, rest = bits.take(8), rest - 1
        if not 0 < width < rest:
            raise BitsError(f"expected an exponent and a mantissa in {rest} bytes, got an exponent of {width}", begin)
        exponent, mantissa = bits.take(8 * width), bits.take(8 * (rest - width))
        exponent -= exponent >> (8 * width - 1) << 8 * width
        try:
            return double_from_parts(header, exponent, mantissa)
        except ValueError as error:
            raise BitsError(str(error), begin) from None


@dataclass(frozen=True)
class PackedText:
    """Bytes, so many; of `eight` bits as a text or as they are, of seven as a text of ASCII."""

    low: int
    high: int
    width: int = 8
    is_text: bool = True

    @property
    def most_bits(self) -> int | None:
        return (self.high - self.low).bit_length() + self.width * self.high

    def read(self, bits: Bits) -> str | bytes:
        count = PackedWhole(self.low, self.high).read(bits)
        packed = bits.take(self.width * count)
        if self.width < 8:
            return "".join(chr(packed >> self.width * (count - 1 - i) & 0x7F) for i in range(count))
        data = packed.to_bytes(count, "big")
        # The framework keeps texts as C does, with a zero behind them.
        return data.partition(b"\0")[0].decode("utf-8", "replace") if self.is_text else data


@dataclass(frozen=True)
class PackedList:
    """So many values of one kind."""

    low: int
    high: int
    inner: PackedKind

    @property
    def most_bits(self) -> int | None:
        each = self.inner.most_bits
        return None if each is None else (self.high - self.low).bit_length() + each * self.high

    def read(self, bits: Bits) -> list[Any]:
        count, read = PackedWhole(self.low, self.high).read(bits), self.inner.read
        found: list[Any] = []
        try:
            for _ in range(count):
                found.append(read(bits))
        except BitsError as error:
            error.names.insert(0, str(len(found)))
            raise
        return found


@dataclass(frozen=True)
class PackedField:
    """A value with its name; an optional one may be missing, which a bit before all fields tells."""

    name: str
    kind: PackedKind
    is_optional: bool = False


@dataclass(frozen=True)
class PackedFields:
    """Values by their names."""

    fields: tuple[PackedField, ...]

    @property
    def most_bits(self) -> int | None:
        each = [field.kind.most_bits for field in self.fields]
        known = [bits for bits in each if bits is not None]
        return sum(known) + sum(field.is_optional for field in self.fields) if len(known) == len(each) else None

    def read(self, bits: Bits, path: Sequence[str] = ()) -> dict[str, Any]:
        """The fields by name; with a path to one of them, no further than that one."""
        there = {field.name: bool(bits.take(1)) for field in self.fields if field.is_optional}
        found: dict[str, Any] = {}
        for name, kind in ((field.name, field.kind) for field in self.fields if there.get(field.name, True)):
            is_last = bool(path) and name == path[0]
            try:
                found[name] = (
                    kind.read(bits, path[1:]) if is_last and isinstance(kind, PackedFields) else kind.read(bits)
                )
            except BitsError as error:
                error.names.insert(0, name)
                raise
            if is_last:
                break
        return found


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
