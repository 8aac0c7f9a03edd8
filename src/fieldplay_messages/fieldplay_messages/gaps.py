"""Where a stream pauses for much longer than it usually does, found step by step: no stream is held as a whole."""

import numpy as np
from numpy.typing import NDArray

from fieldplay_messages.stamps import NS_PER_S

GAP_STEPS = 10  # a gap is longer than so many usual steps,
GAP_NS = NS_PER_S // 2  # and than this
ENOUGH_STEPS = 20  # tell what is usual; fewer leave the earlier estimate


class GapFinder:
    """Finds the gaps of one stream from its times part by part.

    What step is usual is estimated anew for each part, as the median of its steps; a part of few rows, such as the
    last of a file, is measured by the estimate of the one before.
    """

    def __init__(self) -> None:
        self._last_ns: int | None = None
        self._usual_ns: float | None = None

    def gaps(self, stamp_ns: NDArray[np.int64]) -> list[tuple[int, int]]:
        """The rows of a part (n,) that come after a gap, and how long each gap is in nanoseconds."""
        if not len(stamp_ns):
            return []
        before = stamp_ns[0] if self._last_ns is None else self._last_ns
        steps = np.diff(stamp_ns, prepend=before)
        self._last_ns = int(stamp_ns[-1])
        forward = steps[steps > 0]
        if len(forward) >= ENOUGH_STEPS or (self._usual_ns is None and len(forward)):
            self._usual_ns = float(np.median(forward))
        if self._usual_ns is None:
            return []
        limit = max(GAP_STEPS * self._usual_ns, GAP_NS)
        return [(int(row), int(steps[row])) for row in np.flatnonzero(steps > limit)]
