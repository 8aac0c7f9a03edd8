"""Archives to measure with: AMEDS in size and shape, random in content."""

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

START = 1656931512
TABLES = {  # columns behind the time, rows a second
    "GnssImu": (12, 100),
    "GnssPose": (11, 100),
    "GnssBodyVelocity": (6, 100),
    "GnssBodyAngularVelocity": (3, 100),
    "GnssBodyAcceleration": (3, 100),
    "GnssNedVelocity": (6, 100),
    "PlatformMotorEncoders": (16, 50),
    "Platform2DVelocity": (6, 50),
    "Platform2DTwistEstimate": (6, 100),
    "Platform2DPoseEstimate": (6, 100),
    "PlatformWheelPoseEstimate": (20, 100),
    "MainArmJointAngles": (7, 1),
    "AuxArmJointAngles": (7, 1),
    "MainCamPoseEstimate": (6, 1),
    "AuxCamPoseEstimate": (6, 1),
}


def write_tables(root: Path, seconds: int, names: Sequence[str] = tuple(TABLES)) -> None:
    """Tables of AMEDS, all by default."""
    root.mkdir(parents=True, exist_ok=True)
    draw = np.random.default_rng(1)
    for name in names:
        columns, rate = TABLES[name]
        values = draw.normal(size=(seconds * rate, columns))
        with (root / f"{name}.csv").open("w") as file:
            for row, numbers in enumerate(values):
                second, part = divmod(row, rate)
                file.write(f"{START + second}.{part * 10**9 // rate:09d}")
                if name == "GnssPose":  # device time, place, attitude and fix type are not just any numbers
                    file.write(f",{START + second}.{part * 10**9 // rate:09d}")
                    numbers = [0.6584, 0.2619, 2640 + numbers[0], *np.abs(numbers[1:4]), *numbers[4:7], 7]
                file.write("".join(f",{number:.9f}" for number in numbers) + "\n")


def write_images(root: Path, name: str, size: tuple[int, int], seconds: float, rate: int = 30) -> None:
    """JPEGs of some hundred kB: noise, smoothed, so that they compress as photographs do."""
    root.mkdir(parents=True, exist_ok=True)
    draw = np.random.default_rng(2)
    files = []
    for _ in range(5):
        image = cv2.GaussianBlur(draw.integers(0, 255, (*size, 3), dtype=np.uint8), (0, 0), 1.5)
        files.append(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes())
    for index in range(int(seconds * rate)):
        second, part = divmod(index, rate)
        path = root / f"{name}_{START + second}.{part * 10**6 // rate:06d}.jpg"
        path.write_bytes(files[index % len(files)])


def write_clouds(root: Path, seconds: float, points: int = 115_200) -> None:
    """Binary clouds of a lidar of 32 lasers, in firing order, five a second."""
    root.mkdir(parents=True, exist_ok=True)
    azimuth = -np.repeat(np.linspace(0, 2 * np.pi, points // 32, endpoint=False), 32)
    elevation = np.tile(np.radians(np.linspace(-25, 15, 32)), points // 32)
    xyz = 10 * np.stack(
        [np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)], axis=1
    )
    data = np.hstack([xyz, np.full((points, 1), 7)]).astype(np.float32)
    header = (
        "VERSION 0.7\nFIELDS x y z intensity\nSIZE 4 4 4 4\nTYPE F F F F\nCOUNT 1 1 1 1\n"
        f"WIDTH {points}\nHEIGHT 1\nPOINTS {points}\nDATA binary\n"
    )
    for index in range(int(seconds * 5)):
        name = f"LidarPointcloud_{START + index // 5}.{index % 5 * 2}.pcd"
        (root / name).write_bytes(header.encode() + data.tobytes())
