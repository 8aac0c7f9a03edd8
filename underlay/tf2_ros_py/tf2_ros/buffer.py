"""The transform buffer that users make: it waits, tells futures, and follows its node's clock."""

from collections.abc import Callable
from threading import TIMEOUT_MAX
from time import monotonic
from typing import Any, TypeAlias

from builtin_interfaces.msg import Time as TimeMsg
from geometry_msgs.msg import TransformStamped
from rclpy.clock import Clock, JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.task import Future
from rclpy.time import Time

from ._buffer_core import DEFAULT_CACHE_TIME, BufferCore
from ._errors import InvalidArgumentException, TransformException
from .buffer_interface import NO_WAIT, BufferInterface

_Attempt: TypeAlias = Callable[[], TransformStamped]

_NS_PER_S = 1e9


class Buffer(BufferCore, BufferInterface):
    """Stores transforms and answers lookups, waiting for them on demand.

    A backward jump of the node's clock by a second or more, or a change of its source, clears the motion.
    """

    def __init__(self, cache_time: Duration | None = None, node: Node | None = None) -> None:
        """Make an empty buffer; with a node, follow that node's clock."""
        BufferCore.__init__(self, DEFAULT_CACHE_TIME if cache_time is None else cache_time)
        BufferInterface.__init__(self)
        self._pending: list[tuple[Future, _Attempt]] = []
        self.clock = Clock() if node is None else node.get_clock()
        threshold = JumpThreshold(min_forward=None, min_backward=Duration(seconds=-1), on_clock_change=True)
        self.jump_handle = self.clock.create_jump_callback(threshold, post_callback=self.time_jump_callback)

    def time_jump_callback(self, time_jump: TimeJump) -> None:
        """Clear the buffer: what it holds belongs to another course of time."""
        get_logger("tf2_buffer").warning("Detected jump back in time, or another time source. Clearing tf buffer.")
        self.clear()

    def set_transform(self, transform: TransformStamped, authority: str) -> None:
        """Store a moving transform and wake who waits for it."""
        super().set_transform(transform, authority)
        self._settle_pending()

    def set_transform_static(self, transform: TransformStamped, authority: str) -> None:
        """Store a static transform and wake who waits for it."""
        super().set_transform_static(transform, authority)
        self._settle_pending()

    def lookup_transform(
        self, target_frame: str, source_frame: str, time: Time | TimeMsg, timeout: Duration = NO_WAIT
    ) -> TransformStamped:
        """Return target_T_source at a time (0: the latest common one), waiting up to ``timeout`` for it.

        Waiting blocks the caller: another thread must spin the node that listens.
        """
        return self._wait_for(lambda: self.lookup_transform_core(target_frame, source_frame, time), timeout)

    def lookup_transform_full(
        self,
        target_frame: str,
        target_time: Time | TimeMsg,
        source_frame: str,
        source_time: Time | TimeMsg,
        fixed_frame: str,
        timeout: Duration = NO_WAIT,
    ) -> TransformStamped:
        """Return the target at one time from the source at another, through a frame fixed in time."""
        return self._wait_for(
            lambda: self.lookup_transform_full_core(target_frame, target_time, source_frame, source_time, fixed_frame),
            timeout,
        )

    def can_transform(
        self,
        target_frame: str,
        source_frame: str,
        time: Time | TimeMsg,
        timeout: Duration = NO_WAIT,
        return_debug_tuple: bool = False,
    ) -> bool | tuple[bool, str]:
        """Return whether a lookup succeeds within ``timeout``; with the reason if a tuple is asked for."""
        answer = self._succeeds(lambda: self.lookup_transform_core(target_frame, source_frame, time), timeout)
        return answer if return_debug_tuple else answer[0]

    def can_transform_full(
        self,
        target_frame: str,
        target_time: Time | TimeMsg,
        source_frame: str,
        source_time: Time | TimeMsg,
        fixed_frame: str,
        timeout: Duration = NO_WAIT,
        return_debug_tuple: bool = False,
    ) -> bool | tuple[bool, str]:
        """Return whether a lookup through a fixed frame succeeds within ``timeout``."""
        answer = self._succeeds(
            lambda: self.lookup_transform_full_core(target_frame, target_time, source_frame, source_time, fixed_frame),
            timeout,
        )
        return answer if return_debug_tuple else answer[0]

    def wait_for_transform_async(self, target_frame: str, source_frame: str, time: Time | TimeMsg) -> Future:
        """Return a future whose result is the transform, as soon as there is one."""
        return self._promise(lambda: self.lookup_transform_core(target_frame, source_frame, time))

    def wait_for_transform_full_async(
        self,
        target_frame: str,
        target_time: Time | TimeMsg,
        source_frame: str,
        source_time: Time | TimeMsg,
        fixed_frame: str,
    ) -> Future:
        """Return a future whose result is the transform through a fixed frame, as soon as there is one."""
        return self._promise(
            lambda: self.lookup_transform_full_core(target_frame, target_time, source_frame, source_time, fixed_frame)
        )

    async def lookup_transform_async(
        self, target_frame: str, source_frame: str, time: Time | TimeMsg
    ) -> TransformStamped:
        """Return target_T_source as soon as there is one."""
        return await self.wait_for_transform_async(target_frame, source_frame, time)

    async def lookup_transform_full_async(
        self,
        target_frame: str,
        target_time: Time | TimeMsg,
        source_frame: str,
        source_time: Time | TimeMsg,
        fixed_frame: str,
    ) -> TransformStamped:
        """Return the transform through a fixed frame as soon as there is one."""
        return await self.wait_for_transform_full_async(
            target_frame, target_time, source_frame, source_time, fixed_frame
        )

    def _wait_for(self, attempt: _Attempt, timeout: Duration) -> TransformStamped:
        deadline = monotonic() + timeout.nanoseconds / _NS_PER_S
        with self._changed:
            while True:
                try:
                    return attempt()
                except InvalidArgumentException:
                    raise  # no data will ever heal it
                except TransformException:
                    left = deadline - monotonic()
                    if left <= 0.0:
                        raise
                self._changed.wait(min(left, TIMEOUT_MAX))

    def _succeeds(self, attempt: _Attempt, timeout: Duration) -> tuple[bool, str]:
        try:
            self._wait_for(attempt, timeout)
        except TransformException as error:
            return False, str(error)
        return True, ""

    def _promise(self, attempt: _Attempt) -> Future:
        future = Future()
        with self._changed:
            if settle := _outcome(future, attempt):
                settle()
            else:
                self._pending.append((future, attempt))
        return future

    def _settle_pending(self) -> None:
        if not self._pending:
            return
        with self._changed:
            waiting = [entry for entry in self._pending if not (entry[0].done() or entry[0].cancelled())]
            outcomes = [(entry, _outcome(*entry)) for entry in waiting]
            self._pending = [entry for entry, settle in outcomes if settle is None]
        # Outside the lock: a future's callbacks are the user's, and may take their time.
        for _, settle in outcomes:
            if settle:
                settle()


def _outcome(future: Future, attempt: _Attempt) -> Callable[[], Any] | None:
    """Return what settles the future, or None while the transform is not there yet."""
    try:
        transform = attempt()
    except InvalidArgumentException as error:
        failure = error
        return lambda: future.set_exception(failure)
    except TransformException:
        return None
    return lambda: future.set_result(transform)
