"""What the rover's computers log: odometry, joints, the swinging plane, the satellite unit."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgpack
import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.motion.rotations import (
    Floats,
    floats,
    inverse,
    transform,
)
from fieldplay_samples.robots.sherpatt import wheels_at
from fieldplay_samples.writers.sherpatt.scenario import SherpattScenario, rows_of
from fieldplay_samples.writers.text_tables import Stamps

Sample = dict[str, Any]
BUFFER = 1360  # bytes that the largest transform takes
TYPE, UNALIGNED_PER, VERSION = "asn1SccTransformWithCovariance", 0, 1
LARGEST_64, LARGEST_U32, LONGEST_NAME = (1 << 63) - 1, (1 << 32) - 1, 256
US_PER_S = 1_000_000
FRACTION = 53  # bits of the mantissa of a double, all of which are written
BINARY, MINUS = 0x80, 0x40
UINT8, FLOAT64, SHORT_LIST = 0xCC, 0xCB, 0x90  # what stands before such a number or list in MessagePack
LARGEST_IN_A_BYTE = 127
ODOMETRY = "/mcs_sensor_processing.rigid_body_state_out"
JOINTS = "/mcs_sensor_processing.joints_status_all"
BODY_JOINT = "/body_joint.body_joint_samples"
DGPS, POM = "/dgps.imu_pose", "/pom_pose"
STATE, JOINT_STATES, BITS = "RigidBodyState", "Joints", "asn1_bitstream"
NO_TWIST = np.full(6, np.nan)
ARM_JOINTS = tuple(f"arm_joint_{number}" for number in range(1, 7))
NED_R_ENU = floats([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
NWU_R_ENU = floats([[0, 1, 0], [-1, 0, 0], [0, 0, 1]])
DGPS_STD_M = 0.01


# MessagePack logs as the framework writes them: one map, two entries a stream, numbers of an image as a list.
#
# Transforms may be packed bits: unaligned PER of ASN.1 as the framework's C code writes it, in its whole buffer.


@dataclass(frozen=True, eq=False, kw_only=True)
class WrittenStream:
    """A stream: its type, the times (n,) in ns at which its samples were logged, and the samples."""

    kind: str
    logged_ns: Stamps
    samples: Iterable[Sample]
    in_ns: bool = False


def write_log(path: Path, streams: Mapping[str, WrittenStream]) -> None:
    """Write streams as a log; each stands before its times."""
    packer = msgpack.Packer(use_bin_type=False)
    with path.open("wb") as file:
        file.write(packer.pack_map_header(2 * len(streams)))
        for name, stream in streams.items():
            file.write(packer.pack(name))
            file.write(packer.pack_array_header(len(stream.logged_ns)))
            for sample in stream.samples:
                file.write(encode(packer, sample))
            times = stream.logged_ns if stream.in_ns else stream.logged_ns // 1000
            file.write(packer.pack(f"{name}.meta"))
            file.write(packer.pack({"timestamps": times.tolist(), "type": stream.kind}))


def encode(packer: msgpack.Packer, value: Any) -> bytes:
    """Encode a value as MessagePack; arrays, of bytes (n,) or floats (n,) or (n, up to 15), as lists of numbers."""
    if isinstance(value, dict):
        parts = [packer.pack_map_header(len(value))]
        for key, held in value.items():
            parts += [packer.pack(key), encode(packer, held)]
        return b"".join(parts)
    if isinstance(value, np.ndarray):
        head: bytes = packer.pack_array_header(len(value))
        return head + (_of_small_numbers(value) if value.dtype == np.uint8 else _of_floats(value))
    data: bytes = packer.pack(value)
    return data


def _of_small_numbers(values: NDArray[np.uint8]) -> bytes:
    """Numbers to 127 take a byte, those above are marked."""
    large = values > LARGEST_IN_A_BYTE
    written = np.full(len(values) + int(large.sum()), UINT8, np.uint8)
    written[np.arange(len(values)) + np.cumsum(large)] = values
    return written.tobytes()


def _of_floats(values: Floats) -> bytes:
    number = [("mark", "u1"), ("value", ">f8")]
    row = [("head", "u1"), ("numbers", number, values.shape[1:])]
    written = np.empty(len(values), row if values.ndim > 1 else number)
    if values.ndim > 1:
        written["head"] = SHORT_LIST + values.shape[1]
    numbers = written["numbers"] if values.ndim > 1 else written
    numbers["mark"], numbers["value"] = FLOAT64, values
    return written.tobytes()


def write_settings(path: Path, settings: Mapping[Any, Any]) -> None:
    """Write a file of settings, whose keys may be tuples."""
    path.write_bytes(msgpack.Packer(use_bin_type=False).pack(dict(settings)))


def micros(stamp_ns: int, *, in_ns: bool = False) -> Sample:
    """A time as the framework has it, in microseconds; or, as in logs made of ROS bags, in nanoseconds."""
    return {"microseconds": stamp_ns if in_ns else stamp_ns // 1000}


def unknown(*sides: int) -> Any:
    """NaN, in lists of lists."""
    return float("nan") if not sides else [unknown(*sides[1:]) for _ in range(sides[0])]


def body_state(stamp_ns: int, frames: tuple[str, str], pose: Floats, twist: Floats) -> Sample:
    """Pose (7,) x y z and x y z w of `source` in `target`, twist (6,): velocity in the target, rates in the source."""
    source, target = frames
    return {
        "timestamp": micros(stamp_ns),
        "sourceFrame": source,
        "targetFrame": target,
        "pos": pose[:3].tolist(),
        "cov_position": unknown(3, 3),
        "orient": pose[3:].tolist(),
        "cov_orientation": unknown(3, 3),
        "velocity": twist[:3].tolist(),
        "cov_velocity": unknown(3, 3),
        "angular_velocity": twist[3:].tolist(),
        "cov_angular_velocity": unknown(3, 3),
    }


def joints(stamp_ns: int, names: Sequence[str], position: Floats, speed: Floats) -> Sample:
    """Joints (k,) by name: angles in rad, rates in rad/s; the rest is not known."""
    elements = [
        {"position": angle, "speed": rate, "effort": unknown(), "raw": unknown(), "acceleration": unknown()}
        for angle, rate in zip(position.tolist(), speed.tolist(), strict=True)
    ]
    return {"timestamp": micros(stamp_ns), "names": list(names), "elements": elements}


class MeasuredTransform(NamedTuple):
    """A pose (7,) x y z and x y z w of the child in the parent, with its covariance (6, 6)."""

    stamp_ns: int
    frames: tuple[str, str]  # parent, child
    pose: Floats
    covariance: Floats


def encode_transform(measured: MeasuredTransform, producer: str) -> Sample:
    """Encode a sample with a transform in packed bits; the rest of the buffer is zero."""
    bits = integer_bits(VERSION, 0, LARGEST_U32) + name(producer) + "1" * 7  # all of the pose is estimated
    for frame in measured.frames:
        bits += name(frame)
        bits += integer_bits(measured.stamp_ns // 1000, -LARGEST_64, LARGEST_64)
        bits += integer_bits(US_PER_S, -(1 << 31), (1 << 31) - 1)
    bits += "".join(map(real, [*measured.pose.tolist(), *measured.covariance.ravel().tolist()]))
    data = int(bits.ljust(8 * BUFFER, "0"), 2).to_bytes(BUFFER, "big")
    return {"serialization_method": UNALIGNED_PER, "type": TYPE, "data": list(data)}


def integer_bits(value: int, low: int, high: int) -> str:
    """A whole number within limits, as 0 and 1."""
    return format(value - low, f"0{(high - low).bit_length()}b")


def name(text: str) -> str:
    """A text, which C ends with a zero."""
    data = text.encode() + b"\0"
    return integer_bits(len(data), 0, LONGEST_NAME) + of_bytes(data)


def real(value: float) -> str:
    """A finite number: how many bytes follow, the sign, an exponent of one or two bytes, the mantissa."""
    if not value:
        return of_bytes(b"\0")
    mantissa, exponent = math.frexp(abs(value))
    power = exponent - FRACTION
    width = 1 if -128 <= power < 128 else 2
    header = BINARY | (MINUS if value < 0 else 0) | width - 1
    data = bytes([header]) + power.to_bytes(width, "big", signed=True) + int(mantissa * 2**FRACTION).to_bytes(7, "big")
    return of_bytes(bytes([len(data)]) + data)


def of_bytes(data: bytes) -> str:
    return "".join(format(byte, "08b") for byte in data)


def logged_stamps(scenario: SherpattScenario, stamp_ns: Stamps, name: str) -> Stamps:
    """Logging times of samples taken at times (n,)."""
    jitter = scenario.rng(f"{name} latency").uniform(0.5, 1.5, len(stamp_ns))
    late = (scenario.numbers["latency_s"][name] * jitter * 1e6).astype(np.int64) * 1000
    return np.asarray(np.maximum.accumulate(stamp_ns + late), np.int64)


def odometry_log(scenario: SherpattScenario) -> WrittenStream:
    """The body in odometry, by the wheels; its velocity in odometry, its rates about its own axes."""
    time = scenario.times("odometry")
    poses = scenario.odometry(time)
    velocity = np.gradient(poses[:, :3, 3], time, axis=0)
    twists = np.hstack([velocity, scenario.drive.motion.body_rate(time)])
    return _states(scenario, "odometry", time, frames=("body", "odometry"), poses=poses, twists=twists)


def body_joint_log(scenario: SherpattScenario) -> WrittenStream:
    """The lidar's moving plane in the fixed one."""
    time = scenario.times("body_joint")
    frames = ("velodyne_plane_moving", "velodyne_plane_fixed")
    return _states(scenario, "body_joint", time, frames=frames, poses=scenario.swing(time), twists=None)


