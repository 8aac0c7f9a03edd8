"""What the arm's sensors and its computer say of a motion: the columns of the motion data."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fieldplay_samples.motion.rotations import Floats, floats, transform_points
from fieldplay_samples.output_folder import SampleError, paths_of
from fieldplay_samples.robots.insight import (
    ArmPose,
    SoftArm,
    angles_to_reach,
    bent_pose,
    gravity_moments,
    rigid_pose,
)
from fieldplay_samples.writers.ida.labelled_products import setting_lines
from fieldplay_samples.writers.text_tables import NS_PER_S, Stamps

TOUCH, MOTIONS = "touch", "motions"
SCENES = (MOTIONS, TOUCH)
TRUTH = "contacts"  # OUT.contacts.npz
UNIX_AT_TDT_ZERO_NS = 946_728_000 * NS_PER_S
TDT_AHEAD_OF_UTC_NS = 69_184_000_000  # with 37 leap seconds
CARTESIAN = ("radius", "azimuth", "z", "th")
MOVED_RAD = 1e-9
INVALID_N = -99999.0
MIN_DETERMINANT = 1e-6
YIELDING = 4  # rounds in which arm and ground find to each other
CREEP_M_S = 1e-3  # below this speed friction fades
TOOL_NAMES = {0: "RA_BLADE_1", 1: "RA_BLADE_2", 2: "RA_SCOOP", 4: "RA_WRIST", 5: "RA_GRAPPLE"}
PHASE_NAMES = {0: "RA_LAUNCH_LOCKED", 1: "RA_STOWED", 2: "RA_OK_TO_OPEN", 3: "RA_SEIS", 4: "RA_WTS", 5: "RA_HP3"}
GROUPS = {"power": 0, "direction": 4, "over_current": 8, "brake_off": 12, "heater": 16}


# The ground before the lander, in the payload frame (z down), and the tool that touches it here and there.


@dataclass(frozen=True, eq=False, kw_only=True)
class TouchedGround:
    """A plane with waves on it, how hard it is, and what the tool carries of it without the computer's knowing.

    `bends` is whether its force bends the arm back, so that the tool stays where the ground is.
    """

    z_m: float
    stiffness_n_per_m: float
    friction: float
    slope: tuple[float, float] = (0.0, 0.0)
    waves: tuple[tuple[float, float, float], ...] = ()  # height in m, and radians to the metre along x and y
    bends: bool = False
    load_kg: float = 0.0

    def depth_m(self, x: Floats, y: Floats) -> Floats:
        """The ground's z, which points down, at places of any shape."""
        waves = (height * np.sin(along * x + across * y) for height, along, across in self.waves)
        return floats(self.z_m + self.slope[0] * x + self.slope[1] * y - sum(waves))


def ground_of(numbers: dict[str, Any], scene: str) -> TouchedGround:
    """The ground of a scene: even where the motions are, with slope and waves where it is touched."""
    return TouchedGround(**(numbers["touch"]["ground"] if scene == TOUCH else numbers["ground"]))


def scene_of(settings: Mapping[str, Any]) -> str:
    """The scene that is asked for; SampleError where there is none of that name."""
    if settings["scene"] not in SCENES:
        raise SampleError(f"scene: expected {' or '.join(SCENES)}, got {settings['scene']!r}")
    return str(settings["scene"])


def touching_motion(numbers: dict[str, Any], touches: int) -> dict[str, Any]:
    """A motion that stays above the ground first, then touches it, row by row to and fro over the place."""
    entry = numbers["touch"]
    ground = ground_of(numbers, TOUCH)
    above = [
        {**position, "z": _depth(ground, position) - entry["above_m"]}
        for position in _touch_positions(entry["place"], touches)
    ]
    fraction = 1.0 / (len(above) + 1)
    along, down, up = entry["shares"]
    steps = [{**above[0], "share": fraction}]
    for number, position in enumerate(above):
        pressed = {**position, "z": _depth(ground, position) + entry["beyond_m"]}
        further = above[min(number + 1, len(above) - 1)]
        steps += [
            {**pressed, "share": down * fraction},
            {**position, "share": up * fraction},
            {**further, "share": along * fraction},
        ]
    return {**entry["motion"], "begin": above[0], "steps": steps}


