"""Which frame hangs on which, as transforms tell it; what would close a loop is left out."""

from collections import Counter
from collections.abc import Iterator

from fieldplay.messages.records import Transforms


class FrameTree:
    """The parents of frames, each the last that was told."""

    def __init__(self) -> None:
        self.parents: dict[str, str] = {}
        self._loops: Counter[str] = Counter()

    def add(self, record: Transforms) -> None:
        """Further transforms."""
        for parent, child in zip(record.parents, record.children, strict=True):
            if self.parents.get(child) == parent:
                continue
            above = self.above(parent)
            if child in above:
                way = " -> ".join([*reversed(above[: above.index(child) + 1]), child])
                self._loops[way] += len(record)
            else:
                self.parents[child] = parent

    def above(self, frame: str) -> list[str]:
        """A frame, its parent and so on to the root."""
        path = [frame]
        while path[-1] in self.parents:
            path.append(self.parents[path[-1]])
        return path

    def root(self) -> str:
        """The root that most frames hang on; "" where there is none."""
        roots = Counter(self.above(frame)[-1] for frame in self.parents)
        return max(roots, key=lambda root: roots[root]) if roots else ""

    def faults(self) -> Iterator[str]:
        """Loops, in words."""
        for way, count in self._loops.items():
            yield f"tf: the frames {way} make a loop: {count} transforms that close it are left out"
