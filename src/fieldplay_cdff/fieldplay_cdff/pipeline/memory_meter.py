"""Memory that a task of the process takes, as Linux counts it, without the overhead of tracing."""

from contextlib import suppress
from pathlib import Path

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
RESET_PEAK = "5"  # sets VmHWM to VmRSS, see proc(5)
PEAK, RESIDENT = "VmHWM", "VmRSS"
KIB = 1024


class MemoryMeter:
    """Memory beyond what was resident at the start of the task: its peak, and at the end.

    `method` is the source: VmHWM, the peak, reset before each task; VmRSS, where it cannot be reset, is only what is
    resident at the end; "" where there is no /proc, so that nothing is known. What other threads take meanwhile counts,
    and memory that the process had before, and uses again, does not.
    """

    def __init__(self) -> None:
        self.method = ""
        with suppress(OSError, ValueError):
            _status()
            self.method = RESIDENT
            _reset_peak()
            self.method = PEAK

    def start(self) -> int:
        """Return how much is resident (bytes), which `growth` takes."""
        if not self.method:
            return 0
        if self.method == PEAK:
            _reset_peak()
        return _status()[RESIDENT]

    def growth(self, start: int) -> tuple[int, int]:
        """Return the bytes that were resident beyond the start, at most and now; now may be below 0."""
        if not self.method:
            return 0, 0
        status = _status()
        end = status[RESIDENT] - start
        return (max(status[PEAK] - start, end, 0) if self.method == PEAK else max(end, 0)), end


def _reset_peak() -> None:
    CLEAR.write_text(RESET_PEAK)


def _status() -> dict[str, int]:
    """Resident bytes of the process, now and at the peak."""
    values = {}
    for line in STATUS.read_text().splitlines():
        name, _, value = line.partition(":")
        if name in (PEAK, RESIDENT):
            values[name] = int(value.split()[0]) * KIB
    if set(values) != {PEAK, RESIDENT}:
        raise ValueError(f"{STATUS}: expected {PEAK} and {RESIDENT}, got {', '.join(values) or 'neither'}")
    return values
