"""The commands `fieldplay cdff new-dfn` and `new-dfpc`: a Python package from a description."""

import argparse
from pathlib import Path

from fieldplay.cli.arguments import require_output
from fieldplay.cli.terminal import note, print_line
from fieldplay.core.atomic_output import atomic_output
from fieldplay.core.errors import Defect, UsageError
from fieldplay.core.number_text import count_noun
from fieldplay_cdff.descriptors.description_reader import description_of_file
from fieldplay_cdff.descriptors.model import Description
from fieldplay_cdff.tools.scaffold import Scaffold, dfn_scaffold, dfpc_scaffold

DONE, FAULTY = 0, 1


def new_dfn(chosen: argparse.Namespace) -> int:
    """Write a package for a DFN."""
    return _write(chosen, dfn_scaffold(_description(chosen.archive), chosen.package))


def new_dfpc(chosen: argparse.Namespace) -> int:
    """Write a package for a DFPC, with a DFN for each step that is not known."""
    description = _description(chosen.archive)
    known = [_description(file) for file in chosen.dfn]
    text = chosen.archive.read_text(encoding="utf-8-sig")
    return _write(chosen, dfpc_scaffold(description, text, known, chosen.package))


def _description(file: Path) -> Description:
    """A description without issues."""
    if not file.is_file():
        raise UsageError(f"{file}: there is no such file")
    issues: list[Defect] = []
    description = description_of_file(file, issues.append)
    if issues:
        raise UsageError("\n".join(str(issue) for issue in issues))
    return description


def _write(chosen: argparse.Namespace, scaffold: Scaffold) -> int:
    require_output(chosen.archive, chosen.out, overwrite=chosen.overwrite)
    with atomic_output(chosen.out, is_folder=True) as folder:
        for name, text in scaffold.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for line in scaffold.notes:
        note(line)
    print_line(f"{chosen.out}: {count_noun(len(scaffold.files), 'file')}")
    for name in scaffold.files:
        print_line(f"  {name}")
    print_line(f"pip install --no-deps -e {chosen.out} && python3 -m pytest {chosen.out}/test")
    return DONE
