"""What was found wrong, or worth knowing: counted by kind, the first of each kind with their places."""

from collections import Counter
from dataclasses import dataclass

KEPT_PER_KIND = 6


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One problem: where, and what is wrong there."""

    kind: str
    place: str
    message: str


class Findings:
    """Problems as they are found, and notes."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.kept: dict[str, list[Finding]] = {}
        self.notes: list[str] = []

    def add(self, kind: str, place: str, message: str, *, count: int = 1) -> None:
        """Tell of a problem, which may stand for many of its kind at its place."""
        if count <= 0:
            return
        self.counts[kind] += count
        kept = self.kept.setdefault(kind, [])
        if len(kept) < KEPT_PER_KIND:
            kept.append(Finding(kind=kind, place=place, message=message))

    def note(self, text: str) -> None:
        """Tell of what is no problem, once."""
        if text not in self.notes:
            self.notes.append(text)

    @property
    def total(self) -> int:
        return self.counts.total()
