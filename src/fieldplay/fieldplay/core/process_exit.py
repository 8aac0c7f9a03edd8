"""Ends of programs: bounded, as the middleware may never let go of the network; and with that of what started them."""

import ctypes
import faulthandler
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import current_thread, main_thread

ENDING_S = 4.0  # a launch asks a second time after 5 s, and kills after 10 s
LAST_S = 0.2  # for what is said of it
DONE, FAILED = 0, 1
CLOCK_MONOTONIC, SIGEV_THREAD = 1, 2
PR_SET_PDEATHSIG = 1
EXIT_WITH_ENV = "FIELDPLAY_ENDS_WITH"  # the process whose end is to be that of all that it starts


class _Event(ctypes.Structure):
    """What a timer of the system does: glibc's `struct sigevent`, 64 bytes."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("rest", ctypes.c_byte * 32),
    )


class _Times(ctypes.Structure):
    """A period and a first time: `struct itimerspec`."""

    _fields_ = tuple((name, ctypes.c_long) for name in ("period_s", "period_ns", "first_s", "first_ns"))


@contextmanager
def exit_deadline(within_s: float = ENDING_S, *, is_last: bool = True) -> Iterator[None]:
    """What stands within has so long: then the process says where its threads stand, and ends; all is done but this.

    The exit code is that of a failure where an error is on its way; a signal's exception is none. Where this is not the
    last that there is to do, to end here is a failure.
    No thread of Python could do so: rclpy holds its lock while it waits for the middleware. So a timer of the system
    calls `_exit`; where there is none, the end is that of faulthandler, with 1.
    """
    timer = ExitTimer(DONE if is_last and not isinstance(sys.exc_info()[1], Exception) else FAILED)
    faulthandler.dump_traceback_later(within_s, exit=not timer.exists, file=sys.__stderr__ or sys.stderr)
    timer.start(within_s + LAST_S)
    try:
        yield
    finally:
        timer.stop()
        faulthandler.cancel_dump_traceback_later()


@contextmanager
def keep_interrupt_handler() -> Iterator[None]:
    """Keep the handler of SIGINT where what is imported meanwhile replaces it.

    polars does, when it is first imported, without Python's knowledge: a handler that a program has installed before
    would ignore Ctrl-C.
    """
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if handler is not None and current_thread() is main_thread():
            signal.signal(signal.SIGINT, handler)


class ExitTimer:
    """A timer that ends the process with a code, whoever holds Python's lock, and whatever its threads do."""

    def __init__(self, code: int) -> None:
        self._code = code
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._id = ctypes.c_void_p()
        self.exists = hasattr(self._libc, "timer_create") and self._create() == 0

    def start(self, after_s: float) -> None:
        """Begin to count."""
        if self.exists:
            seconds = int(after_s)
            times = _Times(first_s=seconds, first_ns=round((after_s - seconds) * 1e9))
            self._libc.timer_settime(self._id, 0, ctypes.byref(times), None)

    def stop(self) -> None:
        """Let the process live."""
        if self.exists:
            self._libc.timer_delete(self._id)

    def _create(self) -> int:
        leave = ctypes.cast(self._libc._exit, ctypes.c_void_p)
        event = _Event(value=self._code, notify=SIGEV_THREAD, function=leave.value)
        return int(self._libc.timer_create(CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(self._id)))


def end_with_launch() -> None:
    """Have SIGINT come when the launch that started this process is gone, as it does where the launch ends in order.

    Whoever kills a launch would leave its programs behind, a player that plays again and again for ever.
    """
    launch = os.environ.get(EXIT_WITH_ENV, "")
    if sys.platform != "linux" or not launch.isdecimal():
        return
    if os.getppid() == int(launch):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)
    if _has_ended(launch):
        signal.raise_signal(signal.SIGINT)


def _has_ended(pid: str) -> bool:
    """Whether a process is gone, or waits for nothing but that its parent asks how it ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except OSError:
        return True
    return state in (b"Z", b"X")
