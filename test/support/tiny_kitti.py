"""Small archives of KITTI with known numbers, written here: nothing comes from the code under test.

The calibration has the dataset's form; its numbers are made up, of the size of the dataset's.
"""

from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import cv2
import numpy as np
from scipy.spatial.transform import Rotation

FRAMES = 5
DATE, DRIVE = "2011_09_26", "2011_09_26_drive_0001"
FRACTIONS_NS = [967654321, 70987654, 174321098, 277123456, 381234567]
SECONDS = [25, 26, 26, 26, 26]
DAY_NS = int(datetime(2011, 9, 26, 13, 2, tzinfo=timezone.utc).timestamp()) * 10**9
RECTIFIED, RAW = (1242, 375), (1392, 512)
K = [[980.5 + index, 0, 690.25, 0, 979.5, 240.5 - index, 0, 0, 1] for index in range(4)]
D = [[-0.37 + 0.005 * index, 0.2, 0.002, -0.001, -0.06] for index in range(4)]


def turn(*rotation_vector: float) -> list[float]:
    """A rotation, row by row, as a calibration file prints it."""
    return np.round(Rotation.from_rotvec(rotation_vector).as_matrix(), 9).ravel().tolist()


R = [turn(0, 0, 0), turn(0.009, -0.031, -0.019), turn(0.0035, -0.0045, 0.004), turn(0.002, -0.024, -0.017)]
T = [[0, 0, 0], [-0.54, 0.005, -0.0125], [0.06, 0.0003, 0.0025], [-0.475, 0.0055, -0.005]]
R_RECT = [
    turn(0.0045, -0.0075, -0.01),
    turn(-0.0045, 0.0235, 0.009),
    turn(0.001, -0.003, -0.015),
    turn(0.002, 0.017, 0.007),
]
P_RECT = [
    [720.0, 0, 610.5, 0, 0, 720.0, 173.25, 0, 0, 0, 1, 0],
    [720.0, 0, 610.5, -388.8, 0, 720.0, 173.25, 0, 0, 0, 1, 0],
    [720.0, 0, 610.5, 43.2, 0, 720.0, 173.25, 0.216, 0, 0, 1, 0.0025],
    [720.0, 0, 610.5, -338.4, 0, 720.0, 173.25, 2.16, 0, 0, 1, 0.003],
]
VELO_R = np.round(
    [[0, -1, 0], [0, 0, -1], [1, 0, 0]] @ Rotation.from_rotvec([0.015, 0.0007, -0.0075]).as_matrix(), 9
).ravel().tolist()  # fmt: skip
VELO_T = [-0.004, -0.075, -0.27]
IMU_R, IMU_T = turn(0.0148, -0.002, -0.0008), [-0.81, 0.32, -0.8]
CAMERAS = ("camera_gray_left", "camera_gray_right", "camera_color_left", "camera_color_right")
POSES_DEG = [0.0, 1.0, 2.5, 4.0, 6.0]  # by which the camera has turned to the right


def line(name: str, numbers: object) -> str:
    return f"{name}: {' '.join(f'{number:.9e}' for number in np.ravel(np.array(numbers, float)))}\n"


def camera_calibration() -> str:
    text = "calib_time: 09-Jan-2012 13:57:47\ncorner_dist: 9.950000e-02\n"
    for index in range(4):
        text += line(f"S_0{index}", RAW) + line(f"K_0{index}", K[index]) + line(f"D_0{index}", D[index])
        text += line(f"R_0{index}", R[index]) + line(f"T_0{index}", T[index]) + line(f"S_rect_0{index}", RECTIFIED)
        text += line(f"R_rect_0{index}", R_RECT[index]) + line(f"P_rect_0{index}", P_RECT[index])
    return text


def write_calibration(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "calib_cam_to_cam.txt").write_text(camera_calibration())
    (folder / "calib_velo_to_cam.txt").write_text(
        "calib_time: 15-Mar-2012 11:37:16\n" + line("R", VELO_R) + line("T", VELO_T) + line("delta_f", [0, 0])
    )
    (folder / "calib_imu_to_velo.txt").write_text(
        "calib_time: 25-May-2012 16:47:16\n" + line("R", IMU_R) + line("T", IMU_T)
    )


def stamps_ns(shift_ns: int = 0) -> list[int]:
    return [
        DAY_NS + second * 10**9 + fraction + shift_ns for second, fraction in zip(SECONDS, FRACTIONS_NS, strict=True)
    ]


