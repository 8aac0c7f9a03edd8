"""The content of a description: ports, processing steps, and the chains that an implementation makes of them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from fieldplay.core.errors import closest_name

DFN, DFPC = "DFN", "DFPC"
PREFIX = "asn1Scc"
FILE = Path(__file__).with_name("dfns.yaml")
ANY = "$"  # prefix of a type that may be any, but the same at each port that has it
TYPES_DIFFER = "type_mismatch"  # the kind of this issue
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


@dataclass(frozen=True, kw_only=True)
class ProductMark:
    """An output that is stored as a product: its kind, and its minimum interval in seconds."""

    kind: str
    period: str = ""  # as written


@dataclass(frozen=True, kw_only=True)
class Port:
    """A port; `type` is as written, `line` counts from 1.

    Of a runnable chain `policy` is how an input is fed; `frame` and `child` of an output are whose pose it is in what,
    and `product` is whether it is kept.
    """

    name: str
    type: str = ""
    doc: str = ""
    line: int = 0
    policy: str = ""
    frame: str = ""
    child: str = ""
    product: ProductMark | None = None

    @property
    def shown_type(self) -> str:
        return self.type.removeprefix(PREFIX)


@dataclass(frozen=True, kw_only=True)
class Step:
    """A processing step in a chain: its name there, its DFN and implementation, and its trigger (kind and value).

    In a runnable chain: parameters by group and name, constant inputs, the step whose parameters it shares, whether
    it is optional, and the input that resets it. The step may be a complete chain, `dfpc`.
    """

    id: str
    dfn: str
    implementation: str = ""
    activation: tuple[str, str] = ("", "")
    line: int = 0
    is_listed: bool = True
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    like: str = ""
    is_optional: bool = False
    is_dfpc: bool = False
    reset_on: str = ""


class End(NamedTuple):
    """One end of a connection; without a step it is a port of the chain itself."""

    step: str | None
    port: str


@dataclass(frozen=True, kw_only=True)
class Connection:
    """Data flow from one port to another."""

    source: End
    target: End
    line: int = 0


class NestedParameters(NamedTuple):
    """For a complete chain as a step: its name, and its own parameters, which set those of its steps."""

    name: str
    parameters: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class ProcessingChain:
    """The steps of an implementation, and how they are connected.

    `parameters` are those of the chain itself, by group and name: the parameters of its steps that they set.
    `steps_of` is the implementation that this one does step by step: it runs where one of its steps is set.
    `nested` are parameters of the chains that were steps of it before they were replaced by their steps. `note` is what
    a user should know before running it.
    """

    name: str
    steps: tuple[Step, ...] = ()
    connections: tuple[Connection, ...] = ()
    line: int = 0
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    steps_of: str = ""
    nested: Mapping[str, NestedParameters] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """An operation of a chain that a client can call."""

    name: str
    doc: str = ""
    output_type: str = "void"
    inputs: tuple[Port, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Description:
    """A DFN, or a DFPC of form 1 (connections next to the ports) or 2 (connections in the implementations).

    Of a DFN each implementation is a chain without steps.
    """

    kind: str
    form: int
    name: str
    doc: str = ""
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    operations: tuple[Operation, ...] = ()
    chains: tuple[ProcessingChain, ...] = field(default_factory=tuple)
    topic: str = ""  # topic namespace of the outputs of a runnable chain


# The processing steps that the framework publishes, by name, and what may be meant by other names.


@dataclass(frozen=True, kw_only=True)
class Dfn:
    """A processing step as published: types of its ports by name, and the names of its implementations."""

    name: str
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    implementations: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """All steps by name, and aliases of them, of their implementations, and of their ports by step and side."""

    dfns: Mapping[str, Dfn]
    aliases: Mapping[str, str]
    implementation_aliases: Mapping[str, str] = field(default_factory=dict)
    port_aliases: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    stand_ins: frozenset[str] = frozenset()  # names of implementations that another method replaces
    types: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of ports, by where they are from

    def stand_in_note(self, step: str, implementation: str) -> str:
        """Return the note that another method replaces the implementation of a step; "" if none does."""
        if implementation not in self.stand_ins:
            return ""
        return f"{step}: {self.implementation_aliases[implementation]} stands in for {implementation}"

    def port(self, dfn: str, name: str, *, is_source: bool) -> str:
        """The published name of a step's port."""
        return self.port_aliases.get(dfn, {}).get("out" if is_source else "in", {}).get(name, name)

    def meant(self, name: str) -> Dfn | None:
        """The step of this name, or the one that may be meant."""
        usual = self.aliases.get(name, name)
        by_implementation = [dfn.name for dfn in self.dfns.values() if name in dfn.implementations]
        if usual not in self.dfns and len(by_implementation) == 1:
            usual = by_implementation[0]
        return self.dfns.get(usual) or self.dfns.get(closest_name(name, self.dfns, cutoff=0.8))


@lru_cache(maxsize=1)
def published_catalogue() -> Catalogue:
    """The steps of the framework."""
    return _catalogue("dfns")


@lru_cache(maxsize=1)
def known_catalogue() -> Catalogue:
    """The steps of the framework, our own adapters between them, and those that packages of others bring."""
    from fieldplay_cdff.descriptors.step_packages import with_step_packages  # which reads descriptions

    return with_step_packages(_catalogue("dfns", "own"))


