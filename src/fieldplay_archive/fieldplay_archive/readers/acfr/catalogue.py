"""The sets of the report: which one an archive is, by its folder's name or its time, and what it shows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from fieldplay_archive.archive import Archive
from fieldplay_messages.stamps import NS_PER_S

STATIC = "static scene"
NEAR_S = 60.0  # sensors start before and end after the interval in which all of them have data
ARCHIVE_ENDINGS = r"\.(zip|tar|tgz|gz)$"


@dataclass(frozen=True, kw_only=True)
class KnownSet:
    """A set as the report's table has it: times in unix seconds."""

    number: int
    name: str
    start_s: float
    end_s: float
    duration_s: float
    area: str
    condition: str

    @property
    def is_static(self) -> bool:
        """Whether the vehicle stands before the scene that the report measured."""
        return self.area == STATIC


def sets_of(constants: Mapping[str, Any]) -> list[KnownSet]:
    """All sets of the description."""
    return [KnownSet(number=number, **entry) for number, entry in constants["sets"].items()]


def set_of_name(name: str, constants: Mapping[str, Any]) -> KnownSet | None:
    """The set whose folder is called so, whatever the case and the signs between the words."""
    plain = _plain(name)
    return next((known for known in sets_of(constants) if _plain(known.name) == plain), None)


def set_at(first_ns: int, last_ns: int, constants: Mapping[str, Any]) -> KnownSet | None:
    """The set that was recorded at the time, most of it where several lie near."""
    first_s, last_s = first_ns / NS_PER_S, last_ns / NS_PER_S

    def shared_s(known: KnownSet) -> float:
        return min(last_s, known.end_s + NEAR_S) - max(first_s, known.start_s - NEAR_S)

    near = [known for known in sets_of(constants) if shared_s(known) > 0]
    return max(near, key=lambda known: min(last_s, known.end_s) - max(first_s, known.start_s), default=None)


def calibration_set(archive: Archive) -> Mapping[str, Any] | None:
    """What is said of the calibration set that the archive's folder is called after."""
    plain = _plain(archive.root.resolve().name)
    sets: Mapping[str, Mapping[str, Any]] = archive.spec.constants["calibration_sets"]
    return next((entry for name, entry in sets.items() if _plain(name) == plain), None)


def note_set(archive: Archive) -> KnownSet | None:
    """Say which set of the report this is; None where it is none of them."""
    name, constants = archive.root.resolve().name, archive.spec.constants
    calibration = calibration_set(archive)
    if calibration is not None:
        archive.notes.append(f"{name}: the report's set for calibration: {calibration['about']}")
        return None
    spans = [span for stream in archive.streams.values() for span in stream.spans]
    first_ns, last_ns = min((s.first_ns for s in spans), default=0), max((s.last_ns for s in spans), default=0)
    named, timed = set_of_name(name, constants), set_at(first_ns, last_ns, constants)
    if re.match(r"13\D", name) and timed is None:
        archive.notes.append(f"{name}: the report has no set 13")
    known = timed or named
    if known is not None:
        archive.notes.append(_about(known, archive))
    if named is not None and named != timed:
        when = f"a time of {timed.name}" if timed else "another time"
        archive.notes.append(f"warning: the folder is called {name}, but what it holds was recorded at {when}")
    return known


def _about(known: KnownSet, archive: Archive) -> str:
    offset = timezone(timedelta(seconds=archive.spec.constants["utc_offset_s"]))
    begin = datetime.fromtimestamp(known.start_s, offset)
    return (
        f"set {known.name} of the report: {known.area}, {known.condition}; {begin:%Y-%m-%d %H:%M:%S} local time, "
        f"{known.duration_s:.3f} s in which all sensors have data"
    )


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", re.sub(ARCHIVE_ENDINGS, "", name.lower()))
