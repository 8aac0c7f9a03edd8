"""The node of a pipeline of fusion, with the life cycle of ROS 2: it checks all to be configured, and runs when active.

By itself it becomes active; with `autostart` false another does that, such as the orchestrator.
"""

import faulthandler
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

from fieldplay.core.errors import ArchiveError, UsageError, UserError
from fieldplay.core.process_exit import ExitTimer
from fieldplay.kinematics.computation import ON_TF, TF
from fieldplay_cdff.io.outputs import STATIC, OutTopics, static_messages
from fieldplay_cdff.io.sources import INFO, PortReader, PortSource, reason_of
from fieldplay_cdff.pipeline import (
    Configuration,
    Pipeline,
    PipelineOutput,
    PipelineStopped,
    configuration_of_arguments,
    pipeline_of,
    settings_of_arguments,
)
from fieldplay_cdff.pipeline.chains import source_of
from fieldplay_cdff.pipeline.inputs import LiveQueue, SyncedInputs
from fieldplay_cdff.pipeline.pipeline_graph import RunnableGraph, graph_of
from fieldplay_cdff.pipeline.pipeline_options import PipelineOptions, pipeline_options
from fieldplay_cdff.products.product import StoreError
from fieldplay_cdff.products.product_recorder import Anchor, Anchoring, ProductKeeper
from fieldplay_cdff.products.store import ProductStore
from fieldplay_ros.computation_node import TfLookup, message_class

FEW = QoSProfile(depth=10)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
WARN_S, NOTICE_S, LAST_S = 5.0, 0.2, 3.0
MANY = QoSProfile(depth=100)
WATCH_S, GRACE_S = 0.5, 2.0
FAILED = 1
COMPRESSED = "/compressed"
DONE, REFUSED = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
TYPES = {
    "Frame": "sensor_msgs/msg/Image", "Pointcloud": "sensor_msgs/msg/PointCloud2",
    "Pose": "geometry_msgs/msg/PoseStamped", "RigidBodyState": "nav_msgs/msg/Odometry",
    "Wrench": "geometry_msgs/msg/WrenchStamped", "float": "std_msgs/msg/Float64", "bool": "std_msgs/msg/Bool",
}  # fmt: skip


# A pipeline that runs on live topics, from its activation to its end.
#
# One thread takes messages in, another runs the steps. Where the steps are slower than the topics the oldest sets of
# inputs are dropped whole and counted: the outputs are never later than what waits in the queue.


@dataclass(frozen=True, kw_only=True)
class LiveSetup:
    """What a pipeline is made of, checked when its node was configured."""

    graph: RunnableGraph
    sources: Sequence[PortSource]
    outputs: OutTopics
    senders: dict[str, Any]
    threads: int
    queue: int
    stop_after: int
    products: str
    anchoring: Anchoring | None


