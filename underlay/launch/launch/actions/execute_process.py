"""Running a command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..descriptions import Executable
from ..some_substitutions_type import SomeSubstitutionsType
from .execute_local import ExecuteLocal


class ExecuteProcess(ExecuteLocal):
    """Runs a command line; see ExecuteLocal for how, and Executable for what."""

    def __init__(
        self,
        *,
        cmd: Iterable[SomeSubstitutionsType],
        prefix: SomeSubstitutionsType | None = None,
        name: SomeSubstitutionsType | None = None,
        cwd: SomeSubstitutionsType | None = None,
        env: Mapping[Any, Any] | None = None,
        additional_env: Mapping[Any, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Run `cmd`; the other arguments are those of ExecuteLocal."""
        executable = Executable(cmd=cmd, prefix=prefix, name=name, cwd=cwd, env=env, additional_env=additional_env)
        super().__init__(process_description=executable, **kwargs)

    @property
    def name(self) -> Any:
        """The unique name of the process, before the execution the substitutions that were given."""
        description = self.process_description
        return description.name if description.final_name is None else description.final_name

    @property
    def cmd(self) -> Any:
        """The command line, before the execution the substitutions that were given."""
        description = self.process_description
        return description.cmd if description.final_cmd is None else description.final_cmd

    @property
    def cwd(self) -> Any:
        """The working directory, before the execution the substitutions that were given."""
        description = self.process_description
        return description.cwd if description.final_cwd is None else description.final_cwd

    @property
    def env(self) -> Any:
        """The environment, before the execution the substitutions that were given."""
        description = self.process_description
        return description.env if description.final_env is None else description.final_env

    @property
    def additional_env(self) -> Any:
        """What is added to the environment."""
        return self.process_description.additional_env
