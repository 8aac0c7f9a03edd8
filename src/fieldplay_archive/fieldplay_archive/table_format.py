"""How a table of unknown hand is written: delimiter, header, and which column is which."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fieldplay_archive.errors import ArchiveError
from fieldplay_archive.number_rows import IGNORED, TIME, Dialect, NumberRows, rows_from_block, tidy_text

DELIMITERS = (";", "\t", ",")  # the comma last, as it may be a decimal one
COMMENT = ("#", "%", "//")
LOOK_AT = 50  # lines
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, kw_only=True)
class TableSpec:
    """What is known of a table before it is seen: the orders its columns may stand in, and how headers name them.

    A layout names every column in order, `time` among them; a name that begins with `_` is passed over.
    `header` gives, for a column, regular expressions of its name in a header (in lower case, other signs as `_`).
    `ranges` gives, for a column of numbers, the least and the largest that has a meaning. `blanks` and `extract` are
    those of Dialect. Where it is usual that rows share a time (`repeated_times`) this is counted and no defect.
    """

    layouts: Sequence[Sequence[str]]
    header: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    blanks: bool = False
    extract: Mapping[str, str] = field(default_factory=dict)
    repeated_times: bool = False

    def format_from_head(self, head: bytes) -> "TableFormat":
        """How a file is written that begins so."""
        return format_from_head(head, self)


@dataclass(frozen=True, kw_only=True)
class TableFormat:
    """What was found: how to read the rows, where they begin, and how the columns were told apart."""

    dialect: Dialect
    first_byte: int
    first_line: int  # counted from 1
    mapping: str  # "header", "position", or "position, its header is not understood"

    def rows(self, block: bytes) -> NumberRows:
        """The rows of a block of whole lines."""
        return rows_from_block(block, self.dialect)


def format_from_head(head: bytes, spec: TableSpec) -> TableFormat:
    """Find out the format from the beginning of a file (whole lines); ArchiveError if it has no known layout."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ArchiveError("expected text in UTF-8 or ASCII, got UTF-16")
    start = len(BOM) if head.startswith(BOM) else 0
    lines = head[start:].splitlines(keepends=True)
    tidied = [tidy_text(line, blanks=True) for line in lines] if spec.blanks else lines
    texts = [line.decode("utf-8", "replace").strip() for line in tidied]
    first = _first_row(texts)
    rows = [text for text in texts[first : first + LOOK_AT] if text]
    if not rows:
        raise ArchiveError("expected rows of numbers, got none")
    delimiter, count = _delimiter(rows)
    decimal_comma = delimiter != "," and any("," in row for row in rows)
    columns, mapping = _columns([text for text in reversed(texts[:first]) if text], delimiter, count, spec)
    return TableFormat(
        dialect=Dialect(tuple(columns), delimiter, decimal_comma, spec.blanks, _extracts(columns, spec)),
        first_byte=start + sum(map(len, lines[:first])),
        first_line=first + 1,
        mapping=mapping,
    )


def _extracts(columns: Sequence[str], spec: TableSpec) -> Mapping[str, str]:
    return {name: pattern for name, pattern in spec.extract.items() if name in columns}


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
    for delimiter in DELIMITERS:
        count, votes = Counter(row.count(delimiter) for row in rows).most_common(1)[0]
        if count > 0 and votes > agreed:
            best, columns, agreed = delimiter, count + 1, votes
    return best, columns


def _columns(before: Sequence[str], delimiter: str, count: int, spec: TableSpec) -> tuple[Sequence[str], str]:
    """The columns, and how they were told apart, from the lines before the rows, the nearest first.

    A header may have a line of units below it, or of comments.
    """
    headers = [_titles(line, delimiter, spec) for line in before]
    headers = [titles for titles in headers if len(titles) == count]
    for titles in headers:
        named = _columns_of_titles(titles, spec)
        if named is not None:
            return named, "header"
    for layout in spec.layouts:
        if len(layout) == count:
            for titles in headers:
                _refuse_other_order(titles, layout)
            return layout, "position, its header is not understood" if before else "position"
    expected = " or ".join(str(len(layout)) for layout in spec.layouts)
    raise ArchiveError(f"expected {expected} columns, got {count}")


def _titles(header: str, delimiter: str, spec: TableSpec) -> list[str | None]:
    """The columns that the titles of a header stand for, None where one is not understood."""
    titles = header.lstrip("".join(COMMENT)).split(delimiter)
    return [_column_of_title(normal_title(title), spec) for title in titles]


def _columns_of_titles(titles: Sequence[str | None], spec: TableSpec) -> list[str] | None:
    """The columns as a header names them, if it names all of a layout, each once."""
    columns = [name or f"{IGNORED}{index}" for index, name in enumerate(titles)]
    known = [name for name in columns if not name.startswith(IGNORED)]
    wanted = [{name for name in layout if not name.startswith(IGNORED)} for layout in spec.layouts]
    if len(set(known)) != len(known) or TIME not in known:
        return None
    return columns if any(names <= set(known) for names in wanted) else None


def _refuse_other_order(titles: Sequence[str | None], layout: Sequence[str]) -> None:
    """A header of which only a part is understood must not name another order than the layout's."""
    for place, (title, column) in enumerate(zip(titles, layout, strict=True), start=1):
        if title not in (None, column) and titles.count(title) == 1 and not column.startswith(IGNORED):
            raise ArchiveError(f"expected column {place} to be {column}, got a header that calls it {title}")


def normal_title(title: str) -> str:
    """A header's title in lower case, without units in brackets, all but letters and digits as single `_`."""
    title = re.sub(r"\(.*?\)|\[.*?\]", " ", title.strip().strip('"').lower())
    return re.sub(r"[^a-z0-9]+", "_", title).strip("_")


def _column_of_title(title: str, spec: TableSpec) -> str | None:
    for name, patterns in spec.header.items():
        if title == name or any(re.fullmatch(pattern, title) for pattern in patterns):
            return name
    return None
