"""What a page is made from: batches of messages, whether they come of an archive or of a bag."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from fieldplay.report.findings import Findings
from fieldplay_messages.batches import Batch, Progress, Topic


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
