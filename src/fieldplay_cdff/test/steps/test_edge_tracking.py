"""A body followed by its edges: what is seen of it, the published numbers, and a box that turns before two cameras."""

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from fieldplay.core.errors import UsageError
from fieldplay.geometry.camera_model import camera_from_numbers
from fieldplay.geometry.transforms import transform_from_vectors, transform_points, vector_from_rotation
from fieldplay_cdff.pipeline.pipeline_run import Pipeline, PipelineOutput, load_pipeline
from fieldplay_cdff.steps.cad_model import Body, read_body
from fieldplay_cdff.steps.edge_tracking import jacobian
from fieldplay_cdff.steps.values import Array, Frame, State

BOX = """
v -0.4 -0.3 -0.2
v -0.4 -0.3 0.2
v -0.4 0.3 -0.2
v -0.4 0.3 0.2
v 0.4 -0.3 -0.2
v 0.4 -0.3 0.2
v 0.4 0.3 -0.2
v 0.4 0.3 0.2
f 1 2 4 3
f 5 7 8 6
f 1 5 6 2
f 3 4 8 7
f 1 3 7 5
f 2 6 8 4
"""
CAMERA_MATRIX = np.array([[680.0, 0, 262], [0, 680, 200], [0, 0, 1]])
CAMERA = camera_from_numbers(CAMERA_MATRIX, [], "", width=528, height=406)
BASELINE_M, STEP_NS, BEGIN_NS = 0.3, 333_000_000, 1_000_000_000
TURN_RAD = np.radians([1.0, 1.2, -0.5])  # from one picture to the next
GREYS = (60, 90, 120, 150, 180, 210)


@pytest.fixture
def box(tmp_path: Path) -> Path:
    path = tmp_path / "box.obj"
    path.write_text(BOX)
    return path


def pose_at(number: int) -> Array:
    start = transform_from_vectors(np.array([0.5, -0.4, 0.3]), np.array([0.05, 0.0, 2.5]))
    turned = transform_from_vectors(number * TURN_RAD, np.zeros(3))
    turned[:3, 3] = [0.004 * number, -0.003 * number, 0.005 * number]
    pose: Array = turned @ np.block([[start[:3, :3], np.zeros((3, 1))], [np.zeros((1, 3)), np.ones((1, 1))]])
    pose[:3, 3] += start[:3, 3]
    return pose


def draw_body(body: Body, pose: Array, shift_m: float) -> Array:
    """The body's faces, drawn by OpenCV; each grey of its own."""
    image = np.full((4 * CAMERA.height, 4 * CAMERA.width), 20, np.uint8)
    points = transform_points(pose, body.corners) - [shift_m, 0, 0]
    pixels = points[:, :2] / points[:, 2:] * 680 + CAMERA.matrix[:2, 2]
    eye = -pose[:3, :3].T @ (pose[:3, 3] - [shift_m, 0, 0])
    for number, (triangle, normal) in enumerate(zip(body.triangles, body.normals, strict=True)):
        if normal @ (eye - body.corners[triangle[0]]) > 0:
            corners = np.rint((pixels[triangle] + 0.5) * 4 * 16 - 8).astype(np.int32)
            grey = GREYS[int(np.argmax(np.abs(normal))) + 3 * int(normal.sum() > 0)]
            cv2.fillConvexPoly(image, corners, grey, shift=4)
        assert number < 12
    return cv2.resize(image, (CAMERA.width, CAMERA.height), interpolation=cv2.INTER_AREA)


def state_of(pose: Array, stamp_ns: int) -> State:
    values = np.concatenate([vector_from_rotation(pose[:3, :3]), pose[:3, 3], np.zeros(6)])
    return State(values=values, covariance=np.zeros((12, 12)), stamp_ns=stamp_ns)


def shaken(number: int) -> Array:
    """Where a camera is in its base that is shaken by more than what is searched for edges: 3 degrees are 36 pixels."""
    to_and_fro = (-1) ** number
    return transform_from_vectors(
        np.array([0.02, 0.05, 0.0]) * to_and_fro, np.array([0.05 * to_and_fro, 0.0, 0.02 * number])
    )


