"""The decorator that runs a whole launch test once per set of arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

PARAMETRIZED = "__parametrized__"
BoundDescription = tuple[Callable[..., Any], dict[str, Any]]


def parametrize(
    argnames: str, argvalues: Iterable[Any]
) -> Callable[[Callable[..., Any]], Callable[[], Iterator[BoundDescription]]]:
    """Call generate_test_description once per entry of `argvalues`.

    `argnames` separates the names by commas. An entry of `argvalues` is one value or, for several names, a tuple of
    them. The decorated function takes no arguments and yields pairs of a function, with its values filled in, and the
    dictionary of these values.
    """
    names = [name.strip() for name in argnames.split(",") if name.strip()]
    sets = [_named(names, values) for values in argvalues]

    def decorate(test_description: Callable[..., Any]) -> Callable[[], Iterator[BoundDescription]]:
        @functools.wraps(test_description)
        def expand() -> Iterator[BoundDescription]:
            for values in sets:
                yield functools.partial(test_description, **values), dict(values)

        setattr(expand, PARAMETRIZED, True)
        return expand

    return decorate


def _named(names: list[str], values: Any) -> dict[str, Any]:
    row = values if isinstance(values, tuple) else (values,)
    if len(row) != len(names):
        raise ValueError(f"parametrize got the names {names} and the values {row!r}: their numbers differ")
    return dict(zip(names, row, strict=True))
