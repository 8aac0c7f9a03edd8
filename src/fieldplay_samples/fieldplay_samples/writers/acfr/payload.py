"""The vehicle's own values: setpoints, brakes, engine, batteries, and what its wheels turn with."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldplay_samples.motion.frames import Floats, floats
from fieldplay_samples.robots.argo import wheel_rates
from fieldplay_samples.sensors.inertial import wandering
from fieldplay_samples.writers.acfr.lines import marked_lines, number_texts
from fieldplay_samples.writers.acfr.scenario import AcfrScenario
from fieldplay_samples.writers.tables import Stamps

SENSORS = ("engine_rpm", "gearbox_rpm", "battery_12v", "battery_24v", "left_rad_s", "right_rad_s")  # ids 0 to 5
ROLLING_RAD_S = 0.02
STEP_S = 0.002  # between the lines of a round of messages


@dataclass(frozen=True, eq=False, kw_only=True)
class Body:
    """What the vehicle does (n,): speed in m/s, turn in rad/s (left positive), its sides' rates (n, 2) in rad/s."""

    speed_m_s: Floats
    turn_rad_s: Floats
    wheels_rad_s: Floats


def body_at(scenario: AcfrScenario, time: Floats) -> Body:
    """The true motion at times (n,); the wheels without slip."""
    speed = scenario.drive.motion.body_velocity(time)[:, 0]
    turn = scenario.drive.motion.body_rate(time)[:, 2]
    return Body(speed_m_s=speed, turn_rad_s=turn, wheels_rad_s=wheel_rates(scenario.robot, speed, turn))


def payload_lines(scenario: AcfrScenario) -> list[str]:
    """The lines of PayloadData1.txt, in the order of time."""
    time = scenario.times("payload")
    stamps: list[Stamps] = []
    texts: list[list[str]] = []
    for number, (head, values) in enumerate(_messages(scenario, time)):
        stamps.append(scenario.unix_ns(time + number * STEP_S))
        texts.append([f"{head} {text}" for text in number_texts(values, "%.4f")])
    order = np.argsort(np.concatenate(stamps), kind="stable")
    flat = [text for of_type in texts for text in of_type]
    return marked_lines(np.concatenate(stamps)[order], [flat[row] for row in order.tolist()])


def _messages(scenario: AcfrScenario, time: Floats) -> list[tuple[str, Floats]]:
    """The messages of a round: how each begins, and its values (n, m)."""
    body, numbers = body_at(scenario, time), scenario.numbers["payload"]
    throttle = np.clip(np.abs(body.speed_m_s) / scenario.numbers["limits"]["fastest_m_s"], 0.0, 1.0)[:, None]
    choke = np.full_like(throttle, 0.1)
    brakes = _brakes(numbers, body)
    sensors = sensor_values(scenario, body, time)
    heads = [f"SENSOR_DATA {number}" for number in range(len(SENSORS))]
    return [
        ("SERVO_SETPOINT_DATA", np.hstack([choke, throttle])),
        ("VELOCITY_TURN_RATE_DATA", np.stack([body.speed_m_s, -body.turn_rad_s], axis=1)),
        *((head, sensors[:, [column]]) for column, head in enumerate(heads)),
        ("BRAKE_DATA", np.hstack([brakes, numbers["brake_pressure"] * brakes])),
        ("ACTUATOR_SETPOINT_DATA", np.hstack([choke, throttle, brakes])),
    ]


def _brakes(numbers: dict[str, Any], body: Body) -> Floats:
    """Positions (n, 2) of the left and the right brakes, 0 to 1: the inner side is braked."""
    turn = numbers["brake_per_rad_s"] * body.turn_rad_s
    return floats(np.clip(np.stack([turn, -turn], axis=1), 0.0, 1.0))


def sensor_values(scenario: AcfrScenario, body: Body, time: Floats) -> Floats:
    """What the sensors with ids 0 to 5 say (n, 6)."""
    numbers, rng = scenario.numbers["payload"], scenario.rng("payload")
    rate, slip = scenario.numbers["rates_hz"]["payload"], numbers["slip"]
    slips = wandering(rng, count=len(time), rate_hz=rate, over_s=slip["wander_s"], axes=2)
    noise = numbers["noise_rad_s"] * rng.standard_normal((len(time), 2))
    rolling = np.abs(body.wheels_rad_s) > ROLLING_RAD_S
    wheels = body.wheels_rad_s * (1.0 + slip["share"] * slips) + rolling * noise
    engine, volts = numbers["engine_rpm"], numbers["volts"]
    rpm = engine["idle"] + engine["per_m_s"] * np.abs(body.speed_m_s) + engine["noise"] * rng.standard_normal(len(time))
    gearbox = numbers["gearbox_rpm_per_wheel_rpm"] * np.abs(wheels.mean(axis=1)) * 60.0 / (2 * np.pi)
    batteries = [volts[name] + volts["noise"] * rng.standard_normal(len(time)) for name in SENSORS[2:4]]
    return np.column_stack([rpm, gearbox, *batteries, wheels])
