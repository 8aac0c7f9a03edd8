"""What was found of two trajectories as names with values, for a topic of diagnostics and for a table."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fieldplay.geometry.transforms import Array
from fieldplay.trajectories.evaluation import Evaluation
from fieldplay.trajectories.pose_errors import Statistics, statistics_of

ATE, RPE, LENGTH = "ATE", "RPE", "relative error"
PERCENT = 100.0
METRES, DEGREES, SHARE, DEGREES_PER_METRE = "m", "deg", "percent", "deg_per_m"
UNITS = {ATE: (METRES, DEGREES), RPE: (METRES, DEGREES), LENGTH: (SHARE, DEGREES_PER_METRE)}


@dataclass(frozen=True, kw_only=True)
class ErrorSummary:
    """One kind of error: its name, over what, how many there were, and its statistics in the units of its kind."""

    kind: str
    over: str
    translation: Statistics
    rotation: Statistics | None

    @property
    def name(self) -> str:
        return f"{self.kind} {self.over}".strip()

    @property
    def summary(self) -> str:
        """In short."""
        units = UNITS[self.kind]
        words = f"rmse {self.translation.rmse:.4g} {units[0]}, median {self.translation.median:.4g} {units[0]}"
        turned = "" if self.rotation is None else f", rotation {self.rotation.rmse:.3g} {units[1]}"
        return f"{words}{turned}, of {self.translation.count}"

    @property
    def values(self) -> tuple[tuple[str, float], ...]:
        """All numbers by name, the unit last."""
        found: list[tuple[str, float]] = [("count", self.translation.count)]
        parts = (("translation", self.translation), ("rotation", self.rotation))
        for (part, statistics), unit in zip(parts, UNITS[self.kind], strict=True):
            if statistics is not None:
                named = ("rmse", "mean", "median", "std", "least", "most")
                found += [(f"{part}_{name}_{unit}", getattr(statistics, name)) for name in named]
        return tuple(found)


def states_of_evaluation(name: str, evaluation: Evaluation) -> list[tuple[str, str, tuple[tuple[str, str], ...]]]:
    """Each kind of error in the words of diagnostics: a name, a message, and values by name."""
    return [
        (f"{name}: {one.name}", one.summary, tuple((key, f"{value:.9g}") for key, value in one.values))
        for one in evaluation_summary(evaluation)
    ]


def evaluation_summary(evaluation: Evaluation) -> Iterator[ErrorSummary]:
    """ATE, RPE over frames, and the relative error over each length that the way holds."""
    absolute, frames = evaluation.absolute, evaluation.over_frames
    count, which = evaluation.settings.frames, "kept pose" if evaluation.per_travelled else "pose"
    over = f"over {count} {which}{'' if count == 1 else 's'}"
    turned = evaluation.has_orientation
    yield _told(
        ATE, "", absolute.translation, rotation=absolute.rotation, factors=(1.0, np.degrees(1.0)), turned=turned
    )
    yield _told(RPE, over, frames.translation, rotation=frames.rotation, factors=(1.0, np.degrees(1.0)), turned=turned)
    for one in evaluation.over_lengths:
        if len(one.errors):
            errors, over = one.errors, f"over {one.length_m:g} m"
            factors = (PERCENT, np.degrees(1.0))
            yield _told(LENGTH, over, errors.translation, rotation=errors.rotation, factors=factors, turned=turned)


def _told(
    kind: str, over: str, translation: Array, *, rotation: Array, factors: tuple[float, float], turned: bool
) -> ErrorSummary:
    return ErrorSummary(
        kind=kind,
        over=over,
        translation=statistics_of(translation * factors[0]),
        rotation=statistics_of(rotation * factors[1]) if turned else None,
    )
