"""Tables as text: columns with fixed decimals, a row per stamp."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.motion.rotations import Floats

Stamps = NDArray[np.int64]
NS_PER_S = 1_000_000_000
WIDTH = 5  # of a number with one decimal between 10 and 99.9, and the blank before it


@dataclass(frozen=True, eq=False, kw_only=True)
class TextColumn:
    """A column (n,): numbers with so many decimals, whole numbers, or times in ns, which are written in seconds."""

    name: str
    values: Floats | Stamps
    decimals: int = 0
    is_time: bool = False


def time_column(name: str, stamp_ns: Stamps) -> TextColumn:
    """A column of unix times in seconds, exact to the nanosecond."""
    return TextColumn(name=name, values=stamp_ns, is_time=True)


def columns(names: Sequence[str], values: Floats | Stamps, decimals: int = 0) -> list[TextColumn]:
    """A column for each name, from an array (n, m)."""
    return [
        TextColumn(name=name, values=values[:, number], decimals=decimals)
        for number, name in zip(range(values.shape[1]), names, strict=True)
    ]


def text_of(table: Sequence[TextColumn], *, header: bool = True) -> str:
    """The table as comma-separated text, with a first row of names if asked for."""
    formats, lists = [], []
    for column in table:
        if column.is_time:
            formats.append("%d.%09d")
            lists += [part.tolist() for part in np.divmod(column.values, NS_PER_S)]
        elif column.values.dtype.kind == "i":
            formats.append("%d")
            lists.append(column.values.tolist())
        else:
            formats.append(f"%.{column.decimals}f")
            lists.append((np.round(column.values, column.decimals) + 0.0).tolist())  # + 0.0: no -0.000
    row = ",".join(formats) + "\n"
    first = ",".join(column.name for column in table) + "\n" if header else ""
    return first + "".join(map(row.__mod__, zip(*lists, strict=True)))


def write_table(path: Path, table: Sequence[TextColumn], *, header: bool = True) -> None:
    """Write a table to a file."""
    path.write_text(text_of(table, header=header), "utf-8", newline="")


def stamp_texts(stamp_ns: Stamps) -> list[str]:
    """Unix times (n,) in seconds with six decimals."""
    return [f"{stamp // NS_PER_S}.{stamp % NS_PER_S // 1000:06d}" for stamp in stamp_ns.tolist()]


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file, in a folder that is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="")


def tagged_lines(stamp_ns: Stamps, texts: Iterable[str]) -> list[str]:
    """Return a line for each stamp (n,) and its text."""
    return [f"*{stamp} {text}" for stamp, text in zip(stamp_texts(stamp_ns), texts, strict=True)]


def number_texts(values: Floats, form: str) -> list[str]:
    """Rows (n, m) of numbers, parted by blanks, each in its format; -0 is written as 0."""
    row = " ".join([form] * values.shape[1])
    return [row % tuple(one) for one in (values + 0.0).tolist()]


def tenths_block(values: Floats) -> NDArray[np.uint8]:
    """Numbers (n, m) from 10.0 to 99.9 as bytes (n, 5 m): a blank and two digits, a point, one digit for each."""
    tenths = np.round(values * 10.0).astype(np.int64)
    digits = np.full((*values.shape, WIDTH), ord(" "), np.uint8)
    digits[..., 3] = ord(".")
    for index, unit in ((1, 100), (2, 10), (4, 1)):
        digits[..., index] = ord("0") + tenths // unit % 10
    return digits.reshape(len(values), -1)
