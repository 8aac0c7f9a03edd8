"""Poses that AMEDS holds beside those that its joints give, under each reading of what the paper leaves open."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import Defect
from fieldplay.datasets.archive import Archive, file_of_span
from fieldplay.datasets.spec import PoseCheck
from fieldplay.geometry.axes import quaternion_from_fixed_xyz, quaternion_from_moving_xyz
from fieldplay.geometry.extrinsics import edges_from_published
from fieldplay.geometry.transforms import (
    Array,
    fixed_xyz_from_rotation,
    inverse_from_transform,
    rotation_from_fixed_xyz,
    rotation_from_moving_xyz,
    rotation_from_quaternion,
)
from fieldplay.io.row_cache import TableRows
from fieldplay.kinematics.robots import arm_from_joints, arm_from_settings
from fieldplay.messages import records
from fieldplay.streams.stream import Stream

Floats = NDArray[np.float64]

WHEELS = (1, 2, 3, 4)
STEERING_ZEROS_DEG = (0.0, 90.0)
LEFT = np.array([1.0, 1.0, -1.0, -1.0])  # the side of wheels 1 to 4: left +1, right -1
FRONT = np.array([1.0, -1.0, -1.0, 1.0])
CLOSE_MM, CLOSE_DEG = 100.0, 5.0  # CAD values are up to 5 mm and 2 degrees off at each step of the chain
NEAR_NS = 600_000_000
MOST_ROWS = 2000
PARAMETER = "camera_pose_angles"
ANGLES = {"fixed_xyz": rotation_from_fixed_xyz, "moving_xyz": rotation_from_moving_xyz}
JOINT_ORDERS = {"as numbered": (0, 1, 2, 3, 4, 5, 6), "third joint last": (0, 1, 6, 2, 3, 4, 5)}


def _moving_zxz(angles: Floats) -> Floats:
    """Quaternions of turns about z, then the turned x, then the turned z."""
    first, tilt, second = np.moveaxis(angles / 2, -1, 0)
    along, across = first + second, first - second
    return np.stack(
        [
            np.sin(tilt) * np.cos(across),
            np.sin(tilt) * np.sin(across),
            np.cos(tilt) * np.sin(along),
            np.cos(tilt) * np.cos(along),
        ],
        axis=-1,
    )


READINGS: Mapping[str, Callable[[Floats], Floats]] = {
    "fixed x y z": quaternion_from_fixed_xyz,
    "moving x y z": quaternion_from_moving_xyz,
    "fixed z x z": lambda angles: _moving_zxz(angles[..., ::-1]),
    "moving z x z": _moving_zxz,
}


@dataclass(frozen=True)
class WheelReading:
    """How the angles are read, and the median angle in degrees to the pose that drive and steering angles give."""

    name: str
    steering_zero_deg: float
    degrees: float

    def __str__(self) -> str:
        return f"{self.name}, steering from {self.steering_zero_deg:g} deg: {self.degrees:.2f} deg"


def orientation_readings(rows: TableRows) -> list[WheelReading]:
    """Every reading of the wheels' roll, pitch, yaw columns, the best one first."""
    drive = rows.columns(*(f"drive_{wheel}" for wheel in WHEELS))
    angles = np.stack([rows.columns(f"roll_{wheel}", f"pitch_{wheel}", f"yaw_{wheel}") for wheel in WHEELS], axis=1)
    found = []
    for (name, quaternion_from), zero_deg in product(READINGS.items(), STEERING_ZEROS_DEG):
        yaw = _steering(rows, zero_deg) + LEFT * np.pi / 2
        expected = quaternion_from_fixed_xyz(np.stack([LEFT * drive, np.zeros_like(drive), yaw], axis=-1))
        cosines = np.abs((quaternion_from(angles) * expected).sum(axis=-1))
        apart_rad = float(np.median(2 * np.arccos(np.minimum(cosines, 1))))
        found.append(WheelReading(name, zero_deg, float(np.degrees(apart_rad))))
    return sorted(found, key=lambda reading: reading.degrees)


def place_mm(rows: TableRows, steering_zero_deg: float, lengths: Mapping[str, float]) -> float:
    """The median distance in mm between the wheels' places, where the rows have them, and those of the steering."""
    steering = _steering(rows, steering_zero_deg)
    swivel = lengths["swivel_m"]
    x = FRONT * lengths["length_m"] - LEFT * swivel * np.sin(steering)
    y = LEFT * (lengths["width_m"] + swivel * np.cos(steering))
    expected = np.stack([x, y, np.full_like(x, -lengths["wheel_drop_m"])], axis=-1)
    places = np.stack([rows.columns(f"x_{wheel}", f"y_{wheel}", f"z_{wheel}") for wheel in WHEELS], axis=1)
    return float(np.median(np.linalg.norm(places - expected, axis=-1))) * 1e3


