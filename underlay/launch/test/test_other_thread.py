"""A launch that runs in another thread than the main one."""

from __future__ import annotations

import threading

import pytest

from launch import LaunchDescription
from launch.actions import (
    ExecuteProcess,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessIO
from launch.events import Shutdown as ShutdownEvent

WAIT = "import os; os.write(1, b'up\\n'); os.read(0, 1)"

pytestmark = [
    pytest.mark.usefixtures("no_child_is_left"),
    pytest.mark.stand_in("upstream's runs in the main thread alone"),
]


@pytest.fixture
def start():
    threads = []

    def start_service(service, **kwargs):
        codes = []
        threads.append(threading.Thread(target=lambda: codes.append(service.run(**kwargs))))
        threads[-1].start()
        return threads[-1], codes

    yield start_service
    for thread in threads:
        thread.join(20.0)
        assert not thread.is_alive()


def test_service_runs_and_is_shut_down_from_outside(start, service, python):
    up = threading.Event()
    action = ExecuteProcess(cmd=python(WAIT))
    service.include_launch_description(
        LaunchDescription(
            [RegisterEventHandler(OnProcessIO(target_action=action, on_stdout=lambda event: up.set())), action]
        )
    )
    thread, codes = start(service)

    assert up.wait(20.0)
    assert service.shutdown() is None
    thread.join(20.0)

    assert codes == [0]
    assert action.return_code == -2


def test_descriptions_and_events_come_in_while_it_runs(start, service, python):
    seen, added = threading.Event(), threading.Event()
    thread, codes = start(service, shutdown_when_idle=False)

    def note(event):
        seen.set()

    for number in range(3):
        added.clear()
        action = OpaqueFunction(function=lambda context: added.set())
        service.include_launch_description(LaunchDescription([action]))
        assert added.wait(20.0), number
    service.include_launch_description(
        LaunchDescription(
            [
                RegisterEventHandler(OnProcessIO(on_stdout=note)),
                ExecuteProcess(cmd=python("print('x')")),
            ]
        )
    )
    assert seen.wait(20.0)
    service.emit_event(ShutdownEvent())
    thread.join(20.0)

    assert codes == [0]


def test_second_run_at_the_same_time_is_refused(start, service):
    running = threading.Event()
    service.include_launch_description(LaunchDescription([OpaqueFunction(function=lambda _: running.set())]))
    thread, _ = start(service, shutdown_when_idle=False)
    assert running.wait(20.0)

    with pytest.raises(RuntimeError, match="multiple times concurrently"):
        service.run()
    service.shutdown()
    thread.join(20.0)
