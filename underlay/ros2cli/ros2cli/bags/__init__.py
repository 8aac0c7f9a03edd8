"""What `ros2 bag` does, on fieldplay's reader, writer and player; imported only when it is asked for."""

from __future__ import annotations

import importlib
from typing import Any


def part(name: str) -> Any:
    """Import a module of this package; RuntimeError where fieldplay's packages are missing."""
    try:
        return importlib.import_module(f"ros2cli.bags.{name}")
    except ModuleNotFoundError as error:
        raise RuntimeError(f"ros2 bag stands on fieldplay's packages here, and one is missing: {error}") from None