class Chase:
    """A pipeline that follows the box, picture after picture; its camera moves where `is_shaken`."""

    def __init__(self, box: Path, name: str, *, is_shaken: bool = False) -> None:
        self.body, self.is_shaken = read_body(box), is_shaken
        settings = {"tracker": {"Model": {"File": str(box)}}}
        cameras = {"left": CAMERA, "right": CAMERA}
        self.pipeline: Pipeline = load_pipeline(name, None, settings, cameras, BASELINE_M, threads=1)
        self.start_tracking(0)

    def start_tracking(self, number: int) -> None:
        stamp_ns = BEGIN_NS + number * STEP_NS
        self.pipeline.feed("init", state_of(self.pose_in_camera(number), stamp_ns), stamp_ns)

    def pose_in_camera(self, number: int) -> Array:
        """Where the body is in the left camera."""
        pose: Array = np.linalg.inv(shaken(number)) @ pose_at(number) if self.is_shaken else pose_at(number)
        return pose

    def see(self, number: int, *, is_covered: bool = False) -> dict[str, object]:
        outputs: list[PipelineOutput] = []
        stamp_ns = BEGIN_NS + number * STEP_NS
        for port in (port for port in ("imageLeft", "imageRight") if port in self.pipeline.inputs):
            shift_m = BASELINE_M if port == "imageRight" else 0.0
            image = draw_body(self.body, self.pose_in_camera(number), shift_m)
            image = np.full_like(image, 20) if is_covered else image
            frame = Frame(image=image, stamp_ns=stamp_ns, camera=CAMERA, baseline_m=shift_m)
            outputs += self.pipeline.feed(port, frame, stamp_ns)
        if "egoMotion" in self.pipeline.inputs:
            outputs += self.pipeline.feed("egoMotion", state_of(shaken(number), stamp_ns), stamp_ns)
        return {each.port: each.value for each in outputs}

    def errors(self, number: int, **options: bool) -> tuple[float, float]:
        """How far the found pose is off, in m and degrees."""
        outputs = self.see(number, **options)
        assert outputs["success"] is True, (number, outputs)
        state, true = outputs["state"], pose_at(number)
        assert isinstance(state, State)
        pose = transform_from_vectors(state.values[:3], state.values[3:6])
        turn = vector_from_rotation(pose[:3, :3].T @ true[:3, :3])
        return float(np.linalg.norm(pose[:3, 3] - true[:3, 3])), float(np.degrees(np.linalg.norm(turn)))


@pytest.fixture(params=["ModelBasedVisualTracking", "ModelBasedVisualTrackingMono"])
def chase(box: Path, request: pytest.FixtureRequest) -> Iterator[Chase]:
    case = Chase(box, request.param)
    yield case
    case.pipeline.close()


def test_rotating_box_is_tracked(chase: Chase) -> None:
    errors = np.array([chase.errors(number) for number in range(12)])
    distance_m = pose_at(0)[2, 3]
    assert np.median(errors[:, 0]) < 0.002 * distance_m
    assert errors[:, 0].max() < 0.005 * distance_m
    assert errors[:, 1].max() < 0.3


def test_body_is_tracked_from_shaken_camera_given_its_motion(box: Path) -> None:
    chase = Chase(box, "ModelBasedVisualTrackingInBase", is_shaken=True)
    errors = np.array([chase.errors(number) for number in range(8)])
    assert errors[:, 0].max() < 0.005 * pose_at(0)[2, 3]
    assert errors[:, 1].max() < 0.3
    untold = Chase(box, "ModelBasedVisualTracking", is_shaken=True)
    assert [untold.see(number)["success"] for number in range(2)] == [True, False]


def test_lost_body_is_reported_at_once_and_reinitialised(chase: Chase) -> None:
    for number in range(4):
        chase.errors(number)
    for number in range(4, 7):
        outputs = chase.see(number, is_covered=True)
        assert outputs == {"success": False, "quality": 0.0}
    chase.start_tracking(40)
    position_m, turn_deg = chase.errors(40)
    assert position_m < 0.01
    assert turn_deg < 0.3


