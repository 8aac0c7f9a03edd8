"""Lines of the archive's text files: `*<unix seconds> TEXT_TYPE data...`."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.motion.rotations import Floats
from fieldplay_samples.writers.text_tables import Stamps, stamp_texts

WIDTH = 5  # of a number with one decimal between 10 and 99.9, and the blank before it


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
