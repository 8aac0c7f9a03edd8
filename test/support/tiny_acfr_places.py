"""More of a small dataset of ACFR, by hand: drives, radars, scenes, cameras and their calibration, for single tests."""

import math
import struct
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from support.tiny_acfr import START, TinyAcfr

Floats = NDArray[np.float64]
TAU = 2 * math.pi
CALIB_RESULTS = """% Intrinsic and Extrinsic Camera Parameters
%
% fc = [ 1 ; 2 ];
%-- Focal length:
fc = [ 7.90131547995049573e+02 ; 826.825751328548790 ];

%-- Principal point:
cc = [ 328.685823692670340 ; 164.376489311973216 ];

%-- Skew coefficient:
alpha_c = {skew};

%-- Distortion coefficients:
kc = [ -0.466898225930376 ; 2.46094535921152e-01 ; -1.5E-3 ; .00225 ; 0.000000000000000 ];

%-- Focal length uncertainty:
fc_error = [ 5.782900000000000 ; 6.015100000000000 ];

%-- Image size:
nx = 640;
ny = 480;

%-- Various other variables (may be ignored if you do not use the Matlab Calibration Toolbox):
n_ima = 2;\t\t\t\t\t\t% Number of calibration images
est_fc = [ 1 ; 1 ];
omc_1 = [ 2.1 ; 2.2 ; -0.1 ];
"""


def text_at(seconds: float, digits: int = 6) -> str:
    """A time so long after the start, as text."""
    micro = round(seconds * 1e6)
    whole, part = divmod(micro, 10**6)
    return f"{START + whole}.{part:06d}"[: 11 + digits]


def write_nav(archive: TinyAcfr, states: Sequence[Sequence[float]], covariance: Floats, *, rate_hz: float = 20) -> None:
    """NavQAsciiData.txt of these states (12 numbers), all with one covariance (12, 12)."""
    tail = [repr(float(value)) for value in covariance.reshape(-1)]
    lines = [
        archive.line(text_at(index / rate_hz), "NAV_DATA", *(repr(float(value)) for value in state), *tail)
        for index, state in enumerate(states)
    ]
    archive.write("Nav/NavQAsciiData.txt", lines)


def any_covariance(seed: int = 3) -> Floats:
    """A full covariance (12, 12), of the size of an RTK solution's."""
    root = np.random.default_rng(seed).normal(size=(12, 12)) * 0.02
    return root @ root.T


def rolling_drive(
    *, rates: str, seconds: float = 20, rate_hz: int = 20, true_north_deg: float = 0.0
) -> list[list[float]]:
    """A drive along a bend over rough ground: states whose rates are those of the angles, or of the body.

    The yaw is off the course by so many degrees, as one from true north is.
    """
    states = []
    for index in range(int(seconds * rate_hz)):
        t = index / rate_hz
        roll, d_roll = 0.25 * math.sin(0.9 * t), 0.25 * 0.9 * math.cos(0.9 * t)
        pitch, d_pitch = 0.2 * math.cos(0.7 * t), -0.2 * 0.7 * math.sin(0.7 * t)
        yaw, d_yaw = 0.8 * math.sin(0.3 * t), 0.8 * 0.3 * math.cos(0.3 * t)
        message = [d_roll, d_pitch, d_yaw]
        if rates == "body":
            message = body_rates([roll, pitch, yaw], message)
        north, east = 6154241.229 + 1.5 * t, 225261.411 + math.sin(0.3 * t)
        velocity = [1.5, 0.3 * math.cos(0.3 * t), 0.0]
        states.append([north, east, -600.0, *velocity, roll, pitch, yaw + math.radians(true_north_deg), *message])
    return states


def body_rates(angles: Sequence[float], rates: Sequence[float]) -> list[float]:
    """Rates about the axes of the body by small turns of scipy's."""
    step = 1e-6
    before, after = (
        Rotation.from_euler(
            "ZYX", [angle + sign * step * rate for angle, rate in zip(angles, rates, strict=True)][::-1]
        )
        for sign in (-1, 1)
    )
    values: list[float] = ((before.inv() * after).as_rotvec() / (2 * step)).tolist()
    return values


