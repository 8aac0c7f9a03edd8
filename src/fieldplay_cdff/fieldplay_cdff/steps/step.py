"""The base class of processing steps, the known steps, and their parameters.

Parameters are in a YAML file next to each module: implementation, group, name, and the default, or a map of
`default` and limits (`above`, `least`, `most`, `below`, `one_of`, `multiple_of`, `odd`); `names` are texts for numbers.
`auto: true` allows the value `auto`, which is None in the settings: the step computes it from the first images
(`fieldplay_cdff.stereo.presets`); `default: auto` with `published: NUMBER` makes that the default.
"""

import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import yaml

from fieldplay.core.errors import UsageError, closest_name
from fieldplay_cdff.descriptors.description_reader import GENERAL
from fieldplay_cdff.descriptors.step_packages import import_step_packages, step_packages
from fieldplay_cdff.stereo.refusals import Refusal

AUTO = "auto"  # instead of a number: set by the first images
FOLDER = Path(__file__).parent
WITH_EXPONENT = re.compile(r"[-+]?\d+[eE][-+]?\d+")  # a number without a dot, 1e-8, which YAML 1.1 takes for a text
LIMITS: Mapping[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "above": ("above", lambda value, limit: value > limit),
    "least": ("at least", lambda value, limit: value >= limit),
    "most": ("at most", lambda value, limit: value <= limit),
    "below": ("below", lambda value, limit: value < limit),
    "one_of": ("one of", lambda value, limit: value in limit),
    "multiple_of": ("a multiple of", lambda value, limit: value % limit == 0),
    "odd": ("odd:", lambda value, limit: value % 2 == int(limit)),
}

ParameterGroups = Mapping[str, Mapping[str, Any]]
Ports = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter: its default, and the limits of its value.

    `model` is a value of its type, where the default itself is `auto` (None).
    """

    default: Any
    limits: Mapping[str, Any] = field(default_factory=dict)
    model: Any = None
    allows_auto: bool = False

    def value(self, raw: Any, label: str) -> Any:
        """Convert a value to the type of the parameter; UsageError names the expected type."""
        if self.allows_auto and (raw is None or raw == AUTO):
            return None
        kind = type(self.default if self.model is None else self.model)
        names = self.limits.get("names", {})
        value = names.get(raw, raw) if isinstance(raw, str) else raw
        if kind is float and (type(value) is int or (isinstance(value, str) and WITH_EXPONENT.fullmatch(value))):
            value = float(value)
        if type(value) is not kind:
            words = raw.split() if isinstance(raw, str) and kind in (int, float) else []
            several = f" ({len(words)} values, as performance tests have: keep one)" if len(words) > 1 else ""
            raise UsageError(f"{label}: expected {NAMES[kind]}, got {raw!r}{several}")
        for name, limit in self.limits.items():
            if name in LIMITS and not LIMITS[name][1](value, limit):
                raise UsageError(f"{label}: expected {LIMITS[name][0]} {_limit_text(limit)}, got {raw!r}")
        return value


NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", list: "a list"}
Parameters = Mapping[str, Mapping[str, Parameter]]  # by group and name


class Settings(Mapping[str, Mapping[str, Any]]):
    """The values of all parameters of a step, by group and name."""

    def __init__(self, values: Mapping[str, Mapping[str, Any]]) -> None:
        self._values = values

    def __getitem__(self, group: str) -> Mapping[str, Any]:
        return self._values[group]

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class Step:
    """An implementation of a DFN: it is configured once, then processes inputs repeatedly.

    Ports have the published names: inputs are arguments of `process`, outputs the keys of what it
    returns. A missing key means no new value. ValueError has the reason why the inputs give no result.
    The random generator starts from `seed` with each new step.
    """

    dfn: ClassVar[str]
    implementation: ClassVar[str]
    keeps_state: ClassVar[bool] = False  # so that a cycle of connections may run through it
    gives_later: ClassVar[bool] = False  # its output goes through the chain with the next set of inputs
    optional: ClassVar[tuple[str, ...]] = ()  # inputs that may be missing
    files: ClassVar[Mapping[str, str]] = {}  # parameters that a chain must set, as GROUP.NAME, with their meaning
    camera_groups: ClassVar[Mapping[str, str]] = {}  # groups of parameters that are a camera's, and whose
    chosen: ParameterGroups = MappingProxyType({})  # of parameters that are `auto`: the computed values
    refusal: Refusal | None = None  # why the last call has no result, if known
    is_first: bool = False  # whether the last result holds by definition: the first pair is the scene
    process: Callable[..., Ports]  # outputs of one set of inputs

    def __init__(self, groups: ParameterGroups | None = None, *, threads: int = 1, seed: int = 0) -> None:
        self.settings = settings_of(self.implementation, groups or {})
        self.threads, self.seed = threads, seed
        self.notes: list[str] = []  # remarks on its configuration
        self.configure()

    @property
    def general(self) -> Mapping[str, Any]:
        """The values of GeneralParameters."""
        return self.settings[GENERAL]

    def configure(self) -> None:
        """Prepare the step from its settings; UsageError if these contradict each other."""

    def reset(self) -> None:
        """Know nothing of what came before."""

    def finish(self) -> Ports:
        """Return the outputs at the end of the inputs."""
        return {}


_STEPS: dict[tuple[str, str], type[Step]] = {}


def implements(*dfns: str, name: str = "") -> Callable[[type[Step]], type[Step]]:
    """Make a class known as the implementation of DFNs, by its own name unless another is given."""

    def register(kind: type[Step]) -> type[Step]:
        kind.dfn, kind.implementation = dfns[0], name or kind.__name__
        for dfn in dfns:
            there = _STEPS.get((dfn, kind.implementation), kind)
            if there.__module__ != kind.__module__:
                message = f"{kind.__module__}: {there.__module__} has {dfn} by {kind.implementation} already"
                raise UsageError(f"{message}: choose another name")
            _STEPS[dfn, kind.implementation] = kind
        return kind

    return register


@lru_cache(maxsize=1)
def steps() -> Mapping[tuple[str, str], type[Step]]:
    """All steps by the names of DFN and implementation."""
    for module in pkgutil.iter_modules([str(FOLDER)]):
        import_module(f"fieldplay_cdff.steps.{module.name}")
    import_step_packages()
    return _STEPS


def step_of(dfn: str, implementation: str) -> type[Step]:
    """Return the step that implements a DFN; UsageError lists the known ones."""
    step = steps().get((dfn, implementation))
    if step is None:
        there = [name for kind, name in _STEPS if kind == dfn]
        near = closest_name(implementation, there)
        hint = (
            f": did you mean {near}?" if near else f"; there {'is' if len(there) == 1 else 'are'} {_join_names(there)}"
        )
        raise UsageError(f"{dfn} has no implementation {implementation}{hint}")
    return step


@lru_cache(maxsize=1)
def parameters() -> Mapping[str, Parameters]:
    """Return all parameters, by the implementation's name, group and name."""
    result: dict[str, Parameters] = {}
    of_others = [package.folder / "parameters.yaml" for package in step_packages()]
    for file in (*sorted(FOLDER.glob("*.yaml")), *(file for file in of_others if file.is_file())):
        content = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
        if not isinstance(content, dict):
            raise UsageError(f"{file}: expected implementations with their groups, got {type(content).__name__}")
        for name, groups in content.items():
            if name in result:
                raise UsageError(f"{file}: there is an implementation {name} already: choose another name")
            result[name] = {
                group: {key: _parameter(value) for key, value in own.items()} for group, own in (groups or {}).items()
            }
    return result


