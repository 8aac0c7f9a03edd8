"""Configuration: parameters and implementations of a chain's steps, from arguments or files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from fieldplay.core.errors import UsageError, closest_name
from fieldplay.core.yaml_safe import value_of_yaml
from fieldplay_cdff.descriptors.model import NestedParameters, ProcessingChain, known_catalogue
from fieldplay_cdff.steps.step import ParameterGroups
from fieldplay_cdff.steps.step import parameters as known_parameters

CHAIN = "DFNsChain"  # as the authors' files call the chain itself
CAMERA, PUBLISHED = "camera", "published"
PRESETS = (CAMERA, PUBLISHED)

Groups = ParameterGroups


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """Parameters by step, group and name, and implementations by step; `file` is the file that has them.

    `of_file` are the steps that only the file names: it may set steps of other implementations of the pipeline, too.
    `complete` are steps that a file sets with their implementation: what it omits has the published default there,
    not the value of the description.
    `by_implementation` are parameters of whichever step has the implementation. `preset` is what `auto` means: CAMERA,
    from the first images, or PUBLISHED, the value for a rover. `notes` has the interpretation of the file.
    """

    settings: Mapping[str, Groups] = field(default_factory=dict)
    implementations: Mapping[str, str] = field(default_factory=dict)
    by_implementation: Mapping[str, Groups] = field(default_factory=dict)
    file: str = ""
    of_file: frozenset[str] = frozenset()
    complete: frozenset[str] = frozenset()
    preset: str = CAMERA
    notes: tuple[str, ...] = ()

    def names(self, step: str) -> bool:
        """Whether anything is set of a step."""
        return step in self.settings or step in self.implementations

    def location(self, step: str) -> str:
        """Return where a step is set, for a message."""
        return f"{self.file}: " if self.file and self.names(step) else ""

    def and_then(self, other: "Configuration") -> "Configuration":
        """Both; the other one overrides."""
        steps = dict.fromkeys((*self.settings, *other.settings))
        kinds = dict.fromkeys((*self.by_implementation, *other.by_implementation))
        set_by_other = {*other.settings, *other.implementations} - other.of_file
        return Configuration(
            settings={step: merge_groups(self.settings.get(step, {}), other.settings.get(step, {})) for step in steps},
            implementations={**self.implementations, **other.implementations},
            by_implementation={
                kind: merge_groups(self.by_implementation.get(kind, {}), other.by_implementation.get(kind, {}))
                for kind in kinds
            },
            file=self.file or other.file,
            of_file=(self.of_file | other.of_file) - set_by_other,
            complete=self.complete | other.complete,
            preset=other.preset if other.preset != CAMERA else self.preset,
            notes=(*self.notes, *other.notes),
        )

    def without_steps(self, names: Iterable[str]) -> "Configuration":
        """Remove the parameters of some steps."""
        left_out = set(names)
        return replace(
            self,
            settings={step: groups for step, groups in self.settings.items() if step not in left_out},
            implementations={step: name for step, name in self.implementations.items() if step not in left_out},
        )

    def with_published_names(self) -> "Configuration":
        """Implementations by the names that are known here; replacements are noted."""
        catalogue = known_catalogue()
        names = {step: catalogue.implementation_aliases.get(name, name) for step, name in self.implementations.items()}
        notes = [catalogue.stand_in_note(step, name) for step, name in self.implementations.items()]
        return replace(self, implementations=names, notes=(*self.notes, *filter(None, notes)))

    def with_chain(
        self, parameters: Groups, name: str, foreign: Mapping[str, frozenset[str]] | None = None
    ) -> "Configuration":
        """Replace parameters of the chain itself by those of its steps that they set; those of the steps override.

        Args:
            parameters: those of the chain, by group and name: parameters of steps, or None where it has no effect.
            name: of the chain.
            foreign: names of parameters by group that other implementations of the chain have; a file may set them.
        """
        groups = merge_groups(self.settings.get(CHAIN, {}), self.settings.get(name, {}))
        label = f"{self.location(CHAIN)}{name}"
        without_effect: list[str] = []
        result = Configuration()
        for group, values in groups.items():
            for key, value in values.items():
                is_foreign = CHAIN in self.of_file and key in (foreign or {}).get(group, ())
                if is_foreign and key not in parameters.get(group, {}):
                    without_effect.append(key)
                    continue
                targets = _targets(parameters, group, key, label)
                without_effect += [] if targets else [key]
                result = result.and_then(self._settings_of_targets(targets, value))
        rest = self.without_steps((CHAIN, name))
        rest = replace(rest, implementations=self.implementations)
        notes = [f"{label}: {', '.join(without_effect)}: without effect here"] if without_effect else []
        return replace(result.and_then(rest), file=self.file, notes=(*self.notes, *notes))

    def with_nested(self, chain: ProcessingChain) -> "Configuration":
        """Replace parameters of pipelines that are steps by those of their steps; an unknown one is a UsageError."""
        result = self
        for step, nested in chain.nested.items():
            groups = self.settings.get(step, {})
            own = Configuration()
            for group, values in groups.items():
                for key, value in values.items():
                    targets = _nested_targets(chain, step, nested, group=group, name=key)
                    own = own.and_then(self._settings_of_targets(targets, value))
            rest = result.without_steps([step] if groups else [])
            result = replace(own.and_then(rest), file=self.file, implementations=self.implementations)
        return result

    def with_implementations(self, implementations: Mapping[str, str]) -> "Configuration":
        """Assign parameters set by implementation to the steps that have it; an unused implementation is an error.

        Args:
            implementations: of all steps of the chain, by step.
        """
        result = self
        for kind, groups in self.by_implementation.items():
            steps = [step for step, name in implementations.items() if name == kind]
            if not steps:
                there = ", ".join(dict.fromkeys(implementations.values()))
                raise UsageError(f"{self.file}: no step of this pipeline is done by {kind}; there are {there}")
            for step in steps:
                own = Configuration(settings={step: groups}, complete=frozenset([step]), file=self.file)
                result = own.and_then(replace(result, by_implementation={}))
        return result

    def _settings_of_targets(self, targets: Iterable[str], value: object) -> "Configuration":
        """A value of a chain's parameter, as parameters STEP.GROUP.NAME of its steps."""
        result = Configuration()
        for target in targets:
            step, group, parameter = target.rsplit(".", 2)
            done_by = known_parameters().get(self.implementations.get(step, ""))
            if done_by is not None and parameter not in done_by.get(group, {}):
                continue  # the implementation that is named has nothing of the kind
            result = result.and_then(Configuration(settings={step: {group: {parameter: value}}}))
        return result


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


