"""Python's side of the types of ports: how a step annotates them, and small values to try a step with."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from fieldplay.geometry.camera_model import camera_from_numbers
from fieldplay_cdff.steps.values import (
    Array,
    Cloud,
    ElevationGrid,
    Features2D,
    Features3D,
    Frame,
    FramePair,
    Matches2D,
    Matches3D,
    Octree,
    PoseEstimate,
    State,
    Wrench,
)

WIDTH, HEIGHT = 128, 96  # of example images, px
FOCAL_PX, BASELINE_M, DISPARITY_PX = 60.0, 0.1, 4
COUNT = 200  # of example points


class PortType(NamedTuple):
    """A type of ports: its annotation, where a name of `fieldplay_cdff.steps.values` or Python's, and an example."""

    annotation: str
    example: Callable[[], Any]


def example_of(type_name: str) -> Any:
    """Return a small valid value of a port's type (without asn1Scc); None of a type that has no class here."""
    known = PORT_TYPES.get(type_name)
    return None if known is None else known.example()


def annotation_of(type_name: str) -> str:
    """Return how a step annotates a port of a type; Any where there is no class for it."""
    known = PORT_TYPES.get(type_name)
    return "Any" if known is None else known.annotation


def example_inputs(ports: Mapping[str, str]) -> dict[str, Any]:
    """Return examples for inputs by name; an image of an input named right is that of the right camera.

    Args:
        ports: types of the inputs, without asn1Scc, by name.
    """
    is_right = {name: kind == "Frame" and "right" in name.lower() for name, kind in ports.items()}
    return {name: _frame(DISPARITY_PX) if is_right[name] else example_of(kind) for name, kind in ports.items()}


def _frame(disparity_px: int = 0) -> Frame:
    """A grey image (96, 128) with texture, of one of two cameras of 60 px focal length, 0.1 m apart."""
    matrix = [FOCAL_PX, 0, WIDTH / 2, 0, FOCAL_PX, HEIGHT / 2, 0, 0, 1]
    camera = camera_from_numbers(matrix, [], "", width=WIDTH, height=HEIGHT)
    coarse = np.random.default_rng(0).integers(0, 256, (HEIGHT // 2, WIDTH), np.uint8)
    image = np.kron(coarse, np.ones((2, 2), np.uint8))[:, disparity_px : disparity_px + WIDTH]
    return Frame(image=np.ascontiguousarray(image), stamp_ns=0, camera=camera, baseline_m=BASELINE_M)


def _points() -> Array:
    """Points (200, 3) of a wavy surface 2 m before a camera."""
    x, y = np.random.default_rng(1).uniform(-1, 1, (2, COUNT))
    return np.stack([x, y, 2 + 0.2 * np.sin(4 * x) + 0.1 * np.cos(5 * y)], axis=1)


def _pixels() -> Array:
    points = _points()
    return FOCAL_PX * points[:, :2] / points[:, 2:] + [WIDTH / 2, HEIGHT / 2]


def _matches() -> Matches2D:
    pixels = _pixels()
    return Matches2D(source=pixels, sink=pixels - [3.0, 0.0], probability=np.ones(COUNT))


def _grid() -> ElevationGrid:
    flat, counts = np.zeros((8, 8)), np.ones((8, 8), np.int64)
    return ElevationGrid(
        x_m=0.0, y_m=0.0, resolution_m=0.1, mean=flat, deviation=flat, lowest=flat, highest=flat, count=counts
    )


def _state() -> State:
    return State(values=np.zeros(12), covariance=np.eye(12), stamp_ns=0)


PORT_TYPES: Mapping[str, PortType] = MappingProxyType({
    "Frame": PortType("Frame", _frame),
    "FramePair": PortType("FramePair", lambda: FramePair(left=_frame(), right=_frame(DISPARITY_PX))),
    "Pointcloud": PortType("Cloud", lambda: Cloud(points=_points(), stamp_ns=0)),
    "VisualPointFeatureVector2D": PortType(
        "Features2D", lambda: Features2D(points=_pixels(), descriptors=np.zeros((COUNT, 32), np.uint8))
    ),
    "VisualPointFeatureVector3D": PortType("Features3D", lambda: Features3D(points=_points())),
    "CorrespondenceMap2D": PortType("Matches2D", _matches),
    "CorrespondenceMap3D": PortType(
        "Matches3D", lambda: Matches3D(source=_points(), sink=_points(), probability=np.ones(COUNT))
    ),
    "CorrespondenceMaps2DSequence": PortType("Sequence[Matches2D]", lambda: [_matches()]),
    "Pose": PortType("Array", lambda: np.eye(4)),
    "PosesSequence": PortType("Array", lambda: np.eye(4)[None]),
    "Matrix3d": PortType("Array", lambda: np.eye(3)),
    "TransformWithCovariance": PortType(
        "PoseEstimate", lambda: PoseEstimate(pose=np.eye(4), covariance=np.eye(6), stamp_ns=0)
    ),
    "RigidBodyState": PortType("State", _state),
    "Wrench": PortType("Wrench", lambda: Wrench(force=np.array([0.0, 0.0, 1.0]))),
    "Octree": PortType("Octree", lambda: Octree(resolution_m=0.1, centres=_points())),
    "Map": PortType("ElevationGrid", _grid),
    "VectorXdSequence": PortType("Sequence[Array]", lambda: [np.array([20.0, 20.0, 5.0])]),
    "StringSequence": PortType("Sequence[str]", lambda: ["circle"]),
    "T_String": PortType("str", lambda: "circle"),
    "Time": PortType("int", lambda: 0),
    "bool": PortType("bool", lambda: True),
    "float": PortType("float", lambda: 1.0),
    "double": PortType("float", lambda: 1.0),
    "int": PortType("int", lambda: 1),
})  # fmt: skip
