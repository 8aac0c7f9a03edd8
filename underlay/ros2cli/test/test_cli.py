import subprocess
import sys
from pathlib import Path

import pytest

import ros2cli


def test_help_lists_the_commands(ros2):
    outcome = ros2("--help")
    assert outcome.code == 0
    assert "usage: ros2" in outcome.out
    assert all(f"\n  {name} " in outcome.out for name in ("launch", "run", "service", "topic"))


@pytest.mark.parametrize(
    ("group", "verbs"),
    [
        ("bag", ["info", "play", "record"]),
        ("interface", ["list", "package", "show"]),
        ("node", ["info", "list"]),
        ("param", ["dump", "get", "list", "set"]),
        ("pkg", ["executables", "list", "prefix"]),
        ("service", ["call", "info", "list", "type"]),
        ("topic", ["bw", "echo", "hz", "info", "list", "pub", "type"]),
    ],
)
def test_help_of_a_group_lists_its_verbs(ros2, group, verbs):
    for words in ([group, "--help"], [group]):
        outcome = ros2(*words)
        assert outcome.code == 0
        assert f"Call `ros2 {group} <command> -h` for more detailed usage." in outcome.out
        assert all(f"\n  {verb} " in outcome.out for verb in verbs)


def test_without_a_command_the_help_comes(ros2):
    outcome = ros2()
    assert (outcome.code, outcome.out[:12]) == (0, "usage: ros2 ")


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        (["topic", "delay", "--help"], "ros2 topic delay"),
        (["service", "echo", "/x"], "ros2 service echo"),
        (["bag", "reindex"], "ros2 bag reindex"),
        (["lifecycle", "list"], "ros2 lifecycle"),
    ],
)
@pytest.mark.stand_in("upstream has most of them")
def test_what_is_not_covered_is_named_and_is_a_usage_error(ros2, words, missing):
    outcome = ros2(*words)
    assert outcome.code == 2
    assert f"'{missing}' is not covered by this stand-in" in outcome.err
    assert outcome.out == ""


@pytest.mark.parametrize(
    "words",
    [
        ["topic", "list", "--no-such-option"],
        ["topic", "info"],
        ["topic", "echo", "/x", "--timeout", "-1"],
        ["topic", "echo", "/x", "--truncate-length", "-1"],
        ["topic", "echo", "/x", "--qos-reliability", "perhaps"],
        ["topic", "hz", "/x", "--window", "0"],
        ["topic", "hz", "/x", "--no-daemon"],
        ["topic", "bw", "/x", "--qos-durability", "perhaps"],
        ["topic", "pub", "/x", "std_msgs/msg/String", "--once", "--times", "2"],
        ["interface", "show", "std_msgs/msg/String", "--all-comments", "--no-comments"],
        ["param", "set", "/x", "name"],
        ["service", "call", "/x"],
        ["launch"],
        ["launch", "-p", "-s", "demo", "demo.launch.py"],
        ["run", "demo"],
    ],
)
def test_a_usage_error_is_exit_code_2(ros2, words):
    outcome = ros2(*words)
    assert outcome.code == 2
    assert "usage: ros2" in outcome.err


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["topic", "--help"],
        ["bag", "play", "--help"],
        ["run", "--help"],
        ["run", "no_such_package", "x"],
        ["interface", "list"],
        ["pkg", "list"],
    ],
)
@pytest.mark.stand_in("upstream loads it")
def test_what_needs_no_node_starts_without_rclpy(words):
    script = (
        "import sys; from ros2cli.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "loaded = {'rclpy', 'numpy', 'launch'} & set(sys.modules)\nsys.exit(f'loaded {loaded}' if loaded else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=Path(ros2cli.__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.stand_in("upstream has it")
def test_the_api_of_upstream_is_refused_by_name():
    with pytest.raises(AttributeError, match=r"no attribute 'node'.*stand-in"):
        vars(ros2cli)["__getattr__"]("node")
