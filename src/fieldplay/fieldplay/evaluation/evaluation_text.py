"""What was found of two ways, as lines of a table and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fieldplay.core.errors import counted
from fieldplay.core.number_text import duration_text, number_text
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.evaluation.trajectory_pair import Compared, Failed, TruthUncertainty
from fieldplay.trajectories.alignment import SIM3
from fieldplay.trajectories.evaluation import (
    ATE,
    LENGTH,
    RPE,
    UNITS,
    Evaluation,
    evaluation_summary,
)
from fieldplay.trajectories.pose_errors import PERCENTILES, Statistics, statistics_of
from fieldplay.trajectories.pose_topics import TopicTrajectory

UNNAMED = "unnamed"
COLUMNS = ("count", "rmse", "mean", "median", "std", "most")
HEADS = ("count", "rmse", "mean", "median", "std", "max")
UNIT_WORDS = {"m": "m", "deg": "deg", "percent": "%", "deg_per_m": "deg/m"}


@dataclass(frozen=True, kw_only=True)
class ErrorRow:
    """One line of the table: an error in its unit."""

    name: str
    unit: str
    statistics: Statistics

    @property
    def cells(self) -> tuple[str, ...]:
        """Name and unit, and the numbers of COLUMNS."""
        numbers = [getattr(self.statistics, column) for column in COLUMNS]
        return f"{self.name}, {UNIT_WORDS[self.unit]}", str(numbers[0]), *(f"{value:.4g}" for value in numbers[1:])


def rows_of(evaluation: Evaluation) -> list[ErrorRow]:
    """All errors: of translation and along the axes, then of rotation where it is known."""
    told = list(evaluation_summary(evaluation))
    ate = [ErrorRow(name=one.name, unit=UNITS[ATE][0], statistics=one.translation) for one in told if one.kind == ATE]
    axes = [
        ErrorRow(name=f"ATE along {axis}", unit=UNITS[ATE][0], statistics=statistics_of(np.abs(errors)))
        for axis, errors in zip("xyz", evaluation.axes_m.T, strict=True)
    ]
    others = [
        ErrorRow(name=one.name, unit=UNITS[one.kind][0], statistics=one.translation) for one in told if one.kind != ATE
    ]
    turned = [
        ErrorRow(name=f"{one.name}, rotation", unit=UNITS[one.kind][1], statistics=one.rotation)
        for one in told
        if one.rotation is not None
    ]
    return [*ate, *axes, *others, *_over_distance(evaluation), *turned]


def _over_distance(evaluation: Evaluation) -> Iterator[ErrorRow]:
    """RPE as evo has it over each length, steps one after the other along the estimate's way."""
    for length_m in evaluation.lengths_m:
        errors = evaluation.over_distance(length_m)
        if len(errors):
            name = f"{RPE} over {length_m:g} m"
            yield ErrorRow(name=name, unit=UNITS[RPE][0], statistics=statistics_of(errors.translation))


def lines_of(found: Compared) -> Iterator[str]:
    """The table."""
    evaluation, ways = found.evaluation, found.ways
    duration_s = (evaluation.pairs.stamp_ns[-1] - evaluation.pairs.stamp_ns[0]) / NS_PER_S
    gone, truly = evaluation.estimate_m, float(evaluation.travelled_m[-1])
    yield f"{ways.estimate.topic} against {ways.truth.topic}"
    yield (
        f"  {counted(len(evaluation.pairs), 'pair')} in {duration_text(float(duration_s))}; "
        f"the truth went {number_text(truly, 4)} m, the estimate {number_text(gone, 4)} m; "
        f"ATE over length: {_percent_text(evaluation)} %"
    )
    yield f"  {_frames_text(found)}"
    if ways.claims is not None:
        yield f"  {_claims_text(ways.claims)}"
    if evaluation.settings.offset_s or found.is_offset_found:
        how = "found where the motions fit" if found.is_offset_found else "as asked for"
        yield f"  times of the estimate: {evaluation.settings.offset_s:+g} s, {how}"
    yield from table_lines([("", *HEADS), *(row.cells for row in rows_of(evaluation))])
    if not evaluation.has_orientation:
        yield "  no orientation in both: errors of translation alone, the truth's headings taken from the way around"


def _percent_text(evaluation: Evaluation) -> str:
    """ATE in percent of the truth's path length, `-` where it did not move."""
    percent = evaluation.ate_percent
    return f"{percent:.3g}" if np.isfinite(percent) else "-"


