"""Options: what their texts may be, and those of upstream's that this stand-in knows and refuses with a word why."""

from __future__ import annotations

import argparse
from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence
from typing import Any


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


def add_refused(parser: argparse.ArgumentParser, options: Mapping[str, str]) -> None:
    """Make options ('-x --long') known that end in a usage error; each value says what it would be."""
    for names, meaning in options.items():
        parser.add_argument(
            *names.split(), action=_Refusal, nargs="*", metavar="", const=meaning, help=argparse.SUPPRESS
        )


class _Refusal(argparse.Action):
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        parser.error(f"{option_string} is not covered by this stand-in: {self.const}")
