"""`view:=` of the launch files: what is started then, without starting it."""

from pathlib import Path

import pytest

from fieldplay.cli.main import make_parser
from fieldplay_bringup.describe import describe
from launch import LaunchContext
from launch.actions import ExecuteProcess
from launch.utilities import perform_substitutions
from launch_ros.actions import Node


def programs(archive: Path, dataset: str, **arguments: str) -> list[list[str]]:
    """The words of the programs that a launch file starts beside its nodes."""
    context, found = LaunchContext(), []
    context.launch_configurations.update({"archive": str(archive), "kinematics": "false", **arguments})
    entities = list(describe(dataset).entities)
    while entities:
        entity = entities.pop(0)
        if isinstance(entity, ExecuteProcess):
            if not isinstance(entity, Node):
                found.append([perform_substitutions(context, list(word)) for word in entity.cmd])
        else:
            entities = [*(entity.visit(context) or ()), *entities]
    return found


@pytest.mark.parametrize(("dataset", "namespace"), [("ameds", "ameds"), ("rosario", "second")])
def test_the_live_view_has_the_layout_of_the_dataset(tmp_path: Path, dataset: str, namespace: str) -> None:
    assert programs(tmp_path, dataset) == []
    for value, in_browser in (("true", False), ("web", True)):
        (words,) = programs(tmp_path, dataset, view=value, namespace=namespace)
        assert words[0] == "fieldplay"
        chosen = make_parser("view").parse_args(words[1:])
        assert (chosen.live, chosen.archive, chosen.web) == (True, None, in_browser)
        assert (chosen.dataset, chosen.namespace, chosen.topics) == (dataset, namespace, "")
