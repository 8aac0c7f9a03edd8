"""Samples that are packed bits, as the samples that they would be without: the same fields, so the same messages.

The types that are known are those of config/bits.
"""

import math
import os
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import yaml

from fieldplay.core.errors import ArchiveError
from fieldplay.core.resources import config_folders
from fieldplay.core.yaml_safe import value_of_yaml
from fieldplay_cdff.logs.msgpack_decode import plain_from_bytes, plain_name
from fieldplay_cdff.logs.type_table import BITS, canonical_type, kind_of

LARGEST_LIST = (1 << 16) - 1  # lists that may be longer are encoded in fragments, which is not read
REAL_BITS = 13 * 8  # that ASN1SCC takes for a real number at most
EXPONENT = 3  # in a header: bits with the length of the exponent in bytes
BINARY, MINUS = 0x80, 0x40  # bits of a header
SPECIAL = {0x40: math.inf, 0x41: -math.inf, 0x42: math.nan, 0x43: -0.0}  # headers without more
BITS_OF_BASE = (1, 3, 4)  # 2, 8, 16
MANTISSA = 52  # bits of a double that are stored
BIAS = 1023 + MANTISSA  # of an exponent with an integer mantissa
NO_NUMBER = 2047  # the exponent in a double that is none; 0 that of the least
FILE = Path("bits", "cdff.yaml")
NUMBER, SIZE = r"-?\d+", r"(?P<low>\d+)(?:\.\.(?P<high>\d+))?"
LIMITS = re.compile(rf"int(?: (?P<low>{NUMBER})\.\.(?P<high>{NUMBER})?)?")
LISTED = re.compile(rf"{SIZE} of (?P<inner>.+)")
TEXT = re.compile(rf"(?P<form>text|bytes|ascii) {SIZE}")
CHOICE = "one of "
OPTIONAL = "?"
METHOD, TYPE, DATA = "serializationmethod", "type", "data"  # plain names of a sample's fields
MARK = b"erialization"  # in the name of one of them, in all spellings
UNALIGNED_PER = 0  # the only method that the framework's own tools know


# Reads packed bits: the unaligned packed encoding rules (PER) of ASN.1, ITU-T X.691, for the kinds that logs have.
#
# A kind decodes its value and knows its maximum size in bits (`most_bits`); None if it is unbounded.


class BitsError(ValueError):
    """The issue of some bits, their offset, and their field; the outer names are prepended."""

    def __init__(self, message: str, bit: int) -> None:
        super().__init__(message)
        self.bit = bit
        self.names: list[str] = []

    def __str__(self) -> str:
        return f"{'.'.join(self.names)} at bit {self.bit}: {self.args[0]}"


