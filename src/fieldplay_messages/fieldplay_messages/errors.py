"""What can go wrong, in words for a user; and defects, which are noted while the rest goes on."""

from collections.abc import Callable
from dataclasses import dataclass


class UserError(Exception):
    """What cannot be done, in words fit for a user: the command line shows them without a traceback."""


class UsageError(UserError):
    """What was asked for cannot be, or is not there: wrong usage, not a wrong archive."""


class ArchiveError(UserError):
    """An archive that cannot be read at all, or a part of it that cannot."""


class BagError(UserError):
    """A bag that cannot be written, or messages that no bag can hold."""


@dataclass(frozen=True, kw_only=True)
class Defect:
    """One fault of an archive: its place and what is wrong there, as expected and got."""

    file: str
    kind: str
    message: str
    row: int | None = None
    stream: str | None = None

    def __str__(self) -> str:
        place = self.file if self.row is None else f"{self.file}:{self.row}"
        return f"{place}: {self.message}"


Report = Callable[[Defect], None]
