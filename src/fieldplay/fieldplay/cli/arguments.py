"""What several commands share: their arguments, and what is opened and written by these.

What costs time to load is loaded where it is needed: the list of commands and completion need nothing of it.
"""

import argparse
import math
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from fieldplay.cli.terminal import progress_bar
from fieldplay.core.errors import UsageError
from fieldplay.core.progress import track_opening
from fieldplay.core.yaml_safe import value_of_yaml

if TYPE_CHECKING:
    from fieldplay.cli.parser import CommandParser
    from fieldplay.recording.archive_recording import ArchiveRecording
    from fieldplay.recording.recording import Recording
    from fieldplay.topics.selection import Selection

MAX_JOBS = 64
LONGEST_S = 1e9  # some thirty years: nanoseconds since 1970 and this fit 64 bits
NAMESPACE = re.compile(r"/?([A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*)?/?")


def add_archive(parser: "CommandParser", *, may_lack: bool = False, several: bool = False) -> None:
    """ARCHIVE, which may be left out where there are files instead, and how it is to be understood.

    `several` are bags that are taken as one; `archive` is the first of them then.
    """
    from fieldplay.datasets.registry import BAG, dataset_files

    parser.add_argument(
        "archives" if several else "archive",
        metavar="ARCHIVE",
        type=Path,
        nargs="+" if several else "?" if may_lack else None,
        help="a folder, the file as downloaded, or any bag" + ("; several bags are taken as one" if several else ""),
    )
    names = [*sorted(dataset_files()), BAG.name]
    with parser.section("input"):
        parser.add_argument(
            "--dataset",
            choices=names,
            metavar="NAME",
            help=f"the dataset, where its files do not determine it: {', '.join(names)}",
        )
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="a parameter of the dataset; docs/datasets/ explains them",
        )
        parser.add_argument(
            "--msgs", type=Path, metavar="DIR", help="a folder of .msg files or packages, for types that a bag lacks"
        )


def require_bags(chosen: argparse.Namespace) -> None:
    """UsageError where several archives are given and one of them is no bag."""
    from fieldplay.bags.bag_detection import is_bag

    for path in chosen.archives if len(chosen.archives) > 1 else ():
        if not is_bag(path):
            raise UsageError(f"{path}: several bags are taken as one, and this is none")


def add_json(parser: argparse.ArgumentParser, what: str = "JSON") -> None:
    """Whether the output is for programs."""
    parser.add_argument("--json", action="store_true", help=f"print {what}")


def add_overwrite(parser: argparse.ArgumentParser, text: str) -> None:
    """Whether what is there is replaced."""
    parser.add_argument("--overwrite", action="store_true", help=text)


def add_jobs(parser: argparse.ArgumentParser, text: str = "they parse tables") -> None:
    """How many processes share the work; auto are as many as the cores that this one may use."""
    parser.add_argument("--jobs", type=_jobs, default=1, metavar="N", help=f"number of processes, or auto; {text}")


def add_selection(parser: "CommandParser", *, images: str) -> None:
    """Which part of an archive is taken, and how its messages are named; `images` is what --images is by default."""
    add_window(parser)
    add_topics(parser)
    with parser.section("images"):
        parser.add_argument(
            "--images", choices=("compressed", "raw", "both"), help=f"transport of images (default: {images})"
        )
        parser.add_argument(
            "--rectify", action="store_true", help="add rectified images: image_rect, camera_info_rect of each camera"
        )
    with parser.section("names and tf"):
        for option, is_on, text in (("--tf", True, "on"), ("--no-tf", False, "off")):
            parser.add_argument(
                option,
                dest="tf",
                action="append",
                default=[],
                metavar="NAME",
                type=partial(_switch, is_on=is_on),
                help=f"switch a part of the dataset's tf {text}, such as nav_tf; docs/datasets/ names them",
            )
        parser.add_argument(
            "--namespace", metavar="NAME", type=_namespace, help="prefix of all topics (default: the dataset's name)"
        )
        parser.add_argument("--frame-prefix", metavar="TEXT", default="", help="prefix of all frames")


def add_topics(parser: "CommandParser") -> None:
    """Which topics are taken."""
    text = "names or regular expressions, searched in the names of topics"
    with parser.section("time and topics"):
        parser.several("--topics", type=_expression, metavar="TOPIC...", help=f"only these topics: {text}")
        parser.several("--exclude-topics", type=_expression, metavar="TOPIC...", help=f"not these topics: {text}")


def add_remap(parser: "CommandParser") -> None:
    """Which topics get other names."""
    with parser.section("names and tf"):
        parser.several(
            "--remap", "-m", type=_remapping, metavar="OLD:=NEW...", help="rename topics; both names are complete"
        )


def add_window(parser: "CommandParser") -> None:
    """Which time range is taken."""
    with parser.section("time and topics"):
        parser.add_argument("--start", type=seconds, default=0.0, metavar="S", help="seconds to skip at the start")
        parser.add_argument("--duration", type=seconds, metavar="S", help="seconds to take (default: all)")


