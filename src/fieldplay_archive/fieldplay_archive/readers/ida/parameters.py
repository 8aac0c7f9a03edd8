"""Parameter files of IDA (*_012.txt): sets of numbers as they were on board."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.archive import Archive
from fieldplay_archive.files.containers import Files
from fieldplay_archive.readers.ida.products import Product, reading_ns
from fieldplay_archive.tables.key_values import Line, lines_of_text, plain_key
from fieldplay_messages.errors import ArchiveError, Defect

SET = re.compile(r"Parameter\s*Set\s*[:=]?\s*(?P<name>\S.*?)\s*:?", re.IGNORECASE)
READING = re.compile(r"\D*?(?P<reading>(?:\d+/)?\d{9,10}(?:[.\-]\d{1,5})?)\D*")
COMMENT = re.compile(r"[#%/*=_\-\s].*|.*:")
ENUMERATION = re.compile(r"-?\d+\s+[A-Za-z]\w*|[A-Za-z]\w*")

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Value:
    """What a key stands for: numbers of shape (), (n,) or (m, n) where it holds such; its text, and its line."""

    numbers: Floats | None
    text: str
    line: int


@dataclass(frozen=True, kw_only=True)
class ParameterFile:
    """The sets of a file, by their names and keys without what may get lost in print; when they held."""

    file: str
    reading_ns: int
    sets: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)

    def numbers(self, set_name: str, key: str, count: int) -> Floats | None:
        """The numbers (count,) of a key, None where the file does not have them."""
        value = self.sets.get(plain_key(set_name), {}).get(plain_key(key))
        if value is None or value.numbers is None or value.numbers.size != count:
            return None
        return value.numbers.reshape(-1)


def read_parameter_files(archive: Archive, files: Files, products: Sequence[Product]) -> list[ParameterFile]:
    """All parameter files in the order of the clock; one that cannot be read or timed is reported."""
    found: list[ParameterFile] = []
    for product in products:
        try:
            lines = lines_of_text(files.read(product.file))
        except ArchiveError as error:
            archive.defects(Defect(file=product.file, kind="unreadable_parameters", message=str(error)))
            continue
        for row, message in _faults(lines):
            archive.defects(Defect(file=product.file, kind="not_a_parameter", row=row, message=message))
        _note_end(archive, product.file, lines)
        sets, start_ns = sets_of_lines(lines), _reading_ns(lines, product)
        if not sets or start_ns is None:
            lacking = "sets of parameters" if not sets else "a time in the name, the label or the first lines"
            message = f"expected {lacking}, got none"
            archive.defects(Defect(file=product.file, kind="unreadable_parameters", message=message))
            continue
        found.append(ParameterFile(file=product.file, reading_ns=start_ns, sets=sets))
    return sorted(found, key=lambda file: file.reading_ns)


def sets_of_lines(lines: Sequence[Line]) -> dict[str, dict[str, Value]]:
    """The sets by their plain names; of two of one name, and of two entries of one key, the later counts."""
    sets: dict[str, dict[str, Value]] = {}
    current: dict[str, Value] | None = None
    for line in lines:
        heading = _set_name(line)
        if heading:
            current = sets.setdefault(plain_key(heading), {})
        elif line.key and current is not None:
            value = Value(numbers=line.numbers, text=line.value, line=line.number)
            current[plain_key(line.key)] = value
    return sets


def _set_name(line: Line) -> str:
    found = line.matches(SET)
    return found["name"] if found else ""


def _reading_ns(lines: Sequence[Line], product: Product) -> int | None:
    """When the parameters held: by a reading of the clock above the first set, else by the name or the label."""
    for line in lines:
        if _set_name(line):
            break
        found = line.matches(READING)
        if found and "." in found["reading"]:
            whole, fraction = found["reading"].split(".")
            return (reading_ns(whole) or 0) + int(fraction.ljust(9, "0"))
        if found:
            return reading_ns(found["reading"])
    return product.start_ns


def _faults(lines: Sequence[Line]) -> Iterator[tuple[int, str]]:
    """The lines that are nothing known, and the values that are neither numbers nor a name."""
    started = False
    for line in lines:
        started = started or bool(_set_name(line))
        if not started or _set_name(line):
            continue
        if not line.key and not line.matches(COMMENT):
            yield line.number, f"expected 'key = value' or a set, got '{line.shown}'"
        elif line.is_open:
            what = "the end of the file; it is not used" if line.is_cut else "none; its numbers count"
            yield line.number, f"{line.key}: expected ']' behind '{line.shown_end}', got {what}"
        elif line.key and line.numbers is None and not ENUMERATION.fullmatch(line.value):
            yield line.number, f"expected numbers or a name as the value, got '{line.shown}'"


def _note_end(archive: Archive, file: str, lines: Sequence[Line]) -> None:
    """Say where the last value has neither a bracket nor a line end behind it: nothing tells whether it is whole."""
    last = lines[-1] if lines else None
    if last is not None and last.key and not (last.is_ended or last.value.endswith("]")):
        text = "the file ends in it without a line end, it may be cut; it is used"
        archive.notes.append(f"{file}: line {last.number}, '{last.shown}': {text}")


def newest_before(found: Sequence[ParameterFile], stamp_ns: Sequence[int], first_ns: int) -> ParameterFile | None:
    """The last of the files, at their times, that held at a time."""
    before = [file for file, stamp in zip(found, stamp_ns, strict=True) if stamp <= first_ns]
    return before[-1] if before else None
