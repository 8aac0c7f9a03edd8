"""Where the descriptions lie that come with the workspace."""

import os
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

UNKNOWN = "unknown"


# The version of this software, as in the installed package.


def own_version() -> str:
    """Return the version, such as 0.1.0."""
    for package in ("fieldplay",):
        try:
            return version(package)
        except PackageNotFoundError:
            continue
    return UNKNOWN


def config_folders() -> Iterator[Path]:
    """The folders `config` that may be there, `urdf` beside each: those of ROS packages, then that of this package.

    The workspace's own `config` and `urdf` are links to those of this package.
    """
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        yield Path(prefix, "share", "fieldplay_bringup", "config")
    yield Path(__file__).resolve().parents[1] / "data" / "config"
