"""Actions: what a launch description can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._coverage import refusal
from .declare_launch_argument import DeclareLaunchArgument
from .emit_event import EmitEvent, Shutdown
from .environment import AppendEnvironmentVariable, SetEnvironmentVariable, UnsetEnvironmentVariable
from .event_handlers import RegisterEventHandler, UnregisterEventHandler
from .execute_local import ExecuteLocal
from .execute_process import ExecuteProcess
from .group_action import GroupAction
from .include_launch_description import IncludeLaunchDescription
from .log_info import LogInfo
from .opaque_function import OpaqueFunction
from .reset_launch_configurations import ResetLaunchConfigurations
from .scopes import PopEnvironment, PopLaunchConfigurations, PushEnvironment, PushLaunchConfigurations, ResetEnvironment
from .set_launch_configuration import SetLaunchConfiguration, UnsetLaunchConfiguration
from .timer_action import TimerAction

__all__ = [
    "AppendEnvironmentVariable",
    "DeclareLaunchArgument",
    "EmitEvent",
    "ExecuteLocal",
    "ExecuteProcess",
    "GroupAction",
    "IncludeLaunchDescription",
    "LogInfo",
    "OpaqueFunction",
    "PopEnvironment",
    "PopLaunchConfigurations",
    "PushEnvironment",
    "PushLaunchConfigurations",
    "RegisterEventHandler",
    "ResetEnvironment",
    "ResetLaunchConfigurations",
    "SetEnvironmentVariable",
    "SetLaunchConfiguration",
    "Shutdown",
    "TimerAction",
    "UnregisterEventHandler",
    "UnsetEnvironmentVariable",
    "UnsetLaunchConfiguration",
]

if not TYPE_CHECKING:
    __getattr__ = refusal(__name__, ("OpaqueCoroutine",))
