"""What is in an archive, topic by topic."""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.cli.arguments import open_archive, parameters_of
from fieldplay.cli.terminal import print_line, progress_bar
from fieldplay.core.errors import pluralize
from fieldplay.core.progress import Progress, no_progress, track_opening
from fieldplay.core.timestamps import NS_PER_S, utc_text
from fieldplay.datasets.archive import MEASURED, Archive, ParameterUpload
from fieldplay.datasets.registry import is_plain_bag
from fieldplay.recording.bag_recording import BagRecording
from fieldplay.streams.topic_stream import TopicStream
from fieldplay.topics.archive_topics import INFO, MOVING, archive_topic_streams
from fieldplay.topics.selection import Selection
from fieldplay.topics.topic_checks import check_settings

ID_SUFFIXES = {INFO: ".camera_info", MOVING: ".tf"}  # what else comes of a stream
DAY_S = 86_400.0
MAX_NOTES = 10
NEARLY_ALL = 0.9  # of the length of a recording
PAUSE_NS = 3600 * NS_PER_S


@dataclass(frozen=True, kw_only=True)
class StreamSummary:
    """One topic: how many messages, from when to when, how dense (gaps aside that the dataset passes over)."""

    id: str
    topic: str
    type: str
    count: int
    first_ns: int | None
    last_ns: int | None
    rate_hz: float | None
    max_gap_s: float | None


@dataclass
class _Times:
    """The times of a stream as far as they were seen, in the order of its spans; gaps are longer than `longest_ns`."""

    longest_ns: int | None = None
    count: int = 0
    first_ns: int | None = None
    last_ns: int | None = None
    max_gap_ns: int = 0
    gaps: int = 0
    in_gaps_ns: int = 0

    def add(self, stamps: NDArray[np.int64]) -> None:
        """A further span; a gap is between rows in the order of time."""
        if not len(stamps):
            return
        first, last = int(stamps[0]), int(stamps[-1])
        steps = np.diff(stamps, prepend=stamps[:1] if self.last_ns is None else self.last_ns)
        self.max_gap_ns = max(self.max_gap_ns, int(steps.max()))
        gaps = steps[steps > self.longest_ns] if self.longest_ns is not None else steps[:0]
        self.gaps, self.in_gaps_ns = self.gaps + len(gaps), self.in_gaps_ns + int(gaps.sum())
        self.count += len(stamps)
        self.first_ns = first if self.first_ns is None else min(self.first_ns, first)
        self.last_ns = last if self.last_ns is None else max(self.last_ns, last)

    @property
    def rate_hz(self) -> float | None:
        """How often messages come, gaps aside."""
        length_ns = (self.last_ns or 0) - (self.first_ns or 0) - self.in_gaps_ns
        return round((self.count - 1 - self.gaps) * NS_PER_S / length_ns, 3) if length_ns > 0 else None


def summaries(archive: Archive, selection: Selection, *, progress: Progress = no_progress) -> list[StreamSummary]:
    """All topics but the static tree, in the order of the dataset's description."""
    times = _times(archive, progress)
    order = {name: index for index, name in enumerate(archive.streams)}
    feeds = [feed for feed in archive_topic_streams(archive, selection) if feed.stream]
    feeds.sort(key=lambda feed: (order[feed.stream], feed.rank))
    return [_summary(feed, times[feed.stream]) for feed in feeds]


def _times(archive: Archive, progress: Progress) -> dict[str, _Times]:
    """The rows of all streams, counted. Spans are read in the order of time: streams of one table share its blocks."""
    longest_ns = round(archive.spec.skip_gaps_s * NS_PER_S) or None
    times = {name: _Times(longest_ns) for name in archive.streams}
    spans = [
        (span.first_ns, name, index)
        for name, stream in archive.streams.items()
        for index, span in enumerate(stream.spans)
    ]
    for done, (_, name, index) in enumerate(sorted(spans), start=1):
        times[name].add(archive.streams[name].load(index).leaves_ns)
        progress(done / len(spans), done)
    return times


def _summary(feed: TopicStream, times: _Times) -> StreamSummary:
    return StreamSummary(
        id=feed.stream + ID_SUFFIXES.get(feed.rank, ""),
        topic=feed.topic,
        type=feed.msgtype,
        count=times.count,
        first_ns=times.first_ns,
        last_ns=times.last_ns,
        rate_hz=times.rate_hz,
        max_gap_s=round(times.max_gap_ns / NS_PER_S, 6) if times.count > 1 else None,
    )


