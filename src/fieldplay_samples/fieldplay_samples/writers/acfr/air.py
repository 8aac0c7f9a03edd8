"""The air of a sample: clouds that are raised ahead of the vehicle and go with the wind, or rain, in rounds."""

from typing import Any

import numpy as np

from fieldplay_samples.motion.frames import Floats, floats
from fieldplay_samples.motion.ride import GroundDrive, Height
from fieldplay_samples.sensors.weather import NO_RAIN, Rain, Weather
from fieldplay_samples.world.clouds import NO_PUFFS, Puffs

UP = floats([0.0, 0.0, 1.0])


def weather_of(
    numbers: dict[str, Any],
    condition: str,
    drive: GroundDrive,
    *,
    seconds: float,
    height_m: Height,
    rng: np.random.Generator,
) -> Weather:
    """The weather of a condition during a drive."""
    entry = numbers["conditions"][condition]
    spans = spans_s(numbers["rounds"], seconds)
    optics = {key: entry[key] for key in ("laser", "returned", "thermal") if key in entry}
    return Weather(
        puffs=_puffs(numbers, entry["cloud"], drive, spans=spans, height_m=height_m, rng=rng)
        if "cloud" in entry
        else NO_PUFFS,
        rain=Rain(spans_s=spans, **entry["rain"]) if "rain" in entry else NO_RAIN,
        colour=tuple(entry.get("colour", (1.0, 1.0, 1.0))),
        **optics,
    )


def spans_s(rounds: dict[str, float], seconds: float) -> Floats:
    """Spans (k, 2) of time in which dust is raised, or it rains."""
    count = max(1, round(seconds / rounds["length_s"]))
    first = np.arange(count)[:, None]
    return floats((first + floats([rounds["from"], rounds["until"]])) * (seconds / count))


def _puffs(
    numbers: dict[str, Any],
    cloud: dict[str, float],
    drive: GroundDrive,
    *,
    spans: Floats,
    height_m: Height,
    rng: np.random.Generator,
) -> Puffs:
    """Puffs in each span, on a strip ahead of where the vehicle is when they begin, and upwind of that."""
    shape = numbers["puffs"]
    born = np.concatenate([np.arange(begin, end, 1.0 / shape["per_s"]) for begin, end in spans])
    pose = drive.motion.pose_at(born)
    ahead, upwind, above = (
        rng.uniform(low, high, len(born))
        for low, high in (shape[key] for key in ("ahead_m", "upwind_m", "above_ground_m"))
    )
    wind = -drive.motion.pose_at(floats([0.0]))[0, :3, 1] * [1.0, 1.0, 0.0]  # from the left
    at = pose[:, :3, 3] + ahead[:, None] * pose[:, :3, 0] - upwind[:, None] * wind
    at[:, 2] = height_m(at[:, 0], at[:, 1]) + above
    strength = rng.lognormal(0.0, 0.4, len(born))
    speed = numbers["wind_m_s"] * rng.normal(1.0, shape["wind_share"], len(born))
    return Puffs(
        born_s=born,
        born_at=at,
        drift_m_s=speed[:, None] * wind + shape["rise_m_s"] * UP,
        area_m2=cloud["area_m2"] * strength,
        size_m=cloud["size_m"] * rng.uniform(0.7, 1.4, len(born)),
        growth_m_s=cloud["growth_m_s"],
        settling_s=cloud["settling_s"],
        longest_s=shape["longest_s"],
    )
