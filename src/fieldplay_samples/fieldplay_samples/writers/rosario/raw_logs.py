"""What the sensors of Rosario measure, in their own units and with the digits of the logs."""

from dataclasses import dataclass
from datetime import datetime, timezone
from functools import reduce
from operator import xor

import numpy as np

from fieldplay_samples.motion.rotations import (
    Floats,
    floats,
    rotate_vectors,
    transform_points,
)
from fieldplay_samples.sensors import inertial
from fieldplay_samples.sensors.gnss import FixQuality, fixes, geodetic_from_enu
from fieldplay_samples.writers.rosario.scenario import RosarioScenario
from fieldplay_samples.writers.text_tables import Stamps, stamp_texts

STANDARD_GRAVITY_M_S2 = 9.80665
KNOT_M_S = 0.514444
WHEEL_FIELDS = (1, 5, 9, 13)  # front left, front right, rear left, rear right
STEERING_FIELD, DIRECTION_FIELD = 16, 17


@dataclass(frozen=True, eq=False, kw_only=True)
class ImuRows:
    """Stamps (n,) in ns, turn rates (n, 3) in deg/s, forces (n, 3) in thousandths of gravity: with their offsets."""

    stamp_ns: Stamps
    gyro_deg_s: Floats
    force_milli_g: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class GpsRows:
    """Fixes of the antenna: epochs and stamps of both sentences (n,) in ns, geodetic (n, 3) in rad and m, its way.

    `enu_m` (n, 3) is the same place in the map; `knots` and `course_deg` (n,) are the measured speed over the ground.
    """

    epoch_ns: Stamps
    gga_ns: Stamps
    rmc_ns: Stamps
    geodetic: Floats
    enu_m: Floats
    knots: Floats
    course_deg: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class OdometryRows:
    """Stamps (n,) in ns; rpm (n, 4) front left, front right, rear left, rear right; raw steering, direction digit."""

    stamp_ns: Stamps
    rpm: Floats
    steering: Floats
    digit: Stamps


def imu_rows(scenario: RosarioScenario) -> ImuRows:
    """The IMU's rows, turned into its axes."""
    time, rate = scenario.times("imu"), scenario.numbers["rates_hz"]["imu"]
    motion, offsets = scenario.drive.motion, scenario.rig.calibration["imu"]
    base_T_imu = scenario.rig.base_T_imu
    gravity = inertial.normal_gravity_m_s2(scenario.origin.latitude_rad, scenario.origin.altitude_m)
    force = inertial.specific_force(motion, time, gravity_m_s2=gravity, point_m=base_T_imu[:3, 3]) @ base_T_imu[:3, :3]
    rates = motion.body_rate(time) @ base_T_imu[:3, :3]
    for of, values in (("accelerometer_m_s2", force), ("gyroscope_rad_s", rates)):
        noise = inertial.InertialNoise(**scenario.numbers[of])
        values += inertial.noise_of(noise, scenario.rng(of), count=len(time), rate_hz=rate)
    return ImuRows(
        stamp_ns=_batch_stamps(scenario, scenario.unix_ns(time)),
        gyro_deg_s=np.round(np.degrees(rates) + floats(offsets["gyro_offset"]), 5),
        force_milli_g=np.round(force * 1000.0 / STANDARD_GRAVITY_M_S2 + floats(offsets["acc_offset"]), 4),
    )


def gps_rows(scenario: RosarioScenario) -> GpsRows:
    """Fixes with fixed ambiguities, at their epochs."""
    time, numbers = scenario.times("gps"), scenario.numbers
    antenna = scenario.rig.base_T_gps[:3, 3]
    error = fixes(time, scenario.rng("fixes"), FixQuality(), outages_s=[]).error_m
    position = transform_points(scenario.drive.motion.pose_at(time), np.broadcast_to(antenna, (len(time), 3))) + error
    velocity = scenario.drive.motion.velocity(time, antenna)[:, :2]
    velocity += numbers["gps_velocity_std_m_s"] * scenario.rng("velocity").standard_normal(velocity.shape)
    return GpsRows(
        epoch_ns=scenario.unix_ns(time),
        gga_ns=scenario.unix_ns(time + numbers["gps_latency_s"]["gga"]),
        rmc_ns=scenario.unix_ns(time + numbers["gps_latency_s"]["rmc"]),
        geodetic=geodetic_from_enu(scenario.origin, position),
        enu_m=position,
        knots=np.round(np.hypot(velocity[:, 0], velocity[:, 1]) / KNOT_M_S, 4),
        course_deg=np.round(np.degrees(np.arctan2(velocity[:, 0], velocity[:, 1])) % 360.0, 2) % 360.0,
    )


def odometry_rows(scenario: RosarioScenario, speeds_m_s: Floats) -> OdometryRows:
    """The controller's rows from the rims' speeds (n, 4): rpm have no sign, and one is false now and then."""
    time, wheels = scenario.times("odometry"), scenario.numbers["wheels"]
    rng = scenario.rng("wheels")
    rolling = np.abs(speeds_m_s) > 0.005
    noise = wheels["noise_rpm"] * rng.standard_normal(speeds_m_s.shape)
    rpm = np.abs(scenario.robot.rpm_from_speed(speeds_m_s) + rolling * noise)
    false = np.flatnonzero(rng.uniform(size=len(time)) < wheels["false_share"])
    rpm[false, rng.integers(0, 4, len(false))] = wheels["false_rpm"]
    steering = scenario.robot.raw_from_steering(scenario.wheels.steering_rad.at(time))
    return OdometryRows(
        stamp_ns=scenario.unix_ns(time),
        rpm=np.round(rpm, 2),
        steering=np.round(steering, 2),
        digit=(scenario.wheels.speed_m_s.at(time) < 0.0).astype(np.int64),
    )


