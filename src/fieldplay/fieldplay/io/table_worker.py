"""Calls of the text parser in a process that was forked from one that had the parser's threads already.

Such a process would wait for threads that it does not have. It lets one of its own be begun for these calls.
"""

import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from fieldplay.core.errors import ArchiveError, UserError

THREADS = re.compile(r"polars-\d")  # how the parser's threads are called that work
SERVER = """\
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from fieldplay.io.table_worker import serve
serve()
"""

Found = TypeVar("Found")
_lost: set[bool] = set()  # holds True in a process that cannot have the threads


def has_threads() -> bool:
    """Whether the parser has threads in this process."""
    names = (path.read_text() for path in Path("/proc/self/task").glob("*/comm"))
    return any(map(THREADS.match, names))


def lose_threads() -> None:
    """Say, in a process just forked, that the other one had the threads."""
    _lost.add(True)


def called(function: Callable[..., Found], *arguments: Any) -> Found:
    """What a function gives, called where the parser can work."""
    return _called_apart(function, arguments) if _lost else function(*arguments)


def _called_apart(function: Callable[..., Found], arguments: tuple[Any, ...]) -> Found:
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        pickle.dump((function, arguments), server.stdin)
        server.stdin.flush()
        found = pickle.load(server.stdout)
    except (OSError, EOFError):
        raise ArchiveError("a process that parses text has ended before its time") from None
    if isinstance(found, UserError):
        raise found
    result: Found = found
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
            found = function(*arguments)
        except UserError as error:
            found = error
        pickle.dump(found, answers)
        answers.flush()