def _touch_positions(position: dict[str, Any], touches: int) -> list[dict[str, float]]:
    """Return positions in rows of one radius, with every other row reversed."""
    across = max(round(np.sqrt(touches)), 1)
    rows = -(-touches // across)
    radii = np.linspace(position["radius"][0], position["radius"][1], rows)
    azimuths = np.linspace(position["azimuth"][0], position["azimuth"][1], max(across, 2))
    positions = []
    for row, radius in enumerate(radii):
        ordered = azimuths[:across][:: -1 if row % 2 else 1]
        positions += [{"radius": float(radius), "azimuth": float(angle), "th": position["th"]} for angle in ordered]
    return positions[:touches]


def _depth(ground: TouchedGround, position: dict[str, float]) -> float:
    x, y = position["radius"] * np.cos(position["azimuth"]), position["radius"] * np.sin(position["azimuth"])
    return float(ground.depth_m(floats(x), floats(y)))


def grid_of(ground: TouchedGround, points: Floats, step_m: float = 0.01, margin_m: float = 0.05) -> dict[str, Floats]:
    """The ground about points (n, 3): x (m,), y (k,) and its z (k, m) in the payload frame."""
    x, y = (
        np.arange(column.min() - margin_m, column.max() + margin_m + step_m, step_m)
        for column in (points[:, 0], points[:, 1])
    )
    return {"x_m": x, "y_m": y, "ground_z_m": ground.depth_m(*np.meshgrid(x, y))}


def below_ground_m(out: Path, points: Floats) -> Floats:
    """How far points (n, 3) of the payload frame are below the true ground of the sample OUT, where it is known."""
    with np.load(paths_of(out, zipped=out.suffix == ".zip").truth_file(TRUTH)) as truth:
        x, y, depth = (truth[name] for name in ("x_m", "y_m", "ground_z_m"))
    columns, rows = np.interp(points[:, 0], x, np.arange(len(x))), np.interp(points[:, 1], y, np.arange(len(y)))
    column, row = (np.minimum(indices.astype(int), count - 2) for indices, count in ((columns, len(x)), (rows, len(y))))
    right, down = columns - column, rows - row
    low, high = (depth[each, column] * (1 - right) + depth[each, column + 1] * right for each in (row, row + 1))
    return floats(points[:, 2] - (low * (1 - down) + high * down))


# What the arm does: joint angles over time, of the motions in data/ida.yaml.


@dataclass(frozen=True, kw_only=True)
class ArmTool:
    """A tool: its number, position (3,) in the hand, rotation of its approach axis, and whether it hangs on a rope."""

    number: int
    name: str
    offset_m: tuple[float, float, float]
    turn_rad: float
    hangs: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Course:
    """A motion's rows: times (n,) since its start, angles (n, 4), motors on (n, 4), tool and grapple phase (n,)."""

    time_s: Floats
    angles_rad: Floats
    powered: Stamps
    tool: Stamps
    phase: Stamps


def tools_of(numbers: dict[str, Any]) -> dict[int, ArmTool]:
    """The tools by their numbers."""
    return {
        int(number): ArmTool(
            number=int(number),
            name=row["name"],
            offset_m=tuple(row["offset"]),
            turn_rad=row["turn"],
            hangs=row.get("hangs", False),
        )
        for number, row in numbers["tools"].items()
    }


def unix_ns_of(motion: dict[str, Any], time_s: Floats) -> Stamps:
    """Unix times (n,) in ns of times (n,) after a motion's start, to the microsecond."""
    count, tdt, rate = motion["clock"]
    start_us = round((tdt + (motion["sclk"] - count) * rate) * 1e6)
    since_us = np.round(time_s * rate * 1e6).astype(np.int64)
    return np.asarray(UNIX_AT_TDT_ZERO_NS - TDT_AHEAD_OF_UTC_NS + (start_us + since_us) * 1000, np.int64)


def course_of(motion: dict[str, Any], arm: SoftArm, numbers: dict[str, Any], seconds: float) -> Course:
    """The rows of a motion that takes so many seconds."""
    tools = tools_of(numbers)
    time = np.arange(max(2, round(seconds * numbers["rates_hz"]["science"]))) / numbers["rates_hz"]["science"]
    angles, powered = np.zeros((len(time), 4)), np.zeros((len(time), 4), np.int64)
    tool, phase = (np.full(len(time), motion[key]) for key in ("tool", "phase"))
    here = motion["begin"]
    start_s = 0.0
    for step in motion["steps"]:
        length = step["share"] * seconds
        rows = time >= start_s
        fraction = _smooth((time[rows] - start_s) / length)
        tool[rows], phase[rows] = step.get("tool", tool[rows]), step.get("phase", phase[rows])
        angles[rows], here = _step(here, step, fraction, arm=arm, tool=tools[motion["tool"]])
        powered[rows] = _motors_of_motion(step, angles[rows])
        start_s += length
    return Course(time_s=time, angles_rad=angles, powered=powered, tool=tool, phase=phase)


def _smooth(fraction: Floats) -> Floats:
    """From 0 to 1 with velocity and acceleration zero at both ends, at shares (n,) of the way in time."""
    x = np.clip(fraction, 0.0, 1.0)
    return floats(x**3 * (10 - 15 * x + 6 * x * x))


def _step(
    here: dict[str, Any], step: dict[str, Any], fraction: Floats, *, arm: SoftArm, tool: ArmTool
) -> tuple[Floats, dict[str, Any]]:
    """The angles (n, 4) on the way from a place to a step's, and that place."""
    if all(key in step for key in CARTESIAN):
        start, end = (floats([pose[key] for key in CARTESIAN]) for pose in (here, step))
        path = start + fraction[:, None] * (end - start)
        return _angles(arm, tool, path), {key: step[key] for key in CARTESIAN}
    start = _angles_of(here, arm, tool)
    end = floats(step["joints"]) if "joints" in step else start
    return start + fraction[:, None] * (end - start), {"joints": end.tolist()} if "joints" in step else here


def _angles_of(position: dict[str, Any], arm: SoftArm, tool: ArmTool) -> Floats:
    if "joints" in position:
        return floats(position["joints"])
    return floats(_angles(arm, tool, floats([[position[key] for key in CARTESIAN]]))[0])


def _angles(arm: SoftArm, tool: ArmTool, path: Floats) -> Floats:
    """Angles (n, 4) for radius, azimuth, z and approach angle (n, 4) of a tool."""
    radius, azimuth, z, approach = path.T
    point = np.stack([radius * np.cos(azimuth), radius * np.sin(azimuth), z], axis=-1)
    return angles_to_reach(arm, point, approach - tool.turn_rad + np.pi / 2, floats(tool.offset_m))


def _motors_of_motion(step: dict[str, Any], angles: Floats) -> Stamps:
    """Which motors run: all where the tool is led, those that turn where joints are, none where the arm holds."""
    if "z" in step:
        return np.ones(4, np.int64)
    return np.asarray(np.abs(angles[-1] - angles[0]) > MOVED_RAD, np.int64)


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

    def payload_kg(self, course: Course) -> Floats:
        """The mass (n,) on the grapple."""
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
    known = stand.payload_kg(course)
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
        force=_force_from_torques(stand, course, encoders, torque),
        true_tool=tool_poses(stand, course, angles, load)[:, :3],
        true_load_kg=load,
        press_n=press,
    )