def table_lines(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows of a name and numbers, one below the other."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for name, *cells in rows:
        yield (
            "  " + name.ljust(widths[0]) + "".join(f"  {cell:>{w}}" for cell, w in zip(cells, widths[1:], strict=True))
        )


def lines_of_several(all_found: Sequence[Compared | Failed]) -> Iterator[str]:
    """A row for each estimate: the root mean squares of what it is usually judged by."""
    there = [found for found in all_found if isinstance(found, Compared)]
    yield f"{len(all_found)} estimates against {all_found[0].ways.truth.topic}"
    if not there:
        return
    if there[0].ways.claims is not None:
        yield f"  {_claims_text(there[0].ways.claims)}"
    yield f"  rmse of each error; laid upon the truth: {there[0].evaluation.settings.alignment}"
    lengths_m = sorted({length for found in there for length in found.evaluation.lengths_m})
    heads = ["pairs", "way, m", "offset, s", "ATE, m", "ATE, %", "max, m", "ATE, deg"]
    heads += [f"% over {length:g} m" for length in lengths_m]
    rows = [_row_of(found, lengths_m) if isinstance(found, Compared) else ["-"] * len(heads) for found in all_found]
    kept = [0, *(1 + column for column in range(len(heads)) if any(row[column] != "-" for row in rows))]
    named = [[found.ways.estimate.topic, *row] for found, row in zip(all_found, rows, strict=True)]
    yield from table_lines([[row[column] for column in kept] for row in [["", *heads], *named]])


def _row_of(found: Compared, lengths_m: Sequence[float]) -> list[str]:
    """The numbers of an estimate, `-` for what is not known."""
    evaluation = found.evaluation
    told = {one.name: one for one in evaluation_summary(evaluation)}
    ate, over = told[ATE], [told.get(f"{LENGTH} over {length:g} m") for length in lengths_m]
    statistics = [ate.rotation, *(None if one is None else one.translation for one in over)]
    return [
        str(len(evaluation.pairs)),
        number_text(evaluation.estimate_m, 4),
        f"{evaluation.settings.offset_s:+g}" if evaluation.settings.offset_s or found.is_offset_found else "-",
        f"{ate.translation.rmse:.4g}",
        _percent_text(evaluation),
        f"{ate.translation.most:.4g}",
        *("-" if one is None else f"{one.rmse:.4g}" for one in statistics),
    ]


def _frames_text(found: Compared) -> str:
    estimate, truth = found.ways.estimate, found.ways.truth
    parts = [_way_text(way) for way in (estimate, truth)]
    lever_m = float(np.linalg.norm(found.lever[:3, 3]))
    lever = f", lever arm {number_text(lever_m)} m" if lever_m > 0 else ""
    alignment = found.evaluation.settings.alignment
    scale = f" with scale {found.evaluation.alignment.scale:.6g}" if alignment == SIM3 else ""
    frames = " and ".join(part or "without names" for part in parts) if any(parts) else "without names"
    return f"frames {frames}{lever}; laid upon the truth: {alignment}{scale}"


def _way_text(way: TopicTrajectory) -> str:
    """Which frame moves in which, as far as they have names; "" where neither has one."""
    if not way.parent and not way.child:
        return ""
    return f"{way.parent or UNNAMED} -> {way.child or UNNAMED}"


def _claims_text(claims: TruthUncertainty) -> str:
    """How good the truth says it is."""
    if claims.median_m is None or claims.most_m is None:
        return "the truth does not tell how good it is"
    told = f"the truth claims a standard deviation of {claims.median_m:.3g} m (median), {claims.most_m:.3g} m at worst"
    if not claims.max_std_m:
        return f"{told}; all of it is believed"
    return f"{told}; {claims.left_out} of {claims.poses} poses beyond {claims.max_std_m:g} m left out"


def as_json_of_several(all_found: Sequence[Compared | Failed]) -> list[dict[str, Any]]:
    """One for each estimate; of one that could not be judged, why."""
    return [as_json(found) if isinstance(found, Compared) else _failed_json(found) for found in all_found]


def _failed_json(failed: Failed) -> dict[str, Any]:
    ways = failed.ways
    return {"estimate": {"topic": ways.estimate.topic}, "truth": {"topic": ways.truth.topic}, "error": failed.reason}


def as_json(found: Compared) -> dict[str, Any]:
    """The same, and more, for programs. Errors are in the units of their names."""
    evaluation = found.evaluation
    return {
        "estimate": _way_json(found, is_truth=False),
        "truth": _way_json(found, is_truth=True),
        "pairs": len(evaluation.pairs),
        "first_ns": int(evaluation.pairs.stamp_ns[0]),
        "last_ns": int(evaluation.pairs.stamp_ns[-1]),
        "offset_s": evaluation.settings.offset_s,
        "alignment": evaluation.settings.alignment,
        "truth_t_estimate": evaluation.alignment.transform.tolist(),
        "scale": evaluation.alignment.scale,
        "lever": found.lever.tolist(),
        "has_orientation": evaluation.has_orientation,
        "ate_percent_of_length": evaluation.ate_percent if np.isfinite(evaluation.ate_percent) else None,
        "lengths_m": list(evaluation.lengths_m),
        "errors": [
            {"name": row.name, "unit": row.unit, **_statistics_json(row.statistics)} for row in rows_of(evaluation)
        ],
    }


def _way_json(found: Compared, *, is_truth: bool) -> dict[str, Any]:
    way = found.ways.truth if is_truth else found.ways.estimate
    gone = float(found.evaluation.travelled_m[-1]) if is_truth else found.evaluation.estimate_m
    claims = found.ways.claims
    return {
        **({"claims": asdict(claims)} if is_truth and claims is not None else {}),
        "topic": way.topic,
        "frame": way.parent,
        "child_frame": way.child,
        "poses": len(way.trajectory),
        "travelled_m": gone,
    }


def _statistics_json(statistics: Statistics) -> dict[str, Any]:
    told = asdict(statistics)
    percentiles = told.pop("percentiles")
    return {**told, "percentiles": dict(zip(map(str, PERCENTILES), percentiles, strict=True))}


def summary_of(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """Cells of a small table: each relative error and the ATE with rmse and median."""
    requested = [row for row in rows_of(evaluation) if row.name.startswith((f"{ATE},", LENGTH)) or row.name == ATE]
    return [
        (row.cells[0].removeprefix(f"{LENGTH} "), number_text(row.statistics.rmse), number_text(row.statistics.median))
        for row in requested
    ]
