"""Runnable descriptions: those that come with the workspace, and nested ones flattened to one chain."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from fieldplay.core.errors import Defect, UsageError, closest_name
from fieldplay.core.resources import config_folders
from fieldplay_cdff.descriptors.description_checks import check_description
from fieldplay_cdff.descriptors.description_reader import description_of_file
from fieldplay_cdff.descriptors.model import (
    DFPC,
    Catalogue,
    Connection,
    Description,
    End,
    NestedParameters,
    Port,
    ProcessingChain,
    Step,
    known_catalogue,
    with_own,
)
from fieldplay_cdff.descriptors.step_packages import step_packages

MISSING = "TODO"
FOLDER, ENDS = "dfpc", (".yaml", ".yml")
DEEPEST = 8  # nested chains
MAX_REPORTED = 20  # issues of a description


# What a description of form 1 lacks: the form 2 that it would need, as far as form 1 determines it.


def form_2_of(description: Description, catalogue: Catalogue | None = None) -> str:
    """The description as form 2, by the DFNs of a catalogue; what form 1 does not contain is TODO."""
    catalogue = catalogue or known_catalogue()
    content = {
        "name": description.name,
        "doc": description.doc,
        "input_ports": [_port(port) for port in description.inputs],
        "output_ports": [_port(port) for port in description.outputs],
        "implementations": [_implementation(chain, catalogue) for chain in description.chains],
    }
    return yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=120)


def _port(port: Port) -> dict[str, str]:
    return {"name": port.name, "type": port.type, "doc": port.doc}


def _implementation(chain: ProcessingChain, catalogue: Catalogue) -> dict[str, object]:
    dfns, fed = [], {(each.target.step, each.target.port) for each in chain.connections}
    unfed = []
    for step in chain.steps:
        dfn = catalogue.meant(step.dfn)
        there = dfn.implementations if dfn else ()
        dfns.append({"dfn_id": step.id, "name": step.dfn, "implementation": there[0] if there else MISSING})
        ports = dfn.inputs if dfn else {}
        unfed += [(step.id, port) for port in ports if (step.id, port) not in fed]
    return {
        "name": chain.name or MISSING,
        "dfns": dfns,
        "input_connections": [
            {"dfpc_input": each.source.port, "dfn_id": each.target.step, "port": each.target.port}
            for each in chain.connections
            if each.source.step is None
        ],
        "internal_connections": [
            {"from": {"dfn_id": MISSING, "port": MISSING}, "to": {"dfn_id": step, "port": port}} for step, port in unfed
        ],
        "output_connections": [
            {"dfpc_output": each.target.port, "dfn_id": each.source.step, "port": each.source.port}
            for each in chain.connections
            if each.target.step is None
        ],
    }


@dataclass(frozen=True, kw_only=True)
class PipelineInfo:
    """A pipeline that comes with the workspace: its ports by name and type."""

    name: str
    doc: str
    topic: str
    implementations: tuple[str, ...]
    notes: Mapping[str, str]  # on implementations
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    file: Path

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "name": self.name, "doc": self.doc, "topic": self.topic, "implementations": list(self.implementations),
            "notes": dict(self.notes),
            "inputs": dict(self.inputs), "outputs": dict(self.outputs), "file": str(self.file),
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Source:
    """A description without issues, its file, and the descriptions that are its steps.

    `inner` are these by the names or files by which the description calls them; all are read and checked once.
    """

    file: Path
    description: Description
    inner: Mapping[str, "Source"] = field(default_factory=dict)

    def chain(self, implementation: str | None, set_steps: Collection[str] = ()) -> ProcessingChain:
        """An implementation, the first where none is named; that of its steps where one of these is set."""
        chains = self.description.chains
        match = next((chain for chain in chains if implementation in (None, "", chain.name)), None)
        if match is None:
            names = [chain.name for chain in chains]
            near = closest_name(str(implementation), names)
            hint = f": did you mean {near}?" if near else f"; it has {', '.join(names)}"
            raise UsageError(f"{self.description.name} has no implementation {implementation}{hint}")
        known = {step.id for step in match.steps}
        if all(name.partition(".")[0] in known for name in set_steps):
            return match
        return next((chain for chain in chains if chain.steps_of == match.name), match)


def topic_of(description: Description) -> str:
    """The topic namespace of the outputs: as specified, else the name in snake_case."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", description.name).lower()
    return description.topic or re.sub(r"[^a-z0-9_]+", "_", name)


