"""What becomes of an archive of IDA: its messages, its notes and its defects."""

from pathlib import Path

from fieldplay.core.errors import Defect
from fieldplay.datasets.registry import open_dataset
from support.archive_messages import Messages, messages_of, notes_of

__all__ = ["Messages", "defects_of", "messages_of", "notes_of", "places_of"]


def defects_of(root: Path) -> list[Defect]:
    """What is defective in the files of an archive; what its numbers say of each other is for the tests of the arm."""
    with open_dataset(root, allow_empty=True) as archive:
        return archive.defects.listed


def places_of(defects: list[Defect]) -> list[tuple[str, str, int | None]]:
    """The kind, the file's own name and the line of each."""
    return [(defect.kind, Path(defect.file).name, defect.row) for defect in defects]
