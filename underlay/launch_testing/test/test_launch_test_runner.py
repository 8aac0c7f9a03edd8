"""Whole runs over small processes."""

import os
import re

import pytest

from launch import LaunchDescription
from launch.actions import Shutdown, TimerAction
from launch_testing.actions import ReadyToTest
from launch_testing.asserts import assertExitCodes
from launch_testing.test_runner import LaunchTestRunner
from launch_testing.util import KeepAliveProc

# Says that it is up, and ends well when it is told to.
SERVER = """
import signal, sys
def end(*_):
    print("Shutting down")
    sys.exit(0)
signal.signal(signal.SIGINT, end)
print("Up")
while True:
    signal.pause()
"""


@pytest.fixture
def run(load, capfd):
    """Run a launch test made of functions; its only result."""

    def run_one(describe, *, arguments=(), **tests):
        runner = LaunchTestRunner(load(describe, **tests), arguments)
        (result,) = runner.run().values()
        return result

    return run_one


def problems(result):
    return [text for _, text in result.failures + result.errors]


def test_active_tests_meet_the_running_process_and_later_tests_its_end(run, python_process):
    def describe():
        server = python_process(SERVER)
        return LaunchDescription([server, ReadyToTest()]), {"server": server}

    def test_active(self, proc_info, proc_output, server, launch_service):
        proc_info.assertWaitForStartup(server)
        proc_output.assertWaitFor("Up", server, stream="stdout")
        self.assertFalse(hasattr(proc_info[server], "returncode"))
        self.assertFalse(launch_service.context.is_shutdown)

    def test_ended(self, proc_info, proc_output, server):
        assertExitCodes(proc_info)
        assertExitCodes(proc_info, process=server)
        self.assertIn("Shutting down", b"".join(piece.text for piece in proc_output[server]).decode())

    result = run(describe, active=[test_active], after=[test_ended])
    assert problems(result) == []
    assert result.testsRun == 2


SAYS_WHY = pytest.mark.stand_in("upstream says less of why a launch has failed")


@SAYS_WHY
def test_a_launch_that_ends_before_ready_to_test_fails_and_names_the_processes(run, python_process, capfd):
    def describe():
        dies = python_process(
            "import sys; sys.stderr.write('no such device\\n'); sys.exit(3)", name="driver", on_exit=[Shutdown()]
        )
        return LaunchDescription([dies, TimerAction(period=60.0, actions=[ReadyToTest()])])

    def test_never(self):
        """Never run."""

    result = run(describe, active=[test_never], after=[test_never])
    assert not result.wasSuccessful()
    assert len(result.failures) == 2
    assert "before ReadyToTest" in result.message
    assert re.search(r"driver-\d+ exited with code 3\n.*\nno such device", result.message)
    assert result.message in capfd.readouterr().out


def test_no_child_outlives_its_run(run, python_process):
    pids = []

    def describe():
        processes = [python_process(SERVER), KeepAliveProc()]
        return LaunchDescription([*processes, ReadyToTest()]), {"processes": processes}

    def test_active(self, proc_info, processes):
        for process in processes:
            proc_info.assertWaitForStartup(process)
        pids.extend(event.pid for event in proc_info)

    run(describe, active=[test_active])
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