def tool_poses(stand: Stand, course: Course, angles: Floats, carried_kg: Floats | None = None) -> Floats:
    """Place and approach angle (n, 4) of each row's tool in the base; bent by weight where that is given (n,)."""
    poses = np.zeros((len(angles), 4))
    for number in np.unique(course.tool):
        rows = course.tool == number
        tool = stand.tools[int(number)]
        pose = rigid_pose(stand.arm, angles[rows])
        if carried_kg is not None:
            weighs_at = (
                _grapple_position(stand, pose) if tool.hangs else transform_points(pose.effector, floats(tool.offset_m))
            )
            pose = bent_pose(stand.arm, angles[rows], carried_kg[rows], weighs_at)
        poses[rows] = _position_at(stand, tool, pose)
    return poses


def _grapple_position(stand: Stand, pose: ArmPose) -> Floats:
    """Where the grapple (n, 3) hangs on its rope."""
    gravity = floats(stand.numbers["gravity"]["direction"])
    attached = transform_points(pose.effector, floats(stand.tools[5].offset_m))
    return floats(attached + stand.numbers["arm"]["grapple_rope"] * gravity)


def _position_at(stand: Stand, tool: ArmTool, pose: ArmPose) -> Floats:
    if tool.hangs:
        down = np.full(len(pose.effector), np.arcsin(stand.numbers["gravity"]["direction"][2]))
        return np.column_stack([_grapple_position(stand, pose), down])
    sine, cosine = np.sin(tool.turn_rad), np.cos(tool.turn_rad)
    axis = pose.effector[:, :3, 0] * sine + pose.effector[:, :3, 2] * cosine
    azimuth = pose.effector[:, :3, 1]  # the wrist's axis lies across the plane in which the arm pitches
    outwards = np.cross(azimuth, [0.0, 0.0, 1.0])
    approach = np.arctan2(axis[:, 2], np.einsum("nc,nc->n", axis, -outwards))
    return np.column_stack([transform_points(pose.effector, floats(tool.offset_m)), approach])


