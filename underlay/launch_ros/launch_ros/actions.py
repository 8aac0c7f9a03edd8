"""Actions about ROS nodes: running them, and what all nodes of a scope get.

The latter is kept in launch configurations, so it ends with the scope of a GroupAction. Their names are upstream's.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from launch import Action, LaunchContext, SomeSubstitutionsType, Substitution
from launch._coverage import refusal
from launch.actions import ExecuteProcess
from launch.logging import get_logger
from launch.substitutions import SubstitutionFailure
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions

from .parameter_descriptions import evaluate_parameters, parameter_rule, write_parameters_file
from .substitutions import ExecutableInPackage

__all__ = ["Node", "PushROSNamespace", "PushRosNamespace", "SetParameter"]

if not TYPE_CHECKING:
    __getattr__ = refusal(
        __name__,
        "ComposableNodeContainer LifecycleNode LifecycleTransition LoadComposableNodes ROSTimer RosTimer "
        "SetParametersFromFile SetROSLogDir SetRemap SetUseSimTime",
    )

_SCOPE_NAMESPACE = "ros_namespace"
_SCOPE_PARAMETERS = "global_params"

_TOKEN = "[A-Za-z_][A-Za-z0-9_]*"
_NAME = re.compile(_TOKEN)
_NAMESPACE = re.compile(f"/|(/{_TOKEN})+")


def _prefixed(base_ns: str | None, ns: str | None) -> str | None:
    """Resolve `ns` against `base_ns`: an absolute `ns` stands for itself, None adds nothing."""
    if ns is None:
        combined = base_ns
    elif not base_ns or ns.startswith("/"):
        combined = ns
    else:
        combined = f"{base_ns.rstrip('/')}/{ns}"
    return combined if combined is None or combined == "/" else combined.rstrip("/")


def _absolute(ns: str) -> str:
    return ns if ns.startswith("/") else f"/{ns}"


def _check(what: str, text: str, pattern: re.Pattern[str]) -> None:
    """Raise ValueError unless ROS accepts a text as the name, or as the absolute namespace, of a node."""
    if not pattern.fullmatch(text):
        raise ValueError(
            f"invalid {what} '{text}': a name must consist of letters, digits and '_', and not begin with a digit"
        )


class PushROSNamespace(Action):
    """Adds a namespace to that of the scope; an absolute one replaces it."""

    def __init__(self, namespace: SomeSubstitutionsType, **kwargs: Any) -> None:
        """Add `namespace`."""
        super().__init__(**kwargs)
        self.namespace = normalize_to_list_of_substitutions(namespace)

    def execute(self, context: LaunchContext) -> None:
        """Add it."""
        pushed = perform_substitutions(context, self.namespace)
        previous = context.launch_configurations.get(_SCOPE_NAMESPACE)
        namespace = _absolute(_prefixed(previous, pushed) or "")
        try:
            _check("namespace", namespace, _NAMESPACE)
        except ValueError as exc:
            raise SubstitutionFailure(
                f"The resulting namespace is invalid: [previous_namespace='{previous}', pushed_namespace='{pushed}']"
            ) from exc
        context.launch_configurations[_SCOPE_NAMESPACE] = namespace


PushRosNamespace = PushROSNamespace


class SetParameter(Action):
    """Sets a parameter of all nodes that follow in the scope."""

    def __init__(self, name: SomeSubstitutionsType, value: Any, **kwargs: Any) -> None:
        """Set parameter `name` to `value`, which is as in the dictionaries of a Node."""
        super().__init__(**kwargs)
        self.name = normalize_to_list_of_substitutions(name)
        self.value = value

    def execute(self, context: LaunchContext) -> None:
        """Evaluate and set it."""
        parameters = evaluate_parameters(context, {tuple(self.name): self.value})
        # A new list: the one at hand may belong to the outer scope.
        outer = context.launch_configurations.get(_SCOPE_PARAMETERS, ())
        context.launch_configurations[_SCOPE_PARAMETERS] = [*outer, *parameters.items()]


class Node(ExecuteProcess):
    """Runs an executable as a ROS node, with its ROS arguments."""

    UNSPECIFIED_NODE_NAME = "<node_name_unspecified>"
    UNSPECIFIED_NODE_NAMESPACE = "<node_namespace_unspecified>"

    def __init__(
        self,
        *,
        executable: SomeSubstitutionsType,
        package: SomeSubstitutionsType | None = None,
        name: SomeSubstitutionsType | None = None,
        namespace: SomeSubstitutionsType | None = None,
        exec_name: SomeSubstitutionsType | None = None,
        parameters: list[Any] | None = None,
        remappings: Iterable[tuple[SomeSubstitutionsType, SomeSubstitutionsType]] | None = None,
        ros_arguments: Iterable[SomeSubstitutionsType] | None = None,
        arguments: Iterable[SomeSubstitutionsType] | None = None,
        **kwargs: Any,
    ) -> None:
        """Run `executable` of `package`, or at a path if that is None; other arguments are those of ExecuteProcess.

        `parameters` are paths of files and dictionaries; what comes later takes precedence.
        A relative `namespace` is within that of the scope; process and log lines are named `exec_name`.
        """
        if isinstance(parameters, (str, Mapping)):
            raise TypeError(f"expected 'parameters' to be a list of files and dictionaries, but got {parameters!r}")
        command = executable if package is None else ExecutableInPackage(package=package, executable=executable)
        for name_of, parts in (("arguments", arguments), ("ros_arguments", ros_arguments)):
            if isinstance(parts, str):
                raise TypeError(f"expected '{name_of}' to be a list of arguments, but got the single text '{parts}'")
        ros = [] if ros_arguments is None else ["--ros-args", *ros_arguments]
        super().__init__(cmd=[command, *(arguments or ()), *ros, "--ros-args"], name=exec_name, **kwargs)
        self.__name = None if name is None else normalize_to_list_of_substitutions(name)
        self.__namespace = None if namespace is None else normalize_to_list_of_substitutions(namespace)
        self.__parameters = list(parameters or ())
        self.__remappings = [_normalized_rule(rule) for rule in remappings or ()]
        self.__expanded_name = self.UNSPECIFIED_NODE_NAME
        self.expanded_node_namespace = self.UNSPECIFIED_NODE_NAMESPACE
        self.expanded_remapping_rules: list[tuple[str, str]] | None = None
        self.__final_name: str | None = None
        self.__files: list[Path] = []

    @property
    def node_name(self) -> str:
        """The full name; what is unspecified is so marked in it. RuntimeError before the execution."""
        if self.__final_name is None:
            raise RuntimeError("cannot access 'node_name' before executing action")
        return self.__final_name

    def is_node_name_fully_specified(self) -> bool:
        """Report whether both name and namespace are known."""
        marks = (self.UNSPECIFIED_NODE_NAME, self.UNSPECIFIED_NODE_NAMESPACE)
        return not any(mark in self.node_name for mark in marks)

    def execute(self, context: LaunchContext) -> None:
        """Expand the ROS arguments, and begin to run the process."""
        with contextlib.ExitStack() as cleanup:
            cleanup.callback(self.__remove_files)
            if self.__final_name is None:
                self.cmd.extend(
                    normalize_to_list_of_substitutions(argument) for argument in self.__ros_arguments(context)
                )
            super().execute(context)
            future = self.get_asyncio_future()
            if future is not None:  # a respawned process reads the files again
                cleanup.pop_all()
                future.add_done_callback(lambda _: self.__remove_files())

    def __ros_arguments(self, context: LaunchContext) -> Iterator[str]:
        yield from self.__naming(context)
        for name, value in context.launch_configurations.get(_SCOPE_PARAMETERS, ()):
            yield from ("-p", parameter_rule(name, value))
        for description in self.__parameters:
            yield from self.__parameter_arguments(context, description)
        yield from self.__remapping_arguments(context)

    def __naming(self, context: LaunchContext) -> Iterator[str]:
        if self.__name is not None:
            self.__expanded_name = perform_substitutions(context, self.__name)
            _check("node name", self.__expanded_name, _NAME)
            yield from ("-r", f"__node:={self.__expanded_name}")
        own = None if self.__namespace is None else perform_substitutions(context, self.__namespace)
        namespace = _prefixed(context.launch_configurations.get(_SCOPE_NAMESPACE), own)
        if namespace is not None:
            self.expanded_node_namespace = _absolute(namespace)
            _check("namespace", self.expanded_node_namespace, _NAMESPACE)
            yield from ("-r", f"__ns:={self.expanded_node_namespace}")
        self.__final_name = _prefixed(self.expanded_node_namespace, self.__expanded_name)

    def __parameter_arguments(self, context: LaunchContext, described: Any) -> Iterator[str]:
        if isinstance(described, Mapping):
            target = self.node_name if self.is_node_name_fully_specified() else "/**"
            path = write_parameters_file(target, evaluate_parameters(context, described))
            self.__files.append(path)
        else:
            parts = os.fsdecode(described) if isinstance(described, os.PathLike) else described
            path = Path(perform_substitutions(context, normalize_to_list_of_substitutions(parts)))
        if path.is_file():
            yield from ("--params-file", str(path))
        else:
            get_logger("launch_ros").warning(f"Parameter file path is not a file: {path}")

    def __remapping_arguments(self, context: LaunchContext) -> Iterator[str]:
        own = [
            (perform_substitutions(context, src), perform_substitutions(context, dst)) for src, dst in self.__remappings
        ]
        self.expanded_remapping_rules = own or None
        for src, dst in self.expanded_remapping_rules or ():
            yield from ("-r", f"{src}:={dst}")

    def __remove_files(self) -> None:
        for path in self.__files:
            path.unlink(missing_ok=True)
        self.__files = []


def _normalized_rule(rule: Any) -> tuple[list[Substitution], list[Substitution]]:
    if not isinstance(rule, (tuple, list)) or len(rule) != 2:
        raise TypeError(f"a remapping rule must be a tuple of two, from and to, but got {rule!r}")
    return normalize_to_list_of_substitutions(rule[0]), normalize_to_list_of_substitutions(rule[1])
