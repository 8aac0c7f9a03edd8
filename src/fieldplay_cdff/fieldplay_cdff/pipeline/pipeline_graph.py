"""A chain that can be run: all in it checked before anything runs, its steps in the order in which they do."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

from fieldplay.core.errors import Defect, UsageError, closest_name
from fieldplay_cdff.descriptors.description_reader import AT_FREQUENCY, ON_INPUT
from fieldplay_cdff.descriptors.model import (
    Catalogue,
    Description,
    Dfn,
    End,
    ProcessingChain,
    ProductMark,
    known_catalogue,
    port_label,
)
from fieldplay_cdff.descriptors.model import Step as StepInChain
from fieldplay_cdff.pipeline.chains import (
    Source,
    flat_chain,
    raise_issues,
    topic_of,
)
from fieldplay_cdff.pipeline.configuration import CHAIN, PUBLISHED, Configuration, merge_groups
from fieldplay_cdff.pipeline.configuration_files import other_names
from fieldplay_cdff.steps.step import (
    ParameterGroups,
    Step,
    published_groups,
    settings_of,
    step_of,
    steps,
)

PAIR, HOLD, EACH = "pair", "hold", "each"
SCENE, CAMERA = "scene", "camera"  # frames of poses
POLICIES = (PAIR, HOLD, EACH)
KIND, PERIOD = re.compile(r"[a-z][a-z0-9_]*"), re.compile(r"\d+(\.\d*)?")
POSES = ("Pose", "TransformWithCovariance", "RigidBodyState")


@dataclass(frozen=True, kw_only=True)
class GraphNode:
    """A step in its graph: its kind and parameters, the sources of its inputs, and when it runs.

    It runs on one of its inputs where `trigger` names that, `hz` times a second where this is above 0, else when all
    its inputs are there.
    """

    id: str
    kind: type[Step]
    parameters: ParameterGroups
    inputs: Mapping[str, End]
    constants: Mapping[str, Any] = field(default_factory=dict)
    location: str = ""  # its location, for messages
    trigger: str = ""
    hz: float = 0.0
    reset_on: str = ""

    @property
    def mandatory(self) -> list[str]:
        """Inputs without which it does not run."""
        return [port for port in self.inputs if port not in self.kind.optional]


@dataclass(frozen=True, kw_only=True)
class InputPort:
    """An input of the chain: its type, and whether it is paired with others, held, or processed alone."""

    type: str
    policy: str = PAIR


class PosedBody(NamedTuple):
    """Whose pose an output is, and whether in the camera's frame; in that of the scene otherwise."""

    name: str
    is_in_camera: bool


