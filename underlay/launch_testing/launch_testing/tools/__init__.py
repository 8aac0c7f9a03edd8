"""Tools that tests call: filters for output, and processes launched by a test itself."""

from typing import TYPE_CHECKING

from .._not_covered import refuse
from .output import basic_output_filter
from .process import ProcessProxy, launch_process

__all__ = ["ProcessProxy", "basic_output_filter", "launch_process"]

if not TYPE_CHECKING:
    __getattr__ = refuse(__name__, ("expect_output", "expected_output_from_file"))
