"""A small sequence of EuRoC in the ASL layout with known numbers, written here: nothing comes from the code under test.

The calibration has the form of the dataset's; its numbers are made up, of the size of the dataset's.
"""

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from scipy.spatial.transform import Rotation

START_NS = 1403715273123456789
CAMERA_STEP_NS, IMU_STEP_NS = 50_000_000, 5_000_000
PAIRS, ROWS = 6, 60
SIZE = (752, 480)
INTRINSICS = {"cam0": [458.5, 457.25, 367.25, 248.5], "cam1": [457.5, 456.25, 380.0, 255.25]}
DISTORTION = {"cam0": [-0.283, 0.074, 0.0002, 1.75e-05], "cam1": [-0.284, 0.0745, -0.0001, -3.5e-05]}


def pose(rotation_vector: list[float], translation: list[float]) -> list[list[float]]:
    """A transform, row by row, of a camera that is mounted on its side."""
    turn = [[0, -1, 0], [1, 0, 0], [0, 0, 1]] @ Rotation.from_rotvec(rotation_vector).as_matrix()
    rows = np.column_stack([np.round(turn, 12), translation])
    return np.vstack([rows, [0, 0, 0, 1]]).tolist()  # type: ignore[no-any-return]


T_BS = {
    "cam0": pose([0.004, 0.026, 0.015], [-0.0216, -0.0647, 0.0098]),
    "cam1": pose([0.018, 0.0255, 0.0128], [-0.0198, 0.0454, 0.0079]),
    "imu0": np.eye(4).tolist(),
}
NOISE = {
    "gyroscope_noise_density": 1.7e-04,
    "gyroscope_random_walk": 2.0e-05,
    "accelerometer_noise_density": 2.0e-3,
    "accelerometer_random_walk": 3.0e-3,
}
IMU_HEADER = ",".join(
    [
        "#timestamp [ns]",
        *(f"w_RS_S_{axis} [rad s^-1]" for axis in "xyz"),
        *(f"a_RS_S_{axis} [m s^-2]" for axis in "xyz"),
    ]
)
POSE_HEADER = ", ".join(
    ["#timestamp", *(f"p_RS_R_{axis} [m]" for axis in "xyz"), *(f"q_RS_{axis} []" for axis in "wxyz")]
)
TRUTH_HEADER = ", ".join(
    [
        POSE_HEADER,
        *(f"v_RS_R_{axis} [m s^-1]" for axis in "xyz"),
        *(f"b_w_RS_S_{axis} [rad s^-1]" for axis in "xyz"),
        *(f"b_a_RS_S_{axis} [m s^-2]" for axis in "xyz"),
    ]
)
QUATERNION_WXYZ = [0.5, 0.5, -0.5, 0.5]
VELOCITY = [0.3, -0.2, 0.1]


