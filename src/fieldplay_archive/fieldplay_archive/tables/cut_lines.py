"""A last line without a line end may be a row whose last number is cut; the rows before tell how it should look."""

from fieldplay_archive.tables.number_rows import IGNORED, Dialect, tidy_text

LOOK_AT = 50  # rows before


def fault_of_cut_line(line: bytes, before: bytes, dialect: Dialect) -> str | None:
    """Why a last line without a line end is taken for cut; None where it looks whole, or is no row anyway.

    Its last number must have as many decimals as that of some row before it or, where those have none, as many digits.
    A column that is passed over, or whose number is taken out of a text, tells nothing.
    """
    name = dialect.columns[-1]
    last = _last_field(line, dialect)
    if last is None or name.startswith(IGNORED) or name in dialect.extract:
        return None
    found = [_last_field(other, dialect) for other in before.splitlines()[-LOOK_AT:]]
    others = [field for field in found if field]
    point = "," if dialect.decimal_comma else "."
    what, measure = ("decimals", _decimals) if any(point in field for field in others) else ("digits", _digits)
    fewest = min((measure(field, point) for field in others), default=0)
    if measure(last, point) >= fewest:
        return None
    expected = f"expected {fewest} {what} or more, as in the rows before, got '{last}'"
    return f"column {name}: {expected}; the file ends here, without a line end"


def _last_field(line: bytes, dialect: Dialect) -> str | None:
    """The text of a row's last number; None where a line has not as many fields as a row."""
    delimiter = dialect.delimiter
    text = tidy_text(line, delimiter=None if dialect.blanks else delimiter).decode("utf-8", "replace")
    return text.rpartition(delimiter)[2] if text.count(delimiter) == len(dialect.columns) - 1 else None


def _decimals(text: str, point: str) -> int:
    return len(text.partition(point)[2])


def _digits(text: str, _: str) -> int:
    return len(text.lstrip("+-"))
