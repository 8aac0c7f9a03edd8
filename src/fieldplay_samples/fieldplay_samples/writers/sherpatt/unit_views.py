"""What looks about: the unit's cameras and the swinging lidar, each view a file at first, then in the logs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from fieldplay_samples.motion.rotations import Floats, floats
from fieldplay_samples.sensors.camera import camera_from_numbers, full_depth, render
from fieldplay_samples.world.scene import Scene
from fieldplay_samples.writers.geotiff_raster import write_raster
from fieldplay_samples.writers.sherpatt.rover_logs import (
    Sample,
    WrittenStream,
    logged_stamps,
    micros,
    write_log,
)
from fieldplay_samples.writers.sherpatt.scenario import SherpattScenario
from fieldplay_samples.writers.text_tables import NS_PER_S

IMAGE_TOPIC = "/hcru1/pt_stereo_rect/{side}/image"
SIDES = ("left", "right")
PAIR = {side: IMAGE_TOPIC.format(side=side) for side in SIDES}
SOMETIMES = {"color": "/hcru1/pt_color/left/image", "depth": "/hcru1/pt_stereo_sgm/depth"}  # not with every pair
MODES = {"color": ("mode_RGB", "depth_8U"), "depth": ("mode_UNDEF", "depth_32F")}
GRAY = ("mode_GRAY", "depth_8U")
SCANS, CLOUD = "/velodyne_lidar.laser_scans", "/slam_filter.output"
TURN_S = 0.1
NEAREST_M = 1.0
IDENTITY = np.eye(3).tolist()


# The surface model beside the logs: heights on a grid of the map, as a GeoTIFF.


def write_surface(path: Path, scenario: SherpattScenario) -> None:
    """Write heights about the start; a corner is left empty."""
    numbers = scenario.numbers["surface"]
    x, y, _ = scenario.numbers["start_xy_heading"]
    steps = (np.arange(numbers["cells"]) + 0.5) * numbers["cell"]
    east = x - numbers["west_of_start"] + steps
    north = y + numbers["north_of_start"] - steps
    heights = numbers["offset"] + scenario.terrain.height_m(east[None, :], north[:, None])
    heights[:20, :30] = numbers["nodata"]
    left = numbers["easting_of_start"] - numbers["west_of_start"]
    top = numbers["northing_of_start"] + numbers["north_of_start"]
    write_raster(
        path,
        heights,
        cell_m=numbers["cell"],
        west_north_m=(left, top),
        epsg=numbers["epsg"],
        nodata=numbers["nodata"],
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class SherpattStage:
    """What every view needs: the scenario, the scene, and where its file goes."""

    scenario: SherpattScenario
    scene: Scene
    folder: Path

    def scene_at(self, time_s: float) -> Scene:
        """The scene with what moves in it, as it stands at a time."""
        passing = self.scenario.passing
        return self.scene if passing is None else self.scene.with_solids(passing.solids_at(time_s))


@dataclass(frozen=True, kw_only=True)
class SherpattView:
    """An image of a camera, or a turn of the lidar, by its number and time in s."""

    kind: str
    number: int
    time_s: float

    def path(self, folder: Path) -> Path:
        """Where it is kept until it is logged."""
        return folder / f"{self.kind}_{self.number}.npy"


def image_times(scenario: SherpattScenario) -> Floats:
    """When pairs are taken (n,)."""
    rate = float(scenario.settings["image_rate_hz"])
    return floats(np.arange(max(1, round(scenario.seconds * rate))) / rate)


def lidar_times(scenario: SherpattScenario) -> Floats:
    """When turns of the lidar begin (n,), none beyond the end."""
    times = scenario.times("lidar")
    return floats(times[times + TURN_S <= scenario.seconds])


def views_of(scenario: SherpattScenario) -> list[SherpattView]:
    """All views of a sample, in the order of time."""
    every = int(scenario.settings["color_every"])
    views = [
        SherpattView(kind=kind, number=number, time_s=time)
        for number, time in enumerate(image_times(scenario).tolist())
        for kind in (*SIDES, *(SOMETIMES if number % every == 0 else ()))
    ]
    turns = enumerate(lidar_times(scenario).tolist())
    views += [SherpattView(kind="lidar", number=number, time_s=time) for number, time in turns]
    return sorted(views, key=lambda view: view.time_s)  # what is near in time shares the meshes of the ground


def make_view(stage: SherpattStage, view: SherpattView) -> None:
    """Compute one view and keep it."""
    data = _turn(stage, view) if view.kind == "lidar" else _render_image(stage, view)
    np.save(view.path(stage.folder), data)


def _render_image(stage: SherpattStage, view: SherpattView) -> Any:
    numbers = stage.scenario.numbers["camera"]
    intrinsics = (numbers["f"], numbers["f"], numbers["cx"], numbers["cy"])
    camera = camera_from_numbers(numbers["width"], numbers["height"], intrinsics, (0.0,) * 5)
    body = stage.scenario.drive.motion.pose_at(floats([view.time_s]))[0]
    pose = body @ stage.scenario.body_T_camera()[view.kind]
    shrink, scene = int(stage.scenario.settings["image_shrink"]), stage.scene_at(view.time_s)
    if view.kind == "depth":
        depths = full_depth(scene, camera, pose, shrink=shrink)
        return np.where(depths < stage.scenario.numbers["depth"]["farthest"], depths, np.float32(np.nan))
    image = render(scene, camera, pose, shrink=shrink, sun=stage.scenario.sun())
    return image if view.kind == "color" else _noisy(stage, view, cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))


def _noisy(stage: SherpattStage, view: SherpattView, grey: Any) -> Any:
    """A grey image; with noise where the unit stands, as what stands still would be the same in all."""
    scenario = stage.scenario
    if scenario.passing is None:
        return grey
    noise = scenario.rng(f"{view.kind} {view.number}").normal(0.0, scenario.passing.numbers["noise"], grey.shape)
    return np.clip(np.rint(grey + noise), 0, 255).astype(np.uint8)


def _turn(stage: SherpattStage, view: SherpattView) -> Any:
    """Distances (rows, columns) of a turn, rows from top to bottom, columns from left to right: inf is nothing met."""
    scenario, numbers = stage.scenario, stage.scenario.numbers["lidar"]
    azimuth, elevation, time = _angles(scenario, view.time_s)
    poses = scenario.drive.motion.pose_at(time) @ scenario.body_T_velodyne(time)
    across = np.cos(elevation)[:, None]
    towards = np.stack(
        [
            across * np.cos(azimuth),
            across * np.sin(azimuth),
            np.broadcast_to(np.sin(elevation)[:, None], (len(elevation), len(azimuth))),
        ],
        axis=-1,
    )
    world = np.einsum("kij,rkj->rki", poses[:, :3, :3], towards).reshape(-1, 3)
    origins = np.broadcast_to(poses[:, :3, 3], (len(elevation), len(azimuth), 3)).reshape(-1, 3)
    scene = stage.scene_at(view.time_s)
    distance = scene.distances_m(origins, world, nearest_m=NEAREST_M, farthest_m=numbers["farthest_m"])
    noise = scenario.rng(f"lidar {view.number}").normal(0.0, numbers["noise_m"], len(world))
    return (distance + noise).reshape(len(elevation), len(azimuth)).astype(np.float32)


def _angles(scenario: SherpattScenario, start_s: float) -> tuple[Floats, Floats, Floats]:
    """Azimuths (k,) left positive and times (k,) of the columns, elevations (r,) up positive of the rows."""
    numbers, columns = scenario.numbers["lidar"], int(scenario.settings["lidar_columns"])
    fraction = np.arange(columns) / columns
    azimuth = np.pi - 2 * np.pi * fraction
    return azimuth, np.linspace(numbers["top_rad"], numbers["bottom_rad"], numbers["rows"]), start_s + TURN_S * fraction


def write_images(folder: Path, scratch: Path, scenario: SherpattScenario, *, prefix: str) -> None:
    """Write the pairs in files of so many, with the images of the other cameras that go with them."""
    count, every = len(image_times(scenario)), scenario.numbers["pairs_per_file"]
    for part, first in enumerate(range(0, count, every)):
        rows = list(range(first, min(first + every, count)))
        some = [row for row in rows if row % int(scenario.settings["color_every"]) == 0]
        streams = {name: _images_log(scratch, scenario, kind, rows=rows) for kind, name in PAIR.items()}
        if some:
            streams |= {name: _images_log(scratch, scenario, kind, rows=some) for kind, name in SOMETIMES.items()}
        write_log(folder / f"{prefix}_{part:09d}.msg", streams)


def _images_log(scratch: Path, scenario: SherpattScenario, kind: str, *, rows: list[int]) -> WrittenStream:
    """The images of a camera with those numbers."""
    in_ns = bool(scenario.settings["ros_times"])
    stamps = scenario.unix_ns(image_times(scenario))
    late = logged_stamps(scenario, stamps, "image")
    times = [(row, int(stamps[row]), int(late[row])) for row in rows]
    return WrittenStream(
        kind="Frame", logged_ns=late[rows], samples=_frames(scratch, kind, times, in_ns=in_ns), in_ns=in_ns
    )


def _frames(scratch: Path, kind: str, rows: Iterable[tuple[int, int, int]], *, in_ns: bool) -> Iterator[Sample]:
    for number, stamp, received in rows:
        image = np.load(SherpattView(kind=kind, number=number, time_s=0.0).path(scratch))
        yield _frame(image, micros(stamp, in_ns=in_ns), micros(received, in_ns=in_ns), kind=kind)


def _frame(image: Any, stamp: Sample, received: Sample, *, kind: str) -> Sample:
    """An image as the framework's own type has it; its intrinsics say nothing, those of the settings hold."""
    height, width = image.shape[:2]
    mode, depth = MODES.get(kind, GRAY)
    return {
        "metadata": {
            "timeStamp": stamp,
            "receivedTime": received,
            "pixelModel": "pix_UNDEF",
            "pixelCoeffs": [],
            "errValues": [],
            "attributes": [],
            "mode": mode,
            "status": "status_VALID",
        },
        "intrinsic": {
            "sensorId": f"hcru1_{kind}",
            "cameraMatrix": IDENTITY,
            "cameraModel": "cam_PINHOLE",
            "distCoeffs": [],
        },
        "extrinsic": {"hasFixedTransform": False, "pose_robotFrame_sensorFrame": {}, "pose_fixedFrame_robotFrame": {}},
        "data": {
            "rows": height,
            "cols": width,
            "channels": image.size // (height * width),
            "depth": depth,
            "rowSize": image.nbytes // height,
            "data": np.frombuffer(image.tobytes(), np.uint8),
        },
    }


