"""What the records of processes keep, and how tests wait on them."""

import threading

import pytest

from launch_testing.util import NoMatchingProcessException, resolveProcesses


def soon(action, *args):
    """Do something from another thread once this one waits."""
    timer = threading.Timer(0.05, action, args)
    timer.daemon = True
    timer.start()


def test_output_is_kept_by_process_and_in_order(records):
    first, second = records.start("first-1"), records.start("second-2")
    records.write(first, stdout=b"a")
    records.write(second, stderr=b"b")
    records.write(first, stderr=b"c")
    assert [piece.text for piece in records.output] == [b"a", b"b", b"c"]
    assert [piece.text for piece in records.output[first]] == [b"a", b"c"]
    assert [piece.text for piece in records.output["second-2"]] == [b"b"]
    assert records.output.processes() == [first, second]


def test_info_holds_the_newest_event_of_each_process(records):
    process = records.start("worker-1")
    other = records.start("other-2")
    records.end(process, 3)
    assert records.info[process].returncode == 3
    assert records.info["worker-1"] is records.info[process]
    assert [event.process_name for event in records.info] == ["worker-1", "other-2"]
    assert records.info.process_names() == ["worker-1", "other-2"]
    assert records.info.processes() == [process, other]


def test_wait_for_output_that_comes_later_from_a_process_not_seen_yet(records):
    soon(lambda: records.write(records.start("late-1"), stdout=b"here\n"))
    records.output.assertWaitFor("here", process="late", timeout=10, stream="stdout")


def test_waiting_looks_at_stderr_unless_told_otherwise(records):
    records.write(records.start("talker-1"), stdout=b"hello\n")
    assert not records.output.waitFor("hello", timeout=0)
    assert records.output.waitFor("hello", timeout=0, stream="stdout")


@pytest.mark.stand_in("upstream fails at once where no process is known")
def test_output_that_does_not_come_fails_with_what_was_expected(records):
    with pytest.raises(AssertionError, match=r"timed out: no 'never' in stderr; 0\.01 s are over\nNo data"):
        records.output.assertWaitFor("never", timeout=0.01)
    records.write(records.start("talker-1"), stderr=b"something else\n")
    with pytest.raises(AssertionError, match=r"timed out: no 'never' (.*\n)+something else"):
        records.output.assertWaitFor("never", timeout=0.01)


def test_an_ambiguous_name_fails_at_once(records):
    for number in (1, 2):
        records.write(records.start(f"twin-{number}"), stderr=b"hello")
    with pytest.raises(Exception, match=r"Found multiple.*twin-1 ?, twin-2"):
        records.output.waitFor("hello", process="twin", timeout=60)
    assert records.output.waitFor("hello", process="twin", strict_proc_matching=False, timeout=0)


def test_wait_for_shutdown(records):
    process = records.start("worker-1")
    with pytest.raises(AssertionError, match=r"Timed out waiting for process '(worker-1|<.*>)' to finish"):
        records.info.assertWaitForShutdown(process, timeout=0.01)
    soon(records.end, process)
    records.info.assertWaitForShutdown(process, timeout=10)


@pytest.mark.stand_in("upstream waits until the time is up")
def test_waiting_for_a_shutdown_ends_with_the_launch(records):
    process = records.start("worker-1")
    soon(records.info.close)
    with pytest.raises(AssertionError, match="launch has ended"):
        records.info.assertWaitForShutdown(process, timeout=60)


def test_processes_are_found_by_action_part_of_name_and_arguments(records):
    plain, one, two = (
        records.start("tool-1"),
        records.start("tool-2", "--one"),
        records.start("tool-3", "--two", "b"),
    )
    assert resolveProcesses(records.info, process=one) == [one]
    assert resolveProcesses(records.info, process="tool-3") == [two]
    assert resolveProcesses(records.info, process="tool", cmd_args="--one") == [one]
    assert resolveProcesses(records.info, process="tool", cmd_args=["b", "--two"]) == [two]
    assert resolveProcesses(records.info, process="tool", strict_proc_matching=False) == [plain, one, two]
    assert resolveProcesses(records.info) == [plain, one, two]


def test_a_process_that_is_not_found_is_told_with_those_that_are(records):
    with pytest.raises(NoMatchingProcessException, match="any process"):
        resolveProcesses(records.info)
    records.start("known-1")
    with pytest.raises(NoMatchingProcessException, match=r"'unknown' and (cmd_args '-x'|args '\['-x'\]').*known-1"):
        resolveProcesses(records.info, process="unknown", cmd_args="-x")
