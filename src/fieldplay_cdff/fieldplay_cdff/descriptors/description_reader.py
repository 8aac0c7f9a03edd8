"""Descriptions from YAML: DFNs, and DFPCs of both forms.

Issues are reported with their line, and repaired where the intention is clear.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from fieldplay.core.errors import (
    ArchiveError,
    Defect,
    Report,
    closest_name,
)
from fieldplay.core.yaml_safe import (
    DEEPEST,
    ERRORS,
    require_shallow,
    require_small,
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

TAB_WIDTH = 8
GENERAL = "GeneralParameters"
RESETS = ("jump", "never")  # on which a step that keeps state forgets it
ON_INPUT, AT_FREQUENCY = "input_triggered", "frequency"
CHAIN = ("name", "dfns", "input_connections", "internal_connections", "output_connections")
STEP = ("dfn_id", "name", "implementation", "activation")
FURTHER_OF_CHAIN = ("parameters", "steps_of", "note")  # of runnable ones, as those of steps
FURTHER_OF_STEP = ("parameters", "constants", "like", "optional", "dfpc", "state")
LARGEST = 4 << 20
TOP = ("name", "doc", "dfns", "input_ports", "output_ports", "operations", "implementations")
PORT = ("name", "type", "doc")
FURTHER = ("topic",)  # of runnable descriptions
FURTHER_OF_PORT = {"input": ("policy",), "output": ("frame", "child", "product")}
PRODUCT = ("kind", "period")
OPERATION = ("name", "doc", "output_type", "inputs")
CONNECTION_ENDS = ("input", "output")
NOWHERE = End("NoDfn", "noPort")  # in published files: no connection
MISSPELLED = "asnlScc"  # with the letter l


# YAML with line numbers, so that an issue can be reported with its position.


Fields = Mapping[str, "YamlValue"]


class YamlValue(NamedTuple):
    """Something in a YAML file, and the reader that knows the file."""

    node: yaml.Node
    reader: "YamlReader"

    @property
    def line(self) -> int:
        return int(self.node.start_mark.line) + 1

    def text(self, what: str) -> str:
        """A single value as text; reported and empty where there is something else."""
        if isinstance(self.node, yaml.ScalarNode):
            is_nothing = self.node.tag == "tag:yaml.org,2002:null"
            return "" if is_nothing else " ".join(str(self.node.value).split())
        self.reader.complain(self.line, "wrong_form", f"expected {what} as a text, got {self.form}")
        return ""

    def items(self, what: str) -> list["YamlValue"]:
        """The items of a list; nothing counts as an empty one."""
        if isinstance(self.node, yaml.SequenceNode):
            return [YamlValue(node, self.reader) for node in self.node.value]
        if not self.is_nothing:
            self.reader.complain(self.line, "wrong_form", f"expected {what} as a list, got {self.form}")
        return []

    def fields(
        self, what: str, known: Sequence[str], mandatory: Collection[str] = (), *, further: Collection[str] = ()
    ) -> Fields:
        """The fields of a map by their names; those that are not known, missing or there twice are reported.

        `further` ones are taken too, but are not what others should have written.
        """
        if not isinstance(self.node, yaml.MappingNode):
            expected = f"expected {what} with {_join_names(known)}"
            self.reader.complain(self.line, "wrong_form", f"{expected}, got {self.form}")
            return {}
        values: dict[str, YamlValue] = {}
        for name, line, value in self._pairs():
            usual = name if name in further else self._usual_name(name, line, what, known=known)
            if usual in values:
                self.reader.complain(line, "double_field", f"{what} has two fields {usual}; the first counts")
            elif usual:
                values[usual] = value
        for name in mandatory:
            if name not in values or values[name].is_nothing:
                self.reader.complain(self.line, "missing_field", f"{what} has no {name}, which it must have")
        return values

    def plain(self) -> Any:
        """All of it as Python's own values."""
        try:
            return yaml.constructor.SafeConstructor().construct_document(self.node)
        except (yaml.YAMLError, *ERRORS) as error:
            message = " ".join(str(error).split())
            self.reader.complain(
                self.line, "wrong_form", f"expected values, got one that is none of its type: {message}"
            )
            return None

    def _pairs(self) -> Iterator[tuple[str, int, "YamlValue"]]:
        """Names of fields, their lines and values."""
        for key, node in self.node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else "of many parts"
            yield name, int(key.start_mark.line) + 1, YamlValue(node, self.reader)

    def _usual_name(self, name: str, line: int, what: str, *, known: Sequence[str]) -> str:
        """The field that is meant; "" for none."""
        if name in known:
            return name
        meant = closest_name(name, known)
        unknown = f"{what} has a field '{name}', expected {_join_names(known)}"
        self.reader.complain(line, "unknown_field", unknown + (f"; taken as {meant}" if meant else ""))
        return meant

    @property
    def is_map(self) -> bool:
        return isinstance(self.node, yaml.MappingNode)

    def has(self, *names: str) -> bool:
        """Whether it is a map with one of these fields."""
        return self.is_map and any(name in names for name, _, _ in self._pairs())

    @property
    def is_nothing(self) -> bool:
        return isinstance(self.node, yaml.ScalarNode) and self.node.tag == "tag:yaml.org,2002:null"

    @property
    def form(self) -> str:
        """A description of the value for a message."""
        if isinstance(self.node, yaml.MappingNode):
            return "a map"
        if isinstance(self.node, yaml.SequenceNode):
            return "a list"
        return f"'{self.node.value}'" if self.node.value else "nothing"