class Bits:
    """Bytes of which bits are taken one after the other, the highest first; `position` is the next one."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def take(self, width: int) -> int:
        """The next bits as a number that is not negative."""
        start, end = self.position, self.position + width
        if end > 8 * len(self.data):
            raise BitsError(f"expected {width} bits, got {8 * len(self.data) - start} up to the end", start)
        self.position = end
        whole = int.from_bytes(self.data[start >> 3 : (end + 7) >> 3], "big")
        return whole >> (-end & 7) & ((1 << width) - 1)

    def length(self) -> int:
        """A length that nothing limits, below 2^14."""
        start, length = self.position, self.take(8)
        if length < 0x80:
            return length
        if length >= 0xC0:
            raise BitsError("expected a length below 16384, got one in pieces", start)
        return (length & 0x3F) << 8 | self.take(8)


class PackedKind(Protocol):
    """A type that can be decoded."""

    @property
    def most_bits(self) -> int | None:
        """Maximum size of a value in bits."""

    def read(self, bits: Bits) -> Any:
        """A value; BitsError where the bits are none."""


@dataclass(frozen=True)
class PackedWhole:
    """An integer between two limits, or with one or none of them."""

    low: int | None = None
    high: int | None = None

    @property
    def most_bits(self) -> int | None:
        return None if self.low is None or self.high is None else (self.high - self.low).bit_length()

    def read(self, bits: Bits) -> int:
        width, start = self.most_bits, bits.position
        if width is None:
            return self._of_bytes(bits)
        value = (self.low or 0) + bits.take(width)
        if self.high is not None and value > self.high:
            raise BitsError(f"expected a number from {self.low} to {self.high}, got {value}", start)
        return value

    def _of_bytes(self, bits: Bits) -> int:
        start, count = bits.position, bits.length()
        if not count:
            raise BitsError("expected a number of bytes, got none", start)
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
        start, count = bits.position, bits.length()
        if not count:
            return 0.0
        header, rest = bits.take(8), count - 1
        if not rest and header in SPECIAL:
            return SPECIAL[header]
        if not header & BINARY:
            raise BitsError(f"expected a real number in binary form, got a header of {header:#04x}", start)
        width = (header & EXPONENT) + 1
        if width > EXPONENT:
            width, rest = bits.take(8), rest - 1
        if not 0 < width < rest:
            raise BitsError(f"expected an exponent and a mantissa in {rest} bytes, got an exponent of {width}", start)
        exponent, mantissa = bits.take(8 * width), bits.take(8 * (rest - width))
        exponent -= exponent >> (8 * width - 1) << 8 * width
        try:
            return double_from_parts(header, exponent, mantissa)
        except ValueError as error:
            raise BitsError(str(error), start) from None


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
        # The framework stores texts as C does, with a zero at the end.
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
        items: list[Any] = []
        try:
            for _ in range(count):
                items.append(read(bits))
        except BitsError as error:
            error.names.insert(0, str(len(items)))
            raise
        return items


@dataclass(frozen=True)
class PackedField:
    """A named value; an optional one may be missing, as a bit before all fields indicates."""

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
        fields: dict[str, Any] = {}
        for name, kind in ((field.name, field.kind) for field in self.fields if there.get(field.name, True)):
            is_last = bool(path) and name == path[0]
            try:
                fields[name] = (
                    kind.read(bits, path[1:]) if is_last and isinstance(kind, PackedFields) else kind.read(bits)
                )
            except BitsError as error:
                error.names.insert(0, name)
                raise
            if is_last:
                break
        return fields


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


@dataclass(frozen=True, kw_only=True)
class PackedForm:
    """One form of a type: its fields, the field with its own time (empty: none), and the required version.

    `most_bytes` is how long it can be, which is how long the framework's buffer is; None without a limit.
    """

    fields: PackedFields
    time: tuple[str, ...]
    version: Mapping[tuple[str, ...], int]
    most_bytes: int | None


def defined_types() -> Mapping[str, tuple[PackedForm, ...]]:
    """Return the forms of each defined type, the newest first; none where the description is not installed."""
    return _installed_types(os.environ.get("AMENT_PREFIX_PATH", ""))


@lru_cache(maxsize=4)
def _installed_types(_: str) -> Mapping[str, tuple[PackedForm, ...]]:
    """Return the types of the folders that exist now; called for each sample while a log is scanned."""
    file = next((folder / FILE for folder in config_folders() if (folder / FILE).is_file()), None)
    return types_of_file(file) if file is not None else {}


def types_of_file(file: Path) -> Mapping[str, tuple[PackedForm, ...]]:
    """Parse the types of a description; ArchiveError names its issues."""
    try:
        data = value_of_yaml(file.read_text("utf-8"))
        return types_from_data(data)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValueError) as error:
        raise ArchiveError(f"{file}: {error}") from None
    except (KeyError, AttributeError, TypeError):
        raise ArchiveError(f"{file}: expected types, each with a list of its forms, and fields for each form") from None


def types_from_data(data: Mapping[str, Any]) -> Mapping[str, tuple[PackedForm, ...]]:
    """Return the types of a parsed description; ValueError names its issues."""
    parts: dict[str, PackedKind] = {}
    for name, notation in data.get("parts", {}).items():
        parts[name] = _kind(notation, parts)
    return {name: tuple(_form(form, parts) for form in forms) for name, forms in data["types"].items()}


def _form(form: Mapping[str, Any], parts: Mapping[str, PackedKind]) -> PackedForm:
    fields = _kind(form["fields"], parts)
    if not isinstance(fields, PackedFields):
        raise ValueError(f"expected fields, got '{form['fields']}'")
    version = {tuple(path.split(".")): int(number) for path, number in form.get("version", {}).items()}
    time, most_bits = form.get("time", ""), fields.most_bits
    most_bytes = None if most_bits is None else (most_bits + 7) // 8
    return PackedForm(fields=fields, time=tuple(filter(None, time.split("."))), version=version, most_bytes=most_bytes)


def _kind(notation: Any, parts: Mapping[str, PackedKind]) -> PackedKind:
    """Parse a notation."""
    if isinstance(notation, Mapping):
        return PackedFields(tuple(_field(str(name), inner, parts) for name, inner in notation.items()))
    text = str(notation)
    plain: dict[str, PackedKind] = {"bool": PackedTruth(), "real": PackedReal()}
    kind = plain.get(text) or parts.get(text)
    if kind is not None:
        return kind
    if text.startswith(CHOICE):
        return PackedChoice(tuple(text.removeprefix(CHOICE).split()))
    makers: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], PackedKind]], ...] = (
        (LIMITS, _integer_form),
        (TEXT, _text),
        (LISTED, lambda match: PackedList(*_size(match), _kind(match["inner"], parts))),
    )
    for pattern, make in makers:
        match = pattern.fullmatch(text)
        if match:
            return make(match)
    raise ValueError(f"expected a kind or the name of a part, got '{text}'")


def _field(name: str, notation: Any, parts: Mapping[str, PackedKind]) -> PackedField:
    return PackedField(name.removesuffix(OPTIONAL), _kind(notation, parts), name.endswith(OPTIONAL))


def _integer_form(match: re.Match[str]) -> PackedWhole:
    low, high = (None if match[name] is None else int(match[name]) for name in ("low", "high"))
    if low is not None and high is not None and high < low:
        raise ValueError(f"expected limits in order, got '{match[0]}'")
    return PackedWhole(low, high)


def _text(match: re.Match[str]) -> PackedText:
    return PackedText(*_size(match), width=7 if match["form"] == "ascii" else 8, is_text=match["form"] != "bytes")


def _size(match: re.Match[str]) -> tuple[int, int]:
    low = int(match["low"])
    high = int(match["high"] or low)
    if not low <= high <= LARGEST_LIST:
        raise ValueError(f"expected a size of {LARGEST_LIST} at most, got '{match[0]}'")
    return low, high


@dataclass(frozen=True, kw_only=True)
class Packing:
    """The packing of the samples of a stream: their kind, and its forms."""

    kind: str
    forms: tuple[PackedForm, ...]

    def sample(self, sample: Any) -> dict[str, Any]:
        """A sample with its own fields; ArchiveError where its bits are of another type, cut off or impossible."""
        _require_method(sample)
        kind = str(_part(sample, TYPE))
        if canonical_type(kind) != self.kind:
            raise ArchiveError(f"expected packed bits of {self.kind}, as the first sample's, got {kind}")
        data = _data(sample)
        form, bits = self.form(len(data)), Bits(data)
        try:
            _require_version(data, form)  # first, as bits of another one seem to be anything
            values = form.fields.read(bits)
        except BitsError as error:
            raise ArchiveError(f"{self.kind} in packed bits: {error}") from None
        _require_end(bits, form)
        return values

    def form(self, size: int) -> PackedForm:
        """The form that has data of so many bytes; ArchiveError where none can be as long."""
        for form in self.forms:
            if form.most_bytes == size:
                return form
        maximum = self.forms[0].most_bytes
        if maximum is not None and size > maximum:
            raise ArchiveError(
                f"expected {maximum} bytes of {self.kind} at most, got {size}: another version of the type"
            )
        return self.forms[0]


def packing_of(type_name: str, sample: Any) -> Packing | None:
    """Return the packing of a stream from one of its samples; None if it is not packed, or its type is not defined."""
    if kind_of(type_name, sample) != BITS or _part(sample, METHOD) != UNALIGNED_PER:
        return None
    kind = canonical_type(str(_part(sample, TYPE)))
    forms = defined_types().get(kind)
    return Packing(kind=kind, forms=forms) if forms else None


def packed_time(data: bytes) -> int:
    """Return the own time of a sample of packed bits as MessagePack, in the log's unit; 0 where it has none."""
    if MARK not in data:
        return 0
    try:
        sample = plain_from_bytes(data)
        packing = packing_of(BITS, sample)
        return _time(packing, _data(sample)) if packing is not None else 0
    except (ArchiveError, BitsError):
        return 0


