"""Whether the messages of a bag are of the types that their topics say: each is gone through field by field."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rosbags.interfaces import Nodetype

from fieldplay.bags.bag_topics import Bag
from fieldplay.bags.qos import needed_types, undefined_types
from fieldplay.core.errors import ArchiveError, Defect, counted
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.messages.cdr_layout import NUMBERS, MessageKind
from fieldplay.messages.message_batches import Batch
from fieldplay.messages.message_columns import Decoder

WIDE = "/wstring"  # how a text of wide characters looks, which is of no package
LISTED = 100  # issues of a topic; the others are counted


def _is_decodable(kind: MessageKind) -> bool:
    """Whether a type has only fields that a layout knows: texts of wide characters and the like it does not."""
    names = needed_types(kind.msgtype, kind.definitions)
    fields = (field for name in names for _, field in kind.definitions[name][1])
    return all(base in NUMBERS or base == "string" for field in fields for base in _base_types(field))


def _base_types(field: Any) -> Iterator[str]:
    node, inner = field
    if node == Nodetype.BASE:
        yield str(inner[0])
    elif node != Nodetype.NAME:
        yield from _base_types(inner[0])


class DecodingCheck:
    """Finds messages that are cut off or have another layout, and topics whose types nothing defines."""

    def __init__(self, bag: Bag) -> None:
        self._bag = bag
        self._undefined = {name: undefined_types(found.kind) for name, found in bag.indexed.items()}
        self._decoders = {
            name: Decoder(found.kind, strict=False)
            for name, found in bag.indexed.items()
            if not self._undefined[name] and found.kind.is_cdr and _is_decodable(found.kind)
        }
        self._found: Counter[str] = Counter()

    def defects(self, batch: Batch) -> Iterator[Defect]:
        """The issues of some messages of a topic, each with the time at which it was logged."""
        name = batch.topic.name
        decoder = self._decoders.get(name)
        if decoder is None or decoder.kind.msgtype != batch.topic.msgtype:
            return
        for part in batch.parts:
            for rows, layout in decoder.groups(part.data):
                if isinstance(layout, ArchiveError):
                    self._found[name] += len(rows)
                    if self._found[name] <= LISTED:
                        seconds, rest = divmod(int(part.stamp_ns[rows[0]]), NS_PER_S)
                        message = f"{name}: the message logged at {seconds}.{rest:09d} s: {layout}"
                        yield Defect(file=self._bag.name, kind="damaged_message", stream=name, message=message)

    def missing_definitions(self) -> Iterator[Defect]:
        """The topics that cannot be decoded, and how many issues were not listed, once all is read."""
        for name, missing in self._undefined.items():
            missing = [name for name in missing if not name.endswith(WIDE)]
            if missing:
                what = f"expected a definition of {' and '.join(missing)}, got none; --msgs DIR takes .msg files"
                yield Defect(file=self._bag.name, kind="missing_definition", stream=name, message=f"{name}: {what}")
        for name, count in self._found.items():
            if count > LISTED:
                message = f"{name}: and {counted(count - LISTED, 'message')} more that cannot be read"
                yield Defect(file=self._bag.name, kind="damaged_message", stream=name, message=message)
