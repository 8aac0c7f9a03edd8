"""Parameters and parameter files whose values are known only once they are visited."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from launch import LaunchContext, SomeSubstitutionsType, Substitution
from launch.utilities import ensure_argument_type, normalize_to_list_of_substitutions, perform_substitutions
from launch.utilities.type_utils import normalize_typed_substitution, perform_typed_substitution


class ParameterValue:
    """A value of a given type, which may be made of substitutions."""

    def __init__(self, value: Any, *, value_type: Any = None) -> None:
        """Convert `value` to `value_type`: bool, int, float, str, a List of one, or None for YAML's choice."""
        self.__value = normalize_typed_substitution(value, value_type)
        self.__value_type = value_type
        self.__evaluated: Any = None

    @property
    def value(self) -> Any:
        """The value; before its evaluation in normalized form."""
        return self.__value if self.__evaluated is None else self.__evaluated

    @property
    def value_type(self) -> Any:
        """The type that was asked for."""
        return self.__value_type

    def __str__(self) -> str:
        """Describe the value."""
        return f"launch_ros.descriptions.ParameterValue(value={self.value}, value_type={self.value_type})"

    def evaluate(self, context: LaunchContext) -> Any:
        """Perform the substitutions, and convert."""
        self.__evaluated = perform_typed_substitution(context, self.__value, self.__value_type)
        return self.__evaluated


class Parameter:
    """A parameter with its name."""

    def __init__(self, name: SomeSubstitutionsType, value: Any, *, value_type: Any = None) -> None:
        """Name a value, which is as for ParameterValue."""
        self.__name = normalize_to_list_of_substitutions(name)
        self.__value = ParameterValue(value, value_type=value_type)

    @property
    def name(self) -> list[Substitution]:
        """The name."""
        return self.__name

    @property
    def value(self) -> Any:
        """The value; before its evaluation in normalized form."""
        return self.__value.value

    @property
    def value_type(self) -> Any:
        """The type that was asked for."""
        return self.__value.value_type

    def evaluate(self, context: LaunchContext) -> tuple[str, Any]:
        """Return the name and the value."""
        return perform_substitutions(context, self.__name), self.__value.evaluate(context)


class ParameterFile:
    """A file of parameters."""

    def __init__(
        self, param_file: str | bytes | os.PathLike[str] | Substitution | Iterable[Any], *, allow_substs: bool = False
    ) -> None:
        """Take the parameters from `param_file`, as it is: substitutions within files are not covered here."""
        ensure_argument_type(
            param_file, (str, bytes, os.PathLike, Substitution, Iterable), "param_file", "ParameterFile()"
        )
        if allow_substs is not False:
            raise NotImplementedError(
                "ParameterFile(allow_substs=...): this stand-in for launch_ros does not cover substitutions within "
                "parameter files"
            )
        path: Any = os.fsdecode(param_file) if isinstance(param_file, (bytes, os.PathLike)) else param_file
        self.__param_file = normalize_to_list_of_substitutions(path)
        self.__evaluated: Path | None = None

    @property
    def param_file(self) -> Path | list[Substitution]:
        """The path; before its evaluation the substitutions that give it."""
        return self.__param_file if self.__evaluated is None else self.__evaluated

    @property
    def allow_substs(self) -> bool:
        """Whether the file may hold substitutions: never."""
        return False

    def __str__(self) -> str:
        """Describe the file."""
        return f"launch_ros.descriptions.ParameterFile(param_file={self.param_file}, allow_substs=False)"

    def evaluate(self, context: LaunchContext) -> Path:
        """Perform the substitutions of the path."""
        self.__evaluated = Path(perform_substitutions(context, self.__param_file))
        return self.__evaluated

    def cleanup(self) -> None:
        """Do nothing: upstream removes here what it wrote for a file with substitutions."""
