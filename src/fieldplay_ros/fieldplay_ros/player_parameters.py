"""The parameters of the player node, and what becomes of their values."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import yaml

from fieldplay.core.errors import UsageError, unknown_name
from fieldplay.core.yaml_safe import value_of_yaml
from fieldplay.datasets.spec import DatasetSpec
from fieldplay.player.options import READ_AHEAD_MB, Awaited, PlayOptions
from fieldplay.streams.image_topics import Images
from fieldplay.topics.dynamic_tf import live_switches
from fieldplay.topics.selection import Selection

ASSIGN = ":="


@dataclass(frozen=True)
class Parameter:
    """The default, whose type is the parameter's, and what it means."""

    default: Any
    help: str


PARAMETERS = {
    "archive": Parameter("", "The folder or file to play."),
    "dataset": Parameter("", "Its dataset, where its files do not tell."),
    "dataset_parameters": Parameter("", "Parameters of the dataset, one or a list, each as name:=value."),
    "rate": Parameter(1.0, "How many times faster than it was."),
    "start": Parameter(0.0, "Seconds of the archive to leave out at its begin."),
    "duration": Parameter(-1.0, "Seconds of the archive to play; all where negative."),
    "loop": Parameter(False, "Begin again at the end."),
    "loop_stamps": Parameter("restart", "Whether the times of a further round 'restart' or 'continue'."),
    "paused": Parameter(False, "Wait for the service ~/resume before anything but what stands at all times leaves."),
    "clock": Parameter(0.0, "How often /clock is published, in Hz; 0 is never."),
    "skip_gaps": Parameter(
        -1.0,
        "Pass over longer stretches without a message, in seconds; 0 is never, below 0 as the dataset has it.",
    ),
    "images": Parameter("raw", "How pictures are sent: raw, compressed or both."),
    "rectify": Parameter(False, "Also rectified images, as image_rect and camera_info_rect of each camera."),
    "frame_prefix": Parameter("", "Before all frames."),
    "joints_tf": Parameter(True, "Publish the frames that joint states alone determine, unless nodes do."),
    "map_tf": Parameter(False, "Publish map -> odom too, for the odometry of the kinematics nodes."),
    "stamps": Parameter("archive", "The times in the messages: the 'archive' its own, or 'now'."),
    "on_end": Parameter("exit", "What to do at the end: exit or pause."),
    "topics": Parameter("", "Only topics in which this regular expression is found."),
    "wait_for_subscribers": Parameter(0, "Begin once the topics have so many subscribers in all."),
    "wait_for_streams": Parameter(
        "", "Begin once each of these is heard, parted by blanks: ids of streams, or ID@NODE for by that node."
    ),
    "wait_timeout": Parameter(30.0, "Begin without them after so many seconds; 0 is never."),
    "read_ahead_mb": Parameter(float(READ_AHEAD_MB), "Megabytes that may lie ready, of a second of playing at most."),
    "qos_overrides": Parameter("", "A YAML file of QoS overrides, in the form that rosbag2 reads."),
    "urdf": Parameter("", "A file to publish on robot_description."),
}


def options_of_parameters(values: Mapping[str, Any], namespace: str | None) -> PlayOptions:
    """What the values of all parameters ask for; UsageError names one that makes no sense."""
    given = {name: _typed(name, values[name], parameter.default) for name, parameter in PARAMETERS.items()}
    if given["images"] not in get_args(Images):
        raise UsageError(f"images: expected one of {', '.join(get_args(Images))}, got {given['images']!r}")
    selection = Selection(
        start_s=given["start"],
        duration_s=None if given["duration"] < 0 else given["duration"],
        topics=given["topics"],
        images=given["images"],
        rectify=given["rectify"],
        namespace=namespace,
        frame_prefix=given["frame_prefix"],
        map_tf=given["map_tf"],
        joints_tf=given["joints_tf"],
        parameters=dataset_parameters(values["dataset_parameters"]),
    )
    return PlayOptions(
        selection=selection,
        clock_hz=given["clock"],
        skip_gaps_s=None if given["skip_gaps"] < 0 else given["skip_gaps"],
        wait_timeout_s=given["wait_timeout"],
        wait_for_streams=tuple(map(Awaited.from_text, given["wait_for_streams"].split())),
        qos_overrides=_path(given["qos_overrides"]),
        urdf=_path(given["urdf"]),
        **{name: given[name] for name in ("rate", "loop", "loop_stamps", "paused", "stamps", "on_end")},
        **{name: given[name] for name in ("wait_for_subscribers", "read_ahead_mb")},
    )


def switches_of_parameters(values: Mapping[str, Any]) -> dict[str, bool]:
    """The switches of the dataset's tf, whose parameters are called as they are."""
    return {name: bool(_typed(name, value, True)) for name, value in values.items()}


def dataset_parameters(value: Any) -> dict[str, Any]:
    """Parameters of a dataset from texts 'name:=value', the values read as YAML."""
    found = {}
    for text in filter(None, [value] if isinstance(value, str) else value):
        name, assign, content = str(text).partition(ASSIGN)
        if not (name and assign):
            raise UsageError(f"dataset_parameters: expected name{ASSIGN}value, got {text!r}")
        try:
            found[name] = value_of_yaml(content) if content else ""
        except yaml.YAMLError as error:
            raise UsageError(f"dataset_parameters: {name}: {error}") from None
    return found


def parameters_by_name(spec: DatasetSpec, given: Mapping[str, Any]) -> dict[str, Any]:
    """The dataset's parameters among those given to the node, beside the switches of its tf.

    UsageError names one that the node does not know, and the nearest that it does.
    """
    known = {*PARAMETERS, *spec.parameters, *live_switches(spec)}
    for name in given:
        if name not in known:
            raise UsageError(unknown_name(name, known, what="parameter", owner=f"the player of {spec.name}"))
    return {name: value for name, value in given.items() if name in spec.parameters}


def _typed(name: str, value: Any, default: Any) -> Any:
    """The value as what the default is: a command line makes 2 out of 2.0, and 5 out of a folder called so."""
    if isinstance(default, str):
        return value if isinstance(value, str) else str(value)
    if isinstance(default, bool):
        return _checked(name, value, isinstance(value, bool), "true or false")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(default, int):
        return int(_checked(name, value, is_number and value == int(value), "a whole number"))
    return float(_checked(name, value, is_number, "a number"))


def _checked(name: str, value: Any, good: bool, expected: str) -> Any:
    if not good:
        raise UsageError(f"{name}: expected {expected}, got {value!r}")
    return value


def _path(text: str) -> Path | None:
    return Path(text).expanduser() if text else None
