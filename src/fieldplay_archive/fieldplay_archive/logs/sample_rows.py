"""The samples of some rows of a stream in any order: neighbours are read at once, and put where they belong."""

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.logs.rows import AlikeRows, Rows
from fieldplay_archive.logs.streams import LogStream
from fieldplay_archive.logs.template import Alike
from fieldplay_messages.errors import ArchiveError

FEWEST_ALIKE = 8  # rows one behind the other, in the mean, for which it pays to look whether they are alike
NEAR, NEAR_ALIKE = 4, 64  # rows between two that are read with them

Places = NDArray[np.intp]


def samples_of_rows(log: LogStream, rows: Places) -> Rows:
    """The samples of rows (n,); those that are alike but for their numbers are not unpacked."""
    begin, end = int(rows.min()), int(rows.max()) + 1
    is_run = end - begin == len(rows) and bool((np.diff(rows) == 1).all())
    order = np.argsort(rows, kind="stable")
    ascending = rows[order]
    with suppress(ArchiveError):
        if is_run and (columns := log.columns(begin, end)) is not None:
            return columns
        if is_run and (alike := log.alike(begin, end)) is not None:
            return AlikeRows(alike)
        if not is_run and (alike := _alike(log, ascending)) is not None:
            return AlikeRows(alike._replace(rows=alike.rows[_inverse(order)]))
    found = [sample for near in _groups(ascending, NEAR) for sample in _samples(log, near)]
    return Rows([found[place] for place in _inverse(order).tolist()])


def _alike(log: LogStream, rows: Places) -> Alike | None:
    """Samples of ascending rows that are all alike, and mostly near each other; else None."""
    groups = _groups(rows, NEAR_ALIKE)
    if len(rows) < FEWEST_ALIKE * len(groups):
        return None
    parts = []
    for near in groups:
        alike = log.alike(int(near[0]), int(near[-1]) + 1)
        if alike is None:
            return None
        parts.append(alike._replace(rows=alike.rows[near - near[0]]))
    template = parts[0].template
    if any(template.fitting(part.rows) < len(part.rows) for part in parts[1:]):
        return None
    return Alike(template, np.concatenate([part.rows for part in parts]))


def _samples(log: LogStream, rows: Places) -> list[Any]:
    """Samples of ascending rows; in the place of one that cannot be read its error."""
    begin = int(rows[0])
    try:
        found = log.samples(begin, int(rows[-1]) + 1, arrays=True)
    except ArchiveError:
        return [_sample_or_error(log, row) for row in rows.tolist()]
    return [found[row - begin] for row in rows.tolist()]


def _sample_or_error(log: LogStream, row: int) -> Any:
    try:
        return log.sample(row, arrays=True)
    except ArchiveError as error:
        return error


def _groups(rows: Places, apart: int) -> list[Places]:
    """Ascending rows that lie near each other."""
    return np.split(rows, np.flatnonzero(np.diff(rows) > apart) + 1)


def _inverse(order: Places) -> Places:
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    return inverse
