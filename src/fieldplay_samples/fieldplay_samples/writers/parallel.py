"""Work on all processors: many independent tasks, each of which writes a file of its own.

The processes are spawned, not forked: whatever threads the caller has (OpenCV's among them) would not survive a fork.
"""

import multiprocessing
import os
import pickle
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import cv2

from fieldplay_samples.world.terrain import keep_reliefs, kept_reliefs

State = TypeVar("State")
Task = TypeVar("Task")
_worker: list[Any] = []  # in a worker: what it does, and the state that its tasks share


def run_tasks(
    work: Callable[[State, Task], None],
    state: State,
    tasks: Sequence[Task],
    *,
    workers: int,
    done: Callable[[], None],
) -> None:
    """Call work(state, task) for each task, in so many processes (0: one per processor; 1: in this one).

    What is passed must be picklable, `work` at the top of a module, and the program's own start guarded by its name.
    `done` is called here after each task.
    """
    count = min(workers or os.cpu_count() or 1, len(tasks))
    if count <= 1:
        for task in tasks:
            work(state, task)
            done()
        return
    with TemporaryDirectory() as folder:
        shared = Path(folder, "shared")
        shared.write_bytes(pickle.dumps((work, state, kept_reliefs())))
        _run_in_processes(shared, tasks, count, done)


def _run_in_processes(shared: Path, tasks: Sequence[Any], count: int, done: Callable[[], None]) -> None:
    """What the processes share lies in a file: handed over while one starts, it would block us where that one dies."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=spawn, initializer=_begin, initargs=(str(shared),)) as pool:
        futures = [pool.submit(_do, task) for task in tasks]
        try:
            for future in as_completed(futures):
                future.result()
                done()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _begin(shared: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever interrupts speaks to the caller, who ends the pool
    cv2.setNumThreads(1)  # the processes share the processors
    work, state, reliefs = pickle.loads(Path(shared).read_bytes())
    keep_reliefs(reliefs)
    _worker[:] = work, state


def _do(task: Any) -> None:
    work, state = _worker
    work(state, task)
