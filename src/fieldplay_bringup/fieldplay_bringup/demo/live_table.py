"""A table of what is heard, drawn again and again at the same place of a terminal."""

import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from math import isfinite
from typing import TextIO

from fieldplay_bringup.demo.received import Heard

EVERY_S, EVERY_S_IN_A_FILE = 0.5, 5.0


def table_lines(heard: Mapping[str, Heard], now_s: float | None, width: int) -> list[str]:
    """Topic, type, rate, count, lag; of the last seconds, or at the end (no time) over all."""
    names = max((len(topic) for topic in heard), default=0)
    moving = [one.behind_s for one in heard.values() if _has_lag(one)]
    begin = min(moving, default=0.0)
    lines = [f"{'topic':{names}}  {'Hz':>7}  {'messages':>8}  {'lag ms':>7}  type"]
    for topic, one in heard.items():
        if not one.digests:
            lines.append(f"{topic:{names}}  {'-':>7}  {0:>8}  {'-':>7}  {one.msgtype}")
            continue
        rate = one.mean_rate_hz() if now_s is None else one.rate_hz(now_s)
        lag = f"{(one.behind_s - begin) * 1e3:7.1f}" if _has_lag(one) else f"{'-':>7}"
        lines.append(f"{topic:{names}}  {rate:7.1f}  {len(one.digests):>8}  {lag}  {one.msgtype}")
    return [line[:width] for line in lines]


def _has_lag(topic: Heard) -> bool:
    return len(topic.digests) > 1 and isfinite(topic.behind_s)


class LiveTable:
    """Draws on a terminal; into a file it writes a line now and then."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._on_terminal = out.isatty()
        self._every_s = EVERY_S if self._on_terminal else EVERY_S_IN_A_FILE
        self._next_s = time.monotonic() + (0 if self._on_terminal else self._every_s)
        self._drawn = 0

    def show(self, heard: Mapping[str, Heard]) -> None:
        """Draw if it is time to."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + self._every_s
        if self._on_terminal:
            self._draw(table_lines(heard, now_s, self._width()))
        else:
            count, topics = (
                sum(len(one.digests) for one in heard.values()),
                sum(bool(one.digests) for one in heard.values()),
            )
            self._write(f"  {count} messages on {topics} of {len(heard)} topics\n")

    def finish(self, heard: Mapping[str, Heard]) -> None:
        """The table over all, which stays."""
        self._draw(table_lines(heard, None, self._width() if self._on_terminal else 200))

    def _draw(self, lines: list[str]) -> None:
        height = shutil.get_terminal_size().lines - 2
        if self._on_terminal and len(lines) > height:
            lines = [*lines[: height - 1], f"... and {len(lines) - height + 1} more topics"]
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        clear = "\x1b[K" if self._on_terminal else ""
        self._write(up + "".join(f"{clear}{line}\n" for line in lines))
        self._drawn = len(lines)

    @staticmethod
    def _width() -> int:
        return shutil.get_terminal_size().columns

    def _write(self, text: str) -> None:
        """What nobody reads must not end the demo."""
        with suppress(OSError):
            self._out.write(text)
            self._out.flush()
