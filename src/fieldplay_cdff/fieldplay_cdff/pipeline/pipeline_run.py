"""Runs a chain: inputs as they come, steps in a defined order, outputs with the stamps of the inputs."""

import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import cv2

from fieldplay.core.errors import UsageError, UserError, closest_name
from fieldplay.geometry.camera_model import CameraModel
from fieldplay_cdff.descriptors.model import End
from fieldplay_cdff.pipeline.chains import source_of
from fieldplay_cdff.pipeline.configuration import Configuration, merge_groups
from fieldplay_cdff.pipeline.inputs import PipelineInputs, SyncedInputs
from fieldplay_cdff.pipeline.memory_meter import MemoryMeter
from fieldplay_cdff.pipeline.pipeline_graph import GraphNode, RunnableGraph, graph_of
from fieldplay_cdff.pipeline.statistics import (
    NO_RESULT,
    NumberSeries,
    RunStatistics,
    StepStatistics,
)
from fieldplay_cdff.steps.step import ParameterGroups, Ports, Step, parameters
from fieldplay_cdff.stereo.refusals import Reason, Refusal

MATRIX_INDICES: Mapping[str, tuple[int, int]] = MappingProxyType({  # in the camera's matrix, by the parameter's suffix
    "FocalLengthX": (0, 0), "FocalLengthY": (1, 1), "FocalLength": (0, 0), "PointX": (0, 2), "PointY": (1, 2),
})  # fmt: skip
BASELINE = "Baseline"
MAX_FAILURES = 10  # failures of a step in a row, from which on it is reported as failing
MAX_RECORDED_FAILURES = 1000
STEP_ERRORS = (
    ValueError,
    ArithmeticError,
    LookupError,
    RuntimeError,
    MemoryError,
    cv2.error,
)  # of what a step is given
REASONS: Mapping[str, Reason] = MappingProxyType({  # for steps that report only that they have no result
    "FundamentalMatrixComputation": Reason.FEW_INLIERS, "CamerasTransformEstimation": Reason.FEW_INLIERS,
    "PerspectiveNPointSolving": Reason.FEW_INLIERS, "Transform3DEstimation": Reason.FEW_INLIERS,
    "BundleAdjustment": Reason.FEW_INLIERS, "Registration3D": Reason.NOT_REGISTERED,
    "ReliefMeasurement": Reason.AMBIGUOUS_SURFACE, "FeaturesMatching3D": Reason.NOT_FOUND,
    "ModelContourTracking": Reason.NOT_FOUND, "WheelLocalisation": Reason.NOT_FOUND,
})  # fmt: skip
SUCCESS = "success"
QUALITY = "quality"


# Camera parameters for steps that receive no image.


def with_cameras(node: GraphNode, cameras: Mapping[str, CameraModel], baseline_m: float) -> dict[str, dict[str, Any]]:
    """Merge the parameters of a step with those of its cameras; UsageError names a missing camera."""
    known = parameters().get(node.kind.implementation, {})
    groups: dict[str, dict[str, Any]] = {}
    for group, name in node.kind.camera_groups.items():
        own = [each for each in known.get(group, {}) if each not in node.parameters.get(group, {})]
        if any(_is_of_camera(each) for each in own) and name not in cameras:
            there = ", ".join(cameras) or "none"
            raise UsageError(
                f"{node.location}{node.id} takes the camera {name}, of which nothing is known; known: {there}"
            )
        if BASELINE in own and not baseline_m > 0:
            raise UsageError(f"{node.location}{node.id} takes a baseline above 0 m, got {baseline_m}")
        groups[group] = {each: _value(each, cameras.get(name), baseline_m) for each in own if _is_known(each)}
    return merge_groups(groups, node.parameters)


def _matrix_index(parameter: str) -> tuple[int, int] | None:
    return next((index for end, index in MATRIX_INDICES.items() if parameter.endswith(end)), None)


