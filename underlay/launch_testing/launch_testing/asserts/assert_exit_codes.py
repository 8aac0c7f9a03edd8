"""The assertion on how processes ended."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from ..util.proc_lookup import ProcessRef, resolveProcesses

if TYPE_CHECKING:
    from ..proc_info_handler import ProcInfoHandler

EXIT_OK = 0
EXIT_FORCED = 1
EXIT_SIGINT = 130
EXIT_SIGQUIT = 131
EXIT_SIGKILL = 137
EXIT_SIGSEGV = 139


def assertExitCodes(
    proc_info: ProcInfoHandler,
    allowable_exit_codes: Collection[int] = (EXIT_OK,),
    process: ProcessRef = None,
    cmd_args: Any = None,
    *,
    strict_proc_matching: bool = True,
) -> None:
    """Assert that processes ended with one of the allowed exit codes.

    Without `process`, all processes are meant. For `process`, `cmd_args` and `strict_proc_matching` see
    launch_testing.util.resolveProcesses.
    """
    if process is None or process == "":
        ended = list(proc_info)
    else:
        actions = resolveProcesses(
            proc_info, process=process, cmd_args=cmd_args, strict_proc_matching=strict_proc_matching
        )
        ended = [proc_info[action] for action in actions]
    for info in ended:
        code = getattr(info, "returncode", None)
        if code is None:
            raise AssertionError(f"Process {info.process_name} has not exited")
        if code not in allowable_exit_codes:
            raise AssertionError(
                f"Process {info.process_name} exited with code {code}, allowed: {sorted(allowable_exit_codes)}"
            )
