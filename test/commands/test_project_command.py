"""`fieldplay project`: points that meet the picture, and what it says where there is nothing to draw."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation, Slerp

from fieldplay.cli.main import main
from fieldplay.datasets.registry import open_dataset
from fieldplay.projection.projection import ProjectionRequest, ProjectionResult, project
from fieldplay_samples.robots.interact import base_T_camera, load_interact
from fieldplay_samples.sensors.camera import camera_from_numbers, pixels_from_points
from fieldplay_testing.tiny_ameds import START, TinyAmeds
from support.sampled import Sampled

Array = NDArray[np.float64]

MAIN_CAM = camera_from_numbers(
    1920, 1080, (885.015, 887.440, 955.893, 533.638), (-0.2418, 0.0974, 0.00048, 0.00019, -0.0226)
)
LIDAR = ProjectionRequest(laser="lidar", camera="main_cam", time="5")
BEGIN_S = 1656928800


def projection(sample: Sampled, requested: ProjectionRequest) -> ProjectionResult:
    messages: list[str] = []
    with open_dataset(sample.archive) as archive:
        projection = project(archive, requested, step=lambda fraction, count: None, report=messages.append)
    assert messages == []
    return projection


def truth_at(sample: Sampled, stamp_ns: NDArray[np.int64]) -> Array:
    """map_T_base_link (n, 4, 4) at times within the sample."""
    first_ns = int(sample.truth["stamp_ns"][0])
    known, requested = (sample.truth["stamp_ns"] - first_ns) * 1e-9, (stamp_ns - first_ns) * 1e-9
    poses = np.tile(np.eye(4), (len(stamp_ns), 1, 1))
    poses[:, :3, 3] = np.stack([np.interp(requested, known, sample.truth[f"{axis}_m"]) for axis in "xyz"], axis=1)
    turns = Rotation.from_quat(np.stack([sample.truth[f"q{axis}"] for axis in "xyzw"], axis=1))
    poses[:, :3, :3] = Slerp(known, turns)(requested).as_matrix()
    return poses


def true_pixels(sample: Sampled, result: ProjectionResult) -> Array:
    """Where the sample's own camera sees the points, from the true poses of the rover at their times and its arm."""
    rover = load_interact()
    scan = result.scans[0]
    points = np.c_[scan.points.points, np.ones(len(scan.points))]
    points_ns = scan.stamp_ns + np.round(scan.points.offsets_s * 1e9).astype(np.int64)
    in_map = truth_at(sample, points_ns) @ rover.transforms["base_T_lidar"] @ points[:, :, None]
    base_t_camera = base_T_camera(rover, "main_cam", rover.main_arm_rad)
    map_t_camera = truth_at(sample, np.array([result.image.stamp_ns]))[0] @ base_t_camera
    seen = (np.linalg.inv(map_t_camera) @ in_map)[:, :3, 0]
    return pixels_from_points(MAIN_CAM, np.where(seen[:, 2:] > 0.1, seen, np.nan))


@pytest.mark.parametrize("time", ["5", "14.9"])
def test_points_lie_where_truth_puts_them(sampled_ameds: Sampled, time: str) -> None:
    """The rover drives: without its motion between scan and picture they would not, and by its wheels alone less so."""
    medians = {}
    for fixed in ("auto", "map", "odom", "none"):
        actual = projection(sampled_ameds, replace(LIDAR, time=time, fixed_frame=fixed))
        shown = actual.projection.is_visible
        assert shown.sum() > 20_000
        difference = np.linalg.norm(actual.projection.pixels - true_pixels(sampled_ameds, actual), axis=1)[shown]
        medians[fixed] = np.median(difference)
        assert fixed in ("odom", "none") or np.percentile(difference, 99) < 1.5
    assert medians["auto"] == medians["map"] < 0.5 < 1 < medians["odom"] < medians["none"]


def test_of_bag_points_lie_where_those_of_its_archive_do(sampled_ameds: Sampled) -> None:
    """By the frames, the camera and the tf in its messages alone; of its motion it knows what the wheels told."""
    requested = replace(LIDAR, fixed_frame="odom")
    of_archive = projection(sampled_ameds, requested)
    of_bag = projection(replace(sampled_ameds, archive=sampled_ameds.bag), requested)
    assert of_bag.laser.spec.frame == of_archive.laser.spec.frame
    assert of_bag.image.stamp_ns == of_archive.image.stamp_ns
    assert (of_bag.image.pixels == of_archive.image.pixels).all()
    shown = of_archive.projection.is_visible & of_bag.projection.is_visible
    assert shown.sum() > 0.999 * of_archive.projection.is_visible.sum()
    difference = np.linalg.norm(of_bag.projection.pixels - of_archive.projection.pixels, axis=1)[shown]
    assert difference.max() < 0.01