def track_from_start(scenario: RosarioScenario, rows: GpsRows) -> Floats:
    """The antenna's way (n, 3) in m from its first fix, x along the robot's first heading.

    It is taken in the map, not in UTM: the grid's convergence goes with the turn, its scale is a millimetre in 12 m.
    """
    forward = scenario.drive.motion.pose_at(floats([0.0]))[0, :2, 0]
    x, y = forward / np.linalg.norm(forward)
    turn = floats([[x, y, 0.0], [-y, x, 0.0], [0.0, 0.0, 1.0]])
    return rotate_vectors(np.broadcast_to(turn, (len(rows.enu_m), 3, 3)), rows.enu_m - rows.enu_m[0])


def _batch_stamps(scenario: RosarioScenario, measured_ns: Stamps) -> Stamps:
    """Return stamps (n,): rows that arrive together over USB share that of the last one."""
    if not scenario.settings["usb_batches"]:
        return measured_ns
    sizes = scenario.rng("batches").integers(1, scenario.numbers["largest_batch"] + 1, len(measured_ns))
    stops = np.minimum(np.cumsum(sizes), len(measured_ns)) - 1
    last = stops[np.searchsorted(stops, np.arange(len(measured_ns)))]
    return np.asarray(measured_ns[last] + round(scenario.numbers["batch_latency_s"] * 1e9), dtype=np.int64)


# The logs of Rosario's raw folder as text: imu.log, gps.log, odometry_raw.log and the ground truth.


def imu_lines(rows: ImuRows) -> list[str]:
    """Time, label, counter, deg/s, thousandths of gravity."""
    values = np.hstack([rows.gyro_deg_s, rows.force_milli_g]).tolist()
    numbers = "{:.5f} {:.5f} {:.5f} {:.4f} {:.4f} {:.4f}".format
    return [
        f"{stamp} IMU: {count} {numbers(*row)}"
        for count, (stamp, row) in enumerate(zip(stamp_texts(rows.stamp_ns), values, strict=True))
    ]


def odometry_lines(rows: OdometryRows) -> list[str]:
    """Time, label, and the controller's text of 18 fields, of which those of no known meaning are zero."""
    lines = []
    for number, stamp in enumerate(stamp_texts(rows.stamp_ns)):
        fields = ["0"] * (DIRECTION_FIELD + 1)
        for wheel, index in enumerate(WHEEL_FIELDS):
            fields[index] = f"{rows.rpm[number, wheel]:.2f}"
        fields[STEERING_FIELD], fields[DIRECTION_FIELD] = f"{rows.steering[number]:.2f}", str(rows.digit[number])
        lines.append(f"{stamp} ODOMETRY: ({','.join(fields)})")
    return lines


def gps_lines(rows: GpsRows, *, hdop: float, geoid_m: float) -> list[str]:
    """GGA and RMC of each fix, each with its own stamp."""
    lines = []
    stamps = zip(stamp_texts(rows.gga_ns), stamp_texts(rows.rmc_ns), strict=True)
    for number, (of_gga, of_rmc) in enumerate(stamps):
        when = datetime.fromtimestamp(int(rows.epoch_ns[number]) // 1_000_000 / 1e3, timezone.utc)
        clock, position = f"{when:%H%M%S}.{when.microsecond // 10_000:02d}", _position_text(rows.geodetic[number])
        height = rows.geodetic[number, 2] - geoid_m
        gga = f"GPGGA,{clock},{position},4,12,{hdop:.1f},{height:.3f},M,{geoid_m:.3f},M,0.8,0000"
        motion = f"{rows.knots[number]:.4f},{rows.course_deg[number]:.2f}"
        rmc = f"GPRMC,{clock},A,{position},{motion},{when:%d%m%y},,,A"
        lines += [f"{of_gga} GPS: {sentence(gga)}", f"{of_rmc} GPS: {sentence(rmc)}"]
    return lines


def sentence(body: str) -> str:
    """A sentence of NMEA with its checksum."""
    return f"${body}*{reduce(xor, body.encode('ascii'), 0):02X}"


def track_lines(stamp_ns: Stamps, track_m: Floats) -> list[str]:
    """The ground truth as the TUM benchmark has it, its rotation absent."""
    rows = zip(stamp_texts(stamp_ns), (np.round(track_m, 4) + 0.0).tolist(), strict=True)
    return [f"{stamp} {x:.4f} {y:.4f} {z:.4f} 0 0 0 1" for stamp, (x, y, z) in rows]


def _position_text(geodetic: Floats) -> str:
    latitude, longitude = np.degrees(geodetic[:2])
    north, east = "S" if latitude < 0.0 else "N", "W" if longitude < 0.0 else "E"
    return f"{_minutes(abs(latitude), 2)},{north},{_minutes(abs(longitude), 3)},{east}"


def _minutes(degrees: float, digits: int) -> str:
    """Degrees and minutes in one number, dddmm.mmmmmmm, with no sixtieth minute."""
    whole, part = divmod(round(degrees * 60.0 * 10**7), 60 * 10**7)
    return f"{whole:0{digits}d}{part // 10**7:02d}.{part % 10**7:07d}"