def pipeline_files() -> dict[str, Path]:
    """The descriptions that come with the workspace, or with packages of steps, by name."""
    files: dict[str, Path] = {}
    for folder in config_folders():
        for path in sorted((folder / FOLDER).glob("*.yaml")):
            files.setdefault(path.stem, path)
    for package in step_packages():
        for path in package.files(FOLDER):
            files.setdefault(path.stem, path)
    return files


def pipelines() -> list[PipelineInfo]:
    """The pipelines that come with the workspace, in the order of their names."""
    result = []
    for _, file in sorted(pipeline_files().items()):
        own = source_of(file).description
        result.append(
            PipelineInfo(
                name=own.name,
                doc=own.doc,
                topic=topic_of(own),
                implementations=tuple(chain.name for chain in own.chains),
                notes={chain.name: chain.note for chain in own.chains if chain.note},
                inputs={port.name: port.shown_type for port in own.inputs},
                outputs={port.name: port.shown_type for port in own.outputs},
                file=file,
            )
        )
    return result


def source_of(path_or_name: str | Path, depth: int = 0, sibling: Path | None = None) -> Source:
    """Load the description in a file or of a name; UsageError lists all its issues, with lines.

    `sibling` is the file that refers to another one.
    """
    if depth > DEEPEST:
        raise UsageError(f"{path_or_name}: more than {DEEPEST} DFPCs stand in each other: does one hold itself?")
    file = _file_of(path_or_name, sibling)
    issues: list[Defect] = []
    description = description_of_file(file, issues.append)
    if description.kind != DFPC:
        raise UsageError(f"{file}: {description.name} is a DFN: expected a DFPC, with implementations of several")
    if description.form == 1:
        message = (
            "a description of form 1 does not say how its DFNs are connected, so it cannot be run; it needs form 2"
        )
        raise UsageError(f"{file}: {message}, as here, with what is missing:\n{form_2_of(description)}")
    inner = inner_sources(description, file, depth)
    check_description(file.name, description, catalogue_with_inner(inner), report=issues.append)
    raise_issues(issues)
    return Source(file=file, description=description, inner=inner)


def raise_issues(issues: list[Defect]) -> None:
    """Raise a UsageError with all issues, in the order of their lines."""
    if issues:
        messages = [str(issue) for issue in sorted(issues, key=lambda issue: (issue.file, issue.row or 0))]
        more = [f"and {len(messages) - MAX_REPORTED} more"] if len(messages) > MAX_REPORTED else []
        raise UsageError("\n".join([*messages[:MAX_REPORTED], *more]))


def inner_sources(description: Description, file: Path, depth: int = 0) -> dict[str, Source]:
    """The descriptions that are steps of one in a file, by the names or files by which it calls them."""
    names = dict.fromkeys(step.dfn for chain in description.chains for step in chain.steps if step.is_dfpc)
    return {name: source_of(name, depth + 1, file) for name in names}


def catalogue_with_inner(inner: Mapping[str, Source]) -> Catalogue:
    """The known steps, and the descriptions that are steps."""
    return with_own(known_catalogue(), [replace(source.description, name=name) for name, source in inner.items()])


