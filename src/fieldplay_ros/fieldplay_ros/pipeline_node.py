"""The node of a pipeline of fusion, with the life cycle of ROS 2: it checks all to be configured, and runs when active.

By itself it becomes active; with `autostart` false another does that, such as the orchestrator.
"""

import faulthandler
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.qos import QoSProfile

from fieldplay.core.errors import UsageError, UserError
from fieldplay.core.process_exit import ExitTimer
from fieldplay.kinematics.computation import TF
from fieldplay_cdff.io.outputs import OutTopics
from fieldplay_cdff.io.sources import PortSource
from fieldplay_cdff.pipeline import Configuration, configuration_of_file, settings_of_words
from fieldplay_cdff.pipeline.chains import source_of
from fieldplay_cdff.pipeline.graph import graph_of
from fieldplay_ros.computation_node import given, message_class
from fieldplay_ros.live_run import (
    FEW,
    WARN_S,
    LiveRun,
    LiveSetup,
)

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


class PipelineNode(LifecycleNode):
    """A pipeline that can be configured, activated and deactivated, with its statistics on /diagnostics."""

    def __init__(self, **options: Any) -> None:
        super().__init__("pipeline", **options)
        self._dfpc = given(self, "dfpc", "", "the pipeline: its name, or the file that describes one")
        self._implementation = given(self, "implementation", "", "which of the pipeline's; the first where empty")
        meaning = "parameters of steps, each as STEP.GROUP.NAME=VALUE; they count at the next configuring"
        self.declare_parameter("settings", [""], ParameterDescriptor(description=meaning))
        self._config = given(self, "config", "", "a file of parameters as the authors of CDFF write them")
        self._inputs = given(self, "inputs", [""], "which topics feed the inputs, each as PORT=TOPIC")
        self._scene = given(self, "scene_frame", "", "the frame of the outputs; <topic>/scene where empty")
        self._tf = given(self, "publish_tf", True, "whether the camera's pose goes on /tf")
        self._threads = given(self, "threads", 2, "that all steps share")
        self._queue = given(self, "queue", 2, "sets of inputs that may wait; older ones are dropped")
        self._stop_after = given(self, "stop_after", 0, "failures of a step in a row after which all stops; 0 is never")
        self._limit_s = given(self, "step_timeout", 60.0, "seconds after which a step counts as hanging; 0 is never")
        self._products = given(self, "products", "", "the folder in which products are kept; none where empty")
        stats_hz = given(self, "stats_hz", 1.0, "how often statistics go to /diagnostics; 0 is never")
        starts = given(self, "autostart", True, "whether it becomes active by itself")
        self._setup: LiveSetup | None = None
        self._run: LiveRun | None = None
        self._hung: LiveRun | None = None
        self._fault: UserError | None = None
        self._be_careful()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._waits = self.create_timer(WARN_S, self._warn_of_silence, clock=steady)
        self._watches = self.create_timer(WATCH_S, self._watch_steps, clock=steady)
        if stats_hz > 0:
            self._states = self.create_publisher(DiagnosticArray, "/diagnostics", FEW)
            self._tells = self.create_timer(1 / stats_hz, self._tell_statistics, clock=steady)
        if starts:
            self._start()

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
            if act() != DONE and self._fault is not None:
                raise self._fault

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Check the description, its settings and its inputs."""
        return self._tried(self._configure)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Hear the inputs, and run."""
        return self._tried(self._activate)

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

    def _tried(self, act: Any) -> TransitionCallbackReturn:
        self._fault = None
        try:
            act()
        except UserError as error:
            self._fault = error
            self.get_logger().error(str(error))
            return REFUSED
        return DONE

    def _configure(self) -> None:
        words = [word for word in self.get_parameter("settings").value or [] if word]
        settings = _settings(words, self._config)
        graph = graph_of(source_of(self._dfpc), self._implementation or None, settings)
        sources = _sources({name: port.type for name, port in graph.inputs.items()}, self._inputs)
        scene = self._scene or f"{graph.topic}/scene"
        outputs = OutTopics(ports=graph.outputs, place=graph.topic, scene=scene, tf=self._tf, bodies=graph.bodies)
        senders = {
            topic: self.create_publisher(message_class(kind), topic, MANY if topic == TF else FEW)
            for topic, kind in outputs.topics().items()
        }
        self._setup = LiveSetup(
            dfpc=self._dfpc, implementation=self._implementation, settings=settings, graph=graph, sources=sources,
            outputs=outputs, senders=senders, threads=self._threads, queue=self._queue, stop_after=self._stop_after,
            products=self._products,
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
        found = self._run.hanging(self._limit_s) if self._run is not None and self._limit_s > 0 else {}
        if self._run is not None and found:
            told = ", ".join(f"{step} for {spent_s:.1f} s" for step, spent_s in found.items())
            self._run.stop(f"hangs: {told}; the pipeline is stopped")
            self._tell_statistics()
            self.trigger_deactivate()

    def _warn_of_silence(self) -> None:
        silent = self._run.silent() if self._run is not None else []
        if silent:
            self.get_logger().warning(f"waits for {', '.join(silent)}")

    def _tell_statistics(self) -> None:
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


def _settings(words: list[str], config: str) -> Configuration:
    own = settings_of_words(words)
    return configuration_of_file(Path(config)).and_then(own) if config else own


def _sources(ports: dict[str, str], words: list[str]) -> list[PortSource]:
    """What feeds the inputs: PORT=TOPIC for each; pictures that are compressed end so."""
    topics = dict(word.partition("=")[::2] for word in words if word)
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
