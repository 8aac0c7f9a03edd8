"""How the commands `fieldplay cdff` open logs: with a bar, and with what is wrong in them."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from fieldplay.cdff.opening import opened_logs
from fieldplay.cli.commands import fault_of_place, tell
from fieldplay.cli.progress import progress_bar
from fieldplay_archive.logs.log import Log
from fieldplay_messages.errors import Defect, UsageError
from fieldplay_messages.progress import watched_opening


@contextmanager
def opened_with_faults(paths: Sequence[Path]) -> Iterator[tuple[Log, list[Defect]]]:
    """Logs, and what is wrong with them."""
    require_there(paths)
    faults: list[Defect] = []
    notes: list[str] = []
    with ExitStack() as stack:
        with progress_bar("reading", "MB", sys.stderr) as bar, watched_opening(bar):
            log = stack.enter_context(opened_logs(paths, faults.append, notes.append))
        for note in notes:
            tell(f"fieldplay: note: {note}")
        yield log, faults


def require_there(paths: Sequence[Path]) -> None:
    """UsageError where a path leads to nothing that can be read."""
    for fault in filter(None, map(fault_of_place, paths)):
        raise UsageError(fault)


def tell_faults(faults: Sequence[Defect]) -> None:
    """A line for each."""
    for fault in faults:
        tell(f"fieldplay: {fault}")
