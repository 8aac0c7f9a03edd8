"""Where the lander's origin lies in the arm's frame, as an archive may tell it itself."""

import re
from dataclasses import replace

import numpy as np

from fieldplay_archive.archive import Archive
from fieldplay_archive.files.containers import Files
from fieldplay_messages.errors import ArchiveError, Defect

PARENT, CHILD = "payload", "lander"
M_PER_MM = 1e-3
AXES = 3
SAME_M = 5e-7


def describe_lander(archive: Archive, files: Files) -> None:
    """Take the lander's origin from the archive's own file, where there is one that can be read."""
    found = files.matching(archive.spec.rows["places"].files)
    for name in found:
        try:
            place = _place_from_csv(files.read(name))
        except ArchiveError as error:
            archive.defects(Defect(file=name, kind="unreadable_table", message=str(error)))
            continue
        _set_place(archive, name, place)


def _place_from_csv(data: bytes) -> tuple[float, float, float]:
    """The first row of three numbers, in m."""
    for line in data.decode("latin-1").splitlines():
        cells = [cell for cell in re.split(r"[,;\t]", line.strip().strip('"')) if cell.strip()]
        try:
            x, y, z = (float(cell.strip().strip('"')) * M_PER_MM for cell in cells[-AXES:])
        except ValueError:
            continue
        if np.isfinite([x, y, z]).all():
            return x, y, z
    raise ArchiveError("expected a row of three numbers, x, y, z in mm, got none")


def _set_place(archive: Archive, name: str, place: tuple[float, float, float]) -> None:
    rows = []
    for row in archive.spec.extrinsics:
        if (row.parent, row.child) == (PARENT, CHILD):
            apart = max(abs(new - old) for new, old in zip(place, row.translation, strict=True))
            told = "that of the paper" if apart < SAME_M else f"up to {apart * 1e3:.3f} mm from the paper's, it counts"
            archive.notes.append(f"{name}: the lander's origin in the payload frame, {told}")
            row = replace(row, translation=place, source=name)
        rows.append(row)
    archive.spec = replace(archive.spec, extrinsics=tuple(rows))
