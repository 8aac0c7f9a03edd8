"""The implementations of a description of form 2: their processing steps, when these run, how they are connected."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fieldplay_cdff.descriptors.lines import (
    Fields,
    YamlValue,
    items_of,
    text_of,
)
from fieldplay_cdff.descriptors.model import (
    Connection,
    End,
    ProcessingChain,
    Step,
)

GENERAL = "GeneralParameters"
RESETS = ("jump", "never")  # on which a step that keeps state forgets it
ON_INPUT, AT_FREQUENCY = "input_triggered", "frequency"
CHAIN = ("name", "dfns", "input_connections", "internal_connections", "output_connections")
STEP = ("dfn_id", "name", "implementation", "activation")
FURTHER_OF_CHAIN = ("parameters",)  # of runnable ones, as those of steps
FURTHER_OF_STEP = ("parameters", "constants", "like", "optional", "dfpc", "state")


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
            ends = End(None, text_of(own, outer)), end_of(own, "dfn_id")
            source, target = ends if end == "input" else ends[::-1]
            yield Connection(source=source, target=target, line=value.line)


def _inner_connections(fields: Fields) -> Iterator[Connection]:
    for value in items_of(fields, "internal_connections"):
        both = value.fields("an internal connection", ("from", "to"), mandatory=("from", "to"))
        ends = []
        for name in both:
            own = both[name].fields(f"'{name}' of a connection", ("dfn_id", "port"), mandatory=("dfn_id", "port"))
            end = end_of(own, "dfn_id")
            ends += [(name, end)] if all(end) else []
        found = dict(ends)
        if len(found) == 2:  # of another it is told what is missing
            yield Connection(source=found["from"], target=found["to"], line=value.line)


def _is_positive(text: str) -> bool:
    try:
        return 0 < float(text) < float("inf")
    except ValueError:
        return False
