"""Actions: what a launch description can do."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._coverage import refusal
from ._entities import (
    Action,
    BaseEventHandler,
    Event,
    LaunchDescriptionEntity,
    SomeEntitiesType,
    SomeSubstitutionsType,
    Substitution,
)
from ._process import LineSplitter, ProcessRun, RunSettings
from .conditions import evaluate_condition_expression
from .event_handlers import OnProcessExit, OnShutdown
from .events import Shutdown as ShutdownEvent
from .events import TimerEvent
from .events.process import ProcessExited
from .launch_context import LaunchContext
from .launch_description_sources import AnyLaunchDescriptionSource, LaunchDescriptionSource
from .logging import get_logger, get_output_loggers
from .substitutions import LaunchConfiguration
from .utilities import normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    pass
else:
    __getattr__ = refusal(
        __name__,
        "AppendEnvironmentVariable ExecuteLocal OpaqueCoroutine PopEnvironment PopLaunchConfigurations "
        "PushEnvironment PushLaunchConfigurations ResetEnvironment ResetLaunchConfigurations UnregisterEventHandler "
        "UnsetEnvironmentVariable UnsetLaunchConfiguration",
    )

__all__ = [
    "DeclareLaunchArgument",
    "EmitEvent",
    "ExecuteProcess",
    "GroupAction",
    "IncludeLaunchDescription",
    "LogInfo",
    "OpaqueFunction",
    "RegisterEventHandler",
    "SetEnvironmentVariable",
    "SetLaunchConfiguration",
    "Shutdown",
    "TimerAction",
]

# Numbers the processes of one Python process, which makes their names unique. next() on it is atomic.
_numbers = itertools.count(1)


class LogInfo(Action):
    """Logs a message of level INFO."""

    def __init__(self, *, msg: SomeSubstitutionsType, **kwargs: Any) -> None:
        """Log `msg`."""
        super().__init__(**kwargs)
        self.msg = normalize_to_list_of_substitutions(msg)

    def execute(self, context: LaunchContext) -> None:
        """Log it."""
        get_logger("launch.user").info(perform_substitutions(context, self.msg))


class OpaqueFunction(Action):
    """Calls a function with the context, and yields the entities that it returns."""

    def __init__(
        self,
        *,
        function: Callable[..., Any],
        args: Iterable[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        **left_over_kwargs: Any,
    ) -> None:
        """Call ``function(context, *args, **kwargs)``, which returns a list of entities or None."""
        super().__init__(**left_over_kwargs)
        if not callable(function):
            raise TypeError(f"OpaqueFunction expected a callable for 'function', got '{type(function)}'")
        self.__function = function
        self.__args = tuple(args or ())
        self.__kwargs = dict(kwargs or {})

    def execute(self, context: LaunchContext) -> Sequence[LaunchDescriptionEntity] | None:
        """Call the function."""
        entities: Sequence[LaunchDescriptionEntity] | None = self.__function(context, *self.__args, **self.__kwargs)
        return entities


class SetEnvironmentVariable(Action):
    """Sets an environment variable in the current scope."""

    def __init__(self, name: SomeSubstitutionsType, value: SomeSubstitutionsType, **kwargs: Any) -> None:
        """Set variable `name` to `value`."""
        super().__init__(**kwargs)
        self.name = normalize_to_list_of_substitutions(name)
        self.value = normalize_to_list_of_substitutions(value)

    def execute(self, context: LaunchContext) -> None:
        """Set it."""
        context.environment[perform_substitutions(context, self.name)] = perform_substitutions(context, self.value)


class SetLaunchConfiguration(Action):
    """Sets a launch configuration in the current scope."""

    def __init__(self, name: SomeSubstitutionsType, value: SomeSubstitutionsType, **kwargs: Any) -> None:
        """Set configuration `name` to `value`."""
        super().__init__(**kwargs)
        self.name = normalize_to_list_of_substitutions(name)
        self.value = normalize_to_list_of_substitutions(value)

    def execute(self, context: LaunchContext) -> None:
        """Set it."""
        name = perform_substitutions(context, self.name)
        context.launch_configurations[name] = perform_substitutions(context, self.value)


class DeclareLaunchArgument(Action):
    """Makes sure that a launch configuration is set: from outside, or from a default."""

    def __init__(
        self,
        name: str,
        *,
        default_value: SomeSubstitutionsType | None = None,
        description: str | None = None,
        choices: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """Declare argument `name`: required if there is no `default_value`, one of `choices` if those are given."""
        super().__init__(**kwargs)
        if choices is not None and not choices:
            raise RuntimeError(f'Launch argument "{name}" has an empty list of choices: use None to allow any value.')
        if choices is not None and isinstance(default_value, str) and default_value not in choices:
            raise RuntimeError(f'Provided default_value "{default_value}" is not in provided choices "{choices}".')
        self.name = name
        self.default_value = None if default_value is None else normalize_to_list_of_substitutions(default_value)
        self.choices = choices
        if choices is None:
            self.description = "no description given" if description is None else description
        elif description is None:
            self.description = f"One of: {choices}"
        else:
            self.description = f"{description.rstrip('.')}. Valid choices are: {choices}"
        # Set when a launch description is searched for its arguments: whether a condition is in between.
        self._conditionally_included = False

    def execute(self, context: LaunchContext) -> None:
        """Set the default if nothing is set, and check the value."""
        configurations = context.launch_configurations
        if self.name not in configurations:
            if self.default_value is None:
                get_logger("launch").error(
                    f'Required launch argument "{self.name}" (description: "{self.description}") was not provided'
                )
                raise RuntimeError(f'Required launch argument "{self.name}" was not provided.')
            configurations[self.name] = perform_substitutions(context, self.default_value)
        value = configurations[self.name]
        if self.choices is not None and value not in self.choices:
            raise RuntimeError(
                f'Argument "{self.name}" provided value "{value}" is not valid. Valid options are: {self.choices}'
            )


class _BeginScope(Action):
    def execute(self, context: LaunchContext) -> None:
        context._push_scope()


class _EndScope(Action):
    def execute(self, context: LaunchContext) -> None:
        context._pop_scope()


class GroupAction(Action):
    """Yields actions, in a scope of their own unless `scoped` is False.

    What actions in a scope do to launch configurations and to the environment ends with the group.
    """

    def __init__(
        self,
        actions: Iterable[LaunchDescriptionEntity],
        *,
        scoped: bool = True,
        launch_configurations: Mapping[Any, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Yield `actions` with `launch_configurations` set."""
        super().__init__(**kwargs)
        values = dict(launch_configurations or {})
        inner = [*(SetLaunchConfiguration(name, value) for name, value in values.items()), *actions]
        self.__entities: list[LaunchDescriptionEntity] = [_BeginScope(), *inner, _EndScope()] if scoped else inner

    def get_sub_entities(self) -> list[LaunchDescriptionEntity]:
        """List the actions together with those that begin and end the scope."""
        return self.__entities

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        """Return the sub-entities."""
        return self.__entities