def _is_of_camera(parameter: str) -> bool:
    return _matrix_index(parameter) is not None


def _is_known(parameter: str) -> bool:
    return parameter == BASELINE or _is_of_camera(parameter)


def _value(parameter: str, camera: CameraModel | None, baseline_m: float) -> float:
    index = _matrix_index(parameter)
    return float(baseline_m) if index is None or camera is None else float(camera.matrix[index])


class PipelineStopped(UserError):
    """A step failed again and again, and the pipeline was to stop then."""


class PipelineOutput(NamedTuple):
    """An output of a port, with the stamp of the inputs."""

    port: str
    value: Any
    stamp_ns: int


class Failure(NamedTuple):
    """A step, or an input, that failed: why, at which stamps of the inputs by port, how often in a row by then."""

    step: str
    message: str
    stamps: Mapping[str, int]
    in_a_row: int = 1

    def __str__(self) -> str:
        stamps = ", ".join(f"{port} {stamp}" for port, stamp in self.stamps.items())
        return f"{self.step}: {self.message} ({stamps})"


class Call(NamedTuple):
    """A step that was called: what came out, or what failed, and how long it took."""

    node: GraphNode
    inputs: Mapping[str, Any]
    outputs: Ports
    issue: str
    wall_s: float
    own_cpu_s: float  # of the thread that called it
    memory: tuple[int, int] = (0, 0)  # bytes beyond those before: at the peak, at the end


@dataclass
class Activation:
    """The values of one set of inputs, by their source, and which are new."""

    stamp_ns: int
    at_s: float
    new: dict[End, Any]
    old: dict[End, Any] = field(default_factory=dict)  # values made from earlier inputs alone
    due: frozenset[str] = frozenset()  # steps whose time has come
    stamps: Mapping[str, int] = field(default_factory=dict)
    refusals: list[tuple[str, Refusal]] = field(default_factory=list)  # by steps, in the order in which they ran
    is_first: bool = False  # whether the result holds by definition


