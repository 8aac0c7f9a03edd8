"""The arguments that nodes are started with."""

from __future__ import annotations

import re

import pytest

from launch.actions import GroupAction, LogInfo, OpaqueFunction, SetLaunchConfiguration, Shutdown
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node, PushROSNamespace, PushRosNamespace, SetRemap


def node(**kwargs) -> Node:
    return Node(package="robot", executable="node", **kwargs)


def test_node_without_anything_gets_no_ros_argument(started):
    assert started(node())["arguments"] == ["--ros-args"]


def test_everything_is_passed_in_the_order_of_upstream(started):
    action = node(
        name=["dri", LaunchConfiguration("x")],
        namespace=LaunchConfiguration("x"),
        arguments=["--own", ["x=", LaunchConfiguration("x")]],
        ros_arguments=["--log-level", "debug"],
        remappings=[("a", "b"), (LaunchConfiguration("x"), ["/", LaunchConfiguration("x")])],
    )

    arguments = started(SetLaunchConfiguration("x", "ver"), action)["arguments"]

    assert arguments == [
        *("--own", "x=ver", "--ros-args", "--log-level", "debug"),
        *("--ros-args", "-r", "__node:=driver", "-r", "__ns:=/ver", "-r", "a:=b", "-r", "ver:=/ver"),
    ]
    assert action.node_name == "/ver/driver"
    assert action.expanded_node_namespace == "/ver"
    assert action.expanded_remapping_rules == [("a", "b"), ("ver", "/ver")]
    assert (action.node_package, action.node_executable) == ("robot", "node")
    assert action.is_node_name_fully_specified()


def test_executable_may_be_a_path(started, package):
    assert started(Node(executable=str(package.executable), name="x"))["arguments"][-1] == "__node:=x"


def test_name_is_known_only_after_the_execution():
    with pytest.raises(RuntimeError, match="before executing"):
        _ = node().node_name


@pytest.mark.parametrize(
    ("kwargs", "name"),
    [
        ({}, "<node_namespace_unspecified>/<node_name_unspecified>"),
        ({"name": "x"}, "<node_namespace_unspecified>/x"),
        ({"namespace": "a"}, "/a/<node_name_unspecified>"),
        ({"namespace": "", "name": "x"}, "/x"),
        ({"namespace": "/", "name": "x"}, "/x"),
        ({"namespace": "a/b/", "name": "x"}, "/a/b/x"),
    ],
)
def test_full_name_tells_what_is_unspecified(run, package, kwargs, name):
    action = node(**kwargs)
    run(action)

    assert action.node_name == name


@pytest.mark.parametrize(
    ("pushed", "own", "namespace"),
    [
        (["a"], None, "/a"),
        (["a", "b"], "c", "/a/b/c"),
        (["/a", "/b"], "c", "/b/c"),
        (["a"], "/c", "/c"),
        (["/"], "c", "/c"),
        (["a"], "", "/a"),
    ],
)
def test_namespace_is_within_that_of_the_scope(started, pushed, own, namespace):
    action = node(namespace=own)

    started(*(PushROSNamespace(each) for each in pushed), action)

    assert action.expanded_node_namespace == namespace


def test_namespace_ends_with_the_group(run, package):
    nodes = [node(name=name) for name in ("inner", "outer", "outside")]
    inner = GroupAction([PushRosNamespace("b"), nodes[0]])

    run(GroupAction([PushRosNamespace("a"), inner, nodes[1]]), nodes[2])

    assert [each.node_name for each in nodes] == [
        "/a/b/inner",
        "/a/outer",
        "<node_namespace_unspecified>/outside",
    ]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (node(name="a-b"), "nvalid node name.*'a-b'"),
        (node(name="1a"), "nvalid node name.*'1a'"),
        (node(namespace="a//b"), "nvalid namespace.*'/a//b'"),
        (PushROSNamespace("a b"), "pushed_namespace='a b'"),
    ],
)
def test_invalid_names_are_named(run, package, action, message):
    outcome = run(action)

    assert outcome.code == 1
    assert re.search(message, outcome.screen, re.DOTALL)
    assert package.starts == []


def test_remapping_rules_of_the_scope_come_first_and_end_with_the_group(run, package):
    inside, outside = node(remappings=[("own", "x")]), node()

    run(GroupAction([SetRemap("a", "b"), SetRemap("c", "d"), inside]), outside)

    assert inside.expanded_remapping_rules == [("a", "b"), ("c", "d"), ("own", "x")]
    assert outside.expanded_remapping_rules is None


@pytest.mark.parametrize("rules", [["a:=b"], [("a",)], [("a", "b", "c")]])
def test_remapping_rule_that_is_no_pair_is_refused(rules):
    with pytest.raises(TypeError, match=r"remapping rule|remap_rule"):
        node(remappings=rules)


def test_executable_that_is_missing_is_named_with_package_and_folder(run, package):
    outcome = run(Node(package="robot", executable="nod"))

    assert outcome.code == 1
    place = rf"executable 'nod'( of package 'robot')? not found on the libexec directory '{package.prefix}/lib/robot'"
    assert re.search(place, outcome.screen)


def test_package_that_is_missing_is_named(run):
    outcome = run(Node(package="no_such_package", executable="node"))

    assert outcome.code == 1
    assert "no_such_package" in outcome.screen


def test_process_is_named_by_exec_name_or_executable(run, package):
    first, second = node(), node(exec_name=["my_", "label"], name="x")

    outcome = run(first, second)

    assert f"[{first.name}]: process started" in outcome.screen
    assert first.name.startswith("node-")
    assert second.name.startswith("my_label-")


def test_keywords_of_processes_apply(run, package):
    outcome = run(
        node(condition=IfCondition("false")),
        node(additional_env={"NOTES": "/nowhere"}, on_exit=[LogInfo(msg="ended"), Shutdown()], output="screen"),
    )

    assert "FileNotFoundError" in outcome.screen
    assert "[launch.user]: ended" in outcome.screen
    assert package.starts == []


def test_several_nodes_of_one_name_are_warned_of(run, package):
    outcome = run(*(node(name="same", namespace="a") for _ in range(3)), node(name="same", namespace="b"))

    assert "there are now at least 3 nodes with the name /a/same created" in outcome.screen
    assert "/b/same created" not in outcome.screen


def test_node_that_is_respawned_gets_the_same_arguments(run, package):
    run(node(name="x", parameters=[{"a": 1}], respawn=True, respawn_max_retries=1))

    first, second = package.starts
    assert first == second
    assert first["files"]


def test_launch_configuration_tells_the_namespace_of_the_scope(run):
    told = []

    run(PushROSNamespace("a"), OpaqueFunction(function=lambda c: told.append(c.launch_configurations["ros_namespace"])))

    assert told == ["/a"]
