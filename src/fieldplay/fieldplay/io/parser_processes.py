"""Processes that parse the text of tables beside the one that keeps the rows.

They are started before the parser's own threads: a process that has these cannot be divided any more.
"""

import copyreg
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from multiprocessing import get_context, parent_process
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from fieldplay.core.errors import ArchiveError, UserError
from fieldplay.io.table_rows import RowsFormat, RowsSpec, TimedRows

THREADS = re.compile(r"polars-\d")  # how the parser's threads are called that work
SERVER = """\
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from fieldplay.io.parser_processes import serve
serve()
"""
Result = TypeVar("Result")
_lost: set[bool] = set()  # holds True in a process that cannot have the threads
AHEAD = 2  # groups of blocks for each process, those that wait among them
Text = TypeVar("Text")


# Calls of the text parser in a process that was forked from one that had the parser's threads already.
#
# Such a process would wait for threads that it does not have. It starts one of its own for these calls.


def has_threads() -> bool:
    """Whether the parser has threads in this process."""
    names = (path.read_text() for path in Path("/proc/self/task").glob("*/comm"))
    return any(map(THREADS.match, names))


def lose_threads() -> None:
    """Say, in a process just forked, that the other one had the threads."""
    _lost.add(True)


def call_parser(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in this process, or in the parser's own where this one cannot have its threads."""
    return _call_server(function, arguments) if _lost else function(*arguments)


def _call_server(function: Callable[..., Result], arguments: tuple[Any, ...]) -> Result:
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        pickle.dump((function, arguments), server.stdin)
        server.stdin.flush()
        answer = pickle.load(server.stdout)
    except (OSError, EOFError):
        raise ArchiveError("a process that parses text has ended before its time") from None
    if isinstance(answer, UserError):
        raise answer
    result: Result = answer
    return result


@cache
def _server() -> "subprocess.Popen[bytes]":
    """It ends when this process does, as nothing more comes to it then."""
    pipe = subprocess.PIPE
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdin=pipe, stdout=pipe, start_new_session=True)
    assert server.stdin is not None
    pickle.dump(sys.path, server.stdin)
    return server


def serve() -> None:
    """Answer calls until there are no more."""
    source, answers = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            function, arguments = pickle.load(source)
        except EOFError:
            return
        try:
            answer = function(*arguments)
        except UserError as error:
            answer = error
        pickle.dump(answer, answers)
        answers.flush()


class Parsers:
    """So many processes; each gets groups of blocks of text and gives their rows."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool = ProcessPoolExecutor(count, get_context("fork"), _init_worker)

    def start(self) -> None:
        """Start all processes now."""
        for done in [self._pool.submit(_do_nothing) for _ in range(self._count)]:
            done.result()

    def stop(self) -> None:
        """Stop the processes, whatever they do."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def form(self, spec: RowsSpec, head: bytes) -> RowsFormat:
        """The format of a file by its start."""
        if not _is_sendable(spec):
            return spec.format_from_head(head)
        return self._result(self._pool.submit(spec.format_from_head, head))

    def rows(
        self, groups: Iterator[tuple[Text, list[bytes]]], form: RowsFormat
    ) -> Iterator[tuple[Text, list[TimedRows]]]:
        """Groups of blocks and their rows, in order."""
        if not _is_sendable(form):
            yield from ((group, form.rows_of(texts)) for group, texts in groups)
            return
        waiting: deque[tuple[Text, Future[list[TimedRows]]]] = deque()
        for group, texts in groups:
            waiting.append((group, self._pool.submit(form.rows_of, texts)))
            while len(waiting) > self._count * AHEAD:
                first, done = waiting.popleft()
                yield first, self._result(done)
        for first, done in waiting:
            yield first, self._result(done)

    @staticmethod
    def _result(done: "Future[Result]") -> Result:
        try:
            return done.result()
        except BrokenProcessPool:
            raise ArchiveError("a process that parsed tables has ended before its time") from None


_parsers: ContextVar[Parsers | None] = ContextVar("parsers", default=None)


def parsers() -> Parsers | None:
    """The running parsers, if any."""
    return _parsers.get()


@contextmanager
def start_parsers(count: int) -> Iterator[None]:
    """Parse tables with so many processes inside; with fewer than two, or too late, with this one."""
    if count < 2 or has_threads():
        yield
        return
    copyreg.pickle(MappingProxyType, _reduce_mapping)
    pool = Parsers(count)
    token = _parsers.set(pool)
    try:
        pool.start()
        yield
    finally:
        _parsers.reset(token)
        pool.stop()


def _init_worker() -> None:
    """Ignore the terminal's signals, which are for the parent, and exit when the parent does."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that was killed gives no more work, and the pool's own processes would wait for it for ever."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _do_nothing() -> None:
    """Do nothing: a task that makes the pool start a process."""


def _reduce_mapping(mapping: "MappingProxyType[object, object]") -> tuple[type, tuple[dict[object, object]]]:
    return MappingProxyType, (dict(mapping),)


def _is_sendable(value: object) -> bool:
    try:
        pickle.dumps(value)
    except (pickle.PicklingError, TypeError, AttributeError):
        return False
    return True
