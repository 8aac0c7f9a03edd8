"""Pictures wait until it is known which scan is nearest to each."""

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass
from typing import Generic, TypeVar

Picture = TypeVar("Picture")
Scan = TypeVar("Scan")

KEPT_SCANS = 200
PATIENCE = 4  # pictures that wait for scans which may not come
MOST_WAITING = 8


@dataclass(frozen=True)
class ImageAndScan(Generic[Picture, Scan]):
    """A picture with the scan nearest to it, None where none is near enough."""

    picture: Picture
    scan: Scan | None


class NearestPairs(Generic[Picture, Scan]):
    """Pictures and scans as they come, each in the order of its own times; where these run back all starts anew."""

    def __init__(self, within_ns: int) -> None:
        self._within_ns = within_ns
        self._scan_ns: deque[int] = deque(maxlen=KEPT_SCANS)
        self._scans: deque[Scan] = deque(maxlen=KEPT_SCANS)
        self._waiting: deque[tuple[int, Picture]] = deque(maxlen=MOST_WAITING)

    @property
    def is_pressed(self) -> bool:
        """Whether so many pictures wait that the first should be done with what is there."""
        return len(self._waiting) > PATIENCE

    def add_scan(self, stamp_ns: int, scan: Scan) -> None:
        """A further scan."""
        if self._scan_ns and stamp_ns < self._scan_ns[-1]:
            self._scan_ns.clear()
            self._scans.clear()
        self._scan_ns.append(stamp_ns)
        self._scans.append(scan)

    def add_image(self, stamp_ns: int, picture: Picture) -> None:
        """A further picture; where too many wait the oldest is given up."""
        if self._waiting and stamp_ns < self._waiting[-1][0]:
            self._waiting.clear()
        self._waiting.append((stamp_ns, picture))

    def first(self) -> ImageAndScan[Picture, Scan] | None:
        """The first picture that waits with its scan, as soon as no scan to come can be nearer."""
        if not self._waiting:
            return None
        stamp_ns, picture = self._waiting[0]
        last_ns = self._scan_ns[-1] if self._scan_ns else None
        is_late = self._waiting[-1][0] > stamp_ns + self._within_ns
        if (last_ns is None or last_ns < stamp_ns) and not (is_late or self.is_pressed):
            return None
        return ImageAndScan(picture, self._nearest(stamp_ns))

    def drop_first(self) -> None:
        """The first picture is done."""
        self._waiting.popleft()

    def _nearest(self, stamp_ns: int) -> Scan | None:
        after = bisect_left(self._scan_ns, stamp_ns)
        near = [place for place in (after - 1, after) if 0 <= place < len(self._scan_ns)]
        apart = {place: abs(self._scan_ns[place] - stamp_ns) for place in near}
        best = min(near, key=lambda place: apart[place], default=None)
        return None if best is None or apart[best] > self._within_ns else self._scans[best]
