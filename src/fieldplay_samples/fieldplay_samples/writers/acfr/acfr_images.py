"""The images of the visual and the infra-red camera, each on its own: the work of the processes.

Where the vehicle stands, what is behind the air stays the same: a process casts its rays once.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.motion.rotations import Floats, floats
from fieldplay_samples.robots.argo import camera_of
from fieldplay_samples.sensors.camera import Intrinsics, Thermal, develop, enlarge, levels, render_rays, warmth_c
from fieldplay_samples.sensors.weather import depth_for_eye, veil
from fieldplay_samples.world.light import Sun, radiance
from fieldplay_samples.world.rays import Rays
from fieldplay_samples.writers.acfr.scenario import AcfrScenario, World
from fieldplay_samples.writers.text_tables import stamp_texts, tagged_lines, write_lines

FOLDERS = {"visual": "VideoVisual", "ir": "VideoIR"}
LOG = "VideoLogAscii.txt"
FARTHEST_M = 250.0
GRABBED = 2  # pixels of the infra-red image, each way, for one of the sensor
STREAK_LEVELS = {"visual": (25.0, 90.0), "ir": (-45.0, -10.0)}  # drops are light, and cold
Image = NDArray[np.uint8]


@dataclass(frozen=True, eq=False, kw_only=True)
class AcfrStage:
    """What every view needs: the scenario, the world, and where the files go."""

    scenario: AcfrScenario
    world: World
    folder: Path


@dataclass(frozen=True, eq=False, kw_only=True)
class Background:
    """What is behind the air: rays (n,), their distances, and colours (n, 3) or degrees (n, 1)."""

    rays: Rays
    distance_m: Floats
    values: Floats


def image_times(scenario: AcfrScenario, camera: str) -> Floats:
    """When a camera takes images (n,)."""
    rate = float(scenario.settings[f"{camera}_rate_hz"])
    first = min(scenario.numbers["pictures"]["offset_s"][camera], 0.5 / rate)
    return floats(np.arange(max(1, round(scenario.seconds * rate))) / rate + first)


def image_names(scenario: AcfrScenario, camera: str) -> list[str]:
    """The names of a camera's images: the time, `-0` in place of its point."""
    stamps = scenario.unix_ns(image_times(scenario, camera))
    return [f"Image{text.replace('.', '-0')}.bmp" for text in stamp_texts(stamps)]


def write_log(folder: Path, scenario: AcfrScenario, camera: str) -> None:
    """Write the list of a camera's images and their times."""
    names = [f"VISION_FRAME {name}" for name in image_names(scenario, camera)]
    stamps = scenario.unix_ns(image_times(scenario, camera))
    write_lines(folder / FOLDERS[camera] / LOG, tagged_lines(stamps, names))


def write_image(stage: AcfrStage, camera: str, number: int) -> None:
    """Render one image and write it."""
    scenario = stage.scenario
    image = image_of(stage, camera, number)
    path = stage.folder / FOLDERS[camera] / "Images" / image_names(scenario, camera)[number]
    if camera == "visual":
        image = _mosaic(scenario, image) if scenario.settings["bayer"] else image[..., ::-1]
    _, data = cv2.imencode(".bmp", np.ascontiguousarray(image))
    path.write_bytes(data.tobytes())


def image_of(stage: AcfrStage, camera: str, number: int) -> Image:
    """Render an image, RGB (h, w, 3) of the visual camera, (h, w) of the other."""
    scenario = stage.scenario
    time_s = float(image_times(scenario, camera)[number])
    background = _static_background(stage, camera) if scenario.is_static else _moving_background(stage, camera, time_s)
    rng = scenario.rng(f"picture {camera} {number}")
    model, shrink = camera_here(scenario, camera), _shrink(scenario, camera)
    small = (_through_air if camera == "visual" else _warm)(scenario, background, time_s)
    image = enlarge(small, model, shrink).astype(np.float32)
    if camera == "ir":
        image = _blur(image[..., 0], scenario.numbers["thermal"]["blur_px"])
    image = _with_streaks(scenario, camera, image, time_s=time_s, rng=rng)
    image += scenario.numbers["pictures"]["noise_levels"][camera] * rng.standard_normal(image.shape, np.float32)
    result = np.clip(np.round(image), 0, 255).astype(np.uint8)
    return result if camera == "visual" else result[..., 0]


