from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from fieldplay.core.errors import UsageError
from fieldplay.geometry.camera_model import camera_from_numbers
from fieldplay_cdff.steps.step import step_of
from fieldplay_cdff.steps.values import Array, Frame
from fieldplay_cdff.steps.wheel_pairs import pose_of_heading

CAMERA = camera_from_numbers([200, 0, 160, 0, 200, 120, 0, 0, 1], [0] * 5, "plumb_bob", width=320, height=240)
CIRCLES = {"HoughCirclesParameters": {"MinDist": 60.0, "Param2": 20.0, "MaxRadius": 50.0}}


def draw_shapes(*shapes: str) -> NDArray[np.uint8]:
    image = np.zeros((240, 320), np.uint8)
    if "circle" in shapes:
        cv2.circle(image, (80, 120), 30, 255, -1)
    if "line" in shapes:
        cv2.line(image, (40, 40), (290, 60), 255, 3)
    if "ellipse" in shapes:
        cv2.ellipse(image, (220, 120), (60, 25), 20, 0, 360, 255, -1)
    if "square" in shapes:
        cv2.rectangle(image, (150, 180), (190, 220), 255, -1)
    if "angle" in shapes:
        cv2.polylines(image, [np.array([[20, 20], [20, 220], [140, 220]])], isClosed=False, color=255, thickness=9)
    return image


def primitives_of(kind: str, *shapes: str, **parameters: Any) -> list[Array]:
    step = step_of("PrimitiveFinder", "BasicPrimitiveFinder")(parameters)
    primitives: list[Array] = step.process(image=Frame(image=draw_shapes(*shapes)), primitive=kind)["primitives"]
    return primitives


def test_circles_lines_and_ellipses_are_detected_where_drawn() -> None:
    (circle,) = primitives_of("circle", "circle", **CIRCLES)
    assert circle == pytest.approx([80, 120, 30], abs=2)
    lines = np.array(primitives_of("Lines", "line")).reshape(-1, 2)
    assert np.abs(lines[:, 1] - 40 - (lines[:, 0] - 40) * 0.08).max() < 5
    assert np.ptp(lines[:, 0]) > 150
    ellipses = primitives_of("ellipse", "ellipse", "angle")
    assert len(ellipses) == 1, "an angle is no ellipse"
    assert ellipses[0][:2] == pytest.approx([220, 120], abs=1)
    assert sorted(ellipses[0][2:4]) == pytest.approx([50, 120], abs=3)
    assert not primitives_of("circle", **CIRCLES)
    assert not primitives_of("line")
    assert not primitives_of("ellipse")
    with pytest.raises(ValueError, match="primitive: expected one of circle, line, ellipse, got 'cube'"):
        primitives_of("cube")


def matching(folder: Path, names: list[str], image: NDArray[np.uint8]) -> tuple[NDArray[Any], list[str]]:
    parameters = {
        "GeneralParameters": {"TemplatesFolder": str(folder), "MinimumArea": 50, "MaximumSimilarityRatio": 0.05}
    }
    outputs = step_of("PrimitiveMatching", "HuInvariants")(parameters).process(
        image=Frame(image=image), primitives=names
    )
    return outputs["image"].image, outputs["primitives"]


def test_templates_are_recognised_in_other_size(tmp_path: Path) -> None:
    for name in ("circle", "ellipse", "angle"):
        small = cv2.resize(draw_shapes(name), (160, 120), interpolation=cv2.INTER_AREA)
        cv2.imwrite(str(tmp_path / f"{name}.png"), 255 - small if name == "angle" else small)
    drawn, names = matching(tmp_path, ["angle", "ellipse"], draw_shapes("circle", "ellipse"))
    assert names == ["ellipse"]
    green = (drawn == [0, 255, 0]).all(axis=2)
    assert green[:, 150:].any()
    assert not green[:, :140].any()
    assert set(matching(tmp_path, ["circle", "ellipse"], draw_shapes("circle", "ellipse"))[1]) == {"circle", "ellipse"}
    assert matching(tmp_path, ["circle"], draw_shapes())[1] == []
    with pytest.raises(ValueError, match=r"names of templates \(angle, circle, ellipse\), got 'star'"):
        matching(tmp_path, ["star"], draw_shapes())
    cv2.imwrite(str(tmp_path / "star.png"), draw_shapes())
    with pytest.raises(ValueError, match=r"star.png: expected a shape on a ground of another brightness"):
        matching(tmp_path, ["star"], draw_shapes())
    with pytest.raises(UsageError, match="TemplatesFolder: expected a folder of images, there is no"):
        matching(tmp_path / "none", [], draw_shapes())


