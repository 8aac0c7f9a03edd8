"""Finding packages and what they hold."""

from __future__ import annotations

import pytest
from ament_index_python.packages import PackageNotFoundError

from launch import LaunchContext
from launch.substitutions import PathJoinSubstitution, SubstitutionFailure, TextSubstitution
from launch_ros.substitutions import ExecutableInPackage, FindPackagePrefix, FindPackageShare


def test_prefix_share_and_executables_are_found(package):
    context = LaunchContext()
    name = [TextSubstitution(text="rob"), "ot"]

    assert FindPackagePrefix(name).perform(context) == str(package.prefix)
    assert FindPackageShare(name).perform(context) == str(package.prefix / "share" / "robot")
    assert PathJoinSubstitution([FindPackageShare("robot"), "x.yaml"]).perform(context).endswith("/share/robot/x.yaml")
    assert ExecutableInPackage("node", name).perform(context) == str(package.executable)


def test_package_of_another_prefix_of_the_path_is_found(package, monkeypatch):
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{package.prefix}")

    assert ExecutableInPackage("node", "robot").perform(LaunchContext()) == str(package.executable)


@pytest.mark.parametrize(
    "substitution", [FindPackagePrefix("nothing"), FindPackageShare("nothing"), ExecutableInPackage("node", "nothing")]
)
def test_package_that_is_missing_is_named(package, substitution):
    with pytest.raises(PackageNotFoundError, match="nothing"):
        substitution.perform(LaunchContext())


def test_executable_that_may_not_be_executed_is_not_found(package):
    package.executable.chmod(0o644)

    with pytest.raises(SubstitutionFailure, match=r"'node'( of package 'robot')? not found.*lib/robot"):
        ExecutableInPackage("node", "robot").perform(LaunchContext())


def test_package_without_executables_is_named(package):
    package.executable.unlink()
    package.executable.parent.rmdir()

    with pytest.raises(SubstitutionFailure, match=r"'robot'.*lib/robot' does not exist(.*'node'|$)"):
        ExecutableInPackage("node", "robot").perform(LaunchContext())


def test_substitutions_describe_themselves():
    assert FindPackageShare("robot").describe() == "FindPackageShare(pkg='robot')"
    assert ExecutableInPackage("node", "robot").describe() == "ExecInPkg(pkg='robot', exec='node')"
