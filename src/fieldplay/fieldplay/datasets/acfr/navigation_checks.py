"""Navigation compared with itself and with the wheels: its rates, its yaw, and what the wheels' radius must be."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import Defect
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.acfr import navigation as turns
from fieldplay.datasets.acfr.navigation import (
    ANGLES,
    NAV,
    PLACE,
    RATES,
    VELOCITY,
    grid_of,
)
from fieldplay.datasets.archive import Archive, file_of_span, spread
from fieldplay.io.row_cache import TableRows
from fieldplay.io.table_streams import Tables
from fieldplay.kinematics.skid_steer_fit import Estimate, WheelDrive, skid_steer_fit
from fieldplay.messages.records import Joints, Odometry
from fieldplay.streams.stream import Stream

BLOCKS = 16  # of a table are looked at, spread over it
LONGEST_STEP_S = 0.25
TURNING_RAD_S, MOVING_M_S = 0.01, 0.2  # below these, differences are noise
COURSE_M_S, STRAIGHT_RAD_S = 0.5, 0.05
ENOUGH = 20  # rows
CLEARLY = 0.5  # of the two readings' distance, by which one must be nearer
SCALE_OFF = 0.1
COURSE_OFF_DEG = 10.0
JUMP_M, FASTEST_M_S = 2.0, 15.0  # a solution that is found anew moves the place; the vehicle drives at most so fast
LONGEST_STAND = 0.2  # m/s that a vehicle which stands seems to move

Floats = NDArray[np.float64]


def sampled(tables: Tables) -> list[TableRows]:
    """Blocks from all over the tables."""
    return [tables.rows(index) for index in spread(len(tables.blocks), BLOCKS)]


def check_rates(archive: Archive, tables: Mapping[str, Tables]) -> None:
    """Compare the rates with the differences of the poses, once as Euler rates and once as the body's."""
    if NAV not in tables:
        return
    parts = [_steps(rows) for rows in sampled(tables[NAV])]
    moved, told = (np.concatenate([part[place] for part in parts]) for place in (0, 1))
    _note_scale(archive, "velocities", "places", measured=moved, told=told, least=MOVING_M_S)
    turned, euler, body = (np.concatenate([part[place] for part in parts]) for place in (2, 3, 4))
    if len(turned) < ENOUGH or _rms(turned) < TURNING_RAD_S:
        return
    chosen = archive.parameters["nav_rates"]
    as_chosen = euler if chosen == "euler" else body
    _note_scale(archive, "turn rates", "attitudes", measured=turned, told=as_chosen, least=TURNING_RAD_S)
    errors = {"euler": _rms(turned - euler), "body": _rms(turned - body)}
    apart = _rms(euler - body)
    text = f"turn rates as euler rates differ from the attitudes' by {errors['euler']:.2g} rad/s, as body rates by "
    text += f"{errors['body']:.2g} rad/s (rms)"
    if abs(errors["euler"] - errors["body"]) < CLEARLY * apart or apart == 0:
        archive.notes.append(f"measured: {text}: not to be told apart here")
        return
    archive.notes.append(f"measured: {text}")
    fits = min(errors, key=lambda name: errors[name])
    if fits != chosen:
        message = f"{text}; nav_rates={chosen} does not fit, --set nav_rates={fits} would"
        archive.defects(Defect(file=tables[NAV].tables[0].name, kind="unit_mismatch", message=message))


def check_jumps(archive: Archive, tables: Mapping[str, Tables]) -> None:
    """Report where the place is farther from that of the row before than the vehicle can drive."""
    for table in tables[NAV].tables if NAV in tables else ():
        last: tuple[NDArray[np.int64], Floats] | None = None
        for rows in (table.rows(index) for index in range(len(table.blocks))):
            stamps, places = rows.stamp_ns, rows.columns(*PLACE)
            before = (stamps[:1], places[:1]) if last is None else last
            seconds = np.diff(np.concatenate([before[0], stamps])) / NS_PER_S
            moved_m = np.linalg.norm(np.diff(np.concatenate([before[1], places]), axis=0), axis=1)
            last = (stamps[-1:], places[-1:])
            most_m = JUMP_M + FASTEST_M_S * np.abs(seconds)
            for row in np.flatnonzero(moved_m > most_m).tolist():
                expected = f"expected a place at most {most_m[row]:.1f} m from that of the row before"
                message = f"{expected}, {seconds[row]:.3f} s earlier, got {moved_m[row]:.1f} m; the row is kept"
                line = int(rows.line[row])
                archive.defects(
                    Defect(file=table.name, row=line, kind="place_jump", stream="nav_odom", message=message)
                )


def _steps(rows: TableRows) -> tuple[Floats, ...]:
    """Between rows (m,): velocities of the places and as told, rates of the attitudes, as Euler and as body rates."""
    seconds = np.diff(rows.stamp_ns) / NS_PER_S
    near = (seconds > 0) & (seconds < LONGEST_STEP_S)
    angles, safe = rows.columns(*ANGLES), np.where(near, seconds, 1.0)
    found = [np.diff(rows.columns(*PLACE), axis=0) / safe[:, None], _between(rows.columns(*VELOCITY))]
    found.append(turns.flu_rates_between(angles, safe) if len(rows) > 1 else np.zeros((0, 3)))
    for reading in ("euler", "body"):
        matrices = turns.flu_rates_from(angles, reading)
        found.append(_between(turns.applied(matrices, rows.columns(*RATES))))
    return tuple(values[near] for values in found)


