"""How this stand-in answers for the parts of upstream that it does not cover."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn


def refusal(module: str, upstream_only: str) -> Callable[[str], NoReturn]:
    """Return a module-level ``__getattr__`` that names what is missing.

    Names that upstream has, separated by blanks, raise ImportError, so that ``from module import name`` shows this
    very message; any other name raises AttributeError, as ``hasattr`` and the tools built on it expect.
    """

    def __getattr__(name: str) -> NoReturn:
        if name in upstream_only.split():
            raise ImportError(f"{module}.{name} exists upstream, but this stand-in for {module} does not cover it")
        raise AttributeError(f"module {module!r} has no attribute {name!r} (this is a stand-in for upstream's module)")

    return __getattr__
