"""Archives and bags for programs: opening them, whichever they are."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fieldplay.datasets.registry import BAG, is_plain_bag
from fieldplay.recording.archive_data import open_archive_data
from fieldplay.recording.bag_data import BagData
from fieldplay.recording.field_data import FieldData


def open_data(
    path: Path, dataset: str | None, parameters: Mapping[str, Any] | None, *, derived: bool = False
) -> FieldData:
    """A bag, or an archive where its dataset is named or it is no bag."""
    if dataset is None and is_plain_bag(path):
        bag = BagData(path, parameters)
        if not derived or bag.origin is None:
            return bag
        bag.close()
        dataset = BAG.name  # one of ours: what is computed of its archive is computed of it
    return open_archive_data(path, dataset, parameters, derived=derived)
