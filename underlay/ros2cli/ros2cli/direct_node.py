"""A node of the command's own that lives as long as the command; there is no daemon to ask instead."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import uninstall_signal_handlers
from rclpy.task import Future
from rclpy.topic_endpoint_info import TopicEndpointInfo

from ros2cli.options import Argument

NODE_NAME_PREFIX = "_ros2cli"
_STEP_S = 0.05
_TOLD_S = 0.1  # within which Python hears of the Ctrl-C that has shut rclpy down already, and raises it
_NAME_NOT_KNOWN_YET = "_NODE_NAME_UNKNOWN_"


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long to wait, in seconds: at least, until there was no change for that long, and at most."""

    least_s: float = 0.0
    quiet_s: float = 0.4
    most_s: float = 6.5


# Of a participant that is up, Fast DDS reports in a tenth of a second or, when the first exchange missed (which is no
# rare thing), with its next heartbeat 3 s later. Who wants the first word of a topic can go by that; who wants all of
# the graph must wait for the heartbeat.
FIRST_FOUND = Patience()
ALL_FOUND = Patience(least_s=3.3)


# The options of every verb that opens a node, and of those that could ask upstream's daemon.
DIRECT = (
    Argument(
        "--spin-time",
        type=float,
        help=f"Seconds to wait for discovery (default: as long as it may take, up to {ALL_FOUND.most_s})",
    ),
    Argument("-s", "--use-sim-time", action="store_true", help="Take the time from /clock"),
)
NODE = (
    *DIRECT,
    Argument("--no-daemon", action="store_true", help="Taken for compatibility: this stand-in never uses a daemon"),
)


@contextmanager
def direct_node(*, use_sim_time: bool = False, suffix: str | None = None, name: str | None = None) -> Iterator[Node]:
    """Open a hidden node with an executor; when SIGTERM shuts rclpy down, end with its number as exit code."""
    with ExitStack() as undone_at_the_end:
        rclpy.init(args=[])
        undone_at_the_end.callback(rclpy.try_shutdown)
        # Not rclpy's global one, which comes and goes with the shutdown while it is being used.
        executor = SingleThreadedExecutor()
        undone_at_the_end.callback(executor.shutdown)
        node = rclpy.create_node(
            name or NODE_NAME_PREFIX + (f"_{os.getpid()}" if suffix is None else suffix),
            start_parameter_services=False,
            parameter_overrides=[
                Parameter("use_sim_time", value=use_sim_time),
                Parameter("start_type_description_service", value=False),
            ],
        )
        undone_at_the_end.callback(node.destroy_node)
        executor.add_node(node)
        # The first to be undone: rclpy's signal thread would go on using what the others destroy.
        undone_at_the_end.callback(uninstall_signal_handlers)
        try:
            yield node
        except (ExternalShutdownException, RuntimeError):
            # What is called in the moment of the shutdown fails in ways of its own.
            if rclpy.ok():
                raise
            time.sleep(_TOLD_S)
            raise SystemExit(signal.SIGTERM) from None


def spin_for(node: Node, timeout_s: float) -> None:
    """Do the next thing there is to do for ``node``, or nothing for ``timeout_s`` seconds."""
    node.executor.spin_once(timeout_sec=timeout_s)


def spin_until(node: Node, done: Future) -> None:
    """Do what there is to do for ``node`` until ``done`` is; nothing but that or a signal ends it."""
    node.executor.spin_until_future_complete(done)
    if not done.done():
        raise ExternalShutdownException


def spin_until_shutdown(node: Node) -> None:
    """Do what there is to do for ``node`` until a signal ends it."""
    spin_until(node, Future())


def wait_for_graph(node: Node, spin_time: float | None) -> None:
    """Let ``node`` discover all there is: for ``spin_time`` seconds, or as long as it may take."""

    def look() -> tuple[str, bool]:
        topics = node.get_topic_names_and_types()
        endpoints = [(node.count_publishers(topic), node.count_subscribers(topic)) for topic, _ in topics]
        return repr((topics, endpoints, node.get_service_names_and_types())), True

    _wait(node, spin_time, look, ALL_FOUND)


def wait_for_endpoints(node: Node, topic: str, spin_time: float | None) -> None:
    """Let ``node`` discover all endpoints of ``topic`` (its full name) and the names of their nodes, likewise."""

    def look() -> tuple[str, bool]:
        ends = _endpoints(node, topic)
        # The names come by another way than the endpoints, and later.
        named = all(end.node_name != _NAME_NOT_KNOWN_YET for end in ends)
        return repr([(end.endpoint_gid, end.node_name) for end in ends]), bool(ends) and named

    _wait(node, spin_time, look, ALL_FOUND)


def wait_for_topic(node: Node, topic: str, spin_time: float | None) -> None:
    """Let ``node`` discover ``topic`` (its full name): for ``spin_time`` seconds, or until somebody has it."""

    def look() -> tuple[str, bool]:
        ends = _endpoints(node, topic)
        return repr([end.endpoint_gid for end in ends]), bool(ends)

    _wait(node, spin_time, look, FIRST_FOUND)


def wait_for_service(node: Node, name: str, spin_time: float | None) -> None:
    """Let ``node`` discover a service (its full name): for ``spin_time`` seconds, or until somebody has it."""

    def look() -> tuple[str, bool]:
        types = dict(node.get_service_names_and_types()).get(name)
        return repr(types), bool(types)

    _wait(node, spin_time, look, FIRST_FOUND)


def _endpoints(node: Node, topic: str) -> list[TopicEndpointInfo]:
    if topic not in dict(node.get_topic_names_and_types()):
        return []
    return [*node.get_publishers_info_by_topic(topic), *node.get_subscriptions_info_by_topic(topic)]


def _wait(node: Node, spin_time: float | None, look: Callable[[], tuple[str, bool]], patience: Patience) -> None:
    if spin_time is not None:
        patience = Patience(least_s=spin_time, quiet_s=0.0, most_s=spin_time)
    wait_until_settled(look, lambda: spin_for(node, _STEP_S), patience=patience)


def wait_until_settled(
    look: Callable[[], tuple[Hashable, bool]],
    step: Callable[[], None],
    *,
    patience: Patience,
    now_s: Callable[[], float] = time.monotonic,
) -> bool:
    """Call ``step`` (which takes a while) until what is seen is complete and has not changed for some time.

    Args:
        look: returns what is seen now, and whether it may be all there is.
        step: lets time pass.
        patience: the bounds.
        now_s: the clock, in seconds.

    Returns:
        Whether the graph settled; False when the longest wait ran out first.
    """
    start = changed = now_s()
    seen, complete = look()
    while now_s() - start < patience.most_s:
        quiet = now_s() - changed >= patience.quiet_s
        if complete and quiet and now_s() - start >= patience.least_s:
            return True
        step()
        before, (seen, complete) = seen, look()
        if seen != before:
            changed = now_s()
    return False
