"""Jobs on the workers of Dask: local processes, or a cluster that runs already. Nothing here schedules or retries."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fieldplay.benchmark.batch.jobs import Job, Outcome, failure_of
from fieldplay.core.errors import UsageError, UserError
from fieldplay.core.version import own_version

LACKING = "batch needs the extra 'batch' (Dask): ./ws setup --with batch, or pip install 'fieldplay[batch]'"
MOST_DEATHS = 2  # of workers with the same job: it is tried three times
CONNECT_S = 10.0
HERE = "127.0.0.1"
SETTINGS = {
    "distributed.scheduler.allowed-failures": MOST_DEATHS,
    "distributed.comm.timeouts.connect": CONNECT_S,  # also how long a scheduler that is gone is waited for
}


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where jobs run: so many processes here, or the cluster of a scheduler by its address.

    Workers here keep what is temporary in `scratch`, which whoever gives it removes: Dask leaves some of it.
    """

    workers: int = 1
    scheduler: str | None = None
    scratch: Path | None = None


def address_in(path: Path) -> str:
    """The address in the file that a scheduler has written."""
    try:
        return str(json.loads(path.read_text())["address"])
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(f"{path}: expected the file of a scheduler of Dask, with its address") from None


@contextmanager
def connected(place: Place) -> Iterator[Any]:
    """A client of Dask whose workers have our version; UserError where none can be had."""
    distributed, dask = _dask()
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # what is wrong is told once, by us
    scratch = {} if place.scratch is None else {"temporary-directory": str(place.scratch)}
    with dask.config.set(SETTINGS | scratch), _cluster(distributed, place) as where:
        try:
            client = distributed.Client(where, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            told = place.scheduler or "the local cluster"
            raise UserError(f"{told}: no scheduler of Dask answers: {error or type(error).__name__}") from None
        try:
            if place.scheduler is not None:
                require_version(client.run(own_version, on_error="return"))
            yield client
        finally:
            with suppress(TimeoutError):
                client.close(timeout=CONNECT_S)


def outcomes(client: Any, jobs: Sequence[Job], run: Callable[[Job], Outcome]) -> Iterator[Outcome]:
    """What comes of jobs, as they end, also of those that did not end by themselves.

    UserError where the scheduler goes away.
    """
    distributed, _ = _dask()
    futures: dict[Any, Job] = {}
    done = 0
    try:
        for job in jobs:
            futures[client.submit(run, job, key=f"{job.name}-{job.step.name}-{job.key}", pure=False)] = job
        for future in distributed.as_completed(futures, loop=client.loop):
            if future.status == "cancelled":  # as all are whose scheduler is lost
                raise distributed.CancelledError
            outcome = ended(future, futures[future])
            done += 1
            yield outcome
    except (distributed.CancelledError, distributed.client.ClosedClientError, OSError) as error:
        told = f"{done} of {len(jobs)} were done; the same command goes on with the others"
        raise UserError(f"the scheduler has gone away: {told}") from error


def ended(future: Any, job: Job) -> Outcome:
    """What came of a job, if only that its workers died."""
    error = future.exception()
    if error is None:
        found: Outcome = future.result()
        return found
    if type(error).__name__ == "KilledWorker":
        return failure_of(job, f"{MOST_DEATHS + 1} workers died of it, one after the other")
    return failure_of(job, str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}")


@contextmanager
def _cluster(distributed: Any, place: Place) -> Iterator[Any]:
    """What a client is told of where the scheduler is."""
    if place.scheduler is not None:
        yield place.scheduler
        return
    try:
        started = distributed.LocalCluster(
            n_workers=place.workers,
            threads_per_worker=1,
            processes=True,
            host=HERE,
            scheduler_kwargs={"dashboard": False, "dashboard_address": f"{HERE}:0"},
            silence_logs="CRITICAL",
            memory_limit=None,  # each command bounds its own
        )
    except (RuntimeError, OSError) as error:
        raise UserError(f"the workers cannot be started: {_first_cause(error)}") from error
    with started as cluster:
        yield cluster


def _first_cause(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def require_version(found: Mapping[str, object]) -> None:
    """Every worker that is there has the version that asks; those that come later are asked by their first job."""
    for address, other in found.items():
        if other != own_version():
            raise UserError(f"worker {address}: expected fieldplay {own_version()}, got {other}")


def _dask() -> tuple[Any, Any]:
    try:
        import dask
        import distributed
    except ModuleNotFoundError:
        raise UsageError(LACKING) from None
    return distributed, dask
