"""Contents of logs: per file and stream the type, number of samples, time range, rate; settings; issues."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.core.number_text import count_noun, size_text
from fieldplay.core.timestamps import NS_PER_S
from fieldplay_cdff.logs.file_index import NO_TIME
from fieldplay_cdff.logs.log import Log
from fieldplay_cdff.logs.log_streams import LogStream
from fieldplay_cdff.logs.log_times import in_order
from fieldplay_cdff.logs.type_table import BITS, FRAME
from fieldplay_cdff.tools.time_arguments import known_times, utc_text

Stamps = NDArray[np.int64]

PACKED = ".zz"
AT_ONCE = 1 << 16  # times
FEW_NAMES = 4
SNAKE = {"source_frame", "target_frame", "max_range", "min_range"}  # where the others have sourceFrame and so on


@dataclass(frozen=True, kw_only=True)
class TimeSummary:
    """First and last of some times, their mean rate and largest gap; None where too few are known."""

    first_ns: int | None = None
    last_ns: int | None = None
    rate_hz: float | None = None
    max_gap_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class LogStreamSummary:
    """A stream, or the part of it in a file. `lag_s` is how much later than taken samples were logged, the median."""

    stream: str
    type: str
    kind: str
    dialect: str
    unit: str
    count: int
    bytes: int
    logged: TimeSummary
    sampled: TimeSummary
    lag_s: float | None


@dataclass(frozen=True, kw_only=True)
class FileSummary:
    """A file of a log; of one of settings, what it sets."""

    file: str
    bytes: int
    streams: tuple[LogStreamSummary, ...] = ()
    settings: tuple[str, ...] = ()


def file_summaries(log: Log) -> list[FileSummary]:
    """All files in the order of their names."""
    parts: dict[str, list[LogStreamSummary]] = {name: [] for name in log.names}
    for stream in log.streams.values():
        dialect, first = dialect_of(stream), 0
        for file, part in stream.parts:
            rows = (first, first + len(part))
            first += len(part)
            packed = ", packed" if file.lower().endswith(PACKED) else ""
            parts[file].append(_summary(stream, rows, dialect + packed))
    return [
        FileSummary(
            file=name,
            bytes=_size(log, name),
            streams=tuple(parts[name]),
            settings=tuple(settings_lines(log.settings[name])) if name in log.settings else (),
        )
        for name in log.names
    ]


def stream_summaries(log: Log) -> list[LogStreamSummary]:
    """The streams, each of all its files together."""
    return [_summary(stream, (0, len(stream)), dialect_of(stream)) for stream in log.streams.values()]


def _summary(stream: LogStream, rows: tuple[int, int], dialect: str) -> LogStreamSummary:
    return LogStreamSummary(
        stream=stream.name,
        type=stream.type,
        kind=stream.kind,
        dialect=dialect,
        unit=stream.unit,
        count=rows[1] - rows[0],
        bytes=stream.byte_count(*rows),
        logged=_times(stream, rows, stream.logged_ns),
        sampled=_times(stream, rows, stream.own_ns),
        lag_s=_lag_s(stream, rows),
    )


def _times(stream: LogStream, rows: tuple[int, int], times_ns: Callable[[int, int], Stamps]) -> TimeSummary:
    """A summary of times in any order."""
    times = times_of(known_times(times_ns(*part)) for part in stream.ranges(*rows))
    if times is not None:
        return times
    ordered = in_order((known_times(times_ns(*part))[:, None] for part in stream.ranges(*rows)), 1)
    blocks = (ordered.rows(first, first + AT_ONCE)[:, 0] for first in range(0, len(ordered), AT_ONCE))
    return times_of(blocks) or TimeSummary()


def times_of(blocks: Iterable[Stamps]) -> TimeSummary | None:
    """A summary of times that come in blocks; None where they are not in order."""
    first, last, count, gap = 0, 0, 0, 0
    for times in blocks:
        if len(times):
            steps = np.diff(times, prepend=last if count else times[0])
            if int(steps.min()) < 0:
                return None
            first = first if count else int(times[0])
            last, count, gap = int(times[-1]), count + len(times), max(gap, int(steps.max()))
    if not count:
        return TimeSummary()
    rate = round((count - 1) * NS_PER_S / (last - first), 6) if last > first else None
    return TimeSummary(first_ns=first, last_ns=last, rate_hz=rate, max_gap_s=gap / NS_PER_S if count > 1 else None)


def _lag_s(stream: LogStream, rows: tuple[int, int]) -> float | None:
    """Return the median delay from taking to logging of samples; None where no sample has both times."""
    lags = in_order((_lags(stream, *part) for part in stream.ranges(*rows)), 1)
    middle = lags.rows((len(lags) - 1) // 2, len(lags) // 2 + 1)
    return float(middle.mean()) / NS_PER_S if len(lags) else None


def _lags(stream: LogStream, start: int, end: int) -> Stamps:
    """The same (m, 1) of those that have both."""
    logged, own_ns = stream.logged_ns(start, end), stream.own_ns(start, end)
    both = (logged != NO_TIME) & (own_ns != NO_TIME)
    return np.asarray(logged[both] - own_ns[both], np.int64)[:, None]


def dialect_of(stream: LogStream) -> str:
    """Return the form that a stream has of those of these logs, as text."""
    if any(part.columns for _, part in stream.parts):
        return "Rock, flattened"
    if stream.packing is not None:
        return f"packed by uPER, {stream.packing.kind}"
    if stream.kind == BITS:
        return "packed bits, not read"
    if stream.type.startswith("/"):
        return "Rock"
    try:
        sample = stream.sample(0, arrays=True) if len(stream) else None
    except ArchiveError:
        return "unreadable"
    if not isinstance(sample, dict):
        return "plain value"
    if stream.kind == FRAME and "frame_time" in sample:
        return "InFuse, early image"
    if sample.keys() & SNAKE:
        return "MsgPackLogger"
    return "InFuse, from ROS" if stream.unit == "ns" else "InFuse"


def settings_lines(settings: Any) -> Iterator[str]:
    """A summary of a settings file: transforms by their frames, cameras by their camera_info topic."""
    entries = settings if isinstance(settings, Mapping) else {}
    frames = [key for key in entries if isinstance(key, tuple) and len(key) == 2]
    if frames:
        shown = ", ".join(f"{parent} -> {child}" for parent, child in frames[:FEW_NAMES])
        more = f" and {len(frames) - FEW_NAMES} more" if len(frames) > FEW_NAMES else ""
        yield f"{count_noun(len(frames), 'transform')}: {shown}{more}"
    for name, value in entries.items():
        if not isinstance(name, tuple):
            has_baseline = isinstance(value, Mapping) and isinstance(value.get("baseline"), int | float)
            yield f"{name}" + (f", baseline {value['baseline']:g} m" if has_baseline else "")


def as_json(
    files: Sequence[FileSummary], streams: Sequence[LogStreamSummary], issues: Sequence[Defect]
) -> dict[str, Any]:
    """All as plain data."""
    return {
        "files": [asdict(each) for each in files],
        "streams": [asdict(each) for each in streams],
        "faults": [asdict(issue) for issue in issues],
    }


def as_lines(files: Sequence[FileSummary], streams: Sequence[LogStreamSummary]) -> Iterator[str]:
    """All as text; streams in several files also as a whole."""
    for file in files:
        kind = " (settings)" if file.settings else "" if file.streams else " (no stream)"
        yield f"{file.file}: {size_text(file.bytes)}{kind}"
        yield from (f"  {line}" for line in file.settings)
        for stream in file.streams:
            yield from _stream_lines(stream)
        yield ""
    names = [stream.stream for file in files for stream in file.streams]
    joined = [stream for stream in streams if names.count(stream.stream) > 1]
    if joined:
        yield f"streams in several of the {len(files)} files:"
        for stream in joined:
            yield from _stream_lines(stream)
        yield ""


def _stream_lines(stream: LogStreamSummary) -> Iterator[str]:
    dense = stream.sampled if stream.sampled.rate_hz else stream.logged
    rate = "" if dense.rate_hz is None else f", {dense.rate_hz:.2f} Hz"
    gap = "" if dense.max_gap_s is None else f", largest gap {dense.max_gap_s:.3f} s"
    kind = stream.type or "type not known"
    yield f"  {stream.stream}  {kind} ({stream.dialect})"
    yield f"    {count_noun(stream.count, 'sample')}{rate}{gap}, {size_text(stream.bytes)}, times in {stream.unit}"
    for name, times in (("sampled", stream.sampled), ("logged ", stream.logged)):
        if times.first_ns is not None and times.last_ns is not None:
            lag = f", {stream.lag_s * 1e3:.3f} ms later" if name == "logged " and stream.lag_s is not None else ""
            yield f"    {name} {utc_text(times.first_ns)} to {utc_text(times.last_ns)}{lag}"


def _size(log: Log, name: str) -> int:
    try:
        return log.files.size(name)
    except ArchiveError:
        return 0
