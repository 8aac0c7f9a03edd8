"""Which topics of a bag, or for one, are meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection


def chosen_topics(
    names: Collection[str],
    regex: str | None,
    *,
    left_out: Collection[str] = (),
    exclude_regex: str | None = None,
    every: bool = False,
) -> Callable[[str], bool]:
    """Say of a topic's full name whether it is chosen: by name, by a regular expression, or as ``every`` one is."""
    wanted, unwanted = ({f"/{name.lstrip('/')}" for name in found} for found in (names, left_out))
    is_in, is_out = _search(regex), _search(exclude_regex)

    def is_chosen(name: str) -> bool:
        return (every or name in wanted or is_in(name)) and not (name in unwanted or is_out(name))

    return is_chosen


def _search(text: str | None) -> Callable[[str], bool]:
    if not text:
        return lambda _: False
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise RuntimeError(f"Invalid regular expression '{text}': {error}") from None
    return lambda name: pattern.search(name) is not None
