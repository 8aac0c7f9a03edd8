"""Issues of a description beyond its form: unknown names of steps, ports and implementations."""

from collections import Counter
from collections.abc import Collection, Iterator

from fieldplay.core.errors import Defect, Report, closest_name
from fieldplay_cdff.descriptors.description_reader import ON_INPUT
from fieldplay_cdff.descriptors.model import (
    DFPC,
    TYPES_DIFFER,
    Catalogue,
    Connection,
    Description,
    Dfn,
    End,
    ProcessingChain,
    Step,
    port_label,
    port_type_issues,
    type_issues,
)

NEAR = 0.75  # as difflib measures
PREFIXES = ("in", "out")  # of ports' names in early versions

LineIssue = tuple[int, str, str]  # line, kind, message


def check_description(file: str, description: Description, catalogue: Catalogue, *, report: Report) -> None:
    """Report what does not fit the catalogue, or itself; each thing once, though several implementations have it."""
    for line, kind, message in port_type_issues(description, catalogue):
        report(Defect(file=file, row=line or None, kind=kind, message=message))
    if description.kind != DFPC:
        return
    issues = dict.fromkeys(
        each for chain in description.chains for each in _chain_issues(description, chain, catalogue)
    )
    for line, kind, message in sorted(issues):
        report(Defect(file=file, row=line or None, kind=kind, message=message))


def _chain_issues(description: Description, chain: ProcessingChain, catalogue: Catalogue) -> Iterator[LineIssue]:
    steps = {step.id: step for step in chain.steps}
    listed = [step.id for step in chain.steps if step.is_listed]
    for step in chain.steps:
        yield from _step_issues(step, listed, catalogue, is_named=description.form == 2)
    for connection in chain.connections:
        yield from _end_issues(description, steps, connection, catalogue=catalogue, is_source=True)
        yield from _end_issues(description, steps, connection, catalogue=catalogue, is_source=False)
    for (source, target), count in Counter((each.source, each.target) for each in chain.connections).items():
        if count > 1:
            line = [each.line for each in chain.connections if (each.source, each.target) == (source, target)][1]
            yield line, "double_connection", f"{port_label(source)} is connected to {port_label(target)} {count} times"
    for connection, message in type_issues(description, chain, catalogue):
        yield connection.line, TYPES_DIFFER, message
    if chain.connections:
        yield from _unconnected_ports(description, chain)


def _step_issues(step: Step, listed: Collection[str], catalogue: Catalogue, *, is_named: bool) -> Iterator[LineIssue]:
    """Yield the issues of one step; a step that is not listed has no known types."""
    if not step.is_listed:
        there = f"; listed are {', '.join(listed)}" if listed else ", and there is no list of them"
        yield (
            step.line,
            "unlisted_dfn",
            f"a connection to {step.id}, which is not listed{_hint(step.id, listed)}{there}",
        )
        if is_named:
            return
    known = catalogue.dfns.get(step.dfn)
    if known is None:
        meant = catalogue.meant(step.dfn)
        by = f", an implementation of {meant.name}" if meant and step.dfn in meant.implementations else ""
        hint = f": did you mean {meant.name}?" if meant and not by else ""
        yield step.line, "unknown_dfn", f"{step.dfn}{by} is no published DFN{hint}"
    elif step.implementation and not _is_done_by(step.implementation, known, catalogue):
        names = known.implementations
        hint = _hint(step.implementation, names) or f"; published are {', '.join(names)}"
        yield step.line, "unknown_implementation", f"{step.dfn} has no implementation {step.implementation}{hint}"
    if (
        known
        and step.activation[0] == ON_INPUT
        and catalogue.port(known.name, step.activation[1], is_source=False) not in known.inputs
    ):
        message = _no_port(step.activation[1], f"{step.dfn} ({step.id})", known.inputs, side="input")
        yield step.line, "unknown_port", f"activation: {message}"


def _is_done_by(implementation: str, dfn: Dfn, catalogue: Catalogue) -> bool:
    return {implementation, catalogue.implementation_aliases.get(implementation)} & {*dfn.implementations} != set()


def _end_issues(
    description: Description, steps: dict[str, Step], connection: Connection, *, catalogue: Catalogue, is_source: bool
) -> Iterator[LineIssue]:
    end = connection.source if is_source else connection.target
    if end.step is None:
        side = "input" if is_source else "output"
        names = [port.name for port in (description.inputs if is_source else description.outputs)]
        owner = description.name
    else:
        side = "output" if is_source else "input"
        dfn = catalogue.meant(steps[end.step].dfn)
        if dfn is None:
            return
        names = list(dfn.outputs if is_source else dfn.inputs)
        owner = dfn.name if end.step == dfn.name else f"{dfn.name} ({end.step})"
        names += [name for name in (end.port,) if catalogue.port(dfn.name, name, is_source=is_source) in names]
    if end.port not in names:
        yield connection.line, "unknown_port", _no_port(end.port, owner, names, side=side)


def _no_port(name: str, owner: str, names: Collection[str], *, side: str) -> str:
    there = f"; it has {', '.join(names)}" if names else f"; it has no {side}s"
    return f"{owner} has no {side} {name}{_port_hint(name, names) or there}"


def _port_hint(name: str, names: Collection[str]) -> str:
    """Suggestions for a name; ports of early versions start with in and out, as inPose."""
    bare = [each for each in names if name.lower() in (f"{prefix}{each}".lower() for prefix in PREFIXES)]
    return f": did you mean {bare[0]}?" if bare else _hint(name, names)


def _hint(name: str, names: Collection[str]) -> str:
    meant = closest_name(name, names, cutoff=NEAR) if name else ""
    return f": did you mean {meant}?" if meant else ""


def _unconnected_ports(description: Description, chain: ProcessingChain) -> Iterator[LineIssue]:
    used = {end for each in chain.connections for end in (each.source, each.target)}
    for side, ports in (("input", description.inputs), ("output", description.outputs)):
        for port in ports:
            if End(None, port.name) not in used:
                where = f" in {chain.name}" if description.form == 2 else ""
                yield port.line, "unconnected_port", f"the {side} {port.name} is not connected{where}"
