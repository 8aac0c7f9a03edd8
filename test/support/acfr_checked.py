"""What `check` says of an archive of ACFR."""

from typing import Any

from fieldplay.core.errors import Defect
from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.selection import Selection
from fieldplay.topics.topic_checks import check
from support.tiny_acfr import TinyAcfr


def inspected(archive: TinyAcfr, **parameters: Any) -> tuple[list[str], list[Defect]]:
    """Notes and defects of a whole check, without those of files that are not there."""
    with open_dataset(archive.root, "acfr", parameters) as opened:
        defects = check(opened, Selection())
        return opened.notes, [defect for defect in defects if defect.kind != "missing_file"]


def noted(notes: list[str], text: str) -> str:
    """The one note that has a text in it."""
    (result,) = (note for note in notes if text in note)
    return result
