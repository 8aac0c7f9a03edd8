"""Questions about instances and classes."""

from __future__ import annotations

import inspect


def isclassinstance(obj: object) -> bool:
    """Tell whether `obj` has a class, as everything in Python 3 does."""
    return hasattr(obj, "__class__")


def is_a(obj: object, entity_type: type) -> bool:
    """Tell whether `obj` is an instance of `entity_type`."""
    if not inspect.isclass(entity_type):
        raise RuntimeError(f"entity_type '{entity_type}' is not a class")
    return isinstance(obj, entity_type)


def is_a_subclass(obj: object, entity_type: type) -> bool:
    """Tell whether `obj` is an instance of `entity_type`, or a class derived from it."""
    return is_a(obj, entity_type) or (inspect.isclass(obj) and issubclass(obj, entity_type))
