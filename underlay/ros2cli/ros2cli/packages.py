"""Files of installed packages, found through the ament index."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix


def executables(package: str, name: str) -> list[Path]:
    """Return the executables called ``name`` in lib/<package>; RuntimeError when there is no such package."""
    return [path for path in all_executables(package) if path.name == name]


def all_executables(package: str) -> list[Path]:
    """Return all executables in lib/<package>; RuntimeError when there is no such package."""
    try:
        prefix = Path(get_package_prefix(package))
    except (PackageNotFoundError, ValueError):
        raise RuntimeError(f"Package '{package}' not found") from None
    paths = _files(prefix / "lib" / package, lambda folder: not folder.startswith("."))
    return [path for path in paths if os.access(path, os.X_OK)]


def launch_file(package: str, name: str | None) -> Path:
    """Return the one file called ``name`` in share/<package>; RuntimeError when there is none, or more than one."""
    try:
        share = Path(get_package_prefix(package)) / "share" / package
    except (PackageNotFoundError, ValueError) as error:
        raise RuntimeError(f"Package '{package}' not found: {error}") from None
    paths = [path for path in _files(share, lambda _: True) if path.name == name]
    if not paths:
        raise RuntimeError(
            f"file '{name}' was not found in the share directory of package '{package}' which is at '{share}'"
        )
    if len(paths) > 1:
        listed = ", ".join(f"'{path}'" for path in paths)
        raise RuntimeError(
            f"file '{name}' was found more than once in the share directory of package '{package}': [{listed}]"
        )
    return paths[0]


def _files(top: Path, is_searched: Callable[[str], bool]) -> list[Path]:
    paths = []
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(filter(is_searched, folders))
        paths += [Path(folder, name) for name in sorted(files)]
    return paths
