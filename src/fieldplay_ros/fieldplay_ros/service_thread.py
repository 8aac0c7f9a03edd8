"""Answers a node's services and timers, apart from the threads that play."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from threading import Event, Thread
from types import TracebackType

from rclpy.executors import Executor, ShutdownException, TimeoutException
from rclpy.node import Node
from rclpy.task import Task

WORKERS = 3  # a burst of a whole archive occupies one for long


class ServiceThread(Executor, AbstractContextManager["ServiceThread"]):
    """An executor in threads of its own; leaving it waits until every answer that was begun is sent."""

    def __init__(self, node: Node) -> None:
        super().__init__()
        self.add_node(node)
        self._node = node
        self._ending = Event()
        self._pool = ThreadPoolExecutor(WORKERS, "answer")
        self._thread = Thread(target=self._spin, name="services")

    def __enter__(self) -> "ServiceThread":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        self.create_task(lambda: None)  # something to do: merely woken, it would wait on
        self._thread.join()
        self._pool.shutdown()
        self.remove_node(self._node)
        self.shutdown()

    def spin_once(self, timeout_sec: float | None = None) -> None:
        try:
            handler, _, _ = self.wait_for_ready_callbacks(timeout_sec)
        except (ShutdownException, TimeoutException):
            return
        self._pool.submit(self._run, handler)

    def _spin(self) -> None:
        while not self._ending.is_set():
            self.spin_once()

    def _run(self, handler: Task) -> None:
        handler()
        error = handler.exception()
        if error is not None:
            self._node.get_logger().error(f"a service or timer failed: {error!r}")
