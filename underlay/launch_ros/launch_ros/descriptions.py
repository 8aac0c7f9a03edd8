"""Descriptions of what belongs to nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launch._coverage import refusal

from .parameter_descriptions import ParameterValue

__all__ = ["ParameterValue"]

if not TYPE_CHECKING:
    __getattr__ = refusal(__name__, "ComposableNode Parameter ParameterFile")
