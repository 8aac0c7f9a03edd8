"""What the scenarios of all datasets share: their numbers, times, stamps and randomness."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldplay_samples.motion.ride import GroundDrive
from fieldplay_samples.motion.rotations import Floats, floats
from fieldplay_samples.sensors.gnss import LocalOrigin
from fieldplay_samples.world.scene import Scene, make_scene
from fieldplay_samples.world.terrain import Terrain
from fieldplay_samples.writers.text_tables import NS_PER_S, Stamps

PATH_STEP_S = 0.25


@dataclass(frozen=True, eq=False, kw_only=True)
class Scenario:
    """A sample's seed and length, its settings, and the numbers of its dataset; times count from its start."""

    seed: int
    seconds: float
    settings: dict[str, Any]
    numbers: dict[str, Any]  # of data/<dataset>.yaml

    @property
    def start_ns(self) -> int:
        """The unix time at which it starts."""
        return int(self.numbers["start_unix_s"]) * NS_PER_S

    def times(self, rate: str) -> Floats:
        """The times (n,) of what is measured at one of the rates."""
        hertz = self.numbers["rates_hz"][rate]
        return floats(np.arange(max(2, round(self.seconds * hertz))) / hertz)

    def rng(self, name: str) -> np.random.Generator:
        """Randomness of its own for each purpose: what one draws does not change another's."""
        return np.random.default_rng([self.seed, *name.encode()])

    def unix_ns(self, time_s: Floats) -> Stamps:
        """Unix times (n,) in ns of times (n,), to the microsecond."""
        return self.start_ns + np.round(time_s * 1e6).astype(np.int64) * 1000


def origin_at(location: dict[str, float]) -> LocalOrigin:
    """The origin of a map, of latitude_deg, longitude_deg and altitude_m."""
    latitude, longitude = np.radians([location["latitude_deg"], location["longitude_deg"]])
    return LocalOrigin(latitude_rad=float(latitude), longitude_rad=float(longitude), altitude_m=location["altitude_m"])


def scene_along_drive(scenario: Scenario, terrain: Terrain, drive: GroundDrive) -> Scene:
    """Return the ground with rocks, boulders and poles off the robot's path."""
    times = floats(np.arange(0.0, scenario.seconds + PATH_STEP_S, PATH_STEP_S))
    return scene_along_path(scenario, terrain, drive.motion.coordinates.at(times)[:, :2])


def scene_along_path(scenario: Scenario, terrain: Terrain, path: Floats) -> Scene:
    """Return the ground with rocks, boulders and poles off a path (n, 2) in m."""
    centre = 0.5 * (path.min(axis=0) + path.max(axis=0))
    reach_m = float(np.linalg.norm(path - centre, axis=1).max())
    clear_m = scenario.numbers["surroundings"]["clear_of_way_m"]
    return scene_around(scenario, terrain, centre, reach_m=reach_m, keep_out=path, clearance_m=clear_m)


def scene_around(
    scenario: Scenario, terrain: Terrain, centre: Floats, *, reach_m: float, keep_out: Floats, clearance_m: float
) -> Scene:
    """Return the ground with rocks, boulders and poles about a centre (2,), by the numbers of `surroundings`."""
    numbers = scenario.numbers["surroundings"]
    radius = reach_m + numbers["beyond_m"]
    return make_scene(
        scenario.seed,
        terrain=terrain,
        keep_out=keep_out,
        clearance_m=clearance_m,
        centre=centre,
        radius_m=radius,
        rock_count=round(numbers["rocks_per_m2"] * np.pi * radius**2),
        boulder_count=numbers["boulders"],
        pole_count=numbers["poles"],
    )
