"""What an inertial unit feels: specific force, turn rates, the earth's magnetic field, the air; in base_link's axes.

The earth's own turn (7e-5 rad/s) and the curvature of its surface are left out: they are below the noise.
"""

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike

from fieldplay_samples.motion.ride import RigidMotion
from fieldplay_samples.motion.rotations import Floats, floats, rotate_vectors

# GRS 80: normal gravity at the equator, its dependence on latitude, and its change with height.
EQUATOR_M_S2, SOMIGLIANA, SQUARED_ECCENTRICITY, PER_M = 9.7803267715, 0.001931851353, 0.00669438002290, 3.0877e-6
# The standard atmosphere at sea level, and its lapse rate.
SEA_LEVEL_PA, SEA_LEVEL_K, LAPSE_K_M, EXPONENT, ZERO_CELSIUS_K = 101325.0, 288.15, 0.0065, 5.25588, 273.15


@dataclass(frozen=True, kw_only=True)
class InertialNoise:
    """White noise per square root of Hz; deviations of a bias drawn once, and of one that wanders over `wander_s`."""

    density: float
    bias: float
    wander: float
    wander_s: float = 100.0


@dataclass(frozen=True, kw_only=True)
class EarthField:
    """The earth's field: norm in gauss, declination (east of north) and inclination (below the horizon) in degrees."""

    norm_gauss: float
    declination_deg: float
    inclination_deg: float

    def in_enu(self) -> Floats:
        """The field (3,) in gauss: east, north, up."""
        declination, inclination = np.radians([self.declination_deg, self.inclination_deg])
        level = np.cos(inclination)
        direction = [level * np.sin(declination), level * np.cos(declination), -np.sin(inclination)]
        return self.norm_gauss * floats(direction)


def normal_gravity_m_s2(latitude_rad: float, altitude_m: float) -> float:
    """Gravity at a latitude and an ellipsoidal altitude."""
    square = float(np.sin(latitude_rad)) ** 2
    at_sea_level = EQUATOR_M_S2 * (1.0 + SOMIGLIANA * square) / np.sqrt(1.0 - SQUARED_ECCENTRICITY * square)
    return float(at_sea_level - PER_M * altitude_m)


def body_acceleration(motion: RigidMotion, time_s: Floats, point_m: ArrayLike = (0, 0, 0)) -> Floats:
    """Acceleration (n, 3) in m/s2 of a point fixed to the body, without gravity, in the body's axes."""
    return in_body(motion, time_s, motion.acceleration(time_s, point_m))


def specific_force(
    motion: RigidMotion, time_s: Floats, *, gravity_m_s2: float, point_m: ArrayLike = (0, 0, 0)
) -> Floats:
    """What an accelerometer shows (n, 3) in m/s2, in the body's axes: at rest +gravity along what is up."""
    return in_body(motion, time_s, motion.acceleration(time_s, point_m) + floats([0.0, 0.0, gravity_m_s2]))


def in_body(motion: RigidMotion, time_s: Floats, vectors: Floats) -> Floats:
    """Vectors of the world (n, 3) or (3,) in the body's axes (n, 3)."""
    rotation = motion.pose_at(time_s)[:, :3, :3]
    return rotate_vectors(np.swapaxes(rotation, -1, -2), np.broadcast_to(vectors, (len(time_s), 3)))


def noise_of(noise: InertialNoise, rng: np.random.Generator, *, count: int, rate_hz: float, axes: int = 3) -> Floats:
    """Errors (count, axes) of a sensor read at a rate: white noise, a constant bias, and a wandering one."""
    white = noise.density * np.sqrt(rate_hz) * rng.standard_normal((count, axes))
    wander = noise.wander * wandering(rng, count=count, rate_hz=rate_hz, over_s=noise.wander_s, axes=axes)
    return floats(white + noise.bias * rng.standard_normal(axes) + wander)


def wandering(rng: np.random.Generator, *, count: int, rate_hz: float, over_s: float, axes: int = 3) -> Floats:
    """Values (count, axes) of deviation one that are forgotten over so many seconds: Gauss and Markov's process."""
    decay = np.exp(-1.0 / (rate_hz * over_s))
    steps = rng.standard_normal((count, axes)) * np.sqrt(1.0 - decay * decay)
    steps[0] /= np.sqrt(1.0 - decay * decay)
    rows = [list(accumulate(column, lambda before, step: decay * before + step)) for column in steps.T.tolist()]
    return floats(np.transpose(rows))  # SciPy's filters give the same, and take longer to import than this to run


def pressure_pa(altitude_m: Floats) -> Floats:
    """Air pressure (n,) of the standard atmosphere at altitudes (n,)."""
    return floats(SEA_LEVEL_PA * (1.0 - LAPSE_K_M * altitude_m / SEA_LEVEL_K) ** EXPONENT)


def air_temperature_c(altitude_m: Floats, sea_level_c: float = SEA_LEVEL_K - ZERO_CELSIUS_K) -> Floats:
    """Air temperature (n,) at altitudes (n,), with the standard atmosphere's lapse rate."""
    return sea_level_c - LAPSE_K_M * altitude_m
