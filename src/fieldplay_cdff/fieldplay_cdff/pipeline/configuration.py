"""What is set from outside: parameters and implementations of a chain's steps, of words or of the authors' files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from fieldplay.core.errors import UsageError, closest_name
from fieldplay.core.yaml_safe import value_of_yaml
from fieldplay_cdff.descriptors.model import known_catalogue
from fieldplay_cdff.steps.step import parameters as known_parameters

CHAIN = "DFNsChain"  # as the authors' files call the chain itself
ITEM = ("Name", "Type", "Implementation", "Parameters")
LARGEST = 4 << 20

CAMERA, PUBLISHED = "camera", "published"
PRESETS = (CAMERA, PUBLISHED)

Groups = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """Parameters by step, group and name, and implementations by step; `file` is where they stand.

    `preset` is what `auto` means: CAMERA, by what the first images show, or PUBLISHED, the number of a rover.
    """

    settings: Mapping[str, Groups] = field(default_factory=dict)
    implementations: Mapping[str, str] = field(default_factory=dict)
    file: str = ""
    preset: str = "camera"

    def names(self, step: str) -> bool:
        """Whether anything is said of a step."""
        return step in self.settings or step in self.implementations

    def location(self, step: str) -> str:
        """Return where a step is set, for a message."""
        return f"{self.file}: " if self.file and self.names(step) else ""

    def and_then(self, other: "Configuration") -> "Configuration":
        """Both, of which the other counts where both say something."""
        steps = dict.fromkeys((*self.settings, *other.settings))
        return Configuration(
            settings={step: merge_groups(self.settings.get(step, {}), other.settings.get(step, {})) for step in steps},
            implementations={**self.implementations, **other.implementations},
            file=self.file or other.file,
            preset=other.preset if other.preset != CAMERA else self.preset,
        )

    def with_chain(self, parameters: Groups, name: str) -> "Configuration":
        """What is set of the chain itself as what that means for its steps, which what is said of those precedes."""
        own = merge_groups(self.settings.get(CHAIN, {}), self.settings.get(name, {}))
        result = Configuration()
        for group, values in own.items():
            for key, value in values.items():
                for target in _targets(parameters, group, key, f"{self.location(CHAIN)}{name}"):
                    step, inner, parameter = target.rsplit(".", 2)
                    done_by = known_parameters().get(self.implementations.get(step, ""))
                    if done_by is not None and parameter not in done_by.get(inner, {}):
                        continue  # the implementation that is named has nothing of the kind
                    result = result.and_then(Configuration(settings={step: {inner: {parameter: value}}}))
        rest = {step: groups for step, groups in self.settings.items() if step not in (CHAIN, name)}
        return replace(result.and_then(replace(self, settings=rest)), file=self.file)


def merge_groups(first: Groups, then: Groups) -> dict[str, dict[str, Any]]:
    """Merge parameters by group and name; the latter ones override."""
    return {group: {**first.get(group, {}), **then.get(group, {})} for group in dict.fromkeys((*first, *then))}


def settings_of_arguments(arguments: Iterable[str]) -> Configuration:
    """Parse STEP.GROUP.NAME=VALUE with values as in YAML, and STEP=IMPLEMENTATION."""
    configuration = Configuration()
    for word in arguments:
        name, equals, text = word.partition("=")
        parts = name.rsplit(".", 2)
        if not equals or not all(parts):
            raise UsageError(f"--set {word}: expected STEP.GROUP.NAME=VALUE, or STEP=IMPLEMENTATION")
        if len(parts) < 3:
            configuration = configuration.and_then(Configuration(implementations={name: text}))
            continue
        try:
            value = value_of_yaml(text)
        except yaml.YAMLError:
            value = text
        configuration = configuration.and_then(Configuration(settings={parts[0]: {parts[1]: {parts[2]: value}}}))
    return configuration


def configuration_of_file(path: Path) -> Configuration:
    """What a file of the authors' form sets: a list of steps, each with Name, Type, Implementation and Parameters.

    One of them may be the chain itself, DFNsChain. Nothing is written; UsageError tells what is not known.
    """
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    if path.stat().st_size > LARGEST:
        raise UsageError(f"{path}: expected a configuration of {LARGEST} bytes at most")
    try:
        content = value_of_yaml(path.read_text(encoding="utf-8-sig"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: expected YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, list):
        raise UsageError(f"{path}: expected a list of steps with {', '.join(ITEM)}, got {type(content).__name__}")
    settings: dict[str, Groups] = {}
    implementations: dict[str, str] = {}
    for number, item in enumerate(content, 1):
        label = f"{path}: item {number}"
        if not isinstance(item, dict) or not isinstance(item.get("Name"), str):
            raise UsageError(f"{label}: expected a step with {', '.join(ITEM)}, got {item!r:.60}")
        _require_known(item, ITEM, label)
        name = item["Name"]
        if name in settings:
            raise UsageError(f"{label}: {name} is there twice")
        settings[name] = _groups(item.get("Parameters") or [], f"{label} ({name})")
        if "Implementation" in item:
            implementations[name] = _implementation(item, label)
    return Configuration(settings=settings, implementations=implementations, file=path.name)


def _implementation(item: Mapping[str, Any], label: str) -> str:
    """Who does a step; the type that is said must be one of those that it does."""
    name, dfn = str(item["Implementation"]), known_catalogue().meant(str(item.get("Type", "")))
    name = known_catalogue().implementation_aliases.get(name, name)
    if item.get("Type") and dfn is None:
        raise UsageError(f"{label}: {item['Type']} is no published DFN")
    if dfn is not None and name not in dfn.implementations:
        near = closest_name(name, dfn.implementations) or ", ".join(dfn.implementations)
        raise UsageError(f"{label}: {dfn.name} has no implementation {name}; there is {near}")
    return name


def _groups(content: Any, label: str) -> dict[str, dict[str, Any]]:
    if not isinstance(content, list) or not all(isinstance(group, dict) and "Name" in group for group in content):
        raise UsageError(f"{label}: expected Parameters as a list of groups, each with its Name, got {content!r:.60}")
    return {str(group["Name"]): {key: value for key, value in group.items() if key != "Name"} for group in content}


def _require_known(item: Mapping[str, Any], names: tuple[str, ...], label: str) -> None:
    for name in item:
        if name not in names:
            near = closest_name(str(name), names)
            raise UsageError(f"{label}: unknown {name}{f': did you mean {near}?' if near else ''}")


def _targets(parameters: Groups, group: str, name: str, label: str) -> list[str]:
    """The parameters of steps, as STEP.GROUP.NAME, that a parameter of the chain sets."""
    group_parameters = parameters.get(group)
    if group_parameters is None:
        near = closest_name(group, parameters)
        hint = f": did you mean {near}?" if near else f"; it has {', '.join(parameters) or 'none'}"
        raise UsageError(f"{label} has no group {group}{hint}")
    if name not in group_parameters:
        near = closest_name(name, group_parameters)
        hint = f": did you mean {near}?" if near else f"; it has {', '.join(group_parameters)}"
        raise UsageError(f"{label}: {group} has no parameter {name}{hint}")
    target = group_parameters[name]
    return [] if target is None else [target] if isinstance(target, str) else list(target)
