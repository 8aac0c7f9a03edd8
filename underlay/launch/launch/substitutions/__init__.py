"""Substitutions: texts that are known only once the launch description is visited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._coverage import refusal
from .boolean_substitution import AllSubstitution, AndSubstitution, AnySubstitution, NotSubstitution, OrSubstitution
from .command import Command
from .environment_variable import EnvironmentVariable
from .equals_substitution import EqualsSubstitution, NotEqualsSubstitution
from .find_executable import FindExecutable
from .if_else_substitution import IfElseSubstitution
from .launch_configuration import LaunchConfiguration
from .local_substitution import LocalSubstitution
from .path_join_substitution import PathJoinSubstitution
from .python_expression import PythonExpression
from .substitution_failure import SubstitutionFailure
from .text_substitution import TextSubstitution
from .this_launch_file import ThisLaunchFile, ThisLaunchFileDir

__all__ = [
    "AllSubstitution",
    "AndSubstitution",
    "AnySubstitution",
    "Command",
    "EnvironmentVariable",
    "EqualsSubstitution",
    "FindExecutable",
    "IfElseSubstitution",
    "LaunchConfiguration",
    "LocalSubstitution",
    "NotEqualsSubstitution",
    "NotSubstitution",
    "OrSubstitution",
    "PathJoinSubstitution",
    "PythonExpression",
    "SubstitutionFailure",
    "TextSubstitution",
    "ThisLaunchFile",
    "ThisLaunchFileDir",
]

if not TYPE_CHECKING:
    __getattr__ = refusal(__name__, ("AnonName", "FileContent", "LaunchLogDir"))
