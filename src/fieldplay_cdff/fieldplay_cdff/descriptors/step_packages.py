"""Packages of others that bring processing steps (DFNs) or pipelines (DFPCs), by entry points of `fieldplay.steps`.

An entry point names a package. Importing it registers its steps (`fieldplay_cdff.steps.step.implements`); in its folder

    dfns/*.yaml        describe its DFNs: ports and implementations; one of a published name adds implementations to it
    parameters.yaml    parameters: implementation, group, name, default
    dfpc/*.yaml        are its pipelines
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from fieldplay.core.errors import ArchiveError, Defect, UsageError
from fieldplay.core.process_exit import keep_interrupt_handler
from fieldplay_cdff.descriptors.description_reader import description_of_file
from fieldplay_cdff.descriptors.model import DFN, Catalogue, Description, do_differ, with_own

GROUP = "fieldplay.steps"
IMPORT_ERRORS = (ImportError, SyntaxError, NameError, AttributeError, TypeError, ValueError)


class StepPackage(NamedTuple):
    """A package that brings steps: the name of its entry point, what it names, and its folder."""

    name: str
    module: str
    folder: Path

    def files(self, folder: str) -> list[Path]:
        """The descriptions in one of its folders."""
        return sorted((self.folder / folder).glob("*.yaml"))


@lru_cache(maxsize=1)
def step_packages() -> tuple[StepPackage, ...]:
    """The installed packages that bring steps, without importing them.

    Raises:
        UsageError: an entry point names no package.
    """
    packages = []
    for entry in sorted(entry_points(group=GROUP), key=lambda each: (each.name, each.value)):
        try:
            spec = find_spec(entry.value)
        except ImportError:
            spec = None
        if spec is None or spec.origin is None:
            raise UsageError(f"the steps {entry.name}: expected a package {entry.value}, which their entry point names")
        packages.append(StepPackage(entry.name, entry.value, Path(spec.origin).parent))
    return tuple(dict.fromkeys(packages))


def import_step_packages() -> None:
    """Import the packages, which registers their steps; UsageError names one that cannot be imported."""
    for package in step_packages():
        try:
            with keep_interrupt_handler():
                import_module(package.module)
        except IMPORT_ERRORS as error:
            text = " ".join(str(error).split())
            message = f"the steps {package.name}: {package.module} cannot be imported: {type(error).__name__}: {text}"
            raise UsageError(message) from error


def with_step_packages(catalogue: Catalogue) -> Catalogue:
    """The catalogue with the DFNs that packages describe; UsageError names a description that does not fit."""
    own: dict[str, Description] = {}
    for package in step_packages():
        for file in package.files("dfns"):
            description = _description(file)
            published = catalogue.dfns.get(description.name)
            if published is not None:
                _require_equal(file, description, ((published.inputs, "inputs"), (published.outputs, "outputs")))
            own[description.name] = description
    result = with_own(catalogue, own.values())
    for name in own.keys() & catalogue.dfns.keys():
        published, added = catalogue.dfns[name], result.dfns[name].implementations
        names = tuple(dict.fromkeys((*published.implementations, *added)))
        result = replace(result, dfns={**result.dfns, name: replace(published, implementations=names)})
    return result


def _description(file: Path) -> Description:
    issues: list[Defect] = []
    try:
        description = description_of_file(file, issues.append)
    except (ArchiveError, OSError) as error:
        raise UsageError(f"{file}: it cannot be used: {error}") from None
    if issues:
        raise UsageError(f"{file.parent}: {issues[0]}")
    if description.kind != DFN:
        raise UsageError(f"{file}: {description.name} is a DFPC, which belongs into the folder dfpc")
    return description


def _require_equal(file: Path, description: Description, sides: Sequence[tuple[object, str]]) -> None:
    """A description of a published DFN must have its ports."""
    for published, side in sides:
        assert isinstance(published, dict)
        ports = {port.name: port.shown_type for port in getattr(description, side)}
        unknown = [name for name in ports if name not in published or do_differ(ports[name], published[name])]
        if unknown:
            there = ", ".join(f"{name} {kind}" for name, kind in published.items())
            got = ", ".join(f"{name} {ports[name]}" for name in unknown)
            raise UsageError(f"{file}: {description.name} is published with the {side} {there}; got {got}")
