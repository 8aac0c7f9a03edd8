"""The parameters that nodes are started with."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

import pytest
import yaml

from launch.actions import GroupAction, SetLaunchConfiguration, Shutdown
from launch.substitutions import LaunchConfiguration, TextSubstitution
from launch_ros.actions import Node, PushROSNamespace, SetParameter
from launch_ros.parameter_descriptions import ParameterValue

X = LaunchConfiguration("x")


class Loader(yaml.SafeLoader):
    """Reads what nodes read: they pass over the tag by which upstream marks lists."""


Loader.add_constructor("tag:yaml.org,2002:python/tuple", Loader.construct_yaml_seq)


def parameters_in(text):
    """The parameters of all nodes in the text of a file."""
    return yaml.load(text, Loader)["/**"]["ros__parameters"]


def node(parameters, **kwargs) -> Node:
    return Node(package="robot", executable="node", parameters=parameters, **kwargs)


@pytest.fixture
def value(started):
    """Return the value that a node would read from its parameter file."""

    def evaluated(written, x="7"):
        (text,) = started(SetLaunchConfiguration("x", x), node([{"p": written}]))["files"].values()
        return parameters_in(text)["p"]

    return evaluated


@pytest.mark.parametrize(
    "written",
    [
        *(
            True,
            3,
            -1.5,
            1e-7,
            float("inf"),
            "text",
            "",
            "7",
            "true",
            "1e5",
            "null",
            "two\nlines: #",
            "grün",
            'it\'s "so"',
        ),
        *([1, 2], [1.5], [True, False], ["a", "7", "no"]),
    ],
)
def test_plain_values_keep_their_type(value, written):
    read = value(written)

    assert read == written
    assert type(read) is type(written)


@pytest.mark.parametrize(
    ("written", "x", "read"),
    [
        (X, "7", 7),
        (X, "7.5", 7.5),
        (X, "true", True),
        (X, "a b", "a b"),
        (X, "", ""),
        (X, "'7'", "7"),
        (X, "[1, 2]", [1, 2]),
        ([X, "5"], "7", 75),
        (["v", X], "7", "v7"),
        ([[X], [X, "5"]], "7", [7, 75]),
        ([["a", X], "b"], "7", ["a7", "b"]),
        ([X, 2], "7", [7, 2]),
        (ParameterValue(X, value_type=str), "7", "7"),
        (ParameterValue(["v: ", X], value_type=str), "7", "v: 7"),
        (ParameterValue(X, value_type=float), "7", 7.0),
        (ParameterValue(X, value_type=bool), "1", True),
        (ParameterValue(X, value_type=list[int]), "[7]", [7]),
        (ParameterValue([1, 2], value_type=list[int]), "", [1, 2]),
        (ParameterValue([[X], "a"], value_type=list[str]), "7", ["7", "a"]),
        (ParameterValue(X), "7", 7),
    ],
)
def test_text_of_substitutions_is_read_as_yaml_unless_typed(value, written, x, read):
    result = value(written, x)

    assert result == read
    assert type(result) is type(read)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ([1, "a"], "one type|uniform type"),
        ([], r"non-empty list|but got '\(\)'"),
        ([True, 1], "one type|uniform type"),
        (TextSubstitution(text="{a: 1}"), "value_type=str"),
        (TextSubstitution(text="a: b: c"), "value_type=str"),
        (TextSubstitution(text="2024-01-01"), "value_type=str"),
        (TextSubstitution(text="[1, a]"), "one type|uniform type"),
        (ParameterValue(TextSubstitution(text="x"), value_type=int), "invalid literal"),
        (ParameterValue(TextSubstitution(text="maybe"), value_type=bool), "maybe"),
        (ParameterValue(TextSubstitution(text="[1, a]"), value_type=list[int]), "int"),
        (None, "None"),
        ({1, 2}, "set"),
        ([None], "None"),
    ],
)
def test_value_that_is_none_fails_the_launch(run, package, written, message):
    outcome = run(node([{"p": written}]))

    assert outcome.code == 1
    assert re.search(message, outcome.screen)
    assert package.starts == []


def test_nested_names_are_joined_by_dots_and_may_be_substitutions(started):
    nested = {"a": {"b": {"c": 1}, X: 2}, (X, "_", X): 3}

    (text,) = started(SetLaunchConfiguration("x", "n"), node([nested]))["files"].values()

    assert parameters_in(text) == {"a.b.c": 1, "a.n": 2, "n_n": 3}


def test_files_and_dictionaries_keep_their_order(started, tmp_path):
    paths = [tmp_path / f"{name}.yaml" for name in "abc"]
    for path in paths:
        path.write_text(f"/**: {{ros__parameters: {{from: {path.name}}}}}\n")

    start = started(
        SetLaunchConfiguration("x", "c"),
        node([str(paths[0]), {"from": "dictionary"}, paths[1], [str(tmp_path), "/", X, ".yaml"]]),
    )

    values = start["arguments"][1:]
    assert values[0::2] == ["--params-file"] * 4
    first, written, second, third = values[1::2]
    assert [first, second, third] == [str(path) for path in paths]
    assert "launch_params_" in written


def test_file_that_is_missing_is_warned_of_and_left_out(run, package):
    outcome = run(node(["/nowhere/p.yaml"]))

    assert outcome.code == 0
    assert "Parameter file path is not a file: /nowhere/p.yaml" in outcome.screen
    assert package.starts[0]["arguments"] == ["--ros-args"]


@pytest.mark.stand_in("upstream leaves them")
def test_written_files_are_removed_when_the_node_has_ended(started):
    start = started(node([{"p": 1}, {"q": 2}]))

    assert len(start["files"]) == 2
    assert [path for path in start["files"] if Path(path).exists()] == []


def test_parameters_of_the_scope_come_first_and_end_with_the_group(run, package):
    shared = [SetParameter("first", 1.5), SetParameter("second", X)]

    run(SetLaunchConfiguration("x", "2"), GroupAction([*shared, node([{"own": 1}])]), node([]))

    inside, outside = sorted((start["arguments"] for start in package.starts), key=len, reverse=True)
    assert inside[1:6] == ["-p", "first:=1.5", "-p", "second:=2", "--params-file"]
    assert outside == ["--ros-args"]


@pytest.mark.stand_in("upstream writes them as Python does")
def test_parameters_of_the_scope_are_written_as_yaml(started):
    shared = [SetParameter("use_sim_time", X), SetParameter(name="list", value=["a", "1"])]

    arguments = started(SetLaunchConfiguration("x", "true"), *shared, node([]))["arguments"]

    assert arguments == ["--ros-args", "-p", "use_sim_time:=true", "-p", 'list:=["a", "1"]']


PROGRAM = """
    import rclpy
    from rclpy.node import Node

    rclpy.init()
    node = Node("unnamed", automatically_declare_parameters_from_overrides=True)
    values = {name: parameter.value for name, parameter in node.get_parameters_by_prefix("").items()}
    values = {name: value if isinstance(value, (bool, int, float, str)) else list(value)
              for name, value in values.items() if not name.startswith(("qos", "start_type", "use_sim"))}
    print(repr((node.get_fully_qualified_name(), node.resolve_topic_name("chatter"), values)))
    node.destroy_node()
    rclpy.shutdown()