def depth_frame(depths: Any = 2.0, **more: Any) -> Frame:
    whole = np.broadcast_to(np.asarray(depths, np.float32), (240, 320))
    return Frame(image=whole.copy(), **{"encoding": "32FC1", "camera": CAMERA, **more})


def circle(u: float, v: float, r: float = 20.0) -> Array:
    return np.array([u, v, r])


def test_pose_has_heading_x_and_z_nearest_up() -> None:
    pose = pose_of_heading(np.array([2.0, 0, 0]), np.array([0.5, -1, 0]), np.array([1.0, 2, 3]))
    assert pose[:3].tolist() == [[1, 0, 0, 1], [0, 0, -1, 2], [0, 1, 0, 3]]
    assert np.linalg.det(pose[:3, :3]) == 1


def test_circle_is_tracked_in_3d() -> None:
    step = step_of("PoseEstimator", "PrimitivesPoseEstimator")()
    image, poses = Frame(image=draw_shapes()), []
    for number in range(12):
        others = [circle(20, 20), circle(100 + 2 * number, 120), circle(300, 30)]
        depth = depth_frame(2.0)
        circles = others if number else others[1:2]
        poses.append(step.process(image=image, depth=depth, primitives=circles))
    assert poses[:2] == [{}, {}]
    pose = poses[-1]["poses"]
    assert pose.shape == (1, 4, 4)
    assert pose[0, :3, 3] == pytest.approx([(122 - 160) / 200 * 2, 0, 2], abs=0.02)
    assert pose[0, :3, 0] == pytest.approx([1, 0, 0], abs=1e-6)
    back = [step.process(image=image, depth=depth_frame(), primitives=[circle(122 - 3 * n, 120)]) for n in range(1, 4)]
    assert back[-1]["poses"][0, :3, 0] == pytest.approx([-1, 0, 0], abs=1e-6)
    before = back[-1]["poses"][0, 0, 3]
    far = step.process(image=image, depth=depth_frame(), primitives=[circle(250, 200)])["poses"][0]
    assert abs(far[0, 3] - before) < 0.1, "a jump of more than MaxDistance is not believed"
    with pytest.raises(ValueError, match="primitives: expected a circle, got none"):
        step.process(image=image, depth=depth_frame(), primitives=[])
    with pytest.raises(ValueError, match=r"depth: expected depths about pixel .*, got none"):
        step.process(image=image, depth=depth_frame(np.nan), primitives=[circle(250, 200)])
    step.reset()
    assert step.process(image=image, depth=depth_frame(), primitives=[circle(9, 9)]) == {}


def rover(step: Any, circles: list[Array], depth: Frame | None = None, mask: NDArray[np.uint8] | None = None) -> Array:
    image = Frame(image=draw_shapes() if mask is None else mask)
    pose: Array = step.process(image=image, depth=depth or depth_frame(), primitives=circles)["poses"][0]
    return pose


def sherpa(**kalman: Any) -> Any:
    parameters = {"GeneralParameters": {"Robot": "SHERPA"}, "KFParameters": kalman}
    return step_of("PoseEstimator", "WheeledRobotPoseEstimator")(parameters)


