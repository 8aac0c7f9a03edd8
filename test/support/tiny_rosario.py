"""A small sequence of the Rosario dataset with known numbers, as raw folder and as bag, written by hand here.

Nothing in it comes from the code under test. The numbers are those that the facts of the dataset name.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, reduce
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import yaml
from pyproj import Transformer

START = 1514301945  # sequence 1
CAMERA_HZ, IMU_HZ, GPS_HZ, ODOMETRY_HZ = 15, 140, 5, 10
SIZE = (376, 672)
CALIBRATION = {
    "cam0": {
        "T_cam_imu": [
            [0.009471441780975032, 0.9984567420628084, 0.05472134884952806, 0.07585973485189132],
            [-0.9939081748565041, 0.0033909183804303744, 0.11015916496574298, -0.03342054396674176],
            [0.10980360533243941, -0.055431362078334365, 0.9924064350628417, -0.027188513339280743],
            [0.0, 0.0, 0.0, 1.0],
        ],
        "camera_model": "pinhole",
        "distortion_model": "radtan",
        "distortion_coeffs": [-0.174497, 0.027127, -0.000359, 0.000457],
        "intrinsics": [348.522264, 348.449870, 344.483596, 188.808062],
        "resolution": [672, 376],
    },
    "cam1": {
        "T_cam_imu": [
            [0.010486169744957197, 0.9972728488827708, 0.07305412462908822, -0.04365571656478627],
            [-0.9940873423040585, 0.002500626397312078, 0.10855460717295605, -0.033255842186752066],
            [0.10807588128224391, -0.07376050263429253, 0.9914025378907414, -0.02682521301910111],
            [0.0, 0.0, 0.0, 1.0],
        ],
        "T_cn_cnm1": [
            [0.9999064, 0.00116937, 0.01362243, -0.118718331],
            [-0.00112614, 0.99999456, -0.00314845, 0.0000521848390],
            [-0.01362563, 0.00313285, 0.99990197, -0.000269290935],
            [0.0, 0.0, 0.0, 1.0],
        ],
        "camera_model": "pinhole",
        "distortion_model": "radtan",
        "distortion_coeffs": [-0.174606, 0.027855, -0.000108, -0.000141],
        "intrinsics": [349.569635, 349.390781, 340.836585, 206.105440],
        "resolution": [672, 376],
    },
    "imu": {
        "acc_offset": [10.0, -20.0, 30.0],
        "gyro_offset": [0.5, -0.25, 0.125],
        "position_imu_baselink": [1.96, -0.017, 1.02],
        "rotation_imu_baselink": [0.845406160, -0.017008440, 0.533508388, 0.019181667],
    },
    "gps": {"position_gps_baselink": [1.8, -0.03, 1.593], "orientation_gps_baselink": [0.0, 0.0, 0.0, 1.0]},
    "odom": {"position_baselink_odom": [0.0, 0.0, 0.0], "rotation_euler": [0.0, 0.0, 0.0]},
}
ODOMETRY = [(30, 32, 0, 0), (30, 32, 0, 0), (80, 31, -50, 0), (90, 95, -50, 0), (30, 32, 100, 1)]  # 13, 9, 16, 17
POSES = [  # what the authors' program makes of these rows: x, y, heading, v, w
    (0.0, 0.0, 0.0, 0.925199036, -0.010873776),
    (0.092519904, 0.0, -0.001087378, 0.925199036, -0.010873776),
    (0.185039753, -0.000100604, -0.002174755, 0.925199036, 0.085622548),
    (0.277559437, -0.000301812, 0.006387499, 0.925199036, 0.085622548),
    (0.370077454, 0.000289155, 0.014949754, -0.925199036, 0.211349491),
]
EAST_M, NORTH_M = 697992.995, 6343390.088  # in UTM zone 20, where the first fix is
TRUTH_DEG = 20.0  # by which the ground truth must be turned to lie east and north on the grid
GRID_DEG = -1.156  # how north of the grid lies against true north there


def checksum(body: str) -> str:
    return f"{reduce(lambda a, b: a ^ b, body.encode(), 0):02X}"


def sentence(body: str) -> str:
    return f"${body}*{checksum(body)}"


def times(rate_hz: int, seconds: int) -> Iterator[tuple[float, str, int]]:
    """The time since the start, its text with six digits, and nanoseconds since 1970."""
    for index in range(rate_hz * seconds):
        micro = index * 10**6 // rate_hz
        yield micro / 1e6, f"{START + micro // 10**6}.{micro % 10**6:06d}", (START * 10**6 + micro) * 1000


def place_at(t: float) -> tuple[float, float]:
    """East and north on the grid, in metres from the first fix: a bend of a few metres."""
    return 2.0 * t, 0.5 * t * t


@cache
def to_degrees() -> Transformer:
    return Transformer.from_crs("EPSG:32720", "EPSG:4326", always_xy=True)


def gga(t: float, *, quality: int = 4, hdop: float = 0.9) -> str:
    longitude, latitude = to_degrees().transform(EAST_M + place_at(t)[0], NORTH_M + place_at(t)[1])
    if t == 0:
        latitude, longitude = -33.03, -60.88
    lat, lon = divmod(abs(latitude) * 60, 60), divmod(abs(longitude) * 60, 60)
    clock = f"1525{45 + t:05.2f}"
    position = f"{int(lat[0]):02d}{lat[1]:010.7f},S,{int(lon[0]):03d}{lon[1]:010.7f},W"
    return sentence(f"GPGGA,{clock},{position},{quality},12,{hdop},50.000,M,18.000,M,0.8,0000")


def rmc(t: float) -> str:
    return sentence(f"GPRMC,1525{45 + t:05.2f},A,3301.8000000,S,06052.8000000,W,1.943845,090.0,261217,,,A")


def imu_numbers(t: float) -> tuple[list[float], list[float]]:
    """Degrees per second and thousandths of gravity as the log has them: the offsets are in them."""
    rates = [57.29577951 + 0.5, 10 * math.sin(t) - 0.25, 0.125]
    force = [910.0 + 10 + 2 * math.sin(140 * t), -20.0, -410.0 + 30]
    return rates, force


def imu_units(t: float) -> tuple[list[float], list[float]]:
    """The same in rad/s and m/s2, without the offsets."""
    (gx, gy, gz), (ax, ay, az) = imu_numbers(t)
    rates = [math.radians(value) for value in (gx - 0.5, gy + 0.25, gz - 0.125)]
    return rates, [value * 9.80665e-3 for value in (ax - 10, ay + 20, az - 30)]


def odometry_row(index: int) -> tuple[int, int, int, int]:
    """Fields 13, 9, 16, 17 of a row."""
    return ODOMETRY[index] if index < len(ODOMETRY) else (30, 32, 10, 0)


@cache
def pixels(camera: str, index: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    image = np.zeros((*SIZE, 3), np.uint8)
    image[:, :, {"left": 0, "right": 1}[camera]] = 50 + index % 100
    image[10:20, 30 + index : 40 + index] = 255
    return image


def png_of(camera: str, index: int) -> bytes:
    good, data = cv2.imencode(".png", pixels(camera, index))
    assert good
    return bytes(data.tobytes())


def never(_: float) -> bool:
    return False


@dataclass
class TinyRosario:
    """The raw folder, with calibration and ground truth beside it, and how long it is."""

    root: Path
    seconds: int = 2
    number: int = 1
    labels: bool = True  # imu.log with nine tokens in a line, or with seven
    end: str = "\n"
    no_fix: Callable[[float], bool] = field(default=never)

    def write_all(self) -> None:
        self.root.mkdir(parents=True)
        self.write_images()
        self.write_imu()
        self.write_gps()
        self.write_odometry()
        self.write_calibration()
        self.write_truth()

    def write(self, path: Path, lines: list[str]) -> None:
        path.write_bytes("".join(line + self.end for line in lines).encode())

    def write_images(self) -> None:
        (self.root / "zed").mkdir()
        for index, (_, text, _) in enumerate(times(CAMERA_HZ, self.seconds)):
            for camera in ("left", "right"):
                (self.root / "zed" / f"{camera}_{text}.png").write_bytes(png_of(camera, index))

    def write_imu(self) -> None:
        lines = []
        for index, (t, text, _) in enumerate(times(IMU_HZ, self.seconds)):
            rates, force = imu_numbers(t)
            label = f"IMU: {index} " if self.labels else ""
            lines.append(f"{text} {label}{' '.join(map(repr, [*rates, *force]))}")
        self.write(self.root / "imu.log", lines)

    def write_gps(self) -> None:
        lines = []
        for t, text, _ in times(GPS_HZ, self.seconds):
            empty = sentence(f"GPGGA,1525{45 + t:05.2f},,,,,0,00,99.99,,,,,,")
            lines.append(f"{text} gps: {empty if self.no_fix(t) else gga(t)}")
            lines.append(f"{text} gps: {rmc(t)}")
            lines.append(f"{text} gps: {sentence('GPGSA,A,3,01,02,03,04,05,06,07,08,09,10,11,12,1.5,0.9,1.2')}")
        self.write(self.root / "gps.log", lines)

    def write_odometry(self) -> None:
        lines = []
        for index, (_, text, _) in enumerate(times(ODOMETRY_HZ, self.seconds)):
            right, left, steering, digit = odometry_row(index)
            fields = [
                "(1",
                "31",
                "2",
                "3",
                "4",
                "33",
                "6",
                "7",
                "8",
                str(left),
                "10",
                "11",
                "12",
                str(right),
                "14",
                "15",
            ]
            lines.append(f"{text} odom: {','.join([*fields, str(steering), f'{digit})'])}")
        self.write(self.root / "odometry_raw.log", lines)

    def clean_odometry(self) -> None:
        """The cleaned form instead of the raw one: time, left, right, steering with its offset in it, direction."""
        lines = []
        for index, (_, text, _) in enumerate(times(ODOMETRY_HZ, self.seconds)):
            right, left, steering, digit = odometry_row(index)
            lines.append(f"{text} {left} {right} {steering + 5.67} {-1 if digit else 1}")
        (self.root / "odometry_raw.log").unlink()
        self.write(self.root / "odometry.txt", lines)

    def write_calibration(self, folder: Path | None = None, **changed: Any) -> None:
        path = (folder or self.root.parent) / f"calibration{self.number:02d}.yaml"
        path.write_text(yaml.safe_dump({**CALIBRATION, **changed}))

    def write_truth(self, *, columns: int = 8) -> None:
        """The path on the grid, turned so that it must be turned back by TRUTH_DEG."""
        cos, sin = math.cos(math.radians(TRUTH_DEG)), math.sin(math.radians(TRUTH_DEG))
        lines = []
        for t, text, _ in times(GPS_HZ, self.seconds):
            east, north = place_at(t)
            row = [repr(cos * east + sin * north), repr(cos * north - sin * east), "0.25", "0", "0", "0", "1"]
            lines.append(" ".join([text, *row][:columns]))
        self.write(self.root.parent / f"sequence{self.number:02d}_gt.txt", lines)
