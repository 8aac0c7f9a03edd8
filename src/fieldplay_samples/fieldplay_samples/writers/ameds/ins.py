"""The tables of the INS (forward right down, at its own place): Gnss*.csv."""

from dataclasses import dataclass

import numpy as np

from fieldplay_samples.motion.frames import Floats, fixed_angles_from_rotation, flipped, floats, turned
from fieldplay_samples.sensors import inertial
from fieldplay_samples.sensors.gnss import Fixes, FixQuality, fixes, geodetic_from_enu
from fieldplay_samples.writers.ameds.scenario import AmedsScenario
from fieldplay_samples.writers.tables import TextColumn, columns, time_column

NED_FROM_ENU = floats([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
BODY, NED = ("x", "y", "z"), ("north", "east", "down")


@dataclass(frozen=True, eq=False, kw_only=True)
class InsTimes:
    """When the INS measures, and how many times a second."""

    scenario: AmedsScenario
    time_s: Floats
    rate_hz: float

    def noise(self, of: str) -> Floats:
        """The errors (n, 3) of what data/ameds.yaml names so."""
        numbers = inertial.InertialNoise(**self.scenario.numbers[of])
        return inertial.noise_of(numbers, self.scenario.rng(of), count=len(self.time_s), rate_hz=self.rate_hz)

    def wandering(self, of: str) -> Floats:
        """Errors (n, 3) of deviation one, that change as slowly as the filter's."""
        over = self.scenario.numbers["ins_wander_s"]
        return inertial.wandering(self.scenario.rng(of), count=len(self.time_s), rate_hz=self.rate_hz, over_s=over)


def ins_tables(scenario: AmedsScenario) -> dict[str, list[TextColumn]]:
    """The tables by the names of their files."""
    measured = InsTimes(scenario=scenario, time_s=scenario.times("ins"), rate_hz=scenario.numbers["rates_hz"]["ins"])
    tables = {
        "GnssImu": _imu(measured),
        "GnssPose": _pose(measured),
        "GnssBodyAcceleration": _acceleration(measured),
        "GnssBodyAngularVelocity": _rates(measured),
        **_velocities(measured),
    }
    return {
        f"{name}.csv": [time_column("time_s", scenario.stamps(measured.time_s, "ins", name)), *table]
        for name, table in tables.items()
    }


def _imu(measured: InsTimes) -> list[TextColumn]:
    scenario, time = measured.scenario, measured.time_s
    motion, point = scenario.drive.motion, scenario.robot.ins_point_m
    gravity = inertial.normal_gravity_m_s2(scenario.lander.latitude_rad, scenario.lander.altitude_m)
    force = inertial.specific_force(motion, time, gravity_m_s2=gravity, point_m=point)
    field = inertial.EarthField(**scenario.numbers["magnetic_field"])
    magnetic = inertial.in_body(motion, time, field.in_enu())
    return [
        *columns(
            [f"accelerometer_{axis}_m_s2" for axis in BODY], flipped(force) + measured.noise("accelerometer_m_s2"), 6
        ),
        *columns(
            [f"gyroscope_{axis}_deg_s" for axis in BODY],
            np.degrees(flipped(motion.body_rate(time)) + measured.noise("gyroscope_rad_s")),
            6,
        ),
        *columns(
            [f"magnetometer_{axis}_g" for axis in BODY], flipped(magnetic) + measured.noise("magnetometer_gauss"), 6
        ),
        *_air(measured),
    ]


def _air(measured: InsTimes) -> list[TextColumn]:
    scenario, time, air = measured.scenario, measured.time_s, measured.scenario.numbers["air"]
    altitude = scenario.lander.altitude_m + scenario.drive.motion.pose_at(time)[:, 2, 3]
    outside = inertial.air_temperature_c(altitude, air["sea_level_c"])
    noise = scenario.rng("air").standard_normal((3, len(time)))
    warming = air["unit_above_air_c"] - air["unit_warms_k"] * np.exp(-time / air["warming_s"])
    return [
        TextColumn(name="imu_temperature_c", values=outside + warming + air["noise_k"] * noise[0], decimals=3),
        TextColumn(name="pressure_pa", values=inertial.pressure_pa(altitude) + air["noise_pa"] * noise[1], decimals=2),
        TextColumn(name="temperature_c", values=outside + air["noise_k"] * noise[2], decimals=3),
    ]


def _acceleration(measured: InsTimes) -> list[TextColumn]:
    scenario = measured.scenario
    true = inertial.body_acceleration(scenario.drive.motion, measured.time_s, scenario.robot.ins_point_m)
    return columns([f"{axis}_m_s2" for axis in BODY], flipped(true) + measured.noise("ins_acceleration_m_s2"), 6)


def _rates(measured: InsTimes) -> list[TextColumn]:
    true = measured.scenario.drive.motion.body_rate(measured.time_s)
    return columns([f"{axis}_rad_s" for axis in BODY], flipped(true) + measured.noise("ins_rate_rad_s"), 9)


def _velocities(measured: InsTimes) -> dict[str, list[TextColumn]]:
    """The same velocity, and error, in the body's axes and in north east down."""
    scenario, time = measured.scenario, measured.time_s
    deviation = floats(scenario.numbers["ins_velocity_std_m_s"])
    true = scenario.drive.motion.velocity(time, scenario.robot.ins_point_m)
    moving = np.tanh(np.linalg.norm(true, axis=1, keepdims=True) / 0.05)  # at rest the filter knows that it is
    error = 0.5 * deviation * moving * measured.wandering("ins velocity")
    in_body = flipped(inertial.in_body(scenario.drive.motion, time, true + error))
    std = np.broadcast_to(deviation, true.shape)
    return {
        "GnssBodyVelocity": [
            *columns([f"{axis}_m_s" for axis in BODY], in_body, 6),
            *columns([f"std_{axis}_m_s" for axis in BODY], std, 6),
        ],
        "GnssNedVelocity": [
            *columns([f"{axis}_m_s" for axis in NED], (true + error) @ NED_FROM_ENU.T, 6),
            *columns([f"std_{axis}_m_s" for axis in NED], std, 6),
        ],
    }


def _pose(measured: InsTimes) -> list[TextColumn]:
    scenario, time = measured.scenario, measured.time_s
    quality = fixes(time, scenario.rng("fixes"), FixQuality(), outages_s=_outages(scenario))
    poses = scenario.drive.motion.pose_at(time)
    place = poses[:, :3, 3] + turned(poses[:, :3, :3], np.broadcast_to(scenario.robot.ins_point_m, (len(time), 3)))
    geodetic = geodetic_from_enu(scenario.lander, place + quality.error_m)
    return [
        time_column("device_time_s", scenario.unix_ns(time)),
        *columns(["latitude_rad", "longitude_rad"], geodetic[:, :2], 13),
        TextColumn(name="altitude_m", values=geodetic[:, 2], decimals=5),
        *columns([f"std_{axis}_m" for axis in NED], quality.std_m[:, [1, 0, 2]], 5),
        *columns(["roll_rad", "pitch_rad", "yaw_rad"], _attitude(measured, poses[:, :3, :3]), 9),
        _fix_type(quality),
    ]


def _attitude(measured: InsTimes, map_R_base: Floats) -> Floats:
    """Roll, pitch, and heading from north to east in 0..2 pi (n, 3), as the INS estimates them."""
    ned_R_frd = NED_FROM_ENU @ map_R_base @ np.diag([1.0, -1.0, -1.0])
    deviation = np.radians(measured.scenario.numbers["ins_attitude_std_deg"])
    angles = fixed_angles_from_rotation(ned_R_frd) + 0.5 * deviation * measured.wandering("ins attitude")
    angles[:, 2] %= 2.0 * np.pi
    return floats(angles)


def _outages(scenario: AmedsScenario) -> list[tuple[float, float]]:
    outage, seconds = scenario.numbers["outage"], scenario.seconds
    if seconds < outage["from_seconds"]:
        return []
    begin = outage["begin"] * seconds
    return [(begin, begin + min(outage["longest_s"], outage["length"] * seconds))]


def _fix_type(quality: Fixes) -> TextColumn:
    return TextColumn(name="fix_type", values=quality.fix_type)
