"""What the pipelines of a plan are like, which are wanted, and which transitions they need next."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from fieldplay.core.errors import UsageError
from fieldplay_cdff.orchestration.fallback_policy import Preference
from fieldplay_cdff.orchestration.plan import PipelinePlan, PlannedPipeline, require_known

UNKNOWN, GONE = "unknown", "gone"
UNCONFIGURED, INACTIVE, ACTIVE = "unconfigured", "inactive", "active"
CONFIGURE, ACTIVATE, DEACTIVATE, CLEANUP = "configure", "activate", "deactivate", "cleanup"
GIVES = {CONFIGURE: INACTIVE, ACTIVATE: ACTIVE, DEACTIVATE: INACTIVE, CLEANUP: UNCONFIGURED}


class NeededTransition(NamedTuple):
    """What a pipeline is to be asked for next."""

    pipeline: str
    transition: str


@dataclass
class ManagedPipeline:
    """A pipeline as it is known: its state by what was last heard, whether it is wanted, what is under way."""

    plan: PlannedPipeline
    state: str = UNKNOWN
    is_wanted: bool = False
    under_way: str = ""
    quality: float = math.nan
    told: str = ""

    @property
    def has_threads(self) -> bool:
        """Whether it uses its threads, or will when what is under way is done."""
        return self.state == ACTIVE or self.under_way == ACTIVATE


class Orchestration:
    """Says which transitions are needed for what is wanted, by hand or by the plan's policies.

    What comes from outside is told to it: states, qualities, how a transition ended. Times are of one clock, in s.
    """

    def __init__(self, plan: PipelinePlan) -> None:
        self.plan = plan
        self.pipelines = {name: ManagedPipeline(own) for name, own in plan.pipelines.items()}
        self._preferences = [Preference(policy) for policy in plan.policies]
        self._running: set[str] = set()  # preferred ones that are watched
        self.news: list[str] = []  # what is worth telling
        for name in plan.active:
            self.pipelines[name].is_wanted = True

    def switch_on(self, name: str) -> None:
        """Want a pipeline; UsageError where it is there already, or has no threads."""
        own = self._known(name)
        if own.is_wanted:
            raise UsageError(f"{name} is active already" if own.state == ACTIVE else f"{name} is being activated")
        others = [other for other in self.pipelines.values() if other is not own and other.is_wanted]
        used = sum(other.plan.threads for other in others)
        if used + own.plan.threads > self.plan.threads:
            names = ", ".join(other.plan.name for other in others)
            raise UsageError(
                f"{name} needs {own.plan.threads} of {self.plan.threads} threads, {names} have {used}: "
                "deactivate another first"
            )
        own.is_wanted, own.told = True, ""

    def switch_off(self, name: str) -> None:
        """Want a pipeline no more; UsageError where it is not wanted anyway."""
        own = self._known(name)
        if not own.is_wanted and own.state != ACTIVE:
            raise UsageError(f"{name} is not active")
        own.is_wanted = False
        self._running.discard(name)

    def require_idle(self, name: str) -> None:
        """UsageError where a pipeline cannot be configured now."""
        own = self._known(name)
        if own.is_wanted or own.state == ACTIVE or own.under_way:
            raise UsageError(f"{name} is active: deactivate it before it is configured")
        if own.state in (GONE, UNKNOWN):
            raise UsageError(f"{name} does not answer: is its node there?")

    def _known(self, name: str) -> ManagedPipeline:
        require_known(name, self.pipelines, "orchestrator")
        return self.pipelines[name]

    def hear_state(self, name: str, state: str) -> None:
        """What a pipeline says of its state, or that it does not answer."""
        own = self.pipelines[name]
        if own.under_way and state != GONE:
            return  # how that ends is told besides
        if state != own.state and own.state == ACTIVE and own.is_wanted:
            own.told = f"it became {state} by itself"
            self.news.append(f"{name}: {own.told}")
            own.is_wanted = state == GONE  # one that comes again is wanted still
            own.quality = math.nan
        if state == GONE:
            own.under_way = ""
        own.state = state

    def hear_failure(self, name: str, told: str) -> None:
        """What a pipeline says of a failure, such as which step hangs."""
        own = self.pipelines[name]
        if told and told != own.told:
            own.told = told
            self.news.append(f"{name}: {told}")

    def hear_quality(self, name: str, quality: float, now_s: float) -> None:
        """What a pipeline says of its quality."""
        self.pipelines[name].quality = quality
        for preference in self._preferences:
            if preference.policy.prefer == name and self.pipelines[name].state == ACTIVE:
                preference.hear(quality, now_s)

    def begin(self, step: NeededTransition) -> None:
        """A transition is under way."""
        self.pipelines[step.pipeline].under_way = step.transition

    def forget(self, name: str) -> None:
        """How a transition ends does not become known: nothing more is asked until the pipeline tells its state."""
        own = self.pipelines[name]
        own.under_way, own.state = "", UNKNOWN

    def finish(self, step: NeededTransition, *, is_done: bool, now_s: float) -> None:
        """A transition has ended; a pipeline that refuses it is wanted no more."""
        own = self.pipelines[step.pipeline]
        own.under_way = ""
        if is_done:
            own.state = GIVES[step.transition]
            return
        own.told = f"it refuses to {step.transition}"
        self.news.append(f"{step.pipeline}: {own.told}")
        own.is_wanted = False
        for preference in self._preferences:
            if preference.policy.prefer == step.pipeline and step.pipeline not in self._running:
                self._running.add(step.pipeline)
                preference.begin(now_s)

    def needed(self, now_s: float) -> list[NeededTransition]:
        """The transitions that are to be asked for now: first those that make room."""
        for preference in self._preferences:
            self._apply(preference, now_s)
        found = [
            NeededTransition(name, DEACTIVATE)
            for name, own in self.pipelines.items()
            if own.state == ACTIVE and not own.is_wanted and not own.under_way
        ]
        used = sum(own.plan.threads for own in self.pipelines.values() if own.has_threads)
        for name, own in self.pipelines.items():
            if not own.is_wanted or own.under_way:
                continue
            if own.state == UNCONFIGURED:
                found.append(NeededTransition(name, CONFIGURE))
            elif own.state == INACTIVE and used + own.plan.threads <= self.plan.threads:
                used += own.plan.threads
                found.append(NeededTransition(name, ACTIVATE))
        return found

    def _apply(self, preference: Preference, now_s: float) -> None:
        """Let a policy choose, once its first choice runs."""
        prefer, fallback = (self.pipelines[n] for n in (preference.policy.prefer, preference.policy.fallback))
        name = prefer.plan.name
        if name not in self._running:
            if not (prefer.is_wanted and prefer.state == ACTIVE):
                return
            self._running.add(name)
            preference.begin(now_s)
        reason = preference.decide(now_s)
        if not reason:
            return
        self.news.append(reason)
        for choice, is_wanted in preference.wanted.items():
            own = self.pipelines[choice]
            if is_wanted and own is prefer and not own.is_wanted and preference.is_fallen_back:
                continue  # it was stopped, and is not to be kept
            own.is_wanted = is_wanted
        fallback.told = reason if preference.is_fallen_back else ""
        if not preference.is_fallen_back and not preference.policy.keep:
            self._running.discard(name)  # its time begins when it is active again
