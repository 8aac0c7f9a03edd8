"""What a URDF says about links and joints, read from its text."""

import math
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fieldplay.geometry.transforms import Array, rotation_from_fixed_xyz, transform_from_rotation

TURNING, SLIDING, PLACED_ELSEWHERE = ("revolute", "continuous"), ("prismatic",), ("floating", "planar")
MOVING = TURNING + SLIDING
KINDS = ("fixed", *MOVING, *PLACED_ELSEWHERE)
XACRO = re.compile(r"\$[{(]|/xacro\}")  # what it evaluates, and its elements


class Mimic(NamedTuple):
    """Position = multiplier * position of the other joint + offset."""

    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Joint:
    """Holds a child link; `parent_t_zero` (4, 4) is parent_T_child at position 0, the unit `axis` (3,) the child's."""

    name: str
    kind: str
    parent: str
    child: str
    parent_t_zero: Array
    axis: Array
    mimic: Mimic | None


@dataclass(frozen=True, kw_only=True, eq=False)
class UrdfModel:
    """A tree of links; the joints stand in an order in which parents come before their children."""

    name: str
    root: str
    links: tuple[str, ...]
    joints: tuple[Joint, ...]

    @property
    def parents(self) -> dict[str, str]:
        """The parent of each link but the root."""
        return {joint.child: joint.parent for joint in self.joints}


def model_from_text(text: str) -> UrdfModel:
    """The model that the text of a URDF describes."""
    robot = _robot(text)
    name = robot.get("name", "")
    links = tuple(_Named(link).name for link in robot.findall("link"))
    joints = [_joint(element) for element in robot.findall("joint")]
    _no_twins("link", links)
    _no_twins("joint", [joint.name for joint in joints])
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
        found = [text for text in (element.tag, *element.attrib.values()) if XACRO.search(text)]
        if found:
            raise ValueError(f"this is xacro ('{found[0]}'): run it through `xacro` to get a URDF")
    if robot.tag != "robot":
        raise ValueError(f"expected <robot> as the outermost element, got <{robot.tag}>")
    return robot


class _Named:
    """An element with a name, which the complaints about it tell."""

    def __init__(self, element: ElementTree.Element) -> None:
        self._element = element
        self.name = element.get("name", "")
        if not self.name:
            raise ValueError(f"a {element.tag} has no name")
        self._place = f"{element.tag} '{self.name}'"

    def has(self, tag: str) -> bool:
        return self._element.find(tag) is not None

    def text(self, tag: str, attribute: str) -> str:
        found = self._element.find(tag)
        value = "" if found is None else found.get(attribute, "")
        if not value:
            raise ValueError(f"""{self._place}: expected <{tag} {attribute}="...">, got none""")
        return value

    def numbers(self, tag: str, attribute: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """As many finite numbers as the default has."""
        found = self._element.find(tag)
        text = None if found is None else found.get(attribute)
        if text is None:
            return default
        try:
            numbers = tuple(float(word) for word in text.split())
        except ValueError:
            numbers = ()
        if len(numbers) != len(default) or not all(map(math.isfinite, numbers)):
            raise ValueError(f"{self._place}: {tag} {attribute}: expected {len(default)} finite numbers, got '{text}'")
        return numbers


def _joint(element: ElementTree.Element) -> Joint:
    said, kind = _Named(element), element.get("type", "")
    if kind not in KINDS:
        raise ValueError(f"joint '{said.name}': expected a type of {', '.join(KINDS)}, got '{kind}'")
    turn = rotation_from_fixed_xyz(said.numbers("origin", "rpy", (0.0, 0.0, 0.0)))
    axis = np.array(said.numbers("axis", "xyz", (1.0, 0.0, 0.0)))
    length = float(np.linalg.norm(axis))
    if kind in MOVING and not length:
        raise ValueError(f"joint '{said.name}': an axis of length 0")
    return Joint(
        name=said.name,
        kind=kind,
        parent=said.text("parent", "link"),
        child=said.text("child", "link"),
        parent_t_zero=transform_from_rotation(turn, said.numbers("origin", "xyz", (0.0, 0.0, 0.0))),
        axis=axis / (length or 1.0),
        mimic=_mimic(said) if kind in MOVING and said.has("mimic") else None,
    )


def _mimic(said: _Named) -> Mimic:
    (multiplier,) = said.numbers("mimic", "multiplier", (1.0,))
    (offset,) = said.numbers("mimic", "offset", (0.0,))
    return Mimic(said.text("mimic", "joint"), multiplier, offset)


def _no_twins(what: str, names: Sequence[str]) -> None:
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