def _levers(stand: Stand, course: Course, angles: Floats) -> tuple[Floats, Floats, Floats]:
    """From the three pitching joints to the tool: outwards (n, 3), down (n, 3), and the tool's offset across (n,)."""
    pose = rigid_pose(stand.arm, angles)
    offset = floats([stand.tools[int(number)].offset_m for number in course.tool])
    tip = transform_points(pose.effector, offset)
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
    load = stand.payload_kg(course) + stand.ground.load_kg
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
    needed = moments - gravity_moments(stand.arm, rigid, stand.payload_kg(course), _grapple_position(stand, rigid))
    idle = floats(sensors["no_load_ma"]) * np.where(velocity < 0, -1.0, 1.0)
    factor = floats(sensors["torque_sign"]) * floats(sensors["torque_nm_per_a"]) / 1000.0
    step = sensors["current_ma_per_lsb"]
    current = np.round(course.powered * (needed / factor + idle) / step) * step
    return floats(course.powered * (current - idle) * factor), floats(current)


def _force_from_torques(stand: Stand, course: Course, angles: Floats, torque: Floats) -> Floats:
    """The force (n, 3) by the torques of the powered joints; invalid with fewer than two pitching joints."""
    rigid = rigid_pose(stand.arm, angles)
    moments = torque + gravity_moments(stand.arm, rigid, stand.payload_kg(course), _grapple_position(stand, rigid))
    out, down, across = _levers(stand, course, angles)
    rows = np.stack([-down, out], axis=-1) * course.powered[:, 1:, None]  # moments = rows @ (F_R, F_Z)
    normal = np.swapaxes(rows, 1, 2) @ rows
    good = np.linalg.det(normal) > MIN_DETERMINANT
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
    rotor = np.empty_like(case)
    rotor[0] = case[0]
    for row in range(1, len(case)):
        before = rotor[row - 1]
        resistance = numbers["resistance_ohm"] * (1 + numbers["per_k"] * (before - numbers["at_deg_c"]))
        heat = current_a[row - 1] ** 2 * resistance + numbers["no_load_a"] * np.abs(volts[row - 1])
        loss = (before - case[row - 1]) * numbers["loss_w_per_k"]
        rotor[row] = before + (heat - loss) * numbers["step_s"] * numbers["cm_r"]
    return rotor


# The arm's status as its computer prints it, and the history: the status of the last moments, one after the other.


def _bits(word: int, group: str) -> list[int]:
    return [word >> (GROUPS[group] + joint) & 1 for joint in range(4)]


