"""A node that is spun in a thread, beside what the program itself does."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from fieldplay_ros.node_program import NOTICE_S

Made = TypeVar("Made")


@contextmanager
def spin_in_thread(
    name: str, make: Callable[[Node], Made], ending: Callable[[], AbstractContextManager[None]] = nullcontext
) -> Iterator[Made]:
    """What is made of a node that is spun until this ends; `ending` bounds the end, as core/process_exit.py does.

    The node has a context of its own, which signals do not end.
    """
    context = rclpy.Context()
    rclpy.init(args=[], context=context)
    node = rclpy.create_node(name, context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    ends = threading.Event()

    def spin() -> None:
        while not ends.is_set():
            executor.spin_once(NOTICE_S)

    thread = threading.Thread(target=spin, daemon=True)
    try:
        made = make(node)
        thread.start()
        yield made
    finally:
        ends.set()
        with ending():
            if thread.ident is not None:
                thread.join()
            executor.shutdown()
            node.destroy_node()
            rclpy.try_shutdown(context=context)
