"""The messages received on each topic, compared with a bag."""

import hashlib
import struct
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import nan

from fieldplay.messages.restamp import starts_with_header

NS_PER_S = 1_000_000_000
RATE_OVER_S = 2.0
STAMP = struct.Struct("<iI")
STAMP_OFFSETS = {"tf2_msgs/msg/TFMessage": 8}  # behind the CDR header and the length of the sequence
HEADER_OFFSET = 4


def stamp_of(msgtype: str, data: bytes) -> int | None:
    """The first time in a serialized message that begins with a header, in ns; None of a type without a header."""
    if msgtype not in STAMP_OFFSETS and not starts_with_header(msgtype):
        return None
    seconds, nanoseconds = STAMP.unpack_from(data, STAMP_OFFSETS.get(msgtype, HEADER_OFFSET))
    return int(seconds) * NS_PER_S + int(nanoseconds)


def digest(data: bytes | memoryview) -> bytes:
    """A serialized message as a few bytes, to be compared with another's.

    On the wire a message is filled up to a multiple of four bytes, and its header may say by how many.
    """
    state = hashlib.blake2b(data[:2], digest_size=8)
    state.update(data[4:])
    state.update(bytes(-len(data) % 4))
    return state.digest()


@dataclass
class ReceivedTopic:
    """The messages of one topic: how many, which ones, and when they came (seconds of one clock)."""

    msgtype: str
    digests: list[bytes] = field(default_factory=list)
    first_s: float = 0.0
    last_s: float = 0.0
    latency_s: float = nan  # how long after its stamp the last one came, in an unknown origin; NaN without a header
    recent_s: deque[float] = field(default_factory=deque)

    def add(self, data: bytes, now_s: float) -> None:
        """A further message."""
        if not self.digests:
            self.first_s = now_s
        self.digests.append(digest(data))
        self.last_s = now_s
        stamp_ns = stamp_of(self.msgtype, data)
        if stamp_ns is not None:
            self.latency_s = now_s - stamp_ns / NS_PER_S
        self.recent_s.append(now_s)
        while self.recent_s[0] < now_s - RATE_OVER_S:
            self.recent_s.popleft()

    def rate_hz(self, now_s: float) -> float:
        """How many came in a second, lately."""
        since = max(self.first_s, now_s - RATE_OVER_S)
        return sum(when >= since for when in self.recent_s) / max(now_s - since, 0.1)

    def mean_rate_hz(self) -> float:
        """How many came in a second, over all."""
        length = self.last_s - self.first_s
        return (len(self.digests) - 1) / length if length > 0 else 0.0


def differences(
    received: Mapping[str, Sequence[bytes]], written: Mapping[str, Sequence[bytes]], computed: frozenset[str]
) -> list[str]:
    """Differences from what was written: every message byte for byte, of those computed live the number."""
    lines = []
    for topic, messages in written.items():
        got = received.get(topic, ())
        if len(got) != len(messages):
            lines.append(f"{topic}: expected {len(messages)} messages, received {len(got)}")
        elif topic not in computed and list(got) != list(messages):
            where = next(index for index, (a, b) in enumerate(zip(got, messages, strict=True)) if a != b)
            lines.append(f"{topic}: message {where + 1} of {len(messages)} is not the one of the bag")
    return lines
