"""Substitutions about packages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launch._coverage import refusal

from .executable_in_package import ExecutableInPackage
from .find_package import FindPackage, FindPackagePrefix, FindPackageShare

__all__ = ["ExecutableInPackage", "FindPackage", "FindPackagePrefix", "FindPackageShare"]

if not TYPE_CHECKING:
    __getattr__ = refusal(__name__, ("Parameter",))
