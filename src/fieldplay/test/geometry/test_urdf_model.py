import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.geometry.urdf_model import (
    UrdfModel,
    fixed_transforms,
    link_poses_from_positions,
    model_from_text,
    transforms_from_positions,
)

DRAW = np.random.default_rng(11)
MIMICS = {"j4": ("j3", -2.0, 0.5), "j5": ("j4", 0.5, 0.0), "j6": ("j1", 1.0, -0.25)}
KINDS = ["fixed", "revolute", "continuous", "prismatic", "revolute", "prismatic", "continuous", "revolute", "fixed"]


def joint(name: str, kind: str, parent: str, child: str, more: str = "") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{more}</joint>'


def robot(*joints: str, links: str = "a b c") -> str:
    named = "".join(f'<link name="{link}"/>' for link in links.split())
    return f'<robot name="toy">{"".join(joints)}{named}</robot>'


def numbers(count: int) -> str:
    return " ".join(map(repr, DRAW.uniform(-2, 2, count).tolist()))


def random_tree() -> str:
    """A branching tree of every kind of joint, with axes of any length and mimics of mimics, children first."""
    joints = []
    for index, kind in enumerate(KINDS):
        mimicked = MIMICS.get(f"j{index}")
        mimic = '<mimic joint="{}" multiplier="{}" offset="{}"/>'.format(*mimicked) if mimicked else ""
        placed = f'<origin xyz="{numbers(3)}" rpy="{numbers(3)}"/><axis xyz="{numbers(3)}"/>'
        parent = f"l{(index + 1) // 2 if index % 3 else index}"
        joints.append(joint(f"j{index}", kind, parent, f"l{index + 1}", placed + mimic))
    return robot(*reversed(joints), links=" ".join(f"l{index}" for index in range(len(KINDS) + 1)))


def poses_by_scipy(text: str, values: dict[str, float]) -> dict[str, np.ndarray]:
    """Second route: the text read anew, each joint a product of homogeneous matrices."""
    poses = {"l0": np.eye(4)}
    elements = ElementTree.fromstring(text).findall("joint")
    for element in reversed(elements):
        tags = {child.tag: child.attrib for child in element}
        xyz, rpy, axis = (np.array(value.split(), float) for value in
                          (tags["origin"]["xyz"], tags["origin"]["rpy"], tags["axis"]["xyz"]))  # fmt: skip
        axis, value = axis / np.linalg.norm(axis), values.get(element.attrib["name"], 0.0)
        rest, moved = np.eye(4), np.eye(4)
        rest[:3, :3], rest[:3, 3] = Rotation.from_euler("xyz", rpy).as_matrix(), xyz
        if element.attrib["type"] == "prismatic":
            moved[:3, 3] = value * axis
        elif element.attrib["type"] != "fixed":
            moved[:3, :3] = Rotation.from_rotvec(value * axis).as_matrix()
        poses[tags["child"]["link"]] = poses[tags["parent"]["link"]] @ rest @ moved
    return poses


def test_poses_of_random_trees_agree_with_scipy() -> None:
    for _ in range(20):
        text = random_tree()
        free = DRAW.uniform(-3, 3, 4)
        values = dict(zip(["j1", "j2", "j3", "j7"], free.tolist(), strict=True))
        for name, (other, multiplier, offset) in MIMICS.items():
            values[name] = multiplier * values[other] + offset
        link_poses = link_poses_from_positions(model_from_text(text), ["j1", "j2", "j3", "j7"], free)
        expected = poses_by_scipy(text, values)
        assert link_poses.keys() == expected.keys()
        for link, pose in link_poses.items():
            np.testing.assert_allclose(pose, expected[link], atol=1e-12)


def test_batches_of_any_shape_equal_single_positions() -> None:
    model, names = model_from_text(random_tree()), ["j7", "j1", "j2", "j3"]
    many = DRAW.uniform(-3, 3, (3, 5, 4))
    transforms = transforms_from_positions(model, names, many)
    assert {transform.shape for transform in transforms.values()} == {(3, 5, 4, 4)}
    for child, transform in transforms_from_positions(model, names, many[1, 4]).items():
        np.testing.assert_array_equal(transforms[child][1, 4], transform)
    empty = transforms_from_positions(model, names, np.empty((0, 4)))
    assert {transform.shape for transform in empty.values()} == {(0, 4, 4)}