def _nested_targets(chain: ProcessingChain, step: str, nested: NestedParameters, *, group: str, name: str) -> list[str]:
    """The parameters of steps that a parameter of a pipeline within the chain sets."""
    if name in nested.parameters.get(group, {}):
        return _targets(nested.parameters, group, name, step)
    names = {
        f"{each.id}.{inner_group}.{parameter}": parameter
        for each in chain.steps
        if each.id.startswith(f"{step}.")
        for inner_group, own in known_parameters().get(_implementation_of(chain, each.id), {}).items()
        for parameter in own
    }
    near = closest_name(name, set(names.values()))
    meant = next((target for target, parameter in names.items() if parameter == near), "")
    steps = ", ".join(dict.fromkeys(target.rsplit(".", 2)[0] for target in names))
    hint = f": did you mean {meant}?" if meant else f"; set its steps: {steps}"
    raise UsageError(f"{step} is the pipeline {nested.name}, which has no parameter {group}.{name}{hint}")


def _implementation_of(chain: ProcessingChain, step_id: str) -> str:
    """The implementation of a step by the description: its own, that of its `like` step, or the first published."""
    steps = {each.id: each for each in chain.steps}
    step = steps[step_id]
    model = steps.get(step.like)
    name = step.implementation or (model.implementation if model else "")
    catalogue = known_catalogue()
    if not name:
        dfn = catalogue.meant(step.dfn)
        name = dfn.implementations[0] if dfn and dfn.implementations else ""
    return catalogue.implementation_aliases.get(name, name)
