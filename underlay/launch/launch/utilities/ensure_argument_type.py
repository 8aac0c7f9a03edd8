"""Checking an argument's type at the border."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def ensure_argument_type(
    argument: object, types: type | Iterable[Any], argument_name: str, caller: str | None = None
) -> None:
    """Raise TypeError unless `argument` is an instance of one of `types`."""
    allowed = tuple(types) if isinstance(types, Iterable) else (types,)
    if isinstance(argument, allowed):
        return
    prefix = "E" if caller is None else f"'{caller}' e"
    names = ", ".join(str(each) for each in allowed)
    raise TypeError(
        f"{prefix}xpected '{argument_name}' to be one of [{names}], but got '{argument}' of type '{type(argument)}'"
    )
