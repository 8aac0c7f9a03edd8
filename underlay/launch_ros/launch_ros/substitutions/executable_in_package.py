"""Where the executables of packages are."""

from __future__ import annotations

import os
import shutil

from launch import LaunchContext, SomeSubstitutionsType, Substitution
from launch.substitutions import SubstitutionFailure
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions

from .find_package import FindPackagePrefix


class ExecutableInPackage(FindPackagePrefix):
    """Stands for the path of an executable in ``lib/<package>`` of the package's prefix."""

    def __init__(self, executable: SomeSubstitutionsType, package: SomeSubstitutionsType) -> None:
        """Find `executable` of `package`."""
        super().__init__(package)
        self.__executable = normalize_to_list_of_substitutions(executable)

    @property
    def executable(self) -> list[Substitution]:
        """The name of the executable."""
        return self.__executable

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
        found = shutil.which(executable, path=libexec)
        if found is None:
            raise SubstitutionFailure(
                f"executable '{executable}' of package '{package}' not found on the libexec directory '{libexec}'"
            )
        return found
