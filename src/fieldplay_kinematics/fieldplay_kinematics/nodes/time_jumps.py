"""What a node with a memory does when its time jumps back: a bag that loops, a player that seeks."""

from collections.abc import Callable

from rclpy.clock import JumpHandle, JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.node import Node

NEWS_NS = 500_000_000  # news of a jump may come so late: /clock and the data come by different ways


def reset_on_jump_back(node: Node, reset: Callable[[], None]) -> JumpHandle:
    """Call `reset`, and say so in the log, when the node's clock goes back or changes between system and simulation.

    The node must keep what it gets: rclpy holds on to the handle by its address alone.
    """

    def jumped(jump: TimeJump) -> None:
        back_s = -jump.delta.nanoseconds / 1e9
        node.get_logger().warning(f"time jumped back by {back_s:.3f} s: starting anew" if back_s > 0 else NEW_CLOCK)
        reset()

    threshold = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True)
    return node.get_clock().create_jump_callback(threshold, post_callback=jumped)


NEW_CLOCK = "the source of time changed: starting anew"
