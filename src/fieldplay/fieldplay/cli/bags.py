"""What `info` and `check` say of a bag, whoever has written it: no dataset is needed."""

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.cli.summaries import StreamSummary, stream_lines
from fieldplay.cli.terminal import progress_bar
from fieldplay.core.progress import watched_opening
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.registry import is_plain_bag
from fieldplay.recording.bag_data import BagData

NEARLY_ALL = 0.9  # of the length of a recording
PAUSE_NS = 3600 * NS_PER_S


def is_for_bags(chosen: argparse.Namespace) -> bool:
    """Whether a bag is asked about, rather than an archive of a dataset."""
    return chosen.dataset is None and is_plain_bag(chosen.archive)


def summaries_of_bag(data: BagData) -> list[StreamSummary]:
    """All topics that have messages, in the order of the bag."""
    with progress_bar("opening", "MB") as bar, watched_opening(bar):
        stamp_ns = np.concatenate([np.zeros(0, np.int64), *(data.stamps(name) for name in data.topics)])
        length_ns = _recorded_ns(np.diff(np.sort(stamp_ns)))
        return [_summary(data, name, length_ns) for name in data.topics]


def _recorded_ns(steps: NDArray[np.int64]) -> int:
    """How long messages came, by the times between them (n,), without pauses as between two recordings."""
    return int(steps[steps <= PAUSE_NS].sum())


def _summary(data: BagData, name: str, length_ns: int) -> StreamSummary:
    topic, stamp_ns = data.topics[name], data.stamps(name)
    steps = np.diff(np.sort(stamp_ns)).astype(np.int64)
    longest_ns = round(data.spec.skip_gaps_s * NS_PER_S) if data.spec else 0
    return StreamSummary(
        id=name.strip("/"),
        topic=name,
        type=topic.type,
        count=len(stamp_ns),
        first_ns=int(stamp_ns.min()),
        last_ns=int(stamp_ns.max()),
        rate_hz=_rate_hz(steps, length_ns, longest_ns),
        max_gap_s=round(int(steps.max()) / NS_PER_S, 6) if len(steps) else None,
    )


def _rate_hz(steps: NDArray[np.int64], length_ns: int, longest_ns: int) -> float | None:
    """The mean rate of a topic by the times between its messages (n,), in a recording of some length.

    A topic that is there nearly all the time has the rate of its messages; of one that is there for a moment, as
    /rosout, it is its messages over the length of the recording. Where a dataset passes over gaps they are left aside,
    elsewhere pauses of more than an hour.
    """
    if longest_ns:
        kept = steps[steps <= longest_ns]
        return round(len(kept) * NS_PER_S / int(kept.sum()), 3) if kept.sum() > 0 else None
    own_ns = _recorded_ns(steps)
    if not len(steps) or not length_ns:
        return None
    is_short = own_ns < NEARLY_ALL * length_ns
    count = int((steps <= PAUSE_NS).sum())
    return round((len(steps) + 1) * NS_PER_S / length_ns if is_short else count * NS_PER_S / own_ns, 3)


def info_json(data: BagData, found: list[StreamSummary]) -> dict[str, Any]:
    """As of an archive, of no dataset."""
    notes = [*data.notes, *(str(defect) for defect in data.defects)]
    dataset = data.spec.name if data.spec else None
    return {"dataset": dataset, "archive": str(data.path), "streams": [asdict(one) for one in found], "notes": notes}


def info_lines(data: BagData, found: list[StreamSummary]) -> Iterator[str]:
    """The summary for people."""
    yield f"{data.path}: {data.title}"
    for name, text in data.origin.recording.items() if data.origin else ():
        yield f"  {name}: {text}"
    yield from stream_lines(found)
    yield from (f"  note: {note}" for note in data.notes)
    yield from (f"  {defect.kind}: {defect}" for defect in data.defects)
