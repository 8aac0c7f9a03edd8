"""What is not computed of an archive, and why."""

from fieldplay.datasets.archive import Archive
from fieldplay.datasets.spec import DerivedSpec
from fieldplay.topics.archive_topics import window_of
from fieldplay.topics.selection import Selection
from fieldplay.topics.static_tf import why_no_map

COMPARISON = "odometry_evaluation"  # the kind of computation that has two sides


def missing_outputs(archive: Archive, selection: Selection) -> list[str]:
    """A line for each thing that nodes, or `--derived`, do not make of an archive although one might expect it."""
    no_map = ""
    if selection.map_tf or selection.derived:
        no_map = why_no_map(archive, window_of(archive, selection).first_ns)
    return [*_comparisons(archive), *([no_map] if no_map else [])]


def _comparisons(archive: Archive) -> list[str]:
    """Those one side of which the archive lacks; where it has neither, nobody expects them."""
    lines = []
    for spec in archive.spec.derived:
        there = [name in archive.streams and bool(archive.streams[name].spans) for name in spec.streams]
        if spec.kind == COMPARISON and any(there) and not all(there):
            names = [_topic(archive, spec, name) for name in spec.streams]
            missing = " nor ".join(name for name, is_there in zip(names, there, strict=True) if not is_there)
            why = f"as it compares {' with '.join(names)}, and there is no {missing}"
            lines.append(f"{spec.topic}: not computed, {why}")
    return lines


def _topic(archive: Archive, spec: DerivedSpec, name: str) -> str:
    """The topic of a stream; of one that is not there, as the settings have it."""
    topics = {stream.id: stream.topic for stream in archive.spec.streams}
    given = [text for text in spec.settings.values() if isinstance(text, str) and text.replace("/", "_") == name]
    return topics.get(name) or next(iter(given), name)
