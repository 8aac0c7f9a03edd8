"""The processing steps that the framework publishes, by name, and what may be meant by other names."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import yaml

from fieldplay.core.errors import nearest
from fieldplay_cdff.descriptors.model import Description

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
    """All steps by name, and other names of them, of who does them, and of their ports by step and side."""

    dfns: Mapping[str, Dfn]
    aliases: Mapping[str, str]
    implementation_aliases: Mapping[str, str] = field(default_factory=dict)
    port_aliases: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)

    def port(self, dfn: str, name: str, *, is_source: bool) -> str:
        """The published name of a step's port."""
        return self.port_aliases.get(dfn, {}).get("out" if is_source else "in", {}).get(name, name)

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
    return _catalogue("dfns")


@lru_cache(maxsize=1)
def known() -> Catalogue:
    """The steps that come with the framework, and those of our own that hold them together."""
    return _catalogue("dfns", "own")


def _catalogue(*parts: str) -> Catalogue:
    data = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    dfns = {
        name: Dfn(name=name, inputs=own["in"], outputs=own["out"], implementations=tuple(own["by"]))
        for part in parts
        for name, own in data[part].items()
    }
    return Catalogue(
        dfns=dfns,
        aliases=data["aliases"],
        implementation_aliases=data["implementation_aliases"],
        port_aliases=data["port_aliases"],
    )


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
    return replace(catalogue, dfns={**catalogue.dfns, **own})
