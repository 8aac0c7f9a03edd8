"""What the rover's computers log: odometry, joints, the swinging plane, the satellite unit."""

import numpy as np

from fieldplay_samples.motion.frames import Floats, floats, inverse, transform
from fieldplay_samples.robots.sherpatt import wheels_at
from fieldplay_samples.writers.sherpatt.logs import (
    MeasuredTransform,
    WrittenStream,
    body_state,
    joints,
    packed_transform,
)
from fieldplay_samples.writers.sherpatt.scenario import SherpattScenario, rows_of
from fieldplay_samples.writers.tables import Stamps

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


def logged(scenario: SherpattScenario, stamp_ns: Stamps, name: str) -> Stamps:
    """When samples taken at times (n,) are written down."""
    jitter = scenario.rng(f"{name} latency").uniform(0.5, 1.5, len(stamp_ns))
    late = (scenario.numbers["latency_s"][name] * jitter * 1e6).astype(np.int64) * 1000
    return np.asarray(np.maximum.accumulate(stamp_ns + late), np.int64)


def odometry_log(scenario: SherpattScenario) -> WrittenStream:
    """The body in odometry, as the wheels tell; its velocity in odometry, its rates about its own axes."""
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
        packed_transform(MeasuredTransform(stamp, frames, pose, covariance), numbers["producer"])
        for stamp, pose in zip(stamps.tolist(), poses, strict=True)
    ]
    return WrittenStream(kind=BITS, logged_ns=logged(scenario, stamps, "pom"), samples=samples)


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
    return WrittenStream(kind=JOINT_STATES, logged_ns=logged(scenario, stamps, "joints"), samples=samples)


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
    return WrittenStream(kind=STATE, logged_ns=logged(scenario, stamps, name), samples=samples)
