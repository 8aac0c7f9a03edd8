"""ACFR's lasers in its cameras: each by its own row of the report, worked out here by hand from the files' lines."""

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from fieldplay.cli.main import main
from fieldplay.datasets.registry import dataset_files, open_dataset
from fieldplay.datasets.spec import spec_from_file
from fieldplay.geometry.extrinsics import transform_from_published
from fieldplay.projection.projection import ProjectionRequest, ProjectionResult, project
from fieldplay.projection.sensor_names import SCAN
from support.tiny_acfr import TinyAcfr

Array = NDArray[np.float64]

# Section 2.2.5 of the report: delta in m, phi in degrees. LaserVertical's as they come through LaserHorizontal.
ROWS = {
    ("laser_horizontal", "visual_camera"): ((0.4139, -0.2976, -0.0099), (-4.7341, -0.3780, -0.4230)),
    ("laser_vertical", "visual_camera"): ((0.504806, -0.118815, 0.141090), (-13.184707, -1.140055, 0.128814)),
    ("laser_port", "visual_camera"): ((0.9592, -0.5011, -0.0867), (-10.6026, -0.0747, -0.5791)),
    ("laser_starboard", "visual_camera"): ((-0.1343, -0.4976, -0.0532), (-12.6652, 0.2409, -0.5293)),
    ("laser_horizontal", "ir_camera"): ((-0.3391, -0.3278, 0.0975), (-6.5307, -1.2671, -2.1308)),
    ("laser_starboard", "ir_camera"): ((-0.8772, -0.5652, 0.0584), (-15.7179, -0.8259, -3.3619)),
}
FOLDERS = {"laser_horizontal": "LaserHorizontal", "laser_vertical": "LaserVertical", "laser_port": "LaserPort",
           "laser_starboard": "LaserStarboard"}  # fmt: skip
K = {
    "visual_camera": (1023.094873083798120, 1020.891695892045050, 643.139025535655492, 482.455417980580421),
    "ir_camera": (
        790.131547995049573,
        826.825751328548790,
        264.685823692670340,
        123.376489311973216,
    ),  # clipped to the middle
}
D = {
    "visual_camera": (-0.218504818968279, 0.138951469767851, -0.000755791245166, 0.000175881419552, 0),
    "ir_camera": (-0.466898225930376, 0.246094535921152, 0, 0, 0),
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tiny = TinyAcfr(tmp_path_factory.mktemp("marulan") / "29-DynamicDayTriangleClear")
    tiny.write_all()
    return tiny.root


def projection(archive: Path, requested: ProjectionRequest) -> ProjectionResult:
    with open_dataset(archive) as opened:
        return project(opened, requested, step=lambda fraction, count: None, report=lambda text: None)


def points_of_line(archive: Path, laser: str, stamp_ns: int) -> Array:
    """Right, down, forward of the points of a line, before phi and delta: its angles are clockwise from above."""
    lines = (archive / FOLDERS[laser] / "RangeBearingQAsciiData.txt").read_text().splitlines()
    (fields,) = [
        fields for fields in (line.lstrip("*").split() for line in lines) if float(fields[0]) == stamp_ns / 1e9
    ]
    start, step, _, unit = (float(word) for word in fields[2:6])
    ranges = np.array(fields[7:], float) * {1: 1e-3, 2: 1e-2, 3: 1.0}[int(unit)]
    angles = start + step * np.arange(len(ranges))
    side, none = ranges * np.sin(angles), np.zeros(len(ranges))
    ahead = ranges * np.cos(angles)
    return np.stack([none, side, ahead] if laser == "laser_vertical" else [side, none, ahead], axis=1)[ranges < 81.8]


@pytest.mark.parametrize(("laser", "camera"), ROWS)
def test_each_laser_is_projected_by_its_own_row(archive: Path, laser: str, camera: str) -> None:
    actual = projection(archive, ProjectionRequest(laser=laser, camera=camera, time="0.5", fixed_frame="none"))
    assert actual.extrinsics == "own"
    delta, phi = ROWS[laser, camera]
    turn = Rotation.from_euler("XYZ", phi, degrees=True).as_matrix()
    seen = points_of_line(archive, laser, actual.scans[0].stamp_ns) @ turn - np.array(delta)
    fx, fy, cx, cy = K[camera]
    matrix = np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1]])
    expected, _ = cv2.projectPoints(seen, np.zeros(3), np.zeros(3), matrix, np.array(D[camera]))
    shown = actual.projection.is_visible[::-1]  # a LaserScan's beams run the other way round
    pixels = actual.projection.pixels[::-1]
    assert len(seen) == len(shown)
    np.testing.assert_allclose(pixels[shown], expected[shown, 0], atol=0.02)
    if (laser, camera) != ("laser_starboard", "ir_camera"):  # which looks over the plane of that laser
        assert shown.sum() > 20


def test_by_tf_it_goes_through_body_and_decimetre_beside(archive: Path) -> None:
    requested = ProjectionRequest(laser="laser_starboard", camera="visual_camera", time="0.5", fixed_frame="none")
    own, tf = projection(archive, requested), projection(archive, replace(requested, extrinsics="tf"))
    assert tf.extrinsics == "tf"
    both = own.projection.is_visible & tf.projection.is_visible
    difference = (
        (own.projection.pixels - tf.projection.pixels)[both] * own.projection.depths[both, None] / K["visual_camera"][0]
    )
    assert 0.05 < np.median(np.linalg.norm(difference, axis=1)) < 0.25
    horizontal = replace(requested, laser="laser_horizontal")
    own, tf = projection(archive, horizontal), projection(archive, replace(horizontal, extrinsics="tf"))
    np.testing.assert_allclose(own.projection.pixels, tf.projection.pixels, atol=1e-6)  # the cameras hang on this laser


def test_radar_has_no_row_and_goes_by_tf(archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.png"
    assert main(["project", str(archive), "radar", "visual_camera", "0.5", str(out), "--scans", "3"]) == 0
    output = capsys.readouterr().out
    assert "points of radar/points in visual_camera/image_raw" in output
    assert "by tf from radar to visual_camera" in output
    assert cv2.imread(str(out)).shape == (1024, 1360, 3)


def test_four_scans_make_one_of_quarter_degree(archive: Path) -> None:
    requested = ProjectionRequest(laser="laser_horizontal", camera="visual_camera", time="0.5", scans=4)
    actual = projection(archive, requested)
    assert len(actual.scans) == 4
    angles = np.concatenate([np.arctan2(s.points.points[:, 1], s.points.points[:, 0]) for s in actual.scans])
    np.testing.assert_allclose(np.diff(np.degrees(np.sort(angles))), 0.25, atol=1e-3)


def test_rows_of_all_datasets_lead_from_lasers_to_cameras() -> None:
    rows = 0
    for path in dataset_files().values():
        spec = spec_from_file(path)
        cameras = {stream.frame for stream in spec.streams if stream.camera}
        lasers = {stream.frame for stream in spec.streams if stream.type == SCAN}
        for row in spec.projections:
            assert row.parent in cameras and row.child in lasers
            turn = transform_from_published(row)[:3, :3]
            assert np.linalg.det(turn) == pytest.approx(1)
            rows += 1
    assert rows == 8
