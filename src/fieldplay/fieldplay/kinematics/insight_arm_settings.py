"""The numbers of InSight's arm: those of its dataset's description, and those of the archive's own parameter files.

The archive's come as one list of numbers in the order of NUMBERS, NaN where a file does not say; it may end early.
Links 3 and 4 have two forms, one for each state of the grapple: the main numbers are those of link 3 with the grapple
unstowed and of link 4 with it stowed, which the specification prints; `alternate_` has link 3 stowed, link 4 unstowed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fieldplay.geometry.transforms import Array

AUTO, NAIF = "auto", "naif"
SETS = (AUTO, NAIF, "sis")  # where the lengths are taken from
MEASURED = ("a_m", "d_m")
LENGTHS = (*MEASURED, "alpha_rad")
RIGID = ("blade_1", "blade_2", "scoop", "idc", "wrist", "grapple_attach")
HANGING = ("grapple", "seis", "wts", "hp3")
COMPLIANCE = ("shift_by_force", "turn_by_force", "shift_by_moment", "turn_by_moment")
PER_LINK: Mapping[str, int] = {"link_kg": 1, "link_centres_m": 3, **dict.fromkeys(COMPLIANCE, 9)}
LINKS, FIRST_OF_TWO_FORMS = 4, 2
ALTERNATE = "alternate_"
BASE: Mapping[str, Sequence[float]] = {"base_m": (0.0, 0.0, 0.0), "base_wxyz": (1.0, 0.0, 0.0, 0.0)}
NUMBERS: Mapping[str, int] = {
    **dict.fromkeys(LENGTHS, 4),
    **dict.fromkeys(RIGID, 4),
    "hang_m": 4,
    "gravity_m_s2": 1,
    "gravity_direction": 3,
    "payload_kg": 3,
    "compliance_scale": 1,
    **{name: LINKS * count for name, count in PER_LINK.items()},
    **{ALTERNATE + name: (LINKS - FIRST_OF_TWO_FORMS) * count for name, count in PER_LINK.items()},
    **{name: len(numbers) for name, numbers in BASE.items()},
}


def resolved_settings(settings: Mapping[str, Any], archived: Sequence[float] | Array | None = None) -> dict[str, Any]:
    """The settings with the lengths of the set that `dh_set` names, and with the archive's own numbers.

    The archive's hold wherever it has them; its lengths only where the set is `auto` and it has all of them, as those
    of two sources make no arm that ever was. Else they are NAIF's.
    """
    chosen = settings["dh_set"]
    if chosen not in SETS:
        raise ValueError(f"dh_set: expected one of {', '.join(SETS)}, got '{chosen}'")
    name = NAIF if chosen == AUTO else chosen
    found = {**settings, "a_m": settings[f"{name}_a_m"], "d_m": settings[f"{name}_d_m"]}
    found = {**BASE, **{ALTERNATE + name: _second_forms(found[name]) for name in PER_LINK}, **found}
    known = {key: _numbers(key, found[key]) for key in NUMBERS}
    if archived is not None:
        parts = _with_both_forms(_parts(np.asarray(archived, float)))
        takes_lengths = chosen == AUTO and all(np.isfinite(parts.get(key, np.nan)).all() for key in MEASURED)
        for key, part in parts.items():
            if takes_lengths or key not in LENGTHS:
                known[key] = np.where(np.isfinite(part), part, known[key])
    return {**found, **known}


def _second_forms(main: Any) -> Array:
    """The numbers of the links that have two forms, of those of all links."""
    numbers = np.atleast_1d(np.asarray(main, float))
    return numbers[len(numbers) * FIRST_OF_TWO_FORMS // LINKS :]


def _with_both_forms(parts: Mapping[str, Array]) -> dict[str, Array]:
    """The parts, where a link of which the archive has one form alone has the same numbers in the other."""
    made = dict(parts)
    for name in PER_LINK:
        if name not in parts:
            continue
        main = parts[name].copy()
        seconds = _second_forms(main)
        alternate = parts.get(ALTERNATE + name, np.full(len(seconds), np.nan))
        made[ALTERNATE + name] = np.where(np.isfinite(alternate), alternate, seconds)
        main[len(main) - len(seconds) :] = np.where(np.isfinite(seconds), seconds, alternate)
        made[name] = main
    return made


def _numbers(key: str, value: Any) -> Array:
    numbers = np.atleast_1d(np.asarray(value, float))
    if numbers.shape != (NUMBERS[key],):
        raise ValueError(f"{key}: expected {NUMBERS[key]} numbers, got {numbers.size}")
    return numbers


def _parts(numbers: Array) -> dict[str, Array]:
    """The list cut into its parts, as far as it goes."""
    ends = np.cumsum(list(NUMBERS.values()))
    if numbers.ndim != 1 or len(numbers) not in ends:
        raise ValueError(f"expected some of {ends[-1]} numbers of the arm, whole parts of them, got {numbers.shape}")
    parts = np.split(numbers, ends[ends < len(numbers)])
    return dict(zip(NUMBERS, parts, strict=False))
