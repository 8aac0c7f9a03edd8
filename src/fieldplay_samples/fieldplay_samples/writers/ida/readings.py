"""What the arm's sensors and its computer say of a motion: the columns of the motion data."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldplay_samples.motion.frames import Floats, floats, moved
from fieldplay_samples.robots.lander_arm import ArmPose, SoftArm, bent_pose, gravity_moments, rigid_pose
from fieldplay_samples.writers.ida.ground import TouchedGround
from fieldplay_samples.writers.ida.motions import ArmTool, Course
from fieldplay_samples.writers.tables import Stamps

INVALID_N = -99999.0
LEAST_DETERMINANT = 1e-6
YIELDING = 4  # rounds in which arm and ground find to each other
CREEP_M_S = 1e-3  # below this speed friction fades


@dataclass(frozen=True, eq=False, kw_only=True)
class Readings:
    """Columns of n rows as archived: angles in rad, lengths in m, mA, V, Nm, N, deg C."""

    encoders: Floats
    pots: Floats
    velocity: Floats
    case: Floats
    rotor: Floats
    grapple: Floats
    current: Floats
    volts: Floats
    status: Stamps
    poses: dict[str, Floats]  # x y z th (n, 4) by the source of the angles: enc, pot, enc_defl, pot_defl
    torque: Floats
    force: Floats
    true_tool: Floats  # (n, 3) in the base, bent, from the true angles
    true_load_kg: Floats  # (n,) what truly weighs there; below 0 where the ground carries the arm
    press_n: Floats  # (n,) on the ground


@dataclass(frozen=True, eq=False, kw_only=True)
class Stand:
    """The arm, its tools, and the numbers of data/ida.yaml."""

    arm: SoftArm
    tools: dict[int, ArmTool]
    numbers: dict[str, Any]
    ground: TouchedGround

    def carried_kg(self, course: Course) -> Floats:
        """What hangs on the grapple (n,)."""
        masses = self.numbers["payload_kg"]
        return floats([masses.get(int(phase), 0.0) for phase in course.phase])


def read(stand: Stand, course: Course, rng: np.random.Generator) -> Readings:
    """All that is measured and computed of a course."""
    sensors = stand.numbers["sensors"]
    angles = course.angles_rad
    gear, offset = floats(sensors["gear_ratio"]), floats(sensors["encoder_offset"])
    counts = np.round((angles / sensors["rad_per_turn"] + offset) * gear)
    encoders = sensors["rad_per_turn"] * (counts / gear - offset)
    pot_b, pot_m = floats(sensors["pot_b"]), floats(sensors["pot_m"])
    noisy = angles + sensors["pot_bias"] + rng.normal(0.0, 0.3, angles.shape) / np.abs(pot_m)
    pots = (np.round(noisy * pot_m + pot_b) - pot_b) / pot_m
    velocity = floats(np.gradient(angles, course.time_s, axis=0))
    press = _press(stand, course)
    load = _true_load(stand, course, press)
    torque, current = _motors(stand, course, velocity, press)
    volts = course.powered * velocity * sensors["volts_per_rad_s"]
    case = sensors["case_deg_c"] + 2e-4 * course.time_s[:, None]
    sources = {"enc": encoders, "pot": pots}
    rigid = {name: tool_poses(stand, course, joints) for name, joints in sources.items()}
    known = stand.carried_kg(course)
    bent = {f"{name}_defl": tool_poses(stand, course, joints, known) for name, joints in sources.items()}
    return Readings(
        encoders=encoders,
        pots=pots,
        velocity=velocity,
        case=case,
        rotor=_rotor(stand.numbers["rotor"], case, current / 1000.0, volts),
        grapple=np.full(len(angles), sensors["grapple_deg_c"]),
        current=current,
        volts=volts,
        status=_status(course, velocity, current),
        poses=rigid | bent,
        torque=torque,
        force=_measured_force(stand, course, encoders, torque),
        true_tool=tool_poses(stand, course, angles, load)[:, :3],
        true_load_kg=load,
        press_n=press,
    )


def tool_poses(stand: Stand, course: Course, angles: Floats, carried_kg: Floats | None = None) -> Floats:
    """Place and approach angle (n, 4) of each row's tool in the base; bent by weight where that is given (n,)."""
    found = np.zeros((len(angles), 4))
    for number in np.unique(course.tool):
        rows = course.tool == number
        tool = stand.tools[int(number)]
        pose = rigid_pose(stand.arm, angles[rows])
        if carried_kg is not None:
            weighs_at = _hang(stand, pose) if tool.hangs else moved(pose.effector, floats(tool.offset_m))
            pose = bent_pose(stand.arm, angles[rows], carried_kg[rows], weighs_at)
        found[rows] = _place(stand, tool, pose)
    return found


