"""What a URDF says about links and joints, read from its text."""

import math
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fieldplay.geometry.transforms import Array, rotation_from_fixed_xyz, transform_from_rotation

TURNING, SLIDING, PLACED_ELSEWHERE = ("revolute", "continuous"), ("prismatic",), ("floating", "planar")
MOVING = TURNING + SLIDING
KINDS = ("fixed", *MOVING, *PLACED_ELSEWHERE)
XACRO = re.compile(r"\$[{(]|/xacro\}")  # what it evaluates, and its elements
Missing = Literal["refuse", "zero", "leave_out"]
Positions = Mapping[str, Array]


class Mimic(NamedTuple):
    """A joint that follows another: position = multiplier * position of the other joint + offset.

    Args:
        joint: the name of the other joint.
        multiplier: without unit.
        offset: in rad or m.
    """

    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Joint:
    """A joint, which holds a child link.

    Args:
        name: of the joint.
        kind: its type in the URDF.
        parent: the parent link.
        child: the child link.
        parent_t_zero: parent_T_child (4, 4) at position 0.
        axis: unit axis (3,) in the child's frame.
        mimic: the joint that it follows, or None.
    """

    name: str
    kind: str
    parent: str
    child: str
    parent_t_zero: Array
    axis: Array
    mimic: Mimic | None


@dataclass(frozen=True, kw_only=True, eq=False)
class UrdfModel:
    """A tree of links.

    Args:
        name: of the robot.
        root: the link without a parent.
        links: all links in the order of the text.
        joints: all joints, parents before their children.
    """

    name: str
    root: str
    links: tuple[str, ...]
    joints: tuple[Joint, ...]

    @property
    def parents(self) -> dict[str, str]:
        """The parent of each link but the root."""
        return {joint.child: joint.parent for joint in self.joints}


def model_from_text(text: str) -> UrdfModel:
    """Parse a URDF.

    Args:
        text: the XML; xacro has to be expanded before.

    Returns:
        The model. Visuals, collisions, inertias and limits are not read.

    Raises:
        ValueError: the text is no URDF, or its links make no single tree; the message names the link or joint.

    Example:
        >>> text = '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous">'
        >>> text += '<parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>'
        >>> model_from_text(text).parents
        {'b': 'a'}
    """
    robot = _robot(text)
    name = robot.get("name", "")
    links = tuple(_Named(link).name for link in robot.findall("link"))
    joints = [_joint(element) for element in robot.findall("joint")]
    _require_unique("link", links)
    _require_unique("joint", [joint.name for joint in joints])
    root = _root(links, joints)
    _check_mimics(joints)
    ordered = tuple(_from_root(root, joints))
    reached = {root, *(joint.child for joint in ordered)}
    in_loops = [link for link in links if link not in reached]
    if in_loops:
        raise ValueError(f"the link '{in_loops[0]}' hangs in a loop of joints, apart from the root '{root}'")
    return UrdfModel(name=name, root=root, links=links, joints=ordered)


def _robot(text: str) -> ElementTree.Element:
    try:
        robot = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        if "<xacro:" in text:
            raise ValueError("this is xacro: run it through `xacro` to get a URDF") from None
        raise ValueError(f"this is no XML: {error}") from None
    for element in robot.iter():
        xacro_texts = [text for text in (element.tag, *element.attrib.values()) if XACRO.search(text)]
        if xacro_texts:
            raise ValueError(f"this is xacro ('{xacro_texts[0]}'): run it through `xacro` to get a URDF")
    if robot.tag != "robot":
        raise ValueError(f"expected <robot> as the outermost element, got <{robot.tag}>")
    return robot


