"""What the AMEDS paper leaves open, measured in the data: a parameter that does not fit is reported, never changed."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import Defect
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.ameds.streams import NS_PER_MS, WHEELS
from fieldplay.datasets.archive import Archive, Measurement, file_of_span, measure, sample_indices
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
from fieldplay.io.table import Tables
from fieldplay.io.table_rows import TimedRows, concatenate_rows
from fieldplay.kinematics.robots import arm_from_joints, arm_from_settings
from fieldplay.messages import records
from fieldplay.streams.stream import Stream

Floats = NDArray[np.float64]
WHEEL_NUMBERS = (1, 2, 3, 4)
STEERING_ZEROS_DEG = (0.0, 90.0)
LEFT = np.array([1.0, 1.0, -1.0, -1.0])  # the side of wheels 1 to 4: left +1, right -1
FRONT = np.array([1.0, -1.0, -1.0, 1.0])
CLOSE_MM, CLOSE_DEG = 100.0, 5.0  # CAD values are up to 5 mm and 2 degrees off at each step of the chain
NEAREST_POSE_NS = 600_000_000
MAX_ROWS = 2000
PARAMETER = "camera_pose_angles"
ANGLES = {"fixed_xyz": rotation_from_fixed_xyz, "moving_xyz": rotation_from_moving_xyz}
JOINT_ORDERS = {"as numbered": (0, 1, 2, 3, 4, 5, 6), "third joint last": (0, 1, 6, 2, 3, 4, 5)}
BLOCKS = 16  # of each table are looked at, spread over it
NEAR_NS = 25 * NS_PER_MS
MOVING_RAD_S = 0.005  # below this, rates are noise
ETNA_FIELD_G = 0.45
GRAVITY_M_S2 = (8.5, 11.0)
WITHOUT_GRAVITY_M_S2 = 5.0
CLOCK_OFFSET_S = 0.5
FIX_TYPES = ("no fix", "2D", "3D", "SBAS", "differential", "Omnistar", "RTK float", "RTK fixed")  # of the device
PRESSURE_PA = (30e3, 120e3)
ENOUGH_TURNED_RAD = 0.1
LONGEST_STEP_S = 0.5
WHEELS_APART_MM, WHEELS_APART_DEG = 20.0, 5.0


# Poses that AMEDS holds beside those that its joints give, under each reading of what the paper leaves open.


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


def orientation_readings(rows: TimedRows) -> list[WheelReading]:
    """Every reading of the wheels' roll, pitch, yaw columns, the best one first."""
    drive = rows.columns(*(f"drive_{wheel}" for wheel in WHEEL_NUMBERS))
    angles = np.stack(
        [rows.columns(f"roll_{wheel}", f"pitch_{wheel}", f"yaw_{wheel}") for wheel in WHEEL_NUMBERS], axis=1
    )
    readings = []
    for (name, quaternion_from), zero_deg in product(READINGS.items(), STEERING_ZEROS_DEG):
        yaw = _steering_angles(rows, zero_deg) + LEFT * np.pi / 2
        expected = quaternion_from_fixed_xyz(np.stack([LEFT * drive, np.zeros_like(drive), yaw], axis=-1))
        cosines = np.abs((quaternion_from(angles) * expected).sum(axis=-1))
        difference_rad = float(np.median(2 * np.arccos(np.minimum(cosines, 1))))
        readings.append(WheelReading(name, zero_deg, float(np.degrees(difference_rad))))
    return sorted(readings, key=lambda reading: reading.degrees)


def position_error_mm(rows: TimedRows, steering_zero_deg: float, lengths: Mapping[str, float]) -> float:
    """Median distance in mm between archived wheel positions and those computed from steering."""
    steering = _steering_angles(rows, steering_zero_deg)
    swivel = lengths["swivel_m"]
    x = FRONT * lengths["length_m"] - LEFT * swivel * np.sin(steering)
    y = LEFT * (lengths["width_m"] + swivel * np.cos(steering))
    expected = np.stack([x, y, np.full_like(x, -lengths["wheel_drop_m"])], axis=-1)
    positions = np.stack([rows.columns(f"x_{wheel}", f"y_{wheel}", f"z_{wheel}") for wheel in WHEEL_NUMBERS], axis=1)
    return float(np.median(np.linalg.norm(positions - expected, axis=-1))) * 1e3


