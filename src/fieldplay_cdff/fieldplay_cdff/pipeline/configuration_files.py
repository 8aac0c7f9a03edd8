"""Files of parameters as the authors of CDFF write them: of a pipeline, of one step, or a list of such files."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from fieldplay.core.errors import UsageError, closest_name
from fieldplay.core.yaml_safe import value_of_yaml
from fieldplay_cdff.descriptors.model import FILE, known_catalogue
from fieldplay_cdff.pipeline.configuration import CHAIN, Configuration
from fieldplay_cdff.steps.step import parameters

ITEM = ("Name", "Type", "Implementation", "Parameters")
LARGEST = 4 << 20
ENDS = (".yaml", ".yml")


def configuration_of_arguments(arguments: list[str]) -> Configuration:
    """Read FILE, or STEP=FILE for the parameters of one step; later ones override."""
    configuration = Configuration()
    for argument in arguments:
        step, equals, path = argument.partition("=")
        if equals and not Path(argument).is_file():
            configuration = configuration.and_then(configuration_of_step_file(step, Path(path)))
        else:
            configuration = configuration.and_then(configuration_of_file(Path(argument)))
    return configuration


def configuration_of_file(path: Path) -> Configuration:
    """Read a file that sets a pipeline.

    It is a list of steps, each with Name, Type, Implementation and Parameters, one of which may be the chain itself
    (DFNsChain); or a text of paths to the files of single steps, whose names start with the implementation's. What it
    leaves out of a step has the published default. Names that the authors' own classes do not read are noted:
    configuration_names.yaml. Nothing is written.

    Raises:
        UsageError: an unknown name, with its item.
    """
    content = _content(path)
    if isinstance(content, str):
        return _configuration_of_list(path, content)
    if not isinstance(content, list):
        raise UsageError(f"{path}: expected a list of steps with {', '.join(ITEM)}, got {type(content).__name__}")
    settings: dict[str, Mapping[str, Mapping[str, Any]]] = {}
    implementations: dict[str, str] = {}
    notes: list[str] = []
    for number, item in enumerate(content, 1):
        label = f"{path}: item {number}"
        if not isinstance(item, dict) or not isinstance(item.get("Name"), str):
            raise UsageError(f"{label}: expected a step with {', '.join(ITEM)}, got {item!r:.60}")
        _require_known(item, ITEM, label)
        name = _known_step(path.name, item["Name"], notes)
        if name in settings:
            raise UsageError(f"{label}: {name} is there twice")
        groups = _groups(item.get("Parameters") or [], f"{label} ({name})")
        if "Implementation" in item:
            implementations[name] = _implementation(item, label)
            kind = known_catalogue().implementation_aliases.get(implementations[name], implementations[name])
            groups = _known_names(f"{path.name}: {name}", kind, groups, notes)
        settings[name] = groups
    return Configuration(
        settings=settings,
        implementations=implementations,
        file=path.name,
        of_file=frozenset({*settings, *implementations}),
        complete=frozenset(implementations),
        notes=tuple(notes),
    )


def configuration_of_step_file(step: str, path: Path) -> Configuration:
    """Read a file that sets one step: a list of groups, each with its Name; the file's name starts as its kind's."""
    kind, groups, notes = _step_file(path)
    implementations = {step: kind} if kind and step != CHAIN else {}
    return Configuration(
        settings={step: groups}, implementations=implementations, complete=frozenset(implementations), file=path.name,
        notes=notes,
    )  # fmt: skip


def _configuration_of_list(path: Path, text: str) -> Configuration:
    """Files of single steps, by their paths from one of the folders above the list."""
    words = text.split()
    if not all(word.endswith(ENDS) for word in words):
        raise UsageError(f"{path}: expected a list of steps with {', '.join(ITEM)}, or paths of .yaml files")
    by_implementation, notes = {}, list[str]()
    for word in words:
        candidates = [folder / word.lstrip("/") for folder in path.resolve().parents]
        file = next((each for each in candidates if each.is_file()), None)
        if file is None:
            raise UsageError(f"{path} names {word}: there is no such file below any folder above it")
        kind, groups, more = _step_file(file)
        if not kind:
            raise UsageError(f"{file}: expected a name that starts with an implementation, as IcpMatcher_Conf1.yaml")
        by_implementation[kind] = groups
        notes += more
    return Configuration(by_implementation=by_implementation, file=path.name, notes=tuple(notes))


def _step_file(path: Path) -> tuple[str, Mapping[str, Mapping[str, Any]], tuple[str, ...]]:
    """The implementation that a file's name starts with, if any, its groups, and how they were understood."""
    stem = path.stem.partition("_")[0]
    kind = known_catalogue().implementation_aliases.get(stem, stem)
    kind = kind if kind in parameters() else ""
    notes: list[str] = []
    groups = _groups(_content(path) or [], str(path))
    return kind, _known_names(path.name, kind, groups, notes), tuple(notes)


