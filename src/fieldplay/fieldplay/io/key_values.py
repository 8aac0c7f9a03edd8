"""Text of lines `key = value`, in blocks below headings: numbers, `[ a b c ]`, and matrices over several lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

NEXT_LINE = "\x1f"  # where a value goes on in the next line
LONGEST_HEADING, SHOWN = 200, 40  # characters
IN_BRACKETS = re.compile(r"\[[^\[\]=]*\]")
COLUMNS = re.compile(r"\[[\s\x1f]*[A-Za-z][^\[\]=]*\]")  # a key `[a b c]` names the columns of its value
OF_NUMBERS = frozenset(" \t[](),;\x1f+-0123456789.eElIO")
PARTED_SIGN = re.compile(r"(?<![\w.])([+-])\s+(?=[\d.])")
CODE = re.compile(r"(0[xX])?[0-9A-Fa-f]+")
BREAKS = re.compile(r"[\s\[\](),;]+")
MINUS = str.maketrans({"−": "-", "–": "-", "\u00a0": " "})
LETTERS = str.maketrans({"l": "1", "I": "1", "O": "0"})  # as programs that read print mistake them
LINE_ENDS = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class KeyLine:
    """A line as it counts: where it stands in the file, from 1, and its text, brackets closed. Key "" is none.

    `is_last` says that nothing comes after it, `is_ended` that a line end does.
    """

    number: int
    text: str
    key: str = ""
    value: str = ""
    is_last: bool = False
    is_ended: bool = True

    @property
    def is_open(self) -> bool:
        """Whether a bracket of its value is never closed."""
        return self.value.count("[") > self.value.count("]")

    @property
    def is_cut(self) -> bool:
        """Whether the text ends within its brackets: its last number may be a part of one."""
        return self.is_open and self.is_last

    @property
    def numbers(self) -> NDArray[np.float64] | None:
        """The numbers of its value; None where it holds something else, or is cut."""
        return None if self.is_cut else numbers_of_value(self.value)

    def matches(self, heading: re.Pattern[str]) -> re.Match[str] | None:
        """Whether it is a heading of a kind; a long line is none."""
        return heading.fullmatch(self.text) if len(self.text) <= LONGEST_HEADING else None

    @property
    def shown(self) -> str:
        """Its start, short enough for a message."""
        return _printable(self.text[:SHOWN])

    @property
    def shown_end(self) -> str:
        """The end of its value, fit for a message."""
        return _printable(self.value.replace(NEXT_LINE, " ")[-SHOWN:])


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def lines_of_text(data: bytes) -> list[KeyLine]:
    """The lines that hold something, what goes on over several joined: those with a key, and the others.

    A key is a word, or a list of column names in brackets.
    """
    lines: list[KeyLine] = []
    decoded = _decode(data)
    for number, text in _numbered_lines(decoded):
        key, equals, value = (part.strip() for part in text.partition("="))
        if equals and (key[:1].isalpha() or COLUMNS.fullmatch(key)):
            lines.append(KeyLine(number, text.strip(), key, value))
        elif lines and lines[-1].key and OF_NUMBERS.issuperset(text) and any(map(str.isdigit, text)):
            last = lines[-1]
            lines[-1] = KeyLine(last.number, last.text, last.key, f"{last.value}{NEXT_LINE}{text.strip()}")
        else:
            lines.append(KeyLine(number, text.strip()))
    if lines:
        lines[-1] = replace(lines[-1], is_last=True, is_ended=decoded.rstrip(" \t")[-1:] in ("\n", "\r"))
    return lines


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig").translate(MINUS)
    except UnicodeDecodeError:
        return data.decode("latin-1").translate(MINUS)


def _numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, without empty ones; brackets do not span lines."""
    text = LINE_ENDS.sub("\n", text)
    text = IN_BRACKETS.sub(lambda match: match[0].replace("\n", NEXT_LINE), text)
    number = 1
    for line in text.split("\n"):
        if line.strip():
            yield number, line
        number += 1 + line.count(NEXT_LINE)


def plain_key(key: str) -> str:
    """A key whatever it lost: without underscores, blanks and points, in lower case, each l as 1."""
    return re.sub(r"[^a-z0-9]", "", key.lower()).replace("l", "1")


def numbers_of_value(value: str) -> NDArray[np.float64] | None:
    """The numbers of a value: a scalar (), a vector (n,) or, where it stands in equal lines, a matrix (m, n).

    None where it holds something else. A sign that stands apart from its number belongs to it.
    """
    lines = [_tokens(line) for line in PARTED_SIGN.sub(r"\1", value).split(NEXT_LINE)]
    rows = [[_number(token) for token in line] for line in lines if line]
    if not rows or any(number is None for row in rows for number in row):
        return None
    if len(rows) > 1 and len({len(row) for row in rows}) == 1:
        return np.array(rows, float)
    flat = np.array([number for row in rows for number in row], float)
    return flat[0].reshape(()) if len(flat) == 1 and "[" not in value else flat


def codes_of_value(value: str) -> list[int] | None:
    """The hexadecimal codes of a value such as `[ 0 4A ]` or `0x0040`; None where it holds something else."""
    tokens = [token.translate(LETTERS) for token in _tokens(value.replace(NEXT_LINE, " "))]
    if not tokens or not all(CODE.fullmatch(token) for token in tokens):
        return None
    return [int(token, 16) for token in tokens]


def _tokens(text: str) -> list[str]:
    return [token for token in BREAKS.split(text) if token]


def _number(token: str) -> float | None:
    for text in (token, token.translate(LETTERS)):
        try:
            number = float(text) if not text.lower().startswith("0x") else float(int(text, 16))
        except ValueError:
            continue
        return number if np.isfinite(number) else None
    return None