def arm_status(readings: Readings, row: int, sclk: float) -> list[str]:
    """The part of the electronics, at a row of a motion; its brakes are 1 where they hold."""
    word = int(readings.status[row])
    values: Mapping[str, Any] = {
        "ace.calib_OK": 1,
        "ace.bus30v_err": 0,
        "ace.parity_err": 0,
        "ace.msg_err": 0,
        "ace.load_box": 0,
        "ace.self_test": 0,
        "mtr.pwr_on": _bits(word, "power"),
        "mtr.rotation": _bits(word, "direction"),
        "mtr.over_current": _bits(word, "over_current"),
        "mtr.brake": [1 - off for off in _bits(word, "brake_off")],
        "mtr.current": (readings.current[row] / 1000.0).tolist(),
        "jnt.enc": readings.encoders[row].tolist(),
        "jnt.pot": readings.pots[row].tolist(),
        "jnt.temp": readings.case[row].tolist(),
        "ref": [4.5, -4.5],
        "htr_crnt": 0.0015,
        "agnd": 0.002,
        "time": f"{sclk:.4f}",
    }
    return [line for key, value in values.items() for line in setting_lines(f"ra_status.{key}", value)]


def system_status(course: Course, readings: Readings, row: int, sclk: float) -> list[str]:
    """The part of the arm's computer, at a row of a motion."""
    word, tool, phase = int(readings.status[row]), int(course.tool[row]), int(course.phase[row])
    pose = readings.poses["enc"][row].tolist()
    values: Mapping[str, Any] = {
        "curr_limit": [110, 260, 210, 110],
        "mtr_volt": readings.volts[row].tolist(),
        "brake": [1 - off for off in _bits(word, "brake_off")],
        "use_pots": [0, 0, 0, 0],
        "htr_on": _bits(word, "heater"),
        "tool": f"{tool} {TOOL_NAMES[tool]}",
        "cool_down": 0,
        "fault_chk_mask": ["F00F0F", "39FF7E7F"],
        "fault_status": ["0", "0"],
        "act_cmd": "0 RA_NO_ACT",
        "act_args": [0, 0, 0, 0],
        "task_cmd": "23 RA_SEND_DATA",
        "task_args": [0, 0, 0, 0],
        "target.q": readings.encoders[-1].tolist(),
        "target.x": readings.poses["enc_defl"][-1].tolist(),
        "via.q": readings.encoders[row].tolist(),
        "via.x": pose,
        "via_step": row,
        "via_time": f"{float(course.time_s[row]):.1f}",
        "col_status.has_collisions": 0,
        **{f"col_status.{name}": -1 for name in ("link1", "link2", "obj1", "obj2")},
        "rotation_cmd": [1 if value >= 0 else -1 for value in readings.velocity[row].tolist()],
        "delta_via.dq": [0, 0, 0, 0],
        "delta_via.dx": [0, 0, 0, 0],
        "delta_via.mag": 0,
        "algo_code": 3,
        "algo_code_override": 0,
        "delta_via_code": 3,
        "plane_angle": 0,
        "tau": readings.torque[row].tolist(),
        "delta_tau": [0, 0, 0, 0],
        "track_state": 0,
        "energy_limit": 0,
        "energy_value": 0,
        "time_limit": 0,
        "grapple_state": "1 Fingers-Closed",
        "grapple_temp": float(readings.grapple[row]),
        "grapple_exp_time": 0,
        "grapple_phase": f"{phase} {PHASE_NAMES[phase]}",
        "mtr_volt_sign": [0, 0, 0, 0],
        "actively_holding_position": 0,
        "time": f"{sclk:.4f}",
    }
    return [line for key, value in values.items() for line in setting_lines(f"sys_status.{key}", value)]


def history(course: Course, readings: Readings, sclk: list[float], records: int) -> list[str]:
    """So many blocks of the computer's status, the oldest first; where the motion is shorter its begin is repeated."""
    lines = []
    for before in range(records - 1, -1, -1):
        row = max(len(sclk) - 1 - before, 0)
        lines.append(f"{before} points before latest (index = {records - 1 - before}):")
        lines += system_status(course, readings, row, sclk[row])
        lines.append("")
    return lines
