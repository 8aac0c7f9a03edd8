"""Robots' models and the views of RViz that show them, as their tests look at them."""

import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Shapes:
    """What the links of a robot look like: the colours it defines and those it uses, and all numbers of the shapes."""

    colours: set[str | None]
    used: set[str | None]
    sizes_m: list[float]


@dataclass(frozen=True, kw_only=True)
class Display:
    """What shows a topic (below the namespace) in RViz, and with which quality of service."""

    name: str
    kind: str
    topic: str
    qos: tuple[str, str, str, bool]


def parents_by_ros(file: Path, root: str) -> dict[str, str]:
    """Each link's parent as urdfdom reads it, by its check_urdf: two columns more for each generation.

    RViz and robot_state_publisher read with urdfdom.
    """
    tool = shutil.which("check_urdf")
    assert tool, "check_urdf is not there: requirements/test.txt"
    is_script = Path(tool).read_bytes().startswith(b"#!")  # whose first line cannot name a Python in a path with spaces
    command = [sys.executable, tool] if is_script else [tool]
    result = subprocess.run([*command, str(file)], capture_output=True, text=True, check=True).stdout
    parents, above = {}, [root]
    for line in result.partition(f"root Link: {root}")[2].splitlines()[1:]:
        generation = (len(line) - len(line.lstrip())) // 4
        above[generation:] = [line.split()[-1]]
        parents[above[generation]] = above[generation - 1]
    return parents


def shapes_of(text: str) -> Shapes:
    robot = ElementTree.fromstring(text)
    values = [value for shape in robot.findall("link/visual/geometry/*") for value in shape.attrib.values()]
    return Shapes(
        colours={material.get("name") for material in robot.findall("material")},
        used={material.get("name") for material in robot.findall("link/visual/material")},
        sizes_m=[float(number) for value in values for number in value.split()],
    )


def view_of(dataset: str) -> dict[str, Any]:
    """What config/rviz/<dataset>.rviz sets up."""
    text = (ROOT / "config" / "rviz" / f"{dataset}.rviz").read_text()
    view: dict[str, Any] = yaml.safe_load(text)["Visualization Manager"]
    return view


def displays_of_topics(view: dict[str, Any], namespace: str) -> Iterator[Display]:
    """Those of a view's displays that show a topic."""
    for display in view["Displays"]:
        qos = display.get("Topic", display.get("Description Topic"))
        if qos is not None:
            yield Display(
                name=display["Name"],
                kind=display["Class"].rpartition("/")[2],
                topic=qos["Value"].removeprefix(f"/{namespace}/"),
                qos=(qos["Durability Policy"], qos["Reliability Policy"], qos["History Policy"], qos["Depth"] > 0),
            )


def offered_qos(*, lasting: bool) -> tuple[str, str, str, bool]:
    """The quality of service of a display that fits how a topic is offered."""
    return "Transient Local" if lasting else "Volatile", "Reliable", "Keep Last", True
