"""The logs of Rosario's raw folder as text: imu.log, gps.log, odometry_raw.log and the ground truth."""

from collections.abc import Iterable
from datetime import datetime, timezone
from functools import reduce
from operator import xor
from pathlib import Path

import numpy as np

from fieldplay_samples.motion.frames import Floats
from fieldplay_samples.writers.rosario.measured import GpsRows, ImuRows, OdometryRows
from fieldplay_samples.writers.tables import NS_PER_S, Stamps

WHEEL_FIELDS = (1, 5, 9, 13)  # front left, front right, rear left, rear right
STEERING_FIELD, DIRECTION_FIELD = 16, 17


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file."""
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="")


def stamp_texts(stamp_ns: Stamps) -> list[str]:
    """Times in seconds with six digits, as all files have them."""
    return [f"{stamp // NS_PER_S}.{stamp % NS_PER_S // 1000:06d}" for stamp in stamp_ns.tolist()]


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
        for wheel, place in enumerate(WHEEL_FIELDS):
            fields[place] = f"{rows.rpm[number, wheel]:.2f}"
        fields[STEERING_FIELD], fields[DIRECTION_FIELD] = f"{rows.steering[number]:.2f}", str(rows.digit[number])
        lines.append(f"{stamp} ODOMETRY: ({','.join(fields)})")
    return lines


def gps_lines(rows: GpsRows, *, hdop: float, geoid_m: float) -> list[str]:
    """GGA and RMC of each fix, each with its own stamp."""
    lines = []
    stamps = zip(stamp_texts(rows.gga_ns), stamp_texts(rows.rmc_ns), strict=True)
    for number, (of_gga, of_rmc) in enumerate(stamps):
        when = datetime.fromtimestamp(int(rows.epoch_ns[number]) // 1_000_000 / 1e3, timezone.utc)
        clock, place = f"{when:%H%M%S}.{when.microsecond // 10_000:02d}", _place(rows.geodetic[number])
        height = rows.geodetic[number, 2] - geoid_m
        gga = f"GPGGA,{clock},{place},4,12,{hdop:.1f},{height:.3f},M,{geoid_m:.3f},M,0.8,0000"
        way = f"{rows.knots[number]:.4f},{rows.course_deg[number]:.2f}"
        rmc = f"GPRMC,{clock},A,{place},{way},{when:%d%m%y},,,A"
        lines += [f"{of_gga} GPS: {sentence(gga)}", f"{of_rmc} GPS: {sentence(rmc)}"]
    return lines


def sentence(body: str) -> str:
    """A sentence of NMEA with its checksum."""
    return f"${body}*{reduce(xor, body.encode('ascii'), 0):02X}"


def track_lines(stamp_ns: Stamps, track_m: Floats) -> list[str]:
    """The ground truth as the TUM benchmark has it, its rotation absent."""
    rows = zip(stamp_texts(stamp_ns), (np.round(track_m, 4) + 0.0).tolist(), strict=True)
    return [f"{stamp} {x:.4f} {y:.4f} {z:.4f} 0 0 0 1" for stamp, (x, y, z) in rows]


def _place(geodetic: Floats) -> str:
    latitude, longitude = np.degrees(geodetic[:2])
    north, east = "S" if latitude < 0.0 else "N", "W" if longitude < 0.0 else "E"
    return f"{_minutes(abs(latitude), 2)},{north},{_minutes(abs(longitude), 3)},{east}"


def _minutes(degrees: float, digits: int) -> str:
    """Degrees and minutes in one number, dddmm.mmmmmmm, with no sixtieth minute."""
    whole, part = divmod(round(degrees * 60.0 * 10**7), 60 * 10**7)
    return f"{whole:0{digits}d}{part // 10**7:02d}.{part % 10**7:07d}"
