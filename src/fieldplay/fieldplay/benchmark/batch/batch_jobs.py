"""One archive through one command: its arguments, where its results go, and whether they exist already."""

import hashlib
import io
import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from fieldplay.core.atomic_output import clean_up, write_atomically
from fieldplay.core.errors import UsageError, UserError
from fieldplay.core.resources import own_version

INFO, CHECK, CONVERT, EVALUATE, REPORT, SLAM = "info", "check", "convert", "evaluate", "report", "slam"
OUTPUTS = {CONVERT: "bag", REPORT: "report.html", SLAM: "slam"}  # what a command writes; of the others, their JSON
DESCRIPTION = ".yaml"  # how the file of a method ends
DONE, FAILED, SKIPPED = "done", "failed", "skipped"  # the last two also of methods
MAX_MESSAGE_LENGTH = 4000  # characters of what a command says that are kept
CAPTURE_LOCK = Lock()  # in a process: what a command prints is caught, and all threads share this
Command = Callable[[Sequence[str]], int]
MISSING_DASK = "batch needs the extra 'batch' (Dask): ./ws setup --with batch, or pip install 'fieldplay[batch]'"
MAX_DEATHS = 2  # of workers with the same job: it is tried three times
CONNECT_S = 10.0
HERE = "127.0.0.1"
SETTINGS = {
    "distributed.scheduler.allowed-failures": MAX_DEATHS,
    "distributed.comm.timeouts.connect": CONNECT_S,  # also how long a scheduler that is gone is waited for
}


@dataclass(frozen=True, kw_only=True)
class Step:
    """A command with its options, of slam with a method before them; `name` is unique among those of an archive."""

    name: str
    command: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Job:
    """A step on an archive; `out` is the folder of the archive's results."""

    name: str
    archive: Path
    step: Step
    out: Path
    digest: str  # of the archive, as it is on the disk, and of files that the words name

    @property
    def key(self) -> str:
        """The same for the same inputs, words and version."""
        inputs = [self.step.command, self.step.words, str(self.archive), self.digest, own_version()]
        return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()

    @property
    def record(self) -> Path:
        """The file of its outcome."""
        return self.out / f"{self.step.name}.json"

    @property
    def output(self) -> Path | None:
        """What it writes beside its record."""
        folder = OUTPUTS.get(self.step.command)
        if folder is None:
            return None
        return self.out / folder / method_name(self.step) if self.step.command == SLAM else self.out / folder


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a job; `result` is the JSON that the command printed, `said` its other output."""

    name: str
    archive: str
    step: str
    command: str
    words: tuple[str, ...]
    key: str
    code: int
    is_well: bool
    seconds: float
    said: str
    result: Any = field(default=None, repr=False)

    @property
    def output(self) -> str | None:
        """The path below the batch's folder of what it writes beside its record."""
        folder = OUTPUTS.get(self.command)
        if folder is None:
            return None
        method = f"/{self.step.removeprefix(f'{SLAM}_')}" if self.command == SLAM else ""
        return f"{self.name}/{folder}{method}"

    @property
    def reason(self) -> str:
        """Why it failed, in a line."""
        lines = self.said.splitlines()
        return lines[-1].removeprefix("fieldplay: ") if lines else f"it ended with code {self.code}"


def method_name(step: Step) -> str:
    """What the method of a step of slam is called."""
    return Path(step.words[0]).name.removesuffix(DESCRIPTION)


def steps_of(arguments: Mapping[str, Sequence[str]], methods: Sequence[str]) -> list[Step]:
    """The steps of commands with their words; of slam one for each method, so that one that fails leaves the others."""
    steps = []
    for command, options in arguments.items():
        resolved = tuple(str(Path(word).resolve()) if Path(word).is_file() else word for word in options)
        if command != SLAM:
            steps.append(Step(name=command, command=command, words=resolved))
            continue
        for method in methods:
            method_path = str(Path(method).resolve()) if method.endswith(DESCRIPTION) else method
            step = Step(name=SLAM, command=SLAM, words=(method_path, *resolved))
            steps.append(Step(name=f"{SLAM}_{method_name(step)}", command=SLAM, words=step.words))
    return steps


