"""Which types can be transformed and converted, and how; one registry for the whole process, as upstream has it."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, ClassVar, TypeVar

_Key = TypeVar("_Key")
_Function = Callable[..., Any]


class TypeException(Exception):
    """A type that nobody has registered."""

    def __init__(self, errstr: str) -> None:
        """Keep the message under upstream's name, too."""
        super().__init__(errstr)
        self.errstr = errstr


class NotImplementedException(Exception):
    """A buffer that does not implement what it was asked for."""

    def __init__(self) -> None:
        """Keep the message under upstream's name, too."""
        self.errstr = "CanTransform or LookupTransform not implemented"
        super().__init__(self.errstr)


class TransformRegistration:
    """How to apply a TransformStamped to an object, by the object's type."""

    _functions: ClassVar[dict[type, _Function]] = {}

    def add(self, key: type, callback: _Function) -> None:
        """Register ``callback(object, transform)`` for a type."""
        self._functions[key] = callback

    def get(self, key: type) -> _Function:
        """Return the callback of a type, or raise TypeException."""
        return _find(self._functions, key)


class ConvertRegistration:
    """How to turn an object into another type: directly, or through a message."""

    _to_msg: ClassVar[dict[type, _Function]] = {}
    _from_msg: ClassVar[dict[type, _Function]] = {}
    _convert: ClassVar[dict[tuple[type, type], _Function]] = {}

    def add_from_msg(self, key: type, callback: _Function) -> None:
        """Register how to make this type from a message."""
        self._from_msg[key] = callback

    def add_to_msg(self, key: type, callback: _Function) -> None:
        """Register how to make a message from this type."""
        self._to_msg[key] = callback

    def add_convert(self, key: tuple[type, type], callback: _Function) -> None:
        """Register a direct way for a pair (from, to)."""
        self._convert[key] = callback

    def get_from_msg(self, key: type) -> _Function:
        """Return how to make this type from a message, or raise TypeException."""
        return _find(self._from_msg, key)

    def get_to_msg(self, key: type) -> _Function:
        """Return how to make a message from this type, or raise TypeException."""
        return _find(self._to_msg, key)

    def get_convert(self, key: tuple[type, type]) -> _Function:
        """Return the direct way for a pair (from, to), or raise TypeException."""
        return _find(self._convert, key)


def convert(a: Any, b_type: type) -> Any:
    """Return ``a`` as a ``b_type``: directly, by copying if it is one already, or through a message."""
    registry = ConvertRegistration()
    try:
        direct = registry.get_convert((type(a), b_type))
    except TypeException:
        if type(a) is b_type:
            return deepcopy(a)
        to_msg, from_msg = registry.get_to_msg(type(a)), registry.get_from_msg(b_type)
        return from_msg(to_msg(a))
    return direct(a)


def _find(functions: dict[_Key, _Function], key: _Key) -> _Function:
    try:
        return functions[key]
    except KeyError:
        raise TypeException(f"Type {key} is not loaded or supported") from None
