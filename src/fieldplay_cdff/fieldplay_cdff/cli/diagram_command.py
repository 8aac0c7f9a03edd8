"""The command `fieldplay cdff diagram`: a description checked and drawn."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from fieldplay.cli.arguments import require_output_file
from fieldplay.cli.terminal import note, print_line
from fieldplay.core.atomic_output import write_atomically
from fieldplay.core.errors import ArchiveError, Defect, UsageError
from fieldplay.core.number_text import count_noun
from fieldplay_cdff.cli.log_commands import open_logs_with_issues, print_issues
from fieldplay_cdff.descriptors.description_checks import check_description
from fieldplay_cdff.descriptors.description_reader import description_of_file
from fieldplay_cdff.descriptors.model import (
    DFN,
    DFPC,
    TYPES_DIFFER,
    Catalogue,
    Description,
    InputFeed,
    ProcessingChain,
    feed_issues,
    known_catalogue,
    with_own,
)
from fieldplay_cdff.tools.diagrams.diagram import draw_picture
from fieldplay_cdff.tools.diagrams.diagram_graph import lines_of_file
from fieldplay_cdff.tools.diagrams.shapes import Drawing, svg_of
from fieldplay_cdff.tools.log_choice import feeds_of_log

DONE, FAULTY = 0, 1
SVG, PNG = ".svg", ".png"
PLAIN_NAME, ENDS = re.compile(r"\w[\w -]*"), (".yaml", ".yml", "_desc.yaml", "_desc.yml")


def diagram(chosen: argparse.Namespace) -> int:
    """Draw the diagram of a description; report its issues and draw them in red."""
    _require_output_path(chosen)
    issues: list[Defect] = []
    description = description_of_file(chosen.archive, issues.append)
    catalogue = _catalogue(chosen, description, issues)
    check_description(chosen.archive.name, description, catalogue, report=issues.append)
    feeds = _feeds(chosen, description)
    for line, message in feed_issues(description, feeds):
        issues.append(Defect(file=chosen.archive.name, row=line, kind=TYPES_DIFFER, message=message))
    for issue in sorted(issues, key=lambda issue: (issue.file, issue.row or 0)):
        note(str(issue))
    chain = _chain(description, chosen.implementation)
    if chosen.strict and issues:
        note(f"--strict: {count_noun(len(issues), 'fault')}; nothing is written")
        return FAULTY
    measured = {} if chosen.stats is None else lines_of_file(chosen.stats)
    image = draw_picture(description, chain, catalogue, feeds, measured)
    write_atomically(chosen.out, svg_of(image).encode() if chosen.out.suffix.lower() == SVG else _png(image))
    steps = f"{count_noun(len(chain.steps), 'DFN')}, {count_noun(len(chain.connections), 'connection')}"
    what = f"DFPC {image.title}, {steps}" if description.kind == DFPC else f"DFN {description.name}"
    print_line(f"{chosen.out}: {what}, {count_noun(len(issues), 'fault') if issues else 'no faults'}")
    return DONE


def _require_output_path(chosen: argparse.Namespace) -> None:
    if chosen.archive.is_dir():
        raise UsageError(f"{chosen.archive}: expected a description, got a folder")
    require_output_file(chosen.archive, chosen.out, (SVG, PNG), overwrite=chosen.overwrite)


def _png(image: Drawing) -> bytes:
    from fieldplay_cdff.tools.diagrams.png import png_of

    return png_of(image)


def _catalogue(chosen: argparse.Namespace, description: Description, issues: list[Defect]) -> Catalogue:
    """The known DFNs, those described next to the description, and those that are named."""
    for file in chosen.dfn:
        if not file.is_file():
            raise UsageError(f"{file}: there is no such file")
    same_folder = list(_same_folder(chosen.archive, description, issues))
    own = [*same_folder, *(description_of_file(file, issues.append) for file in chosen.dfn)]
    return with_own(_with_chains(chosen.archive, description), own)


def _with_chains(file: Path, description: Description) -> Catalogue:
    """The known DFNs, and the DFPCs that are steps of a description."""
    if not any(step.is_dfpc for chain in description.chains for step in chain.steps):
        return known_catalogue()
    from fieldplay_cdff.pipeline.chains import catalogue_with_inner, inner_sources  # with all that runs them

    return catalogue_with_inner(inner_sources(description, file))


def _same_folder(file: Path, description: Description, issues: list[Defect]) -> Iterator[Description]:
    """Yield the descriptions of the chain's DFNs in the chain's folder that are named like their DFN."""
    names = dict.fromkeys(step.dfn for chain in description.chains for step in chain.steps)
    for path in (file.with_name(f"{name}{end}") for name in names if PLAIN_NAME.fullmatch(name) for end in ENDS):
        if not path.is_file() or path.samefile(file):
            continue
        try:
            other = description_of_file(path, issues.append)
        except (ArchiveError, OSError) as error:
            issues.append(Defect(file=path.name, kind="unreadable_dfn", message=f"it cannot be used: {error}"))
            continue
        if other.kind == DFN:
            yield other


def _feeds(chosen: argparse.Namespace, description: Description) -> dict[str, InputFeed]:
    """The streams of the log that are inputs of the chain, if a log is given."""
    if chosen.log is None:
        if chosen.stream:
            raise UsageError("--stream names a stream of a log: --log names that")
        return {}
    with open_logs_with_issues([chosen.log]) as (log, issues):
        print_issues(issues)
        feeds = feeds_of_log(log, description, chosen.stream)
        if not feeds:
            note(f"note: no stream of {chosen.log} is called as an input; --stream PORT=STREAM names one")
    return feeds


def _chain(description: Description, name: str | None) -> ProcessingChain:
    match = next((chain for chain in description.chains if name in (None, chain.name)), None)
    if match is None:
        names = ", ".join(chain.name for chain in description.chains)
        raise UsageError(f"{description.name} has no implementation {name}; it has {names}")
    return match