def _steering_angles(rows: TimedRows, zero_deg: float) -> Floats:
    steering: Floats = rows.columns(*(f"steer_{wheel}" for wheel in WHEEL_NUMBERS)) - np.radians(zero_deg)
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
        description = f"{check.child} in {check.parent} by its joints"
        measure(archive, Measurement(f"{description} fits best with {best} ({others})"))
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
    stamps, archived_m, rotations = _poses(poses)
    angles = fixed_xyz_from_rotation(rotations)
    if archive.parameters.get(PARAMETER) == "moving_xyz":  # the inverse turn of a moving one is a fixed one
        angles = -fixed_xyz_from_rotation(np.swapaxes(rotations, -1, -2))
    positions, near = _joints_at(joints, stamps)
    if not near.any():
        return
    before, after = edges_from_published(
        archive.spec.extrinsics, {check.parent: [arm.frame], arm.child_frames[-1]: [check.child]}
    )
    for (reading, rotation_from), (order, columns) in product(ANGLES.items(), JOINT_ORDERS.items()):
        _, end = arm_from_joints(arm_from_settings(arm.settings), positions[near][:, columns])
        computed = before.parent_t_child @ end @ after.parent_t_child
        distance = np.linalg.norm(computed[:, :3, 3] - archived_m[near], axis=-1)
        difference = inverse_from_transform(computed)[:, :3, :3] @ rotation_from(angles[near])
        cosines = np.clip((np.trace(difference, axis1=-2, axis2=-1) - 1) / 2, -1, 1)
        yield PoseReading(
            reading, order, float(np.median(distance)) * 1e3, float(np.degrees(np.median(np.arccos(cosines))))
        )


def _rows(stream: Stream) -> list[records.Record]:
    """Rows from all over a stream, some thousands at most."""
    rows: list[records.Record] = []
    for index in range(len(stream.spans)):
        if sum(map(len, rows)) >= MAX_ROWS:
            break
        rows.append(stream.load(index))
    return [record for record in rows if len(record)]


def _poses(rows: list[records.Record]) -> tuple[NDArray[np.int64], Array, Array]:
    poses = [record for record in rows if isinstance(record, records.Pose)]
    stamps = np.concatenate([record.stamp_ns for record in poses])
    positions = np.concatenate([record.position_m for record in poses])
    return stamps, positions, rotation_from_quaternion(np.concatenate([record.orientation_xyzw for record in poses]))


def _joints_at(rows: list[records.Record], stamps: NDArray[np.int64]) -> tuple[Array, NDArray[np.bool_]]:
    """The joint positions (n, k) nearest to the times (n,), and whether they are near."""
    joints = [record for record in rows if isinstance(record, records.Joints) and record.position is not None]
    times = np.concatenate([record.stamp_ns for record in joints])
    positions = np.concatenate([record.position for record in joints if record.position is not None])
    after = np.clip(np.searchsorted(times, stamps), 1, max(len(times) - 1, 1))
    nearest = np.where(stamps - times[after - 1] <= times[np.minimum(after, len(times) - 1)] - stamps, after - 1, after)
    nearest = np.minimum(nearest, len(times) - 1)
    return positions[nearest], np.abs(times[nearest] - stamps) <= NEAREST_POSE_NS


@dataclass(frozen=True)
class TableMeasurement(Measurement):
    """A measurement, and the kind of the table that it is of."""

    table: str = "gnss_imu"


Check = Callable[[Archive, Mapping[str, Tables]], Iterator[TableMeasurement]]


def check_settings(archive: Archive, tables: Mapping[str, Tables]) -> None:
    """Measure all that can be measured; notes say what was found, defects what does not fit."""
    for check in CHECKS:
        for measurement in check(archive, tables):
            file = tables[measurement.table].tables[0].name if measurement.parameter else ""
            measure(archive, measurement, file=file)


def _blocks(tables: Tables) -> Iterator[TimedRows]:
    """Blocks from all over the tables, one at a time."""
    for index in sample_indices(len(tables.blocks), BLOCKS):
        yield tables.rows(index)


def _sample(tables: Tables) -> TimedRows:
    return concatenate_rows(tables.tables[0].format.dialect, list(_blocks(tables)))


