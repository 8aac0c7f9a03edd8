"""The orchestrator lists pipelines, configures, activates and deactivates them, by hand and by the policies of a plan.

The pipelines are nodes of their own, in the orchestrator's namespace, by the names that the plan gives them.
"""

import time
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from fieldplay_interfaces.msg import Pipeline
from fieldplay_interfaces.srv import ListPipelines, SwitchPipeline
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future
from std_msgs.msg import Float64

from fieldplay.core.errors import UsageError
from fieldplay_cdff.orchestration.orchestration import (
    CLEANUP,
    CONFIGURE,
    GONE,
    INACTIVE,
    ManagedPipeline,
    NeededTransition,
    Orchestration,
    plan_file,
    plan_of_file,
    topics_of_plan,
)
from fieldplay_cdff.pipeline.chains import source_of
from fieldplay_ros.computation_node import declare

TICK_S = 0.2
ASK_AGAIN_S, GONE_S = 2.0, 10.0  # where no answer comes: a first one may be lost while nodes find each other
QUALITY = "quality"


class Orchestrator(Node):
    """Requests the transitions that an Orchestration needs, and reports their results to it."""

    def __init__(self, **options: Any) -> None:
        super().__init__("orchestrator", **options)
        plan = plan_of_file(plan_file(declare(self, "plan", "", "the plan: its name, or its file")))
        self._orchestration = Orchestration(plan)
        self._pending: dict[str, tuple[Future, float]] = {}  # states that were asked for, and when
        self._answered_s: dict[str, float] = {}
        self._changing: dict[str, tuple[Any, Future, float]] = {}  # what was requested by which client, and when
        self._changes = {name: self._client(ChangeState, name, "change_state") for name in plan.pipelines}
        self._states = {name: self._client(GetState, name, "get_state") for name in plan.pipelines}
        self._setters = {name: self._client(SetParameters, name, "set_parameters") for name in plan.pipelines}
        topics = topics_of_plan(plan)
        for name, pipeline in plan.pipelines.items():
            if any(port.name == QUALITY for port in source_of(pipeline.dfpc).description.outputs):
                self.create_subscription(Float64, f"{topics[name]}/{QUALITY}", partial(self._on_quality, name), 10)
        self.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
        self.create_service(ListPipelines, "~/pipelines", self._list)
        self.create_service(SwitchPipeline, "~/activate", self._activate)
        self.create_service(SwitchPipeline, "~/deactivate", self._deactivate)
        self.create_service(SwitchPipeline, "~/configure", self._configure)
        self._ticks = self.create_timer(TICK_S, self._tick, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _client(self, kind: Any, name: str, service: str) -> Any:
        return self.create_client(kind, f"{name}/{service}")

    def _tick(self) -> None:
        now_s = time.monotonic()
        for name in self._states:
            self._ask_state(name, now_s)
            self._expire_change(name, now_s)
        for step in self._orchestration.needed_transitions(now_s):
            self._change(step)
        while self._orchestration.news:
            self.get_logger().info(self._orchestration.news.pop(0))

    def _ask_state(self, name: str, now_s: float) -> None:
        """Ask a pipeline for its state, unless it has been asked; who does not answer in time is gone."""
        client = self._states[name]
        if not client.service_is_ready() or now_s - self._answered_s.get(name, now_s) > GONE_S:
            self._orchestration.receive_state(name, GONE)
        if name in self._pending:
            future, since_s = self._pending[name]
            if now_s - since_s < ASK_AGAIN_S:
                return
            client.remove_pending_request(future)
            del self._pending[name]
        if client.service_is_ready():
            future = client.call_async(GetState.Request())
            self._pending[name] = future, now_s
            future.add_done_callback(partial(self._take_state, name))

    def _take_state(self, name: str, future: Future) -> None:
        self._pending.pop(name, None)
        if future.result() is not None:
            self._answered_s[name] = time.monotonic()
            self._orchestration.receive_state(name, future.result().current_state.label)

    def _expire_change(self, name: str, now_s: float) -> None:
        """Stop waiting for a transition whose answer does not come; the pipeline's state shows the result."""
        client, future, since_s = self._changing.get(name, (None, None, now_s))
        if client is not None and now_s - since_s > GONE_S:
            client.remove_pending_request(future)
            del self._changing[name]
            self._orchestration.forget(name)

    def _change(self, step: NeededTransition, then: list[NeededTransition] | None = None) -> None:
        """Ask for a transition, and for those behind it once it is done."""
        self._orchestration.start_transition(step)
        request = ChangeState.Request(transition=Transition(label=step.transition))
        client = self._changes[step.pipeline]
        future = client.call_async(request)
        self._changing[step.pipeline] = client, future, time.monotonic()
        future.add_done_callback(partial(self._take_change, step, then or []))

    def _take_change(self, step: NeededTransition, then: list[NeededTransition], future: Future) -> None:
        self._changing.pop(step.pipeline, None)
        answer = future.result()
        is_done = answer is not None and answer.success
        self._orchestration.finish(step, is_done=is_done, now_s=time.monotonic())
        if is_done and then:
            self._change(then[0], then[1:])

    def _on_quality(self, name: str, message: Float64) -> None:
        self._orchestration.receive_quality(name, message.data, time.monotonic())

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        """Receive errors of pipelines from /diagnostics."""
        for status in message.status:
            name = status.name.partition(":")[0]
            if status.message and name in self._orchestration.pipelines:
                self._orchestration.receive_failure(name, status.message)

    def _list(self, request: Any, response: Any) -> Any:
        del request
        response.threads = self._orchestration.plan.threads
        response.pipelines = [self._pipeline_message(pipeline) for pipeline in self._orchestration.pipelines.values()]
        return response

    def _pipeline_message(self, pipeline: ManagedPipeline) -> Pipeline:
        return Pipeline(
            name=pipeline.plan.name,
            node=self.resolve_service_name(pipeline.plan.name),
            state=pipeline.state,
            threads=pipeline.plan.threads,
            is_wanted=pipeline.is_requested,
            quality=pipeline.quality,
            told=pipeline.message,
        )

    def _activate(self, request: Any, response: Any) -> Any:
        return self._set_state(request, response, self._orchestration.switch_on)

    def _deactivate(self, request: Any, response: Any) -> Any:
        return self._set_state(request, response, self._orchestration.switch_off)

    def _set_state(self, request: Any, response: Any, act: Any) -> Any:
        """Take in a request; the transitions follow, and ~/pipelines shows their progress."""
        try:
            if request.settings:
                raise UsageError("settings are for configuring alone")
            act(request.name)
            response.success = True
        except UsageError as error:
            response.message = str(error)
        return response

    def _configure(self, request: Any, response: Any) -> Any:
        """Set the parameters of a pipeline's steps, and configure it again; ~/pipelines shows the result."""
        try:
            self._orchestration.require_idle(request.name)
        except UsageError as error:
            response.message = str(error)
            return response
        name = request.name
        steps = [NeededTransition(name, CONFIGURE)]
        if self._orchestration.pipelines[name].state == INACTIVE:
            steps.insert(0, NeededTransition(name, CLEANUP))
        self._orchestration.start_transition(steps[0])
        if request.settings:
            value = ParameterValue(type=ParameterType.PARAMETER_STRING_ARRAY, string_array_value=request.settings)
            requested = SetParameters.Request(parameters=[Parameter(name="settings", value=value)])
            future = self._setters[name].call_async(requested)
            self._changing[name] = self._setters[name], future, time.monotonic()
            future.add_done_callback(lambda _: self._change(steps[0], steps[1:]))
        else:
            self._change(steps[0], steps[1:])
        response.success = True
        return response
