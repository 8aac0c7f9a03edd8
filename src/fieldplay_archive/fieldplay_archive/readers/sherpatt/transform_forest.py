"""Transforms of settings as a forest: each two frames once, each frame with one parent, no loops."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from fieldplay_archive.spec import Extrinsic
from fieldplay_kinematics.axes import rotated
from fieldplay_messages.errors import Defect, Report

NEAR_M, NEAR_DEG = 1e-3, 0.1  # how far apart two directions of one transform may be
CONJUGATE = np.array([-1.0, -1.0, -1.0, 1.0])


def forest_of_rows(rows: Iterable[Extrinsic], report: Report, note: Callable[[str], None]) -> list[Extrinsic]:
    """The rows that are a forest: what gives a frame itself, a second parent or a loop is reported and left out.

    Of a pair in both directions the first is taken if they say the same, else neither.
    """
    parents: dict[str, str] = {}
    found = []
    for row in _in_one_direction(rows, report, note):
        fault = _fault_of(row, parents)
        if fault:
            _report(report, row, f"{fault}; it is left out")
        else:
            parents[row.child] = row.parent
            found.append(row)
    return found


def _in_one_direction(rows: Iterable[Extrinsic], report: Report, note: Callable[[str], None]) -> list[Extrinsic]:
    """Of each two frames the first row; what stands there twice is noted, what stands in both directions reported."""
    first: dict[frozenset[str], Extrinsic] = {}
    contradicted = set()
    for row in rows:
        pair = frozenset((row.parent, row.child))
        taken = first.setdefault(pair, row)
        if taken is row:
            continue
        if taken.parent == row.parent:
            note(f"{row.source}: {row.parent} -> {row.child} stands in the settings more than once: the first counts")
            continue
        other = f"{taken.parent} -> {taken.child}" + (f" of {taken.source}" if taken.source != row.source else "")
        apart = _apart(taken, row)
        if apart:
            contradicted.add(pair)
        told = f"{apart}; both are left out" if apart else "as its inverse; it is left out"
        _report(report, row, f"expected each pair in one direction, got {other} too, {told}")
    return [row for pair, row in first.items() if pair not in contradicted]


def _apart(row: Extrinsic, back: Extrinsic) -> str:
    """How far a transform and that in the other direction are from each other's inverse; "" where they are that."""
    turn, turn_back = np.array(row.rotation), np.array(back.rotation)
    distance_m = float(np.linalg.norm(np.array(row.translation) + rotated(turn, np.array(back.translation))))
    cosine = abs(float(turn @ (turn_back * CONJUGATE)) / float(np.linalg.norm(turn) * np.linalg.norm(turn_back)))
    angle_deg = float(np.degrees(2 * np.arccos(min(cosine, 1.0))))
    if distance_m <= NEAR_M and angle_deg <= NEAR_DEG:
        return ""
    return f"which is not its inverse by {distance_m:.3f} m and {angle_deg:.1f} degrees"


def _fault_of(row: Extrinsic, parents: Mapping[str, str]) -> str:
    """What is wrong with a transform behind others; parents by child, without loops."""
    if row.parent == row.child:
        return "expected two frames, got one that is its own parent"
    chain = [row.parent]
    while chain[-1] in parents:
        chain.append(parents[chain[-1]])
    if row.child in chain:
        way = " -> ".join(reversed(chain[: chain.index(row.child) + 1]))
        return f"expected a tree of frames, got a loop, as there is {way}"
    if row.child in parents:
        return f"expected one parent, got a second one: {row.child} hangs on {parents[row.child]} already"
    return ""


def _report(report: Report, row: Extrinsic, message: str) -> None:
    text = f"{row.parent} -> {row.child}: {message}"
    report(Defect(file=row.source, kind="unreadable_settings", message=text))
