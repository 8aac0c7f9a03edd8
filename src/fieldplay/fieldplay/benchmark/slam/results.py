"""What came of methods, as a table and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fieldplay.benchmark.slam.processes import Cost
from fieldplay.core.number_text import number_text
from fieldplay.evaluation.evaluation_text import table_lines
from fieldplay.evaluation.trajectory_pair import Compared
from fieldplay.trajectories.metric_summary import DEGREES, PERCENT
from fieldplay.trajectories.pose_errors import statistics_of

RADIAN = float(np.degrees(1.0))
NONE = "-"
DONE, FAILED, SKIPPED = "done", "failed", "skipped"


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """What came of a method: how it ended and why, what it took, of how many scans how many poses, and the errors."""

    name: str
    version: str
    status: str
    error: str = ""
    notes: tuple[str, ...] = ()
    scans: int = 0
    poses: int = 0
    data_s: float = 0.0
    cost: Cost = field(default_factory=Cost)
    found: Compared | None = None


def as_json(outcome: Outcome) -> dict[str, Any]:
    """All of it for programs, with units in the names; errors are root mean squares."""
    cost, data_s = outcome.cost, outcome.data_s
    told: dict[str, Any] = {
        "method": outcome.name,
        "version": outcome.version,
        "status": outcome.status,
        "error": outcome.error or None,
        "notes": list(outcome.notes),
        "scans": outcome.scans,
        "poses": outcome.poses,
        "data_s": data_s,
        "seconds": cost.seconds,
        "cpu_s": cost.cpu_s,
        "rss_mb": cost.rss_mb,
        "seconds_per_s": cost.seconds / data_s if data_s else None,
        "cpu_s_per_s": cost.cpu_s / data_s if data_s else None,
    }
    return {**told, **_errors(outcome)}


def _errors(outcome: Outcome) -> dict[str, Any]:
    if outcome.found is None:
        return {"ate_rmse_m": None, "drift_percent": None, "rpe": []}
    evaluation = outcome.found.evaluation
    ate = statistics_of(evaluation.absolute.translation)
    lengths = [one for one in evaluation.over_lengths if len(one.errors)]
    shares = np.concatenate([np.zeros(0), *(one.errors.translation for one in lengths)])
    return {
        "truth": outcome.found.ways.truth.topic,
        "pairs": len(evaluation.pairs),
        "way_m": float(evaluation.travelled_m[-1]),
        "alignment": evaluation.settings.alignment,
        "offset_s": evaluation.settings.offset_s,
        "ate_rmse_m": ate.rmse,
        "ate_max_m": ate.most,
        "ate_rotation_rmse_deg": _turned(evaluation.absolute.rotation),
        "drift_percent": statistics_of(shares).rmse * PERCENT if len(shares) else None,
        "rpe": [
            {
                "length_m": one.length_m,
                "translation_percent": statistics_of(one.errors.translation).rmse * PERCENT,
                "rotation_deg_per_m": _turned(one.errors.rotation),
            }
            for one in lengths
        ],
    }


def _turned(errors: Any) -> float | None:
    """The root mean square of angles in degrees; None where no rotation is known."""
    rmse = statistics_of(errors).rmse * RADIAN
    return None if np.isnan(rmse) else rmse


def lines_of(outcomes: Sequence[Outcome], title: str) -> Iterator[str]:
    """The table, and below it what is to be said of some."""
    told = [as_json(outcome) for outcome in outcomes]
    lengths_m = sorted({over["length_m"] for one in told for over in one["rpe"]})
    heads = ["", "status", "poses", "s per s", "CPU s per s", "MB", "ATE, m", "max, m", f"ATE, {DEGREES}", "drift, %"]
    heads += [f"% over {length:g} m" for length in lengths_m]
    yield title
    yield from table_lines([heads, *(_row(one, lengths_m) for one in told)])
    for one in told:
        for text in [*([one["error"]] if one["error"] else []), *one["notes"]]:
            yield f"  {one['method']}: {text}"


def _row(one: dict[str, Any], lengths_m: Sequence[float]) -> list[str]:
    over = {each["length_m"]: each["translation_percent"] for each in one["rpe"]}
    poses = f"{one['poses']} of {one['scans']}" if one["scans"] else NONE
    cost = [one["seconds_per_s"], one["cpu_s_per_s"], one["rss_mb"] or None]
    errors = [one.get(name) for name in ("ate_rmse_m", "ate_max_m", "ate_rotation_rmse_deg", "drift_percent")]
    numbers = [*cost, *errors, *(over.get(length) for length in lengths_m)]
    return [one["method"], one["status"], poses, *(NONE if each is None else number_text(each) for each in numbers)]