def scans_log(scratch: Path, scenario: SherpattScenario) -> WrittenStream:
    """The lidar's turns as depth maps, with a time for each column."""
    times = lidar_times(scenario)
    stamps = scenario.unix_ns(times)
    return WrittenStream(
        kind="DepthMap",
        logged_ns=logged_stamps(scenario, stamps + round(TURN_S * NS_PER_S), "lidar"),
        samples=(_depth_map(scratch, scenario, number, time) for number, time in enumerate(times.tolist())),
    )


def _depth_map(scratch: Path, scenario: SherpattScenario, number: int, start_s: float) -> Sample:
    distances = np.load(SherpattView(kind="lidar", number=number, time_s=start_s).path(scratch))
    azimuth, elevation, time = _angles(scenario, start_s)
    stamps = scenario.unix_ns(time)
    return {
        "ref_time": micros(int(stamps[0])),
        "timestamps": [micros(stamp) for stamp in stamps.tolist()],
        "vertical_projection": "polar",
        "horizontal_projection": "polar",
        "vertical_interval": [-float(elevation[0]), -float(elevation[-1])],
        "horizontal_interval": [float(azimuth[0]), float(azimuth[-1])],
        "vertical_size": distances.shape[0],
        "horizontal_size": distances.shape[1],
        "distances": distances.ravel().astype(float),
        "remissions": [],
    }


