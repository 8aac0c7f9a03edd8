"""Errors with messages for users, and defects, which are recorded while reading continues."""

import difflib
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

# Signs that a terminal obeys, of the code points 0 to 31 and 127 to 159, and those that turn the order of letters.
STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def escape_control_chars(text: str, *, allowed: str = "") -> str:
    """Replace the control characters of a text, except those that are allowed, so that it cannot steer a terminal."""
    return STEERING.sub(lambda match: match[0] if match[0] in allowed else "\ufffd", text)


def pluralize(count: int, noun: str) -> str:
    """A count with its noun, which gets an s unless the count is 1."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def closest_name(name: str, known: Collection[str], *, cutoff: float = 0.7) -> str:
    """The known name that may have been meant, capitals aside; "" where none is near."""
    by_plain = {each.lower(): each for each in reversed(list(known))}
    matches = difflib.get_close_matches(name.lower(), by_plain, n=1, cutoff=cutoff)
    return by_plain[matches[0]] if matches else ""


def unknown_name(name: str, known: Collection[str], *, what: str, owner: str) -> str:
    """A message about a name that does not exist: the nearest one, or all there are."""
    near = closest_name(name, known)
    hint = f": did you mean '{near}'?" if near else f"; it has {', '.join(sorted(known)) or 'none'}"
    return f"{owner} has no {what} '{name}'{hint}"


class UserError(Exception):
    """An operation that is not possible; the command line prints its message without a traceback."""


class UsageError(UserError):
    """A wrong argument: an unknown topic, parameter or time."""


class ArchiveError(UserError):
    """An archive, or a part of one, cannot be read."""


class DamagedMessageError(ArchiveError):
    """A single message cannot be read; the others can."""


class BagError(UserError):
    """A bag cannot be written, or cannot hold the messages."""


class DefectLocation(str):
    """The location of a row in its file: a text, with its parts as attributes.

    `what` names it within the file; `row` is the line of a text file, `sample` and `byte` are of a log.
    """

    file: str
    what: str
    row: int | None
    sample: int | None
    byte: int | None

    def __new__(
        cls, file: str, what: str, *, row: int | None = None, sample: int | None = None, byte: int | None = None
    ) -> "DefectLocation":
        location = super().__new__(cls, f"{file}: {what}")
        location.file, location.what, location.row, location.sample, location.byte = file, what, row, sample, byte
        return location

    def __reduce__(self) -> tuple[Any, ...]:
        """How it is copied: a text alone would lose the parts."""
        return DefectLocation, (self.file, self.what), self.__dict__


@dataclass(frozen=True, kw_only=True)
class Defect:
    """One defect of an archive: its location, what was expected, and what was found.

    `str(defect)` is a line of text, safe for a terminal.

    Args:
        file: the name of the file, as the archive has it.
        kind: the kind of defect, an identifier such as `backward_time`, as in `fieldplay check --json`.
        message: what was expected, and what was found.
        row: the line of a text file, counted from 1.
        stream: the id of the stream in the dataset's description.
        sample: the number of the sample in a log, counted from 0.
        byte: the offset in a log.
    """

    file: str
    kind: str
    message: str
    row: int | None = None
    stream: str | None = None
    sample: int | None = None
    byte: int | None = None

    @classmethod
    def at(cls, location: str, *, kind: str, message: str, stream: str | None = None) -> "Defect":
        """Make a defect of a file or of a location in one.

        Args:
            location: the name of a file, or a DefectLocation.
            kind: the kind of defect, an identifier.
            message: what was expected, and what was found.
            stream: the id of the stream.

        Returns:
            The defect, with the row, sample and byte of the location.
        """
        if not isinstance(location, DefectLocation):
            return cls(file=location, kind=kind, message=message, stream=stream)
        text = message if location.row is not None else f"{location.what}: {message}"
        return cls(
            file=location.file, kind=kind, message=text,
            row=location.row, stream=stream, sample=location.sample, byte=location.byte,
        )  # fmt: skip

    def __str__(self) -> str:
        location = self.file if self.row is None else f"{self.file}:{self.row}"
        return escape_control_chars(f"{location}: {self.message}")


Report = Callable[[Defect], None]
