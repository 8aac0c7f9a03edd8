"""The command `fieldplay evaluate`: odometry against the truth, of an archive, a bag or files."""

import argparse
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from fieldplay.cli.arguments import (
    add_archive,
    add_jobs,
    add_json,
    add_overwrite,
    add_window,
    count,
    number,
    open_recording,
    require_output,
    require_output_file,
)
from fieldplay.cli.parser import CommandParser
from fieldplay.cli.terminal import note, print_line, progress_bar
from fieldplay.core.atomic_output import write_atomically
from fieldplay.core.errors import UsageError
from fieldplay.datasets.registry import (
    datasets_deriving,
    spec_of_dataset,
    truth_max_std_of,
)
from fieldplay.evaluation.evaluation_text import (
    as_json,
    as_json_of_several,
    lines_of,
    lines_of_several,
)
from fieldplay.evaluation.pose_files import ENDINGS, FORMS, PoseForms, is_pose_file, parse_pose_forms
from fieldplay.evaluation.trajectory_pair import (
    Comparison,
    FailedComparison,
    PoseFiles,
    TrajectoryPair,
    chosen_topic,
    compare,
    load_trajectories,
    odometries_and_truth,
    trajectories_from_files,
)
from fieldplay.geometry.transforms import Array
from fieldplay.messages.message_batches import Topic
from fieldplay.recording.archive_recording import ArchiveRecording
from fieldplay.recording.recording import Recording
from fieldplay.report.page import SUFFIX, is_report, require_libraries
from fieldplay.trajectories.alignment import KINDS
from fieldplay.trajectories.association import ASSOCIATIONS
from fieldplay.trajectories.evaluation import EvaluationSettings
from fieldplay.trajectories.time_offset import usual_period_s
from fieldplay.trajectories.trajectory import FusionError, Trajectory, tum_lines

KITTI = "kitti"  # the form of files with which KITTI's own errors are computed, too
AUTO = None  # an offset that is to be found
DEFAULTS = EvaluationSettings()  # those of the node, too
IMAGE_SUFFIX = ".png"
TUM_NAMES = ("estimate.tum", "truth.tum", "estimate_aligned.tum")
EPILOG = """\
ESTIMATE and TRUTH are topics of poses (Odometry, PoseStamped, PoseWithCovarianceStamped, TransformStamped, Path,
PointStamped, NavSatFix), by full name or how it ends; or tf:PARENT.CHILD. What the nodes would compute is there too.
Any may be a file of poses instead: TUM, KITTI, EuRoC's csv, a sample's truth.csv; of files alone no ARCHIVE is needed.
Of several ESTIMATEs there is a row for each. Of an ARCHIVE alone all odometry is compared with the dataset's truth.
Two are compared at the same times. Where they are about two frames of the robot, tf gives the lever arm.

examples:
  fieldplay evaluate etna.zip
  fieldplay evaluate etna.zip wheels/odom gnss/odom
  fieldplay evaluate sequence01 odom ground_truth/odom --align yaw --plot errors.html
  fieldplay evaluate some_bag tf:odom.base_link dgps/odom --lengths 1,2,5,10 --tum trajectories
  fieldplay evaluate etna.zip kiss_icp.tum gnss/odom --offset auto
  fieldplay evaluate etna.zip wheels/odom kiss_icp.tum rko_lio.tum gnss/odom
"""


def add_arguments(parser: CommandParser) -> None:
    """ARCHIVE, ESTIMATE and TRUTH, how these are compared, and what is written."""
    add_archive(parser, may_lack=True)
    parser.add_argument("estimate", metavar="ESTIMATE", nargs="*", help="topics or files with the estimates")
    parser.add_argument("truth", metavar="TRUTH", nargs="?", help="topic or file with the true poses")
    _add_files(parser)
    add_window(parser)
    _add_comparison(parser)
    with parser.section("output"):
        parser.add_argument(
            "--tum",
            type=Path,
            metavar="DIR",
            help="write truth, estimate and aligned estimate for evo; of several ESTIMATEs into a folder each",
        )
        parser.add_argument("--plot", type=Path, metavar="OUT", help="plot the errors, to .html or .png")
        add_jobs(parser)
        add_json(parser)
        add_overwrite(parser, "replace what is at DIR and OUT")


def _add_files(parser: CommandParser) -> None:
    with parser.section("files of poses"):
        parser.add_argument(
            "--form",
            action="append",
            default=[],
            metavar="[FILE=]FORM",
            help=f"format of one file, or of all: {', '.join(FORMS)} (default: detected). With {KITTI} also the errors "
            "over segments of 100 to 800 m, as in KITTI's development kit",
        )
        parser.add_argument(
            "--times", type=Path, metavar="FILE", help="KITTI's times (default: times.txt next to the poses)"
        )
        parser.add_argument(
            "--estimate-frame",
            metavar="FRAME",
            help="the robot's frame whose poses a file of ESTIMATE has",
        )


