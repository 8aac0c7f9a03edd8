"""A street or a hall of upright walls, a body that moves in it, and what a camera sees of them: a ray for each pixel.

The world's x is to the right, y down and z ahead, as of the first left camera when it looks straight ahead.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.data import numbers_of
from fieldplay_samples.motion.rotations import Floats, floats, rotation_about, transform
from fieldplay_samples.output_folder import SampleError
from fieldplay_samples.write_sample import SampleOptions
from fieldplay_samples.writers.scenarios import Scenario
from fieldplay_samples.writers.text_tables import Stamps

SIDES = ("left", "right")
TILE = 1024  # texels of a side of the pattern, which repeats
LEVELS = 7  # of ever coarser patterns
SKY_COUNTS, FAR_M = 225.0, 1e6
WINDOW_COUNTS, WINDOW_SHARE = 35.0, 0.45  # how much darker windows are, and how much of a period they take


class Shot(NamedTuple):
    """An image to be taken: which of them, and with which camera."""

    number: int
    side: str


@dataclass(frozen=True, eq=False, kw_only=True)
class StreetScenario(Scenario):
    """A stereo camera that is driven or flown."""

    @property
    def own(self) -> dict[str, Any]:
        """The numbers of the preset."""
        return dict(self.numbers["presets"][self.settings["preset"]])

    @cached_property
    def time_s(self) -> Floats:
        """When pairs are taken (n,)."""
        hertz = self.settings["rate_hz"] or self.own["rate_hz"]
        return floats(np.arange(max(2, round(self.seconds * hertz))) / hertz)

    @property
    def stamp_ns(self) -> Stamps:
        """The pairs' stamps (n,)."""
        return self.unix_ns(self.time_s)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the images, px."""
        shrink = int(self.settings["shrink"])
        return self.own["camera"]["width"] // shrink, self.own["camera"]["height"] // shrink

    @property
    def baseline_m(self) -> float:
        """From the left to the right camera, m."""
        return float(self.own["camera"]["baseline_m"])

    @property
    def matrix(self) -> Floats:
        """K (3, 3) of both images."""
        camera, shrink = self.own["camera"], int(self.settings["shrink"])
        focal, (center_x, center_y) = camera["focal_px"] / shrink, camera["center"]
        return floats([[focal, 0, center_x / shrink], [0, focal, center_y / shrink], [0, 0, 1]])

    def world_T_left(self, time_s: Floats) -> Floats:
        """Poses (n, 4, 4) of the left camera at times (n,)."""
        own = self.own
        phase = 2 * np.pi * (time_s[:, None] / floats(own["period_s"])) + self.rng("phase").uniform(-1, 1, 3)
        position = floats(own["sway_m"]) * np.sin(phase)
        position[:, 2] += own["speed_m_s"] * (time_s + 0.2 * np.sin(time_s))
        angles = np.radians(own["sway_deg"]) * np.cos(phase[:, [2, 0, 1]])
        rotation = np.eye(3)
        for axis, column in zip(np.eye(3)[[1, 0, 2]], angles.T[[1, 0, 2]], strict=True):
            rotation = rotation @ rotation_about(axis, column)
        return transform(rotation, position)

    @cached_property
    def first_T_left(self) -> Floats:
        """The poses (n, 4, 4) in the first left camera."""
        poses = self.world_T_left(self.time_s)
        return floats(np.linalg.inv(poses[0]) @ poses)


def scenario_of(options: SampleOptions) -> StreetScenario:
    """What a sample with such options shows; SampleError where there is no such preset."""
    numbers = numbers_of("stereo")
    preset = options.settings["preset"]
    if preset not in numbers["presets"]:
        raise SampleError(f"preset: expected one of {', '.join(numbers['presets'])}, got {preset}")
    return StreetScenario(seed=options.seed, seconds=options.seconds, settings=dict(options.settings), numbers=numbers)


def write_shot(state: tuple[StreetScenario, Path], shot: Shot) -> None:
    """Take one image and write it."""
    scenario, folder = state
    (folder / f"{shot.side}_{shot.number}.npy").write_bytes(render(scenario, shot).tobytes())


def render(scenario: StreetScenario, shot: Shot) -> NDArray[np.uint8]:
    """A grey image (h, w) with blur, vignetting, noise and the gain of its camera."""
    settings = scenario.settings
    exposure_s = float(settings["exposure_s"])
    count = int(scenario.numbers["subframes"]) if exposure_s > 0 else 1
    times = scenario.time_s[shot.number] + exposure_s * (np.arange(count) + 0.5 - count / 2) / count
    rays = _rays(scenario, shot.side)
    aside = np.eye(4)
    aside[0, 3] = scenario.baseline_m if shot.side == "right" else 0.0
    poses = scenario.world_T_left(floats(times)) @ aside
    counts = np.mean([_seen(scenario, rays, pose, time) for pose, time in zip(poses, times, strict=True)], axis=0)
    counts = counts * _vignette(scenario) * (settings["gain_right"] if shot.side == "right" else 1.0)
    noise = scenario.rng(f"{shot.side} {shot.number}").normal(0.0, settings["noise_counts"], counts.shape)
    image: NDArray[np.uint8] = np.clip(np.rint(counts + noise), 0, 255).astype(np.uint8)
    return image


def _rays(scenario: StreetScenario, side: str) -> Floats:
    """Directions (h, w, 3), with z = 1, of all pixels; those of a right camera as its calibration is off."""
    width, height = scenario.size
    columns, rows = np.meshgrid(np.arange(width, dtype=float), np.arange(height, dtype=float))
    matrix = scenario.matrix
    if side == "right":
        across = (columns - matrix[0, 2]) / matrix[0, 2]
        columns = columns - scenario.settings["offset_px"] - scenario.settings["radial_px"] * across**2
    pixels = np.stack([columns, rows, np.ones_like(rows)], axis=-1)
    return floats(pixels @ np.linalg.inv(matrix).T)


def _vignette(scenario: StreetScenario) -> Floats:
    width, height = scenario.size
    across, down = np.meshgrid(np.linspace(-1, 1, width), np.linspace(-1, 1, height))
    return floats(1.0 - scenario.numbers["vignetting"] * (across**2 + down**2) / 2)


def _seen(scenario: StreetScenario, rays: Floats, pose: Floats, time_s: float) -> Floats:
    """Counts (h, w) that a sharp camera sees from a pose (4, 4) in the world."""
    looks, eye = rays @ pose[:3, :3].T, pose[:3, 3]
    walls, own = scenario.own["walls"], scenario.own
    counts = np.full(looks.shape[:2], SKY_COUNTS)
    nearest = np.full(looks.shape[:2], FAR_M)
    for name, axis, others in (("left", 0, (2, 1)), ("right", 0, (2, 1)), ("ground", 1, (0, 2)), ("top", 1, (0, 2)),
                               ("end", 2, (0, 1))):  # fmt: skip
        if name == "top" and own["has_sky"]:
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            away = (walls[name] - eye[axis]) / looks[..., axis]
        is_here = (away > 0) & (away < nearest)
        if own["has_sky"] and name != "ground":
            is_here &= eye[1] + away * looks[..., 1] > walls["top"]
        points = eye + away[is_here, None] * looks[is_here]
        nearest[is_here] = away[is_here]
        counts[is_here] = _shade(scenario, name, points[:, others], away[is_here])
    return _with_car(scenario, looks, eye, time_s, counts, nearest)


def _with_car(
    scenario: StreetScenario, looks: Floats, eye: Floats, time_s: float, counts: Floats, nearest: Floats
) -> Floats:  # fmt: skip
    """The counts (h, w), with a body before them that moves by itself."""
    car = scenario.own["car"]
    center, half = floats(car["start"]) + floats([0.0, 0.0, car["speed_m_s"] * time_s]), floats(car["half"])
    with np.errstate(divide="ignore", invalid="ignore"):
        crossings = np.stack([(center + side * half - eye) / looks for side in (-1.0, 1.0)])
    near, far = np.fmin(*crossings), np.fmax(*crossings)
    enters, axis = near.max(axis=-1), near.argmax(axis=-1)
    is_here = (enters < far.min(axis=-1)) & (enters > 0) & (enters < nearest)
    points = eye + enters[is_here, None] * looks[is_here] - center
    others = np.array([[1, 2], [0, 2], [0, 1]])[axis[is_here]]
    counts[is_here] = _shade(scenario, "car", np.take_along_axis(points, others, axis=1), enters[is_here])
    return counts


def _shade(scenario: StreetScenario, name: str, at: Floats, away: Floats) -> Floats:
    """Counts (n,) of a surface at positions (n, 2) on it, in m, seen from so far: as fine as a pixel shows it."""
    texel, focal = scenario.numbers["texel_m"], scenario.matrix[0, 0]
    level = np.clip(np.rint(np.log2(np.maximum(away / focal / texel, 1.0))), 0, LEVELS - 1).astype(int)
    counts = np.zeros(len(at))
    shift = scenario.rng(name).uniform(0, TILE, 2)
    for number, pattern in enumerate(_patterns(scenario.seed)):
        is_own = level == number
        where = np.mod((at[is_own] / texel + shift) / 2**number, len(pattern)).astype(np.float32)
        if len(where):
            counts[is_own] = _lookup(pattern, where)
    if name in ("left", "right"):
        phase = np.mod(at / scenario.numbers["window_period_m"], 1.0)
        counts = counts - WINDOW_COUNTS * (phase < WINDOW_SHARE).all(axis=1)
    return counts


def _lookup(pattern: NDArray[np.float32], where: NDArray[np.float32]) -> Floats:
    """Values (n,) of a pattern at positions (n, 2), between its texels; it repeats."""
    low = np.floor(where).astype(np.int64)
    (x, y), side = (where - low).T, len(pattern)
    low, high = low % side, (low + 1) % side
    upper = pattern[low[:, 1], low[:, 0]] * (1 - x) + pattern[low[:, 1], high[:, 0]] * x
    lower = pattern[high[:, 1], low[:, 0]] * (1 - x) + pattern[high[:, 1], high[:, 0]] * x
    return floats(upper * (1 - y) + lower * y)


@lru_cache(maxsize=2)
def _patterns(seed: int) -> list[NDArray[np.float32]]:
    """A pattern with grains of all sizes, and the same ever coarser."""
    random = np.random.default_rng([seed, TILE])
    whole = np.zeros((TILE, TILE), np.float32)
    for size in (2, 4, 8, 16, 32, 64, 128):
        grain = random.standard_normal((TILE // size, TILE // size)).astype(np.float32)
        wide = cv2.resize(np.pad(grain, 2, mode="wrap"), None, fx=size, fy=size, interpolation=cv2.INTER_CUBIC)
        whole += wide[2 * size : 2 * size + TILE, 2 * size : 2 * size + TILE]
    patterns = [np.asarray(120 + 18 * whole, np.float32)]
    for _ in range(LEVELS - 1):
        last = patterns[-1]
        patterns.append(np.asarray(cv2.resize(last, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA), np.float32))
    return patterns
