"""How an archive is played: one table of options for the command line, the node's parameters and the launch files."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from fieldplay.core.errors import UsageError
from fieldplay.topics.selection import Selection

LoopStamps = Literal["restart", "continue"]
Stamps = Literal["archive", "now"]
OnEnd = Literal["exit", "pause"]

READ_AHEAD_MB = 128
MIN_RATE, MAX_RATE = 1e-6, 1e6  # beyond them times are no numbers that a machine can wait for


class Option(NamedTuple):
    """An option of playing.

    Args:
        default: its default, whose type is that of the node's parameter.
        help: what it means.
        choices: all values that it can have; any for none.
        metavar: what its value is called on the command line.
    """

    default: bool | int | float | str
    help: str
    choices: tuple[str, ...] = ()
    metavar: str = ""


# By the name of the node's parameter and of the launch argument; on the command line with - for _. Below 0, duration
# and skip_gaps are not given.
OPTIONS: Mapping[str, Option] = {
    "archive": Option("", "The folder or file to play."),
    "dataset": Option("", "The dataset, where its files do not determine it."),
    "dataset_parameters": Option("", "Parameters of the dataset, one or a list, each as name:=value."),
    "rate": Option(1.0, "Speed of playback: 2 is twice as fast as recorded.", metavar="R"),
    "start": Option(0.0, "Seconds of the archive to leave out at its start.", metavar="S"),
    "duration": Option(-1.0, "Seconds of the archive to play; all by default.", metavar="S"),
    "loop": Option(False, "Start again at the end."),
    "loop_stamps": Option(
        "restart", "Whether the times of a further round restart or continue.", ("restart", "continue")
    ),
    "paused": Option(False, "Start paused, until the service ~/resume is called."),
    "clock": Option(0.0, "Rate at which /clock is published, in Hz; 0 is never.", metavar="HZ"),
    "skip_gaps": Option(
        -1.0,
        "Skip longer stretches without a message, in seconds; 0 is never (default: as the dataset has it).",
        metavar="S",
    ),
    "images": Option("raw", "How images are sent.", ("raw", "compressed", "both")),
    "rectify": Option(False, "Also send rectified images, as image_rect and camera_info_rect of each camera."),
    "frame_prefix": Option("", "Prefix of all frames."),
    "joints_tf": Option(True, "Publish the frames that joint states alone determine, unless nodes do."),
    "map_tf": Option(False, "Publish map -> odom, for the odometry of the kinematics nodes."),
    "stamps": Option("archive", "The times in the messages.", ("archive", "now")),
    "on_end": Option("exit", "What to do at the end.", ("exit", "pause")),
    "topics": Option("", "Only these topics: names or regular expressions, separated by blanks."),
    "exclude_topics": Option("", "Not these topics: names or regular expressions, separated by blanks."),
    "remap": Option("", "Other names for topics, each as OLD:=NEW, separated by blanks."),
    "wait_for_subscribers": Option(0, "Start once the topics have so many subscribers in all.", metavar="N"),
    "wait_for_streams": Option(
        "", "Start once each of these has a subscriber, separated by blanks: ids of streams, or ID@NODE for that node."
    ),
    "wait_timeout": Option(30.0, "Start without them after so many seconds; 0 is never.", metavar="S"),
    "read_ahead_mb": Option(float(READ_AHEAD_MB), "Megabytes that are read ahead, of half a second at most."),
    "qos_overrides": Option("", "A YAML file of QoS overrides, in the format of rosbag2.", metavar="FILE"),
    "urdf": Option("", "A robot model to publish on robot_description.", metavar="FILE"),
}
FIELDS = {"clock": "clock_hz", "skip_gaps": "skip_gaps_s", "wait_timeout": "wait_timeout_s"}  # of PlayOptions


class RequiredSubscription(NamedTuple):
    """A stream (by its id) that must have a subscriber: a node of this name in the player's namespace, else any."""

    stream: str
    node: str = ""

    @classmethod
    def from_text(cls, text: str) -> "RequiredSubscription":
        """From 'STREAM' or 'STREAM@NODE'."""
        stream, _, node = text.partition("@")
        return cls(stream, node)