def test_points_lie_on_ground_and_not_in_sky_of_image(sampled_ameds: Sampled) -> None:
    actual = projection(sampled_ameds, LIDAR)
    blue, _, red = np.moveaxis(actual.image.pixels.astype(int), -1, 0)
    is_sky = cv2.erode(((blue > red + 15) & (blue > 120)).astype(np.uint8), np.ones((9, 9))) > 0
    assert 0.02 < is_sky.mean() < 0.5
    u, v = np.rint(actual.projection.pixels[actual.projection.is_visible]).astype(int).T
    assert is_sky[v, u].mean() < 0.001
    assert is_sky[np.maximum(v - 40, 0), u].mean() > 0.02  # as they would, were the camera turned by 2.5 degrees


def test_file_and_output_gives_what_was_found(
    sampled_ameds: Sampled, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "out.png"
    assert main(["project", str(sampled_ameds.archive), "lidar", "main_cam", "5", str(out), "--range", "2", "30"]) == 0
    actual = projection(sampled_ameds, LIDAR)
    first, image, scan, placed = capsys.readouterr().out.splitlines()
    shown, points = int(actual.projection.is_visible.sum()), len(actual.ranges_m)
    assert first == f"{out}: {shown} of {points} points of lidar/points in main_cam/image_raw"
    assert "2022-07-04T10:00:05.040000000Z (1656928805.040000000), 5.040000 s, 0.040000 s after" in image
    assert "2022-07-04T10:00:05.000000000Z (1656928805.000000000), 0.040000 s before the image" in scan
    assert re.search(r"by tf from lidar to main_cam; motion of up to 0\.1\d\d m in map", placed)
    drawn = cv2.imread(str(out))
    assert drawn.shape == actual.image.pixels.shape
    assert [path.name for path in out.parent.iterdir()] == ["out.png"]
    nearest = np.flatnonzero(actual.projection.is_visible & (actual.projection.pixels[:, 0] < 1500))
    nearest = nearest[np.argsort(actual.ranges_m[nearest])[:200]]
    u, v = np.rint(actual.projection.pixels[nearest]).astype(int).T
    blue, green, red = drawn[v, u].astype(int).T
    assert np.median(red) > 220 and np.median(green) > 150 and np.median(blue) < 80  # bright, as near points are


@pytest.mark.parametrize(
    ("laser", "camera", "time"),
    [
        ("lidar/points", "main_cam/image_raw", "1656928805"),
        ("/ameds/lidar/points", "/ameds/main_cam/image_raw", "1656928805.000000001"),
        ("lidar", "/main_cam", "2022-07-04T10:00:05Z"),
        ("lidar", "main_cam", "2022-07-04 10:00:05.01"),
        ("lidar", "main_cam", "5.1"),
    ],
)
def test_names_and_times_may_be_written_in_several_forms(
    sampled_ameds: Sampled, laser: str, camera: str, time: str
) -> None:
    plain, other = (
        projection(sampled_ameds, requested)
        for requested in (LIDAR, replace(LIDAR, laser=laser, camera=camera, time=time))
    )
    assert (other.image.stamp_ns, other.scans[0].stamp_ns) == (plain.image.stamp_ns, plain.scans[0].stamp_ns)


def test_more_scans_are_those_nearest_to_image(sampled_ameds: Sampled) -> None:
    actual = projection(sampled_ameds, replace(LIDAR, scans=4))
    stamps_s = [scan.stamp_ns / 1e9 - BEGIN_S for scan in actual.scans]
    assert stamps_s == pytest.approx([4.8, 5.0, 5.2, 5.4])
    assert len(actual.ranges_m) == sum(len(scan.points) for scan in actual.scans)


def test_of_image_that_is_damaged_next_one_is_taken(
    tiny_ameds: TinyAmeds, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    position = tiny_ameds.root / f"MainCam_{START}.500000.jpg"
    assert position.exists()
    position.write_bytes(b"no picture")
    arguments = ["project", str(tiny_ameds.root), "lidar", "main_cam", "0.5", str(tmp_path / "out.png")]
    assert main(arguments) == 0
    output = capsys.readouterr()
    assert f"{position.name}: its 10 bytes do not decode as an image; the next nearest image is used" in output.err
    assert "after the requested time" in output.out or "before the requested time" in output.out


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code, and what was said beside the output."""
    try:
        code = main(arguments)
    except SystemExit as end:
        code = int(end.code or 0)
    return code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["radar", "main_cam", "1"], 2, "there is no laser 'radar'; there is lidar (lidar/points)"),
        (["lidar", "projected", "1"], 2, "no camera 'projected'; there are main_cam (main_cam/image_raw), aux_cam"),
        (["lidar", "main_cam", "noon"], 2, "expected seconds from the start, a Unix time or a time as"),
        (["lidar", "main_cam", "2022-13-04T10:00:05"], 2, "'2022-13-04T10:00:05' is no time"),
        (["lidar", "main_cam", "99"], 1, "within 0.5 s of the requested time; the nearest is at 2022-07-04T10:"),
        (["lidar", "main_cam", "-9"], 1, "9.000000 s after the requested time"),
        (["lidar", "main_cam", "1.01", "--within", "0.001"], 1, "0.010000 s before the requested time"),
        (["lidar", "main_cam", "1", "--within", "-1"], 2, "--within: expected seconds"),
        (["lidar", "main_cam", "1", "--scans", "0"], 2, "--scans: expected 1 to"),
        (["lidar", "main_cam", "1", "--size", "0"], 2, "--size: expected pixels"),
        (["lidar", "main_cam", "1", "--range", "9", "3"], 2, "--range: expected ranges from 0 on, the second larger"),
        (["lidar", "main_cam", "1", "--fixed-frame", "moon"], 2, "there is no frame 'moon'; there are aux_arm_base,"),
        (["lidar", "main_cam", "1", "--extrinsics", "own"], 2, "ameds has no row of its own for lidar in main_cam"),
        (["lidar", "main_cam", "1", "--set", "moon=1"], 2, "ameds has no parameter 'moon'"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_reported_and_nothing_is_written(
    tiny_ameds: TinyAmeds,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    laser, camera, time, *options = arguments
    result = run(["project", str(tiny_ameds.root), laser, camera, time, str(tmp_path / "out.png"), *options], capsys)
    assert result[0] == code
    assert message in " ".join(result[1].split())
    assert not list(tmp_path.glob("*.png"))


def test_without_arm_s_joints_missing_part_is_named(
    tiny_ameds: TinyAmeds, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tiny_ameds.root / "MainArmJointAngles.csv").unlink()
    code, result = run(["project", str(tiny_ameds.root), "lidar", "main_cam", "1", str(tmp_path / "out.png")], capsys)
    assert code == 1
    assert "nothing joins lidar (below map) and main_cam (below main_arm_end) in tf" in result


def test_without_odometry_nothing_moves_between_scan_and_image(
    tiny_ameds: TinyAmeds, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("PlatformMotorEncoders.csv", "GnssPose.csv"):
        (tiny_ameds.root / name).unlink()
    assert main(["project", str(tiny_ameds.root), "lidar", "main_cam", "1", str(tmp_path / "out.png")]) == 0
    assert "motion compensation is disabled" in capsys.readouterr().out


def test_file_is_only_replaced_where_that_is_requested(
    tiny_ameds: TinyAmeds, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.png"
    out.write_text("mine")
    arguments = ["project", str(tiny_ameds.root), "lidar", "main_cam", "1", str(out)]
    code, result = run(arguments, capsys)
    assert (code, out.read_text()) == (2, "mine")
    assert "exists; --overwrite replaces it" in result
    assert main([*arguments, "--overwrite"]) == 0
    assert cv2.imread(str(out)) is not None
    for bad, message in (("out.tiff", "ends in .png"), ("", "expected a name that ends in")):
        code, result = run([*arguments[:-1], str(tmp_path / bad), "--overwrite"], capsys)
        assert code == 2 and message in result
    inside = tiny_ameds.root / "out.png"
    code, result = run([*arguments[:-1], str(inside)], capsys)
    assert code == 2 and "lies in the archive" in result and not inside.exists()


def test_zip_is_archive_too(tiny_ameds: TinyAmeds, tmp_path: Path) -> None:
    packed = shutil.make_archive(str(tmp_path / "etna"), "zip", tiny_ameds.root.parent)
    assert main(["project", packed, "lidar", "main_cam", "1", str(tmp_path / "out.jpg")]) == 0
    assert (tmp_path / "out.jpg").read_bytes().startswith(b"\xff\xd8\xff")
