"""What steps that see no picture are told of the cameras."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from fieldplay.core.errors import UsageError
from fieldplay.projection.cameras import CameraModel
from fieldplay_cdff.pipeline.configuration import merged
from fieldplay_cdff.pipeline.graph import GraphNode
from fieldplay_cdff.steps.step import parameters

PLACES: Mapping[str, tuple[int, int]] = MappingProxyType({  # of the parameters in the camera's matrix, by their ends
    "FocalLengthX": (0, 0), "FocalLengthY": (1, 1), "FocalLength": (0, 0), "PointX": (0, 2), "PointY": (1, 2),
})  # fmt: skip
BASELINE = "Baseline"


def with_cameras(node: GraphNode, cameras: Mapping[str, CameraModel], baseline_m: float) -> dict[str, dict[str, Any]]:
    """What is set of a step, and of its cameras what is not; UsageError names the camera that is not there."""
    known = parameters().get(node.kind.implementation, {})
    found: dict[str, dict[str, Any]] = {}
    for group, name in node.kind.camera_groups.items():
        own = [each for each in known.get(group, {}) if each not in node.given.get(group, {})]
        if any(_is_of_camera(each) for each in own) and name not in cameras:
            there = ", ".join(cameras) or "none"
            raise UsageError(
                f"{node.place}{node.id} takes the camera {name}, of which nothing is known; known: {there}"
            )
        if BASELINE in own and not baseline_m > 0:
            raise UsageError(f"{node.place}{node.id} takes a baseline above 0 m, got {baseline_m}")
        found[group] = {each: _value(each, cameras.get(name), baseline_m) for each in own if _is_known(each)}
    return merged(found, node.given)


def _place(parameter: str) -> tuple[int, int] | None:
    return next((place for end, place in PLACES.items() if parameter.endswith(end)), None)


def _is_of_camera(parameter: str) -> bool:
    return _place(parameter) is not None


def _is_known(parameter: str) -> bool:
    return parameter == BASELINE or _is_of_camera(parameter)


def _value(parameter: str, camera: CameraModel | None, baseline_m: float) -> float:
    place = _place(parameter)
    return float(baseline_m) if place is None or camera is None else float(camera.matrix[place])