def test_short_occlusion_is_bridged_by_prediction(chase: Chase) -> None:
    for number in range(6):
        chase.errors(number)
    chase.see(6, is_covered=True)
    position_m, turn_deg = chase.errors(7)
    assert position_m < 0.01
    assert turn_deg < 0.3


def test_other_body_at_same_position_is_rejected(box: Path) -> None:
    chase = Chase(box, "ModelBasedVisualTracking")
    chase.errors(0)
    chase.body = Body(chase.body.corners * [0.3, 1.6, 1.5], chase.body.triangles)
    assert [chase.see(number)["success"] for number in range(1, 4)] == [False] * 3


def test_jacobian_row_matches_paper() -> None:
    matrix = np.array([[700.0, 0, 320], [0, 700, 240], [0, 0, 1]])
    row = jacobian(matrix, np.array([[0.2, -0.1, 1.5]]), np.zeros(3), np.array([[0.6, 0.8]]))
    expected = [-558.755555556, 422.488888889, 102.666666667, 280, 373.333333333, -12.444444444]
    np.testing.assert_allclose(row[0], expected, atol=1e-6)


def test_nine_box_edges_are_visible_from_corner_and_four_from_front(box: Path) -> None:
    body = read_body(box)
    assert body.size_m == pytest.approx(np.sqrt(0.8**2 + 0.6**2 + 0.4**2))
    assert (np.einsum("ij,ij->i", body.normals, body.corners[body.triangles[:, 0]]) > 0).all()
    crease_rad = np.radians(29)
    assert len(body.visible_edges(np.array([3.0, 3.0, 3.0]), crease_rad)) == 9
    assert len(body.visible_edges(np.array([0.0, 0.0, 3.0]), crease_rad)) == 4
    points = body.points_on_edges(body.edges[0], np.full(len(body.edges[0]), 1.0))
    eye = np.array([3.0, 2.0, 4.0])
    facing = [0.4, 0.3, 0.2]
    is_seen = (np.abs(points.points - facing) < 1e-9).any(axis=1)
    np.testing.assert_array_equal(body.is_hidden(points.points, eye), ~is_seen)


@pytest.mark.parametrize(("change", "message"), [
    (lambda text: "", "expected a body of faces, got 0 corners and 0 faces"),
    (lambda text: text.replace("f 2 6 8 4\n", ""), "with 4 open edges: Model.MayBeOpen true"),
    (lambda text: text.replace("0.", "400."), "is it in millimetres"),
    (lambda text: text.replace("f 1 2 4 3", "f 1 2 4 9"), "a face has the corner 9, there are 8"),
    (lambda text: text.replace("v 0.4 0.3 0.2", "v 0.4 0.3 x"), r"box\.obj:9: expected numbers, got 'v 0.4 0.3 x'"),
    (lambda text: text.replace("v 0.4 0.3 0.2", "v 0.4 0.3 nan"), "expected three numbers of each corner"),
    (lambda text: text.replace("f 2 6 8 4", "f 2 6"), "expected three corners of each face"),
])  # fmt: skip
def test_invalid_model_is_reported(box: Path, change: object, message: str) -> None:
    assert callable(change)
    box.write_text(change(BOX))
    with pytest.raises(UsageError, match=message):
        read_body(box)


def test_millimetre_model_is_scaled_and_inverted_model_is_flipped(box: Path) -> None:
    box.write_text(BOX.replace("0.", "400.").replace("f 1 2 4 3", "f 3 4 2 1"))
    assert read_body(box, scale=0.001, may_be_open=True).size_m > 0
    inside_out = "\n".join(
        " ".join([line.split()[0], *line.split()[:0:-1]]) if line.startswith("f") else line for line in BOX.splitlines()
    )
    box.write_text(inside_out)
    body = read_body(box)
    assert (np.einsum("ij,ij->i", body.normals, body.corners[body.triangles[:, 0]]) > 0).all()
