"""The version of this software, as the installed package tells it."""

from importlib.metadata import PackageNotFoundError, version

UNKNOWN = "unknown"


def own_version() -> str:
    """Return the version, such as 0.1.0."""
    for package in ("fieldplay",):
        try:
            return version(package)
        except PackageNotFoundError:
            continue
    return UNKNOWN
