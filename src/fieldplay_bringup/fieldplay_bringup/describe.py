"""The launch description of a dataset: the player, the nodes for what its description derives, RViz if wanted."""

import os
import sys
from collections.abc import Collection, Mapping
from typing import Any

from fieldplay.core.errors import ArchiveError, UsageError, unknown_name
from fieldplay.core.process_exit import EXIT_WITH_ENV
from fieldplay.core.resources import config_folders
from fieldplay.core.yaml_safe import value_of_yaml
from fieldplay.datasets.archive import chosen_parameters
from fieldplay.datasets.registry import robot_file, spec_of_dataset
from fieldplay.datasets.spec import DatasetParameter, DatasetSpec
from fieldplay.player.dds_profile import use_profile
from fieldplay.player.options import OPTIONS, Option
from fieldplay.projection.projection import overlay_parameters
from fieldplay.topics.dynamic_tf import ODOM_TF, is_computed, switches
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction, SetEnvironmentVariable, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

JOINTS_OF_MODEL = "joint_transforms"  # the player offers the model, and sends what stands still
IMAGE = "sensor_msgs/msg/Image"
TRUE_FALSE = ["true", "false"]
VIEWS, SHOWN = [*TRUE_FALSE, "web"], "Show it in Rerun as it comes: true in a window, web in a browser."
PLAYED = (  # options of playing that are arguments of all launch files
    "rate", "start", "duration", "loop", "paused", "clock", "skip_gaps", "images", "rectify", "topics",
    "exclude_topics", "remap", "frame_prefix", "stamps", "on_end",
)  # fmt: skip
NODES_TIMEOUT_S = 15.0  # the player waits so long for its nodes, that they miss nothing
Values = Mapping[str, Any]


def describe(dataset: str) -> LaunchDescription:
    """Everything that `ros2 launch fieldplay_bringup <dataset>.launch.py` starts."""
    spec = spec_of_dataset(dataset)
    arguments = _arguments(spec)
    names = [argument.name for argument in arguments]
    return LaunchDescription([*arguments, OpaqueFunction(function=_start, args=[spec, names])])


def _arguments(spec: DatasetSpec) -> list[DeclareLaunchArgument]:
    def own(name: str, default: str, text: str, choices: list[str] | None = None) -> DeclareLaunchArgument:
        return DeclareLaunchArgument(name, default_value=default, description=text, choices=choices)

    played = {name: OPTIONS[name].default for name in PLAYED} | {"skip_gaps": spec.skip_gaps_s}
    return [
        DeclareLaunchArgument("archive", description=f"The folder or file to play: {spec.title}."),
        *(own(name, _text(default), OPTIONS[name].help, _choices(OPTIONS[name])) for name, default in played.items()),
        own("namespace", spec.namespace, "Before all topics."),
        own(
            "map_tf",
            "true",
            "Publish map -> odom, from the first true pose; false where a SLAM stack does.",
            TRUE_FALSE,
        ),
        own("kinematics", "true", "Compute what the dataset's description names: wheels, arms, odometry.", TRUE_FALSE),
        *(own(name, _text(is_on), text, TRUE_FALSE) for name, is_on, text in _switches(spec)),
        own("overlay", "", "LASER,CAMERA: publish <camera>/overlay, the images with the laser's points in them."),
        own("fuse", "", "DFPC[:IMPLEMENTATION]: run a fusion pipeline on the images; see fieldplay fuse --list."),
        own("rviz", "false", "Start RViz with the dataset's view.", TRUE_FALSE),
        own("view", "false", SHOWN, VIEWS),
        *(_parameter_argument(name, parameter) for name, parameter in spec.parameters.items()),
    ]


def _choices(option: Option) -> list[str] | None:
    return TRUE_FALSE if isinstance(option.default, bool) else list(option.choices) or None


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parameter_argument(name: str, parameter: DatasetParameter) -> DeclareLaunchArgument:
    choices = TRUE_FALSE if isinstance(parameter.default, bool) else [*map(str, parameter.choices)] or None
    default = str(parameter.default).lower() if isinstance(parameter.default, bool) else str(parameter.default)
    return DeclareLaunchArgument(name, default_value=default, description=parameter.help, choices=choices)


