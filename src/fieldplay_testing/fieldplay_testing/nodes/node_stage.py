"""The stage on which a node is tested: the node, one that feeds and hears it, and the executor that turns both."""

import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

PATIENCE_S = 60.0
AnyNode = TypeVar("AnyNode", bound=Node)


class NodeStage:
    """A node that listens, in a namespace, and those under test; all turn while one waits."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.executor = SingleThreadedExecutor()
        self.audience = rclpy.create_node("audience", namespace=namespace)
        self.executor.add_node(self.audience)

    def add(self, kind: Callable[..., AnyNode], parameters: dict[str, Any]) -> AnyNode:
        """Make a node under test in the namespace."""
        node = kind(namespace=self.namespace, parameter_overrides=overrides_from(parameters))
        self.executor.add_node(node)
        return node

    def wait(self, what: Callable[[], Any]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not what():
            assert time.monotonic() < end, self.told()
            self.executor.spin_once(timeout_sec=0.1)

    def told(self) -> object:
        """What to say when a wait was in vain."""
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
