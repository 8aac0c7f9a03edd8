"""Assertions on recorded exit codes and output."""

import re

import pytest

from launch_testing.asserts import (
    EXIT_OK,
    assertExitCodes,
    assertInStderr,
    assertInStdout,
    assertInStream,
)


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


def test_output_is_found_across_the_pieces_it_came_in(records, talker):
    assertInStdout(records.output, "Loop 3", talker)
    assertInStderr(records.output, "café closed", talker)
    assertInStream(records.output, "café closed", talker)


@pytest.mark.stand_in("upstream decodes each piece by itself")
def test_characters_may_come_in_pieces(records):
    process = records.start("talker-1")
    for piece in (b"caf\xc3", b"\xa9\n"):
        records.write(process, stderr=piece)
    assertInStderr(records.output, "café", process)


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
    def without_first(text):
        return text.replace("Loop 1\n", "")

    assertInStdout(records.output, "Loop 2", talker, output_filter=without_first)
    with pytest.raises(AssertionError):
        assertInStdout(records.output, "Loop 1", talker, output_filter=without_first)
    with pytest.raises(ValueError, match="not callable"):
        assertInStdout(records.output, "Loop 1", talker, output_filter="Loop")


def test_any_process_will_do_if_none_is_named(records, talker):
    records.write(records.start("other-2"), stdout=b"other words\n")
    assertInStdout(records.output, "other words", None)
    assertInStdout(records.output, "Loop 2", None)