def _hang(stand: Stand, pose: ArmPose) -> Floats:
    """Where the grapple (n, 3) hangs on its rope."""
    gravity = floats(stand.numbers["gravity"]["direction"])
    attached = moved(pose.effector, floats(stand.tools[5].offset_m))
    return floats(attached + stand.numbers["arm"]["grapple_rope"] * gravity)


def _place(stand: Stand, tool: ArmTool, pose: ArmPose) -> Floats:
    if tool.hangs:
        down = np.full(len(pose.effector), np.arcsin(stand.numbers["gravity"]["direction"][2]))
        return np.column_stack([_hang(stand, pose), down])
    sine, cosine = np.sin(tool.turn_rad), np.cos(tool.turn_rad)
    axis = pose.effector[:, :3, 0] * sine + pose.effector[:, :3, 2] * cosine
    azimuth = pose.effector[:, :3, 1]  # the wrist's axis lies across the plane in which the arm pitches
    outwards = np.cross(azimuth, [0.0, 0.0, 1.0])
    approach = np.arctan2(axis[:, 2], np.einsum("nc,nc->n", axis, -outwards))
    return np.column_stack([moved(pose.effector, floats(tool.offset_m)), approach])


def _levers(stand: Stand, course: Course, angles: Floats) -> tuple[Floats, Floats, Floats]:
    """From the three pitching joints to the tool: outwards (n, 3), down (n, 3), and the tool's offset across (n,)."""
    pose = rigid_pose(stand.arm, angles)
    offset = floats([stand.tools[int(number)].offset_m for number in course.tool])
    tip = moved(pose.effector, offset)
    out = np.stack([np.cos(angles[:, 0]), np.sin(angles[:, 0]), np.zeros(len(angles))], axis=-1)
    arms = tip[:, None] - pose.joints[:, 1:, :3, 3]
    return floats(np.einsum("nkc,nc->nk", arms, out)), floats(arms[..., 2]), offset[:, 1]


def _press(stand: Stand, course: Course) -> Floats:
    """How hard (n,) the tool presses on the ground: so much that ground and arm yield as far as the tool is sent."""
    hangs = np.array([stand.tools[int(number)].hangs for number in course.tool])
    softness, yields = 1.0 / stand.ground.stiffness_n_per_m, floats(np.zeros(len(hangs)))
    if stand.ground.bends:
        yields = _depth_in_ground(stand, course, yields) - _depth_in_ground(stand, course, yields + 1.0)
    press = np.zeros(len(hangs))
    for _ in range(YIELDING):
        further = _depth_in_ground(stand, course, floats(press)) - press * softness
        press = np.where(hangs, 0.0, np.maximum(press + further / (softness + yields), 0.0))
    return floats(press)


def _depth_in_ground(stand: Stand, course: Course, press: Floats) -> Floats:
    """How deep (n,) the tool is in the ground while it presses with so many newton; below 0 above it."""
    load = _true_load(stand, course, press) if stand.ground.bends else None
    tip = tool_poses(stand, course, course.angles_rad, load)
    return floats(tip[:, 2] - stand.ground.depth_m(tip[:, 0], tip[:, 1]))


def _true_load(stand: Stand, course: Course, press: Floats) -> Floats:
    """What truly weighs at the tool (n,) in kg, less what the ground carries where that bends the arm."""
    load = stand.carried_kg(course) + stand.ground.load_kg
    return floats(load - press / stand.numbers["gravity"]["m_s2"]) if stand.ground.bends else load