def _add_comparison(parser: CommandParser) -> None:
    with parser.section("comparison"):
        parser.add_argument(
            "--align", choices=KINDS, default=DEFAULTS.alignment, help="alignment of the estimate with the truth"
        )
        parser.add_argument(
            "--associate", choices=ASSOCIATIONS, default=DEFAULTS.association, help="association of poses in time"
        )
        parser.add_argument(
            "--within", type=number, default=DEFAULTS.within_s, metavar="S", help="maximum time between the poses, s"
        )
        parser.add_argument(
            "--offset",
            type=_offset,
            default=DEFAULTS.offset_s,
            metavar="S|auto",
            help="seconds added to the estimate's times; auto estimates them",
        )
        parser.add_argument(
            "--lever",
            type=number,
            nargs=3,
            metavar=("X", "Y", "Z"),
            help="position in m of the truth's frame in the estimate's (default: by tf)",
        )
        parser.add_argument(
            "--lengths",
            type=_lengths,
            default=DEFAULTS.lengths_m,
            metavar="M,M,...",
            help="path lengths in m for relative errors (default: by the path length)",
        )
        parser.add_argument(
            "--frames", type=count, default=DEFAULTS.frames, metavar="N", help="poses per step of the RPE"
        )
        parser.add_argument(
            "--step",
            type=number,
            default=DEFAULTS.step_m,
            metavar="M",
            help="minimum distance in m between poses when measuring path length; 0: all poses (default: a tenth of "
            "the shortest length)",
        )
        parser.add_argument(
            "--truth-max-std",
            type=number,
            metavar="M",
            help="ignore truth poses whose reported standard deviation exceeds this, m; 0: use all (default: the "
            "dataset's limit)",
        )


def complete(chosen: argparse.Namespace) -> None:
    """Distinguish the arguments: ARCHIVE alone, ESTIMATE and TRUTH, or all of them."""
    archive = [] if chosen.archive is None else [str(chosen.archive)]
    names = [*archive, *chosen.estimate, *filter(None, [chosen.truth])]
    if not names:
        chosen.parser.error("the following arguments are required: ARCHIVE, or ESTIMATE and TRUTH")
    chosen.archive = None if len(names) == 2 else Path(names.pop(0))
    chosen.estimate, chosen.truth = names[:-1], names[-1] if names else None


def run(chosen: argparse.Namespace) -> int:
    """Odometry against the truth."""
    settings, chosen.spec = _settings(chosen), None
    _take_archive_for_estimate(chosen)
    _require_outputs(chosen)
    is_named = chosen.truth is not None
    pairs = _load_pairs(chosen, PoseFiles(forms=_forms(chosen), report=note))
    if not is_named:
        _require_outputs(chosen)
    if len(pairs) > 1:
        return _run_several(chosen, pairs, settings)
    comparison = _evaluate_pair(chosen, pairs[0], settings, report=note)
    _report_doubts(comparison, chosen.lengths, report=note)
    _write_tum(chosen, comparison, chosen.tum)
    _draw(chosen, [comparison])
    for line in [json.dumps(as_json(comparison), indent=2)] if chosen.json else lines_of(comparison):
        print_line(line)
    return 0


def _run_several(chosen: argparse.Namespace, pairs: Sequence[TrajectoryPair], settings: EvaluationSettings) -> int:
    """A row for each estimate; one that cannot be evaluated leaves the others alone."""
    comparisons: list[Comparison | FailedComparison] = []
    for pair, folder in zip(pairs, _folders(chosen), strict=True):
        report = partial(_note_of, pair.estimate.topic)
        try:
            comparison = _evaluate_pair(chosen, pair, settings, report=report)
        except FusionError as error:
            report(str(error))
            comparisons.append(FailedComparison(pair=pair, reason=str(error)))
        else:
            _report_doubts(comparison, chosen.lengths, report=report)
            _write_tum(chosen, comparison, folder)
            comparisons.append(comparison)
    _draw(chosen, [comparison for comparison in comparisons if isinstance(comparison, Comparison)])
    lines = [json.dumps(as_json_of_several(comparisons), indent=2)] if chosen.json else lines_of_several(comparisons)
    for line in lines:
        print_line(line)
    return int(any(isinstance(comparison, FailedComparison) for comparison in comparisons))