def open_archive(chosen: argparse.Namespace, *, allow_empty: bool = False) -> "ArchiveRecording":
    """Open the requested archive, or bags as one, with a progress bar."""
    from fieldplay.recording import open_as_archive

    paths = getattr(chosen, "archives", ()) or [chosen.archive]
    with _opening(chosen):
        return open_as_archive(paths, chosen.dataset, parameters_of(chosen), allow_empty=allow_empty)


def open_recording(chosen: argparse.Namespace, *, derived: bool = False) -> "Recording":
    """Open the requested archive, or a bag as it is stored, with a progress bar."""
    import fieldplay

    with _opening(chosen):
        return fieldplay.open(chosen.archive, chosen.dataset, parameters_of(chosen), derived=derived)


@contextmanager
def _opening(chosen: argparse.Namespace) -> Iterator[None]:
    from fieldplay.io.parser_processes import start_parsers

    with progress_bar("opening", "MB") as bar, track_opening(bar), start_parsers(getattr(chosen, "jobs", 1)):
        yield


def parameters_of(chosen: argparse.Namespace) -> dict[str, Any]:
    """The parameters of --set, and of --msgs, which is one of a bag."""
    from fieldplay.bags.compression import MESSAGE_FILES

    return parameters(chosen.set) | ({MESSAGE_FILES: str(chosen.msgs)} if chosen.msgs else {})


def parameters(texts: Sequence[str]) -> dict[str, Any]:
    """The dataset's parameters from NAME=VALUE, the values as YAML."""
    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise UsageError(f"--set: expected NAME=VALUE, got '{text}'")
        try:
            values[name] = value_of_yaml(value) if value else ""
        except yaml.YAMLError:
            raise UsageError(f"--set {name}: expected a number or a word, got '{value}'") from None
    return values


def selection_of(chosen: argparse.Namespace) -> "Selection":
    """The part of the archive that is asked for."""
    from fieldplay.topics.selection import Selection

    return Selection(
        start_s=chosen.start,
        duration_s=chosen.duration,
        topics=chosen.topics,
        exclude_topics=chosen.exclude_topics,
        remap=dict(getattr(chosen, "remap", ())),
        parameters=parameters_of(chosen),
        images=chosen.images,
        rectify=chosen.rectify,
        namespace=chosen.namespace,
        frame_prefix=chosen.frame_prefix,
        derived=getattr(chosen, "derived", False),  # of convert alone
        joints_tf=True,
        tf=dict(chosen.tf),
    )


def unreadable_reason(path: Path) -> str:
    """Why a path cannot be read (missing, or not seekable); "" where it can."""
    if not os.path.exists(path):
        return f"{path}: there is no such folder or file"
    is_readable = os.path.isfile(path) or os.path.isdir(path)
    return "" if is_readable else f"{path}: expected a file or a folder, got a pipe or a device"


def require_output(archive: Path | None, out: Path, *, overwrite: bool) -> None:
    """Require that OUT does not exist and does not overlap the archive, which is never written to."""
    source, target = archive.resolve() if archive is not None else None, out.resolve()
    if source is not None and target.is_relative_to(source):
        raise UsageError(f"{out} lies in the archive, which is never written to")
    if os.path.lexists(out) and not overwrite:
        raise UsageError(f"{out} exists; --overwrite replaces it")
    if source is not None and source.is_relative_to(target):
        raise UsageError(f"{out} holds the archive: it is not replaced")


def require_output_file(archive: Path | None, out: Path, suffixes: Sequence[str], *, overwrite: bool) -> None:
    """Require that OUT can be written and ends in one of these suffixes."""
    if out.suffix.lower() not in suffixes:
        raise UsageError(f"{out}: expected a name that ends in {' or '.join(suffixes)}")
    if out.is_dir():
        raise UsageError(f"{out} is a folder")
    require_output(archive, out, overwrite=overwrite)


def seconds(text: str) -> float:
    """A length of time."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= LONGEST_S:
        raise argparse.ArgumentTypeError(f"expected seconds, from 0 to {LONGEST_S:g}, got '{text}'")
    return value


def number(text: str) -> float:
    """Any number that is finite."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"expected a number, got '{text}'")
    return value


def count(text: str) -> int:
    """A whole number from 1."""
    if not text.isdecimal() or not 0 < int(text) < 1 << 31:
        raise argparse.ArgumentTypeError(f"expected a count from 1, got '{text}'")
    return int(text)


def _jobs(text: str) -> int:
    return len(os.sched_getaffinity(0)) if text == "auto" else min(count(text), MAX_JOBS)


def _switch(name: str, *, is_on: bool) -> tuple[str, bool]:
    return name, is_on


def _expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"expected a regular expression, got '{text}': {error}") from None
    return text


def _remapping(text: str) -> tuple[str, str]:
    from fieldplay.topics.selection import remapping

    try:
        return remapping(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error).partition(": ")[2]) from None


def _namespace(text: str) -> str:
    if not NAMESPACE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"expected names of letters, digits and _ with / between them, got '{text}'")
    return text
