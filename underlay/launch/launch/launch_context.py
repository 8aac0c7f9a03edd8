"""The state that is shared by the entities of one launch."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import os
from collections.abc import Iterable, Iterator, MutableMapping
from types import SimpleNamespace
from typing import Any

from ._entities import BaseEventHandler, Event, Substitution


class LaunchContext:
    """Launch configurations, environment, locals, event handlers and the event queue."""

    def __init__(self, *, argv: Iterable[str] | None = None, noninteractive: bool = False) -> None:
        """Keep `argv` for the entities; `noninteractive` says that no terminal sends its Ctrl-C to the children."""
        self.__argv = [] if argv is None else list(argv)
        self.__noninteractive = noninteractive
        self.__locals: dict[str, Any] = {}
        self.__launch_configurations: dict[str, Any] = {}
        self.__scopes: list[tuple[dict[str, Any], dict[str, str]]] = []
        self.__loop: asyncio.AbstractEventLoop | None = None
        self.__is_shutdown = False
        self._news = asyncio.Event()
        self._events: collections.deque[Event] = collections.deque()
        self._event_handlers: collections.deque[BaseEventHandler] = collections.deque()
        self._futures: list[asyncio.Future[Any]] = []
        # Set when a process failed whose exit shuts the launch down; the service's return code shows it.
        self._required_process_failed = False

    @property
    def argv(self) -> list[str]:
        """The arguments that the launch service was given."""
        return self.__argv

    @property
    def noninteractive(self) -> bool:
        """Whether the launch runs without a terminal."""
        return self.__noninteractive

    @property
    def is_shutdown(self) -> bool:
        """Whether the launched system is being shut down."""
        return self.__is_shutdown

    def _set_is_shutdown(self, state: bool) -> None:
        self.__is_shutdown = state

    def _set_asyncio_loop(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self.__loop = loop
        self._news = asyncio.Event()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self.__loop is None:
            raise RuntimeError("this can be executed by a running LaunchService only")
        return self.__loop

    def add_completion_future(self, completion_future: asyncio.Future[Any]) -> None:
        """Make the launch service wait for one more future before it is idle."""
        self._futures.append(completion_future)
        completion_future.add_done_callback(lambda _: self._notify())

    def _notify(self) -> None:
        if self.__loop is not None:
            # Another thread may emit while the loop ends: its event then waits for the next run.
            with contextlib.suppress(RuntimeError):
                self.__loop.call_soon_threadsafe(self._news.set)

    def extend_locals(self, extensions: dict[str, Any]) -> None:
        """Add to the locals until the handling of the current event ends."""
        self.__locals.update(extensions)

    def get_locals_as_dict(self) -> dict[str, Any]:
        """Return the locals as a dictionary."""
        return dict(self.__locals)

    @property
    def locals(self) -> SimpleNamespace:
        """The locals as attributes, to be read: extend_locals() sets them."""
        return SimpleNamespace(**self.__locals)

    @contextlib.contextmanager
    def _scoped_locals(self) -> Iterator[None]:
        outer = dict(self.__locals)
        try:
            yield
        finally:
            self.__locals = outer

    @property
    def launch_configurations(self) -> dict[str, Any]:
        """The launch configurations of the current scope."""
        return self.__launch_configurations

    def _push_scope(self) -> None:
        self.__scopes.append((dict(self.__launch_configurations), dict(os.environ)))

    def _pop_scope(self) -> None:
        self.__launch_configurations, environment = self.__scopes.pop()
        # os.environ itself must stay: only its methods reach the C environment.
        os.environ.clear()
        os.environ.update(environment)

    @property
    def environment(self) -> MutableMapping[str, str]:
        """The environment that children inherit: that of this very process."""
        return os.environ

    def register_event_handler(self, event_handler: BaseEventHandler) -> None:
        """Register a handler, before those already registered."""
        self._event_handlers.appendleft(event_handler)

    def unregister_event_handler(self, event_handler: BaseEventHandler) -> None:
        """Unregister a handler; ValueError if it is not registered."""
        self._event_handlers.remove(event_handler)

    def emit_event_sync(self, event: Event) -> None:
        """Queue an event, from any thread."""
        self._events.append(event)
        self._notify()

    def perform_substitution(self, substitution: Substitution) -> str:
        """Perform one substitution in this context."""
        return substitution.perform(self)
