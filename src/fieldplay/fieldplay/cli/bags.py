"""What `info` and `check` say of a bag, whoever has written it: no dataset is needed."""

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from fieldplay.cli.summaries import StreamSummary, stream_lines
from fieldplay.cli.terminal import progress_bar
from fieldplay.data.bag_data import BagData
from fieldplay_archive.datasets import is_plain_bag
from fieldplay_messages.progress import watched_opening
from fieldplay_messages.stamps import NS_PER_S


def is_for_bags(chosen: argparse.Namespace) -> bool:
    """Whether a bag is asked about, rather than an archive of a dataset."""
    return chosen.dataset is None and is_plain_bag(chosen.archive)


def summaries_of_bag(data: BagData) -> list[StreamSummary]:
    """All topics that have messages, in the order of the bag."""
    with progress_bar("opening", "MB") as bar, watched_opening(bar):
        return [_summary(data, name) for name in data.topics]


def _summary(data: BagData, name: str) -> StreamSummary:
    topic, stamp_ns = data.topics[name], data.stamps(name)
    steps = np.diff(np.sort(stamp_ns))
    length_ns = int(steps.sum())
    return StreamSummary(
        id=name.strip("/"),
        topic=name,
        type=topic.type,
        count=len(stamp_ns),
        first_ns=int(stamp_ns.min()),
        last_ns=int(stamp_ns.max()),
        rate_hz=round(len(steps) * NS_PER_S / length_ns, 3) if length_ns else None,
        max_gap_s=round(int(steps.max()) / NS_PER_S, 6) if len(steps) else None,
    )


def info_json(data: BagData, found: list[StreamSummary]) -> dict[str, Any]:
    """As of an archive, of no dataset."""
    notes = [*data.notes, *(str(defect) for defect in data.defects)]
    return {"dataset": None, "archive": str(data.path), "streams": [asdict(one) for one in found], "notes": notes}


def info_lines(data: BagData, found: list[StreamSummary]) -> Iterator[str]:
    """The summary for people."""
    yield f"{data.path}: {data.title}"
    yield from stream_lines(found)
    yield from (f"  note: {note}" for note in data.notes)
    yield from (f"  {defect.kind}: {defect}" for defect in data.defects)
