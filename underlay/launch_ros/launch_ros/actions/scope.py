"""What all nodes of a scope get: namespace, parameters, remapping rules.

It is kept in launch configurations, so it ends with the scope of a GroupAction. Their names are upstream's.
"""

from __future__ import annotations

from typing import Any

from launch import Action, LaunchContext, SomeSubstitutionsType, Substitution
from launch.substitutions import SubstitutionFailure
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions

from ..utilities.namespaces import check_namespace, make_namespace_absolute, prefix_namespace
from ..utilities.parameters import ParameterDict

NAMESPACE = "ros_namespace"
PARAMETERS = "global_params"
REMAPPINGS = "ros_remaps"


def _extend(context: LaunchContext, configuration: str, items: list[Any]) -> None:
    # A new list: the one at hand may belong to the outer scope.
    context.launch_configurations[configuration] = [*context.launch_configurations.get(configuration, ()), *items]


class PushROSNamespace(Action):
    """Adds a namespace to that of the scope; an absolute one replaces it."""

    def __init__(self, namespace: SomeSubstitutionsType, **kwargs: Any) -> None:
        """Add `namespace`."""
        super().__init__(**kwargs)
        self.__namespace = normalize_to_list_of_substitutions(namespace)

    @property
    def namespace(self) -> list[Substitution]:
        """What is added."""
        return self.__namespace

    def execute(self, context: LaunchContext) -> None:
        """Add it."""
        pushed = perform_substitutions(context, self.namespace)
        previous = context.launch_configurations.get(NAMESPACE)
        namespace = make_namespace_absolute(prefix_namespace(previous, pushed) or "")
        try:
            check_namespace(namespace)
        except ValueError as exc:
            raise SubstitutionFailure(
                f"The resulting namespace is invalid: [previous_namespace='{previous}', pushed_namespace='{pushed}']"
            ) from exc
        context.launch_configurations[NAMESPACE] = namespace


class SetParameter(Action):
    """Sets a parameter of all nodes that follow in the scope."""

    def __init__(self, name: SomeSubstitutionsType, value: Any, **kwargs: Any) -> None:
        """Set parameter `name` to `value`, which is as in the dictionaries of a Node."""
        super().__init__(**kwargs)
        self.__name = normalize_to_list_of_substitutions(name)
        self.__value = value
        self.__parameters = ParameterDict({tuple(self.__name): value})

    @property
    def name(self) -> list[Substitution]:
        """The name of the parameter."""
        return self.__name

    @property
    def value(self) -> Any:
        """The value as it was given."""
        return self.__value

    def execute(self, context: LaunchContext) -> None:
        """Evaluate and set it."""
        _extend(context, PARAMETERS, list(self.__parameters.evaluate(context).items()))


class SetParametersFromFile(Action):
    """Sets the parameters of a file for all nodes that follow in the scope."""

    def __init__(self, filename: SomeSubstitutionsType, **kwargs: Any) -> None:
        """Take the parameters from the file at `filename`."""
        super().__init__(**kwargs)
        self.__filename = normalize_to_list_of_substitutions(filename)

    def execute(self, context: LaunchContext) -> None:
        """Note the file."""
        _extend(context, PARAMETERS, [perform_substitutions(context, self.__filename)])


class SetRemap(Action):
    """Sets a remapping rule of all nodes that follow in the scope; it comes before their own."""

    def __init__(self, src: SomeSubstitutionsType, dst: SomeSubstitutionsType, **kwargs: Any) -> None:
        """Remap `src` to `dst`."""
        super().__init__(**kwargs)
        self.__src = normalize_to_list_of_substitutions(src)
        self.__dst = normalize_to_list_of_substitutions(dst)

    @property
    def src(self) -> list[Substitution]:
        """The name that is remapped."""
        return self.__src

    @property
    def dst(self) -> list[Substitution]:
        """The name that takes its place."""
        return self.__dst

    def execute(self, context: LaunchContext) -> None:
        """Note the rule."""
        rule = (perform_substitutions(context, self.src), perform_substitutions(context, self.dst))
        _extend(context, REMAPPINGS, [rule])
