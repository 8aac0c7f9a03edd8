"""Helpers for test descriptions and for looking up processes."""

from .keep_alive import KeepAliveProc
from .proc_lookup import NO_CMD_ARGS, NoMatchingProcessException, resolveProcesses

__all__ = ["NO_CMD_ARGS", "KeepAliveProc", "NoMatchingProcessException", "resolveProcesses"]
