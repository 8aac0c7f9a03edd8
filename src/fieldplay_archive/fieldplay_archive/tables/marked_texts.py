"""Lists of names or times in lines such as `*<seconds> TYPE name`, in all forms that numbers are written in."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.tables.marked_fields import Fields, fields_from_block
from fieldplay_archive.tables.number_rows import SHOWN, BadLine
from fieldplay_messages.stamps import ns_from_texts


@dataclass(frozen=True, kw_only=True, eq=False)
class MarkedTexts:
    """Lines in their order: times (n,), the text behind each, empty where there is none, and lines (n,) from 0."""

    stamp_ns: NDArray[np.int64]
    texts: tuple[str, ...]
    line: NDArray[np.int64]
    bad: tuple[BadLine, ...]


def texts_from_lines(block: bytes, kind: str = "") -> MarkedTexts:
    """Lines of a time, perhaps the word `kind` in any case, and a text without blanks or nothing."""
    fields = fields_from_block(block)
    stamp_ns, is_time = ns_from_texts(fields.texts(fields.first))
    texts: list[str] = []
    bad: list[BadLine] = []
    kept: list[int] = []
    for row, good in enumerate(is_time.tolist()):
        text, fault = _text(fields, row, kind) if good else ("", _no_time(fields, row))
        if fault is None:
            kept.append(row)
            texts.append(text)
        else:
            bad.append(fault)
    return MarkedTexts(stamp_ns=stamp_ns[kept], texts=tuple(texts), line=fields.line[kept], bad=tuple(bad))


def _text(fields: Fields, row: int, kind: str) -> tuple[str, BadLine | None]:
    first, count = int(fields.first[row]), int(fields.count[row])
    words = [fields.shown(index) for index in range(first + 1, first + min(count, 4))]
    has_kind = bool(kind) and [word.upper() for word in words[:1]] == [kind.upper()]
    rest = words[has_kind:]
    if len(rest) > 1 or (has_kind and not rest):
        problem = "short_row" if not rest else "long_row"
        shown = fields.line_shown(row)[:SHOWN]
        return "", BadLine(int(fields.line[row]), problem, f"expected a time, {kind or 'a word'} and a name: '{shown}'")
    return (rest[0] if rest else ""), None


def _no_time(fields: Fields, row: int) -> BadLine:
    got = fields.shown(int(fields.first[row]))[:SHOWN]
    return BadLine(int(fields.line[row]), "not_a_number", f"column time: expected a time in seconds, got '{got}'")
