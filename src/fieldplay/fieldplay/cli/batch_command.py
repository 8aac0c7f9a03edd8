"""The command `fieldplay batch`: many archives through chosen commands, on all cores or on a cluster of Dask."""

import argparse
import fcntl
import glob
import json
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from fieldplay.benchmark.batch.batch_jobs import (
    CHECK,
    CONVERT,
    EVALUATE,
    FAILED,
    INFO,
    REPORT,
    SLAM,
    ClusterConfig,
    Job,
    Outcome,
    Step,
    address_in,
    clean_up_after,
    connect,
    jobs_of,
    outcomes,
    previous_outcome,
    run_job,
    steps_of,
)
from fieldplay.benchmark.batch.batch_results import PAGE, write_results
from fieldplay.benchmark.slam.methods import load_methods
from fieldplay.cli import main
from fieldplay.cli.arguments import add_json, count
from fieldplay.cli.parser import CommandParser
from fieldplay.cli.terminal import note, print_line, progress_bar
from fieldplay.core.atomic_output import Partial, clean_up
from fieldplay.core.errors import UsageError
from fieldplay.core.resources import own_version
from fieldplay.core.yaml_safe import value_of_yaml

STEPS = (CHECK, CONVERT, EVALUATE, REPORT, SLAM)
LOCK, SCRATCH = ".batch.lock", "workers"
EPILOG = """\
ARCHIVE is an archive or a bag, a pattern such as 'data/*.zip', or a YAML file of `archives:`, `steps:`, `methods:`.
Below DIR stand for each archive what its steps wrote and a JSON for each; above them index.html, results.json and
results.csv. What is complete there is not done again, unless the archive, the words or the version have changed.

examples:
  fieldplay batch 'acfr/*' --do check,report --out acfr_results
  fieldplay batch rosario/*.zip --do convert,evaluate --words 'convert=--derived' --out results
  fieldplay batch --list archives.txt --do slam --methods kiss_icp,rko_lio --out board
"""


@dataclass
class BatchRequest:
    """A batch: archives by names or patterns, the options of each step, the methods of slam."""

    archives: list[str] = field(default_factory=list)
    steps: dict[str, list[str]] = field(default_factory=dict)
    methods: list[str] = field(default_factory=list)


def add_arguments(parser: CommandParser) -> None:
    """ARCHIVEs, steps, DIR and where the work is done."""
    parser.add_argument("archives", metavar="ARCHIVE", nargs="*", help="archives, patterns, or a YAML of steps")
    with parser.section("steps"):
        parser.add_argument("--list", type=Path, metavar="FILE", help="a file of more archives, one a line")
        parser.add_argument(
            "--do", default="", metavar="STEP,...", help=f"steps: {', '.join(STEPS)} (default: check,report)"
        )
        parser.add_argument(
            "--words", action="append", default=[], metavar="STEP=WORDS", help="options of a step: 'convert=--derived'"
        )
        parser.add_argument("--methods", default="", metavar="NAME,...", help="methods of the step slam")
    with parser.section("output"):
        parser.add_argument(
            "--out", type=Path, required=True, metavar="DIR", help="folder of results; complete ones are kept"
        )
        add_json(parser, "a line of JSON for each finished step")
    with parser.section("workers") as section:
        parser.add_argument("--workers", type=count, metavar="N", help="processes here (default: one per core)")
        cluster = section.add_mutually_exclusive_group()
        cluster.add_argument("--scheduler", metavar="ADDRESS", help="a running Dask cluster, as tcp://host:8786")
        cluster.add_argument("--scheduler-file", type=Path, metavar="FILE", help="the same by the scheduler's own file")


def run(chosen: argparse.Namespace) -> int:
    """Do what is not done yet, and write the tables of all."""
    request = _request(chosen)
    jobs = jobs_of(_archives(request.archives, chosen.out), _steps(request), chosen.out)
    with _locked(chosen.out):
        before = {job.key: outcome for job in jobs if (outcome := previous_outcome(job)) is not None}
        left = [job for job in jobs if job.key not in before]
        if before:
            note(f"{len(before)} of {len(jobs)} steps were done before")
        try:
            outcome_by_key = before | {outcome.key: outcome for outcome in _run_jobs(chosen, left)}
        finally:
            for job in left:
                clean_up_after(job)
        results = [outcome_by_key[job.key] for job in jobs]
        write_results(chosen.out, results)
    failures = sum(not outcome.is_well for outcome in results)
    if not chosen.json:
        failed = f", {failures} of {len(jobs)} steps failed" if failures else ""
        print_line(f"{chosen.out / PAGE}: {len({job.name for job in jobs})} archives{failed}")
    return int(failures > 0)


