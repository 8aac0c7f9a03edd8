"""Running ROS nodes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from launch import LaunchContext, SomeSubstitutionsType
from launch.actions import ExecuteProcess
from launch.logging import get_logger
from launch.utilities import ensure_argument_type, normalize_to_list_of_substitutions, perform_substitutions
from launch.utilities.normalize import as_parts

from ..parameter_descriptions import Parameter, ParameterFile
from ..substitutions import ExecutableInPackage
from ..utilities import add_node_name, get_node_name_count, make_namespace_absolute, prefix_namespace
from ..utilities.namespaces import check_namespace, check_node_name
from ..utilities.parameters import ParameterDict
from ..utilities.parameters_file import parameter_rule, write_parameters_file
from ..utilities.remap_rules import SomeRemapRules, normalize_remap_rules
from .scope import NAMESPACE, PARAMETERS, REMAPPINGS

_Description = ParameterDict | Parameter | ParameterFile


def _description(parameters: Any) -> _Description:
    if isinstance(parameters, Mapping):
        return ParameterDict(parameters)
    return parameters if isinstance(parameters, (Parameter, ParameterFile)) else ParameterFile(parameters)


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
        remappings: SomeRemapRules | None = None,
        ros_arguments: Iterable[SomeSubstitutionsType] | None = None,
        arguments: Iterable[SomeSubstitutionsType] | None = None,
        **kwargs: Any,
    ) -> None:
        """Run `executable` of `package`, or at a path if that is None; other arguments are those of ExecuteProcess.

        `parameters` are paths of files, ParameterFile, Parameter, and dictionaries; what comes later takes precedence.
        A relative `namespace` is within that of the scope; process and log lines are named `exec_name`.
        """
        ensure_argument_type(parameters, (list, type(None)), "parameters", "Node")
        command = executable if package is None else ExecutableInPackage(package=package, executable=executable)
        own, ros = as_parts(arguments, "arguments"), as_parts(ros_arguments, "ros_arguments")
        ros = [] if ros_arguments is None else ["--ros-args", *ros]
        super().__init__(cmd=[command, *own, *ros, "--ros-args"], name=exec_name, **kwargs)
        self.__package = package
        self.__executable = executable
        self.__name = None if name is None else normalize_to_list_of_substitutions(name)
        self.__namespace = None if namespace is None else normalize_to_list_of_substitutions(namespace)
        self.__parameters = [_description(each) for each in parameters or ()]
        self.__remappings = normalize_remap_rules(remappings or ())
        self.__expanded_name = self.UNSPECIFIED_NODE_NAME
        self.__expanded_namespace = self.UNSPECIFIED_NODE_NAMESPACE
        self.__expanded_remappings: list[tuple[str, str]] | None = None
        self.__final_name: str | None = None
        self.__files: list[Path] = []

    @property
    def node_package(self) -> SomeSubstitutionsType | None:
        """The package as it was given."""
        return self.__package

    @property
    def node_executable(self) -> SomeSubstitutionsType:
        """The executable as it was given."""
        return self.__executable

    @property
    def node_name(self) -> str:
        """The full name; what is unspecified is so marked in it. RuntimeError before the execution."""
        if self.__final_name is None:
            raise RuntimeError("cannot access 'node_name' before executing action")
        return self.__final_name

    @property
    def expanded_node_namespace(self) -> str:
        """The absolute namespace; before the execution, and if there is none, the mark for that."""
        return self.__expanded_namespace

    @property
    def expanded_remapping_rules(self) -> list[tuple[str, str]] | None:
        """The remapping rules, with those of the scope; None before the execution, and if there are none."""
        return self.__expanded_remappings

    def is_node_name_fully_specified(self) -> bool:
        """Tell whether both name and namespace are known."""
        marks = (self.UNSPECIFIED_NODE_NAME, self.UNSPECIFIED_NODE_NAMESPACE)
        return not any(mark in self.node_name for mark in marks)

    def execute(self, context: LaunchContext) -> None:
        """Expand the ROS arguments, and begin to run the process."""
        with contextlib.ExitStack() as cleanup:
            cleanup.callback(self.__remove_files)
            if self.__final_name is None:
                self.process_description.cmd.extend(
                    normalize_to_list_of_substitutions(argument) for argument in self.__ros_arguments(context)
                )
            super().execute(context)
            future = self.get_asyncio_future()
            if future is not None:  # a respawned process reads the files again
                cleanup.pop_all()
                future.add_done_callback(lambda _: self.__remove_files())
        if self.is_node_name_fully_specified():
            self.__count(context)

    def __ros_arguments(self, context: LaunchContext) -> Iterator[str]:
        yield from self.__naming(context)
        for shared in context.launch_configurations.get(PARAMETERS, ()):
            if isinstance(shared, tuple):
                yield from ("-p", parameter_rule(*shared))
            else:
                yield from self.__file_arguments(Path(os.path.abspath(shared)))
        for description in self.__parameters:
            yield from self.__parameter_arguments(context, description)
        yield from self.__remapping_arguments(context)

    def __naming(self, context: LaunchContext) -> Iterator[str]:
        if self.__name is not None:
            self.__expanded_name = perform_substitutions(context, self.__name)
            check_node_name(self.__expanded_name)
            yield from ("-r", f"__node:={self.__expanded_name}")
        own = None if self.__namespace is None else perform_substitutions(context, self.__namespace)
        namespace = prefix_namespace(context.launch_configurations.get(NAMESPACE), own)
        if namespace is not None:
            self.__expanded_namespace = make_namespace_absolute(namespace)
            check_namespace(self.__expanded_namespace)
            yield from ("-r", f"__ns:={self.__expanded_namespace}")
        self.__final_name = prefix_namespace(self.__expanded_namespace, self.__expanded_name)

    def __parameter_arguments(self, context: LaunchContext, description: _Description) -> Iterator[str]:
        if isinstance(description, Parameter):
            yield from ("-p", parameter_rule(*description.evaluate(context)))
        elif isinstance(description, ParameterFile):
            yield from self.__file_arguments(description.evaluate(context))
        else:
            target = self.node_name if self.is_node_name_fully_specified() else "/**"
            path = write_parameters_file(target, description.evaluate(context))
            self.__files.append(path)
            yield from ("--params-file", str(path))

    def __file_arguments(self, path: Path) -> Iterator[str]:
        if path.is_file():
            yield from ("--params-file", str(path))
        else:
            get_logger("launch_ros").warning(f"Parameter file path is not a file: {path}")

    def __remapping_arguments(self, context: LaunchContext) -> Iterator[str]:
        own = [
            (perform_substitutions(context, src), perform_substitutions(context, dst)) for src, dst in self.__remappings
        ]
        self.__expanded_remappings = [*context.launch_configurations.get(REMAPPINGS, ()), *own] or None
        for src, dst in self.__expanded_remappings or ():
            yield from ("-r", f"{src}:={dst}")

    def __count(self, context: LaunchContext) -> None:
        add_node_name(context, self.node_name)
        count = get_node_name_count(context, self.node_name)
        if count > 1:
            get_logger(self.name).warning(
                f"there are now at least {count} nodes with the name {self.node_name} created within this launch "
                "context"
            )

    def __remove_files(self) -> None:
        for path in self.__files:
            path.unlink(missing_ok=True)
        self.__files = []
