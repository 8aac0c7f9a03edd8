"""Assertions on what processes wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..tools.text import ExpectedOutput, build_text_match, remove_ansi_escape_sequences
from ..util.proc_lookup import ProcessRef, process_name, resolveProcesses

if TYPE_CHECKING:
    from ..io_handler import IoHandler

Stream: TypeAlias = Literal["stdout", "stderr"]
OutputFilter: TypeAlias = Callable[[str], str]

_SHOWN_CHARACTERS = 2000


def assertDefaultStream() -> Stream:
    """Name the stream that assertions look at unless told otherwise."""
    return "stderr"


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
    match = build_text_match(expected_output)
    actions = resolveProcesses(
        proc_output, process=process, cmd_args=cmd_args, strict_proc_matching=strict_proc_matching
    )
    texts = {}
    for action in actions:
        text = stream_text(proc_output, action, stream)
        text = remove_ansi_escape_sequences(text) if strip_ansi_escape_sequences else text
        texts[process_name(action)] = text if output_filter is None else output_filter(text)
    if not any(map(match, texts.values())):
        raise AssertionError(_missing_text(expected_output, texts, stream))


def assertInStdout(
    proc_output: IoHandler,
    expected_output: ExpectedOutput,
    process: ProcessRef,
    cmd_args: Any = None,
    *,
    output_filter: OutputFilter | None = None,
    strict_proc_matching: bool = True,
    strip_ansi_escape_sequences: bool = True,
) -> None:
    """Assert that expected output was written to stdout; see assertInStream."""
    assertInStream(
        proc_output,
        expected_output,
        process,
        cmd_args,
        output_filter=output_filter,
        strict_proc_matching=strict_proc_matching,
        strip_ansi_escape_sequences=strip_ansi_escape_sequences,
        stream="stdout",
    )


def assertInStderr(
    proc_output: IoHandler,
    expected_output: ExpectedOutput,
    process: ProcessRef,
    cmd_args: Any = None,
    *,
    output_filter: OutputFilter | None = None,
    strict_proc_matching: bool = True,
    strip_ansi_escape_sequences: bool = True,
) -> None:
    """Assert that expected output was written to stderr; see assertInStream."""
    assertInStream(
        proc_output,
        expected_output,
        process,
        cmd_args,
        output_filter=output_filter,
        strict_proc_matching=strict_proc_matching,
        strip_ansi_escape_sequences=strip_ansi_escape_sequences,
        stream="stderr",
    )


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
