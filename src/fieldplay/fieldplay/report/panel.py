"""What a panel is: it hears the messages of its types, and draws its part of the page at the end."""

from collections.abc import Collection
from typing import Protocol

from fieldplay.report.findings import Findings
from fieldplay.report.html.page import Section
from fieldplay.report.html.ticks import many
from fieldplay.report.recording import Recording
from fieldplay_messages.batches import Batch, Topic


class Panel(Protocol):
    """One family of messages. It keeps no more than it will draw."""

    @property
    def msgtypes(self) -> Collection[str]:
        """The types whose messages it wants."""

    def add(self, batch: Batch) -> None:
        """Further messages of a topic."""

    def tell(self, findings: Findings) -> None:
        """Say what was wrong with the messages, once all were heard."""

    def sections(self, recording: Recording) -> list[Section]:
        """What to show; nothing where there was nothing to hear."""


def tell_unreadable(findings: Findings, topic: Topic, count: int) -> None:
    """Messages that are not of the type that their topic says."""
    findings.add(
        "unreadable_message", topic.name, f"{many(count, 'message')} cannot be read as {topic.msgtype}", count=count
    )