def _paired_rows(tables: Tables, other: Tables) -> tuple[TimedRows, TimedRows]:
    """Rows sampled from tables that have a near row in another table, and that row.

    They are sought block by block: what lies between the blocks is not read.
    """
    ours, theirs = [], []
    for rows in _blocks(tables):
        nearest, near = other.nearest(rows.stamp_ns, NEAR_NS)
        ours.append(rows.only(near))
        theirs.append(nearest.only(near))
    return concatenate_rows(tables.tables[0].format.dialect, ours), concatenate_rows(
        other.tables[0].format.dialect, theirs
    )


def _slope(values: Floats, against: Floats) -> float:
    return float((values * against).sum() / (against * against).sum())


def _gyro(_: Archive, tables: Mapping[str, Tables]) -> Iterator[TableMeasurement]:
    if "gnss_imu" not in tables or "gnss_body_angular_velocity" not in tables:
        return
    imu, body = _paired_rows(tables["gnss_imu"], tables["gnss_body_angular_velocity"])
    rates = body.columns("x", "y", "z")
    if not len(imu) or np.sqrt((rates**2).mean()) < MOVING_RAD_S:
        return
    slope = _slope(imu.columns("gyro_x", "gyro_y", "gyro_z"), rates)
    fits = None if slope <= 0 else "deg/s" if abs(np.log(slope / np.degrees(1))) < abs(np.log(slope)) else "rad/s"
    yield TableMeasurement(f"gyroscope against GnssBodyAngularVelocity has the slope {slope:.3f}", "gyro_unit", fits)


def _magnetometer(_: Archive, tables: Mapping[str, Tables]) -> Iterator[TableMeasurement]:
    if "gnss_imu" in tables:
        norm = float(np.median(np.linalg.norm(_sample(tables["gnss_imu"]).columns("mag_x", "mag_y", "mag_z"), axis=1)))
        middle = ETNA_FIELD_G * np.sqrt(1000)
        yield TableMeasurement(
            f"the magnetic field has a norm of {norm:.4g} (at Etna 0.45 G or 450 mG)",
            "magnetometer_unit",
            "G" if norm < middle else "mG",
        )


def _gravity(_: Archive, tables: Mapping[str, Tables]) -> Iterator[TableMeasurement]:
    if "gnss_imu" in tables:
        down = float(np.median(_sample(tables["gnss_imu"])["acc_z"]))
        low, high = GRAVITY_M_S2
        fits = None if not low < abs(down) < high else 1 if down < 0 else -1
        yield TableMeasurement(
            f"the accelerometer shows {down:.2f} along its z axis (down)", "accelerometer_sign", fits
        )


def _body_acceleration(archive: Archive, tables: Mapping[str, Tables]) -> Iterator[TableMeasurement]:
    if "gnss_body_acceleration" not in tables:
        return
    rows = _sample(tables["gnss_body_acceleration"])
    norm = float(np.median(np.linalg.norm(rows.columns("x", "y", "z"), axis=1)))
    text = f"GnssBodyAcceleration has a norm of {norm:.2f} m/s2 (median)"
    if norm < WITHOUT_GRAVITY_M_S2:
        yield TableMeasurement(f"{text}: gravity is not in it")
        return
    text += ": gravity seems to be in it, and then in gnss/acceleration too"
    file = tables["gnss_body_acceleration"].tables[0].name
    archive.defects(Defect(file=file, kind="gravity_in_acceleration", stream="acceleration", message=text))
    yield TableMeasurement(text)


def _check_places(archive: Archive, tables: Mapping[str, Tables]) -> Iterator[TableMeasurement]:
    if "gnss_pose" in tables:
        rows = _sample(tables["gnss_pose"])
        latitude, longitude = (float(np.median(rows[name])) for name in ("latitude", "longitude"))
        if abs(latitude) > np.pi / 2 or abs(longitude) > 2 * np.pi:
            message = f"latitude, longitude: expected rad, got {latitude:.3f}, {longitude:.3f}, which look like degrees"
            archive.defects(Defect(file=tables["gnss_pose"].tables[0].name, kind="implausible_unit", message=message))
        for name, (least, largest) in archive.spec.tables["gnss_pose"].limits.items():
            middle = float(np.median(rows[name]))
            if name not in ("latitude", "longitude") and not least <= middle <= largest:
                message = f"{name}: expected {least:g} to {largest:g}, got {middle:g} in most rows, which are kept"
                file = tables["gnss_pose"].tables[0].name
                archive.defects(Defect(file=file, kind="implausible_unit", message=message))
    yield from ()


