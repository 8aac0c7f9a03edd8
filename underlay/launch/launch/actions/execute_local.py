"""Running a process on this machine."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .._lines import LineSplitter
from .._process_run import ProcessRun, RunSettings
from ..action import Action
from ..conditions import evaluate_condition_expression
from ..descriptions import Executable
from ..event_handlers import OnProcessExit
from ..events import Shutdown as ShutdownEvent
from ..launch_context import LaunchContext
from ..launch_description_entity import LaunchDescriptionEntity
from ..logging import get_output_loggers
from ..some_entities_type import SomeEntitiesType
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..substitutions import LaunchConfiguration
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..utilities.type_utils import normalize_typed_substitution, perform_typed_substitution
from .emit_event import EmitEvent

OnExit = SomeEntitiesType | Callable[..., SomeEntitiesType | None]
Output = SomeSubstitutionsType | Mapping[str, Any]

_SIGTERM_TIMEOUT = LaunchConfiguration("sigterm_timeout", default=5)
_SIGKILL_TIMEOUT = LaunchConfiguration("sigkill_timeout", default=5)


class ExecuteLocal(Action):
    """Runs an executable, logs its output, and tells of its life by events.

    The process ends with the launch: by SIGINT, then SIGTERM, then SIGKILL.
    """

    def __init__(
        self,
        *,
        process_description: Executable,
        shell: bool = False,
        sigterm_timeout: SomeSubstitutionsType = _SIGTERM_TIMEOUT,
        sigkill_timeout: SomeSubstitutionsType = _SIGKILL_TIMEOUT,
        emulate_tty: bool = False,
        output: Output = "log",
        output_format: str = "[{this.process_description.final_name}] {line}",
        cached_output: bool = False,
        log_cmd: bool = False,
        on_exit: OnExit | None = None,
        respawn: bool | SomeSubstitutionsType = False,
        respawn_delay: float | None = None,
        respawn_max_retries: int = -1,
        **kwargs: Any,
    ) -> None:
        """Run `process_description`.

        `output` is as for launch.logging.get_output_loggers(); variable OVERRIDE_LAUNCH_PROCESS_OUTPUT overrides it.
        `respawn` starts the process again whenever it ends, at most `respawn_max_retries` times unless negative.
        """
        super().__init__(**kwargs)
        chosen = os.environ.get("OVERRIDE_LAUNCH_PROCESS_OUTPUT") or output
        self.__description = process_description
        self.__shell = shell
        self.__emulate_tty = emulate_tty
        self.__sigterm_timeout = normalize_to_list_of_substitutions(sigterm_timeout)
        self.__sigkill_timeout = normalize_to_list_of_substitutions(sigkill_timeout)
        self.__output = chosen if isinstance(chosen, Mapping) else normalize_to_list_of_substitutions(chosen)
        self.__output_format = output_format
        self.__cache: dict[int, list[str]] | None = {1: [], 2: []} if cached_output else None
        self.__log_cmd = log_cmd
        self.__on_exit = on_exit
        self.__respawn = normalize_typed_substitution(respawn, bool)
        self.__respawn_delay, self.__respawn_max_retries = respawn_delay, respawn_max_retries
        self.__details: dict[str, Any] | None = None
        self.__executed = False
        self.__run: ProcessRun | None = None

    @property
    def process_description(self) -> Executable:
        """What is run."""
        return self.__description

    @property
    def shell(self) -> bool:
        """Whether a shell runs it."""
        return self.__shell

    @property
    def emulate_tty(self) -> bool:
        """Whether the process writes to a terminal."""
        return self.__emulate_tty

    @property
    def sigterm_timeout(self) -> list[Substitution]:
        """How many seconds after SIGINT follows SIGTERM."""
        return self.__sigterm_timeout

    @property
    def sigkill_timeout(self) -> list[Substitution]:
        """How many seconds after SIGTERM follows SIGKILL."""
        return self.__sigkill_timeout

    @property
    def output(self) -> Mapping[str, Any] | list[Substitution]:
        """Where the output goes."""
        return self.__output

    @property
    def process_details(self) -> dict[str, Any] | None:
        """Action, name, cmd, cwd, env, and pid once it runs; None before the execution."""
        return self.__details

    @property
    def return_code(self) -> int | None:
        """The exit code, negative for a signal; None before the end."""
        return None if self.__run is None else self.__run.returncode

    def get_sub_entities(self) -> list[LaunchDescriptionEntity]:
        """List the entities to be visited on exit, if they are fixed."""
        return self.__on_exit if isinstance(self.__on_exit, list) else []

    def prepare(self, context: LaunchContext) -> None:
        """Perform the substitutions of what is run."""
        description = self.__description
        description.prepare(context, self)
        self.__details = {
            "action": self,
            "name": description.final_name,
            "cmd": description.final_cmd,
            "cwd": description.final_cwd,
            "env": description.final_env,
        }

    def execute(self, context: LaunchContext) -> None:
        """Begin to run the process, unless the launch is shutting down already."""
        self.prepare(context)
        if self.__executed:
            raise RuntimeError(
                f"ExecuteLocal action '{self.__description.final_name}': executed more than once: {self.describe()}"
            )
        self.__executed = True
        if context.is_shutdown:
            return
        settings, writers = self.__settings(context), self.__writers(context)
        if self.__on_exit is not None:
            context.register_event_handler(OnProcessExit(target_action=self, on_exit=self.__on_exit))
        self.__run = ProcessRun(self, context, settings, writers)

    def __settings(self, context: LaunchContext) -> RunSettings:
        emulate_tty = self.__emulate_tty
        if "emulate_tty" in context.launch_configurations:
            configured = normalize_to_list_of_substitutions(context.launch_configurations["emulate_tty"])
            emulate_tty = evaluate_condition_expression(context, configured)
        return RunSettings(
            shell=self.__shell,
            emulate_tty=emulate_tty,
            log_cmd=self.__log_cmd,
            sigterm_timeout=_seconds(context, self.__sigterm_timeout, "sigterm_timeout"),
            sigkill_timeout=_seconds(context, self.__sigkill_timeout, "sigkill_timeout"),
            respawn=perform_typed_substitution(context, self.__respawn, bool),
            respawn_delay=self.__respawn_delay or 0.0,
            respawn_max_retries=self.__respawn_max_retries,
            required=_ends_launch(self.__on_exit),
        )

    def __writers(self, context: LaunchContext) -> dict[int, LineSplitter]:
        assert self.__description.final_name is not None
        output = self.__output if isinstance(self.__output, Mapping) else perform_substitutions(context, self.__output)
        self.__check_output_format()
        stdout, stderr = get_output_loggers(self.__description.final_name, output)
        return {1: self.__writer(stdout, 1), 2: self.__writer(stderr, 2)}

    def __check_output_format(self) -> None:
        try:
            self.__output_format.format(line="", this=self)
        except (AttributeError, IndexError, KeyError) as exc:
            raise ValueError(f"output_format '{self.__output_format}' has a field that is not known: {exc}") from exc

    def __writer(self, logger: logging.Logger, fd: int) -> LineSplitter:
        def write(line: str) -> None:
            logger.info(self.__output_format.format(line=line, this=self))

        return LineSplitter(write, None if self.__cache is None else self.__cache[fd].append)

    def get_asyncio_future(self) -> asyncio.Future[None] | None:
        """Return the future that is done when the process has ended for good."""
        return None if self.__run is None else self.__run.task

    def get_stdout(self) -> str:
        """Return the standard output so far; RuntimeError unless it is cached."""
        return self.__cached(1, "stdout")

    def get_stderr(self) -> str:
        """Return the standard error so far; RuntimeError unless it is cached."""
        return self.__cached(2, "stderr")

    def __cached(self, fd: int, source: str) -> str:
        if self.__cache is None:
            raise RuntimeError(f"cached_output must be true to get {source} of process '{self.__description.name}'")
        return "".join(self.__cache[fd])


def _seconds(context: LaunchContext, timeout: list[Substitution], name: str) -> float:
    text = perform_substitutions(context, timeout)
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name} must be a number of seconds, but it is '{text}'") from None


def _ends_launch(on_exit: Any) -> bool:
    entities = on_exit if isinstance(on_exit, Iterable) else [on_exit]
    return any(isinstance(entity, EmitEvent) and isinstance(entity.event, ShutdownEvent) for entity in entities)