def cloud_log(scratch: Path, scenario: SherpattScenario) -> WrittenStream:
    """Some turns as points in the lidar's frame, as the mapping has them."""
    times = lidar_times(scenario)
    every = round(scenario.numbers["rates_hz"]["lidar"] / scenario.numbers["rates_hz"]["cloud"])
    stamps = scenario.unix_ns(times[::every])
    chosen = list(enumerate(times.tolist()))[::every]
    return WrittenStream(
        kind="Pointcloud",
        logged_ns=logged_stamps(scenario, stamps + round(TURN_S * NS_PER_S), "cloud"),
        samples=(_cloud(scratch, scenario, number, time) for number, time in chosen),
    )


def _cloud(scratch: Path, scenario: SherpattScenario, number: int, start_s: float) -> Sample:
    distances = np.load(SherpattView(kind="lidar", number=number, time_s=start_s).path(scratch)).astype(float)
    azimuth, elevation, _ = _angles(scenario, start_s)
    row, column = np.nonzero(np.isfinite(distances))
    far = distances[row, column]
    across = far * np.cos(elevation[row])
    seen = np.column_stack(
        [across * np.cos(azimuth[column]), across * np.sin(azimuth[column]), far * np.sin(elevation[row])]
    )
    stamp = int(scenario.unix_ns(floats([start_s]))[0])
    return {"metadata": {"timeStamp": micros(stamp)}, "data": {"points": seen, "colors": [], "intensity": []}}