def _note_of(topic: str, text: str) -> None:
    note(text if text.startswith(topic) else f"{topic}: {text}")


def _evaluate_pair(
    chosen: argparse.Namespace, pair: TrajectoryPair, settings: EvaluationSettings, *, report: Callable[[str], None]
) -> Comparison:
    """Compare one estimate with the truth, in the requested time and frames."""
    pair = pair.window(chosen.start, chosen.duration)
    limit_m = chosen.truth_max_std
    pair = pair.exclude_uncertain(truth_max_std_of(pair.truth.topic, chosen.spec) if limit_m is None else limit_m)
    if chosen.estimate_frame is not None and (len(chosen.estimate) == 1 or not pair.estimate.child):
        pair = replace(pair, estimate=replace(pair.estimate, child=chosen.estimate_frame.lstrip("/")))
    return compare(
        pair, settings, lever_arm=_lever_arm(chosen.lever), report=report, finds_offset=chosen.offset is AUTO
    )


def _take_archive_for_estimate(chosen: argparse.Namespace) -> None:
    """What stands first is no archive where it and all others are files of poses."""
    names = [*chosen.estimate, chosen.truth] if chosen.truth else []
    if names and chosen.archive is not None and all(map(is_pose_file, [str(chosen.archive), *names])):
        chosen.estimate.insert(0, str(chosen.archive))
        chosen.archive = None


def _forms(chosen: argparse.Namespace) -> PoseForms:
    if chosen.times is not None and not chosen.times.is_file():
        raise UsageError(f"--times: {chosen.times}: there is no such file")
    forms = parse_pose_forms(chosen.form, chosen.times)
    for path in forms.by_path:
        if path not in (*chosen.estimate, chosen.truth):
            raise UsageError(f"--form: {path} is neither ESTIMATE nor TRUTH")
    return forms


def _load_pairs(chosen: argparse.Namespace, files: PoseFiles) -> list[TrajectoryPair]:
    """Load each estimate paired with the truth."""
    if chosen.archive is None:
        paths = [*chosen.estimate, chosen.truth]
        for path in paths:
            if not is_pose_file(path):
                each = "both" if len(paths) == 2 else "all"
                raise UsageError(f"{path}: without ARCHIVE {each} are files of poses ({', '.join(ENDINGS)})")
        return trajectories_from_files(list(map(Path, chosen.estimate)), Path(chosen.truth), files)
    with _source(chosen) as (source, names), progress_bar("reading", "messages") as bar:
        may_move = chosen.estimate_frame is not None
        pairs = load_trajectories(source, names[:-1], names[-1], files=files, progress=bar, moving=may_move)
        for line in _issue_lines(source, names):
            note(line)
    return pairs


def _settings(chosen: argparse.Namespace) -> EvaluationSettings:
    try:
        return EvaluationSettings(
            alignment=chosen.align,
            lengths_m=chosen.lengths,
            association=chosen.associate,
            within_s=chosen.within,
            offset_s=0.0 if chosen.offset is AUTO else chosen.offset,
            step_m=chosen.step,
            frames=chosen.frames,
            has_segments=any(text.rpartition("=")[2] == KITTI for text in chosen.form),
        )
    except ValueError as error:
        raise UsageError(str(error)) from None


def _require_outputs(chosen: argparse.Namespace) -> None:
    """Raise UsageError where an output cannot be written."""
    if chosen.plot is not None:
        require_libraries()
        overwrite = chosen.overwrite or is_report(chosen.plot)
        require_output_file(chosen.archive, chosen.plot, (SUFFIX, IMAGE_SUFFIX), overwrite=overwrite)
    if chosen.tum is None:
        return
    for folder in (chosen.tum, *_folders(chosen)):
        if os.path.lexists(folder) and not folder.is_dir():
            raise UsageError(f"{folder}: expected a folder, got a file")
    for folder in _folders(chosen):
        for name in TUM_NAMES:
            require_output(chosen.archive, folder / name, overwrite=chosen.overwrite)


def _folders(chosen: argparse.Namespace) -> list[Path]:
    """Where the files of each estimate go: DIR itself, or of several a folder that is called as the estimate."""
    names, tum = chosen.estimate, chosen.tum or Path()
    if len(names) == 1:
        return [tum]
    folder_names: list[str] = []
    for text in names:
        name = Path(text).stem if is_pose_file(text) else text.strip("/").replace("/", "_").replace(":", "_")
        folder_names.append(name if name not in folder_names else f"{name}_{len(folder_names) + 1}")
    return [tum / name for name in folder_names]


