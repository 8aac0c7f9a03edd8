"""The pipelines of a plan: their states, which are requested, and the transitions that they need next."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from fieldplay.core.errors import UsageError, closest_name
from fieldplay.core.resources import config_folders
from fieldplay.core.yaml_safe import value_of_yaml
from fieldplay_cdff.pipeline.chains import source_of, topic_of

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
    "topic": "",
}
POLICY: Fields = {"prefer": None, "fallback": None, "quality": None, "seconds": None, "keep": True, "retry_s": 0.0}
UNKNOWN, GONE = "unknown", "gone"
UNCONFIGURED, INACTIVE, ACTIVE = "unconfigured", "inactive", "active"
CONFIGURE, ACTIVATE, DEACTIVATE, CLEANUP = "configure", "activate", "deactivate", "cleanup"
GIVES = {CONFIGURE: INACTIVE, ACTIVATE: ACTIVE, DEACTIVATE: INACTIVE, CLEANUP: UNCONFIGURED}


# A plan: pipelines, their total number of threads, which are active at the start, and the fallbacks.


@dataclass(frozen=True, kw_only=True)
class PlannedPipeline:
    """A pipeline of a plan: what it is, and how many threads it needs while it is active.

    `topic` is the one below which it publishes, where the plan sets it; `topics_of_plan` has that of each.
    """

    name: str
    dfpc: str
    implementation: str
    config: str
    settings: tuple[str, ...]
    inputs: tuple[str, ...]
    threads: int
    tf: bool
    topic: str = ""


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
        near = closest_name(path_or_name, files)
        hint = f": did you mean {near}?" if near else f"; there are {', '.join(files) or 'none'}"
        raise UsageError(f"there is no plan {path_or_name}{hint}")
    return files[path_or_name]


def plan_of_file(path: Path) -> PipelinePlan:
    """Read the plan in a file; UsageError names its issues."""
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    if path.stat().st_size > LARGEST:
        raise UsageError(f"{path}: expected a plan of {LARGEST} bytes at most")
    try:
        content = value_of_yaml(path.read_text("utf-8-sig"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: expected YAML: {' '.join(str(error).split())}") from None
    return plan_of_values(content, str(path))


def plan_of_values(content: Any, label: str = "plan") -> PipelinePlan:
    """The plan from plain values; `label` is their location in messages."""
    top = _fields(content, TOP, label)
    if not isinstance(top["pipelines"], dict) or not top["pipelines"]:
        raise UsageError(f"{label}: expected pipelines by their names")
    pipelines = {str(name): _pipeline(str(name), value, label) for name, value in top["pipelines"].items()}
    threads = _number(top["threads"], 1, f"{label}: threads")
    policies = tuple(_policy(value, pipelines, label) for value in _list(top["policies"], f"{label}: policies"))
    active = tuple(str(name) for name in _list(top["active"], f"{label}: active"))
    for name in active:
        require_known(name, pipelines, f"{label}: active")
    for pipeline in pipelines.values():
        if pipeline.threads > threads:
            raise UsageError(f"{label}: {pipeline.name} needs {pipeline.threads} threads, all together have {threads}")
    needed = sum(pipelines[name].threads for name in dict.fromkeys(active))
    if needed > threads:
        raise UsageError(f"{label}: {', '.join(active)} need {needed} threads, all together have {threads}")
    for policy in policies:
        both = pipelines[policy.prefer].threads + pipelines[policy.fallback].threads
        if policy.keep and both > threads:
            raise UsageError(
                f"{label}: {policy.prefer} and {policy.fallback} need {both} threads, all together have {threads}: "
                "keep: false lets the first rest"
            )
    return PipelinePlan(threads=int(threads), pipelines=pipelines, active=active, policies=policies)


def require_known(name: str, pipelines: Mapping[str, Any], label: str) -> None:
    """UsageError where there is no pipeline of that name, with the near one."""
    if name not in pipelines:
        near = closest_name(name, pipelines)
        hint = f": did you mean {near}?" if near else f"; there are {', '.join(pipelines)}"
        raise UsageError(f"{label}: there is no pipeline {name}{hint}")


def _pipeline(name: str, value: Any, label: str) -> PlannedPipeline:
    label = f"{label}: {name}"
    if not name.isidentifier():
        raise UsageError(f"{label}: expected a name of letters, digits and _")
    fields = _fields(value, PIPELINE, label)
    lists = {key: tuple(map(str, _list(fields[key], f"{label}: {key}"))) for key in ("settings", "inputs")}
    return PlannedPipeline(
        name=name, dfpc=str(fields["dfpc"]), implementation=str(fields["implementation"]), config=str(fields["config"]),
        threads=int(_number(fields["threads"], 1, f"{label}: threads")), tf=bool(fields["tf"]),
        topic=_topic(fields["topic"], label), **lists,
    )  # fmt: skip


def _topic(value: Any, label: str) -> str:
    """A topic relative to the namespace; frames are named after it."""
    topic = str(value).strip("/")
    if topic and not all(part.isidentifier() for part in topic.split("/")):
        raise UsageError(f"{label}: expected a topic of letters, digits, _ and /, got {value!r:.60}")
    return topic


def topics_of_plan(plan: PipelinePlan) -> dict[str, str]:
    """The topic below which each pipeline of a plan publishes, by its name.

    That is the topic of its DFPC. Where several pipelines share one, the first has it and each other one has its own
    name. UsageError where a plan gives two pipelines the same.
    """
    topics = {name: pipeline.topic for name, pipeline in plan.pipelines.items() if pipeline.topic}
    for name, pipeline in plan.pipelines.items():
        if name not in topics:
            usual = topic_of(source_of(pipeline.dfpc).description)
            topics[name] = name if usual in topics.values() else usual
    for name, topic in topics.items():
        others = [other for other, own in topics.items() if own == topic and other != name]
        if others:
            raise UsageError(f"the pipelines {name} and {others[0]} both publish below {topic}: set another topic")
    return {name: topics[name] for name in plan.pipelines}


def _policy(value: Any, pipelines: Mapping[str, PlannedPipeline], label: str) -> PreferencePolicy:
    label = f"{label}: policies"
    fields = _fields(value, POLICY, label)
    prefer, fallback = str(fields["prefer"]), str(fields["fallback"])
    for name in (prefer, fallback):
        require_known(name, pipelines, label)
    if prefer == fallback:
        raise UsageError(f"{label}: {prefer} cannot stand in for itself")
    return PreferencePolicy(
        prefer=prefer, fallback=fallback, quality=_number(fields["quality"], None, f"{label}: quality"),
        seconds=_number(fields["seconds"], 0, f"{label}: seconds"), keep=bool(fields["keep"]),
        retry_s=_number(fields["retry_s"], 0, f"{label}: retry_s"),
    )  # fmt: skip


def _fields(value: Any, known: Fields, label: str) -> dict[str, Any]:
    """The fields of a map; those that are None among the known ones must be there."""
    if not isinstance(value, dict):
        raise UsageError(f"{label}: expected {', '.join(known)}, got {value!r:.60}")
    for name in value:
        if name not in known:
            near = closest_name(str(name), known)
            raise UsageError(f"{label}: unknown field {name}{f': did you mean {near}?' if near else ''}")
    missing = [name for name, usual in known.items() if usual is None and name not in value]
    if missing:
        raise UsageError(f"{label}: expected {', '.join(missing)}")
    return {**known, **value}


def _list(value: Any, label: str) -> list[Any]:
    if not isinstance(value, list):
        raise UsageError(f"{label}: expected a list, got {value!r:.60}")
    return value


def _number(value: Any, minimum: float | None, label: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or (minimum is not None and value < minimum):
        raise UsageError(
            f"{label}: expected a number{f' from {minimum}' if minimum is not None else ''}, got {value!r:.60}"
        )
    return value


class Preference:
    """Selects a pipeline by the reported quality of the preferred one; all times are those of one clock, in s.

    No report counts as bad: a pipeline that withholds its results, hangs or has exited has no quality.
    """

    def __init__(self, policy: PreferencePolicy) -> None:
        self.policy = policy
        self.is_fallen_back = False
        self._good_s = 0.0  # when it was last good, or began
        self._bad_s = 0.0  # when it was last bad, or silent
        self._since_s = 0.0  # of the present choice

    def start(self, now_s: float) -> None:
        """Start the preferred pipeline, and its grace time to become good."""
        self.is_fallen_back = False
        self._good_s = self._bad_s = self._since_s = now_s

    def receive_quality(self, quality: float, now_s: float) -> None:
        """Receive a quality of the preferred pipeline; NaN is bad."""
        if now_s - max(self._good_s, self._bad_s) > self.policy.seconds:
            self._bad_s = now_s  # it was silent until now
        if quality >= self.policy.quality:
            self._good_s = now_s
        else:
            self._bad_s = now_s

    def decide(self, now_s: float) -> str:
        """Update the selection and return the reason for a change; "" if there is none."""
        policy = self.policy
        if not self.is_fallen_back:
            if now_s - self._good_s < policy.seconds:
                return ""
            self.is_fallen_back, self._since_s = True, now_s
            return f"{policy.prefer} was below {policy.quality:g} for {policy.seconds:g} s: {policy.fallback} stands in"
        if policy.keep:
            is_good = self._good_s > self._bad_s and now_s - self._good_s < max(policy.seconds, 1.0)
            if not is_good or now_s - self._bad_s < policy.seconds or now_s - self._since_s < policy.seconds:
                return ""
            news = f"{policy.prefer} was at {policy.quality:g} and above for {policy.seconds:g} s: it takes over again"
        else:
            if not policy.retry_s or now_s - self._since_s < policy.retry_s:
                return ""
            news = f"{policy.prefer} has rested for {policy.retry_s:g} s: it is tried again"
        self.start(now_s)
        return news

    @property
    def requested(self) -> dict[str, bool]:
        """Return which of both pipelines are to be active."""
        policy = self.policy
        return {policy.prefer: not self.is_fallen_back or policy.keep, policy.fallback: self.is_fallen_back}


class NeededTransition(NamedTuple):
    """A transition to request from a pipeline."""

    pipeline: str
    transition: str


@dataclass
class ManagedPipeline:
    """The known state of a pipeline: the last reported one, whether it is requested, and the current transition."""

    plan: PlannedPipeline
    state: str = UNKNOWN
    is_requested: bool = False
    transition: str = ""
    quality: float = math.nan
    message: str = ""

    @property
    def has_threads(self) -> bool:
        """Whether it uses its threads, or will after the current transition."""
        return self.state == ACTIVE or self.transition == ACTIVATE


class Orchestration:
    """Determines the transitions that lead to the requested state, set manually or by the plan's policies.

    It receives external events: states, qualities, results of transitions. Times are those of one clock, in s.
    """

    def __init__(self, plan: PipelinePlan) -> None:
        self.plan = plan
        self.pipelines = {name: ManagedPipeline(pipeline) for name, pipeline in plan.pipelines.items()}
        self._preferences = [Preference(policy) for policy in plan.policies]
        self._running: set[str] = set()  # preferred ones that are monitored
        self.news: list[str] = []  # messages for the log
        for name in plan.active:
            self.pipelines[name].is_requested = True

    def switch_on(self, name: str) -> None:
        """Want a pipeline; UsageError where it is there already, or has no threads."""
        pipeline = self._pipeline(name)
        if pipeline.is_requested:
            raise UsageError(f"{name} is active already" if pipeline.state == ACTIVE else f"{name} is being activated")
        others = [other for other in self.pipelines.values() if other is not pipeline and other.is_requested]
        used = sum(other.plan.threads for other in others)
        if used + pipeline.plan.threads > self.plan.threads:
            names = ", ".join(other.plan.name for other in others)
            raise UsageError(
                f"{name} needs {pipeline.plan.threads} of {self.plan.threads} threads, {names} have {used}: "
                "deactivate another first"
            )
        pipeline.is_requested, pipeline.message = True, ""

    def switch_off(self, name: str) -> None:
        """Withdraw the request of a pipeline; UsageError if it is not requested."""
        pipeline = self._pipeline(name)
        if not pipeline.is_requested and pipeline.state != ACTIVE:
            raise UsageError(f"{name} is not active")
        pipeline.is_requested = False
        self._running.discard(name)

    def require_idle(self, name: str) -> None:
        """UsageError where a pipeline cannot be configured now."""
        pipeline = self._pipeline(name)
        if pipeline.is_requested or pipeline.state == ACTIVE or pipeline.transition:
            raise UsageError(f"{name} is active: deactivate it before it is configured")
        if pipeline.state in (GONE, UNKNOWN):
            raise UsageError(f"{name} does not answer: is its node there?")

    def _pipeline(self, name: str) -> ManagedPipeline:
        require_known(name, self.pipelines, "orchestrator")
        return self.pipelines[name]

    def receive_state(self, name: str, state: str) -> None:
        """Receive the state of a pipeline, or that it does not answer."""
        pipeline = self.pipelines[name]
        if pipeline.transition and state != GONE:
            return  # the result of the transition is reported separately
        if state != pipeline.state and pipeline.state == ACTIVE and pipeline.is_requested:
            pipeline.message = f"it became {state} by itself"
            self.news.append(f"{name}: {pipeline.message}")
            pipeline.is_requested = state == GONE  # still requested when it comes back
            pipeline.quality = math.nan
        if state == GONE:
            pipeline.transition = ""
        pipeline.state = state

    def receive_failure(self, name: str, message: str) -> None:
        """Receive a failure of a pipeline, such as a hanging step."""
        pipeline = self.pipelines[name]
        if message and message != pipeline.message:
            pipeline.message = message
            self.news.append(f"{name}: {message}")

    def receive_quality(self, name: str, quality: float, now_s: float) -> None:
        """Receive the quality of a pipeline."""
        self.pipelines[name].quality = quality
        for preference in self._preferences:
            if preference.policy.prefer == name and self.pipelines[name].state == ACTIVE:
                preference.receive_quality(quality, now_s)

    def start_transition(self, step: NeededTransition) -> None:
        """Mark a transition as in progress."""
        self.pipelines[step.pipeline].transition = step.transition

    def forget(self, name: str) -> None:
        """Mark the result of a transition as unknown: request nothing more until the pipeline reports its state."""
        pipeline = self.pipelines[name]
        pipeline.transition, pipeline.state = "", UNKNOWN

    def finish(self, step: NeededTransition, *, is_done: bool, now_s: float) -> None:
        """A transition has ended; a pipeline that refuses it is no longer requested."""
        pipeline = self.pipelines[step.pipeline]
        pipeline.transition = ""
        if is_done:
            pipeline.state = GIVES[step.transition]
            return
        pipeline.message = f"it refuses to {step.transition}"
        self.news.append(f"{step.pipeline}: {pipeline.message}")
        pipeline.is_requested = False
        for preference in self._preferences:
            if preference.policy.prefer == step.pipeline and step.pipeline not in self._running:
                self._running.add(step.pipeline)
                preference.start(now_s)

    def needed_transitions(self, now_s: float) -> list[NeededTransition]:
        """Return the transitions to request now: first those that free threads."""
        for preference in self._preferences:
            self._apply(preference, now_s)
        transitions = [
            NeededTransition(name, DEACTIVATE)
            for name, pipeline in self.pipelines.items()
            if pipeline.state == ACTIVE and not pipeline.is_requested and not pipeline.transition
        ]
        used = sum(pipeline.plan.threads for pipeline in self.pipelines.values() if pipeline.has_threads)
        for name, pipeline in self.pipelines.items():
            if not pipeline.is_requested or pipeline.transition:
                continue
            if pipeline.state == UNCONFIGURED:
                transitions.append(NeededTransition(name, CONFIGURE))
            elif pipeline.state == INACTIVE and used + pipeline.plan.threads <= self.plan.threads:
                used += pipeline.plan.threads
                transitions.append(NeededTransition(name, ACTIVATE))
        return transitions

    def _apply(self, preference: Preference, now_s: float) -> None:
        """Let a policy choose, once its first choice runs."""
        prefer, fallback = (self.pipelines[n] for n in (preference.policy.prefer, preference.policy.fallback))
        name = prefer.plan.name
        if name not in self._running:
            if not (prefer.is_requested and prefer.state == ACTIVE):
                return
            self._running.add(name)
            preference.start(now_s)
        reason = preference.decide(now_s)
        if not reason:
            return
        self.news.append(reason)
        for choice, is_requested in preference.requested.items():
            pipeline = self.pipelines[choice]
            if is_requested and pipeline is prefer and not pipeline.is_requested and preference.is_fallen_back:
                continue  # it was stopped, and is not to be kept
            pipeline.is_requested = is_requested
        fallback.message = reason if preference.is_fallen_back else ""
        if not preference.is_fallen_back and not preference.policy.keep:
            self._running.discard(name)  # its time starts when it is active again
