"""Runs of tests begin alike, however they were started."""

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from fieldplay_testing.session import hear_interrupts

INTERRUPTED = "import signal; signal.raise_signal(signal.SIGINT); print('went on')"


@pytest.fixture
def in_background() -> Iterator[None]:
    """As a shell starts what runs beside it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("in_background")
def test_what_a_run_in_the_background_starts_can_be_interrupted() -> None:
    assert subprocess.run([sys.executable, "-Sc", INTERRUPTED], capture_output=True, check=True).stdout == b"went on\n"
    hear_interrupts()
    ended = subprocess.run([sys.executable, "-Sc", INTERRUPTED], capture_output=True, check=False)
    assert (ended.returncode, ended.stdout) == (-signal.SIGINT, b"")


def test_who_hears_already_is_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    hear_interrupts()
    assert signal.getsignal(signal.SIGINT) is before
