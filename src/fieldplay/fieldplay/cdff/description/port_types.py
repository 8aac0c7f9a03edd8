"""Which streams of a log feed a chain, and whether types at both ends of connections and of feeds are the same."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from fieldplay.cdff.description.catalogue import Catalogue
from fieldplay.cdff.description.model import PREFIX, Connection, Description, End, ProcessingChain
from fieldplay.cdff.log_choice import chosen_streams
from fieldplay_archive.logs.log import Log
from fieldplay_archive.logs.streams import LogStream
from fieldplay_archive.logs.types.table import BITS, canonical_type
from fieldplay_messages.errors import UsageError

TYPES_DIFFER = "type_mismatch"  # the kind of such a fault
PLAIN = re.compile("^T[_-]")  # asn1SccT_Double
PART = re.compile(r"[/.]")


class InputFeed(NamedTuple):
    """A stream of a log that feeds an input of a chain, and its type; "" where that is not known."""

    stream: str
    type: str


def do_differ(one: str, other: str) -> bool:
    """Whether two types are not the same in any of their spellings; one that is not known says nothing."""
    return bool(one and other) and _plain(one) != _plain(other)


def type_faults(
    description: Description, chain: ProcessingChain, catalogue: Catalogue
) -> Iterator[tuple[Connection, str]]:
    """The connections of a chain whose ends have different types, with what is wrong in words."""
    for connection in chain.connections:
        source, target = types_of_ends(description, chain, connection, catalogue)
        if do_differ(source, target):
            ends = f"{named(connection.source)} is {source}", f"{named(connection.target)} takes {target}"
            yield connection, ", but ".join(ends)


def feed_faults(description: Description, feeds: Mapping[str, InputFeed]) -> Iterator[tuple[int, str]]:
    """The inputs of a chain, by their lines, that take another type than the stream of a log that feeds them."""
    for port in description.inputs:
        feed = feeds.get(port.name)
        if feed is not None and do_differ(feed.type, port.shown_type):
            yield port.line, f"{feed.stream} is {feed.type}, but {port.name} takes {port.shown_type}"


def types_of_ends(
    description: Description, chain: ProcessingChain, connection: Connection, catalogue: Catalogue
) -> tuple[str, str]:  # fmt: skip
    """The types of what the source gives and of what the target takes, as written; "" where nothing tells."""
    dfns = {step.id: catalogue.meant(step.dfn) for step in chain.steps}

    def type_of(end: End, *, is_source: bool) -> str:
        if end.step is None:
            ports = description.inputs if is_source else description.outputs
            return next((port.shown_type for port in ports if port.name == end.port), "")
        dfn = dfns[end.step]
        types = {} if dfn is None else dfn.outputs if is_source else dfn.inputs
        return types.get(end.port, "")

    return type_of(connection.source, is_source=True), type_of(connection.target, is_source=False)


def named(end: End) -> str:
    """A port, with the step that it is of."""
    return f"{end.step}.{end.port}" if end.step else end.port


def _plain(text: str) -> str:
    """A type without what spellings add: /base/samples/RigidBodyState_m is asn1SccRigidBodyState, float is double."""
    return canonical_type(PLAIN.sub("", text.removeprefix(PREFIX))).casefold()


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
