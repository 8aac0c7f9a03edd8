"""Images of a body of boxes in the sun, before stars and the Earth: a ray through each part of each pixel."""

from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.motion.rotations import Floats, floats, transform_points
from fieldplay_samples.writers.satellite.scenario import Box, SatelliteScenario, camera_matrix

Mask = NDArray[np.bool_]
NOISE_SIDE = 512
ROUND = 3  # pixels about what a lens may bend outwards
OFF_FACE_M = 1e-4  # from which shadows are looked for
LINE_FRACTION = 0.06  # of a cell of a panel


class Shot(NamedTuple):
    """An image to be taken: which of them, and with which camera."""

    number: int
    side: str


class Hits(NamedTuple):
    """Where rays (...) hit a box: how far (inf: not at all), and which axis its face looks along."""

    distance: Floats
    axis: NDArray[np.intp]


def write_shot(state: tuple[SatelliteScenario, Path], shot: Shot) -> None:
    """Take one image and write it."""
    scenario, folder = state
    image = render(scenario, shot)
    (folder / f"{shot.side}_{shot.number}.npy").write_bytes(image.tobytes())


def render(scenario: SatelliteScenario, shot: Shot) -> NDArray[np.uint8]:
    """A grey image (h, w), with noise."""
    numbers = scenario.numbers
    camera, fine = numbers["camera"], numbers["supersampling"]
    background = _sky(scenario, pixel_rays(camera, 1), float(scenario.time_s[shot.number]))
    counts = floats(np.repeat(np.repeat(background, fine, axis=0), fine, axis=1))
    pose = scenario.camera_T_body[shot.number].copy()
    if shot.side == "right":
        pose[0, 3] -= camera["baseline_m"]
    _draw(scenario, pixel_rays(camera, fine), pose, counts)
    counts = counts.reshape(camera["height"], fine, camera["width"], fine).mean(axis=(1, 3))
    noise = scenario.rng(f"{shot.side} {shot.number}").normal(0.0, numbers["noise_counts"], counts.shape)
    image: NDArray[np.uint8] = np.clip(np.rint(counts + noise), 0, 255).astype(np.uint8)
    return image


def pixel_rays(camera: dict[str, Any], fine: int) -> Floats:
    """Directions (h fine, w fine, 3), with z = 1, of the parts of all pixels, as the lens bends them."""
    at = [(np.arange(camera[side] * fine) + 0.5) / fine - 0.5 for side in ("width", "height")]
    pixels = floats(np.stack(np.meshgrid(*at), axis=-1)).reshape(-1, 1, 2)
    straight = cv2.undistortPoints(pixels, camera_matrix(camera), floats(camera["distortion"])).reshape(-1, 2)
    rays = np.hstack([straight, np.ones((len(straight), 1))])
    return floats(rays.reshape(camera["height"] * fine, camera["width"] * fine, 3))


def _draw(scenario: SatelliteScenario, rays: Floats, pose: Floats, counts: Floats) -> None:
    """The body over what is behind it."""
    turn, position = pose[:3, :3], pose[:3, 3]
    eye = -turn.T @ position
    nearest = np.full(counts.shape, np.inf)
    which, axes = np.full(counts.shape, -1), np.zeros(counts.shape, np.intp)
    for number, box in enumerate(scenario.boxes):
        window = _window(scenario.numbers, transform_points(pose, box.corners))
        hits = hits_of_box(box, eye, rays[window] @ turn)
        is_nearer = hits.distance < nearest[window]
        for target, values in ((nearest, hits.distance), (which, number), (axes, hits.axis)):
            target[window] = np.where(is_nearer, values, target[window])
    there = which >= 0
    looks = rays[there] @ turn
    points = eye + nearest[there][:, None] * looks
    counts[there] = _shades(scenario, turn, points, looks, (which[there], axes[there]))


def _window(numbers: dict[str, Any], corners: Floats) -> tuple[slice, slice]:
    """The rows and columns in which a box may be, by its corners (8, 3) before the camera."""
    camera, fine = numbers["camera"], numbers["supersampling"]
    pixels = cv2.projectPoints(
        corners, np.zeros(3), np.zeros(3), camera_matrix(camera), floats(camera["distortion"])
    )[0].reshape(-1, 2)  # fmt: skip
    size = np.array([camera["width"], camera["height"]])
    low, high = (
        fine * np.clip(edge, 0, size).astype(int)
        for edge in (np.floor(pixels.min(axis=0)) - ROUND, np.ceil(pixels.max(axis=0)) + ROUND)
    )
    return slice(low[1], high[1]), slice(low[0], high[0])


def hits_of_box(box: Box, start: Floats, rays: Floats) -> Hits:
    """Where rays (..., 3) from one or as many points meet a box from outside."""
    with np.errstate(divide="ignore", invalid="ignore"):
        crossings = np.stack([(box.centre + side * box.half - start) / rays for side in (-1.0, 1.0)])
    near, far = np.fmin(*crossings), np.fmax(*crossings)
    axis = np.argmax(near, axis=-1)
    enters, exits = near.max(axis=-1), far.min(axis=-1)
    meets = (enters < exits) & (enters > OFF_FACE_M)
    return Hits(np.where(meets, enters, np.inf), axis)


