"""What the records of processes keep, how tests wait on them, and the assertion on exit codes."""

import threading

import pytest

from launch_testing.asserts import EXIT_OK, assertExitCodes


def soon(action, *args):
    """Do something from another thread once this one waits."""
    timer = threading.Timer(0.05, action, args)
    timer.daemon = True
    timer.start()


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
    with pytest.raises(AssertionError, match="bad-2"):
        assertExitCodes(records.info, process=bad)
    assertExitCodes(records.info, [-2], bad)


@pytest.mark.stand_in("upstream raises an AttributeError")
def test_a_running_process_has_no_exit_code(records):
    records.start("worker-1")
    with pytest.raises(AssertionError, match="worker-1 has not exited"):
        assertExitCodes(records.info)


def test_records_are_kept_by_process_and_in_order(records):
    first, second = records.start("first-1"), records.start("second-2")
    records.write(first, stdout=b"a")
    records.write(second, stderr=b"b")
    records.write(first, stderr=b"c")
    records.end(first, 3)
    assert [piece.text for piece in records.output[first]] == [b"a", b"c"]
    assert [piece.text for piece in records.output["second-2"]] == [b"b"]
    assert records.output.process_names() == ["first-1", "second-2"]
    assert [event.process_name for event in records.info] == ["first-1", "second-2"]
    assert records.info[first].returncode == 3


def test_output_is_found_across_the_pieces_it_came_in(records):
    process = records.start("talker-1")
    for piece in (b"Lo", b"op 3\n"):
        records.write(process, stdout=piece)
    records.output.assertWaitFor("Loop 3", process, stream="stdout", timeout=0)
    records.output.assertWaitFor("Loop 3", stream="stdout", timeout=0)


@pytest.mark.stand_in("upstream decodes each piece by itself")
def test_characters_may_come_in_pieces(records):
    process = records.start("talker-1")
    for piece in (b"caf\xc3", b"\xa9\n"):
        records.write(process, stderr=piece)
    records.output.assertWaitFor("café", process, timeout=0)


def test_waiting_looks_at_stderr_unless_told_otherwise(records):
    process = records.start("talker-1")
    records.write(process, stdout=b"hello\n", stderr=b"warning\n")
    with pytest.raises(AssertionError):
        records.output.assertWaitFor("hello", process, timeout=0)
    soon(lambda: records.write(process, stdout=b"later\n"))
    records.output.assertWaitFor("later", process, timeout=10, stream="stdout")
    with pytest.raises(ValueError, match=r"stream;? must be"):
        records.output.assertWaitFor("hello", process, timeout=0, stream="both")


@pytest.mark.stand_in("upstream tells the process alone, and waits until the time is up")
def test_output_that_does_not_come_fails(records):
    records.write(records.start("talker-1"), stderr=b"something else\n")
    with pytest.raises(AssertionError, match=r"timed out: no 'never' in stderr; 0\.01 s are over\n.*\nsomething else"):
        records.output.assertWaitFor("never", timeout=0.01)
    soon(records.output.close)
    with pytest.raises(AssertionError, match="launch has ended"):
        records.output.assertWaitFor("never", timeout=60)


def test_wait_for_shutdown(records):
    process = records.start("worker-1")
    records.info.assertWaitForStartup(process, timeout=0)
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


@pytest.mark.stand_in("upstream finds processes by a part of their name, too")
def test_processes_are_looked_for_by_action(records):
    for wait in (records.info.assertWaitForShutdown, lambda name: records.output.assertWaitFor("x", name)):
        with pytest.raises(TypeError, match="must be the action that starts it"):
            wait("worker")