def _content(path: Path) -> Any:
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    if path.stat().st_size > LARGEST:
        raise UsageError(f"{path}: expected a configuration of {LARGEST} bytes at most")
    try:
        return value_of_yaml(path.read_text(encoding="utf-8-sig"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: expected YAML: {' '.join(str(error).split())}") from None


@lru_cache(maxsize=1)
def other_names() -> Mapping[str, Any]:
    """Names in the authors' files that their classes do not read: steps, unused_steps, implementations."""
    content: Mapping[str, Any] = yaml.safe_load(FILE.with_name("configuration_names.yaml").read_text(encoding="utf-8"))
    return content


def _known_step(file: str, name: str, notes: list[str]) -> str:
    """The name of a step here; another one is noted."""
    meant = str(other_names()["steps"].get(name, name))
    if meant != name:
        notes.append(f"{file}: {name} is taken for {meant}")
    return meant


def _known_names(
    label: str, kind: str, groups: Mapping[str, Mapping[str, Any]], notes: list[str]
) -> dict[str, dict[str, Any]]:
    """Groups with the names that the step of this implementation reads; others are noted."""
    names = other_names()["implementations"].get(kind, {})
    renamed, unused = names.get("renamed", {}), names.get("unused", ())
    result: dict[str, dict[str, Any]] = {}
    taken, left_out = [], []
    for group, values in groups.items():
        if group in unused:
            left_out.append(group)
            continue
        own = renamed.get(group, group)
        taken += [f"{group} for {own}"] if own != group else []
        result.setdefault(own, {})
        for name, value in values.items():
            meant = renamed.get(f"{own}.{name}", f"{own}.{name}")
            if meant in unused:
                left_out.append(meant)
                continue
            taken += [f"{name} for {meant}"] if meant != f"{own}.{name}" else []
            target, _, parameter = meant.partition(".")
            result.setdefault(target, {})[parameter] = value
    notes += [f"{label}: takes {', '.join(taken)}"] if taken else []
    notes += [f"{label}: {', '.join(left_out)}: without effect"] if left_out else []
    return result


def _implementation(item: Mapping[str, Any], label: str) -> str:
    """The implementation of a step, as written; the type that is given must be one of those that it does."""
    written, catalogue = str(item["Implementation"]), known_catalogue()
    name, dfn = catalogue.implementation_aliases.get(written, written), catalogue.meant(str(item.get("Type", "")))
    if item.get("Type") and dfn is None:
        raise UsageError(f"{label}: {item['Type']} is no published DFN")
    if dfn is not None and name not in dfn.implementations:
        near = closest_name(name, dfn.implementations) or ", ".join(dfn.implementations)
        raise UsageError(f"{label}: {dfn.name} has no implementation {written}; there is {near}")
    return written


def _groups(content: Any, label: str) -> dict[str, dict[str, Any]]:
    if not isinstance(content, list) or not all(isinstance(group, dict) and "Name" in group for group in content):
        raise UsageError(f"{label}: expected Parameters as a list of groups, each with its Name, got {content!r:.60}")
    return {str(group["Name"]): {key: value for key, value in group.items() if key != "Name"} for group in content}


def _require_known(item: Mapping[str, Any], names: tuple[str, ...], label: str) -> None:
    for name in item:
        if name not in names:
            near = closest_name(str(name), names)
            raise UsageError(f"{label}: unknown {name}{f': did you mean {near}?' if near else ''}")
