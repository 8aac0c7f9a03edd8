"""What a description says: ports, processing steps, and the chains that an implementation makes of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

DFN, DFPC = "DFN", "DFPC"
PREFIX = "asn1Scc"


@dataclass(frozen=True, kw_only=True)
class ProductMark:
    """An output that is kept: as what kind, and at most once in so many seconds."""

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
    """A processing step in a chain: its name there, which DFN it is, who does it, and when (the kind, and on what).

    Of a runnable chain: what is set, by group and name, inputs that are always the same, the step that it is set like,
    whether it may be left out, on what it forgets all. The step may be a whole chain, `dfpc`.
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


@dataclass(frozen=True, kw_only=True)
class ProcessingChain:
    """The steps of an implementation, and how they are connected.

    `parameters` are those of the chain itself, by group and name: the parameters of its steps that they set.
    """

    name: str
    steps: tuple[Step, ...] = ()
    connections: tuple[Connection, ...] = ()
    line: int = 0
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """What a chain can be asked for from outside."""

    name: str
    doc: str = ""
    output_type: str = "void"
    inputs: tuple[Port, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Description:
    """A DFN, or a DFPC of form 1 (connections beside the ports) or 2 (connections in the implementations).

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
    topic: str = ""  # below which the outputs of a runnable chain stand
