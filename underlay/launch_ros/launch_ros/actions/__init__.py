"""Actions about ROS nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launch._coverage import refusal

from .node import Node
from .scope import PushROSNamespace, SetParameter, SetParametersFromFile, SetRemap

PushRosNamespace = PushROSNamespace

__all__ = [
    "Node",
    "PushROSNamespace",
    "PushRosNamespace",
    "SetParameter",
    "SetParametersFromFile",
    "SetRemap",
]

if not TYPE_CHECKING:
    __getattr__ = refusal(
        __name__,
        (
            "ComposableNodeContainer",
            "LifecycleNode",
            "LifecycleTransition",
            "LoadComposableNodes",
            "ROSTimer",
            "RosTimer",
            "SetROSLogDir",
            "SetUseSimTime",
        ),
    )