class Pipeline:
    """A running chain: each input returns the resulting outputs at once.

    A step that fails is noted in `failures` and gives nothing; those that do not need it go on. Steps that do not need
    each other run at the same time where there are threads; all results are the same for any number of them.
    """

    def __init__(
        self,
        graph: RunnableGraph,
        steps: Mapping[str, Step],
        *,
        threads: int = 1,
        stop_after: int = 0,
        measures_memory: bool = False,
    ) -> None:
        self.graph, self.steps, self.threads = graph, dict(steps), max(1, threads)
        self.name, self.implementation, self.topic = graph.name, graph.implementation, graph.topic
        self.inputs = {name: port.type for name, port in graph.inputs.items()}
        self.outputs, self.bodies = dict(graph.outputs), graph.bodies
        self.failures: deque[Failure] = deque(maxlen=MAX_RECORDED_FAILURES)
        self._stop_after = stop_after
        self._running: dict[str, float] = {}  # steps that run, and since when
        is_parallel = self.threads > 1 and any(len(level) > 1 for level in graph.levels)
        self._pool = ThreadPoolExecutor(self.threads) if is_parallel else None
        self.statistics = self._statistics()
        self._memory = MemoryMeter() if measures_memory else None
        self.statistics.memory_method = self._memory.method if self._memory else ""
        self._start_run()
        for name, step in self.steps.items():
            for text in step.notes:
                self._note(name, text, {})

    def _start_run(self) -> None:
        self._arrivals = PipelineInputs(self.graph.inputs, self.statistics.drop, self._refuse)
        self._held: dict[End, Any] = {}  # of inputs that are held
        self._later: dict[End, Any] = {}  # what steps gave before
        self._latest: dict[End, Any] = {}  # for steps that run on one port, or at their time
        self._last_calls: dict[str, tuple[Mapping[str, Any], Mapping[End, Any]]] = {}  # on nothing new
        self._next_ns: dict[str, int] = {}
        self._in_a_row: Counter[str] = Counter()
        self._last_ns = 0
        runs = [node for node in self.graph.nodes if node.trigger or node.hz]
        self._used_sources = {source for node in runs for source in node.inputs.values()}
        self._fresh_for: dict[str, bool] = {node.id: False for node in runs if node.hz}

    def _statistics(self) -> RunStatistics:
        return RunStatistics(
            {node.id: StepStatistics(node.id, node.kind.dfn, node.kind.implementation) for node in self.graph.nodes}
        )

    def reset(self) -> None:
        """Forget all that came before; the statistics go on."""
        for step in self.steps.values():
            step.reset()
        self._start_run()

    def close(self) -> None:
        """End the threads."""
        if self._pool:
            self._pool.shutdown()
            self._pool = None

    def __enter__(self) -> "Pipeline":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def feed(self, port: str, value: Any, stamp_ns: int) -> list[PipelineOutput]:
        """Process an input and return the resulting outputs; stamps of a port must increase."""
        if port not in self.inputs:
            near = closest_name(port, self.inputs)
            hint = f": did you mean {near}?" if near else f"; it has {', '.join(self.inputs)}"
            raise UsageError(f"{self.name} has no input {port}{hint}")
        self.statistics.inputs[port] = self.statistics.inputs.get(port, 0) + 1
        outputs = self.run(self._arrivals.add(port, stamp_ns, value))
        self.statistics.unequal = self._arrivals.unequal
        return outputs

    def refuse(self, port: str, stamp_ns: int, reason: str) -> list[PipelineOutput]:
        """Something came at an input that cannot be used: success is false and quality 0, once for its set."""
        self.statistics.inputs[port] = self.statistics.inputs.get(port, 0) + 1
        return self.run(self._arrivals.refuse(port, stamp_ns, reason))

    def finish(self) -> list[PipelineOutput]:
        """Return the outputs at the end of the inputs."""
        results = self.run(self._arrivals.finish())
        self.statistics.unequal = self._arrivals.unequal
        last = {End(node.id, port): value for node in self.graph.nodes
                for port, value in self.steps[node.id].finish().items()}  # fmt: skip
        outputs = ((port, self.graph.sources[port]) for port in self.outputs if port in self.graph.sources)
        return results + [PipelineOutput(port, last[end], self._last_ns) for port, end in outputs if end in last]

    def run(self, sets: Sequence[SyncedInputs]) -> list[PipelineOutput]:
        """Return the outputs of a set of inputs, as grouped by `feed` or by a queue before it."""
        outputs: list[PipelineOutput] = []
        for each in sets:
            if each.refused:
                outputs += self._refusal_outputs(each)
                continue
            new = {End(None, port): value for port, value in each.values.items()}
            if each.is_held:
                self._held.update(new)
                continue
            if each.jumped:
                self._forget()
            stamps = dict.fromkeys(each.values, each.stamp_ns)
            for due_ns, due in self._due(each.stamp_ns):
                outputs += self._wave(Activation(due_ns, each.at_s, {}, due=due, stamps=stamps))
            outputs += self._wave(Activation(each.stamp_ns, each.at_s, new, stamps=stamps))
            self._last_ns = each.stamp_ns
            self.statistics.waves += 1
        return outputs

    def _refusal_outputs(self, refused: SyncedInputs) -> list[PipelineOutput]:
        self.statistics.refuse(refused.refused)
        values = [(SUCCESS, False), (QUALITY, 0.0)]
        return [PipelineOutput(port, value, refused.stamp_ns) for port, value in values if port in self.outputs]

    def _refuse(self, port: str, issue: str, stamp_ns: int) -> None:
        self.statistics.skip(port)
        self._note(port, issue, {port: stamp_ns})

    def _forget(self) -> None:
        """Time is another now: some steps forget what they know."""
        self._next_ns.clear()
        for node in self.graph.nodes:
            if node.reset_on == "jump":
                self.steps[node.id].reset()
                for end in [each for each in self._later if each.step == node.id]:
                    del self._later[end]

    def _due(self, stamp_ns: int) -> list[tuple[int, frozenset[str]]]:
        """The times before a stamp at which steps run, with those; where nothing new is there, none runs."""
        due: dict[int, set[str]] = {}
        for node in self.graph.nodes:
            if not node.hz:
                continue
            period_ns = round(1e9 / node.hz)
            next_ns = self._next_ns.setdefault(node.id, stamp_ns + period_ns)
            if next_ns <= stamp_ns:
                due.setdefault(next_ns, set()).add(node.id)
                self._next_ns[node.id] = next_ns + period_ns * ((stamp_ns - next_ns) // period_ns + 1)
        return [(at_ns, frozenset(names)) for at_ns, names in sorted(due.items())]

    def _wave(self, wave: Activation) -> list[PipelineOutput]:
        """Run all steps for one set of inputs: level by level, delayed outputs last."""
        self._latest.update({end: value for end, value in wave.new.items() if end in self._used_sources})
        for level in self.graph.levels:
            ready = [(node, values) for node in level if (values := self._inputs(node, wave)) is not None]
            ready = [each for each in ready if not self._is_as_before(*each, wave)]
            for call in self._call_steps(ready):
                self._take(call, wave)
            self._check_rows(wave)
        later = [node for node in self.graph.nodes if node.kind.gives_later]
        port_values: dict[End, Any] = {}
        for node in later:
            values = self._values(node, wave.new)
            if len(values) == len(node.inputs):  # what it may do without is awaited where it is connected
                (call,) = self._call_steps([(node, values)])
                port_values.update(self._count_outputs(call, wave))
        self._later.update(port_values)
        return self._outputs(wave)

    def _inputs(self, node: GraphNode, wave: Activation) -> dict[str, Any] | None:
        """The inputs of a step; None if it does not run."""
        if node.kind.gives_later:
            return None
        if node.hz:
            self._fresh_for[node.id] |= any(source in wave.new for source in node.inputs.values())
            if node.id not in wave.due or not self._fresh_for[node.id]:
                return None
            self._fresh_for[node.id] = False
        elif node.trigger:
            if node.inputs[node.trigger] not in wave.new:
                return None
        elif node.kind.keeps_state and not self._is_new(node, wave):
            return None
        is_loose = bool(node.hz or node.trigger)
        known = {**self._held, **self._later, **wave.old, **(self._latest if is_loose else {}), **wave.new}
        values = self._values(node, known)
        return values if self._has_mandatory(node, values) else None

    def _is_as_before(self, node: GraphNode, values: Mapping[str, Any], wave: Activation) -> bool:
        """Whether a step's inputs are those of its last call, none of them new: then its outputs are still valid."""
        if self._is_new(node, wave) or node.kind.keeps_state:
            return False
        last = self._last_calls.get(node.id)
        is_same = last is not None and last[0].keys() == values.keys()
        if last is None or not is_same or any(last[0][port] is not value for port, value in values.items()):
            return False
        wave.old.update(last[1])
        return True

    @staticmethod
    def _is_new(node: GraphNode, wave: Activation) -> bool:
        return node.id in wave.due or any(source in wave.new for source in node.inputs.values())

    @staticmethod
    def _values(node: GraphNode, known: Mapping[End, Any]) -> dict[str, Any]:
        return {port: known[source] for port, source in node.inputs.items() if source in known}

    @staticmethod
    def _has_mandatory(node: GraphNode, values: Mapping[str, Any]) -> bool:
        return bool(values) and all(port in values for port in node.mandatory)

    def _call_steps(self, ready: Sequence[tuple[GraphNode, Mapping[str, Any]]]) -> list[Call]:
        """Call steps, in parallel where there are threads; CPU time is that of all threads."""
        if not ready:
            return []
        start = time.process_time()
        if self._pool is None or len(ready) == 1:
            calls = [self._call(node, values) for node, values in ready]
        else:
            calls = list(self._pool.map(lambda each: self._call(*each), ready))
        total = time.process_time() - start
        own = sum(call.own_cpu_s for call in calls)
        wall = sum(call.wall_s for call in calls) or 1.0
        rest = max(0.0, total - own)  # of threads that the steps began
        return [call._replace(own_cpu_s=call.own_cpu_s + rest * call.wall_s / wall) for call in calls]

    def _call(self, node: GraphNode, values: Mapping[str, Any]) -> Call:
        resident = self._memory.start() if self._memory else 0
        start, cpu = time.perf_counter(), time.thread_time()
        self._running[node.id] = time.monotonic()
        outputs: Ports = {}
        issue, step = "", self.steps[node.id]
        step.refusal, step.is_first = None, False
        try:
            outputs = step.process(**node.constants, **values)
        except STEP_ERRORS as error:
            issue = " ".join(str(error).split()) or type(error).__name__
        finally:
            self._running.pop(node.id, None)
        wall_s, cpu_s = time.perf_counter() - start, time.thread_time() - cpu
        memory = self._memory.growth(resident) if self._memory else (0, 0)
        return Call(node, values, outputs, issue, wall_s, cpu_s, memory)

    def _take(self, call: Call, wave: Activation) -> None:
        new = self._count_outputs(call, wave)
        if self._is_new(call.node, wave):
            wave.new.update(new)
        else:
            wave.old.update(new)
            self._last_calls[call.node.id] = (call.inputs, new)
        self._latest.update({end: value for end, value in new.items() if end in self._used_sources})

    def _count_outputs(self, call: Call, wave: Activation) -> dict[End, Any]:
        """Count and return the outputs of a call."""
        own = self.statistics.steps[call.node.id]
        own.calls += 1
        own.wall_s.add(call.wall_s)
        own.cpu_s.add(call.own_cpu_s)
        own.gave(call.outputs)
        own.took(call.memory)
        step = self.steps[call.node.id]
        refusal = step.refusal
        if refusal is None and call.outputs.get(SUCCESS) is False and call.node.kind.dfn in REASONS:
            refusal = Refusal(reason=REASONS[call.node.kind.dfn])
        if refusal is not None:
            wave.refusals.append((call.node.id, refusal))
        wave.is_first |= step.is_first
        if call.issue:
            own.failures += 1
            self._in_a_row[call.node.id] += 1
            own.most_in_a_row = max(own.most_in_a_row, self._in_a_row[call.node.id])
            self._note(call.node.id, call.issue, wave.stamps, self._in_a_row[call.node.id])
            wave.refusals.append((call.node.id, Refusal(reason=Reason.STEP_FAILED, detail=call.issue)))
        else:
            self._in_a_row[call.node.id] = 0
        return {End(call.node.id, port): value for port, value in call.outputs.items()}

    def _note(self, step: str, message: str, stamps: Mapping[str, int], in_a_row: int = 1) -> None:
        self.failures.append(Failure(step, message, dict(stamps), in_a_row))

    def _check_rows(self, wave: Activation) -> None:
        """Stop if a step failed the configured number of times in a row."""
        if self._stop_after:
            for step, count in self._in_a_row.items():
                if count >= self._stop_after:
                    last = self.failures[-1]
                    message = f"{self.name}: {step} failed {count} times in a row, at last: {last.message}"
                    raise PipelineStopped(f"{message}, at {wave.stamp_ns}")

    def _outputs(self, wave: Activation) -> list[PipelineOutput]:
        outputs = []
        age_s = time.monotonic() - wave.at_s
        if SUCCESS in self.outputs and not wave.due:  # where nothing came of it
            if any(refusal.is_final for _, refusal in wave.refusals):
                wave.new = {self.graph.sources[SUCCESS]: False}
            wave.new.setdefault(self.graph.sources[SUCCESS], False)
            if not wave.new[self.graph.sources[SUCCESS]]:
                self._count_refusal(wave)
                if QUALITY in self.outputs:
                    wave.new.setdefault(self.graph.sources[QUALITY], 0.0)
        for port in self.outputs:
            source = self.graph.sources.get(port)
            if source in wave.new:
                outputs.append(PipelineOutput(port, wave.new[source], wave.stamp_ns))
                self.statistics.age_s.setdefault(port, NumberSeries()).add(age_s)
        is_accepted = any(each.port == SUCCESS and each.value for each in outputs)
        self.statistics.accepted += is_accepted
        self.statistics.by_definition += is_accepted and wave.is_first
        return outputs

    def _count_refusal(self, wave: Activation) -> None:
        """Count why a set of inputs has no result: the reason of the first step that refused anything."""
        step, refusal = next((each for each in wave.refusals if each[1].reason != Reason.NO_RESULT), ("", None))
        self.statistics.refuse(NO_RESULT if refusal is None else str(refusal.reason), step, refusal)

    @property
    def chosen(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Parameters that were `auto`, as the first images chose them, by step, group and name."""
        return {
            name: {group: dict(values) for group, values in step.chosen.items()}
            for name, step in self.steps.items()
            if step.chosen
        }

    def hanging(self, limit_s: float, now_s: float) -> dict[str, float]:
        """Steps that have run for longer than so many seconds, and how long; `now_s` is the monotonic clock."""
        hanging = {step: now_s - start_s for step, start_s in list(self._running.items())}
        return {step: spent_s for step, spent_s in hanging.items() if spent_s > limit_s}

    @property
    def failing(self) -> list[str]:
        """Steps that failed as often in a row as is worth saying."""
        return [step for step, count in list(self._in_a_row.items()) if count >= (self._stop_after or MAX_FAILURES)]


def load_pipeline(
    path_or_name: str | Path,
    implementation: str | None = None,
    settings: Mapping[str, ParameterGroups] | Configuration | None = None,
    cameras: Mapping[str, CameraModel] | None = None,
    baseline_m: float = 0.0,
    *,
    threads: int = 2,
    seed: int = 0,
    stop_after: int = 0,
) -> Pipeline:
    """Load a pipeline by file or name, checked and ready to run; UsageError lists all issues.

    Settings are by step, group and name. Cameras are those of the inputs, `left` and `right`. After `stop_after`
    failures of a step in a row it raises PipelineStopped; 0 is never.
    """
    configuration = settings if isinstance(settings, Configuration) else Configuration(settings=settings or {})
    graph = graph_of(source_of(path_or_name), implementation, configuration)
    return pipeline_of(graph, cameras, baseline_m, threads=threads, seed=seed, stop_after=stop_after)


def pipeline_of(
    graph: RunnableGraph,
    cameras: Mapping[str, CameraModel] | None = None,
    baseline_m: float = 0.0,
    *,
    threads: int = 2,
    seed: int = 0,
    stop_after: int = 0,
    measures_memory: bool = False,
) -> Pipeline:
    """A pipeline of a graph that is checked: its steps, made with the cameras of the inputs; as `load_pipeline`."""
    cv2.setNumThreads(threads)
    steps = {}
    for node in graph.nodes:
        parameters = with_cameras(node, cameras or {}, baseline_m)
        try:
            _require_files(node, parameters)
            steps[node.id] = node.kind(parameters, threads=threads, seed=seed)
        except UserError as error:
            raise UsageError(f"{node.location}{node.id}: {error}") from None
    return Pipeline(graph, steps, threads=threads, stop_after=stop_after, measures_memory=measures_memory)


def _require_files(node: GraphNode, parameters: ParameterGroups) -> None:
    for name, what in node.kind.files.items():
        group, _, parameter = name.partition(".")
        if not parameters.get(group, {}).get(parameter):
            raise UsageError(f"{name}: expected {what}, got nothing (--set {node.id}.{name}=FILE)")
