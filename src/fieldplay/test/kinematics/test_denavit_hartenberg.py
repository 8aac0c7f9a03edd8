import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.geometry.transforms import quaternion_from_rotation
from fieldplay.kinematics.denavit_hartenberg import (
    Convention,
    DhRow,
    end_from_joints,
    links_from_joints,
    steps_from_joints,
)

# AMEDS, Table 3, its letters read as Khalil and Kleinfinger's: d along x, r along z
LWR = [DhRow(alpha=np.radians(alpha), d=r) for alpha, r in
       ((0, 0.31), (90, 0), (-90, 0.4), (-90, 0), (90, 0.39), (90, 0), (-90, 0))]  # fmt: skip
ANY = [DhRow(alpha=0.3, a=0.2, d=-0.1, offset=0.4), DhRow(alpha=-1.2, a=0.5, d=0.3, sign=-1), DhRow(a=-0.2, alpha=2.0)]
JOINTS = np.random.default_rng(5).uniform(-3, 3, (50, 7))


@pytest.mark.parametrize(
    ("joints", "position", "quaternion"),
    [
        ([0] * 7, (0, 0, 1.1), (0, 0, 0, 1)),
        ([0.3, -0.5, 0.7, 1.1, -0.4, 0.9, -1.2], (0.420932435, 0.364589175, 0.688830581),
         (-0.276372098, 0.110520625, -0.151632532, 0.942555691)),
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], (-0.013072214, 0.043795336, 1.082904985),
         (0.040929416, -0.190039254, 0.694647965, 0.692585063)),
    ],
)  # fmt: skip
def test_ameds_arm_reaches_known_poses(joints: list[float], position: object, quaternion: object) -> None:
    end = end_from_joints(LWR, joints)
    np.testing.assert_allclose(end[:3, 3], position, atol=1e-6)
    np.testing.assert_allclose(quaternion_from_rotation(end[:3, :3]), quaternion, atol=1e-6)


def test_other_conventions_give_poses_known_to_be_wrong() -> None:
    np.testing.assert_allclose(end_from_joints(LWR, [0] * 7, "standard")[:3, 3], (0, -0.01, 0.31), atol=1e-9)
    prose = [DhRow(alpha=row.alpha, a=row.d) for row in LWR]
    np.testing.assert_allclose(end_from_joints(prose, [0] * 7)[:3, 3], (1.1, 0, 0), atol=1e-9)


def by_elementary_products(rows: list[DhRow], joints: np.ndarray, convention: Convention) -> list[np.ndarray]:
    def screw(axis: str, angle: float, distance: float) -> np.ndarray:
        matrix = np.eye(4)
        matrix[:3, :3] = Rotation.from_euler(axis, angle).as_matrix()
        matrix["xyz".index(axis), 3] = distance
        return matrix

    frame, frames = np.eye(4), []
    for row, joint in zip(rows, joints, strict=True):
        about_x, about_z = screw("x", row.alpha, row.a), screw("z", row.sign * joint + row.offset, row.d)
        frame = frame @ about_x @ about_z if convention == "modified" else frame @ about_z @ about_x
        frames.append(frame)
    return frames


@pytest.mark.parametrize("convention", ["modified", "standard"])
@pytest.mark.parametrize("rows", [LWR, ANY])
def test_links_agree_with_elementary_products(rows: list[DhRow], convention: Convention) -> None:
    joints = JOINTS[:, : len(rows)]
    links = links_from_joints(rows, joints, convention)
    expected = np.array([by_elementary_products(rows, row, convention) for row in joints])
    np.testing.assert_allclose(links, expected, atol=1e-12)
    np.testing.assert_allclose(end_from_joints(rows, joints, convention), expected[:, -1], atol=1e-12)


def test_product_of_exponentials_reaches_same_poses() -> None:
    """Axes and points of the arm at rest, read off its drawing: z, -y, z, y, z, -y, z."""
    axes = np.array([[0, 0, 1], [0, -1, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1], [0, -1, 0], [0, 0, 1]], float)
    heights = [0, 0.31, 0, 0.71, 0, 1.1, 0]
    for joints in JOINTS[:10]:
        pose = np.eye(4)
        for axis, height, angle in zip(axes, heights, joints, strict=True):
            turn = np.eye(4)
            turn[:3, :3] = Rotation.from_rotvec(angle * axis).as_matrix()
            point = np.array([0, 0, height])
            turn[:3, 3] = point - turn[:3, :3] @ point
            pose = pose @ turn
        rest = np.eye(4)
        rest[2, 3] = 1.1
        np.testing.assert_allclose(end_from_joints(LWR, joints), pose @ rest, atol=1e-12)


def test_batches_of_any_shape_equal_single_poses() -> None:
    many = np.random.default_rng(6).uniform(-3, 3, (2, 5000, 7))
    ends = end_from_joints(LWR, many)
    assert ends.shape == (2, 5000, 4, 4)
    np.testing.assert_array_equal(ends[1, 4321], end_from_joints(LWR, many[1, 4321]))


def test_composed_steps_equal_links() -> None:
    steps = steps_from_joints(LWR, JOINTS)
    frame = np.broadcast_to(np.eye(4), (len(JOINTS), 4, 4))
    for joint, link in enumerate(np.moveaxis(links_from_joints(LWR, JOINTS), 1, 0)):
        frame = frame @ steps[:, joint]
        np.testing.assert_allclose(frame, link, atol=1e-12)
