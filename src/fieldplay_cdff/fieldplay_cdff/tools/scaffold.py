"""A description of a DFN or DFPC as a Python package: classes to fill in, an entry point, a test that runs."""

import json
import keyword
import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import yaml

from fieldplay.core.errors import UsageError
from fieldplay_cdff.descriptors.model import (
    DFN,
    DFPC,
    Catalogue,
    Connection,
    Description,
    Port,
    ProcessingChain,
    known_catalogue,
    with_own,
)
from fieldplay_cdff.pipeline.chains import MISSING, form_2_of
from fieldplay_cdff.steps.port_types import PORT_TYPES, annotation_of
from fieldplay_cdff.steps.step import steps

VALUES = "fieldplay_cdff.steps.values"
LINE, SHORT = 120, 100  # characters
NAME = re.compile(r"[a-z_][a-z0-9_]*")
WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
PROJECT = """\
[build-system]
requires = ["setuptools >= 61"]
build-backend = "setuptools.build_meta"

[project]
name = "{package}"
version = "0.1.0"
description = {doc}
requires-python = ">= 3.10"
dependencies = ["fieldplay"]

[project.entry-points."fieldplay.steps"]
{package} = "{package}"

[tool.setuptools]
packages = ["{package}"]

[tool.setuptools.package-data]
{package} = ["**/*.yaml"]
"""
README = """\
# {package}

{doc}

```
pip install --no-deps -e .        # registers the entry point of the group fieldplay.steps
python3 -m pytest test
fieldplay fuse --list --steps     # names {names}
```

Fill in `process` where it says TODO. What can be set stands in `{package}/parameters.yaml`.
"""
PARAMETERS = """\
# What can be set: implementation, group, name, and the default, or a map of `default` and limits (`above`, `least`,
# `most`, `below`, `one_of`), as in
#
#   MyFilter:
#     GeneralParameters:
#       Radius: {default: 0.1, above: 0}  # m
#
# In the class self.general["Radius"] is a value of GeneralParameters, self.settings["Group"]["Name"] one of a group.
"""


class Scaffold(NamedTuple):
    """Files of a package by their paths, and notes for the user."""

    files: Mapping[str, str]
    notes: tuple[str, ...]


def package_name(name: str) -> str:
    """The name of a package for a DFN or DFPC: MyFilter3D becomes my_filter3d.

    Raises:
        UsageError: nothing of the name can be a name in Python.
    """
    words = [word.lower() for word in WORDS.findall(name)]
    joined = re.sub(r"_(?=\d)|(?<=\d)_(?=[a-z]$|[a-z]_)", "", "_".join(words))
    if not NAME.fullmatch(joined) or keyword.iskeyword(joined):
        raise UsageError(f"{name!r}: expected a name of letters and digits that starts with a letter")
    return joined


def dfn_scaffold(description: Description, package: str = "") -> Scaffold:
    """A package for a DFN: a class for each implementation, its description, parameters, and a test.

    Args:
        description: of the DFN.
        package: its name; made of the DFN's where empty.

    Raises:
        UsageError: the description is a DFPC, has no ports, or has names that Python does not take.
    """
    if description.kind != DFN:
        raise UsageError(f"{description.name} is a DFPC: fieldplay cdff new-dfpc makes a package of it")
    if not description.inputs or not description.outputs:
        raise UsageError(f"{description.name}: expected input_ports and output_ports, got none of one kind")
    usual = known_catalogue().aliases.get(description.name, description.name)
    there = [chain.name for chain in description.chains if (usual, chain.name) in steps()]
    if there:
        message = f"{description.name} by {', '.join(there)} is there already (fieldplay fuse --list --steps)"
        raise UsageError(f"{message}: describe an implementation with another name")
    package = package or package_name(description.name)
    return Scaffold(
        files={
            **_package_files(package, [description], description.doc, [chain.name for chain in description.chains]),
            f"test/test_{package_name(description.name)}.py": _dfn_test(description),
        },
        notes=tuple(_type_notes(description)),
    )


def dfpc_scaffold(
    description: Description, text: str, known: Iterable[Description] = (), package: str = ""
) -> Scaffold:
    """A package for a DFPC: its description as form 2, a DFN for each step that is not known, and a test.

    Args:
        description: of the DFPC.
        text: of the description's file, which is taken as it is where it is of form 2.
        known: descriptions of DFNs of its own; the ports of others are taken from the connections.
        package: its name; made of the DFPC's where empty.

    Raises:
        UsageError: the description is a DFN, or has names that Python does not take.
    """
    if description.kind != DFPC:
        raise UsageError(f"{description.name} is a DFN: fieldplay cdff new-dfn makes a package of it")
    package = package or package_name(description.name)
    own = _own_dfns(description, known)
    if description.form == 1:
        text = form_2_of(description, with_own(known_catalogue(), own))
    notes = [note for dfn in own for note in _type_notes(dfn)]
    if description.form == 1 and MISSING in text:
        notes.append(f"dfpc/{description.name}.yaml: a description of form 1 does not say how its DFNs are connected: "
                     f"replace each {MISSING}")  # fmt: skip
    return Scaffold(
        files={
            **_package_files(package, own, description.doc, [description.name]),
            f"{package}/dfpc/{description.name}.yaml": text,
            f"test/test_{package_name(description.name)}.py": _dfpc_test(description),
        },
        notes=tuple(notes),
    )


