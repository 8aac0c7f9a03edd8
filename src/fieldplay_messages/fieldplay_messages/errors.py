"""What can be wrong with an archive: fatal errors, and defects that are noted while the rest goes on."""

from collections.abc import Callable
from dataclasses import dataclass


class ArchiveError(Exception):
    """An archive that cannot be read at all; the message is fit for a user."""


class ParameterError(ArchiveError):
    """A parameter that a dataset does not have, or a value that it cannot take: wrong usage, not a wrong archive."""


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
