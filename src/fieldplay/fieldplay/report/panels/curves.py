"""Numbers of a topic over time, in buckets, as curves of a chart."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fieldplay.report.html.charts import Curve
from fieldplay.report.panels.buckets import Buckets, drawn_width_ns
from fieldplay.report.panels.overview import Overview

Array = NDArray[np.float64]

DRAWN = 256  # of points of a curve, gaps or not
LARGEST = 1e30  # no measurement is larger: it counts as infinite


class Numbers:
    """Columns of numbers over time, in bounded memory; what is not finite is counted and left out."""

    def __init__(self, labels: Sequence[str], *, turn: float | None = None) -> None:
        self.labels = tuple(labels)
        self._turn = turn
        self._last: Array = np.zeros((0, len(labels)))
        self._buckets = Buckets(len(labels))
        self.not_a_number: Counter[str] = Counter()
        self.infinite: Counter[str] = Counter()
        self.is_zero = True

    def add(self, stamp_ns: NDArray[np.int64], values: Array) -> None:
        """Further rows: times (n,) and numbers (n, labels)."""
        self.is_zero = self.is_zero and not values.any()
        values = np.where(np.abs(values) > LARGEST, np.inf, values)
        for found, is_bad in ((self.not_a_number, np.isnan(values)), (self.infinite, np.isinf(values))):
            for label, count in zip(self.labels, is_bad.sum(axis=0).tolist(), strict=True):
                if count:
                    found[label] += count
        self._buckets.add(stamp_ns, values if self._turn is None else self._unwrapped(values, self._turn))

    def _unwrapped(self, values: Array, turn: float) -> Array:
        """Angles (n, labels) without the steps of a whole turn, going on from those before."""
        there = np.isfinite(values).all(axis=1)
        joined = np.unwrap(np.concatenate([self._last, values[there]]), axis=0, period=turn)
        whole = np.full(values.shape, np.nan)
        whole[there] = joined[len(self._last) :]
        self._last = joined[-1:]
        return whole

    def curves(self, overview: Overview) -> list[Curve]:
        """A curve of means for each column that has any, and the band between lowest and highest."""
        buckets = self._buckets.widened(drawn_width_ns(self._buckets, overview.pieces_ns, DRAWN))
        x = np.clip(overview.seconds(buckets.stamp_ns), 0.0, overview.duration_s)
        low, high, mean = buckets.low, buckets.high, buckets.mean
        return [
            Curve(
                label,
                x,
                mean[:, index],
                _finite(low[:, index], mean[:, index]),
                _finite(high[:, index], mean[:, index]),
            )
            for index, label in enumerate(self.labels)
        ]


def _finite(values: Array, instead: Array) -> Array:
    return np.where(np.isfinite(values), values, instead)
