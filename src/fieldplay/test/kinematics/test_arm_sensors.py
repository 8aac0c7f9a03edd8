"""Encoders, potentiometers and the temperature of rotors, with the numbers of InSight's arm."""

import numpy as np
import pytest

from fieldplay.kinematics.joint_transforms import (
    Encoders,
    Potentiometers,
    angles_from_counts,
    angles_from_readings,
)
from fieldplay.kinematics.rotor_temperature import rotor_from_settings, rotor_temperatures
from fieldplay_testing.insight_arm_settings import arm_description

CONSTANTS = arm_description()["constants"]
ROTOR = rotor_from_settings(CONSTANTS["rotor"])
TENTHS = np.full(10, 0.1)


def encoders() -> Encoders:
    numbers = CONSTANTS["encoder"]
    return Encoders(
        gear_ratio=np.array(numbers["gear_ratio"]),
        rad_per_turn=np.array(numbers["rad_per_count"]),
        offset_turns=np.array(numbers["offset_rev"]),
    )


def test_thousand_counts_give_known_angles() -> None:
    angles = angles_from_counts(encoders(), [[1000] * 4, [1001] * 4])
    np.testing.assert_allclose(angles[0], (1.458504, -2.395307, -0.432400, -0.174202), atol=1e-6)
    np.testing.assert_allclose(
        np.abs(np.diff(angles, axis=0))[0] * 1e3, (0.25133, 0.19635, 0.31416, 0.78540), atol=1e-5
    )


def test_potentiometer_at_zero_and_one_step_beyond() -> None:
    numbers = CONSTANTS["potentiometer"]
    pots = Potentiometers(zero=np.array(numbers["offset"]), per_rad=np.array(numbers["per_rad"]))
    np.testing.assert_allclose(angles_from_readings(pots, [1394.31, 2175.06, 955.99, 1491.77]), np.zeros(4), atol=1e-12)
    np.testing.assert_allclose(angles_from_readings(pots, [710.534, 2860.174, 1647.48, 2173.70]), np.ones(4), atol=1e-9)


def test_rotor_warms_by_known_amount() -> None:
    temperatures = rotor_temperatures(
        ROTOR, TENTHS, current_a=np.full(10, 0.1), voltage_v=np.full(10, 20.0), case_deg_c=np.full(10, -50.0),
        start_deg_c=np.array(-50.0),
    )  # fmt: skip
    np.testing.assert_allclose(temperatures[[0, 1, 9]], (-49.99529040, -49.99058494, -49.95309016), atol=1e-8)


def test_columns_of_several_motors_equal_step_by_step() -> None:
    rng = np.random.default_rng(4)
    current, volts = rng.uniform(-0.4, 0.4, (333, 4)), rng.uniform(-30, 30, (333, 4))
    case = rng.uniform(-80, 20, (333, 4))
    start = np.array([-60.0, -40.0, 0.0, 30.0])
    expected, now = [], start
    for amperes, voltage, around in zip(current, volts, case, strict=True):
        resistance = 42 * (1 + 0.00393 * (now - 20))
        heat = amperes**2 * resistance + 0.008 * np.abs(voltage) - (now - around) * 0.0885
        now = now + heat * 0.1 * 0.1014
        expected.append(now)
    tenths = np.full(333, 0.1)
    temperatures = rotor_temperatures(
        ROTOR, tenths, current_a=current, voltage_v=volts, case_deg_c=case, start_deg_c=start
    )
    np.testing.assert_allclose(temperatures, expected, atol=1e-9)


def test_long_step_equals_many_short_steps() -> None:
    values = {
        "current_a": np.array([0.1, -0.2]),
        "voltage_v": np.array([20, 25.0]),
        "case_deg_c": np.array([-50, -45.0]),
    }
    temperatures = rotor_temperatures(ROTOR, np.array([0.7, 0.3]), **values, start_deg_c=np.array(-48.0))
    each = {name: np.repeat(column, [7, 3]) for name, column in values.items()}
    steps = rotor_temperatures(ROTOR, TENTHS, **each, start_deg_c=np.array(-48.0))
    np.testing.assert_allclose(temperatures, steps[[6, 9]], atol=1e-9)


def test_rotor_at_rest_reaches_case_temperature_with_known_time_constant() -> None:
    rest = {"current_a": np.zeros(2), "voltage_v": np.zeros(2), "case_deg_c": np.full(2, -50.0)}
    temperatures = rotor_temperatures(ROTOR, np.array([111.4, 1e5]), **rest, start_deg_c=np.array(-40.0))
    assert temperatures[0] + 50 == pytest.approx(10 / np.e, abs=0.01)
    assert temperatures[1] == pytest.approx(-50, abs=1e-9)
