"""The processing steps that the framework publishes, by name, and what may be meant by other names."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import yaml

from fieldplay_fusion.descriptors.lines import nearest
from fieldplay_fusion.descriptors.model import Description

FILE = Path(__file__).with_name("dfns.yaml")


@dataclass(frozen=True, kw_only=True)
class Dfn:
    """A processing step as published: types of its ports by name, and the names of its implementations."""

    name: str
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    implementations: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """All steps by name, other names of them, and the steps by the names of those who do them."""

    dfns: Mapping[str, Dfn]
    aliases: Mapping[str, str]

    def meant(self, name: str) -> Dfn | None:
        """The step of this name, or the one that may be meant."""
        usual = self.aliases.get(name, name)
        by_implementation = [dfn.name for dfn in self.dfns.values() if name in dfn.implementations]
        if usual not in self.dfns and len(by_implementation) == 1:
            usual = by_implementation[0]
        return self.dfns.get(usual) or self.dfns.get(nearest(name, self.dfns, cutoff=0.8))


@lru_cache(maxsize=1)
def published() -> Catalogue:
    """The steps that come with the framework."""
    data = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    dfns = {
        name: Dfn(name=name, inputs=own["in"], outputs=own["out"], implementations=tuple(own["by"]))
        for name, own in data["dfns"].items()
    }
    return Catalogue(dfns=dfns, aliases=data["aliases"])


def with_own(catalogue: Catalogue, descriptions: Iterable[Description]) -> Catalogue:
    """The catalogue with further steps, which take the place of those with the same name."""
    own = {
        each.name: Dfn(
            name=each.name,
            inputs={port.name: port.shown_type for port in each.inputs},
            outputs={port.name: port.shown_type for port in each.outputs},
            implementations=tuple(chain.name for chain in each.chains),
        )
        for each in descriptions
    }
    return Catalogue(dfns={**catalogue.dfns, **own}, aliases=catalogue.aliases)