def image(seed: int, size: tuple[int, int] = SIZE, kind: type = np.uint8) -> bytes:
    """A grey picture of coarse squares, as PNG."""
    squares = np.random.default_rng(seed).integers(0, 200, (size[1] // 24 + 1, size[0] // 24 + 1))
    pixels = np.kron(squares, np.ones((24, 24), int))[: size[1], : size[0]].astype(kind)
    return bytes(cv2.imencode(".png", pixels * (257 if kind is np.uint16 else 1))[1].tobytes())


def camera_stamps() -> list[int]:
    return [START_NS + index * CAMERA_STEP_NS + index for index in range(PAIRS)]


def imu_row(index: int) -> list[float]:
    return [0.01 * index, -0.5, 0.25, 9.0 + 0.001 * index, 0.125, -3.5]


def position(index: int) -> list[float]:
    return [0.001 * index * axis for axis in (1, 2, 3)]


def matrix_text(matrix: list[list[float]]) -> str:
    return ", ".join(str(number) for row in matrix for number in row)


def sensor_text(sensor: str, rest: str) -> str:
    return (
        f"#A sensor\nsensor_type: {sensor}\ncomment: as published\n\nT_BS:\n  cols: 4\n  rows: 4\n"
        f"  data: [{matrix_text(T_BS[sensor])}]\n{rest}"
    )


def camera_text(camera: str, *, model: str = "radial-tangential") -> str:
    return sensor_text(
        camera,
        f"rate_hz: 20\nresolution: [{SIZE[0]}, {SIZE[1]}]\ncamera_model: pinhole\n"
        f"intrinsics: {INTRINSICS[camera]} #fu, fv, cu, cv\ndistortion_model: {model}\n"
        f"distortion_coefficients: {DISTORTION[camera]}\n",
    )


@dataclass
class TinyEuroc:
    """A sequence's folder; `mav0` is in it."""

    root: Path

    @property
    def mav0(self) -> Path:
        return self.root / "mav0"

    def write(self, name: str, content: str | bytes) -> None:
        path = self.mav0 / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def write_all(self) -> "TinyEuroc":
        for number, camera in enumerate(("cam0", "cam1")):
            rows = "".join(f"{stamp},{stamp}.png\r\n" for stamp in camera_stamps())
            self.write(f"{camera}/data.csv", f"#timestamp [ns],filename\r\n{rows}")
            self.write(f"{camera}/sensor.yaml", camera_text(camera))
            for index, stamp in enumerate(camera_stamps()):
                self.write(f"{camera}/data/{stamp}.png", image(10 * index + number))
        noise = "".join(f"{name}: {value}\n" for name, value in NOISE.items())
        self.write("imu0/sensor.yaml", sensor_text("imu0", f"rate_hz: 200\n\n{noise}"))
        self.write_rows("imu0", IMU_HEADER, [imu_row(index) for index in range(ROWS)])
        self.write("body.yaml", "%YAML:1.0\ncomment: a hexacopter\n")
        self.write_truth()
        return self

    def write_rows(self, sensor: str, header: str, rows: list[list[float]]) -> None:
        lines = (
            ",".join([str(START_NS + index * IMU_STEP_NS), *(f"{number!r}" for number in row)])
            for index, row in enumerate(rows)
        )
        self.write(f"{sensor}/data.csv", "\n".join([header, *lines]) + "\n")

    def write_truth(self) -> None:
        poses = [[*position(index), *QUATERNION_WXYZ] for index in range(ROWS)]
        self.write_rows(
            "state_groundtruth_estimate0",
            TRUTH_HEADER,
            [[*pose, *VELOCITY, *[0.001] * 3, *[0.02] * 3] for pose in poses],
        )
        self.write("state_groundtruth_estimate0/sensor.yaml", sensor_text("imu0", ""))
        self.write_rows("vicon0", POSE_HEADER.replace("#timestamp", "#timestamp [ns]"), poses)
        self.write_rows(
            "leica0", "#timestamp [ns],p_RS_R_x [m],p_RS_R_y [m],p_RS_R_z [m]", [pose[:3] for pose in poses]
        )


TUM_SIZE, TUM_INTRINSICS = (512, 512), [190.5, 191.0, 254.75, 256.5]
TUM_DISTORTION = [0.0035, 0.0007, -0.002, 0.0002]
TUM_TURN = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]


def write_tum_vi(root: Path) -> None:
    """A sequence as TUM-VI exports it: fisheyes, 16 bits, Kalibr's chain beside mav0, motion capture."""
    sequence, chain = TinyEuroc(root), ""
    for number, camera in enumerate(("cam0", "cam1")):
        stamps = camera_stamps()[:3]
        sequence.write(f"{camera}/data.csv", "#timestamp [ns],filename\n" + "".join(f"{s},{s}.png\n" for s in stamps))
        for stamp in stamps:
            sequence.write(f"{camera}/data/{stamp}.png", image(number, TUM_SIZE, np.uint16))
        shift = [0.05 - 0.1 * number, 0.02, -0.03]
        rows = [[*turn, x] for turn, x in zip(TUM_TURN, shift, strict=True)] + [[0.0, 0.0, 0.0, 1.0]]
        chain += (
            f"{camera}:\n  T_cam_imu: {rows}\n  camera_model: pinhole\n  distortion_coeffs: {TUM_DISTORTION}\n"
            f"  distortion_model: equidistant\n  intrinsics: {TUM_INTRINSICS}\n  resolution: {list(TUM_SIZE)}\n"
        )
    sequence.write_rows("imu0", IMU_HEADER, [imu_row(index) for index in range(ROWS)])
    sequence.write_rows("mocap0", POSE_HEADER, [[*position(index), *QUATERNION_WXYZ] for index in range(ROWS)])
    (root / "dso" / "cam0" / "images").mkdir(parents=True)
    (root / "dso" / "camchain.yaml").write_text(chain)
    noise = "".join(f"{name}: {value}\n" for name, value in NOISE.items())
    (root / "dso" / "imu_config.yaml").write_text(f"rostopic: /imu0\nupdate_rate: 200.0\n{noise}")
    (root / "dso" / "cam0" / "images" / f"{START_NS}.png").write_bytes(image(0, TUM_SIZE))
    (root / "dso" / "cam0" / "times.txt").write_text(f"{START_NS} {START_NS / 1e9:.9f} 0.01\n")