@contextmanager
def _source(chosen: argparse.Namespace) -> Iterator[tuple[Recording, list[str]]]:
    """What is to be read, and the names in it, that of the truth last."""
    with open_recording(chosen, derived=True) as source:
        chosen.spec = source.spec
        if chosen.truth is None:
            names = odometries_and_truth(source.typed_topics, source.spec)
            if not names:
                what = "expected odometry and ground truth, found none; name ESTIMATE and TRUTH"
                raise UsageError(f"{chosen.archive}: {what}")
            *chosen.estimate, chosen.truth = names
            yield source, names
            return
        is_bag = not isinstance(source, ArchiveRecording) or source.archive.bag is not None
        hint = partial(_why_missing, source.typed_topics) if is_bag else _no_hint
        yield source, [chosen_topic(word, source.typed_topics, hint=hint) for word in (*chosen.estimate, chosen.truth)]


def _why_missing(topics: Sequence[Topic], word: str) -> str:
    """Whether a bag of ours would have a topic, had it been asked for: only of a dataset whose topics it has."""
    namespaces = {topic.name.strip("/").partition("/")[0] for topic in topics}
    names = [name for name in datasets_deriving(word) if spec_of_dataset(name).namespace in namespaces]
    return f"; `convert --derived` of {' or '.join(names)} would have made it" if names else ""


def _no_hint(word: str) -> str:
    return ""


def _issue_lines(source: Recording, names: Sequence[str]) -> Iterator[str]:
    """Summarise the issues of the messages that were read."""
    for issues in source.issues.listed.values():
        for issue in issues[:1]:
            more = source.issues.counts[issue.kind] - 1
            yield f"{issue.location}: {issue.message}{f', and {more} more' if more else ''}"


def _report_doubts(comparison: Comparison, requested_m: Sequence[float], *, report: Callable[[str], None]) -> None:
    """Report if a topic is compared with itself, and lengths without results."""
    if comparison.pair.estimate.topic == comparison.pair.truth.topic:
        report(f"ESTIMATE and TRUTH are both {comparison.pair.truth.topic}: it is compared with itself")
    settings, period_s = comparison.evaluation.settings, usual_period_s(comparison.pair.estimate.trajectory)
    if comparison.is_offset_estimated and abs(settings.offset_s) > period_s / 2:
        report(
            f"the estimate's times fit the truth's {settings.offset_s:+g} s later, more than half of its period of "
            f"{period_s:.3g} s: does it stamp the end of a scan with its start?"
        )
    if settings.has_segments and not comparison.evaluation.segments:
        length_m = comparison.evaluation.travelled_m[-1]
        report(f"the truth's path length of {length_m:.4g} m is too short for KITTI's segments of 100 m or more")
    there = {each.length_m for each in comparison.evaluation.over_lengths if len(each.errors)}
    missing = [f"{length:g}" for length in requested_m if length not in there]
    if missing:
        length_m = comparison.evaluation.travelled_m[-1]
        report(f"--lengths: the truth's path length of {length_m:.4g} m holds no {', '.join(missing)} m")


def _lever_arm(offset_m: Sequence[float] | None) -> Array | None:
    if offset_m is None:
        return None
    transform = np.eye(4)
    transform[:3, 3] = offset_m
    return transform


def _write_tum(chosen: argparse.Namespace, comparison: Comparison, folder: Path) -> None:
    """The files of TUM that were asked for."""
    if chosen.tum is not None:
        trajectories = (comparison.pair.estimate.trajectory, comparison.pair.truth.trajectory, comparison.aligned)
        for name, trajectory in zip(TUM_NAMES, trajectories, strict=True):
            write_atomically(folder / name, _tum(trajectory))


def _draw(chosen: argparse.Namespace, comparisons: Sequence[Comparison]) -> None:
    """The drawing that was requested, of all estimates that could be evaluated."""
    if chosen.plot is not None and comparisons:
        from fieldplay.cli import evaluate_plot

        is_page = chosen.plot.suffix.lower() == SUFFIX
        drawn = evaluate_plot.page_of(comparisons).encode() if is_page else evaluate_plot.png_of(comparisons)
        write_atomically(chosen.plot, drawn)


def _tum(trajectory: Trajectory) -> bytes:
    return "".join(tum_lines(trajectory)).encode()


def _offset(text: str) -> float | None:
    return AUTO if text == "auto" else number(text)


def _lengths(text: str) -> tuple[float, ...]:
    try:
        lengths = tuple(float(part) for part in text.split(","))
    except ValueError:
        lengths = ()
    if not lengths or not all(0 < length < np.inf for length in lengths):
        raise argparse.ArgumentTypeError(f"expected metres such as 1,2,5,10, got '{text}'")
    return lengths
