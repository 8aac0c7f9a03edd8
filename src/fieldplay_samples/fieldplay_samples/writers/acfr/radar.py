"""What the radar measures: the spectrum of each sample, and of each the strongest peak."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.motion.frames import Floats, floats
from fieldplay_samples.sensors.radar import Radar, beam, directions, echo_powers, spectra, strongest
from fieldplay_samples.world.scene import GROUND, Hits
from fieldplay_samples.writers.acfr.lines import marked_lines, number_texts, stamp_texts, tenths_block, write_lines
from fieldplay_samples.writers.acfr.scenario import AcfrScenario
from fieldplay_samples.writers.acfr.world import World
from fieldplay_samples.writers.tables import Stamps

METRES = 3  # the number of the unit
FLATTEST = 0.02
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Samples:
    """Samples (n,): when they are received, angles in degrees from 0 to 360, spectra in dB (n, bins)."""

    stamp_ns: Stamps
    angle_deg: Floats
    spectrum_db: Floats


def radar_of(scenario: AcfrScenario) -> Radar:
    """The radar."""
    numbers = scenario.numbers["radar"]
    pairs = {key: tuple(numbers[key]) for key in ("width_deg", "rays")}
    return Radar(**{**numbers, **pairs})


def sample_times(scenario: AcfrScenario) -> Floats:
    """When the samples are taken (n,)."""
    return floats(np.arange(round(scenario.seconds * scenario.numbers["radar"]["samples_hz"]))) * 1e-3


def angles_deg(scenario: AcfrScenario, time_s: Floats) -> Floats:
    """Angles (n,) from 0 to 360 about the radar's own z, to a thousandth; it does not turn quite evenly."""
    wobble, turns = scenario.numbers["radar_wobble"], scenario.numbers["radar"]["turns_hz"]
    uneven = wobble["deg"] * np.sin(2 * np.pi * time_s / wobble["period_s"])
    return floats(np.round(360.0 * turns * time_s + uneven, 3) % 360.0)


def samples(scenario: AcfrScenario, world: World, *, numbers: Integers) -> Samples:
    """Those samples (n,)."""
    time, radar = sample_times(scenario)[numbers], radar_of(scenario)
    angle = angles_deg(scenario, time)
    aside, up, weight = beam(radar)
    local = directions(np.radians(angle)[:, None] + aside, np.broadcast_to(up, (len(angle), len(up))))
    poses = scenario.poses_at(time) @ scenario.robot.base_T_sensor["radar"]
    towards = np.einsum("nij,nbj->nbi", poses[:, :3, :3], local).reshape(-1, 3)
    origins = np.repeat(poses[:, :3, 3], len(weight), axis=0)
    farthest = float(radar.range_m(floats([radar.bins]))[0])
    hits = world.scene.cast(origins, towards, farthest_m=farthest, spread_rad=0.02)
    rng = scenario.rng(f"radar {numbers[0]}")
    distance = hits.distance_m.reshape(len(time), -1)
    reflectivity = reflectivities_db(world, hits, towards).reshape(distance.shape)
    reflectivity -= _rain_db_per_m(scenario, time)[:, None] * np.where(np.isfinite(distance), distance, 0.0)
    looks = scenario.numbers["radar_speckle"]
    power = weight * echo_powers(radar, distance, reflectivity) * rng.standard_gamma(looks, distance.shape) / looks
    delay = scenario.jitter_s("radar", len(sample_times(scenario)), (scenario.numbers["radar_latency_s"], 2e-5))
    stamps = scenario.stamps_of(sample_times(scenario) + delay)[numbers]
    return Samples(stamp_ns=stamps, angle_deg=angle, spectrum_db=spectra(radar, distance, power, rng=rng))


def reflectivities_db(world: World, hits: Hits, towards: Floats) -> Floats:
    """How well what rays (n,) meet sends them back: by its stuff; the ground the worse the flatter it is met."""
    facing = np.abs(np.einsum("nc,nc->n", hits.normal, towards))
    slant = 10.0 * np.log10(np.maximum(facing, FLATTEST) / 0.2)
    return floats(world.radar_db[hits.solid] + np.where(hits.solid == GROUND, slant, 0.0))


def _rain_db_per_m(scenario: AcfrScenario, time: Floats) -> Floats:
    rain = scenario.weather.rain
    return floats(rain.radar_db_per_m * rain.strength(time))


def write_samples(folder: Path, name: str, scenario: AcfrScenario, *, rows: Samples) -> None:
    """Write both files' lines for these samples, as `ranges_<name>.txt` and `spectra_<name>.txt`."""
    range_m, power = strongest(radar_of(scenario), rows.spectrum_db)
    numbers = number_texts(np.stack([range_m, power], axis=1), "%.4f")
    angles = number_texts(np.radians(rows.angle_deg)[:, None], "%.7f")
    texts = [
        f"RANGE_REFLECTIVITY_DATA {angle} 0 0 {METRES} 1 {pair}" for angle, pair in zip(angles, numbers, strict=True)
    ]
    write_lines(folder / f"ranges_{name}.txt", marked_lines(rows.stamp_ns, texts))
    heads = [f"*{stamp} {angle:.3f}" for stamp, angle in zip(stamp_texts(rows.stamp_ns), rows.angle_deg, strict=True)]
    bodies = tenths_block(rows.spectrum_db)
    with (folder / f"spectra_{name}.txt").open("wb") as stream:
        for head, body in zip(heads, bodies, strict=True):
            stream.write(head.encode("ascii") + body.tobytes() + b"\n")