def camera_here(scenario: AcfrScenario, camera: str) -> Intrinsics:
    """A camera as its images are stored."""
    if camera == "visual":
        return camera_of(scenario.robot, camera)
    left, top = (int(scenario.settings[name]) for name in ("ir_clip_left_px", "ir_clip_top_px"))
    return camera_of(scenario.robot, camera, left_px=left, top_px=top)


def sun_of(scenario: AcfrScenario) -> Sun:
    """Where the sun stands."""
    azimuth, height = np.radians([scenario.numbers["sun"][key] for key in ("azimuth_deg", "height_deg")])
    return Sun(azimuth_rad=float(azimuth), height_rad=float(height))


def _shrink(scenario: AcfrScenario, camera: str) -> int:
    shrink = int(scenario.settings["image_shrink"])
    return shrink if camera == "visual" else max(GRABBED, shrink // 2)


@lru_cache(maxsize=4)
def _static_background(stage: AcfrStage, camera: str) -> Background:
    return _moving_background(stage, camera, 0.0)


def _moving_background(stage: AcfrStage, camera: str, time_s: float) -> Background:
    scenario, world = stage.scenario, stage.world
    pose = scenario.poses_at(floats([time_s]))[0] @ scenario.robot.base_T_camera[camera]
    rays, hits = render_rays(world.scene, camera_here(scenario, camera), pose, shrink=_shrink(scenario, camera))
    sun = sun_of(scenario)
    if camera == "visual":
        values = floats(radiance(world.scene, hits, rays, sun=sun))
    else:
        model = Thermal(**scenario.numbers["thermal"])
        values = warmth_c(model, world.scene, hits, rays=rays, stuff_c=world.warmth_c, sun=sun)[:, None]
    return Background(rays=rays, distance_m=np.minimum(hits.distance_m, FARTHEST_M), values=values)


def _depth(scenario: AcfrScenario, background: Background, time_s: float) -> Floats:
    times = np.full(len(background.distance_m), time_s)
    return depth_for_eye(scenario.weather, background.rays, background.distance_m, time_s=times)


def _through_air(scenario: AcfrScenario, background: Background, time_s: float) -> Image:
    linear = veil(background.values, _depth(scenario, background, time_s), scenario.weather.colour)
    return develop(scenario.numbers["pictures"]["exposure"] * linear)


def _warm(scenario: AcfrScenario, background: Background, time_s: float) -> Image:
    """What is in the air has the air's temperature."""
    depth = scenario.weather.thermal * _depth(scenario, background, time_s)
    degrees = veil(background.values, depth, (0.0,))[:, 0]
    return np.asarray(np.round(levels(Thermal(**scenario.numbers["thermal"]), degrees)), np.uint8)


def _with_streaks(
    scenario: AcfrScenario, camera: str, image: NDArray[np.float32], *, time_s: float, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Drops that fall through the image while it is taken: the nearer the longer."""
    rain = scenario.weather.rain
    count = round(rain.streaks * float(rain.strength(floats([time_s]))[0]))
    height, width = image.shape[:2]
    layer = np.zeros((height, width), np.float32)
    starts = rng.uniform(0.0, 1.0, (count, 2)) * [width, height]
    lengths = height / 25.0 * rng.uniform(0.2, 1.0, count) ** 2 * 2.0
    stops = starts + np.stack([0.12 * lengths, lengths], axis=1)
    low, high = STREAK_LEVELS[camera]
    for start, end, level in zip(starts, stops, rng.uniform(low, high, count), strict=True):
        _line(layer, start, end, level=float(level))
    return np.asarray(image + _blur(layer, 0.9), np.float32)


def _blur(layer: NDArray[np.float32], deviation_px: float) -> NDArray[np.float32]:
    """Blur a layer (h, w) to (h, w, 1)."""
    return np.asarray(cv2.GaussianBlur(layer, (0, 0), deviation_px), np.float32)[..., None]


def _line(layer: NDArray[np.float32], start: Any, end: Any, *, level: float) -> None:
    first, last = (tuple(np.round(point).astype(int).tolist()) for point in (start, end))
    cv2.line(layer, first, last, level, 2)


def _mosaic(scenario: AcfrScenario, image: Image) -> Image:
    """One colour of each pixel (h, w), as behind the camera's filter."""
    numbers = scenario.numbers["pictures"]
    result = np.empty(image.shape[:2], np.uint8)
    for row, colours in enumerate((numbers["bayer_first_row"], numbers["bayer_second_row"])):
        for column, colour in enumerate(colours):
            result[row::2, column::2] = image[row::2, column::2, colour]
    return result