"""

PARAMETERS = {
    "flag": True,
    "count": 3,
    "rate": 2.0,
    "tiny": 1e-7,
    "text": "two\nlines: 'a' \"b\" # c",
    "numbers": [1, 2],
    "texts": ["1", "b"],
    "nested": {"deep": {"value": -1}},
}


@pytest.fixture
def launched(run, tmp_path):
    """Launch a node with these parameters besides its own; its name, its topic, and the parameters it has."""

    def launch(*entities, **parameters):
        script = tmp_path / "node.py"
        script.write_text("#!/usr/bin/env python3\n" + textwrap.dedent(PROGRAM))
        script.chmod(0o755)
        overriding = tmp_path / "override.yaml"
        overriding.write_text("/robot/arm/driver:\n  ros__parameters:\n    count: 4\n")
        action = Node(
            executable=str(script),
            name="driver",
            namespace="arm",
            parameters=[PARAMETERS, parameters, str(overriding)],
            remappings=[("chatter", "words")],
            output="screen",
            on_exit=Shutdown(),
        )
        outcome = run(GroupAction([*entities, PushROSNamespace("robot"), action]))
        assert outcome.code == 0, outcome.screen
        assert action.node_name == "/robot/arm/driver"
        return ast.literal_eval(re.search(r"^\[.*?\] (\(.*\))$", outcome.screen, re.MULTILINE)[1])

    return launch


def test_node_reads_what_was_written_for_it(launched):
    seven = LaunchConfiguration("x")
    name, topic, values = launched(
        SetLaunchConfiguration("x", "7"),
        SetParameter("shared", 0.5),
        typed=ParameterValue(seven, value_type=str),
        untyped=seven,
    )

    assert name == "/robot/arm/driver"
    assert topic == "/robot/arm/words"
    expected = {**PARAMETERS, "nested.deep.value": -1, "count": 4, "typed": "7", "untyped": 7, "shared": 0.5}
    del expected["nested"]
    assert {key: (type(value), value) for key, value in values.items()} == {
        key: (type(value), value) for key, value in expected.items()
    }


@pytest.mark.stand_in("upstream's node reads a number in place of the text, and a text in place of the list")
def test_texts_of_numbers_and_lists_of_the_scope_keep_their_types(launched):
    _, _, values = launched(SetParameter("shared", [0.5, 1]), number_as_text="1e5")

    assert (values["number_as_text"], values["shared"]) == ("1e5", [0.5, 1.0])
