"""The fields of lines such as `*<seconds> TYPE numbers`, all found and read at once; a line may have any number."""

import io
from dataclasses import dataclass, replace

import numpy as np
import polars
from numpy.typing import NDArray

from fieldplay_archive.tables.number_rows import tidy_text

Places = NDArray[np.int64]
NEWLINE, STAR = b"\n", b"*"
FIELD_A_LINE, BLANKS = bytes.maketrans(b" \t,", NEWLINE * 3), bytes.maketrans(b"\t,", b"  ")
LONGEST = 64  # characters of a field that are looked at where it is a text
NOTHING: NDArray[np.float64] = np.zeros(0)
SCHEMA = {"value": polars.Float64()}


@dataclass(frozen=True, kw_only=True, eq=False)
class Fields:
    """All k fields of a block, and the n lines of it that are not blank.

    Of a field: where its text begins and ends, and its number, NaN where it is none. Of a line: its place in the block,
    counted from 0, its first field, and how many it has.
    """

    text: bytes
    begin: Places
    end: Places
    value: NDArray[np.float64]
    line: Places
    first: Places
    count: Places

    def texts(self, fields: Places) -> NDArray[np.bytes_]:
        """The texts of some fields (n,)."""
        begin, size = self.begin[fields], self.end[fields] - self.begin[fields]
        width = min(int(size.max(initial=1)), LONGEST) or 1
        places = begin[:, None] + np.arange(width)
        letters = np.frombuffer(self.text + bytes(1), np.uint8)[np.minimum(places, len(self.text))]
        letters[np.arange(width) >= size[:, None]] = 0
        found: NDArray[np.bytes_] = np.ascontiguousarray(letters).view(f"S{width}")[:, 0]
        return found

    def shown(self, field: int) -> str:
        """The text of one field, to be shown."""
        return self.text[self.begin[field] : self.end[field]].decode("utf-8", "replace")

    def line_shown(self, row: int) -> str:
        """The text of a line, to be shown."""
        first, last = self.first[row], self.first[row] + self.count[row] - 1
        return self.text[self.begin[first] : self.end[last]].translate(BLANKS).decode("utf-8", "replace")


def fields_from_block(block: bytes) -> Fields:
    """The fields of a block of whole lines, parted by blanks, tabs and commas; a star before a line is none."""
    text = block if not block or block.endswith(NEWLINE) else block + NEWLINE
    if b"\r" in text:
        text = text.replace(b"\r\n", NEWLINE)
    flat = text.translate(FIELD_A_LINE)
    fields = _places(text, flat)
    if (fields.end == fields.begin).any():  # signs beside each other, or a star alone: few logs have them
        text = _tidy(text)
        flat = text.translate(FIELD_A_LINE)
        fields = _places(text, flat)
    value = _numbers(flat)
    if len(value) != len(fields.end):
        raise AssertionError(f"{len(fields.end)} fields were read as {len(value)}")
    return replace(fields, value=value)


def _places(text: bytes, flat: bytes) -> Fields:
    """The fields without their numbers, from the text and the same with a field a line."""
    letters = np.frombuffer(text, np.uint8)
    end = np.flatnonzero(np.frombuffer(flat, np.uint8) == NEWLINE[0])
    begin = np.concatenate([np.zeros(min(len(end), 1), np.int64), end[:-1] + 1])
    last = np.flatnonzero(letters[end] == NEWLINE[0])
    first = np.concatenate([np.zeros(min(len(last), 1), np.int64), last[:-1] + 1])
    begin[first] += letters[begin[first]] == STAR[0]
    line = np.flatnonzero((last > first) | (end[last] > begin[first]))
    return Fields(
        text=text, begin=begin, end=end, value=NOTHING, line=line, first=first[line], count=(last - first + 1)[line]
    )


def _tidy(text: bytes) -> bytes:
    """The lines where they were, one comma between fields, none behind the last, the star before the first one.

    An empty field between two commas stays one.
    """
    text = NEWLINE + tidy_text(text, delimiter=None)
    return text.replace(b"\n*,", b"\n*").replace(b",\n", NEWLINE)[1:]


def _numbers(flat: bytes) -> NDArray[np.float64]:
    """The number in each line, NaN where there is none."""
    if not flat:
        return np.zeros(0)
    frame = polars.read_csv(
        io.BytesIO(flat),
        has_header=False,
        separator="\t",
        schema=SCHEMA,
        ignore_errors=True,
        quote_char=None,
        encoding="utf8-lossy",
    )
    return np.asarray(frame["value"].fill_null(np.nan).to_numpy(), np.float64)
