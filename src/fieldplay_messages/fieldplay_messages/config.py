"""Where the descriptions lie that come with the workspace."""

import os
from collections.abc import Iterator
from pathlib import Path


def config_folders() -> Iterator[Path]:
    """The folders `config` that may be there: those installed, then that of the source."""
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        yield Path(prefix, "share", "fieldplay_bringup", "config")
    yield Path(__file__).resolve().parents[3] / "config"
