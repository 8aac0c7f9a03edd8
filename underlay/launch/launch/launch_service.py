"""The service that runs launch descriptions."""

from __future__ import annotations

import asyncio
import contextlib
import logging as python_logging
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from . import logging
from ._entities import Event, LaunchDescriptionEntity, as_list
from .event_handlers import OnIncludeLaunchDescription, OnShutdown
from .events import IncludeLaunchDescription, Shutdown
from .launch_context import LaunchContext
from .launch_description import LaunchDescription


class LaunchService:
    """Visits launch descriptions, handles events, and waits until all work is done."""

    def __init__(self, *, argv: Iterable[str] | None = None, noninteractive: bool = False, debug: bool = False) -> None:
        """Keep `argv` for the entities; `noninteractive` says that no terminal sends its Ctrl-C to the children."""
        logging.launch_config.level = python_logging.DEBUG if debug else python_logging.INFO
        self.__debug = debug
        self.__logger = logging.get_logger("launch")
        self.__context = LaunchContext(argv=argv, noninteractive=noninteractive)
        self.__context.register_event_handler(OnIncludeLaunchDescription())
        self.__context.register_event_handler(OnShutdown(on_shutdown=self.__on_shutdown))
        self.__loop: asyncio.AbstractEventLoop | None = None
        self.__task: asyncio.Task[Any] | None = None
        self.__shutting_down = False
        self.__interrupted = False
        self.__terminated = False
        self.__failed = False

    @property
    def context(self) -> LaunchContext:
        """The context that the entities share."""
        return self.__context

    def emit_event(self, event: Event) -> None:
        """Queue an event, from any thread; a service that does not run handles it once it does."""
        self.__context.emit_event_sync(event)

    def include_launch_description(self, launch_description: LaunchDescription) -> None:
        """Have a launch description visited, from any thread."""
        self.emit_event(IncludeLaunchDescription(launch_description))

    def run(self, *, shutdown_when_idle: bool = True) -> int:
        """Run until the system has shut down; see run_async()."""
        return asyncio.run(self.run_async(shutdown_when_idle=shutdown_when_idle), debug=self.__debug or None)

    async def run_async(self, *, shutdown_when_idle: bool = True) -> int:
        """Visit the launch descriptions and handle events until the system has shut down.

        Returns 1 if anything raised, if the launch was terminated, or if a process failed whose end shuts the launch
        down; else 0. In the main thread, SIGINT, SIGTERM and SIGQUIT are handled meanwhile; another thread will do too.
        """
        with self.__running():
            self.__logger.info(f"All log files can be found below {logging.launch_config.log_dir}")
            try:
                await self.__work(shutdown_when_idle)
            except asyncio.CancelledError:
                self.__logger.error("run task was canceled")
                self.__failed = True
            finally:
                await self.__end_remaining_work()
        return 1 if self.__failed or self.__context._required_process_failed else 0

    @contextlib.contextmanager
    def __running(self) -> Iterator[None]:
        if self.__loop is not None:
            raise RuntimeError("LaunchService cannot be run multiple times concurrently.")
        loop = asyncio.get_running_loop()
        exception_handler = loop.get_exception_handler()
        self.__loop, self.__task = loop, asyncio.current_task()
        self.__interrupted = self.__terminated = self.__failed = self.__context._required_process_failed = False
        self.__context._set_asyncio_loop(loop)
        loop.set_exception_handler(self.__on_loop_exception)
        on_terminate = self.__on_terminate
        signals = {signal.SIGINT: self.__on_interrupt, signal.SIGTERM: on_terminate, signal.SIGQUIT: on_terminate}
        try:
            with _handled(loop, signals):
                yield
        finally:
            loop.set_exception_handler(exception_handler)
            self.__context._set_asyncio_loop(None)
            self.__loop = None
            self.__shutting_down = False

    async def __work(self, shutdown_when_idle: bool) -> None:
        context = self.__context
        while True:
            try:
                context._news.clear()
                self.__forget_finished_work()
                if context._events:
                    self.__process_pending_events()
                    await asyncio.sleep(0)  # lets signals and the children's output in
                elif context._futures or not (self.__shutting_down or shutdown_when_idle):
                    await context._news.wait()
                elif self.__shutting_down:
                    return
                else:
                    self.__begin_shutdown("idle")
            except Exception as exc:  # whatever a launch description raises must end in an orderly shutdown
                self.__logger.debug("exception in launch:", exc_info=True)
                self.__fail(f"Caught exception in launch (see debug for traceback): {exc}")

    def __forget_finished_work(self) -> None:
        futures = self.__context._futures
        for future in [future for future in futures if future.done()]:
            futures.remove(future)
            if not future.cancelled():
                future.result()

    def __process_pending_events(self) -> None:
        events = self.__context._events
        for _ in range(len(events)):
            self.__process(events.popleft())

    def __process(self, event: Event) -> None:
        context = self.__context
        self.__logger.debug(f"processing event: '{event}'")
        for handler in tuple(context._event_handlers):
            if not handler.matches(event):
                continue
            with context._scoped_locals():
                for entity in as_list(handler.handle(event, context)):
                    self.__visit(entity)

    def __visit(self, entity: LaunchDescriptionEntity | None) -> None:
        if entity is None:
            return
        if not isinstance(entity, LaunchDescriptionEntity):
            raise RuntimeError(f"expected a LaunchDescriptionEntity from event_handler, got '{entity}'")
        for future in _visit_all(entity, self.__context):
            if future not in self.__context._futures:
                self.__context.add_completion_future(future)

    def __fail(self, message: str) -> None:
        self.__logger.error(message)
        self.__failed = True
        self.__begin_shutdown(message)

    def __on_loop_exception(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.__failed = True
        loop.default_exception_handler(context)

    def __on_shutdown(self, event: Event, context: LaunchContext) -> None:
        self.__shutting_down = True
        context._set_is_shutdown(True)

    def __begin_shutdown(self, reason: str, *, due_to_sigint: bool = False) -> None:
        if not self.__shutting_down:
            self.emit_event(Shutdown(reason=reason, due_to_sigint=due_to_sigint))
        self.__shutting_down = True
        self.__context._set_is_shutdown(True)

    def __on_interrupt(self, number: signal.Signals) -> None:
        message = "user interrupted with ctrl-c (SIGINT)"
        if self.__interrupted:
            self.__logger.warning(f"{message} again, ignoring...")
            return
        self.__logger.warning(message)
        self.__interrupted = True
        self.__begin_shutdown("ctrl-c (SIGINT)", due_to_sigint=True)

    def __on_terminate(self, number: signal.Signals) -> None:
        self.__logger.error(f"user interrupted with ctrl-\\ ({number.name}), terminating...")
        if not self.__terminated and self.__task is not None:
            self.__terminated = True
            self.__task.cancel()  # the processes are ended by SIGTERM then
        else:
            self.__cancel_work()  # by SIGKILL

    async def __end_remaining_work(self) -> None:
        remaining = self.__cancel_work()
        if remaining:
            await asyncio.wait(remaining)
        self.__context._futures.clear()

    def __cancel_work(self) -> list[asyncio.Future[Any]]:
        remaining = [future for future in self.__context._futures if not future.done()]
        for future in remaining:
            future.cancel()
        return remaining

    def shutdown(self) -> None:
        """Shut the system down, from any thread; without effect on a service that does not run."""
        if self.__loop is not None:
            self.__begin_shutdown("LaunchService.shutdown() called")


@contextlib.contextmanager
def _handled(
    loop: asyncio.AbstractEventLoop, handlers: Mapping[signal.Signals, Callable[[signal.Signals], None]]
) -> Iterator[None]:
    """Call the handlers within the loop; outside of the main thread signals are left alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in handlers}
    try:
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler, number)
        yield
    finally:
        for number, previous in before.items():
            loop.remove_signal_handler(number)
            if previous is not None:  # None: it was not set by Python, and cannot be restored
                signal.signal(number, previous)


def _visit_all(entity: LaunchDescriptionEntity, context: LaunchContext) -> Iterator[asyncio.Future[Any]]:
    """Visit `entity` and what it yields; report each future at once, so that none is lost if a later visit raises."""
    sub_entities = entity.visit(context)
    future = entity.get_asyncio_future()
    if future is not None:
        yield future
    for sub_entity in sub_entities or ():
        yield from _visit_all(sub_entity, context)
