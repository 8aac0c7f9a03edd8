"""How this stand-in says that it leaves out a part of upstream's package."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn


def refuse(module: str, upstream_names: str) -> Callable[[str], NoReturn]:
    """Make a module-level `__getattr__` that names what is missing.

    An AttributeError would be rephrased by `from module import name`; the names that upstream is known to have,
    separated by blanks, are therefore refused by ImportError, which arrives as it is.
    """
    known = upstream_names.split()

    def __getattr__(name: str) -> NoReturn:
        message = f"{module}.{name} is not available: this stand-in for launch_testing does not cover it"
        raise ImportError(message) if name in known else AttributeError(message)

    return __getattr__
