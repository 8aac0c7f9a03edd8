"""The arguments of the launch files: what they start, without starting it, and those that are refused."""

from pathlib import Path

import pytest
import yaml

from fieldplay.cli.main import make_parser
from fieldplay.core.errors import UsageError
from fieldplay.datasets.registry import dataset_files, spec_of_dataset
from fieldplay_bringup import describe as describing
from fieldplay_bringup.describe import describe
from launch import LaunchContext
from launch.actions import DeclareLaunchArgument, ExecuteProcess
from launch.utilities import perform_substitutions
from launch_ros.actions import Node


def programs(archive: Path, dataset: str, **arguments: str) -> list[list[str]]:
    """The words of the programs that a launch file starts beside its nodes."""
    context, actual = LaunchContext(), []
    context.launch_configurations.update({"archive": str(archive), "kinematics": "false", **arguments})
    entities = list(describe(dataset).entities)
    while entities:
        entity = entities.pop(0)
        if isinstance(entity, ExecuteProcess):
            if not isinstance(entity, Node):
                actual.append([perform_substitutions(context, list(word)) for word in entity.cmd])
        else:
            entities = [*(entity.visit(context) or ()), *entities]
    return actual


@pytest.mark.parametrize(("dataset", "namespace"), [("ameds", "ameds"), ("rosario", "second")])
def test_live_view_has_layout_of_dataset(tmp_path: Path, dataset: str, namespace: str) -> None:
    assert programs(tmp_path, dataset) == []
    for value, in_browser in (("true", False), ("web", True)):
        (text,) = programs(tmp_path, dataset, view=value, namespace=namespace)
        assert text[0] == "fieldplay"
        chosen = make_parser("view").parse_args(text[1:])
        assert (chosen.live, chosen.archive, chosen.web) == (True, None, in_browser)
        assert (chosen.dataset, chosen.namespace, chosen.topics) == (dataset, namespace, [])


def arguments_of(dataset: str) -> dict[str, DeclareLaunchArgument]:
    entities = describe(dataset).entities
    return {entity.name: entity for entity in entities if isinstance(entity, DeclareLaunchArgument)}


@pytest.mark.parametrize("dataset", sorted(dataset_files()))
def test_every_parameter_of_dataset_is_argument_with_its_default_and_choices(dataset: str) -> None:
    arguments, parameters = arguments_of(dataset), spec_of_dataset(dataset).parameters
    assert len(arguments) == sum(isinstance(entity, DeclareLaunchArgument) for entity in describe(dataset).entities)
    for name, parameter in parameters.items():
        default = perform_substitutions(LaunchContext(), list(arguments[name].default_value))
        assert yaml.safe_load(default) == yaml.safe_load(str(parameter.default))
        is_switch = isinstance(parameter.default, bool)
        choices = ["true", "false"] if is_switch else [str(choice) for choice in parameter.choices]
        assert list(arguments[name].choices or []) == choices
        assert parameter.help in arguments[name].description


def test_player_gets_parameters_of_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters: list[dict[str, object]] = []
    make = describing.Node

    def record(**options: object) -> Node:
        if options["executable"] == "player":
            parameters.append(options["parameters"][0])
        return make(**options)

    monkeypatch.setattr(describing, "Node", record)
    programs(tmp_path, "ameds", gyro_unit="rad/s", steering_zero_deg="90")
    (values,) = parameters
    assert {"gyro_unit:=rad/s", "magnetometer_unit:=G", "steering_zero_deg:=90.0"} <= set(values["dataset_parameters"])


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("gyro_units:=rad/s", "ameds.launch.py has no argument 'gyro_units': did you mean 'gyro_unit'?"),
        ("xyz:=1", "ameds.launch.py has no argument 'xyz'; it has accelerometer_sign, archive, "),
    ],
)
def test_argument_that_launch_file_does_not_have_is_refused(
    word: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, known = LaunchContext(argv=["rate:=2", word]), arguments_of("ameds")
    monkeypatch.setattr("sys.argv", ["ros2", "launch", "fieldplay_bringup", "ameds.launch.py", "rate:=2", word])
    with pytest.raises(UsageError) as refused:
        describing.refuse_unknown(context, "ameds.launch.py", known)
    assert str(refused.value).startswith(message)


def test_arguments_of_launch_file_that_includes_ours_are_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["ros2", "launch", "my_robot", "everything.launch.py", "slam:=true"])
    describing.refuse_unknown(LaunchContext(argv=["slam:=true"]), "ameds.launch.py", arguments_of("ameds"))


def test_whole_number_is_one_of_node_s_setting_all_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node whose setting is 0.1 refuses the whole number 1 as a parameter of another type."""
    messages: dict[object, dict[str, object]] = {}
    make = describing.Node

    def record(**options: object) -> Node:
        messages[options["executable"]] = options["parameters"][0]
        return make(**options)

    monkeypatch.setattr(describing, "Node", record)
    programs(tmp_path, "ameds", kinematics="true", slip_share="1")
    assert repr(messages["wheel_odometry"]["slip_share"]) == "1.0"
    programs(tmp_path, "rosario", kinematics="true", steering_std_deg="2", integration="authors")
    assert repr(messages["ackermann_odometry"]["steering_std_deg"]) == "2.0"
    assert messages["ackermann_odometry"]["integration"] == "authors"
