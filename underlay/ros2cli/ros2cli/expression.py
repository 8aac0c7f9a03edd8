"""Filters given as Python expressions on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def message_filter(expression: str | None) -> Callable[[Any], bool]:
    """Return a function that evaluates ``expression`` with the message as ``m``; without one, all pass."""
    if not expression:
        return lambda _: True
    try:
        code = compile(expression, "--filter", "eval")
    except SyntaxError as error:
        raise RuntimeError(f"Invalid filter expression '{expression}': {error.msg}") from None
    return lambda message: bool(eval(code, {"m": message}))
