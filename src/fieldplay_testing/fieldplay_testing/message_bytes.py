"""The messages of feeds one by one, as bytes."""

import numpy as np

from fieldplay.streams.payloads import Payloads
from fieldplay.streams.topic_stream import TopicStream


def bytes_of_payloads(payloads: Payloads) -> list[bytes]:
    """Each message, cut out of the one buffer into which all are put."""
    ends = np.cumsum(payloads.size)
    buffer = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    payloads.place(buffer, ends - payloads.size)
    return [buffer[end - size : end].tobytes() for end, size in zip(ends, payloads.size, strict=True)]


def messages_of_span(feed: TopicStream, index: int) -> list[tuple[int, bytes]]:
    """The stamps of a span's messages, and these."""
    stamp_ns, loaded = feed.load(index)
    payloads, kept = loaded.payloads(np.arange(len(stamp_ns)))
    return list(zip(stamp_ns[kept].tolist(), bytes_of_payloads(payloads), strict=True))
