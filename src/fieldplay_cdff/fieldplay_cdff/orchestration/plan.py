"""A plan: pipelines, how many threads they may have together, which begin, and what stands in for what."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fieldplay.core.errors import UsageError, nearest
from fieldplay.core.resources import config_folders
from fieldplay.core.yaml_safe import value_of_yaml

Fields = Mapping[str, Any]

LARGEST = 1 << 20
FOLDER, ENDS = "plans", (".yaml", ".yml")
TOP: Fields = {"threads": 2, "pipelines": None, "active": [], "policies": []}
PIPELINE: Fields = {
    "dfpc": None,
    "implementation": "",
    "config": "",
    "settings": [],
    "inputs": [],
    "threads": 1,
    "tf": True,
}
POLICY: Fields = {"prefer": None, "fallback": None, "quality": None, "seconds": None, "keep": True, "retry_s": 0.0}


@dataclass(frozen=True, kw_only=True)
class PlannedPipeline:
    """A pipeline of a plan: what it is, and how many threads it needs while it is active."""

    name: str
    dfpc: str
    implementation: str
    config: str
    settings: tuple[str, ...]
    inputs: tuple[str, ...]
    threads: int
    tf: bool


@dataclass(frozen=True, kw_only=True)
class PreferencePolicy:
    """Prefer a pipeline; fall back to another when the quality of the first was below a bound for so many seconds.

    With `keep` the first runs on, and takes over again when its quality was good for as long. Without, it rests, and is
    tried again after `retry_s` seconds; 0 is never.
    """

    prefer: str
    fallback: str
    quality: float
    seconds: float
    keep: bool = True
    retry_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class PipelinePlan:
    """All of it."""

    threads: int
    pipelines: Mapping[str, PlannedPipeline]
    active: tuple[str, ...]
    policies: tuple[PreferencePolicy, ...]


def plan_file(path_or_name: str) -> Path:
    """The file of a plan; a plain name is one of those that come with the workspace."""
    if path_or_name.endswith(ENDS) or "/" in path_or_name:
        return Path(path_or_name).expanduser()
    files = {path.stem: path for folder in config_folders() for path in sorted((folder / FOLDER).glob("*.yaml"))}
    if path_or_name not in files:
        near = nearest(path_or_name, files)
        hint = f": did you mean {near}?" if near else f"; there are {', '.join(files) or 'none'}"
        raise UsageError(f"there is no plan {path_or_name}{hint}")
    return files[path_or_name]


def plan_of_file(path: Path) -> PipelinePlan:
    """The plan in a file; UsageError tells what is wrong with it."""
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    if path.stat().st_size > LARGEST:
        raise UsageError(f"{path}: expected a plan of {LARGEST} bytes at most")
    try:
        content = value_of_yaml(path.read_text("utf-8-sig"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: expected YAML: {' '.join(str(error).split())}") from None
    return plan_of_values(content, str(path))


def plan_of_values(content: Any, told: str = "plan") -> PipelinePlan:
    """The plan of plain values; `told` is where they stand, for messages."""
    top = _fields(content, TOP, told)
    if not isinstance(top["pipelines"], dict) or not top["pipelines"]:
        raise UsageError(f"{told}: expected pipelines by their names")
    pipelines = {str(name): _pipeline(str(name), value, told) for name, value in top["pipelines"].items()}
    threads = _number(top["threads"], 1, f"{told}: threads")
    policies = tuple(_policy(value, pipelines, told) for value in _list(top["policies"], f"{told}: policies"))
    active = tuple(str(name) for name in _list(top["active"], f"{told}: active"))
    for name in active:
        require_known(name, pipelines, f"{told}: active")
    for pipeline in pipelines.values():
        if pipeline.threads > threads:
            raise UsageError(f"{told}: {pipeline.name} needs {pipeline.threads} threads, all together have {threads}")
    needed = sum(pipelines[name].threads for name in dict.fromkeys(active))
    if needed > threads:
        raise UsageError(f"{told}: {', '.join(active)} need {needed} threads, all together have {threads}")
    for policy in policies:
        both = pipelines[policy.prefer].threads + pipelines[policy.fallback].threads
        if policy.keep and both > threads:
            raise UsageError(
                f"{told}: {policy.prefer} and {policy.fallback} need {both} threads, all together have {threads}: "
                "keep: false lets the first rest"
            )
    return PipelinePlan(threads=int(threads), pipelines=pipelines, active=active, policies=policies)


def require_known(name: str, pipelines: Mapping[str, Any], told: str) -> None:
    """UsageError where there is no pipeline of that name, with the near one."""
    if name not in pipelines:
        near = nearest(name, pipelines)
        hint = f": did you mean {near}?" if near else f"; there are {', '.join(pipelines)}"
        raise UsageError(f"{told}: there is no pipeline {name}{hint}")


def _pipeline(name: str, value: Any, told: str) -> PlannedPipeline:
    told = f"{told}: {name}"
    if not name.isidentifier():
        raise UsageError(f"{told}: expected a name of letters, digits and _")
    own = _fields(value, PIPELINE, told)
    lists = {key: tuple(map(str, _list(own[key], f"{told}: {key}"))) for key in ("settings", "inputs")}
    return PlannedPipeline(
        name=name, dfpc=str(own["dfpc"]), implementation=str(own["implementation"]), config=str(own["config"]),
        threads=int(_number(own["threads"], 1, f"{told}: threads")), tf=bool(own["tf"]), **lists,
    )  # fmt: skip


def _policy(value: Any, pipelines: Mapping[str, PlannedPipeline], told: str) -> PreferencePolicy:
    told = f"{told}: policies"
    own = _fields(value, POLICY, told)
    prefer, fallback = str(own["prefer"]), str(own["fallback"])
    for name in (prefer, fallback):
        require_known(name, pipelines, told)
    if prefer == fallback:
        raise UsageError(f"{told}: {prefer} cannot stand in for itself")
    return PreferencePolicy(
        prefer=prefer, fallback=fallback, quality=_number(own["quality"], None, f"{told}: quality"),
        seconds=_number(own["seconds"], 0, f"{told}: seconds"), keep=bool(own["keep"]),
        retry_s=_number(own["retry_s"], 0, f"{told}: retry_s"),
    )  # fmt: skip


def _fields(value: Any, known: Fields, told: str) -> dict[str, Any]:
    """The fields of a map; those that are None among the known ones must be there."""
    if not isinstance(value, dict):
        raise UsageError(f"{told}: expected {', '.join(known)}, got {value!r:.60}")
    for name in value:
        if name not in known:
            near = nearest(str(name), known)
            raise UsageError(f"{told}: unknown field {name}{f': did you mean {near}?' if near else ''}")
    missing = [name for name, usual in known.items() if usual is None and name not in value]
    if missing:
        raise UsageError(f"{told}: expected {', '.join(missing)}")
    return {**known, **value}


def _list(value: Any, told: str) -> list[Any]:
    if not isinstance(value, list):
        raise UsageError(f"{told}: expected a list, got {value!r:.60}")
    return value


def _number(value: Any, least: float | None, told: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or (least is not None and value < least):
        raise UsageError(f"{told}: expected a number{f' from {least}' if least is not None else ''}, got {value!r:.60}")
    return value
