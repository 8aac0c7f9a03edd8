"""Matching of the text that processes write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

ExpectedText: TypeAlias = str | re.Pattern[str]
ExpectedOutput: TypeAlias = ExpectedText | Iterable[ExpectedText]

_ANSI_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\^_])")


def remove_ansi_escape_sequences(text: str) -> str:
    """Take colours and other terminal control sequences out of a text."""
    return _ANSI_ESCAPE.sub("", text)


def build_text_match(expected_text: ExpectedOutput) -> Callable[[str], bool]:
    """Make a predicate of texts.

    A string has to be contained, a pattern has to be found, and of several of these each has to follow the one before.
    """
    wanted = [expected_text] if isinstance(expected_text, (str, re.Pattern)) else list(expected_text)
    for item in wanted:
        if not isinstance(item, (str, re.Pattern)):
            raise ValueError(f"expected output must be a string, a regular expression or a list of these, not {item!r}")

    def match(text: str) -> bool:
        position: int | None = 0
        for item in wanted:
            if position is None:
                break
            position = _end_of(item, text, position)
        return position is not None

    return match


def _end_of(item: ExpectedText, text: str, start: int) -> int | None:
    if isinstance(item, str):
        position = text.find(item, start)
        return None if position < 0 else position + len(item)
    found = item.search(text, start)
    return found.end() if found else None