def refuse_unknown(context: LaunchContext, file_name: str, known: Collection[str]) -> None:
    """Refuse what `ros2 launch FILE name:=value` sets and the file does not know, which launch itself ignores.

    Where another file includes this one, the arguments are that one's.
    """
    if not any(os.path.basename(word) == file_name for word in sys.argv):
        return
    for word in context.argv:
        name, assign, _ = word.partition(":=")
        if assign and name not in known:
            raise UsageError(unknown_name(name, known, what="argument", owner=file_name))


def _switches(spec: DatasetSpec) -> list[tuple[str, bool, str]]:
    """The switches of tf: name, default, meaning. odom_tf is an argument of all datasets."""
    rows = [(ODOM_TF, switches(spec).get(ODOM_TF, True), "Publish odom -> base_link; false where a SLAM stack does.")]
    for name, is_on in switches(spec).items():
        sent = ", ".join(f"{s.frame} -> {s.child_frame} from {s.topic}" for s in spec.streams if s.tf == name)
        if name != ODOM_TF:
            rows.append((name, is_on, f"Publish {sent}, unless the odometry's node places that frame."))
    return rows


def _start(context: LaunchContext, spec: DatasetSpec, names: list[str]) -> list[LaunchDescriptionEntity]:
    refuse_unknown(context, f"{spec.name}.launch.py", names)
    values = {name: _typed_value(LaunchConfiguration(name).perform(context)) for name in names}
    values |= chosen_parameters(spec, {name: values[name] for name in spec.parameters})  # 2 is a number of a node: 2.0
    if not os.path.exists(_archive_path(values)):
        raise ArchiveError(f"archive: {_archive_path(values)}: there is no such folder or file")
    started = [*_environment(), _player(spec, values)]
    if values["kinematics"]:
        started += _kinematics(spec, values)
    if values["overlay"]:
        started.append(_overlay(spec, values))
    if values["fuse"]:
        name, _, implementation = str(values["fuse"]).partition(":")
        inputs = inputs_of_dataset(spec, str(values["images"]))
        started.append(
            fusion_node(
                {
                    "dfpc": name,
                    "implementation": implementation,
                    "inputs": inputs,
                    "namespace": values["namespace"],
                    "use_sim_time": float(values["clock"]) > 0,
                }
            )
        )
    if values["rviz"]:
        views = (folder / "rviz" / f"{spec.name}.rviz" for folder in config_folders())
        chosen = [word for view in views if view.is_file() for word in ("-d", str(view))][:2]
        started.append(Node(package="rviz2", executable="rviz2", arguments=chosen))
    if values["view"]:
        started.append(live_view(spec.name, str(values["namespace"]), in_browser=values["view"] == "web"))
    return started


def live_view(dataset: str, namespace: str, *, in_browser: bool) -> ExecuteProcess:
    """The view of what is on the network, with the dataset's layout where one is named; its end ends nothing."""
    named = {"--dataset": dataset, "--namespace": namespace}
    options = [word for name, value in named.items() if value for word in (name, value)]
    return ExecuteProcess(
        cmd=["fieldplay", "view", "--live", *options, *(["--web"] if in_browser else [])], output="screen"
    )


def _typed_value(text: str) -> Any:
    """Parse an argument as bool, number or text."""
    value = value_of_yaml(text)
    return text if value is None or isinstance(value, list | dict) else value


def _archive_path(values: Values) -> str:
    return os.path.abspath(os.path.expanduser(str(values["archive"])))


def _environment() -> list[LaunchDescriptionEntity]:
    fast_dds = [SetEnvironmentVariable(name, value) for name, value in use_profile().items()]
    return [*fast_dds, SetEnvironmentVariable(EXIT_WITH_ENV, str(os.getpid()))]


