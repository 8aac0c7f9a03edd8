"""What a satellite is made of, and how it tumbles."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores

from fieldplay_samples.data import numbers_of
from fieldplay_samples.motion.rotations import (
    Floats,
    floats,
    quaternion_from_rotation,
    rotation_about,
    transform,
)
from fieldplay_samples.write_sample import SampleOptions
from fieldplay_samples.writers.ros_messages import Message, messages_of, write_messages
from fieldplay_samples.writers.scenarios import Scenario
from fieldplay_samples.writers.text_tables import Stamps

CORNERS = floats([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
FACES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))  # seen from outside
NAMESPACE, LEFT, RIGHT, BODY = "satellite", "left_camera", "right_camera", "satellite"
VERSION: Final = 9
EXACT, UNKNOWN = 1e-6, 1e6  # variances
ROS = messages_of(Stores.ROS2_JAZZY)
FOREVER = QosTime(0x7FFFFFFF, 0xFFFFFFFF)
LATCHED = Qos(
    QosHistory.KEEP_LAST, 1, QosReliability.RELIABLE, QosDurability.TRANSIENT_LOCAL,
    FOREVER, FOREVER, QosLiveliness.AUTOMATIC, FOREVER, False,
)  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class Box:
    """A part of the body, along the body's axes, and how it looks."""

    centre: Floats
    half: Floats
    reflectivity: float
    shine: float
    pattern: str

    @property
    def corners(self) -> Floats:
        """All eight (8, 3), in the body's frame."""
        return floats(self.centre + self.half * CORNERS)


@dataclass(frozen=True, eq=False, kw_only=True)
class SatelliteScenario(Scenario):
    """A tumbling body before a stereo camera that stands still."""

    @cached_property
    def boxes(self) -> list[Box]:
        """The parts of the body."""
        return [
            Box(**{**part, "centre": floats(part["centre"]), "half": floats(part["half"])})
            for part in self.numbers["boxes"].values()
        ]

    @cached_property
    def time_s(self) -> Floats:
        """When images are taken (n,)."""
        hertz = self.settings["rate_hz"]
        return floats(np.arange(max(2, round(self.seconds * hertz))) / hertz)

    @property
    def stamp_ns(self) -> Stamps:
        """The images' stamps (n,)."""
        return self.unix_ns(self.time_s)

    @cached_property
    def camera_T_body(self) -> Floats:
        """Poses (n, 4, 4) in the left camera's optical frame."""
        entry = self.numbers["motion"]
        turned = np.radians(self.settings["turn_deg_s"]) * self.time_s
        precession = rotation_about(_unit(entry["precession_axis"]), entry["precession_share"] * turned)
        spin = rotation_about(_unit(entry["spin_axis"]), (1.0 - entry["precession_share"]) * turned)
        start = floats(entry["begin_turn"])
        first = rotation_about(_unit(start), np.linalg.norm(start))
        return transform(precession @ first @ spin, self._sway()[0] + [0.0, 0.0, self.settings["distance_m"]])

    @property
    def velocity_m_s(self) -> Floats:
        """Of the body's origin (n, 3)."""
        return self._sway()[1]

    def _sway(self) -> tuple[Floats, Floats]:
        """How far it is from the middle of its way, and how fast it goes (n, 3)."""
        entry = self.numbers["motion"]
        width, rate = floats(entry["sway_m"]), 2.0 * np.pi / floats(entry["sway_period_s"])
        phase = self.time_s[:, None] * rate
        return floats(width * np.sin(phase)), floats(width * rate * np.cos(phase))


def scenario_of(options: SampleOptions) -> SatelliteScenario:
    """What a sample with these options shows."""
    return SatelliteScenario(
        seed=options.seed, seconds=options.seconds, settings=dict(options.settings), numbers=numbers_of("satellite")
    )


def _unit(axis: ArrayLike) -> Floats:
    return floats(floats(axis) / np.linalg.norm(floats(axis)))


def write_model(path: Path, boxes: list[Box]) -> None:
    """The shape as Wavefront OBJ, in m, each part closed."""
    lines: list[str] = ["# a satellite, in metres"]
    for number, box in enumerate(boxes):
        lines += [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in box.corners.tolist()]
        lines += ["f " + " ".join(str(8 * number + corner + 1) for corner in face) for face in FACES]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def camera_matrix(numbers: dict[str, Any]) -> Floats:
    """K (3, 3) of the camera."""
    fx, fy, cx, cy = numbers["matrix"]
    return floats([[fx, 0, cx], [0, fy, cy], [0, 0, 1]])


# The bag of a satellite: images with their cameras, where it is, and the tree of the two cameras.


def write_bag(path: Path, scenario: SatelliteScenario, images: Path) -> None:
    """Write the images of a folder and what belongs to them, in the order of time."""
    latched = {topic: {"offered_qos_profiles": (LATCHED,)} for topic in ("/tf_static", f"/{NAMESPACE}/init")}
    with Writer(path, version=VERSION, storage_plugin=StoragePlugin.MCAP) as writer:
        write_messages(writer, ROS, _messages(scenario, images), offered=lambda topic: latched.get(topic, {}))


def _messages(scenario: SatelliteScenario, images: Path) -> Iterator[Message]:
    camera = scenario.numbers["camera"]
    shape = camera["height"], camera["width"]
    turns = quaternion_from_rotation(scenario.camera_T_body[:, :3, :3])
    for number, stamp in enumerate(scenario.stamp_ns.tolist()):
        position = scenario.camera_T_body[number, :3, 3]
        if number == 0:
            link = (LEFT, RIGHT, (camera["baseline_m"], 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
            yield "/tf_static", stamp, ROS.transforms(stamp, [link])
            yield f"/{NAMESPACE}/init", stamp, _odometry(stamp, position, turns[0])
        yield f"/{NAMESPACE}/ground_truth", stamp, _odometry(stamp, position, turns[number])
        for side, frame in (("left", LEFT), ("right", RIGHT)):
            data = np.frombuffer((images / f"{side}_{number}.npy").read_bytes(), np.uint8).reshape(shape)
            yield f"/{NAMESPACE}/{side}/camera_info", stamp, _camera_info(stamp, frame, camera, side)
            yield f"/{NAMESPACE}/{side}/image_raw", stamp, ROS.image(stamp, frame, data)


def _odometry(stamp_ns: int, position_m: Floats, xyzw: Floats) -> Any:
    """The satellite in the left camera, without its velocity."""
    none = ROS.twist((0.0, 0.0, 0.0))
    return ROS.odometry(stamp_ns, (LEFT, BODY), (position_m, xyzw), none, floats([EXACT, UNKNOWN]))


def _camera_info(stamp_ns: int, frame: str, camera: dict[str, Any], side: str) -> Any:
    matrix = camera_matrix(camera)
    projection = np.hstack([matrix, np.zeros((3, 1))])
    projection[0, 3] = -camera["baseline_m"] * matrix[0, 0] if side == "right" else 0.0
    numbers = {"D": floats(camera["distortion"]), "K": matrix, "R": np.eye(3), "P": projection}
    return ROS.camera_info(stamp_ns, frame, size=(camera["width"], camera["height"]), numbers=numbers)