def _package_files(package: str, dfns: list[Description], doc: str, names: Iterable[str]) -> dict[str, str]:
    """Return the common files of both kinds of packages."""
    if not NAME.fullmatch(package) or keyword.iskeyword(package):
        raise UsageError(f"--package {package}: expected small letters, digits and _, starting with a letter")
    modules = [package_name(dfn.name) for dfn in dfns]
    imports = "".join(f"from {package} import {module} as {module}\n" for module in sorted(modules))
    files = {
        "pyproject.toml": PROJECT.format(package=package, doc=json.dumps(doc or package, ensure_ascii=False)),
        "README.md": README.format(package=package, doc=doc, names=", ".join(names)),
        f"{package}/__init__.py": f'"""{_sentence(doc or package)}"""\n' + (f"\n{imports}" if imports else ""),
        f"{package}/parameters.yaml": PARAMETERS,
    }
    for dfn, module in zip(dfns, modules, strict=True):
        files[f"{package}/{module}.py"] = _dfn_module(dfn)
        files[f"{package}/dfns/{dfn.name}.yaml"] = _dfn_text(dfn)
    return files


def _sentence(text: str) -> str:
    """A text as a docstring's first line."""
    plain = " ".join(text.replace("\\", "/").replace('"', "'").split()) or "TODO"
    first = textwrap.shorten(plain.partition(". ")[0], SHORT, placeholder=" ...")
    return first if first.endswith(".") else f"{first}."


def _dfn_text(dfn: Description) -> str:
    content = {
        "name": dfn.name,
        "doc": dfn.doc or MISSING,
        "input_ports": [_port(port) for port in dfn.inputs],
        "output_ports": [_port(port) for port in dfn.outputs],
        "implementations": [chain.name for chain in dfn.chains],
    }
    return yaml.safe_dump(content, sort_keys=False, width=120)


def _port(port: Port) -> dict[str, str]:
    return {"name": port.name, "type": port.type, "doc": port.doc or MISSING}


def _dfn_module(dfn: Description) -> str:
    """The module of a DFN: a class for each implementation."""
    _require_python_names(dfn)
    inputs = {port.name: annotation_of(port.shown_type) for port in dfn.inputs}
    examples = [port for port in dfn.outputs if _same_typed_input(dfn, port) is None]
    names = sorted({name for text in inputs.values() for name in re.findall(r"\w+", text)} - {"Sequence", "Any", "str"}
                   - {"int", "float", "bool"})  # fmt: skip
    lines = [f'"""{_sentence(dfn.doc or dfn.name)}"""', ""]
    if any("Sequence" in text for text in inputs.values()):
        lines.append("from collections.abc import Sequence")
    if "Any" in inputs.values():
        lines.append("from typing import Any")
    lines += [""] * (len(lines) > 2)
    lines += ["from fieldplay_cdff.steps.port_types import example_of"] if examples else []
    lines += ["from fieldplay_cdff.steps.step import Ports, Step, implements"]
    lines += [f"from {VALUES} import {', '.join(names)}"] if names else []
    for chain in dfn.chains:
        lines += ["", "", *_class_lines(dfn, chain, inputs)]
    return "\n".join(lines) + "\n"


def _class_lines(dfn: Description, chain: ProcessingChain, inputs: Mapping[str, str]) -> list[str]:
    arguments = "".join(f", {name}: {annotation}" for name, annotation in inputs.items())
    arguments = f"self, *{arguments}" if inputs else "self"
    signature = [f"    def process({arguments}) -> Ports:"]
    if len(signature[0]) > LINE:
        own = [f"        {name}: {annotation}," for name, annotation in inputs.items()]
        signature = ["    def process(", "        self,", "        *,", *own, "    ) -> Ports:"]
    results = []
    for port in dfn.outputs:
        source = _same_typed_input(dfn, port)
        value = source or f'example_of("{port.shown_type}")'
        line = f'            "{port.name}": {value},  # TODO: {" ".join(port.doc.split()) or port.shown_type}'
        results.append(line[:LINE].rstrip())
    return [
        f'@implements("{dfn.name}", name="{chain.name}")',
        f"class {_class_name(chain.name)}(Step):",
        f'    """{_sentence(dfn.doc or chain.name)}"""',
        "",
        *signature,
        "        return {",
        *results,
        "        }",
    ]


def _class_name(name: str) -> str:
    plain = re.sub(r"\W", "", name)
    if not plain or plain[0].isdigit() or keyword.iskeyword(plain):
        raise UsageError(f"the implementation {name!r}: expected letters and digits, starting with a letter")
    return plain[0].upper() + plain[1:]