@dataclass(frozen=True, kw_only=True)
class PlayOptions:
    """`loop_stamps`: whether the times of a further round begin again or go on; `clock_hz`: of /clock, 0 is never.

    `skip_gaps_s`: a longer stretch of the archive without a message is passed over at once; 0 is never, and None as
    the dataset has it.
    `wait_for_streams`: start once each of these streams has a subscriber, if the archive has it.
    """

    selection: Selection = field(default_factory=Selection)
    rate: float = 1.0
    loop: bool = False
    loop_stamps: LoopStamps = "restart"
    paused: bool = False
    clock_hz: float = 0.0
    skip_gaps_s: float | None = None
    stamps: Stamps = "archive"
    on_end: OnEnd = "exit"
    wait_for_subscribers: int = 0
    wait_for_streams: tuple[RequiredSubscription, ...] = ()
    wait_timeout_s: float = 0.0
    read_ahead_mb: float = READ_AHEAD_MB
    qos_overrides: Path | None = None
    urdf: Path | None = None

    def __post_init__(self) -> None:
        _check("rate", self.rate, is_rate(self.rate), f"a number above 0, from {MIN_RATE:g} to {MAX_RATE:g}")
        is_size = math.isfinite(self.read_ahead_mb) and self.read_ahead_mb > 0
        _check("read_ahead_mb", self.read_ahead_mb, is_size, "a number above 0")
        for name in ("clock_hz", "skip_gaps_s", "wait_for_subscribers", "wait_timeout_s"):
            value = getattr(self, name)
            _check(name, value, value is None or (math.isfinite(value) and value >= 0), "0 or more")
        start, duration = self.selection.start_s, self.selection.duration_s
        _check("start", start, math.isfinite(start) and start >= 0, "0 s or more")
        _check("duration", duration, duration is None or (math.isfinite(duration) and duration >= 0), "0 s or more")
        for text in (*self.selection.patterns, *self.selection.exclude_topics):
            _check("topics", text, _is_regex(text), "a regular expression")
        for name, choices in (("loop_stamps", LoopStamps), ("stamps", Stamps), ("on_end", OnEnd)):
            value = getattr(self, name)
            _check(name, value, value in get_args(choices), f"one of {', '.join(get_args(choices))}")

    @property
    def waits(self) -> bool:
        """Whether playing starts only once it has a subscriber."""
        return self.wait_for_subscribers > 0 or bool(self.wait_for_streams)


def options_of_values(values: Mapping[str, Any], selection: Selection) -> PlayOptions:
    """Make the options of playing from values by the names of OPTIONS; those left out have their defaults.

    Args:
        values: of the types of OPTIONS; None or below 0 where it means that an option is not given.
        selection: what is played.

    Returns:
        The options.

    Raises:
        UsageError: a value makes no sense; the message names the option.
    """
    names = {FIELDS.get(name, name): name for name in OPTIONS}
    known = {field: name for field, name in names.items() if field in PlayOptions.__dataclass_fields__}
    given = {field: values[name] for field, name in known.items() if name in values}
    gap_s = given.get("skip_gaps_s")
    given["skip_gaps_s"] = None if gap_s is None or gap_s < 0 else gap_s
    for name in ("qos_overrides", "urdf"):
        given[name] = Path(given[name]).expanduser() if given.get(name) else None
    streams = str(given.get("wait_for_streams", "")).split()
    given["wait_for_streams"] = tuple(map(RequiredSubscription.from_text, streams))
    return PlayOptions(selection=selection, **given)


def is_rate(rate: float) -> bool:
    """Whether playing can go at this rate."""
    return MIN_RATE <= rate <= MAX_RATE


def _is_regex(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def _check(name: str, value: object, good: bool, expected: str) -> None:
    if not good:
        raise UsageError(f"{name}: expected {expected}, got {value!r}")