def jobs_of(archives: Sequence[Path], steps: Sequence[Step], out: Path) -> list[Job]:
    """A job for each archive and step; folders below OUT are called as the archives are."""
    files = {word: digest_of(Path(word)) for step in steps for word in step.words if os.path.isabs(word)}
    return [
        Job(
            name=name,
            archive=archive,
            step=step,
            out=out.resolve() / name,
            digest="".join([digest, *(files[word] for word in step.words if word in files)]),
        )
        for archive, name in zip(archives, names_of(archives), strict=True)
        for digest in [digest_of(archive)]
        for step in steps
    ]


def names_of(archives: Sequence[Path]) -> list[str]:
    """A name for each: its own without the ending, and where two are the same its folder's before it."""
    stems = [path.name.removesuffix(".zip") or "archive" for path in archives]
    names = [
        stem if stems.count(stem) == 1 else f"{path.parent.name}_{path.name}"
        for path, stem in zip(archives, stems, strict=True)
    ]
    for index, name in enumerate(names):
        if names.index(name) != index:
            raise UsageError(f"{archives[index]}: another archive is called '{name}', too")
    return names


def digest_of(path: Path) -> str:
    """Of the names, sizes and times of change of an archive's files: what was read is not read again."""
    digest = hashlib.sha256()
    for file, name in sorted(_files(path)):
        state = file.stat()
        digest.update(f"{name}\0{state.st_size}\0{state.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _files(path: Path) -> Iterator[tuple[Path, str]]:
    if path.is_file():
        yield path, path.name
    for folder, _, names in os.walk(path):
        for name in names:
            file = Path(folder, name)
            if file.is_file():
                yield file, str(file.relative_to(path))


def previous_outcome(job: Job) -> Outcome | None:
    """The outcome of the same job in an earlier run, if it succeeded and its output still exists."""
    try:
        data = json.loads(job.record.read_text())
        outcome = Outcome(**{**data, "words": tuple(data["words"])})
    except (OSError, ValueError, KeyError, TypeError):
        return None
    is_unfit = job.step.command == SLAM and all(one["status"] == SKIPPED for one in outcome.result or ())
    is_whole = job.output is None or job.output.exists() or is_unfit
    return outcome if is_whole and outcome.is_well and outcome.key == job.key else None


def run_job(job: Job, command: Command, requested_version: str) -> Outcome:
    """Run a job in this process, and write its record; UserError where another version is asked for."""
    if own_version() != requested_version:
        raise UserError(f"expected a worker of fieldplay {requested_version}, got one of {own_version()}")
    start = time.monotonic()
    with CAPTURE_LOCK:
        code, printed, messages = _run_captured(job, command)
    try:
        result = json.loads(printed)
    except ValueError:
        result = None
    outcome = outcome_of(
        job,
        code=code,
        is_well=code == 0 or (code == 1 and _is_expected_failure(job, result)),
        seconds=round(time.monotonic() - start, 3),
        said=messages[-MAX_MESSAGE_LENGTH:].strip() or _first_issue(result),
        result=result,
    )
    write_atomically(job.record, json.dumps(asdict(outcome), indent=1).encode())
    return outcome


def failure_of(job: Job, reason: str) -> Outcome:
    """Of a job that did not end by itself."""
    return outcome_of(job, code=1, is_well=False, seconds=0.0, said=reason)


def outcome_of(job: Job, **values: Any) -> Outcome:
    """The outcome of a job, with the fields of every job."""
    step = job.step
    known: dict[str, Any] = {"name": job.name, "archive": str(job.archive), "step": step.name, "command": step.command}
    return Outcome(**known, words=step.words, key=job.key, **values)


def clean_up_after(job: Job) -> None:
    """Remove what a worker that was ended in the midst has left."""
    for path in filter(None, (job.output, job.record)):
        clean_up(path)


def odometries_of(archive: Path) -> list[str]:
    """All odometry of an archive, what the nodes would compute, too, and its truth last; nothing where there is none.

    UserError where the archive cannot be read.
    """
    import fieldplay
    from fieldplay.evaluation.trajectory_pair import odometries_and_truth
    from fieldplay.messages.message_batches import Topic

    with fieldplay.open(archive, derived=True) as data:
        topics = [Topic(name, topic.type) for name, topic in data.topics.items()]
        return odometries_and_truth(topics, data.spec)


def _run_captured(job: Job, command: Command) -> tuple[int, str, str]:
    """Run a command; its exit code, standard output and standard error."""
    printed, messages = io.StringIO(), io.StringIO()
    with redirect_stdout(printed), redirect_stderr(messages):
        try:
            arguments = list(job.step.words)
            if job.step.command == EVALUATE and not arguments:
                arguments = odometries_of(job.archive)
                if not arguments:
                    return 0, "[]", "it has no odometry and truth of it"
            code = command(_command_line(job, arguments))
        except UserError as error:
            return 1, "", str(error)
        except SystemExit as end:  # of wrong words
            code = end.code if isinstance(end.code, int) else 1
    return code, printed.getvalue(), messages.getvalue()


def _command_line(job: Job, arguments: Sequence[str]) -> list[str]:
    command, archive, out = job.step.command, str(job.archive), job.output
    if command == CONVERT:
        return [command, archive, str(out), "--overwrite", *arguments]
    if command == REPORT:
        return [command, archive, str(out), *arguments]
    if command == SLAM and out is not None:
        return [command, archive, *arguments, "--out", str(out.parent), "--overwrite", "--json"]
    return [command, archive, *arguments, "--json"]


def _is_expected_failure(job: Job, result: Any) -> bool:
    """Whether exit code 1 is expected: defects, odometry that cannot be evaluated, a method that does not fit."""
    if job.step.command == SLAM:
        return isinstance(result, list) and all(one["status"] != FAILED for one in result)
    return job.step.command in (CHECK, EVALUATE) and result is not None


def _first_issue(result: Any) -> str:
    """The first error in the JSON of `check` or `slam`."""
    if isinstance(result, dict) and result.get("defects"):
        return str(result["defects"][0]["message"])
    issues = [one["error"] for one in result if one.get("error")] if isinstance(result, list) else []
    return str(issues[0]) if issues else ""


# Jobs on the workers of Dask: local processes, or a cluster that runs already. Nothing here schedules or retries.


@dataclass(frozen=True, kw_only=True)
class ClusterConfig:
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
def connect(config: ClusterConfig) -> Iterator[Any]:
    """Connect to Dask with workers of this version; UserError where that fails."""
    distributed, dask = _dask()
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # errors are reported once, by us
    scratch = {} if config.scratch is None else {"temporary-directory": str(config.scratch)}
    with dask.config.set(SETTINGS | scratch), _cluster(distributed, config) as where:
        try:
            client = distributed.Client(where, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            address = config.scheduler or "the local cluster"
            raise UserError(f"{address}: no scheduler of Dask answers: {error or type(error).__name__}") from None
        try:
            if config.scheduler is not None:
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
            outcome = outcome_of_future(future, futures[future])
            done += 1
            yield outcome
    except (distributed.CancelledError, distributed.client.ClosedClientError, OSError) as error:
        text = f"{done} of {len(jobs)} were done; the same command goes on with the others"
        raise UserError(f"the scheduler has gone away: {text}") from error


def outcome_of_future(future: Any, job: Job) -> Outcome:
    """The outcome of a job, also if its workers died."""
    error = future.exception()
    if error is None:
        outcome: Outcome = future.result()
        return outcome
    if type(error).__name__ == "KilledWorker":
        return failure_of(job, f"{MAX_DEATHS + 1} workers died of it, one after the other")
    return failure_of(job, str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}")


@contextmanager
def _cluster(distributed: Any, config: ClusterConfig) -> Iterator[Any]:
    """The address of the scheduler for a client."""
    if config.scheduler is not None:
        yield config.scheduler
        return
    try:
        started = distributed.LocalCluster(
            n_workers=config.workers,
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


def require_version(versions: Mapping[str, object]) -> None:
    """Every worker that is there has the version that asks; those that come later are asked by their first job."""
    for address, other in versions.items():
        if other != own_version():
            raise UserError(f"worker {address}: expected fieldplay {own_version()}, got {other}")


def _dask() -> tuple[Any, Any]:
    try:
        import dask
        import distributed
    except ModuleNotFoundError:
        raise UsageError(MISSING_DASK) from None
    return distributed, dask