class IncludeLaunchDescription(Action):
    """Yields the launch description of a source, after setting its arguments.

    Arguments that the description does not declare are set all the same, as launch configurations. All of them stay
    set after the inclusion; a GroupAction around it gives them a scope.
    """

    def __init__(
        self,
        launch_description_source: LaunchDescriptionSource | SomeSubstitutionsType,
        *,
        launch_arguments: Iterable[tuple[SomeSubstitutionsType, SomeSubstitutionsType]] | None = None,
        **kwargs: Any,
    ) -> None:
        """Include a source, or the launch file at a path, with pairs of names and values as `launch_arguments`."""
        super().__init__(**kwargs)
        if not isinstance(launch_description_source, LaunchDescriptionSource):
            launch_description_source = AnyLaunchDescriptionSource(launch_description_source)
        if isinstance(launch_arguments, Mapping):
            raise TypeError("expected 'launch_arguments' to be pairs of names and values: use .items() of a dictionary")
        self.launch_description_source = launch_description_source
        self.launch_arguments = tuple((name, value) for name, value in launch_arguments or ())

    def get_sub_entities(self) -> list[LaunchDescriptionEntity]:
        """Return the launch description, if it can be had before the launch."""
        description = self.launch_description_source.try_get_launch_description_without_context()
        return [] if description is None else [description]

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        """Load the launch description, and return it after the actions that set its arguments."""
        source = self.launch_description_source
        description = source.get_launch_description(context)
        path = os.path.abspath(source.location)
        # A description from a script has no file: its location is passed along as it is.
        directory = os.path.dirname(path) if os.path.exists(path) else source.location
        context.extend_locals({"current_launch_file_path": path, "current_launch_file_directory": directory})
        return [*(SetLaunchConfiguration(name, value) for name, value in self.launch_arguments), description]


