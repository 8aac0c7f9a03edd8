"""How a command line is read: options between positional arguments, several values to an option, errors in one line."""

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

AFTER_OPTIONS = "--"
FINISH = "finish"  # the default of a parser that does with what was read what argparse cannot


class _NotThisWayError(Exception):
    """A reading of the words that does not work out; with what would be said of it."""


class CommandParser(argparse.ArgumentParser):
    """An ArgumentParser that takes options anywhere and says what is wrong in one line.

    `several` marks an option of which one value, or more, may follow: the last of them may be positional arguments,
    and are if these would be missing otherwise.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **options})
        self._several: set[str] = set()
        self._is_trial = self._is_inner = False

    def several(self, *names: str, **options: Any) -> None:
        """Add an option that takes one value or more."""
        self._several.update(names)
        self.add_argument(*names, action="append", default=[], **options)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line, and exit with 2."""
        if self._is_trial:
            raise _NotThisWayError(message)
        self.exit(2, f"{self.prog}: error: {message} (see '{self.prog} --help')\n")

    def parse_known_args(  # type: ignore[override]
        self, args: Any = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Read the words of this command; those of a command below it are that one's."""
        if args is None or self._is_inner or self._subparsers is not None:
            return super().parse_known_args(args, namespace)
        words, first = list(args), ""
        for given_back in range(self._most_given_back(words) + 1):
            try:
                return self._tried(self._with_single_values(words, given_back), namespace)
            except _NotThisWayError as error:
                first = first or str(error)
        self.error(first)

    def _tried(self, words: list[str], namespace: Any) -> tuple[argparse.Namespace, list[str]]:
        """One reading of the words, positional arguments and options in any order."""
        self._is_trial = self._is_inner = True
        try:
            found, unknown = self.parse_known_intermixed_args(words, namespace)
            if unknown:
                self.error(f"unrecognized arguments: {' '.join(unknown)}")
            if hasattr(found, FINISH):
                getattr(found, FINISH)(found)
        finally:
            self._is_trial = self._is_inner = False
        return found, unknown

    def _groups(self, words: Sequence[str]) -> list[tuple[int, int]]:
        """Where the values of options that take several begin and end."""
        groups = []
        for place, word in enumerate(words):
            if word == AFTER_OPTIONS:
                break
            if word in self._several:
                end = place + 1
                while end < len(words) and not words[end].startswith("-"):
                    end += 1
                groups.append((place + 1, end))
        return groups

    def _most_given_back(self, words: Sequence[str]) -> int:
        return max((end - start - 1 for start, end in self._groups(words)), default=0)

    def _with_single_values(self, words: Sequence[str], given_back: int) -> list[str]:
        """Each value of such an option with its name before it, but for the last ones of the last option."""
        changed = list(words)
        groups = self._groups(words)
        for number, (start, end) in enumerate(reversed(groups)):
            kept = max(end - (given_back if number == 0 else 0), start + 1)
            if end > start:
                name = words[start - 1]
                values = [part for word in words[start:kept] for part in (name, word)]
                changed[start - 1 : end] = [*values, *words[kept:end]]
        return changed