def dates(stamps: list[int]) -> str:
    lines = []
    for stamp in stamps:
        moment = datetime.fromtimestamp(stamp // 10**9, timezone.utc)
        lines.append(f"{moment:%Y-%m-%d %H:%M:%S}.{stamp % 10**9:09d}\n")
    return "".join(lines)


def image(index: int, size: tuple[int, int], *, is_color: bool) -> bytes:
    """Coarse squares, as PNG."""
    squares = np.random.default_rng(index).integers(0, 250, (size[1] // 30 + 1, size[0] // 30 + 1, 3), np.uint8)
    pixels = cv2.resize(squares, size, interpolation=cv2.INTER_NEAREST)
    return bytes(cv2.imencode(".png", pixels if is_color else pixels[:, :, 0])[1].tobytes())


def points(index: int) -> np.ndarray:
    """A ring of points 10 m around the scanner, in steps of 3 degrees, the first to the rear."""
    angles = np.radians(np.arange(-180, 180, 3.0))
    rows = np.stack([10 * np.cos(angles), 10 * np.sin(angles), -1.5 + 0.1 * np.sin(3 * angles), angles * 0 + 0.25], 1)
    return np.add(rows, [0, 0, 0.01 * index, 0]).astype(np.float32)


def oxts(index: int) -> dict[str, float]:
    """A row of the OXTS unit, by the names of dataformat.txt."""
    return {
        "lat": 49.0125 + 1e-5 * index, "lon": 8.43625 - 2e-5 * index, "alt": 116.5 + 0.01 * index,
        "roll": 0.036, "pitch": 0.009, "yaw": -2.6 + 0.01 * index, "vn": -6.75, "ve": -11.25, "vf": 13.12, "vl": -0.02,
        "vu": -0.03, "ax": -0.44, "ay": 0.04, "az": 10.2, "af": -0.348, "al": -0.327, "au": 10.199, "wx": 0.0091,
        "wy": -0.0231, "wz": -0.0179, "wf": 0.0089, "wl": -0.0225, "wu": -0.0188, "pos_accuracy": 0.0275,
        "vel_accuracy": 0.0125, "navstat": 4, "numsats": 11, "posmode": 6, "velmode": 6, "orimode": 6,
    }  # fmt: skip


@dataclass
class TinyDrive:
    """A raw drive: the folder of its day has the calibration."""

    day: Path
    kind: str = "sync"

    @property
    def root(self) -> Path:
        return self.day / f"{DRIVE}_{self.kind}"

    def write(self, name: str, content: str | bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def write_all(self) -> "TinyDrive":
        write_calibration(self.day)
        size = RECTIFIED if self.kind == "sync" else RAW
        for camera in range(4):
            self.write(f"image_0{camera}/timestamps.txt", dates(stamps_ns(camera)))
            for index in range(FRAMES):
                picture = image(10 * index + camera, size, is_color=camera > 1)
                self.write(f"image_0{camera}/data/{index:010d}.png", picture)
        self.write("velodyne_points/timestamps.txt", dates(stamps_ns(-1000)))
        self.write("velodyne_points/timestamps_start.txt", dates(stamps_ns(-51_000_000)))
        self.write("velodyne_points/timestamps_end.txt", dates(stamps_ns(52_000_000)))
        self.write("oxts/timestamps.txt", dates(stamps_ns(2000)))
        self.write("oxts/dataformat.txt", "lat:   latitude of the oxts-unit (deg)\n")
        for index in range(FRAMES):
            if self.kind == "sync":
                self.write(f"velodyne_points/data/{index:010d}.bin", points(index).tobytes())
            else:
                rows = "\n".join(" ".join(f"{number:.6f}" for number in row) for row in points(index))
                self.write(f"velodyne_points/data/{index:010d}.txt", rows + "\n")
            self.write(f"oxts/data/{index:010d}.txt", " ".join(map(repr, oxts(index).values())) + "\n")
        return self


def camera_poses() -> np.ndarray:
    """Where the left camera is (n, 3, 4), in the axes of the first one: a turn to the right."""
    poses = np.zeros((FRAMES, 3, 4))
    for index, angle in enumerate(np.radians(POSES_DEG)):
        poses[index, :, :3] = [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]]
        poses[index, :, 3] = [0.01 * index, -0.02 * index, 1.1 * index]
    return poses


TIMES_S = ["0.000000e+00", "1.034567e-01", "2.078901e-01", "3.112345e-01", "4.156789e-01"]
TR = np.column_stack([np.reshape(VELO_R, (3, 3)), VELO_T])


def write_sequence(dataset: Path, number: str = "00", *, has_lidar: bool = True) -> Path:
    """An odometry sequence below `sequences`, its poses in `poses`; returns its folder."""
    folder = dataset / "sequences" / number
    for camera in range(4):
        (folder / f"image_{camera}").mkdir(parents=True)
        for index in range(FRAMES):
            picture = image(10 * index + camera, RECTIFIED, is_color=camera > 1)
            (folder / f"image_{camera}" / f"{index:06d}.png").write_bytes(picture)
    text = "".join(line(f"P{camera}", P_RECT[camera]) for camera in range(4))
    (folder / "calib.txt").write_text(text + (line("Tr", TR) if has_lidar else ""))
    (folder / "times.txt").write_text("\n".join(TIMES_S) + "\n")
    if has_lidar:
        (folder / "velodyne").mkdir()
        for index in range(FRAMES):
            (folder / "velodyne" / f"{index:06d}.bin").write_bytes(points(index).tobytes())
    (dataset / "poses").mkdir(exist_ok=True)
    rows = (" ".join(f"{value:.9e}" for value in pose.ravel()) for pose in camera_poses())
    (dataset / "poses" / f"{number}.txt").write_text("\n".join(rows) + "\n")
    return folder
