"""Verbs and their arguments: what texts may be, and options of upstream that are known and refused with a word why."""

from __future__ import annotations

import argparse
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping, Sequence
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
        parser.set_defaults(main=self.run)


def positive_int(text: str) -> int:
    """Return the whole number above zero that ``text`` says."""
    value = _int(text)
    if value is None or value <= 0:
        raise ArgumentTypeError("value must be a positive integer")
    return value


def unsigned_int(text: str) -> int:
    """Return the whole number, zero or above, that ``text`` says."""
    value = _int(text)
    if value is None or value < 0:
        raise ArgumentTypeError("value must be non-negative integer")
    return value


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


def _int(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def refused(options: Mapping[str, str]) -> list[Argument]:
    """Return options ('-x --long') that are known and end in a usage error; each value says why."""
    return [
        Argument(*names.split(), action=_Refusal, nargs="*", metavar="", const=meaning, help=argparse.SUPPRESS)
        for names, meaning in options.items()
    ]


class _Refusal(argparse.Action):
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        parser.error(f"{option_string} is not covered by this stand-in: {self.const}")