def _run_jobs(chosen: argparse.Namespace, jobs: Sequence[Job]) -> Iterator[Outcome]:
    """Run jobs on workers, and print each outcome."""
    if not jobs:
        return
    workers = min(chosen.workers or len(os.sched_getaffinity(0)), len(jobs))
    address = chosen.scheduler if chosen.scheduler_file is None else address_in(chosen.scheduler_file)
    run = partial(run_job, command=main.main, requested_version=own_version())
    with (
        progress_bar("batch", "steps") as bar,
        _scratch(chosen.out) as scratch,
        connect(ClusterConfig(workers=workers, scheduler=address, scratch=scratch)) as client,
    ):
        for done, outcome in enumerate(outcomes(client, jobs, run), start=1):
            bar(done / len(jobs), done)
            text = f"done in {outcome.seconds:.1f} s" if outcome.is_well else f"{FAILED}: {outcome.reason}"
            line = f"{outcome.name}: {outcome.step} {text}"
            print_line(json.dumps(asdict(outcome)) if chosen.json else line)
            yield outcome


def _request(chosen: argparse.Namespace) -> BatchRequest:
    """The batch that arguments and files request."""
    names = list(chosen.archives)
    is_described = len(names) == 1 and names[0].endswith((".yaml", ".yml"))
    request = _request_from_yaml(Path(names[0])) if is_described else BatchRequest(archives=names)
    if chosen.list is not None:
        request.archives += _archives_in_file(chosen.list)
    for step in _parts(chosen.do or ("" if request.steps else f"{CHECK},{REPORT}")):
        request.steps.setdefault(_step(step, "--do"), [])
    for text in chosen.words:
        step, equals, options = text.partition("=")
        if not equals or step not in request.steps:
            raise UsageError(f"--words: expected STEP=WORDS with a step of {', '.join(request.steps)}, got '{text}'")
        request.steps[step] = shlex.split(options)
    request.methods = list(dict.fromkeys([*request.methods, *_parts(chosen.methods)]))
    return request


def _steps(request: BatchRequest) -> list[Step]:
    """All steps; first of all what is in the archive."""
    if bool(request.methods) != (SLAM in request.steps):
        raise UsageError("--methods: expected methods where slam is done, and only there")
    load_methods(request.methods)
    for step, options in request.steps.items():
        if any(option.startswith("--jobs") for option in options):
            raise UsageError(f"{step}: --jobs is not for a batch, whose workers share the cores")
    return steps_of({INFO: [], **request.steps}, request.methods)


def _archives(names: Sequence[str], out: Path) -> list[Path]:
    """The archives of names and patterns, each once."""
    paths: dict[Path, None] = {}
    for name in names:
        matches = [name] if os.path.exists(name) else sorted(glob.glob(name))
        if not matches:
            raise UsageError(f"{name}: there is no such folder or file")
        paths |= dict.fromkeys(Path(match).resolve() for match in matches)
    for archive in paths:
        if out.resolve().is_relative_to(archive) or archive.is_relative_to(out.resolve()):
            raise UsageError(f"{out} lies in the archive {archive}, or holds it")
    if not paths:
        raise UsageError("expected archives, got none")
    return list(paths)


def _archives_in_file(path: Path) -> list[str]:
    try:
        lines = [line.strip() for line in path.read_text().splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--list: {path}: {error}") from None
    return [line for line in lines if line and not line.startswith("#")]


def _request_from_yaml(path: Path) -> BatchRequest:
    """Read a batch from YAML: a step is a name, or a name with a list or a line of options."""
    try:
        content: Any = value_of_yaml(path.read_bytes())
    except (OSError, yaml.YAMLError) as error:
        raise UsageError(f"{path}: {error}") from None
    if not isinstance(content, dict) or not {"archives"} <= content.keys() <= {"archives", "steps", "methods"}:
        got = ", ".join(map(str, content)) if isinstance(content, dict) else type(content).__name__
        raise UsageError(f"{path}: expected archives, steps and methods, got {got}")
    for key, value in content.items():
        if not isinstance(value, list):
            raise UsageError(f"{path}: {key}: expected a list, got {type(value).__name__}")
    request = BatchRequest(archives=[str(path.parent / str(name)) for name in content["archives"]])
    for step in content.get("steps", ()):
        for name, options in (step if isinstance(step, dict) else {str(step): []}).items():
            request.steps[_step(str(name), str(path))] = (
                shlex.split(options) if isinstance(options, str) else _texts(options)
            )
    request.methods = _texts(content.get("methods"))
    return request


def _texts(values: Any) -> list[str]:
    return [str(value) for value in values or ()]


def _parts(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def _step(name: str, location: str) -> str:
    if name not in STEPS:
        raise UsageError(f"{location}: expected a step of {', '.join(STEPS)}, got '{name}'")
    return name


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Hold a lock, so that no other batch writes into the folder."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{out}: another batch is writing there") from None
        clean_up(out / SCRATCH)
        yield


@contextmanager
def _scratch(out: Path) -> Iterator[Path]:
    """A folder for what workers keep for a while; of a batch that was killed the next one removes it."""
    scratch = Partial(out / SCRATCH, is_folder=True)
    try:
        yield scratch.path
    finally:
        scratch.remove()