def _between(values: Floats) -> Floats:
    return (values[1:] + values[:-1]) / 2


def _rms(values: Floats) -> float:
    return float(np.sqrt((values**2).sum(axis=1).mean()))


def _note_scale(archive: Archive, what: str, of: str, *, measured: Floats, told: Floats, least: float) -> None:
    if len(measured) < ENOUGH or _rms(measured) < least:
        return
    # By the rows as told: the differences of poses are the noisier, and what is divided by must not be noise.
    scale = float((told**2).sum() / ((told * measured).sum() or np.nan))
    text = f"nav's {what} are {scale:.3f} times the differences of its {of}"
    is_off = not abs(scale - 1) <= SCALE_OFF
    archive.notes.append(f"warning: {text}: another unit or order?" if is_off else f"measured: {text}")


def check_course(archive: Archive, tables: Mapping[str, Tables]) -> None:
    """Note by how much the yaw differs from the course on straight runs, beside the grid's convergence."""
    if NAV not in tables:
        return
    apart = np.concatenate([_yaw_less_course(rows) for rows in sampled(tables[NAV])])
    if len(apart) < ENOUGH:
        return
    median = float(np.degrees(np.median(apart)))
    spread = float(np.degrees(np.percentile(apart, 75) - np.percentile(apart, 25)))
    convergence = np.degrees(grid_of(archive, tables[NAV]).convergence_rad())
    text = (
        f"on straight runs the yaw is {median:+.2f} deg from the course on the grid ({len(apart)} rows, half of them "
        f"within {spread:.2f} deg); a yaw from true north would be {convergence:+.2f} deg off, one from the grid's 0"
    )
    archive.notes.append(f"warning: {text}" if abs(median) > COURSE_OFF_DEG else f"measured: {text}")


def _yaw_less_course(rows: TableRows) -> Floats:
    """Angles in rad where the vehicle drives straight, ahead or backward."""
    north, east, _ = rows.columns(*VELOCITY).T
    straight = (np.hypot(north, east) > COURSE_M_S) & (np.abs(rows["d_yaw"]) < STRAIGHT_RAD_S)
    apart = rows["yaw"][straight] - np.arctan2(east, north)[straight]
    folded: Floats = (apart + np.pi / 2) % np.pi - np.pi / 2
    return folded


def check_skid_steer(archive: Archive) -> None:
    """Note the wheels' radius and the track that fit the navigation, where the vehicle drives and turns."""
    if "payload_wheels" not in archive.streams or "nav_odom" not in archive.streams:
        return
    drive = _drive(archive.streams["payload_wheels"], archive.streams["nav_odom"])
    if not len(drive.wheel_stamp_ns) or not len(drive.moved_stamp_ns):
        return
    fit = skid_steer_fit(drive)
    if fit.wheel_radius_m is None:
        return
    text = f"the wheels fit the navigation with a radius of {_shown(fit.wheel_radius_m)}"
    text += f" and a track of {_shown(fit.track_m)}" if fit.track_m else "; it turns too little to tell the track"
    archive.notes.append(f"measured: {text} ({fit.rows} rows, {fit.slipping:.0%} of them slipping)")
    if fit.wheel_radius_m.value < 0 or (fit.track_m and fit.track_m.value < 0):
        message = f"{text}: one below 0 means that the wheels turn the other way, or that left is right"
        file = file_of_span(archive, "payload_wheels", 0)
        archive.defects(Defect(file=file, kind="wheel_sense", stream="payload_wheels", message=message))


def _shown(estimate: Estimate) -> str:
    return f"{estimate.value:.3f} m +- {estimate.std:.3f} m"


def _drive(wheels: Stream, odometry: Stream) -> WheelDrive:
    rates = [record for record in _all(wheels) if isinstance(record, Joints) and record.velocity is not None]
    moved = [record for record in _all(odometry) if isinstance(record, Odometry)]
    wheel_ns = np.concatenate([np.zeros(0, np.int64), *(record.stamp_ns for record in rates)])
    moved_ns = np.concatenate([np.zeros(0, np.int64), *(record.stamp_ns for record in moved)])
    speed = np.concatenate([np.zeros(0), *(record.linear_velocity_m_s[:, 0] for record in moved)])
    turn = np.concatenate([np.zeros(0), *(record.angular_velocity_rad_s[:, 2] for record in moved)])
    velocity = np.concatenate([np.zeros((0, 2)), *(record.velocity for record in rates if record.velocity is not None)])
    wheel_order, moved_order = np.argsort(wheel_ns, kind="stable"), np.argsort(moved_ns, kind="stable")
    return WheelDrive(
        wheel_stamp_ns=wheel_ns[wheel_order],
        wheel_rates_rad_s=velocity[wheel_order],
        moved_stamp_ns=moved_ns[moved_order],
        speed_m_s=speed[moved_order],
        turn_rate_rad_s=turn[moved_order],
    )


def _all(stream: Stream) -> list[object]:
    return [stream.load(index) for index in range(len(stream.spans))]


def stands(archive: Archive, tables: Mapping[str, Tables]) -> bool:
    """Whether the vehicle stands all the time, as far as the navigation tells."""
    if NAV not in tables:
        return False
    return all(bool((np.abs(rows.columns(*VELOCITY)) < LONGEST_STAND).all()) for rows in sampled(tables[NAV]))