def _player(spec: DatasetSpec, values: Values) -> Node:
    parameters: dict[str, Any] = {name: type(OPTIONS[name].default)(values[name]) for name in PLAYED}
    parameters |= {name: bool(values[name]) for name in switches(spec)}
    if is_computed(spec):
        parameters[ODOM_TF] = bool(values[ODOM_TF] and values["kinematics"])
    if spec.parameters:
        parameters["dataset_parameters"] = [f"{name}:={values[name]}" for name in spec.parameters]
    if received := _streams_to_wait_for(spec, values):
        parameters |= {"wait_for_streams": " ".join(received), "wait_timeout": NODES_TIMEOUT_S}
    return Node(
        package="fieldplay_ros",
        executable="player",
        name="player",
        namespace=str(values["namespace"]),
        output="screen",
        on_exit=Shutdown(reason="the player has ended"),
        parameters=[
            {
                **parameters,
                "archive": _archive_path(values),
                "dataset": spec.name,
                "urdf": str(robot_file(spec.robot) or ""),
                "map_tf": bool(values["map_tf"] and values["kinematics"]),
                "joints_tf": not values["kinematics"],
            }
        ],
    )


def _streams_to_wait_for(spec: DatasetSpec, values: Values) -> list[str]:
    """STREAM@NODE for each stream that a node subscribes to."""
    received: list[str] = []
    if values["kinematics"]:
        readers = [derived for derived in spec.derived if derived.node]
        received += [f"{stream}@{derived.name or derived.node}" for derived in readers for stream in derived.streams]
    if values["overlay"]:
        topics = overlay_parameters(spec, str(values["overlay"]), image_format=str(values["images"]))
        fed = {str(topics.get(name, "")).removesuffix("/compressed") for name in ("scan", "cloud", "image")}
        is_whole = values["images"] != "both"  # else it subscribes to one of two topics with the images
        streams = [stream for stream in spec.streams if stream.topic in fed and (is_whole or stream.type != IMAGE)]
        received += [f"{stream.id}@overlay" for stream in streams]
    if values["fuse"]:
        fed = set(spec.fusion.values())
        received += [f"{stream.id}@pipeline" for stream in spec.streams if stream.topic in fed]
    return received


def _kinematics(spec: DatasetSpec, values: Values) -> list[LaunchDescriptionEntity]:
    """One node for each thing to compute; what one of them computes beside it has none of its own."""
    nodes: list[LaunchDescriptionEntity] = []
    for derived in spec.derived:
        if not derived.node:
            continue
        parameters: dict[str, Any] = {
            "frame_prefix": str(values["frame_prefix"]),
            "use_sim_time": float(values["clock"]) > 0,
            **derived.node_parameters(),
            **{name: values[name] for name in spec.parameters if name in derived.settings},
        }
        if derived.odom_tf:
            parameters["odom_tf"] = values["odom_tf"]
        if derived.kind == JOINTS_OF_MODEL:
            parameters |= {"urdf": str(robot_file(spec.robot) or ""), "moving_only": True}
        nodes.append(
            Node(
                package=derived.package,
                executable=derived.node,
                name=derived.name,
                namespace=str(values["namespace"]),
                output="screen",
                parameters=[parameters],
            )
        )
    return nodes


def inputs_of_dataset(spec: DatasetSpec, image_format: str) -> list[str]:
    """PORT=TOPIC for each input of pipelines that the dataset's description names."""
    end = "/compressed" if image_format == "compressed" else ""
    images = {stream.topic for stream in spec.streams if stream.type == IMAGE}
    return [f"{port}={topic}{end if topic in images else ''}" for port, topic in spec.fusion.items()]


def fusion_node(values: Values) -> Node:
    """A pipeline of fusion on live topics; values are parameters of the node, its namespace and its name."""
    own = ("namespace", "name")
    parameters = {name: value for name, value in values.items() if name not in own and value not in ("", [])}
    return Node(
        package="fieldplay_ros",
        executable="pipeline",
        name=str(values.get("name", "pipeline")),
        namespace=str(values["namespace"]),
        output="screen",
        additional_env={"OPENBLAS_NUM_THREADS": "1"},  # as on the command line: products of small matrices
        parameters=[parameters],
    )


def _overlay(spec: DatasetSpec, values: Values) -> Node:
    parameters = overlay_parameters(spec, str(values["overlay"]), image_format=str(values["images"]))
    return Node(
        package="fieldplay_ros",
        executable="overlay",
        name="overlay",
        namespace=str(values["namespace"]),
        output="screen",
        parameters=[{"use_sim_time": float(values["clock"]) > 0, **parameters}],
    )
