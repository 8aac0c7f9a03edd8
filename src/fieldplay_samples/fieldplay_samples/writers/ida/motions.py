"""What the arm does: joint angles over time, of the motions in data/ida.yaml."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldplay_samples.motion.frames import Floats, floats
from fieldplay_samples.robots.lander_arm import SoftArm, angles_to_reach
from fieldplay_samples.writers.tables import NS_PER_S, Stamps

UNIX_AT_TDT_ZERO_NS = 946_728_000 * NS_PER_S
TDT_AHEAD_OF_UTC_NS = 69_184_000_000  # with 37 leap seconds
CARTESIAN = ("radius", "azimuth", "z", "th")
MOVED_RAD = 1e-9


@dataclass(frozen=True, kw_only=True)
class ArmTool:
    """A tool: its number, its place (3,) in the hand, the turn of its approach axis, and whether it hangs on a rope."""

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
    begin_s = 0.0
    for step in motion["steps"]:
        length = step["share"] * seconds
        rows = time >= begin_s
        share = _smooth((time[rows] - begin_s) / length)
        tool[rows], phase[rows] = step.get("tool", tool[rows]), step.get("phase", phase[rows])
        angles[rows], here = _step(here, step, share, arm=arm, tool=tools[motion["tool"]])
        powered[rows] = _motors(step, angles[rows])
        begin_s += length
    return Course(time_s=time, angles_rad=angles, powered=powered, tool=tool, phase=phase)


def _smooth(share: Floats) -> Floats:
    """From 0 to 1 with velocity and acceleration zero at both ends, at shares (n,) of the way in time."""
    x = np.clip(share, 0.0, 1.0)
    return floats(x**3 * (10 - 15 * x + 6 * x * x))


def _step(
    here: dict[str, Any], step: dict[str, Any], share: Floats, *, arm: SoftArm, tool: ArmTool
) -> tuple[Floats, dict[str, Any]]:
    """The angles (n, 4) on the way from a place to a step's, and that place."""
    if all(key in step for key in CARTESIAN):
        begin, end = (floats([place[key] for key in CARTESIAN]) for place in (here, step))
        way = begin + share[:, None] * (end - begin)
        return _angles(arm, tool, way), {key: step[key] for key in CARTESIAN}
    begin = _angles_of(here, arm, tool)
    end = floats(step["joints"]) if "joints" in step else begin
    return begin + share[:, None] * (end - begin), {"joints": end.tolist()} if "joints" in step else here


def _angles_of(place: dict[str, Any], arm: SoftArm, tool: ArmTool) -> Floats:
    if "joints" in place:
        return floats(place["joints"])
    return floats(_angles(arm, tool, floats([[place[key] for key in CARTESIAN]]))[0])


def _angles(arm: SoftArm, tool: ArmTool, way: Floats) -> Floats:
    """Angles (n, 4) for radius, azimuth, z and approach angle (n, 4) of a tool."""
    radius, azimuth, z, approach = way.T
    point = np.stack([radius * np.cos(azimuth), radius * np.sin(azimuth), z], axis=-1)
    return angles_to_reach(arm, point, approach - tool.turn_rad + np.pi / 2, floats(tool.offset_m))


def _motors(step: dict[str, Any], angles: Floats) -> Stamps:
    """Which motors run: all where the tool is led, those that turn where joints are, none where the arm holds."""
    if "z" in step:
        return np.ones(4, np.int64)
    return np.asarray(np.abs(angles[-1] - angles[0]) > MOVED_RAD, np.int64)
