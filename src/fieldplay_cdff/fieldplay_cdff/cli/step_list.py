"""The output of `fieldplay fuse --list --steps`: all DFNs, their implementations, and the parameters."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fieldplay.cli.terminal import print_line
from fieldplay_cdff.descriptors.model import Dfn, known_catalogue, published_catalogue
from fieldplay_cdff.steps.step import AUTO, Parameter, parameters, steps

MISSING = "not there"
LIMIT_NAMES = {"least": "at least", "most": "at most", "one_of": "one of", "multiple_of": "a multiple of"}


def print_steps(*, as_json: bool) -> int:
    """Print all DFNs; return the exit code."""
    known = list(step_dicts())
    if as_json:
        print_line(json.dumps(known, indent=1))
        return 0
    published = sum(each["published"] for each in known)
    for each in known:
        for line in _lines(each):
            print_line(line)
    print_line(
        f"{published} published DFNs, {len(known) - published} others; docs/fusion/descriptions.md explains them"
    )
    return 0


def step_dicts() -> Iterator[dict[str, Any]]:
    """Yield all DFNs as plain values: ports by type, and implementations with their parameters."""
    catalogue, published = known_catalogue(), published_catalogue()
    other_names: dict[str, list[str]] = {}
    for name, usual in catalogue.implementation_aliases.items():
        other_names.setdefault(usual, []).append(name)
    for dfn in catalogue.dfns.values():
        yield {
            "name": dfn.name,
            "published": dfn.name in published.dfns,
            "inputs": dict(dfn.inputs),
            "outputs": dict(dfn.outputs),
            "implementations": [
                _implementation(dfn, name, [each for each in other_names.get(name, ()) if each in catalogue.stand_ins])
                for name in dfn.implementations
                if name not in catalogue.implementation_aliases
            ],
        }


def _implementation(dfn: Dfn, name: str, stands_in_for: list[str]) -> dict[str, Any]:
    kind = steps().get((dfn.name, name))
    doc = (kind.__doc__ or "").strip().splitlines() if kind is not None else []
    return {
        "name": name,
        "doc": doc[0] if doc else "",
        "available": kind is not None,
        "stands_in_for": [each for each in stands_in_for if kind is not None],
        "optional_inputs": list(kind.optional) if kind is not None else [],
        "parameters": {
            group: {key: _parameter(each) for key, each in own.items()}
            for group, own in (parameters().get(name, {}) if kind is not None else {}).items()
        },
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    """The default and the limits; `published` is the number of a default that is `auto`."""
    is_auto = parameter.default is None
    result = {"default": AUTO if is_auto else parameter.default, **parameter.limits}
    return {**result, "published": parameter.model} if is_auto else result


def _lines(dfn: Mapping[str, Any]) -> Iterator[str]:
    ports = (", ".join(f"{name} {kind}" for name, kind in dfn[side].items()) for side in ("inputs", "outputs"))
    yield f"{dfn['name']}: {' -> '.join(ports)}"
    for each in dfn["implementations"]:
        stands = f", stands in for {', '.join(each['stands_in_for'])}" if each["stands_in_for"] else ""
        yield f"    {each['name']}{stands}{'' if each['available'] else f' ({MISSING})'}"
        for group, own in each["parameters"].items():
            yield f"        {group}: {', '.join(f'{name}={_text(own[name])}' for name in own)}"


def _text(parameter: Mapping[str, Any]) -> str:
    """A default and its limits, as in 0.1 (above 0)."""
    named = {name: value for name, value in parameter.items() if name not in ("default", "names", "odd")}
    limits = [f"{LIMIT_NAMES.get(name, name)} {_value(value)}" for name, value in named.items()]
    limits += ["odd"] * bool(parameter.get("odd"))
    shown = _value(parameter["default"]) or "''"
    return f"{shown} ({', '.join(limits)})" if limits else shown


def _value(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(_value, value))
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
