"""Descriptions from YAML: DFNs, and DFPCs of both forms.

What is wrong is reported with its line, and mended where it is clear what was meant.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from fieldplay.core.errors import ArchiveError, Report
from fieldplay_cdff.descriptors.implementations import (
    CHAIN,
    chain_of_value,
    chain_with_unlisted,
    end_of,
    unique_steps,
)
from fieldplay_cdff.descriptors.lines import (
    Fields,
    YamlReader,
    YamlValue,
    items_of,
    text_of,
)
from fieldplay_cdff.descriptors.model import (
    DFN,
    DFPC,
    PREFIX,
    Connection,
    Description,
    End,
    Operation,
    Port,
    ProcessingChain,
    ProductMark,
    Step,
)

LARGEST = 4 << 20
TOP = ("name", "doc", "dfns", "input_ports", "output_ports", "operations", "implementations")
PORT = ("name", "type", "doc")
FURTHER = ("topic",)  # of runnable descriptions
FURTHER_OF_PORT = {"input": ("policy",), "output": ("frame", "child", "product")}
PRODUCT = ("kind", "period")
OPERATION = ("name", "doc", "output_type", "inputs")
ENDS = ("input", "output")
NOWHERE = End("NoDfn", "noPort")  # stands in published files for no connection
MISSPELLED = "asnlScc"  # with the letter l


def description_of_file(path: Path, report: Report) -> Description:
    """The description in a file; ArchiveError where it is none at all."""
    with path.open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ArchiveError(f"{path.name}: expected a description of {LARGEST} bytes at most")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ArchiveError(f"{path.name}: expected text in UTF-8: {error}") from None
    return description_of_text(path.name, text, report)


def description_of_text(file: str, text: str, report: Report) -> Description:
    """The description in a text; `file` is for what is told."""
    reader = YamlReader(file, text, report)
    content = reader.content()
    fields = (
        content.fields("the description", TOP, mandatory=("name", "doc"), further=FURTHER) if content.is_map else {}
    )
    if not fields.keys() & {"input_ports", "output_ports", "dfns", "implementations"}:
        raise ArchiveError(f"{file}: expected a description with name, doc and ports, got {content.form}")
    return _description(reader, fields)


def _description(reader: YamlReader, top: Fields) -> Description:
    outer = {end: items_of(top, f"{end}_ports") for end in ENDS}
    implementations = items_of(top, "implementations")
    has_outer = "dfns" in top or any(port.has("connections") for ports in outer.values() for port in ports)
    has_inner = any(each.has(*CHAIN[1:]) for each in implementations)
    is_second = has_inner or ("operations" in top and not has_outer)
    is_chain = is_second or has_outer or any(each.is_map for each in implementations)
    if has_inner and has_outer:
        message = "connections stand in the implementations (form 2) and beside the ports or in dfns (form 1) too"
        reader.complain(implementations[0].line, "mixed_forms", f"{message}; those in the implementations count")
    ports, connections = _ports(outer, with_connections=not has_inner)
    chains = [chain_of_value(value) for value in implementations] or [ProcessingChain(name=text_of(top, "name"))]
    _report_double_names(reader, chains)
    if not is_second:
        chains = [_chain_of_form_1(top, chain, connections) for chain in chains[:1]] + chains[1:]
        chains = [_like(chains[0], chain) for chain in chains]
    return Description(
        kind=DFPC if is_chain else DFN,
        form=2 if is_second else 1,
        name=text_of(top, "name"),
        doc=text_of(top, "doc"),
        inputs=ports["input"],
        outputs=ports["output"],
        operations=tuple(_operation(value) for value in items_of(top, "operations")),
        chains=tuple(chains),
        topic=text_of(top, "topic"),
    )


def _report_double_names(reader: YamlReader, chains: list[ProcessingChain]) -> None:
    for name, count in Counter(chain.name for chain in chains).items():
        if count > 1:
            line = [chain.line for chain in chains if chain.name == name][1]
            reader.complain(line, "double_name", f"{count} implementations are called {name}; the first is drawn")


def _ports(
    outer: dict[str, list[YamlValue]], *, with_connections: bool
) -> tuple[dict[str, tuple[Port, ...]], list[Connection]]:
    """The ports of both ends, and the connections that stand beside them."""
    ports: dict[str, dict[str, Port]] = {end: {} for end in ENDS}
    connections: list[Connection] = []
    for end, values in outer.items():
        for value in values:
            fields = value.fields(
                f"an {end} port", (*PORT, "connections"), mandatory=PORT, further=FURTHER_OF_PORT[end]
            )
            port = _port(value, fields)
            if port.name in ports[end]:
                value.reader.complain(port.line, "double_name", f"another {end} port is called {port.name} too")
            ports[end].setdefault(port.name, port)
            if with_connections:
                connections += _connections_of_port(end, port.name, items_of(fields, "connections"))
    return {end: tuple(found.values()) for end, found in ports.items()}, connections


def _port(value: YamlValue, fields: Fields) -> Port:
    port_type = text_of(fields, "type")
    if port_type.startswith(MISSPELLED):
        usual = PREFIX + port_type.removeprefix(MISSPELLED)
        value.reader.complain(value.line, "misspelled_type", f"{port_type} has the letter l in place of 1: {usual}")
        port_type = usual
    return Port(
        name=text_of(fields, "name"),
        type=port_type,
        doc=text_of(fields, "doc"),
        line=value.line,
        policy=text_of(fields, "policy"),
        frame=text_of(fields, "frame"),
        child=text_of(fields, "child"),
        product=_product(fields),
    )


def _product(fields: Fields) -> ProductMark | None:
    """How an output is kept: its kind alone, or a map."""
    if "product" not in fields:
        return None
    value = fields["product"]
    if not value.is_map:
        return ProductMark(kind=text_of(fields, "product"))
    own = value.fields("a product", PRODUCT, mandatory=("kind",))
    return ProductMark(kind=text_of(own, "kind"), period=text_of(own, "period"))


def _connections_of_port(end: str, name: str, values: list[YamlValue]) -> Iterator[Connection]:
    for value in values:
        fields = value.fields("a connection", ("dfn", "port"), mandatory=("dfn", "port"))
        inner, outer = end_of(fields, "dfn"), End(None, name)
        if inner == NOWHERE:
            message = f"port {name} is connected to NoDfn, which is no DFN: a port without connections has none"
            value.reader.complain(value.line, "no_connection", message)
        elif all(inner):
            source, target = (outer, inner) if end == "input" else (inner, outer)
            yield Connection(source=source, target=target, line=value.line)


def _chain_of_form_1(top: Fields, chain: ProcessingChain, connections: list[Connection]) -> ProcessingChain:
    steps = []
    for value in items_of(top, "dfns"):
        name = text_of(value.fields("a DFN", ("name",), mandatory=("name",)), "name")
        steps += [Step(id=name, dfn=name, line=value.line)] if name else []
    return chain_with_unlisted(
        ProcessingChain(name=chain.name, steps=unique_steps(steps), connections=tuple(connections), line=chain.line)
    )


def _like(first: ProcessingChain, chain: ProcessingChain) -> ProcessingChain:
    """Form 1 does not say in what its implementations differ."""
    return ProcessingChain(name=chain.name, steps=first.steps, connections=first.connections, line=chain.line)


def _operation(value: YamlValue) -> Operation:
    fields = value.fields("an operation", OPERATION, mandatory=("name", "doc"))
    inputs = []
    for item in items_of(fields, "inputs"):
        own = item.fields("an input of an operation", PORT, mandatory=("name", "type"))
        inputs.append(Port(name=text_of(own, "name"), type=text_of(own, "type"), line=item.line))
    output = text_of(fields, "output_type") or "void"
    return Operation(name=text_of(fields, "name"), doc=text_of(fields, "doc"), output_type=output, inputs=tuple(inputs))
