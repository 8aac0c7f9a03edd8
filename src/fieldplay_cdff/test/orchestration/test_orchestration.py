"""Plans of pipelines: what is wrong with one, which transitions follow, when another stands in; on a clock of ours."""

import math
from pathlib import Path
from typing import Any

import pytest

from fieldplay.core.errors import UsageError
from fieldplay_cdff.orchestration.orchestration import (
    GONE,
    NeededTransition,
    Orchestration,
    plan_of_file,
    plan_of_values,
    topics_of_plan,
)

VALUES: dict[str, Any] = {
    "threads": 3,
    "pipelines": {
        "odometry": {"dfpc": "VisualOdometry"},
        "mapping": {"dfpc": "Reconstruction3D", "threads": 1},
        "localisation": {"dfpc": "VisualOdometry", "threads": 1, "settings": ["a.b.c=1"]},
        "heavy": {"dfpc": "Reconstruction3D", "threads": 2},
    },
    "active": ["odometry", "mapping"],
    "policies": [{"prefer": "odometry", "fallback": "localisation", "quality": 0.3, "seconds": 2.0}],
}


class Pipelines:
    """Pipelines that do what they are asked for, at once, on a clock that is turned by hand."""

    def __init__(self, **changes: Any) -> None:
        self.now_s = 100.0
        self.orchestration = Orchestration(plan_of_values({**VALUES, **changes}))
        self.refused: set[NeededTransition] = set()
        self.requests: list[str] = []
        for name in self.orchestration.pipelines:
            self.orchestration.receive_state(name, "unconfigured")

    def turn(self, seconds: float, **qualities: float) -> None:
        """Let time go on in fifths of a second, with what pipelines tell of their quality each time."""
        for _ in range(round(seconds / 0.2)):
            self.now_s += 0.2
            for name, quality in qualities.items():
                if self.orchestration.pipelines[name].state == "active":
                    self.orchestration.receive_quality(name, quality, self.now_s)
            for step in self.orchestration.needed_transitions(self.now_s):
                self.requests.append(f"{step.transition} {step.pipeline}")
                self.orchestration.start_transition(step)
                self.orchestration.finish(step, is_done=step not in self.refused, now_s=self.now_s)

    @property
    def active(self) -> set[str]:
        return {name for name, own in self.orchestration.pipelines.items() if own.state == "active"}

    @property
    def threads(self) -> int:
        return sum(own.plan.threads for own in self.orchestration.pipelines.values() if own.has_threads)


def test_starting_pipelines_are_configured_and_activated_together() -> None:
    pipelines = Pipelines()
    pipelines.turn(1.0, odometry=0.9)
    assert pipelines.active == {"odometry", "mapping"}
    assert pipelines.requests == [
        "configure odometry", "configure mapping", "activate odometry", "activate mapping",
    ]  # fmt: skip


def test_late_pipeline_is_asked_for_required_transitions_only() -> None:
    orchestration = Pipelines().orchestration
    (first, _) = orchestration.needed_transitions(101.0)
    orchestration.start_transition(first)
    orchestration.forget(first.pipeline)
    assert first.pipeline not in {step.pipeline for step in orchestration.needed_transitions(102.0)}
    orchestration.receive_state(first.pipeline, "inactive")
    assert NeededTransition(first.pipeline, "activate") in orchestration.needed_transitions(103.0)


def test_fallback_runs_while_quality_is_low() -> None:
    pipelines = Pipelines()
    pipelines.turn(10.0, odometry=0.9)
    pipelines.turn(1.8, odometry=0.2)
    assert "localisation" not in pipelines.active, "not yet"
    pipelines.turn(0.2, odometry=0.9)
    pipelines.turn(1.8, odometry=0.2)
    assert "localisation" not in pipelines.active, "it was good between"
    pipelines.turn(0.6, odometry=0.2)
    assert pipelines.active == {"odometry", "mapping", "localisation"}
    assert pipelines.orchestration.news == ["odometry was below 0.3 for 2 s: localisation stands in"]
    pipelines.turn(1.8, odometry=0.8)
    assert "localisation" in pipelines.active, "not good for long enough"
    pipelines.turn(0.6, odometry=0.8)
    assert pipelines.active == {"odometry", "mapping"}
    assert pipelines.orchestration.news[1:] == ["odometry was at 0.3 and above for 2 s: it takes over again"]