def _pressure(archive: Archive, tables: Mapping[str, Tables]) -> Iterator[TableMeasurement]:
    if "gnss_imu" in tables:
        pressure = float(np.median(_sample(tables["gnss_imu"])["air_pressure"]))
        if not PRESSURE_PA[0] < pressure < PRESSURE_PA[1]:
            message = f"pressure: expected Pa, got {pressure:.4g}"
            archive.defects(Defect(file=tables["gnss_imu"].tables[0].name, kind="implausible_unit", message=message))
    yield from ()


def _clock(archive: Archive, tables: Mapping[str, Tables]) -> Iterator[TableMeasurement]:
    if "gnss_pose" not in tables:
        return
    rows = _sample(tables["gnss_pose"])
    offset_s = (rows.stamp_ns - rows.clock("device_time")) / NS_PER_S
    median = float(np.median(offset_s))
    spread = float(np.percentile(offset_s, 95) - np.percentile(offset_s, 5))
    text = f"the host's clock is {median:+.6f} s against the INS's, with a spread (5 to 95 %) of {spread:.6f} s"
    if abs(median) > CLOCK_OFFSET_S or spread > CLOCK_OFFSET_S:
        archive.defects(Defect(file=tables["gnss_pose"].tables[0].name, kind="clock_offset", message=text))
    yield TableMeasurement(text)


def _fix_types(_: Archive, tables: Mapping[str, Tables]) -> Iterator[TableMeasurement]:
    """How much of the recording has RTK, by all rows."""
    if "gnss_pose" not in tables:
        return
    counts = np.zeros(len(FIX_TYPES), np.int64)
    for index in range(len(tables["gnss_pose"].blocks)):
        kinds = tables["gnss_pose"].rows(index)["fix_type"]
        known = kinds[(kinds >= 0) & (kinds < len(FIX_TYPES))].astype(np.int64)
        counts += np.bincount(known, minlength=len(FIX_TYPES))
    if counts.any():
        fractions = 100 * counts / counts.sum()
        there = [f"{FIX_TYPES[kind]} {fractions[kind]:.1f} %" for kind in np.argsort(-fractions) if counts[kind]]
        yield TableMeasurement(f"RTK (fixed) in {fractions[-1]:.1f} % of GnssPose's rows: {', '.join(there)}")


def _platform_axes(_: Archive, tables: Mapping[str, Tables]) -> Iterator[TableMeasurement]:
    if "gnss_body_angular_velocity" not in tables:
        return
    for key in ("platform_velocity", "platform_twist_estimate"):
        if key not in tables:
            continue
        twist, body = _paired_rows(tables[key], tables["gnss_body_angular_velocity"])
        if len(twist) and np.sqrt((body["z"] ** 2).mean()) >= MOVING_RAD_S:
            slope = _slope(twist["yaw_rate"], body["z"])
            fits = None if abs(slope) < 0.2 else "frd" if slope > 0 else "flu"
            yield TableMeasurement(
                f"{key}: the turn rate against the INS's has the slope {slope:.3f}", "platform_axes", fits, key
            )


def _steering(archive: Archive, tables: Mapping[str, Tables]) -> Iterator[TableMeasurement]:
    if "wheel_pose_estimate" not in tables or "motor_encoders" not in tables:
        return
    estimate, motor = _paired_rows(tables["wheel_pose_estimate"], tables["motor_encoders"])
    if not len(estimate):
        return
    constants = archive.spec.constants
    steer_deg = 1 / constants["steer_ticks_per_mm"] / constants["steer_mm_per_deg"]
    steer = _difference_deg(estimate, motor, "steer", [direction * steer_deg for direction in constants["steer_signs"]])
    zero = float(np.median(steer))
    fits = next((angle for angle in (0.0, 90.0) if abs(zero - angle) < 5), None)
    text = f"steering angles are {zero:+.2f} deg from those of the ticks"
    yield TableMeasurement(text, "steering_zero_deg", fits, "wheel_pose_estimate")
    drive = _difference_deg(estimate, motor, "drive", [360 / constants["drive_ticks_per_turn"]] * 4)
    offset, spreads = f"{np.median(drive):+.2f} deg", f"{_spread(steer):.2f} and {_spread(drive):.2f} deg"
    yield TableMeasurement(f"drive angles are {offset} from those of the ticks; steering and drive spread by {spreads}")


