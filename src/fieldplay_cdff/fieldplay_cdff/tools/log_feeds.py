"""Which streams of a log feed a chain."""

import re
from collections.abc import Iterator, Sequence

from fieldplay.core.errors import UsageError
from fieldplay_cdff.descriptors.model import Description
from fieldplay_cdff.descriptors.port_types import InputFeed
from fieldplay_cdff.logs.log import Log
from fieldplay_cdff.logs.streams import LogStream
from fieldplay_cdff.logs.types.table import BITS
from fieldplay_cdff.tools.log_choice import chosen_streams

PART = re.compile(r"[/.]")


def feeds_of_log(log: Log, description: Description, words: Sequence[str]) -> dict[str, InputFeed]:
    """The feeds by input, of words as PORT=STREAM and by names: leftImage is fed by /unit/left/image.

    UsageError where a word fits no input or no stream. Where several streams are called as an input, none is taken.
    """
    named = dict(_given(log, description, word) for word in words)
    for port in description.inputs:
        called = [name for name in log.streams if _letters(port.name) in _endings(name)]
        if len(called) == 1:
            named.setdefault(port.name, called[0])
    return {port: InputFeed(name, _type_of(log.streams[name])) for port, name in named.items()}


def _given(log: Log, description: Description, word: str) -> tuple[str, str]:
    port, equals, stream = word.partition("=")
    if not (port and equals and stream):
        raise UsageError(f"--stream: expected PORT=STREAM, got '{word}'")
    inputs = [each.name for each in description.inputs]
    if port not in inputs:
        raise UsageError(f"--stream: {description.name} has no input {port}; it has {', '.join(inputs) or 'none'}")
    return port, chosen_streams(log, [stream])[0]


def _endings(name: str) -> Iterator[str]:
    """A name without its signs, then without its first part, and so on."""
    parts = PART.split(name)
    return (_letters("".join(parts[begin:])) for begin in range(len(parts)))


def _letters(name: str) -> str:
    return "".join(sign for sign in name if sign.isalnum()).casefold()


def _type_of(stream: LogStream) -> str:
    """The type as the log has it, of packed bits that of what is packed; "" where nothing tells."""
    if stream.packing is not None:
        return stream.packing.kind
    return "" if stream.kind == BITS else stream.type or stream.kind
