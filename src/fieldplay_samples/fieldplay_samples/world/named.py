"""Grounds by name, as data/worlds.yaml describes them."""

from functools import lru_cache
from importlib import resources
from typing import Any

import yaml

from fieldplay_samples.world.crops import CropRows
from fieldplay_samples.world.layers import Furrows, Layer, Unevenness
from fieldplay_samples.world.soil import Grain, Shade, Soil
from fieldplay_samples.world.terrain import Terrain

KINDS: dict[str, type[Unevenness] | type[Furrows]] = {"noise": Unevenness, "furrows": Furrows}


def terrain_named(name: str, *, seed: int) -> Terrain:
    """The ground `name` (volcano, ploughed_field, grassland), deterministic by seed."""
    entry = _worlds()[name]
    layers = tuple(_layer(**layer) for layer in entry["layers"])
    return Terrain(
        seed=seed,
        layers=layers,
        soil=_soil(entry["soil"], seed, layers),
        slope=(entry["slope"][0], entry["slope"][1]),
    )


@lru_cache(maxsize=1)
def _worlds() -> dict[str, Any]:
    text = (resources.files("fieldplay_samples") / "data" / "worlds.yaml").read_text("utf-8")
    worlds: dict[str, Any] = yaml.safe_load(text)
    return worlds


def _layer(*, kind: str, **numbers: float) -> Layer:
    return KINDS[kind](**numbers)


def _soil(entry: dict[str, Any], seed: int, layers: tuple[Layer, ...]) -> Soil:
    shades = tuple(Shade(**{**shade, "albedo": tuple(shade["albedo"])}) for shade in entry["shades"])
    grain = tuple(Grain(**grain) for grain in entry["grain"])
    return Soil(seed=seed, base=tuple(entry["base"]), shades=shades, grain=grain, rows=_rows(layers, entry.get("rows")))


def _rows(layers: tuple[Layer, ...], entry: dict[str, Any] | None) -> CropRows | None:
    """Plants grow on the first layer of furrows."""
    if entry is None:
        return None
    furrows = next(layer for layer in layers if isinstance(layer, Furrows))
    return CropRows(furrows=furrows, **{**entry, "albedo": tuple(entry["albedo"])})
