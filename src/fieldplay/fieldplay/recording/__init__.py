"""Recordings: archives and bags that are open."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fieldplay.datasets.registry import BAG, is_plain_bag, open_bags, open_dataset
from fieldplay.recording.archive_recording import ArchiveRecording
from fieldplay.recording.recording import Recording
from fieldplay.topics.selection import Selection


def open_recording(
    path: Path, dataset: str | None, parameters: Mapping[str, Any] | None, *, derived: bool = False
) -> Recording:
    """Open a bag, or an archive where its dataset is named or it is no bag.

    With `derived` it also has what the nodes would compute, of an archive or of a bag that was made of one.
    """
    if dataset is None and is_plain_bag(path):
        from fieldplay.recording.bag_recording import BagRecording  # only here: an archive needs no reader of bags

        bag = BagRecording(path, parameters)
        if not derived or bag.origin is None:
            return bag
        bag.close()
        dataset = BAG.name  # one of ours: what is computed of its archive is computed of it
    return ArchiveRecording(open_dataset(path, dataset, parameters), Selection(derived=derived))


def open_as_archive(
    paths: Sequence[Path], dataset: str | None, parameters: Mapping[str, Any] | None, *, allow_empty: bool = False
) -> ArchiveRecording:
    """Open an archive, or one or several bags as one, for what only archives can do.

    With `allow_empty` also one without anything that can be read, for its defects.
    """
    if len(paths) > 1:
        return ArchiveRecording(open_bags(paths, parameters))
    return ArchiveRecording(open_dataset(paths[0], dataset, parameters, allow_empty=allow_empty))
