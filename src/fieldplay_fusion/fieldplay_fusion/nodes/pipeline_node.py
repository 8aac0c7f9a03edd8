"""A pipeline of fusion on live topics: what comes out is published below the pipeline's topic.

One thread takes messages in, another runs the steps. Where the steps are slower than the topics the oldest sets of
inputs are dropped whole and counted: the outputs are never later than what waits in the queue.
"""

import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile

from fieldplay_fusion.messages.outputs import OutTopics
from fieldplay_fusion.messages.sources import INFO, PortReader, PortSource
from fieldplay_fusion.pipeline import (
    Configuration,
    Pipeline,
    PipelineStopped,
    configuration_of_file,
    load_pipeline,
    settings_of_words,
)
from fieldplay_fusion.pipeline.chains import source_of
from fieldplay_fusion.pipeline.graph import graph_of
from fieldplay_fusion.pipeline.inputs import Together
from fieldplay_fusion.pipeline.live_queue import LiveQueue
from fieldplay_kinematics.nodes.host import given, message_class
from fieldplay_messages.computation import TF
from fieldplay_messages.errors import ArchiveError, UsageError

FEW, MANY = QoSProfile(depth=10), QoSProfile(depth=100)
WARN_S, NOTICE_S = 5.0, 0.2
COMPRESSED = "/compressed"
TYPES = {
    "Frame": "sensor_msgs/msg/Image", "Pointcloud": "sensor_msgs/msg/PointCloud2",
    "Pose": "geometry_msgs/msg/PoseStamped", "RigidBodyState": "nav_msgs/msg/Odometry",
    "Wrench": "geometry_msgs/msg/WrenchStamped", "float": "std_msgs/msg/Float64", "bool": "std_msgs/msg/Bool",
}  # fmt: skip