def as_json(archive: Archive, streams: Sequence[StreamSummary]) -> dict[str, Any]:
    """The summary as plain data."""
    return {
        "dataset": archive.spec.name,
        "archive": str(archive.root),
        "streams": [asdict(summary) for summary in streams],
        "notes": archive.notes,
    }


def as_lines(archive: Archive, streams: Sequence[StreamSummary], *, verbose: bool = False) -> Iterator[str]:
    """The summary for people: what was measured, and notes beyond ten, only where it is verbose."""
    yield f"{archive.root}: {archive.spec.title}"
    skipped = archive.spec.skip_gaps_s
    yield from stream_lines(streams, f"  Hz is the rate without gaps of more than {skipped:g} s" if skipped else "")
    notes = [note for note in archive.notes if verbose or not note.startswith(MEASURED)]
    notes, others = (notes, 0) if verbose else (notes[:MAX_NOTES], len(archive.notes) - len(notes[:MAX_NOTES]))
    if notes or others:
        yield ""
        yield from (f"  note: {note}" for note in notes)
    if others:
        yield f"  {pluralize(others, 'more note')}: --verbose"


def stream_lines(streams: Sequence[StreamSummary], remark: str = "") -> Iterator[str]:
    """How long it is, and a table of its topics."""
    if not streams:
        yield "  no messages that can be read"
        return
    yield from _span_lines(streams)
    if remark:
        yield remark
    yield ""
    width = max((len(summary.topic) for summary in streams), default=0)
    topics = Counter(summary.topic for summary in streams)
    yield f"  {'topic':{width}}  {'messages':>9}  {'Hz':>8}  {'gap s':>8}  type"
    for summary in streams:
        rate = "-" if summary.rate_hz is None else f"{summary.rate_hz:.2f}"
        gap = "-" if summary.max_gap_s is None else _gap_text(summary.max_gap_s)
        of = f" (with {summary.id.removesuffix(ID_SUFFIXES[MOVING])})" if topics[summary.topic] > 1 else ""
        yield f"  {summary.topic:{width}}  {summary.count:>9}  {rate:>8}  {gap:>8}  {summary.type}{of}"


def _span_lines(streams: Sequence[StreamSummary]) -> Iterator[str]:
    """How long it is, and from when to when, in seconds and as dates."""
    known = [(s.first_ns, s.last_ns) for s in streams if s.first_ns is not None and s.last_ns is not None]
    first, last = min((a for a, _ in known), default=0), max((b for _, b in known), default=0)
    length_s = (last - first) / NS_PER_S
    days = f" ({length_s / DAY_S:.1f} d)" if length_s >= DAY_S else ""
    yield f"  {length_s:.3f} s{days}, from {first / NS_PER_S:.3f} to {last / NS_PER_S:.3f} (unix time)"
    yield f"  in UTC from {utc_text(first)} to {utc_text(last)}"


def _gap_text(seconds: float) -> str:
    """A gap in seconds, without their unit; in days from one on."""
    return f"{seconds:.3f}" if seconds < DAY_S else f"{seconds / DAY_S:.1f} d"


# What `info` and `check` say of a bag, whoever has written it: no dataset is needed.


def is_for_bags(chosen: argparse.Namespace) -> bool:
    """Whether a bag is asked about, rather than an archive of a dataset."""
    return chosen.dataset is None and is_plain_bag(chosen.archive)


def summaries_of_bag(data: BagRecording) -> list[StreamSummary]:
    """All topics that have messages, in the order of the bag."""
    with progress_bar("opening", "MB") as bar, track_opening(bar):
        stamp_ns = np.concatenate([np.zeros(0, np.int64), *(data.stamps(name) for name in data.topics)])
        length_ns = _recording_length_ns(np.diff(np.sort(stamp_ns)))
        return [_bag_summary(data, name, length_ns) for name in data.topics]


def _recording_length_ns(steps: NDArray[np.int64]) -> int:
    """The length of a recording by the times between messages (n,), without pauses between sessions."""
    return int(steps[steps <= PAUSE_NS].sum())


