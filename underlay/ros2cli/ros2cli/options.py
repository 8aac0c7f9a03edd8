"""Verbs and their arguments, and what the texts of arguments may be."""

from __future__ import annotations

import argparse
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any


class Argument:
    """An argument of a verb, as argparse takes it; of those with the same ``group`` only one may be given."""

    def __init__(self, *names: str, group: str | None = None, **options: Any) -> None:
        """Keep what describes it."""
        self.names, self.group, self.options = names, group, options


class Verb:
    """What a verb takes, and the function that does it."""

    def __init__(self, run: Callable[[argparse.Namespace], int | str | None], *arguments: Argument) -> None:
        """Keep both."""
        self.run, self.arguments = run, arguments

    def fill(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments to the verb's parser."""
        groups: dict[str | None, Any] = {None: parser}
        for argument in self.arguments:
            if argument.group not in groups:
                groups[argument.group] = parser.add_mutually_exclusive_group()
            groups[argument.group].add_argument(*argument.names, **argument.options)
        parser.set_defaults(main=self.run, parser=parser)


def positive_int(text: str) -> int:
    """Return the whole number above zero that ``text`` says."""
    return _int(text, 1, "value must be a positive integer")


def unsigned_int(text: str) -> int:
    """Return the whole number, zero or above, that ``text`` says."""
    return _int(text, 0, "value must be non-negative integer")


def positive_float(text: str) -> float:
    """Return the number above zero that ``text`` says."""
    try:
        value = float(text)
    except ValueError:
        raise ArgumentTypeError("Expects a floating point number") from None
    # The comparison is turned round so that not-a-number is refused too.
    if not value > 0.0:
        raise ArgumentTypeError("Value must be positive")
    return value


def _int(text: str, least: int, reason: str) -> int:
    try:
        if (value := int(text)) >= least:
            return value
    except ValueError:
        pass
    raise ArgumentTypeError(reason)