SLIDE = '<axis xyz="0 0 2"/>'
CHAIN = robot(
    joint("lift", "prismatic", "a", "b", '<origin xyz="0 0 1"/>' + SLIDE),
    joint("hold", "fixed", "b", "c", '<origin xyz="1 2 3"/>'),
    joint("follow", "prismatic", "c", "d", SLIDE + '<mimic joint="lift" multiplier="2" offset="0.5"/>'),
    joint("trail", "prismatic", "d", "e", SLIDE + '<mimic joint="follow"/>'),
    joint("drift", "floating", "a", "f"),
    joint("grip", "prismatic", "f", "g", SLIDE),
    links="a b c d e f g",
)


def heights(transforms: dict[str, np.ndarray]) -> dict[str, float]:
    return {child: float(transform[2, 3]) for child, transform in transforms.items()}


@pytest.fixture
def chain() -> UrdfModel:
    return model_from_text(CHAIN)


def test_fixed_moving_and_floating_joints_are_separated(chain: UrdfModel) -> None:
    assert heights(fixed_transforms(chain)) == {"c": 3}
    moving = transforms_from_positions(chain, ["lift", "grip"], [0.25, 0.1])
    assert heights(moving) == pytest.approx({"b": 1.25, "d": 1, "e": 1, "g": 0.1})
    assert chain.parents["f"] == "a"


def test_poses_stop_at_floating_joints_and_may_start_below_root(chain: UrdfModel) -> None:
    poses = link_poses_from_positions(chain, ["lift", "grip"], [0.25, 0.1])
    assert heights(poses) == pytest.approx({"a": 0, "b": 1.25, "c": 4.25, "d": 5.25, "e": 6.25})
    below = link_poses_from_positions(chain, ["lift", "grip"], [0.25, 0.1], base="f")
    assert heights(below) == pytest.approx({"f": 0, "g": 0.1})
    with pytest.raises(ValueError, match="the model 'toy' has no link 'nowhere'"):
        link_poses_from_positions(chain, [], [], base="nowhere", missing="zero")


def test_mimic_joint_prefers_its_own_position(chain: UrdfModel) -> None:
    transforms = transforms_from_positions(chain, ["lift", "follow", "grip"], [0.25, 7, 0])
    assert heights(transforms) == pytest.approx({"b": 1.25, "d": 7, "e": 7, "g": 0})


def test_missing_joints_are_refused_or_zero_or_left_out_with_mimics(chain: UrdfModel) -> None:
    with pytest.raises(ValueError, match=r"no position of the joint 'lift' \(of 3 such joints\)"):
        transforms_from_positions(chain, ["grip"], [1])
    zero = transforms_from_positions(chain, ["grip"], [[1]], missing="zero")
    assert {child: transform[0, 2, 3] for child, transform in zero.items()} == {"b": 1, "d": 0.5, "e": 0.5, "g": 1}
    assert heights(transforms_from_positions(chain, ["grip"], [1], missing="leave_out")) == {"g": 1}
    assert transforms_from_positions(chain, [], [], missing="leave_out") == {}


def test_positions_must_match_names_and_unknown_names_are_ignored(chain: UrdfModel) -> None:
    assert transforms_from_positions(chain, ["someone", "grip"], [9, 1], missing="leave_out").keys() == {"g"}
    with pytest.raises(ValueError, match=r"expected positions \(\.\.\., 2\), one for each name, got \(3,\)"):
        transforms_from_positions(chain, ["lift", "grip"], [1, 2, 3])
    with pytest.raises(ValueError, match="expected each joint once"):
        transforms_from_positions(chain, ["grip", "grip"], [1, 2])


