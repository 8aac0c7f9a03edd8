"""Actions for test descriptions."""

from typing import TYPE_CHECKING

from .._not_covered import refuse
from .ready import ReadyToTest

__all__ = ["ReadyToTest"]

if not TYPE_CHECKING:
    __getattr__ = refuse(__name__, ("GTest", "PyTest", "Test"))
