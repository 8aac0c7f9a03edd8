"""The message for parts of upstream that this stand-in leaves out."""

from typing import NoReturn


def refuse_attribute(owner: str, name: str, left_out: frozenset[str]) -> NoReturn:
    """Raise the AttributeError that says whether ``name`` is upstream's or nobody's."""
    if name in left_out:
        raise AttributeError(f"{owner}.{name} is part of upstream's tf2_ros_py, but this stand-in does not cover it")
    raise AttributeError(f"{owner} has no attribute {name!r}")