def _parameter(value: Any) -> Parameter:
    if not isinstance(value, dict):
        return Parameter(default=value)
    limits = {key: limit for key, limit in value.items() if key not in ("default", "published", "auto")}
    default, model = value["default"], value.get("published")
    is_auto = default == AUTO and model is not None
    return Parameter(
        default=None if is_auto else default,
        limits=limits,
        model=model,
        allows_auto=is_auto or value.get("auto", False),
    )


def settings_of(implementation: str, groups: ParameterGroups) -> Settings:
    """Merge the given parameters of a step with the defaults; UsageError names an unknown or wrong one."""
    known = parameters().get(implementation, {})
    for group, values in groups.items():
        group_parameters = known.get(group)
        if group_parameters is None:
            raise UsageError(f"{implementation} has no group {group}{_near(group, known)}")
        for name in values:
            if name not in group_parameters:
                raise UsageError(f"{implementation}: {group} has no parameter {name}{_near(name, group_parameters)}")
    return Settings({
        group: {
            name: parameter.value(groups[group][name], f"{implementation}: {group}.{name}")
            if name in groups.get(group, {}) else parameter.default
            for name, parameter in group_parameters.items()
        }
        for group, group_parameters in known.items()
    })  # fmt: skip


def published_groups(implementation: str, groups: ParameterGroups) -> ParameterGroups:
    """Groups of parameters in which a value that is `auto`, or is so by default, has its published number."""
    result = {group: dict(values) for group, values in groups.items()}
    for group, known in parameters().get(implementation, {}).items():
        for name, parameter in known.items():
            value = result.get(group, {}).get(name, parameter.default)
            if parameter.allows_auto and parameter.model is not None and value in (None, AUTO):
                result.setdefault(group, {})[name] = parameter.model
    return result


def _near(name: str, known: Iterable[str]) -> str:
    there = list(known)
    near = closest_name(name, there)
    return f": did you mean {near}?" if near else f"; it has {_join_names(there)}"


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _limit_text(limit: Any) -> str:
    return (
        ", ".join(str(each) for each in limit) if isinstance(limit, list) else "true" if limit is True else str(limit)
    )