def _true_force(stand: Stand, course: Course, press: Floats) -> Floats:
    """Radial, tangential and downward force (n, 3) of the tool on the ground, less the weight that nobody knows of."""
    tip = tool_poses(stand, course, course.angles_rad)
    radius, azimuth = np.hypot(tip[:, 0], tip[:, 1]), np.unwrap(np.arctan2(tip[:, 1], tip[:, 0]))
    slides = [np.gradient(radius, course.time_s), -radius * np.gradient(azimuth, course.time_s)]
    rubs = [stand.ground.friction * press * np.tanh(speed / CREEP_M_S) for speed in slides]
    x, y, z = stand.ground.load_kg * stand.arm.gravity_m_s2
    out, across = np.cos(azimuth) * x + np.sin(azimuth) * y, np.sin(azimuth) * x - np.cos(azimuth) * y
    return np.column_stack([rubs[0] - out, rubs[1] - across, press - z])


def _motors(stand: Stand, course: Course, velocity: Floats, press: Floats) -> tuple[Floats, Floats]:
    """Torques (n, 4) in Nm as the computer has them from currents (n, 4) in mA, which come in steps."""
    sensors, angles = stand.numbers["sensors"], course.angles_rad
    force = _true_force(stand, course, press)
    out, down, across = _levers(stand, course, angles)
    moments = np.zeros_like(angles)
    moments[:, 1:] = out * force[:, 2:] - down * force[:, :1]
    across = across + stand.arm.d_m[1]
    moments[:, 0] = force[:, 1] * (stand.arm.a_m[0] + out[:, 0]) - force[:, 0] * across
    rigid = rigid_pose(stand.arm, angles)
    needed = moments - gravity_moments(stand.arm, rigid, stand.carried_kg(course), _hang(stand, rigid))
    idle = floats(sensors["no_load_ma"]) * np.where(velocity < 0, -1.0, 1.0)
    factor = floats(sensors["torque_sign"]) * floats(sensors["torque_nm_per_a"]) / 1000.0
    step = sensors["current_ma_per_lsb"]
    current = np.round(course.powered * (needed / factor + idle) / step) * step
    return floats(course.powered * (current - idle) * factor), floats(current)


def _measured_force(stand: Stand, course: Course, angles: Floats, torque: Floats) -> Floats:
    """The force (n, 3) that the powered joints' torques tell; invalid where fewer than two of the pitching ones do."""
    rigid = rigid_pose(stand.arm, angles)
    moments = torque + gravity_moments(stand.arm, rigid, stand.carried_kg(course), _hang(stand, rigid))
    out, down, across = _levers(stand, course, angles)
    rows = np.stack([-down, out], axis=-1) * course.powered[:, 1:, None]  # moments = rows @ (F_R, F_Z)
    normal = np.swapaxes(rows, 1, 2) @ rows
    good = np.linalg.det(normal) > LEAST_DETERMINANT
    force = np.full((len(angles), 3), INVALID_N)
    right = np.einsum("nki,nk->ni", rows, moments[:, 1:])
    solved = np.linalg.solve(normal[good], right[good][..., None])[..., 0]
    across = across + stand.arm.d_m[1]
    tangential = (solved[:, 0] * across[good] + moments[good, 0]) / (stand.arm.a_m[0] + out[good, 0])
    force[good] = np.column_stack([solved[:, 0], tangential, solved[:, 1]])
    return force


def _status(course: Course, velocity: Floats, current: Floats) -> Stamps:
    """The word (n,) of bits: power, direction, over current, brake (1 is off), heater, joint 1 lowest in each."""
    heated = np.zeros_like(course.powered)
    heated[: len(heated) // 4, 1] = 1
    over = np.abs(current) > floats([110.0, 260.0, 210.0, 110.0])
    groups = [course.powered, course.powered * (velocity < 0), over, course.powered, heated]
    bits = np.concatenate([np.asarray(group, np.int64) for group in groups], axis=1)
    return np.asarray(bits @ (1 << np.arange(bits.shape[1])), np.int64)


def _rotor(numbers: dict[str, float], case: Floats, current_a: Floats, volts: Floats) -> Floats:
    """Temperatures (n, 4) of the rotors, which begin as their cases."""
    found = np.empty_like(case)
    found[0] = case[0]
    for row in range(1, len(case)):
        before = found[row - 1]
        resistance = numbers["resistance_ohm"] * (1 + numbers["per_k"] * (before - numbers["at_deg_c"]))
        heat = current_a[row - 1] ** 2 * resistance + numbers["no_load_a"] * np.abs(volts[row - 1])
        loss = (before - case[row - 1]) * numbers["loss_w_per_k"]
        found[row] = before + (heat - loss) * numbers["step_s"] * numbers["cm_r"]
    return found