@dataclass(frozen=True, kw_only=True)
class RunnableGraph:
    """A chain that can be run: its nodes level by level, where those of one level do not need each other."""

    name: str
    implementation: str
    doc: str
    topic: str
    inputs: Mapping[str, InputPort]
    outputs: Mapping[str, str]
    sources: Mapping[str, End]  # of the outputs
    bodies: Mapping[str, PosedBody]  # of outputs that are poses of something else than the camera in the scene
    levels: Sequence[Sequence[GraphNode]]
    products: Mapping[str, ProductMark] = field(default_factory=dict)  # outputs that are kept
    notes: tuple[str, ...] = ()  # how the configuration was interpreted, and which implementations are replaced

    @property
    def nodes(self) -> list[GraphNode]:
        return [node for level in self.levels for node in level]

    @property
    def digest(self) -> str:
        """Of all that is set in its steps: equal where these are, 16 hexadecimal digits."""
        steps = [
            (node.id, node.kind.dfn, node.kind.implementation, node.parameters, node.constants, node.trigger, node.hz)
            for node in self.nodes
        ]
        text = json.dumps(steps, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def graph_of(source: Source, implementation: str | None, configuration: Configuration) -> RunnableGraph:
    """Return the runnable graph of a description; UsageError lists what cannot be run, with lines."""
    description, file = source.description, source.file.name
    named = implementation or configuration.implementations.get(CHAIN)
    set_steps = {*configuration.settings, *configuration.implementations} - {CHAIN, description.name}
    chain = flat_chain(source, named, configuration.implementations, set_steps)
    chain = _usual(chain, known_catalogue())
    own_note = f"{chain.name}: {chain.note}" if chain.note else ""
    stand_ins = [known_catalogue().stand_in_note(step.id, step.implementation) for step in chain.steps]
    configuration = _for_chain(configuration.with_published_names(), source, chain)
    _require_steps(chain, configuration)
    chain = _without_optional(_configure_chain(chain, configuration), configuration, known_catalogue())
    issues = [
        Defect(file=file, row=line or None, kind="not_runnable", message=message)
        for line, message in _chain_issues(description, chain, known_catalogue())
    ]
    raise_issues(issues)
    nodes = [_node(file, step, chain, configuration) for step in chain.steps]
    return RunnableGraph(
        name=description.name,
        implementation=chain.name,
        doc=description.doc,
        topic=topic_of(description),
        inputs={port.name: InputPort(type=port.shown_type, policy=port.policy or PAIR) for port in description.inputs},
        outputs={port.name: port.shown_type for port in description.outputs},
        sources={each.target.port: each.source for each in chain.connections if each.target.step is None},
        bodies={
            port.name: PosedBody(port.child, is_in_camera=port.frame == CAMERA)
            for port in description.outputs
            if port.child or port.frame
        },
        levels=_levels(file, chain, nodes),
        products={port.name: port.product for port in description.outputs if port.product is not None},
        notes=tuple(dict.fromkeys(filter(None, (own_note, *configuration.notes, *stand_ins)))),
    )


def _for_chain(configuration: Configuration, source: Source, chain: ProcessingChain) -> Configuration:
    """The configuration as parameters of the chain's steps alone.

    A file may set steps and parameters of other implementations of the pipeline: what this one lacks is noted.
    """
    description, here = source.description, {step.id for step in chain.steps}
    others = [each for each in description.chains if each.name != chain.name]
    elsewhere = {step.id for each in others for step in each.steps} | set(other_names()["unused_steps"])
    spelled = {name.lower() for name in here}
    foreign = [name for name in configuration.of_file if name in elsewhere - here and name.lower() not in spelled]
    notes = [f"{configuration.file}: {chain.name} has no step {', '.join(sorted(foreign))}: left out"]
    configuration = configuration.without_steps(foreign)
    configuration = replace(configuration, notes=(*configuration.notes, *(notes if foreign else ())))
    names: dict[str, frozenset[str]] = {}
    for each in others:
        for group, own in each.parameters.items():
            names[group] = names.get(group, frozenset()) | set(own)
    configuration = configuration.with_chain(chain.parameters, description.name, names).with_nested(chain)
    by_step = {step.id: step.implementation for step in _configure_chain(chain, configuration).steps}
    return configuration.with_implementations(by_step)


def _usual(chain: ProcessingChain, catalogue: Catalogue) -> ProcessingChain:
    """The chain with the published names of DFNs and ports."""
    steps, names = [], {}
    for step in chain.steps:
        names[step.id] = dfn = catalogue.aliases.get(step.dfn, step.dfn)
        kind, when = step.activation
        if kind == ON_INPUT:
            when = catalogue.port(dfn, when, is_source=False)
        steps.append(replace(step, dfn=dfn, activation=(kind, when)))

    def usual(end: End, *, is_source: bool) -> End:
        return (
            end if end.step is None else End(end.step, catalogue.port(names[end.step], end.port, is_source=is_source))
        )

    connections = (
        replace(each, source=usual(each.source, is_source=True), target=usual(each.target, is_source=False))
        for each in chain.connections
    )
    return replace(chain, steps=tuple(steps), connections=tuple(connections))


def _configure_chain(chain: ProcessingChain, configuration: Configuration) -> ProcessingChain:
    """Apply the configuration to the chain; parameters of another implementation are dropped."""
    there = {step.id: step for step in chain.steps}
    steps = []
    for step in chain.steps:
        models = [there[step.like]] if step.like in there else []
        set_by = [each.id for each in (*models, step)]
        usual = step.implementation or next((each.implementation for each in models), "")
        usual = usual or known_catalogue().dfns[step.dfn].implementations[0]
        name = next(
            (configuration.implementations[each] for each in set_by[::-1] if each in configuration.implementations),
            usual,
        )
        name = known_catalogue().implementation_aliases.get(name, name)
        parameters: ParameterGroups = {}
        for each in () if configuration.complete.intersection(set_by) else (*models, step):
            parameters = merge_groups(parameters, each.parameters if name == (each.implementation or usual) else {})
        for each_id in set_by:
            parameters = merge_groups(parameters, configuration.settings.get(each_id, {}))
        steps.append(replace(step, implementation=name, parameters=parameters))
    return replace(chain, steps=tuple(steps))


def _require_steps(chain: ProcessingChain, configuration: Configuration) -> None:
    """Raise an error if parameters are set for unknown steps."""
    there = [step.id for step in chain.steps]
    for name in (*configuration.settings, *configuration.implementations):
        if name not in there and name != CHAIN and name not in chain.nested:
            near = closest_name(name, [*there, *chain.nested])
            hint = f": did you mean {near}?" if near else f"; it has {', '.join(there)}"
            raise UsageError(f"{configuration.location(name)}{chain.name} has no step {name}{hint}")


def _without_optional(chain: ProcessingChain, configuration: Configuration, catalogue: Catalogue) -> ProcessingChain:
    """The chain without optional steps that have no parameters: their input is passed on, of the same type."""
    for step in [each for each in chain.steps if each.is_optional]:
        if configuration.names(step.id) or (step.like and configuration.names(step.like)):
            continue
        dfn = catalogue.dfns[step.dfn]
        fed = {each.target.port: each.source for each in chain.connections if each.target.step == step.id}
        inputs = []
        for each in chain.connections:
            if each.source.step == step.id and each.target.step != step.id:
                kind = dfn.outputs.get(each.source.port)
                source = next((fed[port] for port, own in dfn.inputs.items() if own == kind and port in fed), None)
                inputs += [replace(each, source=source)] if source else []
            elif each.target.step != step.id:
                inputs.append(each)
        steps = tuple(each for each in chain.steps if each.id != step.id)
        chain = replace(chain, steps=steps, connections=tuple(inputs))
    return chain


def _chain_issues(description: Description, chain: ProcessingChain, catalogue: Catalogue) -> Iterator[tuple[int, str]]:
    """Yield what keeps a chain from being run, by lines."""
    for target, count in Counter(each.target for each in chain.connections).items():
        if count > 1:
            lines = [each.line for each in chain.connections if each.target == target]
            yield lines[-1], f"{port_label(target)} is fed {count} times: expected one connection"
    for port in description.inputs:
        if port.policy not in ("", *POLICIES):
            yield port.line, f"{port.name}: expected a policy of {', '.join(POLICIES)}, got {port.policy}"
    for port in (port for port in description.outputs if port.frame not in ("", SCENE, CAMERA)):
        yield port.line, f"{port.name}: expected a frame of {SCENE} or {CAMERA}, got {port.frame}"
    yield from _product_issues(description)
    for step in chain.steps:
        yield from _step_issues(step, chain, catalogue.dfns[step.dfn])


def _product_issues(description: Description) -> Iterator[tuple[int, str]]:
    """Yield the issues of how outputs are stored, by lines."""
    for port in description.outputs:
        mark = port.product
        if mark is None:
            continue
        if not KIND.fullmatch(mark.kind):
            yield port.line, f"{port.name}: expected the kind of a product as a word such as cloud, got '{mark.kind}'"
        if mark.period and not PERIOD.fullmatch(mark.period):
            yield port.line, f"{port.name}: expected the period of a product in seconds, got '{mark.period}'"


def _step_issues(step: StepInChain, chain: ProcessingChain, dfn: Dfn) -> Iterator[tuple[int, str]]:
    connected = {each.target.port for each in chain.connections if each.target.step == step.id}
    fed = connected | set(step.constants)
    kind = step_of(step.dfn, step.implementation) if step.implementation in _available_ports(step.dfn) else None
    optional = kind.optional if kind else ()
    for port in dfn.inputs:
        if port not in fed and port not in optional:
            yield step.line, f"nothing feeds {step.id}.{port}"
    for port, value in step.constants.items():
        if port not in dfn.inputs or port in connected:
            why = "is connected" if port in dfn.inputs else f"is none; it has {', '.join(dfn.inputs)}"
            yield step.line, f"{step.id}: the input {port} cannot be always {value!r}: it {why}"
    if step.like and step.like not in {each.id for each in chain.steps}:
        yield step.line, f"{step.id} is set like {step.like}, which is not there"
    if not connected:
        yield step.line, f"{step.id} has no input, so it would never run"
    when, value = step.activation
    if when == ON_INPUT and value not in fed:
        yield step.line, f"{step.id} runs on {value}, which nothing feeds"
    if kind is not None and kind.gives_later and when:
        yield step.line, f"{step.id} gives what came before: it cannot have an activation"


def _available_ports(dfn: str) -> set[str]:
    return {implementation for name, implementation in steps() if name == dfn}


def _node(file: str, step: StepInChain, chain: ProcessingChain, configuration: Configuration) -> GraphNode:
    when, value = step.activation
    location = configuration.location(step.id) or f"{file}:{step.line}: "
    try:
        kind = step_of(step.dfn, step.implementation)
        settings_of(kind.implementation, step.parameters)
        is_published = configuration.preset == PUBLISHED
        groups = published_groups(kind.implementation, step.parameters) if is_published else step.parameters
    except UsageError as error:
        raise UsageError(f"{location}{step.id}: {error}") from None
    return GraphNode(
        id=step.id,
        kind=kind,
        location=location,
        parameters=groups,
        constants=step.constants,
        inputs={each.target.port: each.source for each in chain.connections if each.target.step == step.id},
        trigger=value if when == ON_INPUT else "",
        hz=float(value) if when == AT_FREQUENCY else 0.0,
        reset_on=step.reset_on,
    )


def _levels(file: str, chain: ProcessingChain, nodes: Sequence[GraphNode]) -> list[list[GraphNode]]:
    """Independent nodes, level by level; nodes whose output is used later come first, as they need no input."""
    later = {node.id for node in nodes if node.kind.gives_later}
    order = {node.id: index for index, node in enumerate(nodes)}
    by_id = {node.id: node for node in nodes}
    needs = {
        node.id: {source.step for source in node.inputs.values() if source.step} if node.id not in later else set()
        for node in nodes
    }
    sorter: TopologicalSorter[Any] = TopologicalSorter(needs)
    try:
        sorter.prepare()
    except CycleError as error:
        circle = [str(name) for name in reversed(error.args[1])]
        line = min(step.line for step in chain.steps if step.id in circle)
        message = "a circle of connections without a step Previous"
        raise UsageError(
            f"{file}:{line}: {' -> '.join(circle)}: {message}, which gives what was there before"
        ) from None
    levels = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=order.__getitem__)
        levels.append([by_id[name] for name in ready])
        sorter.done(*ready)
    return levels
