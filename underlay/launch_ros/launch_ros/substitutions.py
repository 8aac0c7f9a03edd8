"""Substitutions about packages."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from ament_index_python.packages import get_package_prefix, get_package_share_directory

from launch import LaunchContext, SomeSubstitutionsType, Substitution
from launch._coverage import refusal
from launch.substitutions import SubstitutionFailure
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions

__all__ = ["ExecutableInPackage", "FindPackage", "FindPackagePrefix", "FindPackageShare"]

if not TYPE_CHECKING:
    __getattr__ = refusal(__name__, "Parameter")


class FindPackage(Substitution):
    """The base of the substitutions that find something of a package."""

    def __init__(self, package: SomeSubstitutionsType) -> None:
        """Find it for `package`."""
        self.package = normalize_to_list_of_substitutions(package)

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


class ExecutableInPackage(FindPackagePrefix):
    """Stands for the path of an executable in ``lib/<package>`` of the package's prefix."""

    def __init__(self, executable: SomeSubstitutionsType, package: SomeSubstitutionsType) -> None:
        """Find `executable` of `package`."""
        super().__init__(package)
        self.executable = normalize_to_list_of_substitutions(executable)

    def describe(self) -> str:
        """Describe the substitution."""
        package, executable = (
            " + ".join(part.describe() for part in parts) for parts in (self.package, self.executable)
        )
        return f"ExecInPkg(pkg={package}, exec={executable})"

    def perform(self, context: LaunchContext) -> str:
        """Find the executable; SubstitutionFailure if the package has none of that name."""
        executable = perform_substitutions(context, self.executable)
        package = perform_substitutions(context, self.package)
        prefix = super().perform(context)
        libexec = os.path.join(prefix, "lib", package)
        if not os.path.isdir(libexec):
            raise SubstitutionFailure(
                f"package '{package}' found at '{prefix}', but libexec directory '{libexec}' does not exist: "
                f"executable '{executable}' cannot be found"
            )
        path = shutil.which(executable, path=libexec)
        if path is None:
            raise SubstitutionFailure(
                f"executable '{executable}' of package '{package}' not found on the libexec directory '{libexec}'"
            )
        return path