def _bag_summary(data: BagRecording, name: str, length_ns: int) -> StreamSummary:
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
        steps_without_gaps = steps[steps <= longest_ns]
        return (
            round(len(steps_without_gaps) * NS_PER_S / int(steps_without_gaps.sum()), 3)
            if steps_without_gaps.sum() > 0
            else None
        )
    own_ns = _recording_length_ns(steps)
    if not len(steps) or not length_ns:
        return None
    is_short = own_ns < NEARLY_ALL * length_ns
    count = int((steps <= PAUSE_NS).sum())
    return round((len(steps) + 1) * NS_PER_S / length_ns if is_short else count * NS_PER_S / own_ns, 3)


def info_json(data: BagRecording, streams: list[StreamSummary]) -> dict[str, Any]:
    """As of an archive, of no dataset."""
    notes = [*data.notes, *(str(defect) for defect in data.defects)]
    dataset = data.spec.name if data.spec else None
    return {"dataset": dataset, "archive": str(data.path), "streams": [asdict(one) for one in streams], "notes": notes}


def info_lines(data: BagRecording, streams: list[StreamSummary]) -> Iterator[str]:
    """The summary for people."""
    yield f"{data.path}: {data.title}"
    for name, text in data.origin.recording.items() if data.origin else ():
        yield f"  {name}: {text}"
    yield from stream_lines(streams)
    yield from (f"  note: {note}" for note in data.notes)
    yield from (f"  {defect.kind}: {defect}" for defect in data.defects)


# The command `info`.


def show_info(chosen: argparse.Namespace) -> int:
    """Print what is in an archive or a bag, as the command `info` is typed; return its exit code."""
    if chosen.parameters:
        return _show_parameters(chosen)
    if len(chosen.archives) > 1 or is_for_bags(chosen):
        with BagRecording(chosen.archive, parameters_of(chosen), more=chosen.archives[1:]) as bag:
            rows = summaries_of_bag(bag)
            text = [json.dumps(info_json(bag, rows), indent=2)] if chosen.json else info_lines(bag, rows)
            for line in text:
                print_line(line)
        return 0
    with open_archive(chosen) as data:
        archive = data.archive
        check_settings(archive)
        with progress_bar("reading", "blocks") as bar:
            streams = summaries(archive, Selection(), progress=bar)
        if chosen.json:
            print_line(json.dumps(as_json(archive, streams), indent=2))
            return 0
        for line in as_lines(archive, streams, verbose=chosen.verbose):
            print_line(line)
        for line in archive.defects.summary_lines():
            print_line(f"  {line}")
    return 0


def _show_parameters(chosen: argparse.Namespace) -> int:
    """The parameter files of an archive; 1 where it has none."""
    uploads: Sequence[ParameterUpload] = ()
    if not is_for_bags(chosen):
        with open_archive(chosen) as data:
            uploads = data.archive.uploads
    if chosen.json:
        print_line(json.dumps({"parameters": list(_parameters_json(uploads))}, indent=2))
    elif uploads:
        for line in _parameter_lines(uploads):
            print_line(line)
    else:
        print_line(f"{chosen.archive}: no parameter files")
    return 0 if uploads else 1


def _parameter_lines(uploads: Sequence[ParameterUpload]) -> Iterator[str]:
    for number, upload in enumerate(uploads):
        yield f"{upload.file}: from {utc_text(upload.stamp_ns)} on"
        if number == 0:
            for name, values in upload.sets.items():
                yield f"  {name}"
                yield from (f"    {key} = {text}" for key, text in values.items())
            continue
        changes = upload.changes_from(uploads[number - 1])
        yield f"  {len(changes)} changes" if len(changes) != 1 else "  1 change"
        for name, key, old, new in changes:
            yield f"    {name} {key} = {'(none)' if new is None else new}, before {'(none)' if old is None else old}"


def _parameters_json(uploads: Sequence[ParameterUpload]) -> Iterator[dict[str, Any]]:
    before: ParameterUpload | None = None
    for upload in uploads:
        changes = [] if before is None else upload.changes_from(before)
        names = ("set", "key", "before", "now")
        changed = [dict(zip(names, change, strict=True)) for change in changes]
        yield {"file": upload.file, "stamp_ns": upload.stamp_ns, "sets": upload.sets, "changes": changed}
        before = upload
