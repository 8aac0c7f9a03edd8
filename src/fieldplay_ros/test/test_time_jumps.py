from collections.abc import Iterator

import pytest
import rclpy
from rclpy.clock import JumpHandle
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.time import Time

from fieldplay_ros.computation_node import jump_handle


class Counter(Node):
    """A node on simulated time that counts how often it was reset."""

    def __init__(self) -> None:
        super().__init__("counter", parameter_overrides=[Parameter("use_sim_time", value=True)])
        self.resets = 0
        self.jumps: JumpHandle = jump_handle(self, self.reset)

    def reset(self) -> None:
        self.resets += 1

    def show(self, *seconds: float) -> int:
        """Let the clock show these times, one after the other; the resets so far."""
        clock = self.get_clock()
        for second in seconds:
            clock.set_ros_time_override(Time(seconds=second, clock_type=clock.clock_type))
        return self.resets


@pytest.fixture
def counter() -> Iterator[Counter]:
    rclpy.init()
    counter = Counter()
    yield counter
    counter.destroy_node()
    rclpy.try_shutdown()


def test_node_is_reset_on_backward_time_jump_only(counter: Counter) -> None:
    assert counter.show(10, 10, 10.5, 1000) == 0
    assert counter.show(999.9) == 1
    assert counter.show(1000, 1001) == 1
    assert counter.show(0) == 2


def test_node_is_reset_on_clock_change(counter: Counter) -> None:
    counter.show(10)
    counter.set_parameters([Parameter("use_sim_time", value=False)])
    assert counter.resets == 1


def test_nothing_is_reset_after_shutdown(counter: Counter) -> None:
    counter.show(10)
    counter.jumps.unregister()
    assert counter.show(5) == 0
