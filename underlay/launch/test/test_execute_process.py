"""Running processes."""

from __future__ import annotations

import os
import sys

import pytest

from launch.actions import (
    EmitEvent,
    ExecuteProcess,
    LogInfo,
    RegisterEventHandler,
    SetEnvironmentVariable,
    SetLaunchConfiguration,
    Shutdown,
)
from launch.event_handlers import OnProcessExit, OnProcessIO
from launch.events import matches_action
from launch.events.process import ShutdownProcess
from launch.substitutions import LaunchConfiguration, LocalSubstitution


def test_lines_are_prefixed_with_the_name_and_number_of_the_process(run, python):
    outcome = run(ExecuteProcess(cmd=python("print('one'); print('two')"), name="talker", output="screen"))

    assert outcome.code == 0
    assert outcome.lines_of("talker") == ["one", "two"]


def test_name_is_that_of_the_executable_unless_given(run, python):
    outcome = run(ExecuteProcess(cmd=python("print('here')"), output="screen"))

    assert outcome.lines_of(os.path.basename(sys.executable)) == ["here"]


def test_start_and_clean_end_are_told_with_the_pid(run, python):
    outcome = run(ExecuteProcess(cmd=python("import os; print(os.getpid())"), name="talker", output="screen"))

    (pid,) = outcome.lines_of("talker")
    assert f"]: process started with pid [{pid}]" in outcome.screen
    assert f"]: process has finished cleanly [pid {pid}]" in outcome.screen


def test_death_is_told_with_exit_code_and_command(run, python):
    action = ExecuteProcess(cmd=python("raise SystemExit(3)"), name="talker")

    outcome = run(action)

    assert outcome.code == 0
    assert action.return_code == 3
    command = " ".join(action.cmd)
    assert f"process has died [pid {action.process_details['pid']}, exit code 3, cmd '{command}']." in outcome.screen


SHOW = "import os, sys; print(os.environ.get('A'), os.environ.get('B'), os.getcwd(), sys.argv[1:])"


def test_command_environment_and_directory_are_performed(run, python, tmp_path):
    outcome = run(
        SetLaunchConfiguration("x", "7"),
        SetEnvironmentVariable("A", "inherited"),
        ExecuteProcess(
            cmd=[*python(SHOW), ["x=", LaunchConfiguration("x")], LaunchConfiguration("x")],
            additional_env={"B": ["b", LaunchConfiguration("x")]},
            cwd=str(tmp_path),
            name="talker",
            output="screen",
        ),
    )

    assert outcome.lines_of("talker") == [f"inherited b7 {tmp_path} ['x=7', '7']"]


def test_environment_that_is_given_replaces_that_of_the_launch(run, python):
    outcome = run(
        SetEnvironmentVariable("A", "inherited"),
        ExecuteProcess(cmd=python(SHOW), env={"B": "1"}, additional_env={"B": "2"}, name="talker", output="screen"),
    )

    assert outcome.lines_of("talker")[0].startswith("None 2 ")


@pytest.mark.parametrize(
    ("configurations", "prefix", "expected"),
    [
        ({}, "env A='of prefix'", "of prefix"),
        ({"launch-prefix": "env A=configured"}, None, "configured"),
        ({"launch-prefix": "env A=configured", "launch-prefix-filter": "pyth"}, None, "configured"),
        ({"launch-prefix": "env A=configured", "launch-prefix-filter": "other"}, None, "None"),
        ({"launch-prefix": "env A=configured"}, "env A=own", "own"),
    ],
)
def test_prefix_precedes_the_command(run, python, configurations, prefix, expected):
    outcome = run(
        *(SetLaunchConfiguration(name, value) for name, value in configurations.items()),
        ExecuteProcess(
            cmd=python("import os; print(os.environ.get('A'))"), prefix=prefix, name="talker", output="screen"
        ),
    )

    assert outcome.lines_of("talker") == [expected]


def test_shell_runs_the_command_line(run):
    action = ExecuteProcess(cmd=["echo", "$((1 + 1))", "&&", "echo", "$A"], shell=True, env={"A": "a b"}, output="both")

    assert run(action, LogInfo(msg="")).screen.count("] 2\n") == 1
    assert action.return_code == 0


@pytest.mark.parametrize(
    ("own", "configured", "expected"), [(True, None, "True"), (False, "1", "True"), (True, "false", "False")]
)
def test_terminal_is_emulated_on_demand(run, python, own, configured, expected):
    entities = [] if configured is None else [SetLaunchConfiguration("emulate_tty", configured)]
    program = "import os; print(os.isatty(1)); print(os.isatty(2)); os.write(2, b'last\\n')"

    outcome = run(*entities, ExecuteProcess(cmd=python(program), name="talker", output="screen", emulate_tty=own))

    assert sorted(line.rstrip("\r") for line in outcome.lines_of("talker")) == sorted([expected, expected, "last"])


@pytest.mark.stand_in("upstream's end with a carriage return, and one that does not end may be lost")
def test_lines_of_an_emulated_terminal_end_as_others(run, python):
    program = "import os; os.write(1, b'one\\n'); os.write(1, b'last')"
    action = ExecuteProcess(cmd=python(program), name="talker", output="screen", emulate_tty=True)

    assert run(action).lines_of("talker") == ["one", "last"]


