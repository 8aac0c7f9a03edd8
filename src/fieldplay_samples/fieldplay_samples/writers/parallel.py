"""Work on all processors: many independent tasks, each of which writes a file of its own.

The processes are spawned, not forked: whatever threads the caller has (OpenCV's among them) would not survive a fork.
"""

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeVar

import cv2

from fieldplay_samples.world.terrain import cached_reliefs, keep_reliefs

Progress = Callable[[int, int], None]  # how many tasks are done, of how many
State = TypeVar("State")
Task = TypeVar("Task")
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_worker: list[Any] = []  # in a worker: what it does, and the state that its tasks share


def run_tasks(
    task_function: Callable[[State, Task], None],
    state: State,
    tasks: Sequence[Task],
    *,
    workers: int,
    progress: Progress,
) -> None:
    """Call task_function(state, task) for each task, in so many processes (0: one per processor; 1: in this one).

    What is passed must be picklable, the function at the top of a module, and the program's own start guarded by its
    name. `progress` is called here after each task.
    """
    count = min(workers or os.cpu_count() or 1, len(tasks))
    if count <= 1:
        for number, task in enumerate(tasks, 1):
            task_function(state, task)
            progress(number, len(tasks))
        return
    with TemporaryFile() as shared:  # has no name, so that nothing of it stays whatever happens
        pickle.dump((task_function, state, cached_reliefs()), shared)
        shared.flush()
        _run_in_processes(Path(f"/proc/{os.getpid()}/fd/{shared.fileno()}"), tasks, count, progress)


def _run_in_processes(shared: Path, tasks: Sequence[Any], count: int, progress: Progress) -> None:
    """What the processes share lies in a file: handed over while one starts, it would block us where that one dies."""
    spawn = multiprocessing.get_context("spawn")
    with (
        _single_threaded(),
        ProcessPoolExecutor(count, mp_context=spawn, initializer=_start_worker, initargs=(str(shared),)) as pool,
    ):
        futures = [pool.submit(_do, task) for task in tasks]
        try:
            for number, future in enumerate(as_completed(futures), 1):
                future.result()
                progress(number, len(tasks))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Start processes whose linear algebra has one thread each, as they share the processors."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _start_worker(shared: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever interrupts speaks to the caller, who ends the pool
    threading.Thread(target=_end_with_caller, daemon=True).start()
    cv2.setNumThreads(1)  # the processes share the processors
    task_function, state, reliefs = pickle.loads(Path(shared).read_bytes())
    keep_reliefs(reliefs)
    _worker[:] = task_function, state


def _end_with_caller() -> None:
    """A caller that was killed gives no more tasks, and the pool's own processes would wait for them for ever."""
    caller = multiprocessing.parent_process()
    assert caller is not None
    caller.join()
    os._exit(1)


def _do(task: Any) -> None:
    task_function, state = _worker
    task_function(state, task)