def _shades(
    scenario: SatelliteScenario,
    turn: Floats,
    points: Floats,
    looks: Floats,
    faces: tuple[NDArray[np.intp], NDArray[np.intp]],
) -> Floats:
    """Counts (n,) of points on faces, by box and axis, in the sun or in shadow."""
    light, (which, axes) = scenario.numbers["light"], faces
    boxes = scenario.boxes
    sun = floats(light["to_sun"]) @ turn
    sun = sun / np.linalg.norm(sun)
    centres = np.stack([box.centre for box in boxes])[which]
    rows = np.arange(len(points))
    normals = np.zeros_like(points)
    normals[rows, axes] = np.sign((points - centres)[rows, axes])
    facing = np.clip(normals @ sun, 0.0, None)
    lit = facing > 0
    starts = points[lit] + OFF_FACE_M * normals[lit]
    is_dark = np.zeros(len(starts), bool)
    for box in boxes:
        is_dark |= np.isfinite(hits_of_box(box, starts, np.broadcast_to(sun, starts.shape)).distance)
    facing[np.flatnonzero(lit)[is_dark]] = 0.0
    reflectivity = np.array([box.reflectivity for box in boxes])[which] * _patterns(scenario, points, which, axes)
    mirrored = looks - 2.0 * (looks * normals).sum(axis=1, keepdims=True) * normals
    gleam = np.clip(mirrored @ sun / np.linalg.norm(looks, axis=1), 0.0, None) ** 20
    shine = np.array([box.shine for box in boxes])[which] * gleam * (facing > 0)
    return floats(light["sun"] * (reflectivity * (light["ambient"] + facing) + shine))


def _patterns(scenario: SatelliteScenario, points: Floats, which: NDArray[np.intp], axes: NDArray[np.intp]) -> Floats:
    """By how much faces are brighter or darker at points (n,)."""
    pattern = np.ones(len(points))
    names = np.array([box.pattern for box in scenario.boxes])[which]
    others = np.array([[1, 2], [0, 2], [0, 1]])[axes]
    along = np.take_along_axis(points, others, axis=1)
    is_foil, is_cells = names == "foil", names == "cells"
    noise = _noise(scenario.seed)
    pattern[is_foil] = 1.0 + 0.12 * _interpolate(noise, 90.0 * along[is_foil] + 37.0 * axes[is_foil, None])
    cell = scenario.numbers["light"]["cell_m"]
    is_line = (np.mod(along[is_cells] / cell, 1.0) < LINE_FRACTION).any(axis=1)
    pattern[is_cells] = np.where(is_line, 1.8, 1.0)
    return pattern


def _sky(scenario: SatelliteScenario, rays: Floats, time_s: float) -> Floats:
    """Counts (h, w) of what is behind the body."""
    sky = scenario.numbers["sky"]
    counts = np.zeros(rays.shape[:2])
    rng = scenario.rng("stars")
    rows, columns = (rng.integers(0, size, sky["stars"]) for size in rays.shape[:2])
    counts[rows, columns] = sky["brightest_star"] * rng.power(0.4, sky["stars"])
    if not scenario.settings["earth"]:
        return counts
    towards = floats(sky["earth_towards"]) / np.linalg.norm(sky["earth_towards"])
    angle = np.degrees(np.arccos(np.clip(rays @ towards / np.linalg.norm(rays, axis=-1), -1.0, 1.0)))
    fraction = np.clip((sky["earth_radius_deg"] - angle) / sky["haze_deg"] + 0.5, 0.0, 1.0)
    drift = np.radians(sky["earth_turns_deg_s"]) * time_s
    noise = _noise(scenario.seed + 1)
    position = rays[..., :2] + drift
    clouds = sum(0.5**octave * _interpolate(noise, 60.0 * 2.0**octave * position) for octave in range(3))
    earth = sky["earth"] + sky["clouds"] * np.clip(clouds, -1.0, 1.0)
    return floats(counts * (fraction == 0) + fraction * earth)


def _noise(seed: int) -> Floats:
    """A smooth pattern (n, n) about 0 that may be put beside itself."""
    values = np.random.default_rng([seed, NOISE_SIDE]).normal(size=(NOISE_SIDE, NOISE_SIDE))
    wide = np.pad(values, 16, mode="wrap")
    smooth = cv2.GaussianBlur(wide, (0, 0), 3.0)[16:-16, 16:-16]
    return floats(smooth / smooth.std())


def _interpolate(noise: Floats, at: Floats) -> Floats:
    """Interpolate the pattern at positions (..., 2)."""
    low = np.floor(at).astype(np.int64)
    fraction = at - low
    low, high = low % NOISE_SIDE, (low + 1) % NOISE_SIDE
    x, y = fraction[..., 0], fraction[..., 1]
    upper = noise[low[..., 1], low[..., 0]] * (1 - x) + noise[low[..., 1], high[..., 0]] * x
    lower = noise[high[..., 1], low[..., 0]] * (1 - x) + noise[high[..., 1], high[..., 0]] * x
    return floats(upper * (1 - y) + lower * y)