def _steering(rows: TableRows, zero_deg: float) -> Floats:
    steering: Floats = rows.columns(*(f"steer_{wheel}" for wheel in WHEELS)) - np.radians(zero_deg)
    return steering


@dataclass(frozen=True)
class PoseReading:
    """What is supposed, and the medians of what is left between the poses of the archive and of its joints."""

    angles: str
    joints: str
    millimetres: float
    degrees: float

    def __str__(self) -> str:
        return f"{self.angles}, joints {self.joints}: {self.millimetres:.1f} mm, {self.degrees:.2f} deg"


def check_poses(archive: Archive) -> None:
    """Note for each such pose how well every reading fits, and report where another than the chosen one fits best."""
    for check in archive.spec.pose_checks:
        readings = sorted(_readings(archive, check), key=lambda reading: (reading.degrees, reading.millimetres))
        if not readings:
            continue
        best = readings[0]
        others = "; ".join(map(str, readings[1:]))
        place = f"{check.child} in {check.parent} by its joints"
        archive.notes.append(f"measured: {place} fits best with {best} ({others})")
        chosen = archive.parameters.get(PARAMETER, best.angles)
        far = best.millimetres > CLOSE_MM or best.degrees > CLOSE_DEG
        if far or best.angles != chosen or best.joints != "as numbered":
            message = f"the poses of {check.child} and those of the joints fit best with {best}, chosen is {chosen}"
            file = file_of_span(archive, check.stream, 0)
            archive.defects(Defect(file=file, kind="pose_mismatch", stream=check.stream, message=message))


def _readings(archive: Archive, check: PoseCheck) -> Iterator[PoseReading]:
    arm = next((derived for derived in archive.spec.derived if derived.name == check.arm), None)
    if arm is None or check.stream not in archive.streams or arm.streams[0] not in archive.streams:
        return
    poses, joints = _rows(archive.streams[check.stream]), _rows(archive.streams[arm.streams[0]])
    if not poses or not joints:
        return
    stamps, places, rotations = _poses(poses)
    angles = fixed_xyz_from_rotation(rotations)
    if archive.parameters.get(PARAMETER) == "moving_xyz":  # the inverse turn of a moving one is a fixed one
        angles = -fixed_xyz_from_rotation(np.swapaxes(rotations, -1, -2))
    positions, near = _joints_at(joints, stamps)
    if not near.any():
        return
    before, after = edges_from_published(
        archive.spec.extrinsics, {check.parent: [arm.frame], arm.child_frames[-1]: [check.child]}
    )
    for (reading, turn), (order, columns) in product(ANGLES.items(), JOINT_ORDERS.items()):
        _, end = arm_from_joints(arm_from_settings(arm.settings), positions[near][:, columns])
        computed = before.parent_t_child @ end @ after.parent_t_child
        apart = np.linalg.norm(computed[:, :3, 3] - places[near], axis=-1)
        turned = inverse_from_transform(computed)[:, :3, :3] @ turn(angles[near])
        cosines = np.clip((np.trace(turned, axis1=-2, axis2=-1) - 1) / 2, -1, 1)
        yield PoseReading(
            reading, order, float(np.median(apart)) * 1e3, float(np.degrees(np.median(np.arccos(cosines))))
        )


def _rows(stream: Stream) -> list[records.Record]:
    """Rows from all over a stream, some thousands at most."""
    found: list[records.Record] = []
    for index in range(len(stream.spans)):
        if sum(map(len, found)) >= MOST_ROWS:
            break
        found.append(stream.load(index))
    return [record for record in found if len(record)]


def _poses(found: list[records.Record]) -> tuple[NDArray[np.int64], Array, Array]:
    poses = [record for record in found if isinstance(record, records.Pose)]
    stamps = np.concatenate([record.stamp_ns for record in poses])
    places = np.concatenate([record.position_m for record in poses])
    return stamps, places, rotation_from_quaternion(np.concatenate([record.orientation_xyzw for record in poses]))


def _joints_at(found: list[records.Record], stamps: NDArray[np.int64]) -> tuple[Array, NDArray[np.bool_]]:
    """The joint positions (n, k) nearest to the times (n,), and whether they are near."""
    joints = [record for record in found if isinstance(record, records.Joints) and record.position is not None]
    times = np.concatenate([record.stamp_ns for record in joints])
    positions = np.concatenate([record.position for record in joints if record.position is not None])
    after = np.clip(np.searchsorted(times, stamps), 1, max(len(times) - 1, 1))
    pick = np.where(stamps - times[after - 1] <= times[np.minimum(after, len(times) - 1)] - stamps, after - 1, after)
    pick = np.minimum(pick, len(times) - 1)
    return positions[pick], np.abs(times[pick] - stamps) <= NEAR_NS
