"""Descriptions of what actions act on."""

from .executable import Executable

__all__ = ["Executable"]
