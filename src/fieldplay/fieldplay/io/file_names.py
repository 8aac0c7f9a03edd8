"""Names of very many files, looked through at once: names that differ in their digits alone are one shape.

Images are named after their times, so that hundreds of thousands of names have a handful of shapes. A regular
expression is tried on the shapes, and on a name itself only where the expression has a digit of its own.
"""

import re
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

BETWEEN = "\0"  # no file's name has it
TO_ZERO = str.maketrans("123456789", "0" * 9)
REPEATED_OR_DIGIT = re.compile(r"\{\d*(?:,\d*)?\}|\d")
ANY_DIGIT = re.compile(r"\\d|\[0-9\]|\{\d*(?:,\d*)?\}")
# What may match a name though it does not match its shape: numbers of groups and characters, what excludes something.
OF_THE_NAME_ITSELF = re.compile(r"\\[xuUN0-9]|\[\^|\(\?[!<(P]")


def folders_of(name: str) -> list[str]:
    """The names of the folders that a file lies in, the outermost first."""
    return name.replace("\\", "/").split("/")[:-1]


def last_part(name: str) -> str:
    """A file's own name; some zips have backslashes between the parts."""
    return name.replace("\\", "/").rpartition("/")[2]


class NameTable:
    """The names of an archive's files, in their order."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def matching(self, pattern: str, folder: str = "") -> list[str]:
        """The names, at any depth, whose last part matches a regular expression as a whole, regardless of case.

        With `folder`, those that lie, at any depth, in a folder whose name matches this one.
        """
        rows = self._rows(pattern, inside=False)
        if folder:
            within = set(self._rows(folder, inside=True))
            rows = [row for row in rows if row in within]
        return [self.names[row] for row in rows]

    def _rows(self, pattern: str, *, inside: bool) -> list[int]:
        """Which names match by their last part, or by one of the folders that they are inside."""
        expression = re.compile(pattern, re.IGNORECASE)

        def matches(expression: re.Pattern[str], name: str) -> bool:
            return any(expression.fullmatch(part) for part in (folders_of(name) if inside else [last_part(name)]))

        if OF_THE_NAME_ITSELF.search(pattern):
            return [row for row, name in enumerate(self.names) if matches(expression, name)]
        shapes, shape_of_name = self._shapes
        zeroed = re.compile(REPEATED_OR_DIGIT.sub(_zero, pattern), re.IGNORECASE)
        fits = np.fromiter((matches(zeroed, shape) for shape in shapes), bool, len(shapes))
        rows: list[int] = np.flatnonzero(fits[shape_of_name]).tolist() if fits.any() else []
        if any(character.isdigit() for character in ANY_DIGIT.sub("", pattern)):
            return [row for row in rows if matches(expression, self.names[row])]
        return rows

    @cached_property
    def _shapes(self) -> tuple[list[str], NDArray[np.int32]]:
        """The names with all digits zero, each once, and which of them each name (n,) has."""
        zeroed = BETWEEN.join(self.names).translate(TO_ZERO).split(BETWEEN) if self.names else []
        known: dict[str, int] = {}
        rows = np.fromiter((known.setdefault(shape, len(known)) for shape in zeroed), np.int32, len(zeroed))
        return list(known), rows


def _zero(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith("{") else "0"