class EmitEvent(Action):
    """Emits an event."""

    def __init__(self, *, event: Event, **kwargs: Any) -> None:
        """Emit `event`."""
        super().__init__(**kwargs)
        if not isinstance(event, Event):
            raise RuntimeError(f"EmitEvent takes an event, but it got {event!r}")
        self.event = event

    def execute(self, context: LaunchContext) -> None:
        """Emit it; shutting down because a process has failed makes the launch fail."""
        cause = context.get_locals_as_dict().get("event")
        ends_launch = isinstance(self.event, ShutdownEvent) and not context.is_shutdown
        if ends_launch and isinstance(cause, ProcessExited) and cause.returncode != 0:
            context._required_process_failed = True
        context.emit_event_sync(self.event)


class Shutdown(EmitEvent):
    """Shuts the launched system down."""

    def __init__(self, *, reason: str = "reason not given", **kwargs: Any) -> None:
        """Shut down for `reason`."""
        super().__init__(event=ShutdownEvent(reason=reason), **kwargs)

    def execute(self, context: LaunchContext) -> None:
        """Emit the event, and log it if the end of a process is the cause."""
        cause = context.get_locals_as_dict().get("event")
        if isinstance(cause, ProcessExited):
            get_logger("launch").info(f"process[{cause.process_name}] was required: shutting down launched system")
        super().execute(context)


class RegisterEventHandler(Action):
    """Registers an event handler."""

    def __init__(self, event_handler: BaseEventHandler, **kwargs: Any) -> None:
        """Register `event_handler`."""
        super().__init__(**kwargs)
        self.event_handler = event_handler

    def execute(self, context: LaunchContext) -> None:
        """Register it."""
        context.register_event_handler(self.event_handler)

    def describe_conditional_sub_entities(self) -> list[tuple[str, Iterable[LaunchDescriptionEntity]]]:
        """List the entities that the handler may yield."""
        text, entities = self.event_handler.describe()
        return [(text, entities)] if entities else []


class TimerAction(Action):
    """Yields entities once a period of time is over, unless a shutdown or cancel() comes before."""

    def __init__(
        self, *, period: float | SomeSubstitutionsType, actions: Iterable[LaunchDescriptionEntity], **kwargs: Any
    ) -> None:
        """Yield `actions` after `period` seconds."""
        super().__init__(**kwargs)
        self.period = normalize_to_list_of_substitutions(str(period) if isinstance(period, (int, float)) else period)
        self.actions = list(actions)
        self.__waiting: asyncio.Task[None] | None = None

    def describe_conditional_sub_entities(self) -> list[tuple[str, Iterable[LaunchDescriptionEntity]]]:
        """List what the timer yields if it is not cancelled."""
        return [("the period passes without being canceled", self.actions)]

    def cancel(self) -> None:
        """Cancel the timer; without effect once it has fired. Not to be called from another thread."""
        if self.__waiting is not None:
            self.__waiting.cancel()

    def execute(self, context: LaunchContext) -> None:
        """Begin to wait."""
        context.register_event_handler(_OnTimer(self, context.get_locals_as_dict()))
        context.register_event_handler(OnShutdown(on_shutdown=lambda event, context: self.cancel()))
        seconds = _seconds(context, self.period, "period")
        self.__waiting = context._running_loop().create_task(self.__wait(context, seconds))

    async def __wait(self, context: LaunchContext, seconds: float) -> None:
        await asyncio.sleep(seconds)
        context.emit_event_sync(TimerEvent(timer_action=self))

    def get_asyncio_future(self) -> asyncio.Future[None] | None:
        """Return the future that is done when the timer has fired or was cancelled."""
        return self.__waiting


