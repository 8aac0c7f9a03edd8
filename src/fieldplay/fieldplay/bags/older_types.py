"""Types that older distributions of ROS 2 define with other fields: their bags in SQLite hold no definitions."""

from collections.abc import Iterable
from functools import cache

from rosbags.typesys import Stores, get_typestore

from fieldplay.bags.qos import needed_types
from fieldplay.core.errors import ArchiveError
from fieldplay.messages.cdr_layout import MessageKind, layout_of_message, typestore

OLDER = (Stores.ROS2_HUMBLE, Stores.ROS2_GALACTIC, Stores.ROS2_FOXY, Stores.ROS2_DASHING)  # the later ones first
FILLING = 7  # bytes that may stand behind a message


@cache
def has_changed(msgtype: str) -> bool:
    """Whether a type of Jazzy, or one in it, had other fields in an older distribution."""
    jazzy = typestore().fielddefs
    for older in (get_typestore(store).fielddefs for store in OLDER):
        names = [name for name in needed_types(msgtype, older) if name in jazzy]
        if msgtype in older and any(older[name][1] != jazzy[name][1] for name in names):
            return True
    return False


def kind_of_messages(kind: MessageKind, messages: Iterable[bytes]) -> MessageKind:
    """Return a type as the distribution defines it of which some messages are; as it is if they fit or nothing does."""
    samples = list(messages)
    if not samples or _fits(kind, samples):
        return kind
    for store in OLDER:
        definitions = get_typestore(store).fielddefs
        older = MessageKind(msgtype=kind.msgtype, definitions=definitions, is_cdr=True)
        if kind.msgtype in definitions and _fits(older, samples):
            return older
    return kind


def _fits(kind: MessageKind, messages: list[bytes]) -> bool:
    """Whether all messages end where their last fields do."""
    try:
        return all(len(message) - len(layout_of_message(message, kind)) <= FILLING for message in messages)
    except ArchiveError:
        return False
