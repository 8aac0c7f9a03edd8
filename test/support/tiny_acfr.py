"""A small dataset of ACFR with known numbers in its ten folders, written by hand here.

Nothing in it comes from the code under test. Layout and numbers are those that the facts of the dataset name.
"""

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

START = 1224198733  # within 29-DynamicDayTriangleClear
START_NS = START * 10**9
LASERS = ("LaserHorizontal", "LaserVertical", "LaserPort", "LaserStarboard")
LASER_HZ, NAV_HZ, RADAR_HZ, PAYLOAD_HZ, VISUAL_HZ, IR_HZ = 75, 20, 1000, 10, 2, 4
STEP_RAD = 0.0174532925
CM, MM = 2, 1
POLE_DEG, POLE_CM = -33, 349  # the left frame pole as LaserHorizontal has it: clockwise from ahead
EAST_M, NORTH_M, DOWN_M = 225261.411, 6154241.229, -600.0  # UTM zone 56, at 34.717 S 150 E
RADAR_BINS, RADAR_BEARINGS = 512, 125  # range bins of a line, lines of a turn
M_PER_BIN = 0.28150254336  # of 512 bins
VISUAL_SIZE, IR_SIZE = (1360, 1024), (511, 398)
SPEED_M_S, YAW_RAD, YAW_RATE_RAD_S = 2.0, 0.3, 0.1  # NED: it drives ahead and turns to starboard
LEFT_RAD_S, RIGHT_RAD_S = 6.5, 6.0
ENGINE_RPM, GEARBOX_RPM, SMALL_V, LARGE_V = 1500.0, 300.0, 12.6, 25.1


def times(rate_hz: int, seconds: float, *, late_us: int = 0) -> Iterator[tuple[int, str, int]]:
    """The index, the time as text with six digits, and nanoseconds since 1970."""
    for index in range(int(rate_hz * seconds)):
        micro = index * 10**6 // rate_hz + late_us
        yield index, f"{START + micro // 10**6}.{micro % 10**6:06d}", (START * 10**6 + micro) * 1000


def first_deg(index: int) -> float:
    """Where a line of the lasers begins: four successive lines begin a quarter of a degree later each."""
    return -90 + 0.25 * (index % 4)


def beams(index: int) -> int:
    """How many ranges a line of the lasers has."""
    return 181 if index % 4 == 0 else 180


def ranges_cm(laser: str, index: int) -> list[int]:
    """1000 and the beam's number; another hundred for each further laser, and the pole before LaserHorizontal."""
    actual = [1000 + 100 * LASERS.index(laser) + beam for beam in range(beams(index))]
    if laser == "LaserHorizontal":
        for beam in range(beams(index)):
            if abs(first_deg(index) + beam - POLE_DEG) < 0.6:
                actual[beam] = POLE_CM
    return actual


def laser_numbers(laser: str, index: int) -> list[str]:
    """Start, step, end, unit, number of ranges, ranges."""
    ranges = ranges_cm(laser, index)
    start = math.radians(first_deg(index))
    angles = [start, STEP_RAD, start + STEP_RAD * (len(ranges) - 1)]
    return [*(f"{angle:.9f}" for angle in angles), str(CM), str(len(ranges)), *map(str, ranges)]


def nav_numbers(index: int) -> list[str]:
    """Place, velocity, angles and rates in NED, and a covariance whose entry (i, j) is told by its place."""
    t = index / NAV_HZ
    north, east = (SPEED_M_S * t * turn(YAW_RAD) for turn in (math.cos, math.sin))
    velocity = [SPEED_M_S * math.cos(YAW_RAD), SPEED_M_S * math.sin(YAW_RAD), 0.0]
    state = [NORTH_M + north, EAST_M + east, DOWN_M, *velocity, 0.01, -0.02, YAW_RAD, 0.0, 0.0, YAW_RATE_RAD_S]
    return [f"{value:.9f}" for value in [*state, *(value for row in nav_covariance() for value in row)]]


def nav_covariance() -> list[list[float]]:
    """Symmetric, 12 x 12: variances 0.01, 0.02 ... 0.12, and a thousandth of the sum of both places beside them."""
    return [
        [0.01 * (row + 1) if row == column else 0.0001 * (row + column + 2) for column in range(12)]
        for row in range(12)
    ]


def radar_rad(index: int) -> float:
    """The radar's bearing, in (-pi, pi]."""
    turn = (index % RADAR_BEARINGS) / RADAR_BEARINGS
    return math.pi * (2 * turn - 1) + math.pi / RADAR_BEARINGS


def radar_range_m(index: int) -> float:
    return 5.0 + 0.1 * (index % RADAR_BEARINGS)


def radar_numbers(index: int) -> list[str]:
    """Bearing, a step of 0, its end which equals the step, metres, one value: range and reflectivity."""
    return [f"{radar_rad(index):.9f}", "0", "0", "3", "1", f"{radar_range_m(index):.4f}", f"{60 + index % 7:.2f}"]


def peak_bin(index: int) -> float:
    """The bin, counted from 1, of the range that RadarRangeBearing has."""
    return (radar_range_m(index) + 0.3507) / M_PER_BIN


def spectrum_numbers(index: int) -> list[str]:
    """The bearing in degrees, and a parabola of height 80 at the range, over a floor of 20."""
    values = ["20.0"] * RADAR_BINS
    nearest = round(peak_bin(index))
    for number in (nearest - 1, nearest, nearest + 1):
        values[number - 1] = f"{80 - 10 * (number - peak_bin(index)) ** 2:.6f}"
    return [f"{math.degrees(radar_rad(index)):.6f}", *values]


