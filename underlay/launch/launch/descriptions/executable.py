"""What is to be run."""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..launch_context import LaunchContext
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..substitutions import LaunchConfiguration
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..utilities.normalize import as_parts

if TYPE_CHECKING:
    from ..action import Action

Variables = list[tuple[list[Substitution], list[Substitution]]]

# Numbers the processes of one Python process, which makes their names unique. next() on it is atomic.
_numbers = itertools.count(1)


def _variables(env: Mapping[Any, Any] | None) -> Variables | None:
    if env is None:
        return None
    normalize = normalize_to_list_of_substitutions
    return [(normalize(name), normalize(value)) for name, value in env.items()]


class Executable:
    """A command line with its working directory and environment."""

    def __init__(
        self,
        *,
        cmd: Iterable[SomeSubstitutionsType],
        prefix: SomeSubstitutionsType | None = None,
        name: SomeSubstitutionsType | None = None,
        cwd: SomeSubstitutionsType | None = None,
        env: Mapping[Any, Any] | None = None,
        additional_env: Mapping[Any, Any] | None = None,
        arguments: Iterable[SomeSubstitutionsType] | None = None,
    ) -> None:
        """Run `cmd` with `arguments`, after `prefix` (launch configuration ``launch-prefix`` if it is None).

        The environment is `env`, that of the launch if it is None, plus `additional_env`.
        """
        parts = [*as_parts(cmd, "cmd"), *as_parts(arguments, "arguments")]
        self.__cmd = [normalize_to_list_of_substitutions(part) for part in parts]
        self.__arguments = arguments
        self.__prefix_is_default = prefix is None
        self.__prefix = normalize_to_list_of_substitutions(
            LaunchConfiguration("launch-prefix", default="") if prefix is None else prefix
        )
        self.__name = None if name is None else normalize_to_list_of_substitutions(name)
        self.__cwd = None if cwd is None else normalize_to_list_of_substitutions(cwd)
        self.__env = _variables(env)
        self.__additional_env = _variables(additional_env)
        self.__final_name: str | None = None
        self.__final_cmd: list[str] | None = None
        self.__final_cwd: str | None = None
        self.__final_env: dict[str, str] | None = None

    @property
    def name(self) -> list[Substitution] | None:
        """The name of the process, None for that of the executable."""
        return self.__name

    @property
    def prefix(self) -> list[Substitution]:
        """What precedes the command."""
        return self.__prefix

    @property
    def cmd(self) -> list[list[Substitution]]:
        """The command and its arguments; a list that subclasses of actions may extend."""
        return self.__cmd

    @property
    def cwd(self) -> list[Substitution] | None:
        """The working directory, None for that of the launch."""
        return self.__cwd

    @property
    def env(self) -> Variables | None:
        """The environment, None for that of the launch."""
        return self.__env

    @property
    def additional_env(self) -> Variables | None:
        """What is added to the environment."""
        return self.__additional_env

    @property
    def arguments(self) -> Iterable[SomeSubstitutionsType] | None:
        """The arguments that were given apart from the command."""
        return self.__arguments

    @property
    def final_name(self) -> str | None:
        """The unique name of the process, None before prepare()."""
        return self.__final_name

    @property
    def final_cmd(self) -> list[str] | None:
        """The command line, None before prepare()."""
        return self.__final_cmd

    @property
    def final_cwd(self) -> str | None:
        """The working directory, None for that of the launch."""
        return self.__final_cwd

    @property
    def final_env(self) -> dict[str, str] | None:
        """The environment, None before prepare()."""
        return self.__final_env

    def prepare(self, context: LaunchContext, action: Action) -> None:
        """Perform all substitutions, and number the process."""
        cmd = [perform_substitutions(context, part) for part in self.__cmd]
        if self.__wants_prefix(context, cmd[0]):
            cmd = shlex.split(perform_substitutions(context, self.__prefix)) + cmd
        name = os.path.basename(cmd[0]) if self.__name is None else perform_substitutions(context, self.__name)
        self.__final_cmd = cmd
        self.__final_name = f"{name}-{next(_numbers)}"
        self.__final_cwd = None if self.__cwd is None else perform_substitutions(context, self.__cwd)
        self.__final_env = self.__environment(context)

    def __wants_prefix(self, context: LaunchContext, executable: str) -> bool:
        if not self.__prefix_is_default:
            return True
        pattern = LaunchConfiguration("launch-prefix-filter", default="").perform(context)
        return re.match(pattern, os.path.basename(executable)) is not None

    def __environment(self, context: LaunchContext) -> dict[str, str]:
        environment = dict(context.environment) if self.__env is None else {}
        for name, value in (*(self.__env or ()), *(self.__additional_env or ())):
            environment[perform_substitutions(context, name)] = perform_substitutions(context, value)
        return environment
