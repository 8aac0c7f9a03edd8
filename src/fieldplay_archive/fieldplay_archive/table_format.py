"""How a table of unknown hand is written: delimiter, header, and which column is which."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fieldplay_archive.errors import ArchiveError
from fieldplay_archive.number_rows import IGNORED, TIME, Dialect

DELIMITERS = (",", ";", "\t")
COMMENT = ("#", "%", "//")
LOOK_AT = 50  # lines
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, kw_only=True)
class TableSpec:
    """What is known of a table before it is seen: the orders its columns may stand in, and how headers name them.

    A layout names every column in order, `time` among them; a name that begins with `_` is passed over.
    `header` gives, for a column, regular expressions of its name in a header (in lower case, other signs as `_`).
    """

    layouts: Sequence[Sequence[str]]
    header: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TableFormat:
    """What was found: how to read the rows, where they begin, and how the columns were told apart."""

    dialect: Dialect
    first_byte: int
    first_line: int  # counted from 1
    mapping: str  # "header", "position", or "position, its header is not understood"


def format_from_head(head: bytes, spec: TableSpec) -> TableFormat:
    """Find out the format from the beginning of a file (whole lines); ArchiveError if it has no known layout."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ArchiveError("expected text in UTF-8 or ASCII, got UTF-16")
    start = len(BOM) if head.startswith(BOM) else 0
    lines = head[start:].splitlines(keepends=True)
    texts = [line.decode("utf-8", "replace").strip() for line in lines]
    first = _first_row(texts)
    rows = [text for text in texts[first : first + LOOK_AT] if text]
    if not rows:
        raise ArchiveError("expected rows of numbers, got none")
    delimiter, count = _delimiter(rows)
    decimal_comma = delimiter != "," and any("," in row for row in rows)
    header = next((text for text in reversed(texts[:first]) if text), None)
    columns, mapping = _columns(header, delimiter, count, spec)
    return TableFormat(
        dialect=Dialect(tuple(columns), delimiter, decimal_comma),
        first_byte=start + sum(map(len, lines[:first])),
        first_line=first + 1,
        mapping=mapping,
    )


def _first_row(texts: Sequence[str]) -> int:
    """The index of the first line whose first field is a number."""
    for index, text in enumerate(texts):
        if text and not text.startswith(COMMENT) and _begins_with_number(text):
            return index
    return len(texts)


def _begins_with_number(text: str) -> bool:
    try:
        float(re.split(r"[;,\t]", text, maxsplit=1)[0].strip().strip('"'))
    except ValueError:
        return False
    return True


def _delimiter(rows: Sequence[str]) -> tuple[str, int]:
    """The delimiter and the number of columns that most rows agree on; `,` last, as it may be a decimal comma."""
    best, columns, agreed = ",", 1, 0
    for delimiter in (";", "\t", ","):
        count, votes = Counter(row.count(delimiter) for row in rows).most_common(1)[0]
        if count > 0 and votes > agreed:
            best, columns, agreed = delimiter, count + 1, votes
    return best, columns


def _columns(header: str | None, delimiter: str, count: int, spec: TableSpec) -> tuple[Sequence[str], str]:
    if header is not None:
        named = _columns_of_header(header, delimiter, count, spec)
        if named is not None:
            return named, "header"
    for layout in spec.layouts:
        if len(layout) == count:
            return layout, "position" if header is None else "position, its header is not understood"
    expected = " or ".join(str(len(layout)) for layout in spec.layouts)
    raise ArchiveError(f"expected {expected} columns, got {count}")


def _columns_of_header(header: str, delimiter: str, count: int, spec: TableSpec) -> list[str] | None:
    """The columns as a header names them, if it names all of a layout, each once."""
    titles = [normal_title(title) for title in header.lstrip("".join(COMMENT)).split(delimiter)]
    if len(titles) != count:
        return None
    columns = [_column_of_title(title, spec) or f"{IGNORED}{index}" for index, title in enumerate(titles)]
    known = [name for name in columns if not name.startswith(IGNORED)]
    wanted = [{name for name in layout if not name.startswith(IGNORED)} for layout in spec.layouts]
    if len(set(known)) != len(known) or TIME not in known:
        return None
    return columns if any(names <= set(known) for names in wanted) else None


def normal_title(title: str) -> str:
    """A header's title in lower case, without units in brackets, all but letters and digits as single `_`."""
    title = re.sub(r"\(.*?\)|\[.*?\]", " ", title.strip().strip('"').lower())
    return re.sub(r"[^a-z0-9]+", "_", title).strip("_")


def _column_of_title(title: str, spec: TableSpec) -> str | None:
    for name, patterns in spec.header.items():
        if title == name or any(re.fullmatch(pattern, title) for pattern in patterns):
            return name
    return None
