"""A pipeline that runs on live topics, from its activation to its end.

One thread takes messages in, another runs the steps. Where the steps are slower than the topics the oldest sets of
inputs are dropped whole and counted: the outputs are never later than what waits in the queue.
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

from fieldplay.core.errors import ArchiveError, UserError
from fieldplay.kinematics.computation import ON_TF
from fieldplay_cdff.io.outputs import STATIC, OutTopics, static_messages
from fieldplay_cdff.io.sources import INFO, PortReader, PortSource
from fieldplay_cdff.io.stereo_checks import reason_of
from fieldplay_cdff.pipeline import (
    Configuration,
    Pipeline,
    PipelineOutput,
    PipelineStopped,
    load_pipeline,
)
from fieldplay_cdff.pipeline.graph import RunnableGraph
from fieldplay_cdff.pipeline.inputs import SyncedInputs
from fieldplay_cdff.pipeline.live_queue import LiveQueue
from fieldplay_cdff.products.product import StoreError
from fieldplay_cdff.products.product_recorder import ProductKeeper
from fieldplay_cdff.products.store import ProductStore
from fieldplay_ros.computation_node import message_class

FEW = QoSProfile(depth=10)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
WARN_S, NOTICE_S, LAST_S = 5.0, 0.2, 3.0


@dataclass(frozen=True, kw_only=True)
class LiveSetup:
    """What a pipeline is made of, checked when its node was configured."""

    dfpc: str
    implementation: str
    settings: Configuration
    graph: RunnableGraph
    sources: Sequence[PortSource]
    outputs: OutTopics
    senders: dict[str, Any]
    threads: int
    queue: int
    stop_after: int
    products: str


class LiveRun:
    """Hears the inputs of a pipeline, runs it, and publishes what comes out."""

    def __init__(self, node: Node, setup: LiveSetup) -> None:
        self._node, self._setup = node, setup
        self._reader = PortReader(setup.sources)
        self._queue = LiveQueue(setup.graph.inputs, setup.queue)
        self._edges: Any = None
        self._store, self._keeper = self._opened_store()
        self.pipeline: Pipeline | None = None
        self.stopped = ""  # why
        self._ends = threading.Event()
        self._heard = [self._subscribed(source) for source in self._reader.sources.values()]
        self._heard += [self._hears_camera(source) for source in self._reader.awaited]
        self._worker = threading.Thread(target=self._work, daemon=True)
        self._worker.start()

    def _opened_store(self) -> tuple[ProductStore | None, ProductKeeper | None]:
        setup = self._setup
        if not setup.products:
            return None, None
        store = ProductStore(Path(setup.products).expanduser(), is_written=True, tell=self._warn)
        topics = {source.port: source.topic for source in setup.sources}
        try:
            return store, ProductKeeper(store, setup.graph, setup.outputs, topics, self._node.resolve_topic_name)
        except StoreError:
            store.close()
            raise

    def _subscribed(self, source: PortSource) -> Any:
        def callback(data: bytes, info: Any) -> None:
            try:
                message = self._reader.opened(source.topic, data, int(info["source_timestamp"]))
            except ArchiveError as error:
                self._warn(f"a message of {source.topic} is left out: {error}")
                return
            if message is not None:
                self._queue.put(source.port, message.stamp_ns, message)

        return self._node.create_subscription(message_class(source.msgtype), source.topic, callback, FEW, raw=True)

    def _hears_camera(self, source: PortSource) -> Any:
        return self._node.create_subscription(
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
                self._node.get_logger().warning(self._reader.told.pop(0))

    def _run(self, found: SyncedInputs) -> None:
        """Run the steps on a set, unless one of its messages is not what it should be."""
        assert self.pipeline is not None
        values = {}
        for port, message in found.values.items():
            try:
                values[port] = self._reader.value(message)
            except ArchiveError as error:
                self._queue.skipped[port] += 1
                self._warn(f"{message.source.topic} at {message.stamp_ns / 1e9:.3f} s is left out: {error}")
                self._publish(self.pipeline.run([found._replace(values={}, refused=reason_of(error))]))
                return
        before = list(self.pipeline.failures)[-1:]
        try:
            outputs = self.pipeline.run([found._replace(values=values)])
            if not self._ends.is_set():
                self._publish(outputs)
                self._keep(found, outputs)
        except PipelineStopped as stop:
            self.stop(str(stop))
        last = list(self.pipeline.failures)[-1:]
        if last and (not before or last[0] is not before[0]):
            self._warn(str(last[0]))

    def stop(self, why: str) -> None:
        """Run no further set."""
        self.stopped = why
        self._node.get_logger().error(why)
        self._ends.set()

    def _is_ready(self) -> bool:
        """Whether the pipeline is made, which it is once the cameras of its pictures are known."""
        setup = self._setup
        if self.pipeline is None and not self._reader.awaited:
            try:
                self._reader.require_stereo()
                models, baseline_m = self._reader.models()
                self.pipeline = load_pipeline(
                    setup.dfpc, setup.implementation or None, setup.settings, models, baseline_m,
                    threads=setup.threads, stop_after=setup.stop_after,
                )  # fmt: skip
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

    def _keep(self, found: SyncedInputs, outputs: Sequence[PipelineOutput]) -> None:
        """Keep products where they are wanted; where they cannot be kept that is told, and all else goes on."""
        if self._keeper is None:
            return
        for port, message in found.values.items():
            self._keeper.hear(port, message.stamp_ns)
        try:
            self._keeper.keep(outputs, self._reader.camera_frame, self._node.get_clock().now().nanoseconds)
        except StoreError as error:
            self._warn(str(error))

    def silent(self) -> list[str]:
        """Topics of which nothing came yet."""
        found = [topic for topic, source in self._reader.sources.items() if not self._queue.heard[source.port]]
        return found + [source.info for source in self._reader.awaited]

    def hanging(self, limit_s: float) -> dict[str, float]:
        """Steps that have run for longer, and how many seconds."""
        return {} if self.pipeline is None else self.pipeline.hanging(limit_s, time.monotonic())

    def status(self) -> DiagnosticStatus | None:
        """What there is to tell of the run."""
        if self.pipeline is None:
            return None
        queue = self._queue
        statistics = replace(self.pipeline.statistics, given=queue.heard, dropped=queue.dropped, skipped=queue.skipped)
        told = {"failing": ", ".join(self.pipeline.failing), "stopped": self.stopped, **statistics.words()}
        level = DiagnosticStatus.WARN if self.pipeline.failing else DiagnosticStatus.OK
        status = DiagnosticStatus(
            level=DiagnosticStatus.ERROR if self.stopped else level,
            name=f"{self._node.get_name()}: {self.pipeline.name}",
            hardware_id="fieldplay",
            message=self.stopped,
        )
        status.values = [KeyValue(key=key, value=value) for key, value in told.items()]
        return status

    def _warn(self, text: str) -> None:
        self._node.get_logger().warning(text, throttle_duration_sec=WARN_S)

    def _finish(self, pipeline: Pipeline) -> None:
        """Nobody hears what comes out at the end, but steps save what they are to."""
        try:
            pipeline.finish()
        except UserError as error:
            self._node.get_logger().error(str(error))
        pipeline.close()

    def close(self) -> bool:
        """End what hears and runs; whether that ended: a step that hangs cannot be."""
        self._ends.set()
        for subscription in self._heard:
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
