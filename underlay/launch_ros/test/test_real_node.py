"""A node of rclpy that is launched with names, parameters and remapping rules."""

from __future__ import annotations

import ast
import textwrap

import pytest

from launch.actions import GroupAction, SetLaunchConfiguration, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node, PushROSNamespace, SetParameter
from launch_ros.descriptions import ParameterValue

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
            cached_output=True,
            on_exit=Shutdown(),
        )
        outcome = run(GroupAction([*entities, PushROSNamespace("robot"), action]))
        assert outcome.code == 0, outcome.screen
        assert action.node_name == "/robot/arm/driver"
        return ast.literal_eval(action.get_stdout())

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
