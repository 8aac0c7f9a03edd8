"""The shapes of a robot's model, each in the frame of its link: tf moves them."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import rerun as rr

from fieldplay.geometry.transforms import quaternion_from_rotation, rotation_from_fixed_xyz
from fieldplay.geometry.urdf_model import model_from_text

GREY = (0.6, 0.6, 0.6, 1.0)
ROBOT = "robot"


def shapes_of_model(text: str, prefix: str = "") -> Iterator[tuple[str, str, Any]]:
    """The shapes in the text of a URDF: where they go, their frame, and what they are. Meshes are left out."""
    model_from_text(text)  # ValueError tells what is wrong with it
    robot = ElementTree.fromstring(text)
    named = {material.get("name", ""): _colour(material) for material in robot.findall("material")}
    for link in robot.findall("link"):
        name = link.get("name", "")
        for number, visual in enumerate(link.findall("visual")):
            shape = _shape(visual, named)
            if shape is not None:
                yield rr.new_entity_path([ROBOT, name, str(number)]), prefix + name, shape


def send_robot(stream: rr.RecordingStream, text: str, known: Collection[str] = (), prefix: str = "") -> None:
    """The model in the text of a URDF; the joints of frames that are not `known` stay as they are at rest."""
    for entity, frame, shape in shapes_of_model(text, prefix):
        stream.log(entity, rr.CoordinateFrame(frame), shape, static=True)
    for entity, edge in edges_of_model(text, known, prefix) if known else ():
        stream.log(entity, edge, static=True)


def edges_of_model(text: str, known: Collection[str], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The joints at rest that nothing else tells, so that their links have a place."""
    for joint in model_from_text(text).joints:
        if prefix + joint.child not in known:
            rest = joint.parent_t_zero
            yield rr.new_entity_path([ROBOT, joint.child]), rr.Transform3D(
                translation=rest[:3, 3], mat3x3=rest[:3, :3],
                parent_frame=prefix + joint.parent, child_frame=prefix + joint.child,
            )  # fmt: skip


def _shape(visual: ElementTree.Element, named: dict[str, tuple[float, ...] | None]) -> Any:
    origin, material = visual.find("origin"), visual.find("material")
    place = _numbers(origin, "xyz", (0.0, 0.0, 0.0))
    turn = quaternion_from_rotation(rotation_from_fixed_xyz(_numbers(origin, "rpy", (0.0, 0.0, 0.0))))
    own = _colour(material) if material is not None else None
    colour = own or named.get("" if material is None else material.get("name", "")) or GREY
    common = {
        "centers": [place], "quaternions": [rr.Quaternion(xyzw=turn)], "fill_mode": "solid",
        "colors": [tuple(round(255 * part) for part in colour)],
    }  # fmt: skip
    geometry = visual.find("geometry")
    if geometry is None or not len(geometry):
        return None
    solid = geometry[0]
    if solid.tag == "box":
        return rr.Boxes3D(sizes=[_numbers(solid, "size", (1.0, 1.0, 1.0))], **common)
    if solid.tag == "cylinder":
        length, radius = _numbers(solid, "length", (1.0,)), _numbers(solid, "radius", (1.0,))
        return rr.Cylinders3D(lengths=length, radii=radius, **common)
    if solid.tag == "sphere":
        return rr.Ellipsoids3D(radii=_numbers(solid, "radius", (1.0,)), **common)
    return None


def _colour(material: ElementTree.Element) -> tuple[float, ...] | None:
    colour = material.find("color")
    return None if colour is None else _numbers(colour, "rgba", GREY)


def _numbers(element: ElementTree.Element | None, name: str, default: tuple[float, ...]) -> tuple[float, ...]:
    text = "" if element is None else element.get(name, "")
    return tuple(np.array(text.split(), np.float64).tolist()) if text else default
