"""The launch description of a pipeline of fusion: its node, and a dataset that plays where one is named."""

import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_share_directory

from fieldplay.core.errors import UsageError
from fieldplay.datasets.registry import spec_of_dataset
from fieldplay_bringup.describe import (
    SHOWN,
    TRUE_FALSE,
    VIEWS,
    fusion_node,
    inputs_of_dataset,
    live_view,
    refuse_unknown,
)
from fieldplay_cdff.orchestration.orchestration import PlannedPipeline, plan_file, plan_of_file, topics_of_plan
from fieldplay_cdff.pipeline.chains import source_of
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

MAP = "{map}"  # in the settings of a plan
ARGUMENTS = (
    ("dfpc", "", "The pipeline: its name, or the file that describes one."),
    ("plan", "", "In its place several, by a plan that the orchestrator follows: its name, or its file."),
    ("map", "", "The file of a map of keyframes: what a plan's settings call {map}."),
    ("implementation", "", "Which of the pipeline's; the first where empty."),
    ("dataset", "", "The dataset that plays; none where the topics are there already."),
    ("archive", "", "The folder or file that plays, with dataset."),
    ("rate", "1.0", "How many times faster than it was the archive plays."),
    ("inputs", "", "Which topics feed the inputs: PORT=TOPIC, comma between; the dataset's own where empty."),
    ("config", "", "A file of parameters as the authors of CDFF write them."),
    ("settings", "", "Parameters of steps: STEP.GROUP.NAME=VALUE, comma between."),
    ("topic", "", "Below which the outputs are published; the pipeline's own where empty."),
    ("namespace", "", "Before all topics; the dataset's name where empty."),
    ("scene_frame", "", "The frame of the outputs; <topic>/scene where empty."),
    ("queue", "2", "Sets of inputs that may wait; where the steps are too slow older ones are dropped and counted."),
    ("stop_after", "0", "Failures of a step in a row after which all stops; 0 is never."),
    ("threads", "2", "That all steps share."),
    ("products", "", "The folder in which products are kept; none where empty."),
    ("world", "", "Which map products are placed in: one name for runs that share it; one of this launch where empty."),
    ("stats_hz", "1.0", "How often statistics go to /diagnostics; 0 is never."),
)
SWITCHES = (
    ("publish_tf", "Whether the pose goes on /tf."),
    ("autostart", "Whether the pipeline becomes active by itself."),
)


def describe_fusion() -> LaunchDescription:
    """Everything that `ros2 launch fieldplay_bringup fusion.launch.py` starts."""
    arguments = [DeclareLaunchArgument(name, default_value=value, description=text) for name, value, text in ARGUMENTS]
    arguments += [
        DeclareLaunchArgument(name, default_value="true", description=text, choices=TRUE_FALSE)
        for name, text in SWITCHES
    ]
    arguments.append(DeclareLaunchArgument("view", default_value="false", description=SHOWN, choices=VIEWS))
    return LaunchDescription([*arguments, OpaqueFunction(function=_start)])


def _start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    names = ["view", *(name for name, *_ in (*ARGUMENTS, *SWITCHES))]
    refuse_unknown(context, "fusion.launch.py", names)
    values: dict[str, Any] = {name: LaunchConfiguration(name).perform(context) for name in names}
    values["world"] = values["world"] or f"launch of {datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
    values["settings"] = [word for word in values["settings"].split(",") if word]
    started: list[LaunchDescriptionEntity] = []
    inputs = [word for word in values["inputs"].split(",") if word]
    if values["archive"] and not values["dataset"]:
        raise UsageError("archive: expected dataset with it, such as dataset:=sherpatt")
    if values["dataset"]:
        spec = spec_of_dataset(values["dataset"])
        values["namespace"] = values["namespace"] or spec.namespace
        inputs = inputs or inputs_of_dataset(spec, "raw")
        if values["archive"]:
            started.append(_dataset(spec.name, values))
    if bool(values["dfpc"]) == bool(values["plan"]):
        raise UsageError("expected dfpc:=NAME, one pipeline, or plan:=FILE, several")
    if values["plan"]:
        started += _plan_nodes(values, inputs)
    else:
        started.append(_pipeline(values, inputs))
    if values["products"]:
        started.append(_node("products", values, store=_absolute_path(values["products"])))
    if values["view"] != "false":
        started.append(live_view(values["dataset"], values["namespace"], in_browser=values["view"] == "web"))
    return started


def _plan_nodes(values: dict[str, Any], inputs: list[str]) -> list[LaunchDescriptionEntity]:
    """The pipelines of a plan, which begin nothing by themselves, and the orchestrator."""
    file = plan_file(values["plan"]).absolute()
    started: list[LaunchDescriptionEntity] = []
    plan = plan_of_file(file)
    topics = topics_of_plan(plan)
    for own in plan.pipelines.values():
        ports = {port.name for port in source_of(own.dfpc).description.inputs}
        fed = [word for word in inputs if word.partition("=")[0] in ports]
        further = {
            "name": own.name, "dfpc": own.dfpc, "implementation": own.implementation, "config": own.config,
            "settings": _with_map(own, values["map"]), "threads": own.threads, "autostart": "false",
            "topic": topics[own.name],
            "publish_tf": values["publish_tf"] if own.tf else "false",
        }  # fmt: skip
        started.append(_pipeline({**values, **further}, list(own.inputs) or fed))
    return [*started, _node("orchestrator", values, plan=str(file))]


def _with_map(own: PlannedPipeline, file: str) -> list[str]:
    """The settings of a plan's pipeline, the map's file in place of its mark."""
    if not file and any(MAP in word for word in own.settings):
        raise UsageError(f"{own.name} needs a map: expected map:=FILE, as fieldplay fuse .. VisualSlamStereo makes it")
    if file and not os.path.isfile(_absolute_path(file)):
        raise UsageError(f"map: {_absolute_path(file)}: there is no such file")
    return [word.replace(MAP, _absolute_path(file)) for word in own.settings]


def _node(name: str, values: dict[str, Any], **parameters: Any) -> Node:
    return Node(
        package="fieldplay_ros",
        executable=name,
        name=name,
        namespace=values["namespace"],
        output="screen",
        parameters=[parameters],
    )


def _pipeline(values: dict[str, Any], inputs: list[str]) -> Node:
    return fusion_node({
        **{name: values[name] for name in ("dfpc", "implementation", "config", "topic", "scene_frame", "namespace")},
        "name": values.get("name", "pipeline"),
        "products": _absolute_path(values["products"]),
        "world": values["world"] if values["products"] else "",
        "inputs": inputs,
        "settings": values["settings"],
        **{name: values[name] == "true" for name, _ in SWITCHES},
        "threads": int(values["threads"]),
        "queue": int(values["queue"]),
        "stop_after": int(values["stop_after"]),
        "stats_hz": float(values["stats_hz"]),
    })  # fmt: skip


def _dataset(name: str, values: dict[str, Any]) -> IncludeLaunchDescription:
    file = Path(get_package_share_directory("fieldplay_bringup"), "launch", f"{name}.launch.py")
    own = {"archive": _absolute_path(values["archive"]), "namespace": values["namespace"], "rate": values["rate"]}
    return IncludeLaunchDescription(PythonLaunchDescriptionSource(str(file)), launch_arguments=own.items())


def _absolute_path(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path)) if path else ""
