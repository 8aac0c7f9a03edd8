"""The comparison of two trajectories as lines of a table and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fieldplay.core.errors import pluralize
from fieldplay.core.number_text import duration_text, number_text
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.evaluation.trajectory_pair import Comparison, FailedComparison, TruthUncertainty
from fieldplay.trajectories.alignment import SIM3
from fieldplay.trajectories.evaluation import (
    ATE,
    LENGTH,
    RPE,
    UNITS,
    Evaluation,
    evaluation_summary,
    segment_summary,
)
from fieldplay.trajectories.pose_errors import PERCENTILES, Statistics, statistics_of
from fieldplay.trajectories.pose_topics import TopicTrajectory

UNNAMED = "unnamed"
COLUMNS = ("count", "rmse", "mean", "median", "std", "most")
HEADS = ("count", "rmse", "mean", "median", "std", "max")
UNIT_TEXTS = {"m": "m", "deg": "deg", "percent": "%", "deg_per_m": "deg/m"}


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
        return f"{self.name}, {UNIT_TEXTS[self.unit]}", str(numbers[0]), *(f"{value:.4g}" for value in numbers[1:])


def rows_of(evaluation: Evaluation) -> list[ErrorRow]:
    """All errors: of translation and along the axes, then of rotation where it is known."""
    relative_errors = [*evaluation_summary(evaluation), *segment_summary(evaluation)]
    ate = [
        ErrorRow(name=one.name, unit=UNITS[ATE][0], statistics=one.translation)
        for one in relative_errors
        if one.kind == ATE
    ]
    axes = [
        ErrorRow(name=f"ATE along {axis}", unit=UNITS[ATE][0], statistics=statistics_of(np.abs(errors)))
        for axis, errors in zip("xyz", evaluation.axes_m.T, strict=True)
    ]
    others = [
        ErrorRow(name=one.name, unit=UNITS[one.kind][0], statistics=one.translation)
        for one in relative_errors
        if one.kind != ATE
    ]
    rotation_errors = [
        ErrorRow(name=f"{one.name}, rotation", unit=UNITS[one.kind][1], statistics=one.rotation)
        for one in relative_errors
        if one.rotation is not None
    ]
    return [*ate, *axes, *others, *_over_distance(evaluation), *rotation_errors]


def _over_distance(evaluation: Evaluation) -> Iterator[ErrorRow]:
    """RPE as evo has it over each length, steps one after the other along the estimate's way."""
    for length_m in evaluation.lengths_m:
        errors = evaluation.over_distance(length_m)
        if len(errors):
            name = f"{RPE} over {length_m:g} m"
            yield ErrorRow(name=name, unit=UNITS[RPE][0], statistics=statistics_of(errors.translation))


def lines_of(comparison: Comparison) -> Iterator[str]:
    """The table."""
    evaluation, pair = comparison.evaluation, comparison.pair
    duration_s = (evaluation.pairs.stamp_ns[-1] - evaluation.pairs.stamp_ns[0]) / NS_PER_S
    estimate_m, truth_m = evaluation.estimate_m, float(evaluation.travelled_m[-1])
    yield f"{pair.estimate.topic} against {pair.truth.topic}"
    yield (
        f"  {pluralize(len(evaluation.pairs), 'pair')} in {duration_text(float(duration_s))}; "
        f"path length: truth {number_text(truth_m, 4)} m, estimate {number_text(estimate_m, 4)} m; "
        f"ATE / path length: {_percent_text(evaluation)} %"
    )
    yield f"  {_frames_text(comparison)}"
    if pair.truth_uncertainty is not None:
        yield f"  {_uncertainty_text(pair.truth_uncertainty)}"
    if evaluation.settings.offset_s or comparison.is_offset_estimated:
        how = "found where the motions fit" if comparison.is_offset_estimated else "as requested"
        yield f"  times of the estimate: {evaluation.settings.offset_s:+g} s, {how}"
    yield from table_lines([("", *HEADS), *(row.cells for row in rows_of(evaluation))])
    if not evaluation.has_orientation:
        yield "  no orientation in both: only translation errors; the truth's headings are estimated from its path"


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


def lines_of_several(comparisons: Sequence[Comparison | FailedComparison]) -> Iterator[str]:
    """A row for each estimate: the root mean squares of the usual errors."""
    there = [comparison for comparison in comparisons if isinstance(comparison, Comparison)]
    yield f"{len(comparisons)} estimates against {comparisons[0].pair.truth.topic}"
    if not there:
        return
    if there[0].pair.truth_uncertainty is not None:
        yield f"  {_uncertainty_text(there[0].pair.truth_uncertainty)}"
    yield f"  rmse of each error; alignment: {there[0].evaluation.settings.alignment}"
    lengths_m = sorted({length for comparison in there for length in comparison.evaluation.lengths_m})
    heads = ["pairs", "path length, m", "offset, s", "ATE, m", "ATE, %", "max, m", "ATE, deg"]
    heads += [f"% over {length:g} m" for length in lengths_m]
    rows = [
        _row_of(comparison, lengths_m) if isinstance(comparison, Comparison) else ["-"] * len(heads)
        for comparison in comparisons
    ]
    columns = [0, *(1 + index for index in range(len(heads)) if any(row[index] != "-" for row in rows))]
    named = [[comparison.pair.estimate.topic, *row] for comparison, row in zip(comparisons, rows, strict=True)]
    yield from table_lines([[row[index] for index in columns] for row in [["", *heads], *named]])


