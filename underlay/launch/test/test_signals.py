"""Signals to a launch that is a process of its own."""

from __future__ import annotations

import os
import signal
import sys

import pytest

PROGRAM = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import ExecuteProcess, Shutdown

CHILD = r'''
import os, signal, sys
def tell(number, frame):
    os.write(1, f"got {{signal.Signals(number).name}}\\n".encode())
    if sys.argv[1] == "polite":
        sys.exit(5)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, tell)
os.write(1, b"up\\n")
while True:
    signal.pause()
'''

service = LaunchService(noninteractive={noninteractive})
command = [sys.executable, "-S", "-c", CHILD, "{manner}"]
service.include_launch_description(LaunchDescription([
    ExecuteProcess(cmd=command, name="child", output="screen", sigterm_timeout="{sigterm}", sigkill_timeout="{sigkill}",
                   on_exit=Shutdown()),
]))
sys.exit(service.run())
"""


@pytest.fixture
def start(launch_process):
    """Start a launch, and wait until its child is up; return it and the id of the child."""

    def start_launch(*, noninteractive=False, manner="polite", sigterm="60", sigkill="60"):
        launch = launch_process(
            PROGRAM.format(noninteractive=noninteractive, manner=manner, sigterm=sigterm, sigkill=sigkill)
        )
        pid = int(launch.wait_for(r"process started with pid \[(\d+)\]")[1])
        launch.wait_for(r"\[child-1\] up\n")
        return launch, pid

    return start_launch


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_interrupt_of_a_terminal_is_not_repeated_to_the_processes(start):
    launch, pid = start()

    launch.signal_group(signal.SIGINT)

    assert launch.wait() == 0
    assert "[WARNING] [launch]: user interrupted with ctrl-c (SIGINT)\n" in launch.text
    assert launch.text.count("got SIGINT") == 1
    assert "sending signal" not in launch.text
    assert "process has died [pid" in launch.text
    assert is_gone(pid)


def test_interrupt_without_a_terminal_is_passed_on(start):
    launch, pid = start(noninteractive=True)

    launch.signal(signal.SIGINT)

    assert launch.wait() == 0
    assert "sending signal 'SIGINT' to process[child-1]" in launch.text
    assert "got SIGINT" in launch.text
    assert is_gone(pid)


def test_further_interrupts_are_ignored(start):
    launch, pid = start(manner="stubborn", noninteractive=True, sigterm="1.0", sigkill="0.1")

    launch.signal(signal.SIGINT)
    launch.wait_for("got SIGINT")
    launch.signal(signal.SIGINT)

    launch.wait_for(r"\[WARNING\] \[launch\]: user interrupted with ctrl-c \(SIGINT\) again, ignoring\.\.\.")
    assert launch.wait() == 0
    assert "escalating to 'SIGKILL'" in launch.text
    assert is_gone(pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT])
@pytest.mark.stand_in("upstream's launch ends alone, by the signal")
def test_termination_ends_the_processes_and_fails_the_launch(start, number):
    launch, pid = start()

    launch.signal(number)

    assert launch.wait() == 1
    assert f"[ERROR] [launch]: user interrupted with ctrl-\\ ({number.name}), terminating..." in launch.text
    assert "run task was canceled" in launch.text
    assert "got SIGTERM" in launch.text
    assert is_gone(pid)


@pytest.mark.stand_in("upstream ends, too, but with words about each line")
def test_launch_whose_output_nobody_reads_still_ends(launch_process):
    program = """
    import os, sys
    from launch import LaunchDescription, LaunchService
    from launch.actions import ExecuteProcess
    read, write = os.pipe()
    os.dup2(write, 1)
    os.close(read)
    os.close(write)
    service = LaunchService()
    service.include_launch_description(LaunchDescription([
        ExecuteProcess(cmd=[sys.executable, "-S", "-c", "print(1)"], output="screen")]))
    code = service.run()
    os.write(2, f"code {code}".encode())
    os._exit(0)
    """
    launch = launch_process(program)

    assert launch.wait() == 0
    assert launch.text == "code 0", sys.version
