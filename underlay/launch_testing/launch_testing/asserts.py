"""Assertions on exit codes and on output."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ._not_covered import refuse
from .util import NO_CMD_ARGS, ProcessRef, process_name, resolveProcesses

if TYPE_CHECKING:
    from .io_handler import IoHandler
    from .proc_info_handler import ProcInfoHandler
else:
    __getattr__ = refuse(__name__, ("SequentialTextChecker", "assertDefaultStream", "assertSequentialStdout"))

__all__ = [
    "EXIT_FORCED",
    "EXIT_OK",
    "EXIT_SIGINT",
    "EXIT_SIGKILL",
    "EXIT_SIGQUIT",
    "EXIT_SIGSEGV",
    "NO_CMD_ARGS",
    "assertExitCodes",
    "assertInStderr",
    "assertInStdout",
    "assertInStream",
]

ExpectedText: TypeAlias = str | re.Pattern[str]
ExpectedOutput: TypeAlias = ExpectedText | Iterable[ExpectedText]
Stream: TypeAlias = Literal["stdout", "stderr"]
OutputFilter: TypeAlias = Callable[[str], str]

EXIT_OK = 0
EXIT_FORCED = 1
EXIT_SIGINT = 130
EXIT_SIGQUIT = 131
EXIT_SIGKILL = 137
EXIT_SIGSEGV = 139

_ANSI_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\^_])")
_SHOWN_CHARACTERS = 2000


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


def assertInStream(
    proc_output: IoHandler,
    expected_output: ExpectedOutput,
    process: ProcessRef,
    cmd_args: Any = None,
    *,
    output_filter: OutputFilter | None = None,
    strict_proc_matching: bool = True,
    strip_ansi_escape_sequences: bool = True,
    stream: Stream = "stderr",
) -> None:
    """Assert that one of the processes meant wrote the expected output to a stream.

    Args:
        proc_output: the recorded output.
        expected_output: a string, a regular expression, or a list of these which must appear in this order.
        process: see launch_testing.util.resolveProcesses, as for `cmd_args` and `strict_proc_matching`.
        cmd_args: see there.
        output_filter: a function that maps the whole output to what shall be looked at.
        strict_proc_matching: see there.
        strip_ansi_escape_sequences: whether to take colours out first.
        stream: "stdout" or "stderr".
    """
    if output_filter is not None and not callable(output_filter):
        raise ValueError("output_filter is not callable")
    match = _text_match(expected_output)
    actions = resolveProcesses(
        proc_output, process=process, cmd_args=cmd_args, strict_proc_matching=strict_proc_matching
    )
    texts = {}
    for action in actions:
        text = stream_text(proc_output, action, stream)
        text = _ANSI_ESCAPE.sub("", text) if strip_ansi_escape_sequences else text
        texts[process_name(action)] = text if output_filter is None else output_filter(text)
    if not any(map(match, texts.values())):
        raise AssertionError(_missing_text(expected_output, texts, stream))


def assertInStdout(
    proc_output: IoHandler, expected_output: ExpectedOutput, process: ProcessRef, cmd_args: Any = None, **kwargs: Any
) -> None:
    """Assert that expected output was written to stdout; see assertInStream."""
    assertInStream(proc_output, expected_output, process, cmd_args, stream="stdout", **kwargs)


def assertInStderr(
    proc_output: IoHandler, expected_output: ExpectedOutput, process: ProcessRef, cmd_args: Any = None, **kwargs: Any
) -> None:
    """Assert that expected output was written to stderr; see assertInStream."""
    assertInStream(proc_output, expected_output, process, cmd_args, stream="stderr", **kwargs)


def stream_text(proc_output: IoHandler, action: Any, stream: Stream) -> str:
    """Join all that a process wrote to a stream; a character cut in two by a read is whole again."""
    if stream not in ("stdout", "stderr"):
        raise ValueError(f"stream must be 'stdout' or 'stderr', not {stream!r}")
    chunks = (io.text for io in proc_output[action] if (io.from_stdout if stream == "stdout" else io.from_stderr))
    return b"".join(chunks).decode(errors="replace")


def shown(expected: ExpectedOutput) -> str:
    """Write down what was expected, a regular expression as its pattern."""
    return repr(getattr(expected, "pattern", expected))


def _missing_text(expected: ExpectedOutput, texts: dict[str, str], stream: Stream) -> str:
    lines = [f"{shown(expected)} not found in {stream} of {', '.join(texts)}"]
    for name, text in texts.items():
        lines += [f"--- {stream} of {name} ---", text[-_SHOWN_CHARACTERS:].rstrip() or "(nothing)"]
    return "\n".join(lines)


def _text_match(expected_text: ExpectedOutput) -> Callable[[str], bool]:
    """Make a predicate of texts.

    A string has to be contained, a pattern has to be found, and of several of these each has to follow the one before.
    """
    wanted = [expected_text] if isinstance(expected_text, (str, re.Pattern)) else list(expected_text)
    for item in wanted:
        if not isinstance(item, (str, re.Pattern)):
            raise ValueError(f"expected output must be a string, a regular expression or a list of these, not {item!r}")

    def match(text: str) -> bool:
        position: int | None = 0
        for item in wanted:
            if position is None:
                break
            position = _end_of(item, text, position)
        return position is not None

    return match


def _end_of(item: ExpectedText, text: str, start: int) -> int | None:
    if isinstance(item, str):
        position = text.find(item, start)
        return None if position < 0 else position + len(item)
    found = item.search(text, start)
    return found.end() if found else None
