"""What an option's text may be, beyond what int and float take."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError


def positive_int(text: str) -> int:
    """Return the whole number above zero that ``text`` says."""
    value = _int(text)
    if value is None or value <= 0:
        raise ArgumentTypeError("value must be a positive integer")
    return value


def unsigned_int(text: str) -> int:
    """Return the whole number, zero or above, that ``text`` says."""
    value = _int(text)
    if value is None or value < 0:
        raise ArgumentTypeError("value must be non-negative integer")
    return value


def positive_float(text: str) -> float:
    """Return the number above zero that ``text`` says."""
    try:
        value = float(text)
    except ValueError:
        raise ArgumentTypeError("Expects a floating point number") from None
    # The comparison is turned round so that not-a-number is refused too.
    if not value > 0.0:
        raise ArgumentTypeError("Value must be positive")
    return value


def add_window_argument(parser: ArgumentParser, size: int) -> None:
    """Add over how many messages is averaged."""
    parser.add_argument(
        "--window",
        "-w",
        dest="window_size",
        metavar="WINDOW",
        type=positive_int,
        default=size,
        help="Number of messages to average over (default: %(default)s)",
    )


def _int(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
