"""The arm's status as its computer prints it, and the history: the status of the last moments, one after the other."""

from collections.abc import Mapping
from typing import Any

from fieldplay_samples.writers.ida.motions import Course
from fieldplay_samples.writers.ida.products import setting_lines
from fieldplay_samples.writers.ida.readings import Readings

TOOL_WORDS = {0: "RA_BLADE_1", 1: "RA_BLADE_2", 2: "RA_SCOOP", 4: "RA_WRIST", 5: "RA_GRAPPLE"}
PHASE_WORDS = {0: "RA_LAUNCH_LOCKED", 1: "RA_STOWED", 2: "RA_OK_TO_OPEN", 3: "RA_SEIS", 4: "RA_WTS", 5: "RA_HP3"}
GROUPS = {"power": 0, "direction": 4, "over_current": 8, "brake_off": 12, "heater": 16}


def _bits(word: int, group: str) -> list[int]:
    return [word >> (GROUPS[group] + joint) & 1 for joint in range(4)]


def arm_status(found: Readings, row: int, sclk: float) -> list[str]:
    """The part of the electronics, at a row of a motion; its brakes are 1 where they hold."""
    word = int(found.status[row])
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
        "mtr.current": (found.current[row] / 1000.0).tolist(),
        "jnt.enc": found.encoders[row].tolist(),
        "jnt.pot": found.pots[row].tolist(),
        "jnt.temp": found.case[row].tolist(),
        "ref": [4.5, -4.5],
        "htr_crnt": 0.0015,
        "agnd": 0.002,
        "time": f"{sclk:.4f}",
    }
    return [line for key, value in values.items() for line in setting_lines(f"ra_status.{key}", value)]


def system_status(course: Course, found: Readings, row: int, sclk: float) -> list[str]:
    """The part of the arm's computer, at a row of a motion."""
    word, tool, phase = int(found.status[row]), int(course.tool[row]), int(course.phase[row])
    pose = found.poses["enc"][row].tolist()
    values: Mapping[str, Any] = {
        "curr_limit": [110, 260, 210, 110],
        "mtr_volt": found.volts[row].tolist(),
        "brake": [1 - off for off in _bits(word, "brake_off")],
        "use_pots": [0, 0, 0, 0],
        "htr_on": _bits(word, "heater"),
        "tool": f"{tool} {TOOL_WORDS[tool]}",
        "cool_down": 0,
        "fault_chk_mask": ["F00F0F", "39FF7E7F"],
        "fault_status": ["0", "0"],
        "act_cmd": "0 RA_NO_ACT",
        "act_args": [0, 0, 0, 0],
        "task_cmd": "23 RA_SEND_DATA",
        "task_args": [0, 0, 0, 0],
        "target.q": found.encoders[-1].tolist(),
        "target.x": found.poses["enc_defl"][-1].tolist(),
        "via.q": found.encoders[row].tolist(),
        "via.x": pose,
        "via_step": row,
        "via_time": f"{float(course.time_s[row]):.1f}",
        "col_status.has_collisions": 0,
        **{f"col_status.{name}": -1 for name in ("link1", "link2", "obj1", "obj2")},
        "rotation_cmd": [1 if value >= 0 else -1 for value in found.velocity[row].tolist()],
        "delta_via.dq": [0, 0, 0, 0],
        "delta_via.dx": [0, 0, 0, 0],
        "delta_via.mag": 0,
        "algo_code": 3,
        "algo_code_override": 0,
        "delta_via_code": 3,
        "plane_angle": 0,
        "tau": found.torque[row].tolist(),
        "delta_tau": [0, 0, 0, 0],
        "track_state": 0,
        "energy_limit": 0,
        "energy_value": 0,
        "time_limit": 0,
        "grapple_state": "1 Fingers-Closed",
        "grapple_temp": float(found.grapple[row]),
        "grapple_exp_time": 0,
        "grapple_phase": f"{phase} {PHASE_WORDS[phase]}",
        "mtr_volt_sign": [0, 0, 0, 0],
        "actively_holding_position": 0,
        "time": f"{sclk:.4f}",
    }
    return [line for key, value in values.items() for line in setting_lines(f"sys_status.{key}", value)]


def history(course: Course, found: Readings, sclk: list[float], records: int) -> list[str]:
    """So many blocks of the computer's status, the oldest first; where the motion is shorter its begin is repeated."""
    lines = []
    for before in range(records - 1, -1, -1):
        row = max(len(sclk) - 1 - before, 0)
        lines.append(f"{before} points before latest (index = {records - 1 - before}):")
        lines += system_status(course, found, row, sclk[row])
        lines.append("")
    return lines
