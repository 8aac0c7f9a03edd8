"""The assertion on how processes ended."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from launch import Action
from launch._coverage import refusal

if TYPE_CHECKING:
    from .proc_info_handler import ProcInfoHandler
else:
    __getattr__ = refusal(
        __name__,
        "NO_CMD_ARGS SequentialTextChecker assertDefaultStream assertInStderr assertInStdout assertInStream "
        "assertSequentialStdout",
    )

__all__ = ["EXIT_FORCED", "EXIT_OK", "EXIT_SIGINT", "EXIT_SIGKILL", "EXIT_SIGQUIT", "EXIT_SIGSEGV", "assertExitCodes"]

EXIT_OK = 0
EXIT_FORCED = 1
EXIT_SIGINT = 130
EXIT_SIGQUIT = 131
EXIT_SIGKILL = 137
EXIT_SIGSEGV = 139


def assertExitCodes(
    proc_info: ProcInfoHandler, allowable_exit_codes: Collection[int] = (EXIT_OK,), process: Action | None = None
) -> None:
    """Assert that the process of an action, or all processes, ended with one of the allowed exit codes."""
    for info in proc_info if process is None else [proc_info[process]]:
        code = getattr(info, "returncode", None)
        if code is None:
            raise AssertionError(f"Process {info.process_name} has not exited")
        if code not in allowable_exit_codes:
            raise AssertionError(
                f"Process {info.process_name} exited with code {code}, allowed: {sorted(allowable_exit_codes)}"
            )