class _OnTimer(BaseEventHandler):
    def __init__(self, timer: TimerAction, values: dict[str, Any]) -> None:
        super().__init__(matcher=lambda event: isinstance(event, TimerEvent) and event.timer_action is timer)
        self.__timer, self.__values = timer, values

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        context.unregister_event_handler(self)
        context.extend_locals(self.__values)
        return self.__timer.actions


class ExecuteProcess(Action):
    """Runs a command line, logs its output, and reports its life by events.

    The process ends with the launch: by SIGINT, then SIGTERM, then SIGKILL.
    """

    def __init__(
        self,
        *,
        cmd: Iterable[SomeSubstitutionsType],
        prefix: SomeSubstitutionsType | None = None,
        name: SomeSubstitutionsType | None = None,
        cwd: SomeSubstitutionsType | None = None,
        env: Mapping[Any, Any] | None = None,
        additional_env: Mapping[Any, Any] | None = None,
        shell: bool = False,
        sigterm_timeout: SomeSubstitutionsType | None = None,
        sigkill_timeout: SomeSubstitutionsType | None = None,
        emulate_tty: bool = False,
        output: SomeSubstitutionsType = "log",
        on_exit: SomeEntitiesType | Callable[..., SomeEntitiesType | None] | None = None,
        respawn: bool | SomeSubstitutionsType = False,
        respawn_delay: float | None = None,
        respawn_max_retries: int = -1,
        **kwargs: Any,
    ) -> None:
        """Run `cmd`, after `prefix` (launch configuration ``launch-prefix`` if it is None).

        The environment is `env`, that of the launch if it is None, plus `additional_env`. `output` is screen,
        log or both; variable OVERRIDE_LAUNCH_PROCESS_OUTPUT overrides it. The timeouts, in
        seconds, are launch configurations ``sigterm_timeout`` and ``sigkill_timeout`` if None, else 5. `respawn`
        starts the process again whenever it ends, at most `respawn_max_retries` times unless negative.
        """
        super().__init__(**kwargs)
        if isinstance(cmd, str):
            raise TypeError(f"expected 'cmd' to be a list of arguments, but got the single text '{cmd}'")
        self.__cmd = [normalize_to_list_of_substitutions(part) for part in cmd]
        self.__prefix = None if prefix is None else normalize_to_list_of_substitutions(prefix)
        self.__name = None if name is None else normalize_to_list_of_substitutions(name)
        self.__cwd = None if cwd is None else normalize_to_list_of_substitutions(cwd)
        self.__env = None if env is None else _variables(env)
        self.__additional_env = _variables(additional_env or {})
        self.shell = shell
        self.emulate_tty = emulate_tty
        timeouts = {"sigterm_timeout": sigterm_timeout, "sigkill_timeout": sigkill_timeout}
        self.__timeouts = {
            name: normalize_to_list_of_substitutions(LaunchConfiguration(name, default=5) if value is None else value)
            for name, value in timeouts.items()
        }
        if isinstance(output, Mapping):
            raise TypeError("expected 'output' to be screen, log or both: this stand-in for launch takes no dictionary")
        chosen = os.environ.get("OVERRIDE_LAUNCH_PROCESS_OUTPUT") or output
        self.output = normalize_to_list_of_substitutions(chosen)
        self.__on_exit = on_exit
        self.__respawn = _truth_substitutions(respawn)
        self.__respawn_delay, self.__respawn_max_retries = respawn_delay or 0.0, respawn_max_retries
        self.__details: dict[str, Any] | None = None
        self.__executed = False
        self.__run: ProcessRun | None = None

    def __detail(self, key: str, given: Any) -> Any:
        return given if self.__details is None else self.__details[key]

    @property
    def name(self) -> Any:
        """The unique name of the process, before the execution the substitutions that were given."""
        return self.__detail("name", self.__name)

    @property
    def cmd(self) -> Any:
        """The command line, before the execution a list of substitutions, which subclasses may extend."""
        return self.__detail("cmd", self.__cmd)

    @property
    def cwd(self) -> Any:
        """The working directory, before the execution the substitutions that were given."""
        return self.__detail("cwd", self.__cwd)

    @property
    def env(self) -> Any:
        """The environment, before the execution the substitutions that were given."""
        return self.__detail("env", self.__env)

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

    def execute(self, context: LaunchContext) -> None:
        """Begin to run the process, unless the launch is shutting down already."""
        if self.__executed:
            raise RuntimeError(f"ExecuteProcess action '{self.name}': executed more than once: {self.describe()}")
        self.__details = self.__performed_details(context)
        self.__executed = True
        if context.is_shutdown:
            return
        settings, writers = self.__settings(context), self.__writers(context)
        if self.__on_exit is not None:
            context.register_event_handler(OnProcessExit(target_action=self, on_exit=self.__on_exit))
        self.__run = ProcessRun(self, context, settings, writers)

    def __performed_details(self, context: LaunchContext) -> dict[str, Any]:
        cmd = [perform_substitutions(context, part) for part in self.__cmd]
        name = os.path.basename(cmd[0]) if self.__name is None else perform_substitutions(context, self.__name)
        if self.__prefix is not None:
            cmd = shlex.split(perform_substitutions(context, self.__prefix)) + cmd
        else:
            cmd = shlex.split(context.launch_configurations.get("launch-prefix", "")) + cmd
        environment = dict(context.environment) if self.__env is None else {}
        for variable, value in (*(self.__env or ()), *self.__additional_env):
            environment[perform_substitutions(context, variable)] = perform_substitutions(context, value)
        return {
            "action": self,
            "name": f"{name}-{next(_numbers)}",
            "cmd": cmd,
            "cwd": None if self.__cwd is None else perform_substitutions(context, self.__cwd),
            "env": environment,
        }

    def __settings(self, context: LaunchContext) -> RunSettings:
        emulate_tty = self.emulate_tty
        if "emulate_tty" in context.launch_configurations:
            configured = normalize_to_list_of_substitutions(context.launch_configurations["emulate_tty"])
            emulate_tty = evaluate_condition_expression(context, configured)
        on_exit = self.__on_exit if isinstance(self.__on_exit, Iterable) else [self.__on_exit]
        return RunSettings(
            shell=self.shell,
            emulate_tty=emulate_tty,
            respawn=evaluate_condition_expression(context, self.__respawn),
            respawn_delay=self.__respawn_delay,
            respawn_max_retries=self.__respawn_max_retries,
            required=any(isinstance(each, EmitEvent) and isinstance(each.event, ShutdownEvent) for each in on_exit),
            **{name: _seconds(context, timeout, name) for name, timeout in self.__timeouts.items()},
        )

    def __writers(self, context: LaunchContext) -> dict[int, LineSplitter]:

        def writer(logger: logging.Logger) -> LineSplitter:
            return LineSplitter(lambda line: logger.info(f"[{self.name}] {line}"))

        stdout, stderr = get_output_loggers(self.name, perform_substitutions(context, self.output))
        return {1: writer(stdout), 2: writer(stderr)}

    def get_asyncio_future(self) -> asyncio.Future[None] | None:
        """Return the future that is done when the process has ended for good."""
        return None if self.__run is None else self.__run.task


def _variables(env: Mapping[Any, Any]) -> list[tuple[list[Substitution], list[Substitution]]]:
    normalize = normalize_to_list_of_substitutions
    return [(normalize(name), normalize(value)) for name, value in env.items()]


def _truth_substitutions(value: bool | SomeSubstitutionsType) -> list[Substitution]:
    return normalize_to_list_of_substitutions(str(value) if isinstance(value, bool) else value)


def _seconds(context: LaunchContext, timeout: list[Substitution], name: str) -> float:
    text = perform_substitutions(context, timeout)
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name} must be a number of seconds, but it is '{text}'") from None