def dgps_log(scenario: SherpattScenario) -> WrittenStream:
    """The satellite unit in a frame that begins at its start and has its axes by the compass."""
    time = scenario.times("dgps")
    body_T_unit = inverse(scenario.frame("dgps_body"))
    units = floats(scenario.drive.motion.pose_at(time) @ body_T_unit)
    start = floats(scenario.drive.motion.pose_at(floats([0.0]))[0] @ body_T_unit)[:3, 3]
    axes = NED_R_ENU if scenario.settings["dgps_frame"] == "ned" else NWU_R_ENU
    poses = floats(transform(axes, -axes @ start) @ units)
    poses[:, :3, 3] += scenario.rng("dgps").normal(0.0, DGPS_STD_M, (len(time), 3))
    return _states(scenario, "dgps", time, frames=("dgps", "dgps0"), poses=poses, twists=None)


def pom_log(scenario: SherpattScenario) -> WrittenStream:
    """The body in a frame that begins at its start, as a pose manager estimates it, in packed bits."""
    time, numbers = scenario.times("pom"), scenario.numbers["pom"]
    poses = rows_of(
        floats(inverse(scenario.drive.motion.pose_at(floats([0.0]))[0]) @ scenario.drive.motion.pose_at(time))
    )
    poses[:, :3] += scenario.rng("pom").normal(0.0, numbers["std_m"], (len(time), 3))
    covariance = np.diag([numbers["std_m"] ** 2] * 3 + [numbers["std_rad"] ** 2] * 3)
    stamps, frames = scenario.unix_ns(time), (numbers["parent"], numbers["child"])
    samples = [
        encode_transform(MeasuredTransform(stamp, frames, pose, covariance), numbers["producer"])
        for stamp, pose in zip(stamps.tolist(), poses, strict=True)
    ]
    return WrittenStream(kind=BITS, logged_ns=logged_stamps(scenario, stamps, "pom"), samples=samples)


