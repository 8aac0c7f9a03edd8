"""A small archive of AMEDS with known numbers, written by hand here: nothing in it comes from the code under test."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from scipy.spatial.transform import Rotation

IMAGES_PER_CAMERA = 8  # of each camera, in an archive that is copied often
START = 1656931512
CAMERA_TURNS = {
    "Main": (0.588907941, 0.464168374, 0.630019848, 0.202015218),
    "Aux": (0.237674305, 0.247766972, 0.850432604, -0.398606118),
}
ROLL_PITCH_YAW = {arm: Rotation.from_quat(turn).as_euler("xyz").tolist() for arm, turn in CAMERA_TURNS.items()}
CAMERA_POSES = {  # what the joint angles below give, as x y z roll pitch yaw: origin -> camera of the facts
    "Main": [-0.601302160, 0.445545404, -1.485385909, *ROLL_PITCH_YAW["Main"]],
    "Aux": [0.991068735, 0.838290666, 0.661544085, *ROLL_PITCH_YAW["Aux"]],
}
RATES = [0.01, 0.02, -0.2]  # of the body, FRD
STEERED = [-0.1924102418, 0.1924102418, -0.1924102418, 0.1924102418]  # 10000 ticks, in rad
WHEEL_ANGLES = [  # roll, pitch, yaw of wheels that have turned by 1, 2, 3, 4 rad: the axle points outwards
    1.0, 0.0, STEERED[0] + math.pi / 2, 2.0, 0.0, STEERED[1] + math.pi / 2,
    -3.0, 0.0, STEERED[2] - math.pi / 2, -4.0, 0.0, STEERED[3] - math.pi / 2,
]  # fmt: skip


def at_rest(row: Sequence[object]) -> Callable[[float], Sequence[object]]:
    """The same row at any time."""
    return lambda _: row


@dataclass
class TinyAmeds:
    """The archive's folder, and how long it is."""

    root: Path
    seconds: int = 2

    def write(self, name: str, rate_hz: int, row: Callable[[float], Sequence[object]]) -> None:
        """A table without a header; row(t) gives what stands behind the time."""
        lines = []
        for index in range(self.seconds * rate_hz):
            seconds, nanoseconds = divmod(index * (10**9 // rate_hz), 10**9)
            t = index / rate_hz
            lines.append(",".join([f"{START + seconds}.{nanoseconds:09d}", *(f"{value!r}" for value in row(t))]))
        (self.root / name).write_text("\n".join(lines) + "\n")

    def write_all(self) -> None:
        self.root.mkdir(parents=True)
        self.write(
            "GnssImu.csv",
            100,
            lambda t: [0.1, 0.2, -9.81, *map(math.degrees, RATES), 0.3, 0.0, 0.35, 31.5, 74000.0, 12.5],
        )
        self.write("GnssPose.csv", 100, lambda t: [START - 0.25 + t, math.radians(37.72351), math.radians(15.00668),
                   2639.838, 0.01, 0.02, 0.03, math.radians(5), math.radians(-10), math.radians(30), 7.0])  # fmt: skip
        self.write("GnssBodyVelocity.csv", 100, lambda t: [0.5, 0.1, -0.2, 0.01, 0.02, 0.03])
        self.write("GnssBodyAngularVelocity.csv", 100, lambda t: RATES)
        self.write("GnssBodyAcceleration.csv", 100, lambda t: [0.1, 0.2, 0.3])
        self.write("GnssNedVelocity.csv", 100, lambda t: [1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
        self.write("PlatformMotorEncoders.csv", 50, lambda t: [0.4, 0.4, 0.6, 0.6, 0.41, 0.41, 0.61, 0.61,
                   30000 + 1000 * t, 15000, 0, -30000, 10000, 10000, -10000, -10000])  # fmt: skip
        self.write("Platform2DVelocity.csv", 50, lambda t: [0.5, 0.05, 0.2, 0.1, 0.2, 0.3])
        self.write("Platform2DTwistEstimate.csv", 100, lambda t: [0.5, 0.05, 0.2, 0.1])  # as printed
        self.write("Platform2DPoseEstimate.csv", 100, lambda t: [3.0, 4.0, 0.5, 0.1, 0.2, 0.3])
        self.write(
            "PlatformWheelPoseEstimate.csv",
            100,
            lambda t: [*WHEEL_ANGLES, 1.0, 2.0, 3.0, 4.0, *STEERED],
        )
        for arm in ("Main", "Aux"):
            self.write(f"{arm}ArmJointAngles.csv", 1, lambda t: [0.3, -0.5, 0.7, 1.1, -0.4, 0.9, -1.2])
            self.write(f"{arm}CamPoseEstimate.csv", 1, at_rest(CAMERA_POSES[arm]))
        self.write_images("MainCam", 30, (1080, 1920))
        self.write_images("AuxCam", 30, (720, 1280))
        self.write_images("MainAuxCamProjected", 15, (720, 1280))
        self.write_clouds()
        (self.root / "MainCamVideoFeed.mp4").write_bytes(b"not played")

    def write_images(self, name: str, rate_hz: int, size: tuple[int, int]) -> None:
        image = np.zeros((*size, 3), np.uint8)
        image[:, :, 2] = 200
        good, data = cv2.imencode(".jpg", image)
        assert good
        for index in range(self.seconds * rate_hz):
            seconds, part = divmod(index, rate_hz)
            (self.root / f"{name}_{START + seconds}.{part * 10**6 // rate_hz:06d}.jpg").write_bytes(data.tobytes())

    def write_clouds(self) -> None:
        """Five revolutions a second, clockwise, of two lasers at -25 and 15 degrees, 10 m away."""
        angles = -np.linspace(0, 2 * np.pi, 360, endpoint=False)
        rows = []
        for angle in angles:
            for elevation in (math.radians(-25), math.radians(15)):
                level = 10 * math.cos(elevation)
                rows.append((level * math.cos(angle), level * math.sin(angle), 10 * math.sin(elevation), 7.0))
        rows[5] = (math.nan, math.nan, math.nan, 0.0)
        points = np.array(rows, np.float32)
        header = (
            "# .PCD v0.7\nVERSION 0.7\nFIELDS x y z intensity\nSIZE 4 4 4 4\nTYPE F F F F\nCOUNT 1 1 1 1\n"
            f"WIDTH {len(points)}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {len(points)}\nDATA binary\n"
        )
        for index in range(self.seconds * 5):
            name = f"LidarPointcloud_{START + index // 5}.{index % 5 * 2}.pcd"
            (self.root / name).write_bytes(header.encode() + points.tobytes())
