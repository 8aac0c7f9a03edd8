"""A player ends when it is asked to, whatever is under way."""

import signal
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread, get_ident

from fieldplay_ros.player_node import wait_heeding_signals
from fieldplay_testing.tiny_ameds import TinyAmeds

LOST = """
import signal, sys
from fieldplay_ros import player_node as node
def swallows(player):
    try:
        signal.raise_signal(signal.SIGINT)
    except BaseException:
        pass
node.Player.log_mismatches = swallows
sys.exit(node.main(["--ros-args", "-p", "archive:=ARCHIVE", "-p", "loop:=true", "-p", "wait_for_subscribers:=1"]))
"""


def test_signal_with_swallowed_exception_still_ends_player(tmp_path: Path) -> None:
    archive = TinyAmeds(tmp_path / "Traverse_5")
    archive.write_all()
    program = LOST.replace("ARCHIVE", str(archive.root))
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, "published" in ended.stderr + ended.stdout) == (0, True)


EARLY = """
import signal, sys
from fieldplay_ros import player_node as node
node.use_profile = lambda: signal.raise_signal(signal.SIGTERM)
sys.exit(node.main([]))
"""


def test_signal_before_node_exists_ends_player_without_traceback() -> None:
    ended = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


class Waited(Event):
    """Tells that somebody begins to wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.started = Event()

    def wait(self, timeout: float | None = None) -> bool:
        self.started.set()
        return super().wait(timeout)


def test_signal_in_another_thread_is_received() -> None:
    """The system chooses a thread of the process for it; handlers of Python run in the main thread alone."""
    done = Waited()
    before = signal.signal(signal.SIGUSR1, lambda *_: done.set())

    def take() -> None:
        done.started.wait()
        signal.pthread_kill(get_ident(), signal.SIGUSR1)

    other = Thread(target=take)
    other.start()
    try:
        wait_heeding_signals(done)
    finally:
        other.join()
        signal.signal(signal.SIGUSR1, before)
    assert done.is_set()
