"""What is told of packages and interfaces, for which nothing must run."""

import re

import pytest

NO_INTERFACE = "(Unknown interface '|Could not find the interface '/.*/)std_msgs/msg/Nope"
SHOWN = """\
std_msgs/Header header
\tbuiltin_interfaces/Time stamp
\t\tint32 sec
\t\tuint32 nanosec
\tstring frame_id
Twist twist
\tVector3  linear
\t\tfloat64 x
\t\tfloat64 y
\t\tfloat64 z
\tVector3  angular
\t\tfloat64 x
\t\tfloat64 y
\t\tfloat64 z
"""


def test_an_interface_is_shown_with_its_parts(ros2):
    outcome = ros2("interface", "show", "geometry_msgs/msg/TwistStamped", "--no-comments")
    assert (outcome.code, outcome.out) == (0, SHOWN)


def test_interfaces_are_listed_by_kind(ros2):
    every = ros2("interface", "list").out
    assert "Messages:\n" in every
    assert "\nServices:\n" in every
    assert "\n    std_msgs/msg/String\n" in every
    services = ros2("interface", "list", "-s").out
    assert services.startswith("Services:\n")
    assert "/msg/" not in services
    listed = ros2("interface", "package", "std_srvs").out.split()
    assert sorted(listed) == ["std_srvs/srv/Empty", "std_srvs/srv/SetBool", "std_srvs/srv/Trigger"]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["interface", "show", "std_msgs/msg/Nope"], NO_INTERFACE),
        (["interface", "show", "no_such_package/msg/X"], "Unknown package 'no_such_package'"),
        (["interface", "package", "no_such_package"], "Unknown package 'no_such_package'"),
        (["pkg", "prefix", "no_such_package"], "Package not found"),
        (["pkg", "executables", "no_such_package"], "Package 'no_such_package' not found"),
    ],
)
def test_what_is_not_installed_is_an_error(ros2, words, error):
    outcome = ros2(*words)
    assert (outcome.code, outcome.out) == (1, "")
    assert re.search(error, outcome.err)


def test_packages_are_found(ros2, demo_package, tmp_path):
    program = demo_package("lib/demo/program", "#!/bin/sh\n")
    assert {"demo", "std_msgs"} <= set(ros2("pkg", "list").out.split())
    assert ros2("pkg", "prefix", "demo").out == f"{tmp_path}\n"
    assert ros2("pkg", "prefix", "--share", "demo").out == f"{tmp_path / 'share/demo'}\n"
    assert ros2("pkg", "executables", "demo").out == "demo program\n"
    assert ros2("pkg", "executables", "--full-path", "demo").out == f"{program}\n"
