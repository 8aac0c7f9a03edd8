"""Whether types at both ends of connections, and of what feeds an input, are the same."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fieldplay_cdff.descriptors.catalogue import Catalogue
from fieldplay_cdff.descriptors.model import (
    PREFIX,
    Connection,
    Description,
    End,
    ProcessingChain,
)

ANY = "$"  # begins the name of a type that may be any, but the same at each port that has it
TYPES_DIFFER = "type_mismatch"  # the kind of such a fault
PLAIN = re.compile("^T[_-]")  # asn1SccT_Double
MARSHALLED = re.compile("_m$")
ASN1 = re.compile("^asn[1l]scc")
NO_LETTER = re.compile("[^a-zA-Z0-9]")
FAMILIES = {
    "frame": ("image",), "gpssolution": ("solution",), "double": ("float", "doublet", "floatt", "float32", "float64"),
    "int": ("int8t", "int16t", "int32t", "uint8t", "uint16t", "int8", "int16", "int32", "uint8", "uint16", "short"),
    "long": ("int64t", "uint32t", "uint64t", "int64", "uint32", "uint64", "unsignedint"), "bool": ("boolean",),
}  # fmt: skip
SPELLINGS = {spelling: kind for kind, spellings in FAMILIES.items() for spelling in spellings}


class InputFeed(NamedTuple):
    """A stream of a log that feeds an input of a chain, and its type; "" where that is not known."""

    stream: str
    type: str


def do_differ(one: str, other: str) -> bool:
    """Whether two types are not the same in any of their spellings; one that is not known says nothing."""
    is_known = bool(one and other) and ANY not in (one[:1], other[:1])
    return is_known and _plain(one) != _plain(other)


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

    def type_of(end: End, seen: frozenset[str], *, is_source: bool) -> str:
        if end.step is None:
            ports = description.inputs if is_source else description.outputs
            return next((port.shown_type for port in ports if port.name == end.port), "")
        dfn = dfns[end.step]
        types = {} if dfn is None else dfn.outputs if is_source else dfn.inputs
        name = "" if dfn is None else catalogue.port(dfn.name, end.port, is_source=is_source)
        found = types.get(name, "")
        if not found.startswith(ANY) or dfn is None or end.step in seen:
            return found
        alike = {port for port, kind in dfn.inputs.items() if kind == found}
        others = (each for each in chain.connections if each is not connection and each.target.step == end.step)
        fed = (type_of(each.source, seen | {end.step}, is_source=True) for each in others if each.target.port in alike)
        return next((kind for kind in fed if kind and not kind.startswith(ANY)), found)

    none: frozenset[str] = frozenset()
    return type_of(connection.source, none, is_source=True), type_of(connection.target, none, is_source=False)


def named(end: End) -> str:
    """A port, with the step that it is of."""
    return f"{end.step}.{end.port}" if end.step else end.port


def _plain(text: str) -> str:
    """A type without what spellings add: /base/samples/RigidBodyState_m is asn1SccRigidBodyState, float is double."""
    own = MARSHALLED.sub("", re.split(r"/|::", PLAIN.sub("", text.removeprefix(PREFIX)))[-1])
    plain = ASN1.sub("", NO_LETTER.sub("", own).casefold())
    return SPELLINGS.get(plain, plain)
