"""The numbers of InSight's arm: those of its dataset's description, and those of the archive's own parameter files.

The archive's come as one list of numbers in the order of NUMBERS, NaN where a file does not say; it may end early.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fieldplay_kinematics.transforms import Array

AUTO, NAIF = "auto", "naif"
SETS = (AUTO, NAIF, "sis")  # where the lengths are taken from
MEASURED = ("a_m", "d_m")
LENGTHS = (*MEASURED, "alpha_rad")
RIGID = ("blade_1", "blade_2", "scoop", "idc", "wrist", "grapple_attach")
HANGING = ("grapple", "seis", "wts", "hp3")
NUMBERS: Mapping[str, int] = {
    **dict.fromkeys(LENGTHS, 4),
    **dict.fromkeys(RIGID, 4),
    "hang_m": 4,
    "gravity_m_s2": 1,
    "gravity_direction": 3,
    "payload_kg": 3,
    "compliance_scale": 1,
    "link_kg": 4,
    "link_centres_m": 12,
    **dict.fromkeys(("shift_by_force", "turn_by_force", "shift_by_moment", "turn_by_moment"), 36),
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
    known = {key: _numbers(key, found[key]) for key in NUMBERS}
    if archived is not None:
        parts = _parts(np.asarray(archived, float))
        takes_lengths = chosen == AUTO and all(np.isfinite(parts.get(key, np.nan)).all() for key in MEASURED)
        for key, part in parts.items():
            if takes_lengths or key not in LENGTHS:
                known[key] = np.where(np.isfinite(part), part, known[key])
    return {**found, **known}


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
