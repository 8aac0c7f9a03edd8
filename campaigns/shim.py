"""What is loaded before the C library (faults.c): it counts requests of files, lets one wait, or refuses it."""

import ctypes
import errno
import mmap
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

WRITES, NAMES, READS = 1, 2, 4  # kinds of requests: of bytes; of places (open, mkdir, rename, remove); of what is there
NOTHING, WAIT, REFUSE, FILL = range(4)  # what becomes of a request
NEVER = 1 << 60
STATE, ACTIVE, PRELOAD = "FAULTS_STATE", "FAULTS_ACTIVE", "LD_PRELOAD"
LAYOUT = struct.Struct("13q512s512s")  # State in faults.c
COUNTS, BYTES, WAITING, GO = slice(0, 3), 4, 11, 12
MEMORY = Path("/dev/shm")
SOURCE = Path(__file__).with_name("faults.c")


class Request(NamedTuple):
    """Which request is meant: the `at`-th of some kinds, or for FILL the bytes that still go; what becomes of it."""

    kinds: int = 0
    action: int = NOTHING
    at: int = NEVER
    error: int = errno.ENOSPC
    is_torn: bool = False  # of bytes the first half is written before it waits
    is_once: bool = False  # else it is refused from then on


@contextmanager
def folder_with_shim() -> Iterator[Path]:
    """A folder in memory, gone in the end; this program is started anew with the shim, unless it has it."""
    if STATE in os.environ:
        folder = Path(os.environ[STATE]).parent
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return
    folder = Path(tempfile.mkdtemp(prefix="faults-", dir=MEMORY if MEMORY.is_dir() else None))
    library, state = folder / "faults.so", folder / "state"
    compiler = shutil.which("cc") or "gcc"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
    state.write_bytes(bytes(LAYOUT.size))
    os.environ |= {STATE: str(state), PRELOAD: str(library)}
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


class Shim:
    """The shim as the program sees it that has begun others; they share its state."""

    def __init__(self) -> None:
        with Path(os.environ[STATE]).open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), LAYOUT.size)
        self._library = ctypes.CDLL(None)
        self._library.prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: whoever loses its parent becomes ours

    def arm(self, request: Request, root: Path, second: Path | None = None) -> None:
        """Look for a request below one or two folders, and count anew."""
        numbers = request.kinds, request.action, request.at, request.error, request.is_torn, request.is_once
        folders = (str(root).encode(), str(second or "").encode())
        LAYOUT.pack_into(self._memory, 0, *(0,) * 5, *map(int, numbers), 0, 0, *folders)

    def begin(self) -> None:
        """In a process that was just forked: from here on it is looked at, and whom it begins."""
        os.environ[ACTIVE] = "1"
        self._library.faults_begin()

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many requests there were of each kind: bytes, places, what is there."""
        writes, names, reads = LAYOUT.unpack_from(self._memory)[COUNTS]
        return writes, names, reads

    @property
    def bytes(self) -> int:
        """How many bytes were written."""
        return int(LAYOUT.unpack_from(self._memory)[BYTES])

    @property
    def waiting(self) -> int:
        """The process that waits at the request; 0 where none does."""
        return int(LAYOUT.unpack_from(self._memory)[WAITING])

    def let_go(self) -> None:
        """Let it go on."""
        struct.pack_into("q", self._memory, 8 * GO, 1)
