"""Topics in the order of the times in their messages' headers, where the bag's own times are others."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fieldplay_messages.bags.topics import Bag, TopicReader, header_stamp_ns
from fieldplay_messages.errors import ArchiveError
from fieldplay_messages.streams import Span


class ByHeader:
    """A topic whose messages are ordered and timed by their headers; see TopicReader.

    All of them are read once for that. Only times and places are kept.
    """

    def __init__(self, base: TopicReader, rows_per_span: int) -> None:
        self.name, self.kind = base.name, base.kind
        self._base = base
        found: list[tuple[int, int, int]] = []
        for index in range(len(base.spans)):
            for row, message in enumerate(base.messages(index)):
                if message is not None and len(message) >= 12:
                    found.append((header_stamp_ns(message, base.kind), index, row))
        self._places = np.array(sorted(found), np.int64).reshape(-1, 3)
        self._rows = rows_per_span
        parts = (self._places[begin : begin + rows_per_span, 0] for begin in range(0, len(found), rows_per_span))
        self.spans: Sequence[Span] = [Span(int(part[0]), int(part[-1]), len(part)) for part in parts]

    def stamps(self, index: int) -> NDArray[np.int64]:
        return self._places[self._part(index), 0]

    def messages(self, index: int) -> list[bytes | None]:
        places = self._places[self._part(index)]
        loaded = {span: self._base.messages(span) for span in np.unique(places[:, 1]).tolist()}
        return [loaded[span][row] for _, span, row in places.tolist()]

    def message(self, index: int, row: int) -> bytes:
        _, span, at = self._places[index * self._rows + row].tolist()
        return self._base.message(span, at)

    def _part(self, index: int) -> slice:
        return slice(index * self._rows, (index + 1) * self._rows)


def topic_in_time(bag: Bag, name: str, rows_per_span: int, note: Callable[[str], None]) -> TopicReader:
    """A topic whose messages have headers, by the bag's times if the first and the last have the same in theirs."""
    topic = bag.topic(name, rows_per_span)
    if all(_agrees(topic, index, row) for index, row in _ends(topic)):
        return topic
    note(f"{bag.name}: the times of {name} in the bag are not those in its headers, which count; all of it was read")
    return ByHeader(topic, rows_per_span)


def _ends(topic: TopicReader) -> list[tuple[int, int]]:
    last = len(topic.spans) - 1
    return [(0, 0), (last, -1)] if last >= 0 else []


def _agrees(topic: TopicReader, index: int, row: int) -> bool:
    """Whether a message has the bag's time in its header; one that cannot be read says nothing."""
    stamps = topic.stamps(index)
    if not len(stamps):
        return True
    row %= len(stamps)
    try:
        message = topic.message(index, row)
    except ArchiveError:
        return True
    return len(message) < 12 or header_stamp_ns(message, topic.kind) == stamps[row]
