"""What a message type of ROS 1, or of an older ROS 2, is in ROS 2 Jazzy, and how its messages become that.

`Header.seq` is dropped, all else kept; fields that came later are 0 or empty.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from rosbags.convert.converter import is_same_wireformat, migrate_bytes
from rosbags.interfaces import Nodetype
from rosbags.serde import SerdeError
from rosbags.typesys.store import Typestore

from fieldplay.bags.qos import UNUSABLE, needed_types, store_of_kind
from fieldplay.core.errors import ArchiveError, DamagedMessageError
from fieldplay.messages.cdr_layout import (
    Fields,
    MessageKind,
    kind_of_type,
    typestore,
)

RENAMED = {"tf/msg/tfMessage": "tf2_msgs/msg/TFMessage"}
HEADER = "std_msgs/msg/Header"
LOG, LOG_NOW = "rosgraph_msgs/msg/Log", "rcl_interfaces/msg/Log"
LOG_FIELDS = {"header", "level", "name", "msg", "file", "function", "line"}
LEVELS = {1: 10, 2: 20, 4: 30, 8: 40, 16: 50}  # debug to fatal
BROKEN = (SerdeError, *UNUSABLE, IndexError, UnicodeDecodeError, AttributeError)


@dataclass(frozen=True, kw_only=True, eq=False)
class Ros1Conversion:
    """How messages of a topic become those of ROS 2; `is_filled` where these have fields that ROS 1 lacks."""

    kind: MessageKind
    convert: Callable[[bytes], memoryview]
    is_filled: bool = False

    def __call__(self, message: bytes) -> bytes:
        """A message in CDR; ArchiveError where it is none of the type."""
        try:
            return bytes(self.convert(message))
        except BROKEN as error:
            raise DamagedMessageError(
                f"expected a message of {self.kind.msgtype}, got {len(message)} bytes: {error}"
            ) from None


def conversion_of_kind(kind: MessageKind) -> Ros1Conversion:
    """To the type of ROS 2 that is called so, else to one as the bag defines it; ArchiveError where neither goes."""
    source, target = kind.msgtype, RENAMED.get(kind.msgtype, kind.msgtype)
    if source not in kind.definitions:
        raise ArchiveError(f"the bag holds no definition of {source} that can be read")
    if source == LOG and {name for name, _ in kind.definitions[source][1]} >= LOG_FIELDS:
        return Ros1Conversion(kind=kind_of_type(LOG_NOW), convert=partial(_log_message, store_of_kind(kind)))
    jazzy = typestore().fielddefs
    names = needed_types(source, kind.definitions)
    own = {name: kind.definitions[name] for name in names if name not in jazzy and name not in RENAMED}
    definitions = {**jazzy, **own}
    strange = _difference(source, target, kind.definitions, definitions)
    if strange:
        raise ArchiveError(f"ROS 2 has another {strange}")
    found = MessageKind(msgtype=target, definitions=definitions, is_cdr=True)
    try:
        stores = store_of_kind(kind), store_of_kind(found)
        return _migration(stores, source, found) if kind.is_cdr else _conversion(stores, source, found)
    except UNUSABLE as error:
        raise ArchiveError(f"{source} cannot be one of ROS 2: {error}") from None


def migration_of_kind(kind: MessageKind) -> Ros1Conversion | None:
    """To the layout of Jazzy, of a type that a bag of ROS 2 defines with fewer fields; None where that does not go.

    Also of a type of its own that holds such a type. What Jazzy does not know is left as it is.
    """
    jazzy = typestore().fielddefs
    names = needed_types(kind.msgtype, kind.definitions)
    is_older = any(name in jazzy and kind.definitions[name][1] != jazzy[name][1] for name in names)
    try:
        return conversion_of_kind(kind) if is_older else None
    except ArchiveError:
        return None


def _migration(stores: tuple[Typestore, Typestore], source: str, found: MessageKind) -> Ros1Conversion:
    cache: dict[str, object] = {}
    convert = partial(migrate_bytes, *stores, source, found.msgtype, cache, src_is2=True, dst_is2=True)
    return Ros1Conversion(kind=found, convert=convert, is_filled=True)


def _log_message(store: Typestore, message: bytes) -> memoryview:
    """A message of rosgraph_msgs/Log of ROS 1 as rcl_interfaces/Log, whose levels are ten times as fine."""
    found: Any = store.deserialize_ros1(message, LOG)
    jazzy = typestore()
    time: Any = jazzy.types["builtin_interfaces/msg/Time"]
    made = jazzy.types[LOG_NOW](
        stamp=time(sec=found.header.stamp.sec, nanosec=found.header.stamp.nanosec),
        level=LEVELS.get(int(found.level), int(found.level)),
        **{name: getattr(found, name) for name in ("name", "msg", "file", "function", "line")},
    )
    return jazzy.serialize_cdr(made, LOG_NOW)


def _conversion(stores: tuple[Typestore, Typestore], source: str, found: MessageKind) -> Ros1Conversion:
    target = found.msgtype
    if is_same_wireformat(*stores, source, target):
        return Ros1Conversion(kind=found, convert=partial(stores[1].ros1_to_cdr, typename=target))
    cache: dict[str, object] = {}
    convert = partial(migrate_bytes, *stores, source, target, cache, src_is2=False, dst_is2=True)
    return Ros1Conversion(kind=found, convert=convert, is_filled=True)


def _difference(source: str, target: str, sources: Fields, targets: Fields) -> str:
    """The first type, this or one in it, some of whose fields ROS 2 lacks or has as something else; "" for none."""
    if target not in targets:
        return target
    there = {name.lower(): field for name, field in targets[target][1]}
    for name, field in sources[source][1]:
        if source == HEADER and name == "seq":
            continue
        other = there.get(name.lower())
        if other is None or field[0] != other[0]:
            return target
        inner, other_inner = _inner(field), _inner(other)
        if inner[0] == Nodetype.NAME == other_inner[0]:
            strange = _difference(inner[1], other_inner[1], sources, targets)
            if strange:
                return strange
        elif inner != other_inner or (field[0] == Nodetype.ARRAY and field != other):
            return target
    return ""


def _inner(field: Any) -> Any:
    return field[1][0] if field[0] in (Nodetype.ARRAY, Nodetype.SEQUENCE) else field
