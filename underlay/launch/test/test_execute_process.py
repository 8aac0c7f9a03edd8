"""Running processes."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import launch.logging
from launch.actions import (
    ExecuteProcess,
    LogInfo,
    SetEnvironmentVariable,
    SetLaunchConfiguration,
    Shutdown,
)
from launch.substitutions import LaunchConfiguration


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


@pytest.mark.parametrize(
    ("configurations", "prefix", "expected"),
    [
        ({}, "env A='of prefix'", "of prefix"),
        ({"launch-prefix": "env A=configured"}, None, "configured"),
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


def test_on_exit_may_be_a_function_of_event_and_context(run, python):
    def on_exit(event, context):
        return LogInfo(msg=f"{event.process_name.split('-')[0]} ended with {event.returncode}, {context.is_shutdown}")

    outcome = run(ExecuteProcess(cmd=python("raise SystemExit(4)"), name="talker", on_exit=on_exit))

    assert "talker ended with 4, False" in outcome.screen


@pytest.mark.stand_in("upstream finds out when the process is to be ended")
def test_bad_timeout_is_named_before_anything_is_started(run, python):
    outcome = run(ExecuteProcess(cmd=python("print('started')"), sigterm_timeout="soon", output="screen"))

    assert outcome.code == 1
    assert "sigterm_timeout must be a number of seconds, but it is 'soon'" in outcome.screen
    assert "started" not in outcome.screen


def logs() -> dict[str, str]:
    return {path.name: path.read_text() for path in Path(launch.logging.launch_config.log_dir).iterdir()}


@pytest.mark.stand_in("upstream replaces the pieces one by one")
def test_lines_and_characters_that_come_in_pieces_stay_whole(run, python):
    program = """
        import os
        for byte in "grün\\n\\nend".encode():
            os.write(1, bytes([byte]))
    """
    outcome = run(ExecuteProcess(cmd=python(program), name="talker", output="screen"))

    assert outcome.lines_of("talker") == ["grün", "", "end"]


TALK = "import os; os.write(1, b'out\\n'); os.write(2, b'err\\n')"


@pytest.mark.parametrize(
    ("output", "screen", "files"),
    [
        ("screen", ["err", "out"], {}),
        ("log", ["err"], {"launch.log": ["err", "out"]}),
        ("both", ["err", "out"], {"launch.log": ["err", "out"]}),
    ],
)
def test_output_goes_where_it_is_told_to(run, python, output, screen, files):
    action = ExecuteProcess(cmd=python(TALK), name="talker", output=output)

    outcome = run(action)

    assert sorted(outcome.lines_of("talker")) == screen
    found = {}
    for name, text in logs().items():
        written = sorted(line.split("] ")[-1] for line in text.splitlines() if line.endswith(("] out", "] err")))
        if written:
            found[name.removeprefix(action.name)] = written
    assert found == files


def test_output_to_nowhere_known_fails_the_launch(run, python):
    outcome = run(ExecuteProcess(cmd=python("pass"), output="scren"))

    assert outcome.code == 1
    assert re.search(": '?scren'? is not a valid", outcome.screen)


def test_environment_variable_overrides_the_output(run, python):
    os.environ["OVERRIDE_LAUNCH_PROCESS_OUTPUT"] = "screen"

    assert len(run(ExecuteProcess(cmd=python(TALK), name="talker", output="log")).lines_of("talker")) == 2
