"""Names and namespaces of nodes."""

from __future__ import annotations

import re
from typing import overload

_TOKEN = "[A-Za-z_][A-Za-z0-9_]*"
_NAME = re.compile(_TOKEN)
_NAMESPACE = re.compile(f"/|(/{_TOKEN})+")


def is_root_namespace(ns: str) -> bool:
    """Tell whether `ns` is the root."""
    return ns == "/"


def is_namespace_absolute(ns: str) -> bool:
    """Tell whether `ns` begins at the root."""
    return ns.startswith("/")


def prefix_namespace(base_ns: str | None, ns: str | None) -> str | None:
    """Resolve `ns` against `base_ns`: an absolute `ns` stands for itself, None adds nothing."""
    if ns is None:
        combined = base_ns
    elif not base_ns or is_namespace_absolute(ns):
        combined = ns
    else:
        combined = f"{base_ns.rstrip('/')}/{ns}"
    if combined is None or is_root_namespace(combined):
        return combined
    return combined.rstrip("/")


@overload
def make_namespace_absolute(ns: str) -> str: ...
@overload
def make_namespace_absolute(ns: None) -> None: ...
def make_namespace_absolute(ns: str | None) -> str | None:
    """Let a relative namespace begin at the root."""
    return ns if ns is None or is_namespace_absolute(ns) else f"/{ns}"


def check_node_name(name: str) -> None:
    """Raise ValueError unless ROS accepts `name` as the name of a node."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"invalid node name '{name}': it must consist of letters, digits and '_', and not begin with a digit"
        )


def check_namespace(ns: str) -> None:
    """Raise ValueError unless ROS accepts `ns` as an absolute namespace."""
    if not _NAMESPACE.fullmatch(ns):
        raise ValueError(
            f"invalid namespace '{ns}': it must consist of '/' and names of letters, digits and '_' that do not begin "
            "with a digit"
        )
