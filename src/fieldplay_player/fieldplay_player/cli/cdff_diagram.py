"""The command `fieldplay cdff diagram`: a description checked and drawn."""

import argparse
from pathlib import Path

from fieldplay_archive.errors import Defect
from fieldplay_player.cdff.description.catalogue import Catalogue, published, with_own
from fieldplay_player.cdff.description.checking import check_description
from fieldplay_player.cdff.description.model import DFPC, Chain, Description
from fieldplay_player.cdff.description.reading import description_of_file
from fieldplay_player.cdff.drawing.painting import picture_of
from fieldplay_player.cdff.drawing.shapes import Picture
from fieldplay_player.cdff.drawing.svg import svg_of
from fieldplay_player.cli.commands import UsageError, print_line, require_place, tell
from fieldplay_player.report.html.ticks import many
from fieldplay_player.whole_files import write_whole

DONE, FAULTY = 0, 1
SVG, PNG = ".svg", ".png"


def diagram(chosen: argparse.Namespace) -> int:
    """A picture of a description; what is wrong with that is told, and drawn in red."""
    suffix = chosen.out.suffix.lower()
    if suffix not in (SVG, PNG):
        raise UsageError(f"{chosen.out}: expected a name that ends in {SVG} or {PNG}")
    require_place(chosen.archive, chosen.out, overwrite=chosen.overwrite)
    if chosen.out.is_dir():
        raise UsageError(f"{chosen.out} is a folder")
    faults: list[Defect] = []
    description = description_of_file(chosen.archive, faults.append)
    catalogue = _catalogue(chosen.dfn, faults)
    check_description(chosen.archive.name, description, catalogue, report=faults.append)
    for fault in sorted(faults, key=lambda fault: (fault.file, fault.row or 0)):
        tell(f"fieldplay: {fault}")
    chain = _chain(description, chosen.implementation)
    if chosen.strict and faults:
        tell(f"fieldplay: --strict: {many(len(faults), 'fault')}; nothing is written")
        return FAULTY
    picture = picture_of(description, chain, catalogue)
    write_whole(chosen.out, svg_of(picture).encode() if suffix == SVG else _png(picture))
    steps = f"{many(len(chain.steps), 'DFN')}, {many(len(chain.connections), 'connection')}"
    what = f"DFPC {picture.title}, {steps}" if description.kind == DFPC else f"DFN {description.name}"
    print_line(f"{chosen.out}: {what}, {many(len(faults), 'fault') if faults else 'no faults'}")
    return DONE


def _png(picture: Picture) -> bytes:
    from fieldplay_player.cdff.drawing.png import png_of  # matplotlib takes its time to load

    return png_of(picture)


def _catalogue(files: list[Path], faults: list[Defect]) -> Catalogue:
    """The published DFNs, and those of further descriptions."""
    for file in files:
        if not file.is_file():
            raise UsageError(f"{file}: there is no such file")
    return with_own(published(), [description_of_file(file, faults.append) for file in files])


def _chain(description: Description, name: str | None) -> Chain:
    found = next((chain for chain in description.chains if name in (None, chain.name)), None)
    if found is None:
        names = ", ".join(chain.name for chain in description.chains)
        raise UsageError(f"{description.name} has no implementation {name}; it has {names}")
    return found