class _Named:
    """An element with a name for error messages."""

    def __init__(self, element: ElementTree.Element) -> None:
        self._element = element
        self.name = element.get("name", "")
        if not self.name:
            raise ValueError(f"a {element.tag} has no name")
        self._label = f"{element.tag} '{self.name}'"

    def has(self, tag: str) -> bool:
        return self._element.find(tag) is not None

    def text(self, tag: str, attribute: str) -> str:
        child = self._element.find(tag)
        value = "" if child is None else child.get(attribute, "")
        if not value:
            raise ValueError(f"""{self._label}: expected <{tag} {attribute}="...">, got none""")
        return value

    def numbers(self, tag: str, attribute: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """As many finite numbers as the default has."""
        child = self._element.find(tag)
        text = None if child is None else child.get(attribute)
        if text is None:
            return default
        try:
            numbers = tuple(float(word) for word in text.split())
        except ValueError:
            numbers = ()
        if len(numbers) != len(default) or not all(map(math.isfinite, numbers)):
            raise ValueError(f"{self._label}: {tag} {attribute}: expected {len(default)} finite numbers, got '{text}'")
        return numbers


def _joint(element: ElementTree.Element) -> Joint:
    named, kind = _Named(element), element.get("type", "")
    if kind not in KINDS:
        raise ValueError(f"joint '{named.name}': expected a type of {', '.join(KINDS)}, got '{kind}'")
    rotation = rotation_from_fixed_xyz(named.numbers("origin", "rpy", (0.0, 0.0, 0.0)))
    axis = np.array(named.numbers("axis", "xyz", (1.0, 0.0, 0.0)))
    length = float(np.linalg.norm(axis))
    if kind in MOVING and not length:
        raise ValueError(f"joint '{named.name}': an axis of length 0")
    return Joint(
        name=named.name,
        kind=kind,
        parent=named.text("parent", "link"),
        child=named.text("child", "link"),
        parent_t_zero=transform_from_rotation(rotation, named.numbers("origin", "xyz", (0.0, 0.0, 0.0))),
        axis=axis / (length or 1.0),
        mimic=_mimic(named) if kind in MOVING and named.has("mimic") else None,
    )


def _mimic(named: _Named) -> Mimic:
    (multiplier,) = named.numbers("mimic", "multiplier", (1.0,))
    (offset,) = named.numbers("mimic", "offset", (0.0,))
    return Mimic(named.text("mimic", "joint"), multiplier, offset)


def _require_unique(what: str, names: Sequence[str]) -> None:
    twins = [name for name, count in Counter(names).items() if count > 1]
    if twins:
        raise ValueError(f"the {what} '{twins[0]}' is there more than once")


def _root(links: Sequence[str], joints: Sequence[Joint]) -> str:
    for joint in joints:
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in links:
                raise ValueError(f"joint '{joint.name}': its {role} '{link}' is no link of the model")
    children = Counter(joint.child for joint in joints)
    parted = [link for link, count in children.items() if count > 1]
    if parted:
        raise ValueError(f"the link '{parted[0]}' is the child of more than one joint")
    roots = [link for link in links if link not in children]
    if len(roots) > 1:
        raise ValueError(f"expected one root, got the links '{roots[0]}' and '{roots[1]}', which no joint holds")
    if not roots:
        raise ValueError("there is no root: every link hangs in a loop of joints" if links else "there are no links")
    return roots[0]


def _from_root(root: str, joints: Sequence[Joint]) -> Iterator[Joint]:
    below: dict[str, list[Joint]] = {}
    for joint in joints:
        below.setdefault(joint.parent, []).append(joint)
    waiting = [root]
    while waiting:
        for joint in below.get(waiting.pop(), []):
            yield joint
            waiting.append(joint.child)


def _check_mimics(joints: Sequence[Joint]) -> None:
    moving = {joint.name: joint for joint in joints if joint.kind in MOVING}
    for joint in moving.values():
        passed = [joint.name]
        while (mimic := moving[passed[-1]].mimic) is not None:
            if mimic.joint not in moving:
                raise ValueError(f"joint '{passed[-1]}' mimics '{mimic.joint}', which is no joint that moves")
            if mimic.joint in passed:
                raise ValueError(f"joint '{mimic.joint}' mimics itself, by {' and '.join(passed)}")
            passed.append(mimic.joint)


# Transforms of the joints of a URDF from joint positions, in whole batches.
#
# Fixed joints stand still; revolute, continuous and prismatic ones take one position each (rad or m). Floating and
# planar joints are placed by somebody else: they belong to the tree, but there is no transform for them here.


def fixed_transforms(model: UrdfModel) -> dict[str, Array]:
    """List the transforms of fixed joints.

    Args:
        model: the robot.

    Returns:
        parent_T_child (4, 4) by child link.
    """
    return {joint.child: joint.parent_t_zero.copy() for joint in model.joints if joint.kind == "fixed"}


def transforms_from_positions(
    model: UrdfModel, names: Sequence[str], positions: ArrayLike, *, missing: Missing = "refuse"
) -> dict[str, Array]:
    """Compute the transforms of moving joints.

    Names that the model does not have are ignored, as joint states of several devices share a topic. A joint that
    mimics another follows it unless its own position is given. A position that is not finite gives NaN.

    Args:
        model: the robot.
        names: names of k joints.
        positions: their positions (..., k) in rad, of prismatic joints in m.
        missing: for a joint without a position: `refuse`, take `zero`, or `leave_out` it and those that mimic it.

    Returns:
        parent_T_child (..., 4, 4) by child link.

    Raises:
        ValueError: a joint has no position and `missing` is `refuse`, or names and positions do not fit.
    """
    by_name = _positions_by_name(names, positions)
    moving = {joint.name: joint for joint in model.joints if joint.kind in MOVING}
    if missing == "zero":
        zeros = np.zeros(np.shape(positions)[:-1])
        by_name = {**{name: zeros for name, joint in moving.items() if joint.mimic is None}, **by_name}
    known = {name: _position(moving, by_name, name) for name in moving}
    without_position = [name for name, position in known.items() if position is None]
    if without_position and missing == "refuse":
        raise ValueError(f"no position of the joint '{without_position[0]}' (of {len(without_position)} such joints)")
    return {
        moving[name].child: _transform(moving[name], position)
        for name, position in known.items()
        if position is not None
    }


def link_poses_from_positions(
    model: UrdfModel, names: Sequence[str], positions: ArrayLike, *, base: str = "", missing: Missing = "refuse"
) -> dict[str, Array]:
    """Compute the poses of all links.

    Args:
        model: the robot.
        names: names of k joints.
        positions: their positions (..., k) in rad, of prismatic joints in m.
        base: the link in whose frame the poses are; the root if empty.
        missing: as for `transforms_from_positions`.

    Returns:
        base_T_link (..., 4, 4) by link: the base and the links below it, those behind a left-out joint excepted.

    Raises:
        ValueError: the model has no such base, or a joint has no position.
    """
    base = base or model.root
    if base not in model.links:
        raise ValueError(f"the model '{model.name}' has no link '{base}'")
    edges = fixed_transforms(model) | transforms_from_positions(model, names, positions, missing=missing)
    poses: dict[str, Array] = {base: np.eye(4)}
    for joint in model.joints:
        if joint.parent in poses and joint.child in edges:
            poses[joint.child] = poses[joint.parent] @ edges[joint.child]
    return poses


def _positions_by_name(names: Sequence[str], positions: ArrayLike) -> Positions:
    positions = np.asarray(positions, float)
    if positions.shape[-1:] != (len(names),):
        raise ValueError(f"expected positions (..., {len(names)}), one for each name, got {positions.shape}")
    if len(set(names)) < len(names):
        raise ValueError(f"expected each joint once, got {list(names)}")
    finite = np.where(np.isfinite(positions), positions, np.nan)
    return {name: finite[..., column] for column, name in enumerate(names)}


def _position(moving: Mapping[str, Joint], by_name: Positions, name: str) -> Array | None:
    if name in by_name:
        return by_name[name]
    mimic = moving[name].mimic
    other = None if mimic is None else _position(moving, by_name, mimic.joint)
    if mimic is None or other is None:
        return None
    position: Array = mimic.multiplier * other + mimic.offset
    return position


def _transform(joint: Joint, position: Array) -> Array:
    """Turned by Rodrigues' formula, R0 + sin R0 K + (1 - cos) R0 K K, where only the factors differ in a batch."""
    transform: Array = np.broadcast_to(joint.parent_t_zero, (*position.shape, 4, 4)).copy()
    rotation, position = joint.parent_t_zero[:3, :3], position[..., None]
    if joint.kind in SLIDING:
        transform[..., :3, 3] += position * (rotation @ joint.axis)
    else:
        x, y, z = joint.axis
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        first, second = rotation @ cross, rotation @ cross @ cross
        angle = position[..., None]
        transform[..., :3, :3] += np.sin(angle) * first + (1 - np.cos(angle)) * second
    return transform