class LiveRun:
    """Subscribes to the inputs of a pipeline, runs it, and publishes its outputs."""

    def __init__(self, node: Node, setup: LiveSetup) -> None:
        self._node, self._setup = node, setup
        self._reader = PortReader(setup.sources)
        self._reader.refuses_issues = "success" in setup.graph.outputs
        self._queue = LiveQueue(setup.graph.inputs, setup.queue)
        self._edges: Any = None
        self._store, self._keeper = self._open_store()
        self.pipeline: Pipeline | None = None
        self.stopped = ""  # why
        self._stopping = threading.Event()
        self._input_subscriptions = [self._subscription(source) for source in self._reader.sources.values()]
        self._input_subscriptions += [self._camera_subscription(source) for source in self._reader.awaited]
        self._worker = threading.Thread(target=self._run_until_end, daemon=True)
        self._worker.start()

    def _open_store(self) -> tuple[ProductStore | None, ProductKeeper | None]:
        setup = self._setup
        if not setup.products:
            return None, None
        store = ProductStore(Path(setup.products).expanduser(), is_written=True, report=self._warn)
        topics = {source.port: source.topic for source in setup.sources}
        try:
            resolve = self._node.resolve_topic_name
            keeper = ProductKeeper(store, setup.graph, setup.outputs, topics, resolve, anchoring=setup.anchoring)
            return store, keeper
        except StoreError:
            store.close()
            raise

    def _subscription(self, source: PortSource) -> Any:
        def callback(data: bytes, info: Any) -> None:
            try:
                message = self._reader.read(source.topic, data, int(info["source_timestamp"]))
            except ArchiveError as error:
                self._warn(f"a message of {source.topic} is left out: {error}")
                return
            if message is not None:
                self._queue.put(source.port, message.stamp_ns, message)

        return self._node.create_subscription(message_class(source.msgtype), source.topic, callback, FEW, raw=True)

    def _camera_subscription(self, source: PortSource) -> Any:
        return self._node.create_subscription(
            message_class(INFO), source.info, partial(self._take_camera, source), FEW, raw=True
        )

    def _take_camera(self, source: PortSource, data: bytes, info: Any) -> None:
        if source.port not in self._reader.cameras:
            try:
                self._reader.add_camera_info(source, data, int(info["source_timestamp"]))
            except ArchiveError as error:
                self._warn(str(error))

    def _run_until_end(self) -> None:
        """Run the steps on the inputs until shutdown."""
        while not self._stopping.is_set():
            if not self._is_ready():
                self._stopping.wait(NOTICE_S)
                continue
            inputs = self._queue.take(NOTICE_S)
            if inputs is None:
                continue
            self._run(inputs)
            while self._queue.notes:
                self._warn(self._queue.notes.popleft())
            while self._reader.notes:
                self._node.get_logger().warning(self._reader.notes.pop(0))

    def _run(self, inputs: SyncedInputs) -> None:
        """Run the steps on a set, unless one of its messages is not what it should be."""
        assert self.pipeline is not None
        values = {}
        for port, message in inputs.values.items():
            try:
                values[port] = self._reader.value(message)
            except ArchiveError as error:
                self._queue.skipped[port] += 1
                self._warn(f"{message.source.topic} at {message.stamp_ns / 1e9:.3f} s is left out: {error}")
                self._publish(self.pipeline.run([inputs._replace(values={}, refused=reason_of(error))]))
                return
        before = list(self.pipeline.failures)[-1:]
        try:
            outputs = self.pipeline.run([inputs._replace(values=values)])
            if not self._stopping.is_set():
                self._publish(outputs)
                self._keep(inputs, outputs)
        except PipelineStopped as stop:
            self.stop(str(stop))
        last = list(self.pipeline.failures)[-1:]
        if last and (not before or last[0] is not before[0]):
            self._warn(str(last[0]))

    def stop(self, why: str) -> None:
        """Run no further set."""
        self.stopped = why
        self._node.get_logger().error(why)
        self._stopping.set()

    def _is_ready(self) -> bool:
        """Whether the pipeline is made, which it is once the cameras of its images are known."""
        setup = self._setup
        if self.pipeline is None and not self._reader.awaited:
            try:
                self._reader.require_stereo()
                models, baseline_m = self._reader.models()
                self.pipeline = pipeline_of(
                    setup.graph, models, baseline_m, threads=setup.threads, stop_after=setup.stop_after
                )
            except (UserError, ValueError) as error:  # such as a file that a step is to read, and cannot
                self._warn(str(error))
        return self.pipeline is not None

    def _publish(self, outputs: Sequence[PipelineOutput]) -> None:
        if self._reader.edges and self._edges is None and outputs:
            self._edges = self._node.create_publisher(message_class(ON_TF.type), STATIC, LATCHED)
            for message in static_messages(self._reader.edges, outputs[0].stamp_ns):
                self._edges.publish(message.data)
        for port, value, stamp_ns in outputs:
            for message in self._setup.outputs.messages(port, value, stamp_ns, self._reader.camera_frame):
                self._setup.senders[message.topic].publish(message.data)

    def _keep(self, inputs: SyncedInputs, outputs: Sequence[PipelineOutput]) -> None:
        """Keep products if requested; if they cannot be kept, that is reported, and everything else continues."""
        if self._keeper is None:
            return
        for port, message in inputs.values.items():
            self._keeper.receive_input(port, message.stamp_ns)
        try:
            self._keeper.keep(outputs, self._reader.camera_frame, self._node.get_clock().now().nanoseconds)
        except StoreError as error:
            self._warn(str(error))

    def silent(self) -> list[str]:
        """Topics of which nothing came yet."""
        silent_topics = [
            topic for topic, source in self._reader.sources.items() if not self._queue.received[source.port]
        ]
        return silent_topics + [source.info for source in self._reader.awaited]

    def hanging(self, limit_s: float) -> dict[str, float]:
        """Steps that have run for longer, and how many seconds."""
        return {} if self.pipeline is None else self.pipeline.hanging(limit_s, time.monotonic())

    def status(self) -> DiagnosticStatus | None:
        """The statistics of the run."""
        if self.pipeline is None:
            return None
        queue = self._queue
        statistics = replace(
            self.pipeline.statistics, inputs=queue.received, dropped=queue.dropped, skipped=queue.skipped
        )
        values = {"failing": ", ".join(self.pipeline.failing), "stopped": self.stopped, **statistics.as_texts()}
        level = DiagnosticStatus.WARN if self.pipeline.failing else DiagnosticStatus.OK
        status = DiagnosticStatus(
            level=DiagnosticStatus.ERROR if self.stopped else level,
            name=f"{self._node.get_name()}: {self.pipeline.name}",
            hardware_id="fieldplay",
            message=self.stopped,
        )
        status.values = [KeyValue(key=key, value=value) for key, value in values.items()]
        return status

    def _warn(self, text: str) -> None:
        self._node.get_logger().warning(text, throttle_duration_sec=WARN_S)

    def _finish(self, pipeline: Pipeline) -> None:
        """Finish the steps; outputs at the end have no subscribers, but steps save their files."""
        try:
            pipeline.finish()
        except UserError as error:
            self._node.get_logger().error(str(error))
        pipeline.close()

    def close(self) -> bool:
        """Stop subscriptions and steps; return whether they stopped: a step that hangs cannot be stopped."""
        self._stopping.set()
        for subscription in self._input_subscriptions:
            self._node.destroy_subscription(subscription)
        self._worker.join(timeout=NOTICE_S if self.stopped else LAST_S)
        if self._worker.is_alive():
            return False
        if self.pipeline is not None:
            self._finish(self.pipeline)
        if self._store is not None and self._keeper is not None:
            try:
                self._keeper.finish()
                self._store.close()
            except StoreError as error:
                self._warn(str(error))
        return True


