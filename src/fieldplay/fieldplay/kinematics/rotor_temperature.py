"""The temperature of a motor's rotor, which nothing measures, from its current, its voltage and its case.

Copper warms by I^2 R, where R grows with the temperature, and by what it takes to turn without load; it loses heat to
the case. A step is a line in the temperature, T' = A T + B, so that a column is worked through by joining steps two
by two, and many equal steps are one power of A.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fieldplay.geometry.transforms import Array

STEP_S = 0.1


@dataclass(frozen=True, kw_only=True)
class Rotor:
    """The thermal model of a motor.

    Args:
        warmth_k_per_j: kelvin per joule.
        loss_w_per_k: watts lost to the case per kelvin.
        no_load_a: current without load.
        resistance_ohm: of the copper at a temperature.
        resistance_at_deg_c: that temperature.
        resistance_per_k: relative change of the resistance per kelvin.
    """

    warmth_k_per_j: float
    loss_w_per_k: float
    no_load_a: float
    resistance_ohm: float
    resistance_at_deg_c: float
    resistance_per_k: float


def rotor_from_settings(settings: Mapping[str, float]) -> Rotor:
    """Read the motor of a description.

    Args:
        settings: numbers by name.

    Returns:
        The motor.
    """
    return Rotor(**{name: float(value) for name, value in settings.items()})


def rotor_temperatures(
    rotor: Rotor, duration_s: Array, *, current_a: Array, voltage_v: Array, case_deg_c: Array, start_deg_c: Array
) -> Array:
    """Compute rotor temperatures at the ends of n intervals of time.

    Each interval is integrated in steps of 0.1 s as the arm's computer does: one of another length counts as so many
    steps or fractions of one.

    Args:
        rotor: the motor.
        duration_s: durations (n,) in s.
        current_a: currents (n, ...) during each interval.
        voltage_v: voltages (n, ...).
        case_deg_c: temperatures of the case (n, ...) in degrees Celsius.
        start_deg_c: temperatures of the rotor (...) before the first interval.

    Returns:
        Temperatures (n, ...) in degrees Celsius.
    """
    current_a, case_deg_c = np.asarray(current_a, float), np.asarray(case_deg_c, float)
    step = STEP_S * rotor.warmth_k_per_j
    copper_w = current_a**2 * rotor.resistance_ohm
    cold_fraction = 1.0 - rotor.resistance_per_k * rotor.resistance_at_deg_c
    factor = 1.0 + step * (copper_w * rotor.resistance_per_k - rotor.loss_w_per_k)
    gain = step * (copper_w * cold_fraction + rotor.no_load_a * np.abs(voltage_v) + rotor.loss_w_per_k * case_deg_c)
    steps = np.asarray(duration_s, float).reshape(-1, *(1,) * (factor.ndim - 1)) / STEP_S
    power = factor**steps
    grown = np.where(factor == 1.0, steps, (1.0 - power) / np.where(factor == 1.0, 1.0, 1.0 - factor))
    factors, gains = _compose_lines(power, gain * grown)
    return np.asarray(factors * start_deg_c + gains, float)


def _compose_lines(factors: Array, gains: Array) -> tuple[Array, Array]:
    """Compose lines (n, ...) cumulatively, each with all before it, in about log2(n) passes."""
    factors, gains = factors.copy(), gains.copy()
    reach = 1
    while reach < len(factors):
        gains[reach:] = factors[reach:] * gains[:-reach] + gains[reach:]
        factors[reach:] = factors[reach:] * factors[:-reach]
        reach *= 2
    return factors, gains
