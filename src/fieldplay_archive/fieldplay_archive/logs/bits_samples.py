"""Samples that are packed bits, as the samples that they would be without: the same fields, so the same messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldplay_archive.logs.bits import Bits, BitsError
from fieldplay_archive.logs.bits_types import Form, defined_types
from fieldplay_archive.logs.field_names import plain_name
from fieldplay_archive.logs.kinds import BITS, canonical_type, kind_of
from fieldplay_archive.logs.unpacking import plain_from_bytes
from fieldplay_messages.errors import ArchiveError

METHOD, TYPE, DATA = "serializationmethod", "type", "data"  # plain names of a sample's fields
MARK = b"erialization"  # in the name of one of them, in all spellings
UNALIGNED_PER = 0  # the only method that the framework's own tools know


@dataclass(frozen=True, kw_only=True)
class Packing:
    """How the samples of a stream are packed: their kind, and its forms."""

    kind: str
    forms: tuple[Form, ...]

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

    def form(self, size: int) -> Form:
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


def _require_version(data: bytes, form: Form) -> None:
    for path, wanted in form.version.items():
        found = _at(form.fields.read(Bits(data), path), path)
        if found != wanted:
            raise ArchiveError(f"{'.'.join(path)}: expected version {wanted}, the one that is defined, got {found}")


def _require_end(bits: Bits, form: Form) -> None:
    """Behind the values of a whole buffer may be anything; of one that was cut to size nothing but zeros."""
    rest = 8 * len(bits.data) - bits.place
    if len(bits.data) == form.most_bytes or rest < 8:
        return
    end = bits.place
    if bits.take(rest):
        raise ArchiveError(f"expected {len(bits.data)} bytes of values, got values up to bit {end} and others behind")
