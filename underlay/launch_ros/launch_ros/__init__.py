"""A stand-in for upstream's launch_ros: ROS nodes in launch descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launch._coverage import refusal

from . import actions, descriptions, parameter_descriptions, substitutions

__all__ = ["actions", "descriptions", "parameter_descriptions", "substitutions"]

if not TYPE_CHECKING:
    __getattr__ = refusal(__name__, "event_handlers events ros_adapters utilities")