def _time(packing: Packing, data: bytes) -> int:
    form = packing.form(len(data))
    values: Any = form.fields.read(Bits(data), form.time) if form.time else {}
    value = _at(values, form.time)
    return value if isinstance(value, int) else 0


def _at(values: Any, path: Sequence[str]) -> Any:
    for name in path:
        values = values.get(name) if isinstance(values, Mapping) else None
    return values


def _part(sample: Any, name: str) -> Any:
    """A field of a sample by its plain name."""
    there = sample.items() if isinstance(sample, dict) else ()
    return next((value for key, value in there if isinstance(key, str) and plain_name(key) == name), None)


def _require_method(sample: Any) -> None:
    method = _part(sample, METHOD)
    if method != UNALIGNED_PER:
        raise ArchiveError(f"serialization_method: expected {UNALIGNED_PER} (unaligned PER), got {method}")


def _data(sample: Any) -> bytes:
    """The bytes of a sample, which logs hold as a list of numbers."""
    data = _part(sample, DATA)
    try:
        if isinstance(data, np.ndarray) and data.ndim == 1 and data.dtype.kind in "iu":
            data = data.tolist()
        if isinstance(data, list | bytes):
            return bytes(data)
    except (TypeError, ValueError):
        raise ArchiveError("data: expected numbers from 0 to 255, got others") from None
    raise ArchiveError(f"data: expected a list of bytes, got {type(data).__name__}")


def _require_version(data: bytes, form: PackedForm) -> None:
    for path, requested in form.version.items():
        version = _at(form.fields.read(Bits(data), path), path)
        if version != requested:
            raise ArchiveError(
                f"{'.'.join(path)}: expected version {requested}, the one that is defined, got {version}"
            )


def _require_end(bits: Bits, form: PackedForm) -> None:
    """After the values of a complete buffer may be anything; after those of a shorter one only zeros."""
    rest = 8 * len(bits.data) - bits.position
    if len(bits.data) == form.most_bytes or rest < 8:
        return
    end = bits.position
    if bits.take(rest):
        raise ArchiveError(f"expected {len(bits.data)} bytes of values, got values up to bit {end} and others behind")