class YamlReader:
    """The content of a YAML file, and the callback to which its issues are reported."""

    def __init__(self, file: str, text: str, report: Report) -> None:
        self.file, self._text, self._report = file, text, report

    def complain(self, line: int, kind: str, message: str) -> None:
        self._report(Defect(file=self.file, row=line, kind=kind, message=message))

    def content(self) -> YamlValue:
        """The complete content, with tabs as spaces where YAML does not allow tabs; ArchiveError if all fails."""
        try:
            node = self._compose(self._text)
        except yaml.MarkedYAMLError as error:
            rows = [row for row, line in enumerate(self._text.splitlines(), 1) if "\t" in _indent(line)]
            if not rows:
                raise ArchiveError(self._yaml_error(error)) from None
            for row in rows:
                self.complain(row, "tab", "a tab stands before the text, where YAML allows spaces alone; taken as such")
            node = self._compose_without_tabs()
        except yaml.YAMLError as error:
            raise ArchiveError(f"{self.file}: expected YAML: {error}") from None
        if node is None:
            raise ArchiveError(f"{self.file}: expected a description, got an empty file")
        try:
            require_small(node)
        except yaml.YAMLError as error:
            raise ArchiveError(f"{self.file}: {error}") from None
        return YamlValue(node, self)

    def _compose_without_tabs(self) -> yaml.Node | None:
        try:
            return self._compose(self._text.expandtabs(TAB_WIDTH))
        except yaml.MarkedYAMLError as error:
            raise ArchiveError(self._yaml_error(error)) from None
        except yaml.YAMLError as error:
            raise ArchiveError(f"{self.file}: expected YAML: {error}") from None

    def _compose(self, text: str) -> yaml.Node | None:
        with suppress(yaml.MarkedYAMLError):  # reported below by the parser, which has more details
            require_shallow(text, sure=DEEPEST)
        try:
            node: yaml.Node | None = yaml.compose(text, yaml.SafeLoader)
        except RecursionError:
            raise ArchiveError(f"{self.file}: expected a description, got one that is nested too deep") from None
        return node

    def _yaml_error(self, error: yaml.MarkedYAMLError) -> str:
        mark = error.problem_mark or error.context_mark
        location = f"{self.file}:{mark.line + 1}" if mark else self.file
        return f"{location}: expected YAML: {error.problem or error.context}"


def text_of(fields: Fields, name: str) -> str:
    """A field as text, empty where there is none."""
    return fields[name].text(f"the {name}") if name in fields else ""


