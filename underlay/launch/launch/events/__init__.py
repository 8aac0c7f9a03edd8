"""Events: what happened in the launched system, or shall happen."""

from . import process
from .execution_complete import ExecutionComplete
from .include_launch_description import IncludeLaunchDescription
from .matchers import matches_action
from .shutdown import Shutdown
from .timer_event import TimerEvent

__all__ = ["ExecutionComplete", "IncludeLaunchDescription", "Shutdown", "TimerEvent", "matches_action", "process"]
