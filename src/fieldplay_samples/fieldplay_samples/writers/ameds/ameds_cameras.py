"""What the cameras and the lidar of AMEDS see, each image and cloud on its own: the work of the processes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.motion.rotations import Floats, floats, inverse
from fieldplay_samples.robots.interact import base_T_camera, parts_of
from fieldplay_samples.sensors.camera import (
    Intrinsics,
    camera_from_numbers,
    directions_from_pixels,
    pixels_from_points,
    render,
)
from fieldplay_samples.sensors.lidar import lidar_named, sweep
from fieldplay_samples.world.scene import Scene
from fieldplay_samples.writers.ameds.scenario import AmedsScenario
from fieldplay_samples.writers.text_tables import NS_PER_S

HEADER = """# .PCD v0.7 - Point Cloud Data file format
VERSION 0.7
FIELDS x y z intensity
SIZE 4 4 4 4
TYPE F F F F
COUNT 1 1 1 1
WIDTH {count}
HEIGHT 1
VIEWPOINT 0 0 0 1 0 0 0
POINTS {count}
DATA binary
"""
Image = NDArray[np.uint8]
SWEEP_S = 0.2
GRID = 7  # points each way of the auxiliary image that are looked up in the main one
BLEND = 0.45
OUTLINE = (60, 220, 60)
FEWEST = 4  # points that determine how one image lies in the other


# Point clouds as binary PCD files: x y z intensity, 32 bits each.


def write_pcd(path: Path, points_m: NDArray[np.float32], intensity: NDArray[np.float32]) -> None:
    """Write points (n, 3) with intensities (n,), in their order."""
    rows = np.column_stack([points_m, intensity]).astype("<f4")
    path.write_bytes(HEADER.format(count=len(rows)).encode("ascii") + rows.tobytes())


@dataclass(frozen=True, eq=False, kw_only=True)
class AmedsStage:
    """What every view needs: the scenario, the scene without the rover, and where the files go."""

    scenario: AmedsScenario
    scene: Scene
    folder: Path


@dataclass(frozen=True, kw_only=True)
class AmedsView:
    """An image, an overlay or a cloud to be made: `main_cam`, `aux_cam`, `projected` or `lidar`, and its time in s."""

    kind: str
    time_s: float


def views_of(scenario: AmedsScenario) -> list[AmedsView]:
    """All the views of a sample, in the order of time."""
    views = [AmedsView(kind="lidar", time_s=float(time)) for time in lidar_starts(scenario)]
    for camera, offset in scenario.numbers["picture_offset_s"].items():
        rate = scenario.settings["image_rate_hz"]
        times = np.arange(max(1, round(scenario.seconds * rate))) / rate + min(offset, 0.5 / rate)
        views += [AmedsView(kind=camera, time_s=float(time)) for time in times]
        if camera == "main_cam" and scenario.settings["rock_picking"]:
            views += [AmedsView(kind="projected", time_s=float(time)) for time in times]
    return sorted(views, key=lambda view: view.time_s)


def lidar_starts(scenario: AmedsScenario) -> Floats:
    """When the sweeps start that end within the sample."""
    rate = min(scenario.settings["lidar_rate_hz"], 1.0 / SWEEP_S)
    return floats(np.arange(int((scenario.seconds - SWEEP_S) * rate + 1e-6) + 1) / rate)


def make_view(stage: AmedsStage, view: AmedsView) -> None:
    """Make one file."""
    if view.kind == "lidar":
        _make_cloud(stage, view)
    elif view.kind == "projected":
        _write_image(stage, view, _overlay(stage, view.time_s))
    else:
        _write_image(stage, view, _camera_view(stage, view.kind, view.time_s))


NAMES = {
    "main_cam": "MainCam_{}.jpg",
    "aux_cam": "AuxCam_{}.jpg",
    "projected": "MainAuxCamProjected_{}.jpg",
    "lidar": "LidarPointcloud_{}.pcd",
}


def file_name(scenario: AmedsScenario, view: AmedsView) -> str:
    """The name of a view's file, with its unix time in seconds and six decimals."""
    at_end = view.kind == "lidar" and scenario.settings["cloud_stamp_at_end"]
    stamp = int(scenario.unix_ns(floats([view.time_s + (SWEEP_S if at_end else 0.0)]))[0])
    return NAMES[view.kind].format(f"{stamp // NS_PER_S}.{stamp % NS_PER_S // 1000:06d}")


