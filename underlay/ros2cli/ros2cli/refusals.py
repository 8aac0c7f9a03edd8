"""Options of upstream's that this stand-in does not have: they are known, and refused with a word why."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any


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
