"""What an inertial unit shows, against hand computations."""

import numpy as np
import pytest

from fieldplay_samples.motion.ride import RigidMotion, motion_through
from fieldplay_samples.motion.rotations import Floats
from fieldplay_samples.sensors import inertial

TIME = np.linspace(0.0, 10.0, 201)
ETNA_RAD = np.radians(37.72351)


def motion_of(**columns: Floats) -> RigidMotion:
    names = ("x", "y", "z", "roll", "pitch", "yaw")
    return motion_through(TIME, np.stack([columns.get(name, np.zeros_like(TIME)) for name in names], axis=1))


def test_at_rest_accelerometer_shows_gravity_upwards() -> None:
    tilted = motion_of(roll=np.full_like(TIME, 0.1), pitch=np.full_like(TIME, -0.2))
    force = inertial.specific_force(tilted, np.array([3.0]), gravity_m_s2=9.79)[0]
    expected = 9.79 * np.array([np.sin(0.2), np.cos(0.2) * np.sin(0.1), np.cos(0.2) * np.cos(0.1)])
    np.testing.assert_allclose(force, expected, atol=1e-12)


def test_accelerometer_in_free_fall_shows_zero() -> None:
    falling = motion_of(z=-0.5 * 9.79 * TIME**2)
    force = inertial.specific_force(falling, np.array([1.0, 5.0]), gravity_m_s2=9.79)
    np.testing.assert_allclose(force, 0.0, atol=1e-9)


def test_accelerometer_in_curve_shows_centripetal_force_and_lever_arm() -> None:
    rate, radius = 0.4, 2.0
    circle = motion_of(x=radius * np.sin(rate * TIME), y=-radius * np.cos(rate * TIME), yaw=rate * TIME)
    inside = np.array([4.0, 6.0])
    acceleration = inertial.body_acceleration(circle, inside)
    np.testing.assert_allclose(acceleration, [[0.0, rate**2 * radius, 0.0]] * 2, atol=1e-6)
    ahead = inertial.body_acceleration(circle, inside, (0.5, 0.0, 0.0))
    np.testing.assert_allclose(ahead - acceleration, [[-(rate**2) * 0.5, 0.0, 0.0]] * 2, atol=1e-6)


def test_gravity_on_etna_is_less_than_at_sea_level() -> None:
    assert inertial.normal_gravity_m_s2(np.radians(45.0), 0.0) == pytest.approx(9.80620, abs=1e-5)
    assert inertial.normal_gravity_m_s2(ETNA_RAD, 2639.838) == pytest.approx(9.7915, abs=2e-4)


def test_magnetic_field_turns_with_body_and_keeps_its_norm() -> None:
    field = inertial.EarthField(norm_gauss=0.45, declination_deg=4.0, inclination_deg=50.0)
    heading_field = motion_of(yaw=np.full_like(TIME, np.radians(90.0 - 4.0)))  # towards magnetic north
    seen = inertial.in_body(heading_field, np.array([2.0]), field.in_enu())[0]
    down = np.radians(50.0)
    np.testing.assert_allclose(seen, [0.45 * np.cos(down), 0.0, -0.45 * np.sin(down)], atol=1e-12)


def test_standard_atmosphere_is_known_at_some_altitudes() -> None:
    altitude = np.array([0.0, 1000.0, 3000.0])
    np.testing.assert_allclose(inertial.pressure_pa(altitude), [101325.0, 89874.6, 70108.5], rtol=2e-4)
    np.testing.assert_allclose(inertial.air_temperature_c(altitude), [15.0, 8.5, -4.5])


def test_white_noise_has_its_density_and_bias_stays() -> None:
    noise = inertial.InertialNoise(density=0.001, bias=0.05, wander=0.0)
    errors = inertial.noise_of(noise, np.random.default_rng(1), count=100_000, rate_hz=100.0)
    np.testing.assert_allclose(errors.std(axis=0), 0.01, rtol=0.02)
    assert (np.abs(errors.mean(axis=0)) > 0.005).any()
    first, second = errors[:50_000].mean(axis=0), errors[50_000:].mean(axis=0)
    np.testing.assert_allclose(first, second, atol=3e-4)


def test_wandering_noise_has_unit_deviation_and_decorrelates() -> None:
    values = inertial.wandering(np.random.default_rng(2), count=400_000, rate_hz=100.0, over_s=2.0)
    np.testing.assert_allclose(values.std(axis=0), 1.0, atol=0.06)
    later = (values[200:] * values[:-200]).mean()
    assert later == pytest.approx(np.exp(-1.0), abs=0.06)
    starts = [
        inertial.wandering(np.random.default_rng(seed), count=1, rate_hz=100.0, over_s=2.0) for seed in range(300)
    ]
    assert np.std(starts) == pytest.approx(1.0, abs=0.1)
