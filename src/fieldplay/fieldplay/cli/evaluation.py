"""The command `fieldplay evaluate`: odometry against the truth, of an archive or a bag."""

import argparse
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from fieldplay.cli.arguments import (
    add_archive,
    add_json,
    add_overwrite,
    count,
    number,
    opened_source,
    require_file_place,
    require_place,
)
from fieldplay.cli.terminal import note, print_line, progress_bar
from fieldplay.evaluation.text import as_json, lines_of
from fieldplay.evaluation.ways import Compared, chosen_topic, compared, read_ways
from fieldplay.report.output import SUFFIX, is_report
from fieldplay.sources.source import RecordSource
from fieldplay_fusion.evaluation.alignment import FIRST, KINDS
from fieldplay_fusion.evaluation.evaluation import EvaluationSettings
from fieldplay_fusion.evaluation.pairs import ASSOCIATIONS, INTERPOLATE
from fieldplay_fusion.evaluation.trajectories import Trajectory, tum_lines
from fieldplay_kinematics.transforms import Array
from fieldplay_messages.errors import UsageError
from fieldplay_messages.outputs import write_whole

PICTURE = ".png"
TUM_NAMES = ("estimate.tum", "truth.tum", "estimate_aligned.tum")
EPILOG = """\
ESTIMATE and TRUTH are topics of poses (Odometry, PoseStamped, PoseWithCovarianceStamped, TransformStamped, Path,
PointStamped, NavSatFix), all of the name or how it ends; or tf:PARENT.CHILD. What the nodes would compute is there too.
The two are compared at the same times. Where they are about two frames of the robot, tf tells the lever arm.

  fieldplay evaluate etna.zip wheels/odom gnss/odom
  fieldplay evaluate sequence01 odom ground_truth/odom --align yaw --plot errors.html
  fieldplay evaluate some_bag tf:odom.base_link dgps/odom --lengths 1,2,5,10 --tum trajectories
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ARCHIVE, ESTIMATE and TRUTH, how these are compared, and what is written."""
    parser.epilog, parser.formatter_class = EPILOG, argparse.RawDescriptionHelpFormatter
    add_archive(parser)
    parser.add_argument("estimate", metavar="ESTIMATE", help="topic of what is to be judged")
    parser.add_argument("truth", metavar="TRUTH", help="topic of what it is judged by")
    parser.add_argument(
        "--align", choices=KINDS, default=FIRST, help="how the estimate is laid upon the truth; by the first pose"
    )
    parser.add_argument(
        "--lengths", type=_lengths, default=(), metavar="M,M,...", help="of the way, for relative errors; as it fits"
    )
    parser.add_argument(
        "--associate", choices=ASSOCIATIONS, default=INTERPOLATE, help="how poses of the same time are found"
    )
    parser.add_argument("--within", type=number, default=0.25, metavar="S", help="how near in time they must be; 0.25")
    parser.add_argument("--offset", type=number, default=0.0, metavar="S", help="added to the estimate's times")
    parser.add_argument("--frames", type=count, default=1, metavar="N", help="poses of a step of the RPE; 1")
    parser.add_argument(
        "--step",
        type=number,
        default=-1.0,
        metavar="M",
        help="ways are measured by places so far apart: noise is no way; a tenth of the shortest length; 0: all poses",
    )
    parser.add_argument(
        "--lever", type=number, nargs=3, metavar=("X", "Y", "Z"), help="the truth's frame in the estimate's, not by tf"
    )
    parser.add_argument("--tum", type=Path, metavar="DIR", help="write both, and the estimate as aligned, for evo")
    add_json(parser)
    parser.add_argument("--plot", type=Path, metavar="OUT", help="draw the errors, a file that ends in .html or .png")
    add_overwrite(parser, "replace what is at DIR and OUT")


