"""What tests of the ends of launches share: one that does not come is told with all that there is to know of it."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from fieldplay_testing.nodes.node_stage import MEET_PATIENCE_S as PATIENCE_S
from launch.actions import ExecuteProcess

TELLS_ITS_PLACE = {"PYTHONFAULTHANDLER": "1"}  # Python, told to abort, says where each of its threads stands
LAST_WORDS_S = 3.0


def assert_it_ends(proc_info: Any, proc_output: Any, process: ExecuteProcess) -> None:
    """Wait for the end of a process; where none comes, say what it wrote and where it and its children stand."""
    try:
        proc_info.assertWaitForShutdown(process=process, timeout=PATIENCE_S)
    except AssertionError as error:
        details = process.process_details
        assert details is not None
        for pids in (list(_below(details["pid"])), [details["pid"]]):
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGABRT)
            with suppress(AssertionError):
                proc_info.assertWaitForShutdown(process=process, timeout=LAST_WORDS_S)
        raise AssertionError(f"{error}; it wrote:\n{said(proc_output, process)}") from None


def said(proc_output: Any, process: ExecuteProcess) -> str:
    """All that a process wrote."""
    return "".join(event.text.decode() for event in proc_output[process])


def _below(pid: int) -> Iterator[int]:
    """The processes that a process started, the latest of a chain first."""
    results = []
    with suppress(OSError):
        for file in Path(f"/proc/{pid}/task").glob("*/children"):
            results += [int(child) for child in file.read_text().split()]
    for child in results:
        yield from _below(child)
        yield child