def items_of(fields: Fields, name: str) -> list[YamlValue]:
    """The items of a field that is a list, none where there is no such field."""
    return fields[name].items(name) if name in fields else []


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _join_names(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


# The implementations of a description of form 2: their processing steps, when these run, how they are connected.


def chain_of_value(value: YamlValue) -> ProcessingChain:
    """An implementation; of a DFN it is a name alone."""
    if not value.is_map:
        return ProcessingChain(name=value.text("an implementation"), line=value.line)
    fields = value.fields("an implementation", CHAIN, mandatory=("name",), further=FURTHER_OF_CHAIN)
    steps = [step for step in map(_step, items_of(fields, "dfns")) if step.id]
    for name, count in Counter(step.id for step in steps).items():
        if count > 1:
            line = [step.line for step in steps if step.id == name][1]
            value.reader.complain(line, "double_id", f"{count} DFNs have the dfn_id {name}: it must be unique")
    connections = (*_outer_connections(fields, "input"), *_inner_connections(fields))
    return chain_with_unlisted(
        ProcessingChain(
            name=text_of(fields, "name"),
            steps=unique_steps(steps),
            connections=(*connections, *_outer_connections(fields, "output")),
            line=value.line,
            parameters=groups_of(fields),
            steps_of=text_of(fields, "steps_of"),
            note=text_of(fields, "note"),
        )
    )


def unique_steps(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Of steps with one name the first."""
    return tuple({step.id: step for step in reversed(steps)}.values())[::-1]


def chain_with_unlisted(chain: ProcessingChain) -> ProcessingChain:
    """The chain, and the steps that it only connects to: these are drawn too, and reported when all is checked."""
    known = {step.id for step in chain.steps}
    lines: dict[str, int] = {}
    for connection in chain.connections:
        for name in (connection.source.step, connection.target.step):
            if name and name not in known:
                lines.setdefault(name, connection.line)
    unlisted = (Step(id=name, dfn=name, line=line, is_listed=False) for name, line in lines.items())
    return replace(chain, steps=(*chain.steps, *unlisted))


def end_of(fields: Fields, name: str) -> End:
    """The end of a connection at a step."""
    return End(text_of(fields, name), text_of(fields, "port"))


def _step(value: YamlValue) -> Step:
    is_dfpc = value.has("dfpc")
    mandatory = ("dfn_id", "dfpc" if is_dfpc else "name")
    fields = value.fields("a DFN", STEP, mandatory=mandatory, further=FURTHER_OF_STEP)
    name = text_of(fields, mandatory[1])
    return Step(
        id=text_of(fields, "dfn_id") or name,
        dfn=name,
        implementation=text_of(fields, "implementation"),
        activation=_activation(fields["activation"]) if "activation" in fields else ("", ""),
        line=value.line,
        parameters=groups_of(fields),
        constants=_map_of(fields, "constants"),
        like=text_of(fields, "like"),
        is_optional=text_of(fields, "optional").lower() == "true",
        is_dfpc=is_dfpc,
        reset_on=_reset_on(fields["state"]) if "state" in fields else "",
    )


def groups_of(fields: Fields) -> Mapping[str, Mapping[str, Any]]:
    """Parameters by group and name; those without a group are of the general one."""
    plain = _map_of(fields, "parameters")
    groups = {str(name): dict(own) for name, own in plain.items() if isinstance(own, dict)}
    flat = {str(name): own for name, own in plain.items() if not isinstance(own, dict)}
    return {**groups, **({GENERAL: {**flat, **groups.get(GENERAL, {})}} if flat else {})}


def _map_of(fields: Fields, name: str) -> dict[str, Any]:
    """A field that is a map, as Python's own values; empty where there is none."""
    value = fields.get(name)
    plain = None if value is None or value.is_nothing else value.plain()
    if plain is not None and not isinstance(plain, dict) and value is not None:
        value.reader.complain(value.line, "wrong_form", f"expected {name} as a map, got {value.form}")
    return {str(key): own for key, own in plain.items()} if isinstance(plain, dict) else {}


def _reset_on(value: YamlValue) -> str:
    when = text_of(value.fields("a state", ("reset",), mandatory=("reset",)), "reset")
    if when not in ("", *RESETS):
        value.reader.complain(value.line, "wrong_state", f"reset '{when}': expected {' or '.join(RESETS)}")
    return when


def _activation(value: YamlValue) -> tuple[str, str]:
    fields = value.fields("an activation", ("type", "value"), mandatory=("type", "value"))
    kind, when = text_of(fields, "type"), text_of(fields, "value")
    if kind == AT_FREQUENCY and not _is_positive(when):
        value.reader.complain(value.line, "wrong_activation", f"expected a frequency in Hz, got '{when}'")
    elif kind and kind not in (ON_INPUT, AT_FREQUENCY):
        message = f"activation '{kind}': expected {ON_INPUT} or {AT_FREQUENCY}"
        value.reader.complain(value.line, "wrong_activation", message)
    return kind, when


def _outer_connections(fields: Fields, end: str) -> Iterator[Connection]:
    """The connections of the chain's own inputs or outputs."""
    outer = f"dfpc_{end}"
    needed = (outer, "dfn_id", "port")
    for value in items_of(fields, f"{end}_connections"):
        own = value.fields(f"an {end} connection", needed, mandatory=needed)
        if all(text_of(own, name) for name in needed):
            connection = End(None, text_of(own, outer)), end_of(own, "dfn_id")
            source, target = connection if end == "input" else connection[::-1]
            yield Connection(source=source, target=target, line=value.line)


def _inner_connections(fields: Fields) -> Iterator[Connection]:
    for value in items_of(fields, "internal_connections"):
        both = value.fields("an internal connection", ("from", "to"), mandatory=("from", "to"))
        connection = []
        for name in both:
            own = both[name].fields(f"'{name}' of a connection", ("dfn_id", "port"), mandatory=("dfn_id", "port"))
            end = end_of(own, "dfn_id")
            connection += [(name, end)] if all(end) else []
        by_name = dict(connection)
        if len(by_name) == 2:  # otherwise `fields` has reported what is missing
            yield Connection(source=by_name["from"], target=by_name["to"], line=value.line)


def _is_positive(text: str) -> bool:
    try:
        return 0 < float(text) < float("inf")
    except ValueError:
        return False


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
    """Parse the description in a text; `file` is its name in messages."""
    reader = YamlReader(file, text, report)
    content = reader.content()
    fields = (
        content.fields("the description", TOP, mandatory=("name", "doc"), further=FURTHER) if content.is_map else {}
    )
    if not fields.keys() & {"input_ports", "output_ports", "dfns", "implementations"}:
        raise ArchiveError(f"{file}: expected a description with name, doc and ports, got {content.form}")
    return _description(reader, fields)


def _description(reader: YamlReader, top: Fields) -> Description:
    outer = {end: items_of(top, f"{end}_ports") for end in CONNECTION_ENDS}
    implementations = items_of(top, "implementations")
    has_outer = "dfns" in top or any(port.has("connections") for ports in outer.values() for port in ports)
    has_inner = any(each.has(*CHAIN[1:]) for each in implementations)
    is_second = has_inner or ("operations" in top and not has_outer)
    is_chain = is_second or has_outer or any(each.is_map for each in implementations)
    if has_inner and has_outer:
        message = "connections stand in the implementations (form 2) and next to the ports or in dfns (form 1) too"
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
    """The ports of both ends, and the connections next to them."""
    ports: dict[str, dict[str, Port]] = {end: {} for end in CONNECTION_ENDS}
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
    return {end: tuple(by_name.values()) for end, by_name in ports.items()}, connections


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
    """Parse the product options of an output: its kind alone, or a map."""
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
    """Form 1 does not define how its implementations differ."""
    return ProcessingChain(name=chain.name, steps=first.steps, connections=first.connections, line=chain.line)


def _operation(value: YamlValue) -> Operation:
    fields = value.fields("an operation", OPERATION, mandatory=("name", "doc"))
    inputs = []
    for item in items_of(fields, "inputs"):
        own = item.fields("an input of an operation", PORT, mandatory=("name", "type"))
        inputs.append(Port(name=text_of(own, "name"), type=text_of(own, "type"), line=item.line))
    output = text_of(fields, "output_type") or "void"
    return Operation(name=text_of(fields, "name"), doc=text_of(fields, "doc"), output_type=output, inputs=tuple(inputs))
