"""What becomes of the output of processes."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import launch.logging
from launch.actions import (
    ExecuteProcess,
    SetLaunchConfiguration,
)
from launch.substitutions import LaunchConfiguration


def logs() -> dict[str, str]:
    return {path.name: path.read_text() for path in Path(launch.logging.launch_config.log_dir).iterdir()}


@pytest.mark.stand_in("what is in the pipes as a process ends can be lost upstream")
def test_both_streams_and_an_unfinished_last_line_arrive(run, python):
    program = """
        import os
        os.write(1, b"out")
        os.write(2, b"err")
    """
    outcome = run(ExecuteProcess(cmd=python(program), name="talker", output="screen"))

    assert sorted(outcome.lines_of("talker")) == ["err", "out"]


@pytest.mark.stand_in("upstream replaces the pieces one by one")
def test_lines_and_characters_that_come_in_pieces_stay_whole(run, python):
    program = """
        import os
        for byte in "grün\\n\\nend".encode():
            os.write(1, bytes([byte]))
    """
    outcome = run(ExecuteProcess(cmd=python(program), name="talker", output="screen"))

    assert outcome.lines_of("talker") == ["grün", "", "end"]


def test_what_is_no_utf8_is_replaced(run, python):
    action = ExecuteProcess(cmd=python(r"import os; os.write(1, b'a\xffb\n\xc3')"), name="talker", output="screen")

    assert run(action).lines_of("talker") == ["a\ufffdb", "\ufffd"]


def test_large_output_neither_blocks_nor_gets_lost(run, python):
    program = """
        import os, sys
        for _ in range(40):
            sys.stdout.write("x" * 99_999 + "\\n")
        sys.stdout.flush()
        os._exit(0)
    """
    action = ExecuteProcess(cmd=python(program), name="talker", output="screen", cached_output=True)

    outcome = run(action)

    assert len(action.get_stdout()) == 4_000_000
    assert [len(line) for line in outcome.lines_of("talker")] == [99_999] * 40


def test_output_is_cached_as_it_is(run, python):
    action = ExecuteProcess(
        cmd=python("import os; os.write(1, b'a\\nb'); os.write(2, b'c')"), cached_output=True, output="log"
    )

    run(action)

    assert (action.get_stdout(), action.get_stderr()) == ("a\nb", "c")


def test_output_that_is_not_cached_cannot_be_got(python):
    with pytest.raises(RuntimeError, match=r"cached.output"):
        ExecuteProcess(cmd=python("pass")).get_stdout()


TALK = "import os; os.write(1, b'out\\n'); os.write(2, b'err\\n')"


@pytest.mark.parametrize(
    ("output", "screen", "files"),
    [
        ("screen", ["err", "out"], {}),
        ("log", ["err"], {"launch.log": ["err", "out"]}),
        ("both", ["err", "out"], {"launch.log": ["err", "out"]}),
        ("own_log", [], {".log": ["err", "out"], "-stdout.log": ["out"], "-stderr.log": ["err"]}),
        (
            "full",
            ["err", "out"],
            {"launch.log": ["err", "out"], ".log": ["err", "out"], "-stdout.log": ["out"], "-stderr.log": ["err"]},
        ),
        ({"stdout": "screen", "stderr": {"own_log", "log"}}, ["out"], {"launch.log": ["err"], "-stderr.log": ["err"]}),
        ({"both": "screen"}, ["err", "out"], {}),
        ({}, [], {}),
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


def test_output_may_be_a_substitution(run, python):
    outcome = run(
        SetLaunchConfiguration("where", "screen"),
        ExecuteProcess(cmd=python(TALK), name="talker", output=LaunchConfiguration("where")),
    )

    assert sorted(outcome.lines_of("talker")) == ["err", "out"]


@pytest.mark.parametrize(
    ("output", "wrong"),
    [("scren", "scren"), ({"stdot": "log"}, "stdot"), ({"both": "lag"}, "lag")],
)
def test_output_to_nowhere_known_fails_the_launch(run, python, output, wrong):
    outcome = run(ExecuteProcess(cmd=python("pass"), output=output))

    assert outcome.code == 1
    assert re.search(rf": '?{wrong}'? is not a valid", outcome.screen)


def test_environment_variable_overrides_the_output(run, python):
    os.environ["OVERRIDE_LAUNCH_PROCESS_OUTPUT"] = "screen"

    assert len(run(ExecuteProcess(cmd=python(TALK), name="talker", output="own_log")).lines_of("talker")) == 2


def test_format_of_the_lines_may_be_chosen(run, python):
    outcome = run(
        ExecuteProcess(
            cmd=python("print('x')"),
            name="talker",
            output="screen",
            output_format="<{this.process_description.final_name}|{line}>",
        )
    )

    assert "<talker-" in outcome.screen
    assert "|x>" in outcome.screen
