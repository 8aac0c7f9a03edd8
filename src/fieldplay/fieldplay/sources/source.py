"""What can be opened, an archive or a bag, as its messages; and what was found wrong with it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from fieldplay_messages.batches import Batch, Topic
from fieldplay_messages.progress import Progress

KEPT_PER_KIND = 6


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One problem: where, and what is wrong there."""

    kind: str
    place: str
    message: str


class Findings:
    """Problems as they are found, and notes."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.kept: dict[str, list[Problem]] = {}
        self.notes: list[str] = []

    def add(self, kind: str, place: str, message: str, *, count: int = 1) -> None:
        """Tell of a problem, which may stand for many of its kind at its place."""
        if count <= 0:
            return
        self.counts[kind] += count
        kept = self.kept.setdefault(kind, [])
        if len(kept) < KEPT_PER_KIND:
            kept.append(Problem(kind=kind, place=place, message=message))

    def note(self, text: str) -> None:
        """Tell of what is no problem, once."""
        if text not in self.notes:
            self.notes.append(text)

    @property
    def total(self) -> int:
        return self.counts.total()


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What the page is about, in words: `facts` are names with values.

    Gaps longer than `skip_gaps_s` are nothing unusual in it; 0 says nothing of them. `notes` are what is to be known of
    a topic, by its name, where its type alone would mislead; `units` those of its fields.
    """

    title: str
    name: str
    kind: str
    size_bytes: int
    facts: tuple[tuple[str, str], ...] = ()
    skip_gaps_s: float = 0.0
    notes: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class Source(Protocol):
    """Something to make a page of. Topics and findings are complete when the batches are."""

    @property
    def subject(self) -> Subject: ...

    @property
    def topics(self) -> list[Topic]:
        """All topics, those without any message among them."""

    @property
    def findings(self) -> Findings: ...

    def batches(self, progress: Progress) -> Iterator[Batch]:
        """All messages; those of one topic in the order of time, as far as the source has it."""