def _same_typed_input(dfn: Description, port: Port) -> str | None:
    """An input of the type of an output, which the scaffold passes through."""
    return next((each.name for each in dfn.inputs if each.shown_type == port.shown_type), None)


def _require_python_names(dfn: Description) -> None:
    for port in (*dfn.inputs, *dfn.outputs):
        if not port.name.isidentifier() or keyword.iskeyword(port.name):
            raise UsageError(f"{dfn.name}: the port {port.name!r} cannot be an argument in Python: choose another name")


def _type_notes(dfn: Description) -> list[str]:
    unknown = {port.shown_type for port in (*dfn.inputs, *dfn.outputs)} - set(PORT_TYPES)
    return [f"{dfn.name}: no class here for the type {name}: its ports are Any" for name in sorted(unknown)]


def _dfn_test(dfn: Description) -> str:
    outputs = ", ".join(f'"{port.name}"' for port in dfn.outputs)
    return f'''\
"""{dfn.name}: found by its entry point, and run on examples of its inputs."""

import pytest
from fieldplay_cdff.steps.port_types import example_inputs
from fieldplay_cdff.steps.step import step_of

INPUTS = {_table(dfn.inputs)}
IMPLEMENTATIONS = [
{_rows(dfn.chains)}]


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_step_gives_its_outputs(implementation: str) -> None:
    step = step_of("{dfn.name}", implementation)()
    assert set(step.process(**example_inputs(INPUTS))) == {{{outputs}}}
'''


def _dfpc_test(description: Description) -> str:
    return f'''\
"""{description.name}: found by its name, and run on examples of its inputs."""

import pytest
from fieldplay_cdff.pipeline import load_pipeline
from fieldplay_cdff.steps.port_types import BASELINE_M, example_inputs, example_of

INPUTS = {_table(description.inputs)}
IMPLEMENTATIONS = [
{_rows(description.chains)}]


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_pipeline_runs_without_failures(implementation: str) -> None:
    camera = example_of("Frame").camera
    cameras = {{"left": camera, "right": camera}}
    with load_pipeline("{description.name}", implementation, None, cameras, BASELINE_M) as pipeline:
        for stamp_ns in (0, 1_000_000_000):
            for port, value in example_inputs(INPUTS).items():
                pipeline.feed(port, value, stamp_ns)
        pipeline.finish()
        assert not pipeline.failures
        assert pipeline.statistics.waves > 0
'''


def _rows(chains: Iterable[ProcessingChain]) -> str:
    return "".join(f'    "{chain.name}",\n' for chain in chains)


def _table(ports: Iterable[Port]) -> str:
    """Types of ports by name, as a dict in Python."""
    rows = "".join(f'    "{port.name}": "{port.shown_type}",\n' for port in ports)
    return f"{{\n{rows}}}"


def _own_dfns(description: Description, known: Iterable[Description]) -> list[Description]:
    """The DFNs of a DFPC that nobody has published: as described, else with the ports that connections name."""
    catalogue, described = known_catalogue(), {each.name: each for each in known}
    result: dict[str, Description] = {}
    for chain in description.chains:
        for step in chain.steps:
            if step.is_dfpc or catalogue.aliases.get(step.dfn, step.dfn) in catalogue.dfns:
                continue
            own = described.get(step.dfn) or result.get(step.dfn) or Description(kind=DFN, form=1, name=step.dfn)
            own = _with_implementation(own, step.implementation or step.dfn)
            if step.dfn not in described:
                own = _with_ports(own, description, chain, step_id=step.id, catalogue=catalogue)
            result[step.dfn] = own
    return list(result.values())


def _with_implementation(dfn: Description, name: str) -> Description:
    names = dict.fromkeys((*(chain.name for chain in dfn.chains), name))
    return replace(dfn, chains=tuple(ProcessingChain(name=each) for each in names))


def _with_ports(
    dfn: Description, description: Description, chain: ProcessingChain, *, step_id: str, catalogue: Catalogue
) -> Description:
    """A DFN with the ports that connections of a step name, each of the type at the other end."""
    inputs, outputs = {port.name: port for port in dfn.inputs}, {port.name: port for port in dfn.outputs}
    for each in chain.connections:
        for end, ports in ((each.target, inputs), (each.source, outputs)):
            if end.step == step_id:
                kind = _type_at_other_end(description, chain, each, catalogue, is_target=ports is inputs)
                ports.setdefault(end.port, Port(name=end.port, type=kind))
    return replace(dfn, inputs=tuple(inputs.values()), outputs=tuple(outputs.values()))


def _type_at_other_end(
    description: Description, chain: ProcessingChain, connection: Connection, catalogue: Catalogue, *, is_target: bool
) -> str:
    end = connection.source if is_target else connection.target
    if end.step is None:
        ports = description.inputs if is_target else description.outputs
        return next((port.type for port in ports if port.name == end.port), MISSING)
    dfn = catalogue.meant(next(step.dfn for step in chain.steps if step.id == end.step))
    types = {} if dfn is None else dfn.outputs if is_target else dfn.inputs
    return f"asn1Scc{types[end.port]}" if end.port in types else MISSING