def _make_cloud(stage: AmedsStage, view: AmedsView) -> None:
    scenario = stage.scenario
    base_T_lidar = scenario.robot.transforms["base_T_lidar"]
    cloud = sweep(
        stage.scene,
        lidar_named("vlp32c"),
        lambda times_s: scenario.drive.motion.pose_at(times_s) @ base_T_lidar,
        view.time_s,
        noise_m=scenario.numbers["lidar_noise_m"],
        rng=scenario.rng(f"lidar {round(view.time_s / SWEEP_S)}"),
    )
    write_pcd(stage.folder / file_name(scenario, view), cloud.points_m, cloud.intensity)


def _write_image(stage: AmedsStage, view: AmedsView, image: Image) -> None:
    quality = [cv2.IMWRITE_JPEG_QUALITY, int(stage.scenario.settings["jpeg_quality"])]
    _, data = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), quality)
    (stage.folder / file_name(stage.scenario, view)).write_bytes(data.tobytes())


def _camera_view(stage: AmedsStage, name: str, time_s: float) -> Image:
    """Render a camera's view, the rover's own parts included."""
    scenario, time = stage.scenario, floats([time_s])
    parts = parts_of(
        scenario.robot,
        scenario.drive.motion.pose_at(time)[0],
        steer_rad=scenario.wheels.steer_rad.at(time)[0],
        turned_rad=scenario.drive_angles(time)[0],
        aux_arm_rad=scenario.aux_arm(time)[0],
    )
    shrink = int(scenario.settings["image_shrink"])
    return render(
        stage.scene.with_solids(parts), _camera(scenario, name), _world_T_camera(scenario, name, time), shrink=shrink
    )


def _camera(scenario: AmedsScenario, name: str) -> Intrinsics:
    numbers: dict[str, Any] = scenario.robot.numbers["published"]["cameras"][name]
    width, height = numbers["size"]
    return camera_from_numbers(width, height, tuple(numbers["fx_fy_cx_cy"]), tuple(numbers["k1_k2_p1_p2_k3"]))


def _world_T_camera(scenario: AmedsScenario, name: str, time: Floats) -> Floats:
    joints = scenario.robot.main_arm_rad[None] if name == "main_cam" else scenario.aux_arm(time)
    return floats((scenario.drive.motion.pose_at(time) @ base_T_camera(scenario.robot, name, joints))[0])


def _overlay(stage: AmedsStage, time_s: float) -> Image:
    """The main image with the auxiliary one laid over the place on the ground that it shows."""
    main, aux = (_camera_view(stage, name, time_s) for name in ("main_cam", "aux_cam"))
    from_aux, to_main = _ground_pixels(stage, floats([time_s]))
    if len(from_aux) < FEWEST:
        return main
    homography, _ = cv2.findHomography(from_aux, to_main)
    size = (main.shape[1], main.shape[0])
    laid = cv2.warpPerspective(aux, homography, size)
    fraction = cv2.warpPerspective(np.full(aux.shape[:2], BLEND, np.float32), homography, size)[..., None]
    image = np.asarray(np.round(main * (1.0 - fraction) + laid * fraction), dtype=np.uint8)
    edge = floats([[[0, 0], [aux.shape[1], 0], [aux.shape[1], aux.shape[0]], [0, aux.shape[0]]]])
    outline = np.round(cv2.perspectiveTransform(edge, homography)).astype(np.int32)
    return np.asarray(cv2.polylines(image, [outline], isClosed=True, color=OUTLINE, thickness=3), dtype=np.uint8)


def _ground_pixels(stage: AmedsStage, time: Floats) -> tuple[Floats, Floats]:
    """Pixels (n, 2) of the auxiliary camera that look at the ground, and where the main camera sees the same places."""
    scenario = stage.scenario
    main, aux = (_camera(scenario, name) for name in ("main_cam", "aux_cam"))
    world_T_main, world_T_aux = (_world_T_camera(scenario, name, time) for name in ("main_cam", "aux_cam"))
    across, down = np.meshgrid(np.linspace(0, aux.width - 1, GRID), np.linspace(0, aux.height - 1, GRID))
    pixels = np.stack([across.ravel(), down.ravel()], axis=1)
    rays = directions_from_pixels(aux, pixels) @ world_T_aux[:3, :3].T
    origins = np.tile(world_T_aux[:3, 3], (len(rays), 1))
    distance = stage.scene.cast(origins, rays).distance_m
    is_hit = np.isfinite(distance)
    points = (origins + distance[:, None] * rays)[is_hit]
    main_T_world = inverse(world_T_main)
    return pixels[is_hit], pixels_from_points(main, points @ main_T_world[:3, :3].T + main_T_world[:3, 3])
