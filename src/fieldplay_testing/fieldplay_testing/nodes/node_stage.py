"""The environment of a tested node: the node, one that publishes to it and subscribes to it, and their executor."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile

MEET_PATIENCE_S = 90.0  # a machine with much else to do takes a minute to start two launches
ASK_AGAIN_S = 10.0  # where no answer comes: a first one may be lost while nodes find each other
NOTICE_S = 0.1  # how soon the end is noticed where nothing else happens
PATIENCE_S = 60.0
AnyNode = TypeVar("AnyNode", bound=Node)


# One who listens to topics while something plays, and calls the player's services.


class TopicRecorder:
    """Receives topics in its own thread, and calls the player's services."""

    def __init__(self, namespace: str = "ameds") -> None:
        self.namespace = namespace
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node("listener", context=self.context)
        self.received: dict[str, list[Any]] = defaultdict(list)
        self.changed = threading.Condition()
        self._executor = SingleThreadedExecutor(context=self.context)
        self._executor.add_node(self.node)
        self._clients: dict[str, Any] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        while not self._stopping.is_set():
            self._executor.spin_once(NOTICE_S)

    def close(self) -> None:
        self._stopping.set()
        self._thread.join()
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)

    def subscribe(self, topic: str, msgtype: str, *, latched: bool = False) -> None:
        package, _, name = msgtype.split("/")
        kind = getattr(__import__(f"{package}.msg", fromlist=[name]), name)
        durability = DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE

        def take(message: Any) -> None:
            with self.changed:
                self.received[topic].append(message)
                self.changed.notify_all()

        self.node.create_subscription(kind, topic, take, QoSProfile(depth=5000, durability=durability))

    def wait(self, what: Callable[[], bool], describe: Callable[[], object]) -> None:
        with self.changed:
            assert self.changed.wait_for(what, MEET_PATIENCE_S), describe()

    def wait_for_graph(self, what: Callable[[], Any], patience_s: float = MEET_PATIENCE_S) -> None:
        """Wait for a condition without a message, such as discovered subscribers."""
        end = time.monotonic() + patience_s
        while not what():  # which may ask a service: the thread that takes the answer must not wait for us
            assert time.monotonic() < end, "not all have found each other"
            with self.changed:
                self.changed.wait(NOTICE_S)

    def count(self, topic: str) -> int:
        return len(self.received[topic])

    def ask(self, kind: Any, name: str, **request: Any) -> Any:
        return self.call(kind, f"/{self.namespace}/player/{name}", **request)

    def call(self, kind: Any, name: str, /, **request: Any) -> Any:
        """What a service answers, one that may be asked twice."""
        answers: list[Any] = []
        done = threading.Event()

        def take(future: Any) -> None:
            answers.append(future.result())
            done.set()

        end = time.monotonic() + MEET_PATIENCE_S
        while not answers:
            assert time.monotonic() < end, f"{name} does not answer"
            self.send(kind, name, **request).add_done_callback(take)
            done.wait(ASK_AGAIN_S)
        return answers[0]

    def send(self, kind: Any, name: str, /, **request: Any) -> Any:
        """Call a service whose answer is not needed, as its effect is received; return the future of the answer."""
        client = self._clients.get(name) or self.node.create_client(kind, name)
        self._clients[name] = client
        assert client.wait_for_service(MEET_PATIENCE_S), f"no service {name}"
        return client.call_async(kind.Request(**request))


class NodeStage:
    """A node that listens, in a namespace, and those under test; all turn while one waits."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.executor = SingleThreadedExecutor()
        self.listener = rclpy.create_node("listener", namespace=namespace)
        self.executor.add_node(self.listener)

    def add(self, kind: Callable[..., AnyNode], parameters: dict[str, Any]) -> AnyNode:
        """Make a node under test in the namespace."""
        node = kind(namespace=self.namespace, parameter_overrides=overrides_from(parameters))
        self.executor.add_node(node)
        return node

    def wait(self, what: Callable[[], Any]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not what():
            assert time.monotonic() < end, self.describe()
            self.executor.spin_once(timeout_sec=0.1)

    def describe(self) -> object:
        """Return what to report when a wait times out."""
        return "waited in vain"

    def close(self) -> None:
        for node in self.executor.get_nodes():
            node.destroy_node()
        self.executor.shutdown()


def overrides_from(parameters: dict[str, Any]) -> list[Parameter]:
    """Parameters as the constructors of nodes take them."""
    return [Parameter(name, value=value) for name, value in parameters.items()]


def ros_fixture() -> Any:
    """A fixture for a module whose nodes use ROS in this process."""

    @pytest.fixture(scope="module")
    def ros() -> Iterator[None]:
        rclpy.init()
        yield
        rclpy.try_shutdown()

    return ros


def stage_fixture(kind: Callable[[], NodeStage]) -> Any:
    """A fixture that opens a stage and closes it; the module has a fixture `ros` as well."""

    @pytest.fixture
    def stage(ros: None) -> Iterator[NodeStage]:
        opened = kind()
        yield opened
        opened.close()

    return stage
