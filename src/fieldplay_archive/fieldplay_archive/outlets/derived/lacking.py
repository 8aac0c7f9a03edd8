"""What cannot be computed of an archive since it lacks one of two streams: said, as nothing else would tell it."""

from fieldplay_archive.archive import Archive
from fieldplay_archive.spec import DerivedSpec

COMPARING = "odometry_evaluation"


def lacking_lines(archive: Archive) -> list[str]:
    """A line for each comparison one side of which is there; where neither is, nobody expects it."""
    lines = []
    for spec in archive.spec.derived:
        there = [name in archive.streams and bool(archive.streams[name].spans) for name in spec.streams]
        if spec.kind == COMPARING and any(there) and not all(there):
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
