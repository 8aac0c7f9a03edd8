"""Where packages are installed."""

from __future__ import annotations

from ament_index_python.packages import get_package_prefix, get_package_share_directory

from launch import LaunchContext, SomeSubstitutionsType, Substitution
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions


class FindPackage(Substitution):
    """The base of the substitutions that find something of a package."""

    def __init__(self, package: SomeSubstitutionsType) -> None:
        """Find it for `package`."""
        self.__package = normalize_to_list_of_substitutions(package)

    @property
    def package(self) -> list[Substitution]:
        """The name of the package."""
        return self.__package

    def find(self, package_name: str) -> str:
        """Return what is to be found; PackageNotFoundError if there is no such package."""
        raise NotImplementedError(f"{type(self).__name__} does not override FindPackage.find()")

    def describe(self) -> str:
        """Describe the substitution."""
        return f"{type(self).__name__}(pkg={' + '.join(part.describe() for part in self.package)})"

    def perform(self, context: LaunchContext) -> str:
        """Find it."""
        return self.find(perform_substitutions(context, self.package))


class FindPackagePrefix(FindPackage):
    """Stands for the prefix in which a package is installed."""

    def find(self, package_name: str) -> str:
        """Look the package up in the ament index."""
        return str(get_package_prefix(package_name))


class FindPackageShare(FindPackage):
    """Stands for the share directory of a package."""

    def find(self, package_name: str) -> str:
        """Look the package up in the ament index."""
        return str(get_package_share_directory(package_name))
