"""Samples that are packed bits, as the samples that they would be without: the same fields, so the same messages.

The types that are known are those of config/bits.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from fieldplay.core.errors import ArchiveError
from fieldplay.core.resources import config_folders
from fieldplay.core.yaml_safe import value_of_yaml
from fieldplay_cdff.logs.asn1_uper.values import (
    LARGEST_LIST,
    Bits,
    BitsError,
    PackedChoice,
    PackedField,
    PackedFields,
    PackedKind,
    PackedList,
    PackedReal,
    PackedText,
    PackedTruth,
    PackedWhole,
)
from fieldplay_cdff.logs.msgpack_decode.values import plain_from_bytes, plain_name
from fieldplay_cdff.logs.types.table import BITS, canonical_type, kind_of

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


@dataclass(frozen=True, kw_only=True)
class PackedForm:
    """One form of a type: its fields, where its own time stands (empty: nowhere), and which version must stand where.

    `most_bytes` is how long it can be, which is how long the framework's buffer is; None without a limit.
    """

    fields: PackedFields
    time: tuple[str, ...]
    version: Mapping[tuple[str, ...], int]
    most_bytes: int | None


def defined_types() -> Mapping[str, tuple[PackedForm, ...]]:
    """The forms of each type that is defined, the newest first; none where the description is not installed."""
    return _installed_types(os.environ.get("AMENT_PREFIX_PATH", ""))


@lru_cache(maxsize=4)
def _installed_types(_: str) -> Mapping[str, tuple[PackedForm, ...]]:
    """Those of the folders where they may be at present; it is asked for each sample while a log is gone through."""
    file = next((folder / FILE for folder in config_folders() if (folder / FILE).is_file()), None)
    return types_of_file(file) if file is not None else {}


def types_of_file(file: Path) -> Mapping[str, tuple[PackedForm, ...]]:
    """The types of a description; ArchiveError tells what is wrong in it."""
    try:
        data = value_of_yaml(file.read_text("utf-8"))
        return types_from_data(data)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValueError) as error:
        raise ArchiveError(f"{file}: {error}") from None
    except (KeyError, AttributeError, TypeError):
        raise ArchiveError(f"{file}: expected types, each with a list of its forms, and fields for each form") from None


def types_from_data(data: Mapping[str, Any]) -> Mapping[str, tuple[PackedForm, ...]]:
    """The types of a description that is read already; ValueError tells what is wrong in it."""
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
    """What a notation says."""
    if isinstance(notation, Mapping):
        return PackedFields(tuple(_field(str(name), inner, parts) for name, inner in notation.items()))
    text = str(notation)
    plain: dict[str, PackedKind] = {"bool": PackedTruth(), "real": PackedReal()}
    found = plain.get(text) or parts.get(text)
    if found is not None:
        return found
    if text.startswith(CHOICE):
        return PackedChoice(tuple(text.removeprefix(CHOICE).split()))
    makers: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], PackedKind]], ...] = (
        (LIMITS, _whole),
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


def _whole(match: re.Match[str]) -> PackedWhole:
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
    """How the samples of a stream are packed: their kind, and its forms."""

    kind: str
    forms: tuple[PackedForm, ...]

    def sample(self, sample: Any) -> dict[str, Any]:
        """A sample with its own fields; ArchiveError where its bits are of another type, cut off or impossible."""
        _require_method(sample)
        found = str(_part(sample, TYPE))
        if canonical_type(found) != self.kind:
            raise ArchiveError(f"expected packed bits of {self.kind}, as the first sample's, got {found}")
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
        most = self.forms[0].most_bytes
        if most is not None and size > most:
            raise ArchiveError(f"expected {most} bytes of {self.kind} at most, got {size}: another version of the type")
        return self.forms[0]


def packing_of(type_name: str, sample: Any) -> Packing | None:
    """How the samples of a stream are packed, by one of them; None where they are not, or their type is not defined."""
    if kind_of(type_name, sample) != BITS or _part(sample, METHOD) != UNALIGNED_PER:
        return None
    kind = canonical_type(str(_part(sample, TYPE)))
    forms = defined_types().get(kind)
    return Packing(kind=kind, forms=forms) if forms else None


def packed_time(data: bytes) -> int:
    """The own time of a sample of packed bits that is still MessagePack, in the log's unit; 0 where it has none."""
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
    found = _at(values, form.time)
    return found if isinstance(found, int) else 0


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
    for path, wanted in form.version.items():
        found = _at(form.fields.read(Bits(data), path), path)
        if found != wanted:
            raise ArchiveError(f"{'.'.join(path)}: expected version {wanted}, the one that is defined, got {found}")


def _require_end(bits: Bits, form: PackedForm) -> None:
    """Behind the values of a whole buffer may be anything; of one that was cut to size nothing but zeros."""
    rest = 8 * len(bits.data) - bits.place
    if len(bits.data) == form.most_bytes or rest < 8:
        return
    end = bits.place
    if bits.take(rest):
        raise ArchiveError(f"expected {len(bits.data)} bytes of values, got values up to bit {end} and others behind")
