"""Plain data (from YAML) into dataclasses, with errors that name the place, what was expected and what was got."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from fieldplay_messages.errors import ArchiveError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


def build(kind: type[T], data: Any, where: str) -> T:
    """An instance of a dataclass from a mapping; unknown, missing or wrongly typed entries are refused."""
    if not isinstance(data, Mapping):
        raise ArchiveError(f"{where}: expected a mapping, got {_shown(data)}")
    known = {item.name: item for item in fields(kind)}
    for name in data:
        if name not in known:
            raise ArchiveError(f"{where}.{name}: there is no such entry; expected one of {', '.join(sorted(known))}")
    hints = get_type_hints(kind)
    values = {}
    for name, item in known.items():
        if name in data:
            values[name] = _value(hints[name], data[name], f"{where}.{name}")
        elif item.default is MISSING and item.default_factory is MISSING:
            raise ArchiveError(f"{where}: expected an entry '{name}', got none")
    try:
        return kind(**values)
    except ValueError as error:
        raise ArchiveError(f"{where}: {error}") from None


def _value(hint: Any, data: Any, where: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return data
    if origin in (Union, UnionType):
        return _one_of(arguments, data, where)
    if is_dataclass(hint) and isinstance(hint, type):
        return build(hint, data, where)
    if origin is tuple:
        return _tuple(arguments, data, where)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(arguments, data, where)
    if hint is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if not isinstance(data, hint) or (isinstance(data, bool) and hint is not bool):
        raise ArchiveError(f"{where}: expected {hint.__name__}, got {_shown(data)}")
    return data


def _one_of(hints: tuple[Any, ...], data: Any, where: str) -> Any:
    if data is None and NoneType in hints:
        return None
    choices = [hint for hint in hints if hint is not NoneType]
    for hint in choices:
        try:
            return _value(hint, data, where)
        except ArchiveError:
            if hint is choices[-1]:
                raise
    return None


def _tuple(arguments: tuple[Any, ...], data: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(data, Sequence) or isinstance(data, str):
        raise ArchiveError(f"{where}: expected a list, got {_shown(data)}")
    if arguments[-1] is Ellipsis:
        arguments = (arguments[0],) * len(data)
    if len(arguments) != len(data):
        raise ArchiveError(f"{where}: expected {len(arguments)} entries, got {len(data)}")
    return tuple(
        _value(hint, item, f"{where}[{i}]") for i, (hint, item) in enumerate(zip(arguments, data, strict=True))
    )


def _mapping(arguments: tuple[Any, ...], data: Any, where: str) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise ArchiveError(f"{where}: expected a mapping, got {_shown(data)}")
    return {
        _value(arguments[0], key, where): _value(arguments[1], item, f"{where}.{key}") for key, item in data.items()
    }


def _shown(data: Any) -> str:
    text = repr(data)
    return f"{type(data).__name__} {text if len(text) <= 40 else text[:37] + '...'}"