@pytest.mark.parametrize("qualities", [{}, {"odometry": math.nan}])
def test_pipeline_without_reports_has_no_quality(qualities: dict[str, float]) -> None:
    pipelines = Pipelines()
    pipelines.turn(2.0, odometry=0.9)
    pipelines.turn(2.2, **qualities)
    assert "localisation" in pipelines.active
    pipelines.turn(1.0, odometry=0.9)
    assert "localisation" in pipelines.active, "one word is not enough"


def test_released_pipeline_rests_and_is_retried() -> None:
    policy = {**VALUES["policies"][0], "keep": False, "retry_s": 5.0}
    pipelines = Pipelines(policies=[policy], threads=2)
    pipelines.turn(1.0, odometry=0.9)
    pipelines.turn(3.0, odometry=0.1)
    assert pipelines.active == {"mapping", "localisation"} and pipelines.threads == 2
    pipelines.turn(4.8, odometry=0.9)
    assert pipelines.active == {"odometry", "mapping"}, "it gets its time"
    pipelines.turn(3.0, odometry=0.1)
    assert pipelines.active == {"mapping", "localisation"}
    order = [word for word in pipelines.requests if "activate" in word]
    assert order == ["activate odometry", "activate mapping", "deactivate odometry", "activate localisation",
                     "deactivate localisation", "activate odometry", "deactivate odometry",
                     "activate localisation"]  # fmt: skip


def test_pipeline_with_hanging_step_is_replaced_and_others_continue() -> None:
    pipelines = Pipelines()
    pipelines.turn(1.0, odometry=0.9)
    pipelines.orchestration.receive_failure("odometry", "hangs: tracker for 60.2 s; the pipeline is stopped")
    pipelines.orchestration.receive_state("odometry", "inactive")
    pipelines.turn(3.0)
    assert pipelines.active == {"mapping", "localisation"}
    assert pipelines.orchestration.news[:2] == [
        "odometry: hangs: tracker for 60.2 s; the pipeline is stopped",
        "odometry: it became inactive by itself",
    ]


def test_vanished_pipeline_is_replaced_and_resumed_when_it_returns() -> None:
    pipelines = Pipelines()
    pipelines.turn(1.0, odometry=0.9)
    pipelines.orchestration.receive_state("odometry", GONE)
    pipelines.turn(3.0)
    assert pipelines.active == {"mapping", "localisation"}
    pipelines.orchestration.receive_state("odometry", "unconfigured")
    pipelines.turn(4.0, odometry=0.9)
    assert pipelines.active == {"odometry", "mapping"}


def test_refusing_pipeline_is_reported_once_and_replaced() -> None:
    pipelines = Pipelines()
    pipelines.refused.add(NeededTransition("odometry", "configure"))
    pipelines.turn(5.0)
    assert pipelines.active == {"mapping", "localisation"}
    assert pipelines.requests.count("configure odometry") == 1
    assert pipelines.orchestration.news[0] == "odometry: it refuses to configure"