def joints_log(scenario: SherpattScenario) -> WrittenStream:
    """The legs, held still, their wheels, and an arm at rest.

    A wheel rolls towards its own y, which at phi 0 lies across its leg: the nearer of the two ways round is taken.
    """
    time, legs = scenario.times("joints"), scenario.legs
    direction, speed = wheels_at(legs, scenario.drive, time)
    across = direction - legs.yaw_rad - np.pi / 2
    flips = np.round(across / np.pi)
    phi = across - np.pi * flips
    rate = speed / legs.wheel_radius_m * np.where(flips % 2 == 0, 1.0, -1.0)
    turned = np.concatenate(
        [np.zeros((1, 4)), np.cumsum(0.5 * (rate[1:] + rate[:-1]) * np.diff(time)[:, None], axis=0)]
    )
    still = np.zeros_like(phi)
    columns = {
        "alpha": (still, still),
        "beta": (still + legs.beta_rad, still),
        "gamma": (still + legs.gamma_rad, still),
        "phi": (phi, np.gradient(phi, time, axis=0)),
        "omega": (turned, rate),
    }
    names = [f"{joint}_{suffix}" for joint in columns for suffix in legs.suffixes] + list(ARM_JOINTS)
    rest = np.zeros((len(time), len(ARM_JOINTS)))
    position = np.hstack([*(values for values, _ in columns.values()), rest])
    speeds = np.hstack([*(rates for _, rates in columns.values()), rest])
    stamps = scenario.unix_ns(time)
    samples = [joints(stamp, names, *row) for stamp, *row in zip(stamps.tolist(), position, speeds, strict=True)]
    return WrittenStream(kind=JOINT_STATES, logged_ns=logged_stamps(scenario, stamps, "joints"), samples=samples)


def _states(
    scenario: SherpattScenario,
    name: str,
    time: Floats,
    *,
    frames: tuple[str, str],
    poses: Floats,
    twists: Floats | None,
) -> WrittenStream:
    stamps = scenario.unix_ns(time)
    all_twists = np.tile(NO_TWIST, (len(time), 1)) if twists is None else twists
    rows = zip(stamps.tolist(), rows_of(poses), all_twists, strict=True)
    samples = [body_state(stamp, frames, pose, twist) for stamp, pose, twist in rows]
    return WrittenStream(kind=STATE, logged_ns=logged_stamps(scenario, stamps, name), samples=samples)