def straight_drive(*, yaw_off_deg: float, backward: bool = False) -> list[list[float]]:
    """A minute straight ahead, or backward, at 2 m/s on a course of 30 degrees."""
    course, sign = math.radians(30), -1 if backward else 1
    velocity = [sign * 2 * math.cos(course), sign * 2 * math.sin(course), 0.0]
    return [
        [
            6154241.229 + velocity[0] * index / 20,
            225261.411 + velocity[1] * index / 20,
            -600.0,
            *velocity,
            0.0,
            0.0,
            course + math.radians(yaw_off_deg),
            0.0,
            0.0,
            0.0,
        ]
        for index in range(200)
    ]


def write_radar(archive: TinyAcfr, samples: Sequence[tuple[float, float, float, float]], *, unit: int = 3) -> None:
    """RadarRangeBearing of (seconds, bearing in rad, range, reflectivity)."""
    lines = [
        archive.line(
            text_at(t), "RANGE_REFLECTIVITY_DATA", f"{angle:.6f}", "0", "0", str(unit), "1", repr(r), repr(level)
        )
        for t, angle, r, level in samples
    ]
    archive.write("RadarRangeBearing/RangeBearingQAsciiData.txt", lines)


def write_spectrum(archive: TinyAcfr, samples: Sequence[tuple[float, float, Sequence[float]]]) -> None:
    """RadarSpectrum of (seconds, bearing in degrees, values)."""
    lines = [archive.line(text_at(t), f"{deg:.4f}", *(repr(float(v)) for v in values)) for t, deg, values in samples]
    archive.write("RadarSpectrum/HSR_ScalarPoints1.txt", lines)


def bmp_of(image: NDArray[np.uint8], *, palette: Sequence[tuple[int, int, int]] = (), top_down: bool = False) -> bytes:
    """A BMP of numbers (height, width) with a palette (blue, green, red), or of colours (height, width, 3)."""
    height, width = image.shape[:2]
    bits = 8 * (1 if image.ndim == 2 else image.shape[2])
    rows = image if top_down else image[::-1]
    padding = bytes(-len(rows[0].tobytes()) % 4)
    data = b"".join(row.tobytes() + padding for row in rows)
    table = b"".join(bytes([*entry, 0]) for entry in palette)
    start = 54 + len(table)
    head = struct.pack("<2sIHHI", b"BM", start + len(data), 0, 0, start)
    signed = -height if top_down else height
    info = struct.pack("<IiiHHIIiiII", 40, width, signed, 1, bits, 0, len(data), 0, 0, len(palette), 0)
    return head + info + table + data


GREYS = [(grey, grey, grey) for grey in range(256)]


def write_video(archive: TinyAcfr, folder: str, pictures: dict[str, bytes], *, step_s: float = 0.1) -> None:
    """Pictures and their log, in this order."""
    images = archive.root / folder / "Images"
    images.mkdir(parents=True, exist_ok=True)
    lines = []
    for index, (name, data) in enumerate(pictures.items()):
        (images / name).write_bytes(data)
        lines.append(archive.line(text_at(index * step_s), "VISION_FRAME", name))
    archive.write(f"{folder}/VideoLogAscii.txt", lines)


def write_scans(archive: TinyAcfr, range_m: Callable[[float], float], *, seconds: float = 1.0) -> None:
    """LaserHorizontal's lines of a scene: the range by the angle in degrees, clockwise from ahead."""
    lines = []
    for index in range(int(75 * seconds)):
        first = -90 + 0.25 * (index % 4)
        angles = [first + beam for beam in range(181 if index % 4 == 0 else 180)]
        ranges = [str(round(100 * range_m(angle))) for angle in angles]
        numbers = [math.radians(first), math.radians(1), math.radians(angles[-1])]
        lines.append(
            archive.line(
                text_at(index / 75), "RANGE_DATA", *(f"{n:.9f}" for n in numbers), "2", str(len(ranges)), *ranges
            )
        )
    archive.write("LaserHorizontal/RangeBearingQAsciiData.txt", lines)