def test_command_is_logged_on_demand(run, python):
    outcome = run(ExecuteProcess(cmd=python("pass"), log_cmd=True))

    assert f"process details: cmd='{' '.join(python('pass'))}', cwd='None', custom_env?=True" in outcome.screen


def test_command_that_cannot_be_started_is_named_and_the_others_go_on(run, python):
    outcome = run(
        ExecuteProcess(cmd=["no-such-program"]),
        ExecuteProcess(cmd=python("print('on')"), name="talker", output="screen"),
    )

    assert outcome.code == 0
    assert "exception occurred while executing process" in outcome.screen
    assert "no-such-program" in outcome.screen
    assert outcome.lines_of("talker") == ["on"]


@pytest.mark.stand_in("upstream's launch returns 0")
def test_required_command_that_cannot_be_started_fails_the_launch(run):
    assert run(ExecuteProcess(cmd=["no-such-program"], on_exit=[Shutdown()])).code == 1


def test_action_can_be_executed_once_only(run, python):
    action = ExecuteProcess(cmd=python("pass"))

    outcome = run(action, action)

    assert outcome.code == 1
    assert "executed more than once" in outcome.screen


def test_process_left_behind_does_not_hold_the_launch_up(run, python, tmp_path):
    hold = tmp_path / "hold"
    os.mkfifo(hold)
    program = """
        import os, subprocess, sys
        subprocess.Popen([sys.executable, "-S", "-c", "import sys; open(sys.argv[1]).read()", sys.argv[1]])
        os.write(1, b"left")
        os._exit(0)
    """

    outcome = run(ExecuteProcess(cmd=python(program, str(hold)), name="talker", output="screen"))

    with open(hold, "w"):  # opens only once the process that was left behind reads, and lets it end
        assert outcome.code == 0
        assert outcome.lines_of("talker") == ["left"]


def test_process_is_respawned_as_often_as_allowed(run, python):
    action = ExecuteProcess(
        cmd=python("print('again')"), respawn=True, respawn_max_retries=2, name="talker", output="screen"
    )

    outcome = run(action)

    assert outcome.lines_of("talker") == ["again"] * 3
    assert len(set(outcome.screen.split("finished cleanly [pid ")[1:])) == 3


def test_process_that_is_shut_down_is_not_respawned(run, python):
    action = ExecuteProcess(
        cmd=python("import os; os.write(1, b'again\\n')"),
        respawn=True,
        respawn_delay=0.01,
        name="talker",
        output="screen",
    )
    seen = []

    def count(event):
        seen.append(event)
        return [EmitEvent(event=ShutdownProcess(process_matcher=matches_action(action)))] if len(seen) == 2 else None

    outcome = run(RegisterEventHandler(OnProcessIO(target_action=action, on_stdout=count)), action)

    assert outcome.code == 0
    assert outcome.lines_of("talker").count("again") == 2


def test_shutdown_does_not_wait_for_a_respawn(run, python):
    action = ExecuteProcess(cmd=python("pass"), respawn=True, respawn_delay=3600.0)

    outcome = run(RegisterEventHandler(OnProcessExit(target_action=action, on_exit=[Shutdown()])), action)

    assert outcome.code == 0


def test_on_exit_actions_are_executed_with_the_event_at_hand(run, python):
    message = LogInfo(msg=["gone: ", LocalSubstitution("event.process_name")])

    outcome = run(ExecuteProcess(cmd=python("raise SystemExit(4)"), name="talker", on_exit=[message]))

    assert "[INFO] [launch.user]: gone: talker-" in outcome.screen


def test_on_exit_may_be_a_function_of_event_and_context(run, python):
    def on_exit(event, context):
        return LogInfo(msg=f"{event.process_name.split('-')[0]} ended with {event.returncode}, {context.is_shutdown}")

    outcome = run(ExecuteProcess(cmd=python("raise SystemExit(4)"), name="talker", on_exit=on_exit))

    assert "talker ended with 4, False" in outcome.screen


@pytest.mark.stand_in("upstream says less")
def test_bad_output_format_is_named_before_anything_is_started(run, python):
    outcome = run(ExecuteProcess(cmd=python("print('started')"), output_format="{lines}", output="screen"))

    assert outcome.code == 1
    assert "output_format '{lines}' has a field that is not known: 'lines'" in outcome.screen
    assert "process started" not in outcome.screen


@pytest.mark.stand_in("upstream starts what the letters name")
def test_command_that_is_a_single_text_is_refused():
    with pytest.raises(TypeError, match=r"list of arguments.*'ls -l'"):
        ExecuteProcess(cmd="ls -l")


@pytest.mark.stand_in("upstream finds out when the process is to be ended")
def test_bad_timeout_is_named_before_anything_is_started(run, python):
    outcome = run(ExecuteProcess(cmd=python("print('started')"), sigterm_timeout="soon", output="screen"))

    assert outcome.code == 1
    assert "sigterm_timeout must be a number of seconds, but it is 'soon'" in outcome.screen
    assert "started" not in outcome.screen
