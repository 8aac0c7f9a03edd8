"""Logging a message."""

from __future__ import annotations

from typing import Any

from ..action import Action
from ..launch_context import LaunchContext
from ..logging import get_logger
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions


class LogInfo(Action):
    """Logs a message of level INFO."""

    def __init__(self, *, msg: SomeSubstitutionsType, **kwargs: Any) -> None:
        """Log `msg`."""
        super().__init__(**kwargs)
        self.__msg = normalize_to_list_of_substitutions(msg)

    @property
    def msg(self) -> list[Substitution]:
        """The message."""
        return self.__msg

    def execute(self, context: LaunchContext) -> None:
        """Log it."""
        get_logger("launch.user").info(perform_substitutions(context, self.msg))
