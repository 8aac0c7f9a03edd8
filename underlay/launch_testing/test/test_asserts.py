"""Assertions on recorded exit codes and output."""

import re

import pytest

from launch_testing.asserts import (
    EXIT_OK,
    EXIT_SIGINT,
    EXIT_SIGKILL,
    EXIT_SIGQUIT,
    EXIT_SIGSEGV,
    SequentialTextChecker,
    assertDefaultStream,
    assertExitCodes,
    assertInStderr,
    assertInStdout,
    assertInStream,
    assertSequentialStdout,
)
from launch_testing.tools import basic_output_filter


@pytest.fixture
def talker(records):
    process = records.start("talker-1")
    records.write(process, stdout=b"Loop 1\nLoop 2\n\x1b[31mLo", stderr="warning: café".encode())
    records.write(process, stdout=b"op\x1b[0m 3\n", stderr=b" closed\n")
    return process


def test_all_processes_must_exit_well(records):
    for name in ("a-1", "b-2"):
        records.end(records.start(name))
    assertExitCodes(records.info)
    records.end(records.start("c-3"), 7)
    with pytest.raises(AssertionError, match="c-3 exited with code 7"):
        assertExitCodes(records.info)
    assertExitCodes(records.info, [EXIT_OK, 7])


def test_exit_codes_of_one_process(records):
    good, bad = records.start("good-1"), records.start("bad-2")
    records.end(good)
    records.end(bad, -2)
    assertExitCodes(records.info, process=good)
    assertExitCodes(records.info, process="good")
    with pytest.raises(AssertionError, match="bad-2"):
        assertExitCodes(records.info, process="bad")
    assertExitCodes(records.info, [-2], bad)


@pytest.mark.stand_in("upstream raises an AttributeError")
def test_a_running_process_has_no_exit_code(records):
    records.start("worker-1")
    with pytest.raises(AssertionError, match="worker-1 has not exited"):
        assertExitCodes(records.info)


def test_exit_codes_by_signal():
    assert (EXIT_SIGINT, EXIT_SIGQUIT, EXIT_SIGKILL, EXIT_SIGSEGV) == (130, 131, 137, 139)


def test_output_is_found_across_the_pieces_it_came_in(records, talker):
    assertInStdout(records.output, "Loop 3", talker)
    assertInStderr(records.output, "café closed", talker)
    assertInStream(records.output, "café closed", talker)
    assert assertDefaultStream() == "stderr"


@pytest.mark.stand_in("upstream decodes each piece by itself")
def test_characters_may_come_in_pieces(records):
    process = records.start("talker-1")
    for piece in (b"caf\xc3", b"\xa9\n"):
        records.write(process, stderr=piece)
    assertInStderr(records.output, "café", process)


def test_escape_sequences_can_be_kept(records, talker):
    with pytest.raises(AssertionError, match=r"'Loop 3' not found|Did not find 'Loop 3'"):
        assertInStdout(records.output, "Loop 3", talker, strip_ansi_escape_sequences=False)


def test_streams_are_apart(records, talker):
    with pytest.raises(AssertionError, match=r"not found in stderr of talker-1|Did not find 'Loop' .*: talker-1"):
        assertInStderr(records.output, "Loop", talker)
    with pytest.raises(ValueError, match=r"stream;? must be"):
        assertInStream(records.output, "Loop", talker, stream="both")


@pytest.mark.stand_in("upstream tells the process alone")
def test_missing_output_is_told_with_what_was_written(records, talker):
    with pytest.raises(AssertionError, match=r"'Loop 4' not found in stdout of talker-1\n.*\nLoop 1\nLoop 2"):
        assertInStdout(records.output, "Loop 4", talker)


def test_patterns_and_lists_are_searched_for(records, talker):
    assertInStdout(records.output, re.compile(r"Loop \d\nLoop \d"), talker)
    assertInStdout(records.output, ["Loop 1", re.compile(r"\d"), "3"], talker)
    with pytest.raises(AssertionError):
        assertInStdout(records.output, ["Loop 2", "Loop 1"], talker)
    with pytest.raises(ValueError, match=r"expected (output must be|text)"):
        assertInStdout(records.output, [3], talker)


def test_output_passes_the_filter_first(records, talker):
    without_first = basic_output_filter(filtered_prefixes=["Loop 1"])
    assertInStdout(records.output, "Loop 2", talker, output_filter=without_first)
    with pytest.raises(AssertionError):
        assertInStdout(records.output, "Loop 1", talker, output_filter=without_first)
    with pytest.raises(ValueError, match="not callable"):
        assertInStdout(records.output, "Loop 1", talker, output_filter="Loop")


def test_any_process_will_do_if_none_is_named(records, talker):
    records.write(records.start("other-2"), stdout=b"other words\n")
    assertInStdout(records.output, "other words", None)
    assertInStdout(records.output, "Loop 2", None)


@pytest.mark.stand_in("upstream takes it for a name that all of them have")
def test_an_empty_name_stands_for_any_process(records, talker):
    records.start("other-2")
    assertInStdout(records.output, "Loop 2", "")


def test_filter_by_pattern_keeps_the_other_lines():
    output = "[listener] heard\n[talker] said\n"
    assert basic_output_filter(filtered_patterns=[r".*\[listener\]"])(output) == "[talker] said\n"


def test_stdout_in_sequence(records, talker):
    with assertSequentialStdout(records.output, talker) as checker:
        checker.assertInStdout("Loop 1")
        checker.assertInStdout("Loop 2")
        with pytest.raises(AssertionError, match=r"'Loop 1' (not found|output not found).*\nLoop 1\nLoop 2"):
            checker.assertInStdout("Loop 1")


@pytest.mark.stand_in("upstream searches all of them")
def test_sequence_is_of_one_process(records, talker):
    records.write(records.start("other-2"), stdout=b"words")
    with pytest.raises(LookupError, match="2 processes"), assertSequentialStdout(records.output, None):
        pass


def test_a_failed_search_does_not_move_the_cursor():
    checker = SequentialTextChecker(["one\n", "two\n"])
    checker.assertInText("one")
    with pytest.raises(AssertionError):
        checker.assertInText("three")
    checker.assertInText("two")


@pytest.mark.parametrize(
    ("consumed", "nearby"),
    [
        ((), "a0\na1\na2"),
        (("a",), "a0\na1\na2"),
        (("a0",), "a0\na1\na2\na3"),
        (("a2", "a"), "a1\na2\na3\na4"),
        pytest.param(("a4",), "a3\na4", marks=pytest.mark.stand_in("upstream goes back a line more at the end")),
    ],
)
def test_nearby_lines_surround_the_cursor(consumed, nearby):
    checker = SequentialTextChecker([f"a{number}\n" for number in range(5)])
    for text in consumed:
        checker.assertInText(text)
    assert checker.get_nearby_lines() == nearby
