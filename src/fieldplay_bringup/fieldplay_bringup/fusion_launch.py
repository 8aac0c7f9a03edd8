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
from fieldplay_cdff.pipeline.pipeline_options import PipelineOption, pipeline_options
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

MAP = "{map}"  # in the settings of a plan
NODE_ALONE = ("step_timeout", "map_frame")  # which a launch leaves as they are
OWN = {option.name: option for option in pipeline_options() if option.name not in NODE_ALONE}
PLAYED = (
    ("plan", "", "In place of dfpc several, by a plan that the orchestrator follows: its name, or its file."),
    ("map", "", "The file of a map of keyframes: what a plan's settings call {map}."),
    ("dataset", "", "The dataset that plays; none where the topics are there already."),
    ("archive", "", "The folder or file that plays, with dataset."),
    ("rate", "1.0", "How many times faster than it was the archive plays."),
    ("namespace", "", "Before all topics; the dataset's name where empty."),
)


def describe_fusion() -> LaunchDescription:
    """Everything that `ros2 launch fieldplay_bringup fusion.launch.py` starts."""
    arguments = [_argument(option) for option in OWN.values()]
    arguments += [DeclareLaunchArgument(name, default_value=value, description=text) for name, value, text in PLAYED]
    arguments.append(DeclareLaunchArgument("view", default_value="false", description=SHOWN, choices=VIEWS))
    return LaunchDescription([*arguments, OpaqueFunction(function=_start)])


def _argument(option: PipelineOption) -> DeclareLaunchArgument:
    """An option of the node as an argument; a list has a comma between its items."""
    name, default, meaning = option
    if isinstance(default, bool):
        return DeclareLaunchArgument(name, default_value=str(default).lower(), description=meaning, choices=TRUE_FALSE)
    if isinstance(default, tuple):
        which = "; the dataset's own where empty" if name == "inputs" else ""
        return DeclareLaunchArgument(name, default_value="", description=f"{meaning}, comma between{which}.")
    return DeclareLaunchArgument(name, default_value=str(default), description=meaning)


def _start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    names = ["view", *OWN, *(name for name, *_ in PLAYED)]
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
    parameters: dict[str, Any] = {}
    for name, default, _ in OWN.values():
        if not isinstance(default, tuple):
            value = values[name]
            parameters[name] = value == "true" if isinstance(default, bool) else type(default)(value)
    lists = {"inputs": inputs, "settings": values["settings"]}
    kept = {
        "products": _absolute_path(values["products"]), "world": values["world"] if values["products"] else "",
    }  # fmt: skip
    naming = {"namespace": values["namespace"], "name": values.get("name", "pipeline")}
    return fusion_node({**parameters, **lists, **kept, **naming})


def _dataset(name: str, values: dict[str, Any]) -> IncludeLaunchDescription:
    file = Path(get_package_share_directory("fieldplay_bringup"), "launch", f"{name}.launch.py")
    own = {"archive": _absolute_path(values["archive"]), "namespace": values["namespace"], "rate": values["rate"]}
    return IncludeLaunchDescription(PythonLaunchDescriptionSource(str(file)), launch_arguments=own.items())


def _absolute_path(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path)) if path else ""