def run(chosen: argparse.Namespace) -> int:
    """Odometry against the truth."""
    settings = _settings(chosen)
    _require_places(chosen)
    with _source(chosen) as (source, names), progress_bar("reading", "messages") as bar:
        ways = read_ways(source, names[0], names[1], progress=bar)
        for line in _problems(source, names):
            note(line)
    found = compared(ways, settings, lever=_lever(chosen.lever), tell=note)
    _tell_doubts(found, chosen.lengths)
    _write(chosen, found)
    for line in [json.dumps(as_json(found), indent=2)] if chosen.json else lines_of(found):
        print_line(line)
    return 0


def _settings(chosen: argparse.Namespace) -> EvaluationSettings:
    try:
        return EvaluationSettings(
            alignment=chosen.align,
            lengths_m=chosen.lengths,
            association=chosen.associate,
            within_s=chosen.within,
            offset_s=chosen.offset,
            step_m=chosen.step,
            frames=chosen.frames,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None


def _require_places(chosen: argparse.Namespace) -> None:
    """UsageError where what is to be written cannot stand where it is wanted."""
    if chosen.plot is not None:
        overwrite = chosen.overwrite or is_report(chosen.plot)
        require_file_place(chosen.archive, chosen.plot, (SUFFIX, PICTURE), overwrite=overwrite)
    if chosen.tum is not None and os.path.lexists(chosen.tum) and not chosen.tum.is_dir():
        raise UsageError(f"{chosen.tum}: expected a folder, got a file")
    for name in TUM_NAMES if chosen.tum is not None else ():
        require_place(chosen.archive, chosen.tum / name, overwrite=chosen.overwrite)


@contextmanager
def _source(chosen: argparse.Namespace) -> Iterator[tuple[RecordSource, tuple[str, str]]]:
    """What is to be read, and the names of the two in it."""
    with opened_source(chosen) as source:
        yield source, (chosen_topic(chosen.estimate, source.topics), chosen_topic(chosen.truth, source.topics))


def _problems(source: RecordSource, names: Sequence[str]) -> Iterator[str]:
    """What was wrong with the messages that were read, in short."""
    for found in source.findings.kept.values():
        for finding in found[:1]:
            more = source.findings.counts[finding.kind] - 1
            yield f"{finding.place}: {finding.message}{f', and {more} more' if more else ''}"


def _tell_doubts(found: Compared, wanted_m: Sequence[float]) -> None:
    """Say if one topic is compared with itself, and over which lengths nothing can be told."""
    if found.ways.estimate.topic == found.ways.truth.topic:
        note(f"ESTIMATE and TRUTH are both {found.ways.truth.topic}: it is compared with itself")
    there = {each.length_m for each in found.evaluation.over_lengths if len(each.errors)}
    missing = [f"{length:g}" for length in wanted_m if length not in there]
    if missing:
        note(f"--lengths: the truth's way of {found.evaluation.travelled_m[-1]:.4g} m holds no {', '.join(missing)} m")


def _lever(offset_m: Sequence[float] | None) -> Array | None:
    if offset_m is None:
        return None
    lever = np.eye(4)
    lever[:3, 3] = offset_m
    return lever


def _write(chosen: argparse.Namespace, found: Compared) -> None:
    """The files that were asked for."""
    if chosen.tum is not None:
        ways = (found.ways.estimate.trajectory, found.ways.truth.trajectory, found.aligned)
        for name, way in zip(TUM_NAMES, ways, strict=True):
            write_whole(chosen.tum / name, _tum(way))
    if chosen.plot is not None:
        from fieldplay.evaluation import figures

        is_page = chosen.plot.suffix.lower() == SUFFIX
        draw: Callable[[Compared], bytes] = figures.picture_of
        write_whole(chosen.plot, figures.page_of(found).encode() if is_page else draw(found))


def _tum(way: Trajectory) -> bytes:
    return "".join(tum_lines(way)).encode()


def _lengths(text: str) -> tuple[float, ...]:
    try:
        lengths = tuple(float(part) for part in text.split(","))
    except ValueError:
        lengths = ()
    if not lengths or not all(0 < length < np.inf for length in lengths):
        raise argparse.ArgumentTypeError(f"expected metres such as 1,2,5,10, got '{text}'")
    return lengths