def test_non_finite_position_affects_only_its_own_transform(chain: UrdfModel) -> None:
    names, positions = ["lift", "grip"], [[np.nan, 1], [np.inf, 2], [3, -np.inf], [4, 5]]
    transforms = transforms_from_positions(chain, names, positions)
    assert np.isfinite(transforms["d"]).all(axis=(1, 2)).tolist() == [False, False, True, True]
    assert np.isfinite(transforms["g"]).all(axis=(1, 2)).tolist() == [True, True, False, True]
    model = model_from_text(CHAIN.replace("prismatic", "continuous"))
    transforms = transforms_from_positions(model, names, positions)
    assert np.isfinite(transforms["d"]).all(axis=(1, 2)).tolist() == [False, False, True, True]


def moving(more: str, name: str = "j") -> str:
    return robot(joint(name, "revolute", "a", "b", more), links="a b")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("nothing", "this is no XML"),
        ("<sdf/>", "expected <robot> as the outermost element, got <sdf>"),
        (robot(links=""), "there are no links"),
        ('<robot name="r"><link/></robot>', "a link has no name"),
        (robot(links="a a"), "the link 'a' is there more than once"),
        (robot(joint("j", "fixed", "a", "b"), joint("j", "fixed", "a", "c")), "the joint 'j' is there more than once"),
        (robot(joint("j", "hinge", "a", "b")), "joint 'j': expected a type of fixed, .*, got 'hinge'"),
        (robot(joint("j", "fixed", "a", "")), "joint 'j': expected <child link=\"...\">, got none"),
        (robot(joint("j", "fixed", "x", "b")), "joint 'j': its parent 'x' is no link of the model"),
        (robot(joint("j", "fixed", "a", "x")), "joint 'j': its child 'x' is no link of the model"),
        (robot(), "expected one root, got the links 'a' and 'b'"),
        (robot(joint("j", "fixed", "a", "b")), "expected one root, got the links 'a' and 'c'"),
        (
            robot(joint("j", "fixed", "a", "c"), joint("k", "fixed", "b", "c")),
            "the link 'c' is the child of more than one joint",
        ),
        (robot(joint("j", "fixed", "b", "c"), joint("k", "fixed", "c", "b")), "the link 'b' hangs in a loop of joints"),
        (robot(joint("j", "fixed", "a", "a"), links="a"), "there is no root: every link hangs in a loop"),
        (moving('<origin xyz="0 0"/>'), "joint 'j': origin xyz: expected 3 finite numbers, got '0 0'"),
        (moving('<origin rpy="0 0 nan"/>'), "joint 'j': origin rpy: expected 3 finite numbers, got '0 0 nan'"),
        (moving('<axis xyz="up"/>'), "joint 'j': axis xyz: expected 3 finite numbers, got 'up'"),
        (moving('<axis xyz="0 0 0"/>'), "joint 'j': an axis of length 0"),
        (moving("<mimic/>"), "joint 'j': expected <mimic joint=\"...\">, got none"),
        (moving('<mimic joint="k"/>'), "joint 'j' mimics 'k', which is no joint that moves"),
        (moving('<mimic joint="j"/>'), "joint 'j' mimics itself, by j"),
        (moving('<mimic joint="k" offset="1 2"/>'), "joint 'j': mimic offset: expected 1 finite numbers, got '1 2'"),
        (moving('<origin xyz="${x} 0 0"/>'), "this is xacro"),
        ('<robot name="r"><xacro:arm/></robot>', "this is xacro"),
        ('<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arm/></robot>', "this is xacro .*run it through"),
    ],
)
def test_invalid_description_is_refused_by_name(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        model_from_text(text)


def test_circular_mimics_are_refused() -> None:
    text = robot(
        joint("j", "revolute", "a", "b", '<mimic joint="k"/>'), joint("k", "revolute", "b", "c", '<mimic joint="j"/>')
    )
    with pytest.raises(ValueError, match="joint 'j' mimics itself, by j and k"):
        model_from_text(text)


def test_xacro_output_is_read() -> None:
    text = '<robot name="toy" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="a"/></robot>'
    assert model_from_text(text).root == "a"
