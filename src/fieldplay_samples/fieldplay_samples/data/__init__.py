"""The numbers of worlds, robots, sensors and datasets, as YAML."""

from functools import lru_cache
from importlib import resources
from typing import Any

import yaml


@lru_cache(maxsize=16)
def numbers_of(name: str) -> dict[str, Any]:
    """What data/<name>.yaml holds; not to be changed."""
    numbers: dict[str, Any] = yaml.safe_load((resources.files(__name__) / f"{name}.yaml").read_text("utf-8"))
    return numbers