class PipelineNode(Node):
    """Hears the inputs of a pipeline, runs it, and publishes what comes out, with its statistics on /diagnostics."""

    def __init__(self, **options: Any) -> None:
        super().__init__("pipeline", **options)
        self._name = given(self, "dfpc", "", "the pipeline: its name, or the file that describes one")
        self._implementation = given(self, "implementation", "", "which of the pipeline's; the first where empty")
        words = given(self, "settings", [""], "parameters of steps, each as STEP.GROUP.NAME=VALUE")
        config = given(self, "config", "", "a file of parameters as the authors of CDFF write them")
        inputs = given(self, "inputs", [""], "which topics feed the inputs, each as PORT=TOPIC")
        self._scene = given(self, "scene_frame", "", "the frame of the outputs; <topic>/scene where empty")
        self._tf = given(self, "publish_tf", True, "whether the camera's pose goes on /tf")
        self._threads = given(self, "threads", 2, "that all steps share")
        queue = given(self, "queue", 2, "sets of inputs that may wait; older ones are dropped")
        self._stop_after = given(self, "stop_after", 0, "failures of a step in a row after which all stops; 0 is never")
        stats_hz = given(self, "stats_hz", 1.0, "how often statistics go to /diagnostics; 0 is never")
        self._settings = _settings([word for word in words if word], config)
        graph = graph_of(source_of(self._name), self._implementation or None, self._settings)
        self._reader = PortReader(_sources({name: port.type for name, port in graph.inputs.items()}, inputs))
        scene = self._scene or f"{graph.topic}/scene"
        self._outputs = OutTopics(ports=graph.outputs, place=graph.topic, scene=scene, tf=self._tf, bodies=graph.bodies)
        self._senders = {
            topic: self.create_publisher(message_class(kind), topic, MANY if topic == TF else FEW)
            for topic, kind in self._outputs.topics().items()
        }
        self._queue = LiveQueue(graph.inputs, queue)
        self._pipeline: Pipeline | None = None
        self._stopped = ""  # why
        self._ends = threading.Event()
        self._heard = [self._subscribed(source) for source in self._reader.sources.values()]
        self._infos = [self._hears_camera(source) for source in self._reader.awaited]
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._waits = self.create_timer(WARN_S, self._warn_of_silence, clock=steady)
        if stats_hz > 0:
            self._states = self.create_publisher(DiagnosticArray, "/diagnostics", FEW)
            self._tells = self.create_timer(1 / stats_hz, self._tell_statistics, clock=steady)
        self._worker = threading.Thread(target=self._work, daemon=True)
        self._worker.start()

    def _subscribed(self, source: PortSource) -> Any:
        def callback(data: bytes, info: Any) -> None:
            try:
                message = self._reader.opened(source.topic, data, int(info["source_timestamp"]))
            except ArchiveError as error:
                self._warn(f"a message of {source.topic} is left out: {error}")
                return
            if message is not None:
                self._queue.put(source.port, message.stamp_ns, message)

        return self.create_subscription(message_class(source.msgtype), source.topic, callback, FEW, raw=True)

    def _hears_camera(self, source: PortSource) -> Any:
        return self.create_subscription(
            message_class(INFO), source.info, partial(self._take_camera, source), FEW, raw=True
        )

    def _take_camera(self, source: PortSource, data: bytes, info: Any) -> None:
        if source.port not in self._reader.cameras:
            try:
                self._reader.hear_camera(source, data, int(info["source_timestamp"]))
            except ArchiveError as error:
                self._warn(str(error))

    def _work(self) -> None:
        """Run the steps on what comes, until the end."""
        while not self._ends.is_set():
            if not self._is_ready():
                self._ends.wait(NOTICE_S)
                continue
            found = self._queue.take(NOTICE_S)
            if found is None:
                continue
            self._run(found)
            while self._queue.told:
                self._warn(self._queue.told.popleft())
            while self._reader.told:
                self.get_logger().warning(self._reader.told.pop(0))

    def _run(self, found: Together) -> None:
        """Run the steps on a set, unless one of its messages is not what it should be."""
        assert self._pipeline is not None
        values = {}
        for port, message in found.values.items():
            try:
                values[port] = self._reader.value(message)
            except ArchiveError as error:
                self._queue.skipped[port] += 1
                self._warn(f"{message.source.topic} at {message.stamp_ns / 1e9:.3f} s is left out: {error}")
                return
        before = list(self._pipeline.failures)[-1:]
        try:
            for port, out, out_ns in self._pipeline.run([found._replace(values=values)]):
                self._publish(port, out, out_ns)
        except PipelineStopped as stop:
            self._stopped = str(stop)
            self.get_logger().error(self._stopped)
            self._ends.set()
        last = list(self._pipeline.failures)[-1:]
        if last and (not before or last[0] is not before[0]):
            self._warn(str(last[0]))

    def _is_ready(self) -> bool:
        """Whether the pipeline is made, which it is once the cameras of its pictures are known."""
        if self._pipeline is None and not self._reader.awaited:
            try:
                self._reader.require_stereo()
                models, baseline_m = self._reader.models()
                self._pipeline = load_pipeline(
                    self._name, self._implementation or None, self._settings, models, baseline_m,
                    threads=self._threads, stop_after=self._stop_after,
                )  # fmt: skip
            except (ArchiveError, UsageError) as error:
                self._warn(str(error))
        return self._pipeline is not None

    def _publish(self, port: str, value: Any, stamp_ns: int) -> None:
        for message in self._outputs.messages(port, value, stamp_ns, self._reader.camera_frame):
            self._senders[message.topic].publish(message.data)

    def _warn_of_silence(self) -> None:
        silent = [topic for topic, source in self._reader.sources.items() if not self._queue.heard[source.port]]
        silent += [source.info for source in self._reader.awaited]
        if silent:
            self.get_logger().warning(f"waits for {', '.join(silent)}")

    def _tell_statistics(self) -> None:
        if self._pipeline is None:
            return
        queue = self._queue
        statistics = replace(self._pipeline.statistics, given=queue.heard, dropped=queue.dropped, skipped=queue.skipped)
        told = {"failing": ", ".join(self._pipeline.failing), "stopped": self._stopped, **statistics.words()}
        level = DiagnosticStatus.WARN if self._pipeline.failing else DiagnosticStatus.OK
        status = DiagnosticStatus(
            level=DiagnosticStatus.ERROR if self._stopped else level,
            name=f"{self.get_name()}: {self._pipeline.name}",
            hardware_id="fieldplay",
            message=self._stopped,
        )
        status.values = [KeyValue(key=key, value=value) for key, value in told.items()]
        message = DiagnosticArray(status=[status])
        message.header.stamp = self.get_clock().now().to_msg()
        self._states.publish(message)

    def _warn(self, text: str) -> None:
        self.get_logger().warning(text, throttle_duration_sec=WARN_S)

    def destroy_node(self) -> None:
        """End the thread that runs the steps, then the node."""
        self._ends.set()
        self._worker.join(timeout=4.0)
        if self._pipeline is not None:
            self._pipeline.close()
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