def _wheel_poses(archive: Archive, tables: Mapping[str, Tables]) -> Iterator[TableMeasurement]:
    if "wheel_pose_estimate" not in tables:
        return
    rows, estimate = _sample(tables["wheel_pose_estimate"]), tables["wheel_pose_estimate"]
    best, *others = orientation_readings(rows)
    text = f"the wheels' roll, pitch, yaw fit their angles best as {best}"
    texts = [f"{text} ({'; '.join(map(str, others))})"]
    if best.degrees > WHEELS_APART_DEG:
        archive.defects(_pose_mismatch(estimate, text))
    if rows.has("x_1"):
        lengths = next(item.settings for item in archive.spec.derived if item.kind == "wheel_poses")
        error_mm = position_error_mm(rows, best.steering_zero_deg, lengths)
        texts.append(f"the wheels' places are {error_mm:.1f} mm from those of their steering angles")
        if error_mm > WHEELS_APART_MM:
            archive.defects(_pose_mismatch(estimate, texts[1]))
    yield from map(TableMeasurement, texts)


def _pose_mismatch(tables: Tables, message: str) -> Defect:
    return Defect(file=tables.tables[0].name, kind="pose_mismatch", stream="wheel_estimate", message=message)


def _difference_deg(estimate: TimedRows, motor: TimedRows, kind: str, deg_per_tick: list[float]) -> Floats:
    """Estimated wheel angles (n, 4) less those of the ticks, in degrees."""
    differences = [
        np.degrees(estimate[f"{kind}_{wheel}"]) - per_tick * motor[f"{kind}_{wheel}_ticks"]
        for wheel, per_tick in enumerate(deg_per_tick, start=1)
    ]
    return np.stack(differences, axis=1)


def _spread(values: Floats) -> float:
    """The middle half of the values about the median of each column."""
    return float(np.median(np.abs(values - np.median(values, axis=0))))


def _wheel_radius(archive: Archive, tables: Mapping[str, Tables]) -> Iterator[TableMeasurement]:
    """The path by the speeds over the angle by the ticks, sums of all wheels: single ticks are coarse."""
    if "motor_encoders" not in tables:
        return
    per_tick = 2 * np.pi / archive.spec.constants["drive_ticks_per_turn"]
    path_m, turned_rad = np.sum(
        [_rolling_distance(rows, per_tick) for rows in _blocks(tables["motor_encoders"])], axis=0
    )
    if turned_rad > ENOUGH_TURNED_RAD:
        yield TableMeasurement(f"drive speed and ticks together give a wheel radius of {path_m / turned_rad:.4f} m")


def _rolling_distance(rows: TimedRows, per_tick: float) -> tuple[float, float]:
    """Distance of rolling wheels by speed (m), and their rotation by ticks (rad)."""
    if len(rows) < 2:
        return 0.0, 0.0
    step_s = np.diff(rows.stamp_ns)[:, None] / NS_PER_S
    speed = rows.columns(*(f"drive_{wheel}_velocity" for wheel in WHEELS))
    angles_rad = np.diff(rows.columns(*(f"drive_{wheel}_ticks" for wheel in WHEELS)), axis=0) * per_tick
    mean = (speed[1:] + speed[:-1]) / 2
    rolls = (step_s > 0) & (step_s < LONGEST_STEP_S) & (speed[1:] * speed[:-1] > 0)
    return float((np.abs(mean) * step_s)[rolls].sum()), float((angles_rad * np.sign(mean))[rolls].sum())


CHECKS: tuple[Check, ...] = (
    _gyro, _magnetometer, _gravity, _body_acceleration,
    _check_places, _fix_types, _pressure, _clock, _platform_axes, _steering, _wheel_poses, _wheel_radius,
)  # fmt: skip