def test_robot_is_midway_between_its_wheels_and_heads_along_them() -> None:
    step = sherpa(dt=0.1)
    slope = 2.0 + (np.arange(320)[None, :] - 160) / 200 * 0.5
    for number in range(6):
        pose = rover(
            step, [circle(100 + 2 * number, 150), circle(200 + 2 * number, 150), circle(90, 30)], depth_frame(slope)
        )
    left, right = (np.array([(u - 160) / 200 * z, 30 / 200 * z, z]) for u in (110, 210) for z in (slope[0, u],))
    assert pose[[0, 2], 3] == pytest.approx(((left + right) / 2)[[0, 2]], abs=0.03)
    assert pose[:3, 0] == pytest.approx((right - left) / np.linalg.norm(right - left), abs=0.02)
    assert pose[1, 2] < -0.99
    assert pose[:3, :3] @ pose[:3, :3].T == pytest.approx(np.eye(3), abs=1e-9)
    for number in range(8):
        back = rover(step, [circle(110 - 3 * number, 150), circle(210 - 3 * number, 150)], depth_frame(slope))
    assert back[0, 0] < 0, "it heads to where it moves"


def test_disparities_are_taken_with_baseline_of_settings_or_image() -> None:
    step = step_of("PoseEstimator", "WheeledRobotPoseEstimator")
    wheels = [circle(120, 150), circle(180, 150)]
    disparities = depth_frame(20.0)
    assert rover(step(), wheels, disparities)[2, 3] == pytest.approx(200 * 0.2 / 20, abs=1e-6)
    with_baseline = {"GeneralParameters": {"Baseline": 0.3}}
    assert rover(step(with_baseline), wheels, depth_frame(20.0, baseline_m=0.1))[2, 3] == pytest.approx(3.0, abs=1e-6)
    sixteenths = depth_frame(320.0, baseline_m=0.1, scale=16.0, encoding="16SC1")
    assert rover(step(), wheels, sixteenths)[2, 3] == pytest.approx(1.0, abs=1e-6)
    millimetres = Frame(image=np.full((240, 320), 1500, np.uint16), encoding="16UC1", camera=CAMERA)
    assert rover(sherpa(), wheels, millimetres)[2, 3] == pytest.approx(1.5, abs=1e-6)


@pytest.mark.parametrize(
    "circles",
    [
        [circle(120, 150)],
        [circle(120, 150), circle(180, 100)],
        [circle(120, 150), circle(135, 150)],
        [circle(60, 150), circle(250, 150)],
    ],
)
def test_circles_that_are_no_wheel_pair_give_no_pose(circles: list[Array]) -> None:
    with pytest.raises(ValueError, match="primitives: expected two wheels side by side with a depth, got none"):
        rover(step_of("PoseEstimator", "WheeledRobotPoseEstimator")(), circles)


def test_without_wheels_motion_gives_position_or_nothing_does() -> None:
    mask = np.zeros((240, 320), np.uint8)
    mask[60:200, 200:240] = 255
    step = sherpa(backupMeasurement=True)
    pose = rover(step, [], mask=mask)
    assert pose[:3, 3] == pytest.approx([(219.5 - 160) / 200 * 2, (129.5 - 120) / 200 * 2, 2], abs=1e-6)
    held = sherpa(dt=0.1)
    for number in range(20):
        before = rover(held, [circle(100 + 2 * number, 150), circle(200 + 2 * number, 150)])
    after = rover(held, [], mask=mask)
    assert 0 < after[0, 3] - before[0, 3] < 0.05, "it goes on as it went"
    jumped = rover(held, [circle(100, 150), circle(200, 150)], depth_frame(9.0))
    assert jumped[2, 3] == pytest.approx(9.0, abs=1e-6), "beyond maxJumpInPosition it begins anew"
    with pytest.raises(ValueError, match="expected two wheels"):
        rover(sherpa(backupMeasurement=True), [], mask=draw_shapes("square"))
    with pytest.raises(ValueError, match=r"primitives: expected circles x, y, r, got \[1.0, 2.0\]"):
        rover(sherpa(), [np.array([1.0, 2.0])])
    with pytest.raises(ValueError, match="depth: expected an image of a known camera"):
        rover(sherpa(), [], depth_frame(camera=None))