def test_manual_activation_without_need_or_threads_is_rejected() -> None:
    pipelines = Pipelines()
    pipelines.turn(1.0, odometry=0.9)
    orchestration = pipelines.orchestration
    for act, name, message in (
        (orchestration.switch_on, "odometry", "odometry is active already"),
        (orchestration.switch_on, "heavy", "heavy needs 2 of 3 threads, odometry, mapping have 2"),
        (orchestration.switch_on, "odometri", "there is no pipeline odometri: did you mean odometry"),
        (orchestration.switch_off, "heavy", "heavy is not active"),
        (orchestration.require_idle, "mapping", "mapping is active: deactivate it before it is configured"),
    ):
        with pytest.raises(UsageError, match=message):
            act(name)
    orchestration.switch_off("mapping")
    orchestration.switch_on("heavy")
    with pytest.raises(UsageError, match="heavy is being activated"):
        orchestration.switch_on("heavy")
    pipelines.turn(1.0, odometry=0.9)
    assert pipelines.active == {"odometry", "heavy"} and pipelines.threads == 3
    assert pipelines.requests[-3:] == ["deactivate mapping", "configure heavy", "activate heavy"]
    orchestration.require_idle("mapping")
    orchestration.receive_state("localisation", GONE)
    with pytest.raises(UsageError, match="localisation does not answer"):
        orchestration.require_idle("localisation")
    orchestration.switch_off("odometry")
    pipelines.turn(5.0)
    assert pipelines.active == {"heavy"}, "what was switched off by hand has no one to stand in for it"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"thread": 2}, "plan: unknown field thread: did you mean threads?"),
        ({"threads": 0}, "plan: threads: expected a number from 1, got 0"),
        ({"pipelines": {}}, "expected pipelines by their names"),
        ({"pipelines": {"a b": {"dfpc": "X"}}, "active": [], "policies": []}, "a b: expected a name of letters"),
        ({"pipelines": {"a": {}}, "active": [], "policies": []}, "plan: a: expected dfpc"),
        ({"active": ["heavy", "mapping", "odometry"]}, "heavy, mapping, odometry need 4 threads, all together have 3"),
        ({"active": ["mappin"]}, "active: there is no pipeline mappin: did you mean mapping?"),
        ({"policies": [{"prefer": "odometry"}]}, "policies: expected fallback, quality, seconds"),
        ({"policies": [{**VALUES["policies"][0], "fallback": "odometry"}]}, "cannot stand in for itself"),
        ({"policies": [{**VALUES["policies"][0], "seconds": -1}]}, "seconds: expected a number from 0, got -1"),
        ({"threads": 2, "policies": [{**VALUES["policies"][0], "fallback": "heavy"}]}, "need 3 threads.* keep: false"),
    ],
)
def test_impossible_plan_is_reported(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan_of_values({**VALUES, **changes})


def test_file_without_plan_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        plan_of_file(tmp_path / "plan.yaml")
    (tmp_path / "plan.yaml").write_text("pipelines: [")
    with pytest.raises(UsageError, match=r"plan.yaml: expected YAML"):
        plan_of_file(tmp_path / "plan.yaml")
    (tmp_path / "plan.yaml").write_text("- 1")
    with pytest.raises(UsageError, match="expected threads, pipelines, active, policies, got"):
        plan_of_file(tmp_path / "plan.yaml")


def test_pipelines_of_one_dfpc_have_topics_of_their_own() -> None:
    assert topics_of_plan(plan_of_values(VALUES)) == {
        "odometry": "visual_odometry", "mapping": "reconstruction_3d", "localisation": "localisation", "heavy": "heavy",
    }  # fmt: skip
    pipelines = {**VALUES["pipelines"], "odometry": {"dfpc": "VisualOdometry", "topic": "/vo/fast/"}}
    topics = topics_of_plan(plan_of_values({**VALUES, "pipelines": pipelines}))
    assert (topics["odometry"], topics["localisation"]) == ("vo/fast", "visual_odometry")


def test_equal_or_unusable_topics_are_refused() -> None:
    pipelines = {**VALUES["pipelines"], "heavy": {"dfpc": "Reconstruction3D", "topic": "a"},
                 "mapping": {"dfpc": "Reconstruction3D", "topic": "a"}}  # fmt: skip
    with pytest.raises(UsageError, match="mapping and heavy both publish below a: set another topic"):
        topics_of_plan(plan_of_values({**VALUES, "pipelines": pipelines}))
    pipelines["heavy"] = {"dfpc": "Reconstruction3D", "topic": "a b"}
    with pytest.raises(UsageError, match="heavy: expected a topic of letters, digits, _ and /, got 'a b'"):
        plan_of_values({**VALUES, "pipelines": pipelines})
