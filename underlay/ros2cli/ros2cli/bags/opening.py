"""A bag that is there, and a node of `ros2 bag` that ends in order."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions

from fieldplay.bags.bag_reader import Ros2Bag
from fieldplay.core.errors import Defect, UserError


@contextmanager
def opened_bag(path: Path, storage: str | None) -> Iterator[Ros2Bag]:
    """Open a bag; what is wrong with it goes to stderr, and it is read as far as it goes."""
    if not path.exists():
        raise RuntimeError(f"Bag path '{path}' does not exist!")

    def tell(defect: Defect) -> None:
        sys.stderr.write(f"{defect}\n")

    with told():
        bag = Ros2Bag(path, tell)
        try:
            if storage is not None and bag.storages != [storage]:
                raise RuntimeError(f"the storage of '{path}' is {', '.join(bag.storages)}, not {storage}")
            yield bag
        finally:
            bag.close()


@contextmanager
def told() -> Iterator[None]:
    """What fieldplay cannot do is said as the command says it."""
    try:
        yield
    except UserError as error:
        raise RuntimeError(str(error)) from None


class Ending:
    """Set by Ctrl-C and SIGTERM, which end what is going on in order; `number` is that of the signal."""

    def __init__(self) -> None:
        self.asked = Event()
        self.number = 0

    def ask(self, number: int, _: object) -> None:
        """The handler of the signals."""
        self.number = number
        self.asked.set()


@contextmanager
def bag_node(name: str, *, use_sim_time: bool = False, remappings: Sequence[str] = ()) -> Iterator[tuple[Node, Ending]]:
    """Open a node, and watch for signals."""
    ending = Ending()
    before = {number: signal.signal(number, ending.ask) for number in (signal.SIGINT, signal.SIGTERM)}
    rules = [word for rule in remappings for word in ("-r", rule)]
    rclpy.init(args=["--ros-args", *rules] if rules else [], signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = Node(name, parameter_overrides=[Parameter("use_sim_time", value=use_sim_time)])
        try:
            yield node, ending
        finally:
            node.destroy_node()
    finally:
        rclpy.try_shutdown()
        for number, handler in before.items():
            signal.signal(number, handler)