def payload_lines(index: int) -> list[tuple[str, list[str]]]:
    """The lines of one time: type and numbers."""
    sensors = [ENGINE_RPM, GEARBOX_RPM, SMALL_V, LARGE_V, LEFT_RAD_S, RIGHT_RAD_S]
    return [
        *(("SENSOR_DATA", [str(sensor), f"{value:.3f}"]) for sensor, value in enumerate(sensors)),
        ("VELOCITY_TURN_RATE_DATA", [f"{SPEED_M_S:.3f}", f"{YAW_RATE_RAD_S:.3f}"]),
        ("BRAKE_DATA", ["0.1", "0.2", "30", "40"]),
        ("SERVO_SETPOINT_DATA", ["0.5", f"{0.6 + index / 100:.2f}"]),
        ("ACTUATOR_SETPOINT_DATA", ["0.5", "0.7", "0.8", "0.9"]),
    ]


def bmp(width: int, height: int, pixel: Callable[[int, int], bytes], depth: int) -> bytes:
    """A Windows bitmap of so many bits, from below, its rows of a multiple of four bytes; of 8 bits with a palette."""
    palette = b"".join(bytes([grey, grey, grey, 0]) for grey in range(256)) if depth == 8 else b""
    one = b"".join(pixel(0, column) for column in range(width))
    rows = [one] * height if pixel is plain_grey else [
        b"".join(pixel(row, column) for column in range(width)) for row in range(height - 1, -1, -1)
    ]  # fmt: skip
    padding = bytes(-len(one) % 4)
    data = b"".join(row + padding for row in rows)
    offset = 14 + 40 + len(palette)
    head = struct.pack("<2sIHHI", b"BM", offset + len(data), 0, 0, offset)
    info = struct.pack("<IiiHHIIiiII", 40, width, height, 1, depth, 0, len(data), 0, 0, 256 if palette else 0, 0)
    return head + info + palette + data


def plain_grey(row: int, column: int) -> bytes:
    """A picture of which all rows are alike."""
    return bytes([column % 256])


def colour(row: int, column: int) -> bytes:
    """Blue by the column, green by the row, red on the right half."""
    return bytes([column % 256, row % 256, 200 if column >= VISUAL_SIZE[0] // 2 else 0])


def image_name(text: str) -> str:
    """The name of a picture: `-0` stands for the point."""
    whole, _, fraction = text.partition(".")
    return f"Image{whole}-0{fraction}.bmp"


@dataclass
class TinyAcfr:
    """One dataset in its folder, and how its lines are written."""

    root: Path
    seconds: float = 1.0
    dynamic: bool = True
    star: str = "*"
    separator: str = " "
    end: str = "\n"
    visual_size: tuple[int, int] = VISUAL_SIZE
    lost: Callable[[int], bool] = field(default=lambda index: False)  # lines of the lasers that are not there

    def write_all(self) -> None:
        self.write_lasers()
        self.write_nav()
        self.write_radar()
        self.write_spectrum()
        self.write_videos()
        if self.dynamic:
            self.write_payload()

    def line(self, *arguments: str) -> str:
        """One line: a time, perhaps a type, numbers."""
        return self.star + self.separator.join(arguments) + self.end

    def write(self, name: str, lines: Sequence[str]) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes("".join(lines).encode())
        return path

    def write_lasers(self) -> None:
        for laser in LASERS:
            self.write(f"{laser}/RangeBearingQAsciiData.txt", self.laser_lines(laser))

    def laser_lines(self, laser: str) -> list[str]:
        return [
            self.line(text, "RANGE_DATA", *laser_numbers(laser, index))
            for index, text, _ in times(LASER_HZ, self.seconds)
            if not self.lost(index)
        ]

    def write_matlab_lasers(self) -> None:
        """The lines as Matlab has them: no star, no type."""
        for laser in LASERS:
            lines = [
                " ".join([text, *laser_numbers(laser, index)]) + self.end
                for index, text, _ in times(LASER_HZ, self.seconds)
            ]
            self.write(f"Calibration/matlabAsciiLaserData/matlab{laser}Data.txt", lines)

    def write_nav(self) -> None:
        lines = [self.line(text, "NAV_DATA", *nav_numbers(index)) for index, text, _ in times(NAV_HZ, self.seconds)]
        self.write("Nav/NavQAsciiData.txt", lines)

    def write_radar(self) -> None:
        lines = [
            self.line(text, "RANGE_REFLECTIVITY_DATA", *radar_numbers(index))
            for index, text, _ in times(RADAR_HZ, self.seconds)
        ]
        self.write("RadarRangeBearing/RangeBearingQAsciiData.txt", lines)

    def write_spectrum(self) -> None:
        lines = [self.line(text, *spectrum_numbers(index)) for index, text, _ in times(RADAR_HZ, self.seconds)]
        self.write("RadarSpectrum/HSR_ScalarPoints1.txt", lines)

    def write_payload(self) -> None:
        lines = [
            self.line(text, kind, *numbers)
            for index, text, _ in times(PAYLOAD_HZ, self.seconds)
            for kind, numbers in payload_lines(index)
        ]
        self.write("Payload/PayloadData1.txt", lines)

    def write_videos(self) -> None:
        visual = bmp(*self.visual_size, colour, 24)
        self.write_video("VideoVisual", VISUAL_HZ, visual)
        self.write_video("VideoIR", IR_HZ, bmp(*IR_SIZE, plain_grey, 8))

    def write_video(self, folder: str, rate_hz: int, image: bytes) -> None:
        (self.root / folder / "Images").mkdir(parents=True, exist_ok=True)
        lines = []
        for _, text, _ in times(rate_hz, self.seconds):
            lines.append(self.line(text, "VISION_FRAME", image_name(text)))
            (self.root / folder / "Images" / image_name(text)).write_bytes(image)
        self.write(f"{folder}/VideoLogAscii.txt", lines)
