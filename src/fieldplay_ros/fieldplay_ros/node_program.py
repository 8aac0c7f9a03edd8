"""How every node of this package is run as a program."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, TypeVar

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from fieldplay.core.errors import UserError
from fieldplay.core.process_exit import DONE, end_with_launch, exit_deadline

FAILED = 1
SIGNALS = (signal.SIGINT, signal.SIGTERM)
NOTICE_S = 0.1  # how soon a signal is noticed where nothing else happens
Result = TypeVar("Result")


class NodeProgram:
    """A program that runs one node: called it gives the exit code; `node` makes the node with options of rclpy's.

    A node with work that must end before rclpy ends it has a method `close` for this, which may take its time.
    """

    def __init__(self, kind: Callable[..., Node], *arguments: Any) -> None:
        self.node = partial(kind, *arguments)

    def __call__(self) -> int:
        return run(self.node)


def run(make_node: Callable[[], Node]) -> int:
    """Spin a node until SIGINT or SIGTERM; the exit code, 1 where its parameters are no good.

    rclpy's own way is to shut everything down at a signal, whatever is under way then: a node half made or a message
    half sent ends in a traceback. Here a signal is noted, what is under way is done, and then all is ended in order.
    """
    received: list[int] = []
    for number in SIGNALS:
        signal.signal(number, lambda got, _: received.append(got))
    end_with_launch()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        return _spin(make_node, received)
    finally:
        with exit_deadline():
            rclpy.try_shutdown()
        for number in SIGNALS:  # another one may come while Python ends
            signal.signal(number, signal.SIG_IGN)


def _spin(make_node: Callable[[], Node], received: list[int]) -> int:
    try:
        node = make_node()
    except (ValueError, UserError, ParameterException) as error:
        sys.stderr.write(f"{error}\n")
        return FAILED
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        while not received:
            executor.spin_once(timeout_sec=NOTICE_S)
    finally:
        executor.shutdown()
        getattr(node, "close", _nothing)()
        with exit_deadline():
            node.destroy_node()
    return DONE


def _nothing() -> None:
    """Most nodes have nothing to end before rclpy ends them."""


# A node that is spun in a thread, beside what the program itself does.


@contextmanager
def spin_in_thread(
    name: str, make: Callable[[Node], Result], ending: Callable[[], AbstractContextManager[None]] = nullcontext
) -> Iterator[Result]:
    """What is made of a node that is spun until this ends; `ending` bounds the end, as core/process_exit.py does.

    The node has a context of its own, which signals do not end.
    """
    context = rclpy.Context()
    rclpy.init(args=[], context=context)
    node = rclpy.create_node(name, context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    done = threading.Event()

    def spin() -> None:
        while not done.is_set():
            executor.spin_once(NOTICE_S)

    thread = threading.Thread(target=spin, daemon=True)
    try:
        result = make(node)
        thread.start()
        yield result
    finally:
        done.set()
        with ending():
            if thread.ident is not None:
                thread.join()
            executor.shutdown()
            node.destroy_node()
            rclpy.try_shutdown(context=context)
