"""The output of a command."""

from __future__ import annotations

import shlex
import subprocess

from ..launch_context import LaunchContext
from ..logging import get_logger
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ._describe import described
from .substitution_failure import SubstitutionFailure

_ON_STDERR = ("fail", "ignore", "warn", "capture")


class Command(Substitution):
    """Stands for what a command writes to its standard output."""

    def __init__(self, command: SomeSubstitutionsType, *, on_stderr: SomeSubstitutionsType = "fail") -> None:
        """Run `command`, split as a shell would; `on_stderr` is one of fail, ignore, warn, capture."""
        self.__command = normalize_to_list_of_substitutions(command)
        self.__on_stderr = normalize_to_list_of_substitutions(on_stderr)

    @property
    def command(self) -> list[Substitution]:
        """The command line."""
        return self.__command

    @property
    def on_stderr(self) -> list[Substitution]:
        """What to do when the command writes to its standard error."""
        return self.__on_stderr

    def describe(self) -> str:
        """Describe the substitution."""
        return f"Command({described(self.command)})"

    def perform(self, context: LaunchContext) -> str:
        """Run the command and wait for its end."""
        command = perform_substitutions(context, self.command)
        on_stderr = perform_substitutions(context, self.on_stderr)
        if on_stderr not in _ON_STDERR:
            raise SubstitutionFailure(f"expected 'on_stderr' to be one of {', '.join(_ON_STDERR)}, got '{on_stderr}'")
        result = _run(command, merge_stderr=on_stderr == "capture")
        if result.returncode != 0:
            captured = f"\nCaptured stderr output: {result.stderr}" if result.stderr else ""
            raise SubstitutionFailure(f"executed command failed. Command: {command}{captured}")
        if result.stderr and on_stderr in ("fail", "warn"):
            message = f"executed command showed stderr output. Command: {command}\nCaptured stderr output:\n"
            if on_stderr == "fail":
                raise SubstitutionFailure(message + result.stderr)
            get_logger("launch").warning(message + result.stderr)
        return result.stdout


def _run(command: str, *, merge_stderr: bool) -> subprocess.CompletedProcess[str]:
    stderr = subprocess.STDOUT if merge_stderr else subprocess.PIPE
    try:
        return subprocess.run(shlex.split(command), stdout=subprocess.PIPE, stderr=stderr, text=True, check=False)
    except FileNotFoundError as exc:
        raise SubstitutionFailure(f"file not found: {exc}") from exc