def flat_chain(
    source: Source, implementation: str | None, implementations: Mapping[str, str], set_steps: Collection[str]
) -> ProcessingChain:
    """An implementation of a description with those of the descriptions that are its steps.

    Args:
        source: the description.
        implementation: its name; none is the first.
        implementations: those of inner descriptions, by the step.
        set_steps: steps of which something is set.
    """
    chain = source.chain(implementation, set_steps)
    for step in [each for each in chain.steps if each.is_dfpc]:
        prefix = f"{step.id}."
        own = {name.removeprefix(prefix): impl for name, impl in implementations.items() if name.startswith(prefix)}
        own_steps = [name.removeprefix(prefix) for name in set_steps if name.startswith(prefix)]
        named = implementations.get(step.id) or step.implementation
        inner = flat_chain(source.inner[step.dfn], named, own, own_steps)
        chain = _with_inner(chain, step, inner)
        chain = replace(chain, nested={**chain.nested, **_nested(step.id, source.inner[step.dfn], inner)})
    return chain


def _nested(step: str, source: Source, inner: ProcessingChain) -> dict[str, NestedParameters]:
    """Parameters of a chain that is a step, and of those that are steps of it, as those of steps of the outer one."""

    def outer(target: Any) -> Any:
        return f"{step}.{target}" if isinstance(target, str) else target and [outer(each) for each in target]

    def outer_groups(groups: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        return {group: {name: outer(target) for name, target in own.items()} for group, own in groups.items()}

    own = NestedParameters(source.description.name, outer_groups(inner.parameters))
    deeper = {f"{step}.{name}": each._replace(parameters=outer_groups(each.parameters))
              for name, each in inner.nested.items()}  # fmt: skip
    return {step: own, **deeper}


def _file_of(path_or_name: str | Path, sibling: Path | None) -> Path:
    """A file, next to the one that names it or among those of the workspace; or one of these by its name."""
    name = str(path_or_name)
    if name.endswith(ENDS) or "/" in name:
        folders = [Path()] if sibling is None else [sibling.parent, *(folder / FOLDER for folder in config_folders())]
        path = next((folder / name for folder in folders if (folder / name).is_file()), None)
        if path is None:
            label = f"{sibling.name} names {name}" if sibling else name
            where = f" in {' or '.join(map(str, folders))}" if sibling else ""
            raise UsageError(f"{label}: there is no such file{where}")
        return path
    files = pipeline_files()
    if name not in files:
        near = closest_name(name, files)
        hint = f": did you mean {near}?" if near else f"; there are {', '.join(sorted(files)) or 'none'}"
        raise UsageError(f"there is no DFPC {name}{hint}")
    return files[name]


def _with_inner(chain: ProcessingChain, step: Step, inner: ProcessingChain) -> ProcessingChain:
    """The chain in which the steps of an inner one replace the step that it is."""

    def outer_end(end: End) -> End:
        return End(f"{step.id}.{end.step}", end.port)

    steps = [
        replace(each, id=f"{step.id}.{each.id}", like=f"{step.id}.{each.like}" if each.like else "")
        for each in inner.steps
    ]
    feeds = {each.target.port: each.source for each in chain.connections if each.target.step == step.id}
    gives = {each.target.port: outer_end(each.source) for each in inner.connections if each.target.step is None}
    connections = [each for each in chain.connections if step.id not in (each.source.step, each.target.step)]
    for each in chain.connections:
        if each.source.step == step.id and each.target.step != step.id and each.source.port in gives:
            connections.append(replace(each, source=gives[each.source.port]))
    for each in inner.connections:
        if each.source.step is None and each.source.port in feeds:
            source = feeds[each.source.port]
            own = gives.get(source.port) if source.step == step.id else source
            connections += [Connection(source=own, target=outer_end(each.target), line=each.line)] if own else []
        elif each.source.step is not None and each.target.step is not None:
            connections.append(replace(each, source=outer_end(each.source), target=outer_end(each.target)))
    index = chain.steps.index(step)
    return replace(
        chain, steps=(*chain.steps[:index], *steps, *chain.steps[index + 1 :]), connections=tuple(connections)
    )
