"""What a satellite is made of, and how it tumbles."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fieldplay_samples.motion.frames import Floats, floats, rotation_about, transform
from fieldplay_samples.sample import SampleOptions
from fieldplay_samples.writers.scenarios import Scenario, numbers_of
from fieldplay_samples.writers.tables import Stamps

CORNERS = floats([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
FACES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))  # seen from outside


@dataclass(frozen=True, eq=False, kw_only=True)
class Box:
    """A part of the body, along the body's axes, and how it looks."""

    centre: Floats
    half: Floats
    reflectivity: float
    shine: float
    pattern: str

    @property
    def corners(self) -> Floats:
        """All eight (8, 3), in the body's frame."""
        return floats(self.centre + self.half * CORNERS)


@dataclass(frozen=True, eq=False, kw_only=True)
class SatelliteScenario(Scenario):
    """A tumbling body before a stereo camera that stands still."""

    @cached_property
    def boxes(self) -> list[Box]:
        """The parts of the body."""
        return [
            Box(**{**part, "centre": floats(part["centre"]), "half": floats(part["half"])})
            for part in self.numbers["boxes"].values()
        ]

    @cached_property
    def time_s(self) -> Floats:
        """When pictures are taken (n,)."""
        hertz = self.settings["rate_hz"]
        return floats(np.arange(max(2, round(self.seconds * hertz))) / hertz)

    @property
    def stamp_ns(self) -> Stamps:
        """The pictures' stamps (n,)."""
        return self.unix_ns(self.time_s)

    @cached_property
    def camera_T_body(self) -> Floats:
        """Poses (n, 4, 4) in the left camera's optical frame."""
        own = self.numbers["motion"]
        turned = np.radians(self.settings["turn_deg_s"]) * self.time_s
        precession = rotation_about(_unit(own["precession_axis"]), own["precession_share"] * turned)
        spin = rotation_about(_unit(own["spin_axis"]), (1.0 - own["precession_share"]) * turned)
        begin = floats(own["begin_turn"])
        first = rotation_about(_unit(begin), np.linalg.norm(begin))
        return transform(precession @ first @ spin, self._sway()[0] + [0.0, 0.0, self.settings["distance_m"]])

    @property
    def velocity_m_s(self) -> Floats:
        """Of the body's origin (n, 3)."""
        return self._sway()[1]

    def _sway(self) -> tuple[Floats, Floats]:
        """How far it is from the middle of its way, and how fast it goes (n, 3)."""
        own = self.numbers["motion"]
        width, rate = floats(own["sway_m"]), 2.0 * np.pi / floats(own["sway_period_s"])
        phase = self.time_s[:, None] * rate
        return floats(width * np.sin(phase)), floats(width * rate * np.cos(phase))


def scenario_of(options: SampleOptions) -> SatelliteScenario:
    """What a sample with these options shows."""
    return SatelliteScenario(
        seed=options.seed, seconds=options.seconds, settings=dict(options.settings), numbers=numbers_of("satellite")
    )


def _unit(axis: ArrayLike) -> Floats:
    return floats(floats(axis) / np.linalg.norm(floats(axis)))


def write_model(path: Path, boxes: list[Box]) -> None:
    """The shape as Wavefront OBJ, in m, each part closed."""
    lines: list[str] = ["# a satellite, in metres"]
    for number, box in enumerate(boxes):
        lines += [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in box.corners.tolist()]
        lines += ["f " + " ".join(str(8 * number + corner + 1) for corner in face) for face in FACES]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def camera_matrix(numbers: dict[str, Any]) -> Floats:
    """K (3, 3) of the camera."""
    fx, fy, cx, cy = numbers["matrix"]
    return floats([[fx, 0, cx], [0, fy, cy], [0, 0, 1]])
