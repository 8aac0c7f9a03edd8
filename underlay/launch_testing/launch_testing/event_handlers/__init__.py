"""Event handlers for test descriptions."""

from .stdout_ready_listener import StdoutReadyListener

__all__ = ["StdoutReadyListener"]
