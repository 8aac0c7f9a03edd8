"""The arguments that nodes are started with."""

from __future__ import annotations

import re

import pytest
from ament_index_python.packages import PackageNotFoundError

from launch import LaunchContext
from launch.actions import GroupAction, SetLaunchConfiguration
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution, TextSubstitution
from launch_ros.actions import Node, PushROSNamespace, PushRosNamespace
from launch_ros.substitutions import ExecutableInPackage, FindPackagePrefix, FindPackageShare


def node(**kwargs) -> Node:
    return Node(package="robot", executable="node", **kwargs)


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
    assert action.is_node_name_fully_specified()


def test_executable_may_be_a_path(started, package):
    assert started(Node(executable=str(package.executable), name="x"))["arguments"][-1] == "__node:=x"


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

    assert [each.node_name for each in nodes] == ["/a/b/inner", "/a/outer", "<node_namespace_unspecified>/outside"]


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


def test_node_that_is_respawned_gets_the_same_arguments(run, package):
    run(node(name="x", parameters=[{"a": 1}], respawn=True, respawn_max_retries=1))

    first, second = package.starts
    assert first == second
    assert first["files"]


def test_prefix_share_and_executables_are_found(package):
    context = LaunchContext()
    name = [TextSubstitution(text="rob"), "ot"]

    assert FindPackagePrefix(name).perform(context) == str(package.prefix)
    assert FindPackageShare(name).perform(context) == str(package.prefix / "share" / "robot")
    assert PathJoinSubstitution([FindPackageShare("robot"), "x.yaml"]).perform(context).endswith("/share/robot/x.yaml")
    assert ExecutableInPackage("node", name).perform(context) == str(package.executable)


@pytest.mark.parametrize(
    "substitution", [FindPackagePrefix("nothing"), FindPackageShare("nothing"), ExecutableInPackage("node", "nothing")]
)
def test_package_that_is_missing_is_named(package, substitution):
    with pytest.raises(PackageNotFoundError, match="nothing"):
        substitution.perform(LaunchContext())
