"""Units in the titles of a header: they prove what a column holds, whatever is expected of it."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

SAME = {"°": " deg ", "µ": "u", "μ": "u", "²": "2", "degrees": "deg", "radians": "rad", "gauss": "g"}
BRACKETS = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")
# What one of a unit is in the first of its kind. The same letters mean another unit in another kind.
KINDS: tuple[Mapping[str, float], ...] = (
    {"rad": 1, "deg": math.radians(1), "mrad": 1e-3},
    {"rad_s": 1, "deg_s": math.radians(1), "dps": math.radians(1)},
    {"t": 1, "g": 1e-4, "mg": 1e-7, "ut": 1e-6},
    {"pa": 1, "hpa": 100, "mbar": 100, "kpa": 1000},
)


class Expected(NamedTuple):
    """The unit that a column is taken to have; one that the user chose counts more than the header."""

    unit: str
    is_chosen: bool = False


class Found(NamedTuple):
    """What a header's units say: factors that give a column the unit expected, and what is to be told of them."""

    factors: Mapping[str, float]
    told: str


def units_of_titles(
    columns: Sequence[str], headers: Sequence[Sequence[str]], expected: Mapping[str, Expected]
) -> Found:
    """What the titles of these columns say of their units, in any of the lines before the rows."""
    factors: dict[str, float] = {}
    told: dict[str, list[str]] = {}
    for place, column in enumerate(columns):
        if column not in expected:
            continue
        unit, is_chosen = expected[column]
        said = next((said for titles in headers if (said := _unit_in(titles[place], unit))), _plain(unit))
        if said == _plain(unit):
            continue
        if not is_chosen:
            kind = _kind(unit)
            factors[column] = kind[said] / kind[_plain(unit)]
        what = f"taken for {unit}, as chosen" if is_chosen else f"made {unit}"
        told.setdefault(f"in {said.replace('_', '/')} by the header, {what}", []).append(column)
    return Found(factors, "".join(f"; {', '.join(names)} {text}" for text, names in told.items()))


def _unit_in(title: str, expected: str) -> str:
    """The unit in brackets, at the end of a title, or that is all of it, if it is of the kind of the one expected."""
    title = title.lower()
    for sign, plain in SAME.items():
        title = title.replace(sign, plain)
    texts = [inside for pair in BRACKETS.findall(title) for inside in pair if inside]
    words = _plain(BRACKETS.sub(" ", title)).split("_")
    endings = ("_".join(words[-2:]), words[-1])
    found = [plain for plain in (*map(_plain, texts), *endings) if plain in _kind(expected)]
    return found[0] if found else ""


def _kind(unit: str) -> Mapping[str, float]:
    return next(kind for kind in KINDS if _plain(unit) in kind)


def _plain(unit: str) -> str:
    """A unit or a title in lower case, all but letters and digits as single `_`."""
    return re.sub(r"[^a-z0-9]+", "_", unit.lower()).strip("_")
