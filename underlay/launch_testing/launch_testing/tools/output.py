"""Filters for the output that assertions look at."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable


def basic_output_filter(
    filtered_prefixes: Iterable[str] | None = None,
    filtered_patterns: Iterable[str | re.Pattern[str]] | None = None,
) -> Callable[[str], str]:
    """Make an `output_filter` that drops the lines with one of these prefixes or matching one of these patterns."""
    prefixes = tuple(filtered_prefixes or ())
    patterns = [re.compile(pattern) for pattern in filtered_patterns or ()]

    def keep(line: str) -> bool:
        return not line.startswith(prefixes) and not any(pattern.match(line) for pattern in patterns)

    def filter_output(output: str) -> str:
        return "".join(line for line in output.splitlines(keepends=True) if keep(line))

    return filter_output