def _catalogue(*parts: str) -> Catalogue:
    data = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    dfns = {
        name: Dfn(name=name, inputs=own["in"], outputs=own["out"], implementations=tuple(own["by"]))
        for part in parts
        for name, own in data[part].items()
    }
    return Catalogue(
        dfns=dfns,
        aliases=data["aliases"],
        implementation_aliases=data["implementation_aliases"],
        port_aliases=data["port_aliases"],
        stand_ins=frozenset(data["stand_ins"]),
        types={kind: tuple(names) for kind, names in data["types"].items()},
    )


def with_own(catalogue: Catalogue, descriptions: Iterable[Description]) -> Catalogue:
    """The catalogue with further steps, which replace those with the same name."""
    own = {
        each.name: Dfn(
            name=each.name,
            inputs={port.name: port.shown_type for port in each.inputs},
            outputs={port.name: port.shown_type for port in each.outputs},
            implementations=tuple(chain.name for chain in each.chains),
        )
        for each in descriptions
    }
    return replace(catalogue, dfns={**catalogue.dfns, **own})


# Whether types at both ends of connections, and of input topics, are the same.


class InputFeed(NamedTuple):
    """A stream of a log that is an input of a chain, and its type; "" where that is not known."""

    stream: str
    type: str


def do_differ(one: str, other: str) -> bool:
    """Whether two types differ in all of their spellings; an unknown one matches any."""
    is_known = bool(one and other) and ANY not in (one[:1], other[:1])
    return is_known and _plain(one) != _plain(other)


def type_issues(
    description: Description, chain: ProcessingChain, catalogue: Catalogue
) -> Iterator[tuple[Connection, str]]:
    """Yield the connections of a chain whose ends have different types, with a message."""
    for connection in chain.connections:
        source, target = end_types(description, chain, connection, catalogue)
        if do_differ(source, target):
            messages = f"{port_label(connection.source)} is {source}", f"{port_label(connection.target)} takes {target}"
            yield connection, ", but ".join(messages)


def feed_issues(description: Description, feeds: Mapping[str, InputFeed]) -> Iterator[tuple[int, str]]:
    """Yield the inputs of a chain whose type differs from that of the log stream that feeds them, with their lines."""
    for port in description.inputs:
        feed = feeds.get(port.name)
        if feed is not None and do_differ(feed.type, port.shown_type):
            yield port.line, f"{feed.stream} is {feed.type}, but {port.name} takes {port.shown_type}"


def end_types(
    description: Description, chain: ProcessingChain, connection: Connection, catalogue: Catalogue
) -> tuple[str, str]:  # fmt: skip
    """Return the types of the source's output and of the target's input, as written; "" where unknown."""
    dfns = {step.id: catalogue.meant(step.dfn) for step in chain.steps}

    def type_of(end: End, seen: frozenset[str], *, is_source: bool) -> str:
        if end.step is None:
            ports = description.inputs if is_source else description.outputs
            return next((port.shown_type for port in ports if port.name == end.port), "")
        dfn = dfns[end.step]
        types = {} if dfn is None else dfn.outputs if is_source else dfn.inputs
        name = "" if dfn is None else catalogue.port(dfn.name, end.port, is_source=is_source)
        type_name = types.get(name, "")
        if not type_name.startswith(ANY) or dfn is None or end.step in seen:
            return type_name
        alike = {port for port, kind in dfn.inputs.items() if kind == type_name}
        others = (each for each in chain.connections if each is not connection and each.target.step == end.step)
        fed = (type_of(each.source, seen | {end.step}, is_source=True) for each in others if each.target.port in alike)
        return next((kind for kind in fed if kind and not kind.startswith(ANY)), type_name)

    none: frozenset[str] = frozenset()
    return type_of(connection.source, none, is_source=True), type_of(connection.target, none, is_source=False)


def port_type_issues(description: Description, catalogue: Catalogue) -> Iterator[tuple[int, str, str]]:
    """Yield the ports whose type is unknown, or not one that a DFPC may have: line, kind of issue, message."""
    inner = {_plain(name) for name in catalogue.types.get("infuse", ())}
    names = [name for own in catalogue.types.values() for name in own]
    names += [kind for dfn in catalogue.dfns.values() for kind in (*dfn.inputs.values(), *dfn.outputs.values())]
    known = {_plain(name) for name in names}
    for side, ports in (("input", description.inputs), ("output", description.outputs)):
        for port in (port for port in ports if port.type and not port.type.startswith(ANY)):
            plain = _plain(port.type)
            if description.kind == DFPC and plain in inner:
                message = f"the {side} {port.name} is {port.shown_type}, a type of InFuse, which does not leave a DFPC"
                yield port.line, "forbidden_type", message
            elif plain not in known:
                near = closest_name(port.shown_type, names, cutoff=0.8)
                hint = f": did you mean {near}?" if near else ""
                yield port.line, "unknown_type", f"the {side} {port.name} has the unknown type {port.type}{hint}"


def port_label(end: End) -> str:
    """Name a port together with its step."""
    return f"{end.step}.{end.port}" if end.step else end.port


def _plain(text: str) -> str:
    """A type without what spellings add: /base/samples/RigidBodyState_m is asn1SccRigidBodyState, float is double."""
    own = MARSHALLED.sub("", re.split(r"/|::", PLAIN.sub("", text.removeprefix(PREFIX)))[-1])
    plain = ASN1.sub("", NO_LETTER.sub("", own).casefold())
    return SPELLINGS.get(plain, plain)