def _row_of(comparison: Comparison, lengths_m: Sequence[float]) -> list[str]:
    """The numbers of an estimate, `-` for what is not known."""
    evaluation = comparison.evaluation
    errors = {one.name: one for one in evaluation_summary(evaluation)}
    ate, over = errors[ATE], [errors.get(f"{LENGTH} over {length:g} m") for length in lengths_m]
    statistics = [ate.rotation, *(None if one is None else one.translation for one in over)]
    return [
        str(len(evaluation.pairs)),
        number_text(evaluation.estimate_m, 4),
        f"{evaluation.settings.offset_s:+g}" if evaluation.settings.offset_s or comparison.is_offset_estimated else "-",
        f"{ate.translation.rmse:.4g}",
        _percent_text(evaluation),
        f"{ate.translation.most:.4g}",
        *("-" if one is None else f"{one.rmse:.4g}" for one in statistics),
    ]


def _frames_text(comparison: Comparison) -> str:
    estimate, truth = comparison.pair.estimate, comparison.pair.truth
    parts = [_frame_names_text(trajectory) for trajectory in (estimate, truth)]
    lever_arm_m = float(np.linalg.norm(comparison.lever_arm[:3, 3]))
    lever_text = f", lever arm {number_text(lever_arm_m)} m" if lever_arm_m > 0 else ""
    alignment = comparison.evaluation.settings.alignment
    scale = f" with scale {comparison.evaluation.alignment.scale:.6g}" if alignment == SIM3 else ""
    frames = " and ".join(part or "without names" for part in parts) if any(parts) else "without names"
    return f"frames {frames}{lever_text}; alignment: {alignment}{scale}"


def _frame_names_text(trajectory: TopicTrajectory) -> str:
    """Parent and child frame as text; "" where neither has a name."""
    if not trajectory.parent and not trajectory.child:
        return ""
    return f"{trajectory.parent or UNNAMED} -> {trajectory.child or UNNAMED}"


def _uncertainty_text(uncertainty: TruthUncertainty) -> str:
    """The standard deviation that the truth reports."""
    if uncertainty.median_m is None or uncertainty.most_m is None:
        return "the truth has no reported standard deviation"
    median_m, most_m = uncertainty.median_m, uncertainty.most_m
    text = f"reported standard deviation of the truth: {median_m:.3g} m (median), {most_m:.3g} m maximum"
    if not uncertainty.max_std_m:
        return f"{text}; all poses are used"
    return f"{text}; {uncertainty.left_out} of {uncertainty.poses} poses beyond {uncertainty.max_std_m:g} m left out"


def as_json_of_several(comparisons: Sequence[Comparison | FailedComparison]) -> list[dict[str, Any]]:
    """One for each estimate; the reason if it could not be evaluated."""
    return [
        as_json(comparison) if isinstance(comparison, Comparison) else _failure_json(comparison)
        for comparison in comparisons
    ]


def _failure_json(failed: FailedComparison) -> dict[str, Any]:
    pair = failed.pair
    return {"estimate": {"topic": pair.estimate.topic}, "truth": {"topic": pair.truth.topic}, "error": failed.reason}


def as_json(comparison: Comparison) -> dict[str, Any]:
    """The same, and more, for programs. Errors are in the units of their names."""
    evaluation = comparison.evaluation
    return {
        "estimate": _trajectory_json(comparison, is_truth=False),
        "truth": _trajectory_json(comparison, is_truth=True),
        "pairs": len(evaluation.pairs),
        "first_ns": int(evaluation.pairs.stamp_ns[0]),
        "last_ns": int(evaluation.pairs.stamp_ns[-1]),
        "offset_s": evaluation.settings.offset_s,
        "alignment": evaluation.settings.alignment,
        "truth_t_estimate": evaluation.alignment.transform.tolist(),
        "scale": evaluation.alignment.scale,
        "lever": comparison.lever_arm.tolist(),
        "has_orientation": evaluation.has_orientation,
        "ate_percent_of_length": evaluation.ate_percent if np.isfinite(evaluation.ate_percent) else None,
        "lengths_m": list(evaluation.lengths_m),
        "errors": [
            {"name": row.name, "unit": row.unit, **_statistics_json(row.statistics)} for row in rows_of(evaluation)
        ],
    }


def _trajectory_json(comparison: Comparison, *, is_truth: bool) -> dict[str, Any]:
    trajectory = comparison.pair.truth if is_truth else comparison.pair.estimate
    length_m = float(comparison.evaluation.travelled_m[-1]) if is_truth else comparison.evaluation.estimate_m
    uncertainty = comparison.pair.truth_uncertainty
    return {
        **({"claims": asdict(uncertainty)} if is_truth and uncertainty is not None else {}),
        "topic": trajectory.topic,
        "frame": trajectory.parent,
        "child_frame": trajectory.child,
        "poses": len(trajectory.trajectory),
        "travelled_m": length_m,
    }


def _statistics_json(statistics: Statistics) -> dict[str, Any]:
    values = asdict(statistics)
    percentiles = values.pop("percentiles")
    return {**values, "percentiles": dict(zip(map(str, PERCENTILES), percentiles, strict=True))}


def summary_of(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """Cells of a small table: each relative error and the ATE with rmse and median."""
    requested = [row for row in rows_of(evaluation) if row.name.startswith((f"{ATE},", LENGTH)) or row.name == ATE]
    return [
        (row.cells[0].removeprefix(f"{LENGTH} "), number_text(row.statistics.rmse), number_text(row.statistics.median))
        for row in requested
    ]
