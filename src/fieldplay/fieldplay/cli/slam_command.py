"""The command `fieldplay slam`: odometry and SLAM programs on an archive or a bag, evaluated against its truth."""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fieldplay.benchmark.slam.methods import (
    Method,
    load_method,
    load_methods,
    method_files,
)
from fieldplay.benchmark.slam.slam_results import (
    DONE,
    Outcome,
    as_json,
    lines_of,
)
from fieldplay.benchmark.slam.slam_run import (
    Part,
    RunConfig,
    Trial,
    is_ready,
    prepare_environment,
    skipped_outcome,
)
from fieldplay.benchmark.slam.slam_sensors import (
    Known,
    UnfitError,
    frames_of,
    sensors_of,
    template_values,
)
from fieldplay.cli.arguments import (
    add_archive,
    add_json,
    add_overwrite,
    add_window,
    number,
    open_recording,
    require_output,
    seconds,
)
from fieldplay.cli.parser import CommandParser
from fieldplay.cli.terminal import note, print_line, progress_bar
from fieldplay.core.errors import UsageError
from fieldplay.datasets.archive import imu_noise_of
from fieldplay.datasets.registry import truth_max_std_of
from fieldplay.datasets.spec import DatasetSpec, ImuNoise
from fieldplay.evaluation.trajectory_pair import (
    PoseFiles,
    TrajectoryPair,
    chosen_topic,
    load_trajectories,
    own_truth,
    truth_of_names,
)
from fieldplay.recording.archive_recording import ArchiveRecording
from fieldplay.recording.bag_recording import BagRecording
from fieldplay.recording.input_topics import topics_by_input
from fieldplay.recording.recording import Recording
from fieldplay.trajectories.evaluation import EvaluationSettings

AUTO = "auto"
EPILOG = """\
METHOD is the name of a method (slam --list names them) or the file of a description; docs/slam.md explains it.
Below DIR stand for each: trajectory.tum, log.txt (all that it printed), result.json.

examples:
  fieldplay slam --list
  fieldplay slam etna.zip kiss_icp rko_lio --out slam
  fieldplay slam some_bag my_method.yaml --input lidar=/points --truth truth.csv --out slam
"""


def add_arguments(parser: CommandParser) -> None:
    """ARCHIVE and METHODs, where results go, and how they are evaluated."""
    add_archive(parser, may_lack=True)
    parser.add_argument("methods", metavar="METHOD", nargs="*", help="methods by name, or files of descriptions")
    with parser.section("methods"):
        parser.add_argument("--list", action="store_true", help="list the methods and what they need")
        parser.add_argument(
            "--install", nargs="*", metavar="METHOD", help="make the environments of these, or of all that pip offers"
        )
        parser.add_argument(
            "--input", action="append", default=[], metavar="NAME=TOPIC", help="topic of a sensor that a method needs"
        )
        parser.add_argument(
            "--time-limit",
            type=seconds,
            metavar="S",
            help="limit for each method (default: 600 s, or 60 s for each second of data)",
        )
    add_window(parser)
    with parser.section("evaluation"):
        parser.add_argument("--truth", metavar="TOPIC|FILE", help="true poses (default: the dataset's)")
        parser.add_argument("--truth-frame", metavar="FRAME", help="the robot's frame whose poses a file of truth has")
        parser.add_argument(
            "--truth-max-std",
            type=number,
            metavar="M",
            help="ignore truth poses whose reported standard deviation exceeds this (default: the dataset's limit)",
        )
        parser.add_argument(
            "--align", choices=("first", "yaw", "se3", "sim3"), default="se3", help="alignment, as in evaluate"
        )
        parser.add_argument(
            "--offset", metavar="S|auto", help="added to the times of all estimates (default: as each method says)"
        )
    with parser.section("output"):
        parser.add_argument("--out", type=Path, metavar="DIR", help="folder of results, with one for each method")
        parser.add_argument("--keep-work", action="store_true", help="keep the bag and the method's files, in work/")
        add_json(parser, "the results as JSON")
        add_overwrite(parser, "replace existing results below DIR")


def run(chosen: argparse.Namespace) -> int:
    """Run methods, or name or install them."""
    if chosen.list:
        return _list(as_json=chosen.json)
    if chosen.install is not None:
        return _install(chosen.install)
    if chosen.archive is None or not chosen.methods or chosen.out is None:
        raise UsageError("expected ARCHIVE, METHOD and --out DIR; slam --list names the methods")
    methods = load_methods(chosen.methods)
    for method in methods:
        require_output(chosen.archive, chosen.out / method.name, overwrite=chosen.overwrite)
    with open_recording(chosen) as data:
        spec = data.spec
        fittings, unfit = _fitting(chosen, methods, data, spec)
        for outcome in unfit.values():
            note(outcome.error)
        ran = _run(chosen, fittings, data, spec) if fittings else {}
    outcomes = [{**ran, **unfit}[method.name] for method in methods]
    if chosen.json:
        print_line(json.dumps([as_json(outcome) for outcome in outcomes], indent=1))
    else:
        for line in lines_of(outcomes, f"{len(methods)} methods on {chosen.archive}"):
            print_line(line)
    return int(any(outcome.status != DONE for outcome in outcomes))


