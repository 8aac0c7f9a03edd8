"""The ground before the lander, in the payload frame (z down), and the tool that touches it here and there."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fieldplay_samples.errors import SampleError
from fieldplay_samples.motion.frames import Floats, floats
from fieldplay_samples.places import places_of

TOUCH, MOTIONS = "touch", "motions"
SCENES = (MOTIONS, TOUCH)
TRUTH = "contacts"  # OUT.contacts.npz


@dataclass(frozen=True, eq=False, kw_only=True)
class TouchedGround:
    """A plane with waves on it, how hard it is, and what the tool carries of it without the computer's knowing.

    `bends` is whether its force bends the arm back, so that the tool stays where the ground is.
    """

    z_m: float
    stiffness_n_per_m: float
    friction: float
    slope: tuple[float, float] = (0.0, 0.0)
    waves: tuple[tuple[float, float, float], ...] = ()  # height in m, and radians to the metre along x and y
    bends: bool = False
    load_kg: float = 0.0

    def depth_m(self, x: Floats, y: Floats) -> Floats:
        """The ground's z, which points down, at places of any shape."""
        waves = (height * np.sin(along * x + across * y) for height, along, across in self.waves)
        return floats(self.z_m + self.slope[0] * x + self.slope[1] * y - sum(waves))


def ground_of(numbers: dict[str, Any], scene: str) -> TouchedGround:
    """The ground of a scene: even where the motions are, with slope and waves where it is touched."""
    return TouchedGround(**(numbers["touch"]["ground"] if scene == TOUCH else numbers["ground"]))


def scene_of(settings: Mapping[str, Any]) -> str:
    """The scene that is asked for; SampleError where there is none of that name."""
    if settings["scene"] not in SCENES:
        raise SampleError(f"scene: expected {' or '.join(SCENES)}, got {settings['scene']!r}")
    return str(settings["scene"])


def touching_motion(numbers: dict[str, Any], touches: int) -> dict[str, Any]:
    """A motion that stays above the ground first, then touches it, row by row to and fro over the place."""
    own = numbers["touch"]
    ground = ground_of(numbers, TOUCH)
    above = [{**place, "z": _depth(ground, place) - own["above_m"]} for place in _places(own["place"], touches)]
    share = 1.0 / (len(above) + 1)
    way, down, up = own["shares"]
    steps = [{**above[0], "share": share}]
    for number, place in enumerate(above):
        pressed = {**place, "z": _depth(ground, place) + own["beyond_m"]}
        further = above[min(number + 1, len(above) - 1)]
        steps += [{**pressed, "share": down * share}, {**place, "share": up * share}, {**further, "share": way * share}]
    return {**own["motion"], "begin": above[0], "steps": steps}


def _places(place: dict[str, Any], touches: int) -> list[dict[str, float]]:
    """So many places in rows of one radius, every other row the other way round."""
    across = max(round(np.sqrt(touches)), 1)
    rows = -(-touches // across)
    radii = np.linspace(place["radius"][0], place["radius"][1], rows)
    azimuths = np.linspace(place["azimuth"][0], place["azimuth"][1], max(across, 2))
    found = []
    for row, radius in enumerate(radii):
        ordered = azimuths[:across][:: -1 if row % 2 else 1]
        found += [{"radius": float(radius), "azimuth": float(angle), "th": place["th"]} for angle in ordered]
    return found[:touches]


def _depth(ground: TouchedGround, place: dict[str, float]) -> float:
    x, y = place["radius"] * np.cos(place["azimuth"]), place["radius"] * np.sin(place["azimuth"])
    return float(ground.depth_m(floats(x), floats(y)))


def grid_of(ground: TouchedGround, points: Floats, step_m: float = 0.01, margin_m: float = 0.05) -> dict[str, Floats]:
    """The ground about points (n, 3): x (m,), y (k,) and its z (k, m) in the payload frame."""
    x, y = (
        np.arange(column.min() - margin_m, column.max() + margin_m + step_m, step_m)
        for column in (points[:, 0], points[:, 1])
    )
    return {"x_m": x, "y_m": y, "ground_z_m": ground.depth_m(*np.meshgrid(x, y))}


def below_ground_m(out: Path, points: Floats) -> Floats:
    """How far points (n, 3) of the payload frame are below the true ground of the sample OUT, where it is known."""
    with np.load(places_of(out, zipped=out.suffix == ".zip").beside(TRUTH)) as truth:
        x, y, depth = (truth[name] for name in ("x_m", "y_m", "ground_z_m"))
    columns, rows = np.interp(points[:, 0], x, np.arange(len(x))), np.interp(points[:, 1], y, np.arange(len(y)))
    column, row = (np.minimum(places.astype(int), count - 2) for places, count in ((columns, len(x)), (rows, len(y))))
    right, down = columns - column, rows - row
    low, high = (depth[each, column] * (1 - right) + depth[each, column + 1] * right for each in (row, row + 1))
    return floats(points[:, 2] - (low * (1 - down) + high * down))