class PipelineNode(LifecycleNode):
    """A pipeline that can be configured, activated and deactivated, with its statistics on /diagnostics."""

    def __init__(self, **options: Any) -> None:
        super().__init__("pipeline", **options)
        self._options = self._declare_options()
        self._anchoring = self._tf_anchoring() if self._options.products and self._options.map_frame else None
        self._setup: LiveSetup | None = None
        self._run: LiveRun | None = None
        self._hung: LiveRun | None = None
        self._error: UserError | None = None
        self._be_careful()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._waits = self.create_timer(WARN_S, self._warn_of_silence, clock=steady)
        self._watches = self.create_timer(WATCH_S, self._watch_steps, clock=steady)
        if self._options.stats_hz > 0:
            self._states = self.create_publisher(DiagnosticArray, "/diagnostics", FEW)
            period_s = 1 / self._options.stats_hz
            self._statistics_timer = self.create_timer(period_s, self._publish_statistics, clock=steady)
        if self._options.autostart:
            self._start()

    def _tf_anchoring(self) -> Anchoring:
        """What says where the camera was in the map at a time, by tf; None while that is not known."""
        lookup = TfLookup(self)
        started_ns = self.get_clock().now().nanoseconds
        world = self._options.world or f"{self.get_namespace()} from {started_ns / 1e9:.3f} s"

        def anchor(stamp_ns: int, camera: str) -> Anchor | None:
            transform = lookup.at(self._options.map_frame, camera, stamp_ns)
            if transform is None:
                return None
            return Anchor(root=self._options.map_frame, root_t_camera=transform, world=world)

        return anchor

    def _declare_options(self) -> PipelineOptions:
        """Declare a parameter for each option; the settings may change, and count at the next configuring."""
        values: dict[str, Any] = {}
        for name, default, meaning in pipeline_options():
            texts = isinstance(default, tuple)
            description = ParameterDescriptor(description=meaning, read_only=name != "settings")
            value = self.declare_parameter(name, [""] if texts else default, description).value
            values[name] = tuple(filter(None, value or ())) if texts else value
        return PipelineOptions(**values)

    def _be_careful(self) -> None:
        """Refuse a transition that the state does not have, such as a second activation: rclpy would end the node."""
        service = self._service_change_state
        change = service.callback

        def careful(request: Any, response: Any) -> Any:
            try:
                return change(request, response)
            except RuntimeError as error:
                self.get_logger().warning(f"refused: {' '.join(str(error).split())}")
                response.success = False
                return response

        service.callback = careful

    def _start(self) -> None:
        for act in (self.trigger_configure, self.trigger_activate):
            if act() != DONE and self._error is not None:
                raise self._error

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Check the description, its settings and its inputs."""
        return self._attempt(self._configure)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Subscribe to the inputs, and run."""
        return self._attempt(self._activate)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Run no more; what the steps remember is forgotten."""
        self._deactivate()
        return DONE

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Publish no more."""
        self._forget_setup()
        return DONE

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Be of no more use."""
        self._deactivate()
        self._forget_setup()
        return DONE

    def _attempt(self, act: Any) -> TransitionCallbackReturn:
        self._error = None
        try:
            act()
        except UserError as error:
            self._error = error
            self.get_logger().error(str(error))
            return REFUSED
        return DONE

    def _configure(self) -> None:
        arguments = [word for word in self.get_parameter("settings").value or [] if word]
        options = self._options
        settings = _settings(arguments, options.config)
        graph = graph_of(source_of(options.dfpc), options.implementation or None, settings)
        for text in graph.notes:
            self.get_logger().info(text)
        sources = _sources({name: port.type for name, port in graph.inputs.items()}, options.inputs)
        topic = options.topic.strip("/") or graph.topic
        scene = options.scene_frame or f"{topic}/scene"
        outputs = OutTopics(ports=graph.outputs, prefix=topic, scene=scene, tf=options.publish_tf, bodies=graph.bodies)
        senders = {
            topic: self.create_publisher(message_class(kind), topic, MANY if topic == TF else FEW)
            for topic, kind in outputs.topics().items()
        }
        self._setup = LiveSetup(
            graph=graph, sources=sources, outputs=outputs, senders=senders, threads=options.threads,
            queue=options.queue, stop_after=options.stop_after, products=options.products, anchoring=self._anchoring,
        )  # fmt: skip

    def _activate(self) -> None:
        assert self._setup is not None
        if self._hung is not None:
            if not self._hung.close():
                raise UsageError("a step of the last run still hangs, and cannot be ended: start the node anew")
            self._hung = None
        self._run = LiveRun(self, self._setup)

    def _deactivate(self) -> None:
        run, self._run = self._run, None
        if run is not None and not run.close():
            self._hung = run

    def _forget_setup(self) -> None:
        setup, self._setup = self._setup, None
        for sender in setup.senders.values() if setup else ():
            self.destroy_publisher(sender)

    def _watch_steps(self) -> None:
        """Stop where a step hangs: it is named, the pipeline becomes inactive, and its results come to nothing."""
        limit_s = self._options.step_timeout
        hanging = self._run.hanging(limit_s) if self._run is not None and limit_s > 0 else {}
        if self._run is not None and hanging:
            steps = ", ".join(f"{step} for {spent_s:.1f} s" for step, spent_s in hanging.items())
            self._run.stop(f"hangs: {steps}; the pipeline is stopped")
            self._publish_statistics()
            self.trigger_deactivate()

    def _warn_of_silence(self) -> None:
        silent = self._run.silent() if self._run is not None else []
        if silent:
            self.get_logger().warning(f"waits for {', '.join(silent)}")

    def _publish_statistics(self) -> None:
        status = self._run.status() if self._run is not None else None
        if status is not None and hasattr(self, "_states"):
            message = DiagnosticArray(status=[status])
            message.header.stamp = self.get_clock().now().to_msg()
            self._states.publish(message)

    def close(self) -> None:
        """End the thread that runs the steps."""
        self._deactivate()

    def destroy_node(self) -> None:
        """End the thread that runs the steps, then the node; of a step that hangs the whole process ends soon."""
        self.close()
        if self._hung is not None:
            faulthandler.dump_traceback()
            ExitTimer(FAILED).start(GRACE_S)
        super().destroy_node()


def _settings(arguments: list[str], config: str) -> Configuration:
    own = settings_of_arguments(arguments)
    return configuration_of_arguments([config]).and_then(own) if config else own


def _sources(ports: dict[str, str], arguments: Sequence[str]) -> list[PortSource]:
    """What feeds the inputs: PORT=TOPIC for each; images that are compressed end so."""
    topics = dict(word.partition("=")[::2] for word in arguments if word)
    for port in topics:
        if port not in ports:
            raise UsageError(f"inputs: there is no input {port}; there are {', '.join(ports)}")
    missing = [port for port in ports if not topics.get(port)]
    if missing:
        raise UsageError(f"inputs: expected PORT=TOPIC for {', '.join(missing)}")
    return [_source(port, kind, topics[port]) for port, kind in ports.items()]


def _source(port: str, kind: str, topic: str) -> PortSource:
    if kind not in TYPES:
        raise UsageError(f"no topic can feed the input {port}, which is a {kind}")
    is_packed = kind == "Frame" and topic.endswith(COMPRESSED)
    info = topic.removesuffix(COMPRESSED).rpartition("/")[0] + "/camera_info" if kind == "Frame" else ""
    msgtype = "sensor_msgs/msg/CompressedImage" if is_packed else TYPES[kind]
    return PortSource(port=port, kind=kind, topic=topic, msgtype=msgtype, info=info)