def _imu_noise(data: Recording) -> ImuNoise | None:
    """The noise of the IMU, of an archive or of a bag that was made of one."""
    if isinstance(data, ArchiveRecording):
        return data.archive.imu_noise
    origin = data.origin if isinstance(data, BagRecording) else None
    return None if origin is None else imu_noise_of(origin.spec, origin.parameters)


def _fitting(
    chosen: argparse.Namespace, methods: Sequence[Method], data: Recording, spec: DatasetSpec | None
) -> tuple[list[RunConfig], dict[str, Outcome]]:
    """The methods that fit the archive, and what is to be said of the others."""
    requested = topics_by_input(chosen.input, {name for method in methods for name in method.needs})
    described = {name: (topic,) for name, topic in spec.fusion.items()} | dict(spec.sensors) if spec else {}
    known = Known(requested=requested, described=described, dataset=spec.name if spec else "", noise=_imu_noise(data))
    frames = frames_of(data)
    fittings, unfit = [], {}
    for method in methods:
        try:
            sensors = sensors_of(data, method, known)
            values = template_values(method, sensors, frames)
        except UnfitError as error:
            unfit[method.name] = skipped_outcome(method, str(error))
        else:
            fittings.append(RunConfig(method=method, sensors=sensors, values=values))
    return fittings, unfit


def _run(
    chosen: argparse.Namespace, fittings: Sequence[RunConfig], data: Recording, spec: DatasetSpec | None
) -> Mapping[str, Outcome]:
    truth = _truth(chosen, data, spec)
    part = _part(chosen, truth, spec)
    outcomes = {}
    for fitting in fittings:
        if fitting.method.untested:
            note(f"{fitting.method.name}: {fitting.method.untested}")
        with progress_bar(f"{fitting.method.name}: converting", "messages") as bar:
            trial = Trial(data=data, truth=truth, out=chosen.out, part=part, report=note, progress=bar)
            outcomes[fitting.method.name] = trial.run_method(fitting)
    return outcomes


def _truth(chosen: argparse.Namespace, data: Recording, spec: DatasetSpec | None) -> TrajectoryPair:
    """The truth, with the tree of frames; it stands for the estimate, too, until there is one."""
    source = data.with_derived()
    with progress_bar("reading the truth", "messages") as bar:
        names = [topic.name for topic in source.typed_topics]
        own = [stream.topic for stream in spec.streams if stream.id == spec.truth] if spec and spec.truth else []
        word = chosen.truth or own_truth(names, spec) or (own[0] if own else truth_of_names(names))
        if word is None:
            raise UsageError(f"{chosen.archive}: expected a truth, found none; --truth TOPIC or FILE names one")
        name = chosen_topic(word, source.typed_topics)
        (pair,) = load_trajectories(source, [name], name, files=PoseFiles(report=note), progress=bar, moving=True)
    frame = pair.truth.child if chosen.truth_frame is None else chosen.truth_frame.lstrip("/")
    return replace(pair, truth=replace(pair.truth, child=frame))


def _part(chosen: argparse.Namespace, truth: TrajectoryPair, spec: DatasetSpec | None) -> Part:
    offset = chosen.offset
    if offset not in (None, AUTO):
        try:
            offset = number(offset)
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"--offset: {error}") from None
    own = truth_max_std_of(truth.truth.topic, spec) if chosen.truth_max_std is None else chosen.truth_max_std
    return Part(
        start_s=chosen.start,
        duration_s=chosen.duration,
        limit_s=chosen.time_limit,
        truth_max_std_m=own,
        settings=EvaluationSettings(alignment=chosen.align),
        offset_s=offset,
        keeps_work=chosen.keep_work,
    )


def _list(*, as_json: bool) -> int:
    methods = [load_method(name) for name in method_files()]
    if as_json:
        entries = [
            {
                "method": method.name,
                "version": method.version,
                "about": method.about,
                "needs": {name: list(need.types) for name, need in method.needs.items()},
                "installed": is_ready(method),
                "untested": method.untested or None,
            }
            for method in methods
        ]
        print_line(json.dumps(entries, indent=1))
        return 0
    for method in methods:
        print_line(f"{method.name} {method.version}: {method.about}")
        print_line(f"    needs {', '.join(method.needs)}; {'installed' if is_ready(method) else 'not installed yet'}")
        if method.untested:
            print_line(f"    {method.untested}")
    return 0


def _install(names: Sequence[str]) -> int:
    methods = load_methods(names or list(method_files()))
    for method in methods:
        if names or method.install.pip:
            prepare_environment(method, report=note)
            print_line(f"{method.name} {method.version}: ready")
    return 0
