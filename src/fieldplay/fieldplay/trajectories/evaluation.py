"""Evaluation of an estimate: association, alignment and all errors."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from fieldplay.geometry.transforms import Array
from fieldplay.trajectories import pose_errors as compared
from fieldplay.trajectories.alignment import (
    FIRST,
    KINDS,
    Alignment,
    alignment_of_pairs,
)
from fieldplay.trajectories.association import (
    ASSOCIATIONS,
    INTERPOLATE,
    PosePairs,
    associate,
    leveling_transform,
    with_headings,
)
from fieldplay.trajectories.pose_errors import Errors, LengthErrors, Statistics, statistics_of
from fieldplay.trajectories.trajectory import FusionError, Trajectory, travelled_from_positions

ROUND = (1.0, 2.0, 5.0)
LEAST_LENGTH_M = 0.5
FRACTIONS = (1 / 500, 1 / 2)  # of the way, between which lengths are chosen where none are given
STEPS_PER_LENGTH, LEAST_STEP_M = 10, 0.1  # by which the way is measured: more than satellites tremble
ATE, RPE, LENGTH, SEGMENTS = "ATE", "RPE", "relative error", "KITTI segments"
PERCENT = 100.0
METRES, DEGREES, SHARE, DEGREES_PER_METRE = "m", "deg", "percent", "deg_per_m"
UNITS = {
    ATE: (METRES, DEGREES),
    RPE: (METRES, DEGREES),
    LENGTH: (SHARE, DEGREES_PER_METRE),
    SEGMENTS: (SHARE, DEGREES_PER_METRE),
}

LENGTHS, MAX_LENGTH_FRACTION = (
    30,
    0.6,
)  # of percentiles over length: how many, and the longest as a fraction of the path
MIN_MOTIONS = 8  # fewer have no percentiles


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """How two trajectories are compared. The defaults fit odometry.

    Args:
        alignment: `first`, `se3`, `sim3`, `yaw` or `none`; see `alignment_of_pairs`.
        lengths_m: lengths of path for relative errors; empty to choose some that fit.
        association: `interpolate` or `nearest`; see `associate`.
        within_s: see `associate`.
        offset_s: added to the times of the estimate.
        step_m: minimum distance between poses when measuring path length; negative: a tenth of the shortest length, at
            least 10 cm.
        frames: how many poses a step of RPE has.
        has_segments: also the errors over segments of KITTI's benchmark.

    Raises:
        ValueError: a value is unknown or out of range.
    """

    alignment: str = FIRST
    lengths_m: tuple[float, ...] = ()
    association: str = INTERPOLATE
    within_s: float = 0.25  # see associated
    offset_s: float = 0.0  # added to the estimate's times
    step_m: float = -1.0  # see travelled_from_positions; below 0: a tenth of the shortest length, 10 cm at least
    frames: int = 1  # from pose to pose of RPE
    has_segments: bool = False

    def __post_init__(self) -> None:
        for name, known in (("alignment", KINDS), ("association", ASSOCIATIONS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name}: expected {', '.join(known)}, got '{getattr(self, name)}'")
        if not all(0 < length < np.inf for length in self.lengths_m):
            raise ValueError(f"lengths_m: expected lengths of more than 0 m, got {list(self.lengths_m)}")
        if not self.within_s > 0 or self.frames < 1:
            raise ValueError(f"expected more than 0 s and 1 pose or more, got {self.within_s} and {self.frames}")


def evaluation_from_settings(settings: Mapping[str, Any]) -> EvaluationSettings:
    """Read the settings from a mapping.

    Args:
        settings: values by name; other names are ignored, as a node has some of its own.

    Returns:
        The settings.

    Raises:
        ValueError: a value is unknown or out of range.
    """
    values = {entry.name: settings[entry.name] for entry in fields(EvaluationSettings) if entry.name in settings}
    if "lengths_m" in values:
        values["lengths_m"] = tuple(float(length) for length in values["lengths_m"])
    return EvaluationSettings(**values)


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """The result of a comparison.

    Args:
        settings: how it was compared.
        pairs: pairs (n,) with the estimate in the truth's frame.
        travelled_m: path length of the truth at each pair (n,).
        alignment: truth_T_estimate, with a scale.
        lengths_m: lengths of path for relative errors.
        per_travelled: whether relative errors are divided by the path between two poses.
    """

    settings: EvaluationSettings
    pairs: PosePairs
    travelled_m: Array
    alignment: Alignment
    lengths_m: tuple[float, ...]
    per_travelled: bool = False

    @property
    def has_orientation(self) -> bool:
        """Whether errors of rotation are known."""
        return self.pairs.has_orientation

    @cached_property
    def absolute(self) -> Errors:
        """ATE: distances in m and angles in rad at each pair (n,)."""
        return compared.absolute_errors(self.pairs)

    @cached_property
    def axes_m(self) -> Array:
        """Estimate minus truth along the axes of the truth's frame (n, 3)."""
        return compared.axis_errors(self.pairs)

    @cached_property
    def over_frames(self) -> Errors:
        """RPE in m and rad over consecutive steps of `frames` pairs."""
        return compared.relative_pose_errors(
            self.pairs, compared.steps_over_frames(len(self.pairs), self.settings.frames)
        )

    def over_distance(self, delta_m: float) -> Errors:
        """Compute RPE over steps of a path length.

        Args:
            delta_m: the least path length of a step, measured on the estimate.

        Returns:
            Errors in m and rad (k,).
        """
        steps = compared.steps_over_distance(self.pairs.estimate[:, :3, 3], delta_m)
        return compared.relative_pose_errors(self.pairs, steps)

    @cached_property
    def over_lengths(self) -> tuple[LengthErrors, ...]:
        """Relative errors over each of the lengths."""
        return tuple(self.over_length(length) for length in self.lengths_m)

    @cached_property
    def segments(self) -> tuple[LengthErrors, ...]:
        """Errors over the segments of KITTI's benchmark, where they are requested and the path is long enough."""
        return compared.segment_errors(self.pairs) if self.settings.has_segments else ()

    def over_length(self, length_m: float) -> LengthErrors:
        """Compute relative errors over a length of the truth's path.

        Args:
            length_m: the length.

        Returns:
            Errors as a fraction of the length and in rad/m.
        """
        return compared.errors_over_length(self.pairs, self.travelled_m, length_m, per_travelled=self.per_travelled)

    @cached_property
    def percentiles_over_length(self) -> tuple[Array, Array]:
        """How the relative errors grow with the length, for the lengths that enough motions have.

        Returns:
            Rows (k, 5) of the length in m with the lower quartile, the median, the upper quartile and the 95th
            percentile of the errors over it: of translation in percent of the length, of rotation in degrees per m.
        """
        rows: tuple[list[Array], list[Array]] = [], []
        for length_m in np.arange(1, LENGTHS + 1) / LENGTHS * MAX_LENGTH_FRACTION * float(self.travelled_m[-1]):
            errors = self.over_length(float(length_m)).errors
            if len(errors) >= MIN_MOTIONS:
                for kind, values in zip(rows, (100 * errors.translation, np.degrees(errors.rotation)), strict=True):
                    kind.append(np.append(length_m, np.percentile(values, (25, 50, 75, 95))))
        translation, rotation = (np.array(kind, np.float64).reshape(-1, 5) for kind in rows)
        return translation, rotation

    @property
    def ate_percent(self) -> float:
        """The root mean square of ATE in percent of the truth's path length; NaN where the truth did not move."""
        length_m = float(self.travelled_m[-1])
        rmse_m = float(np.sqrt((self.absolute.translation**2).mean()))
        return 100 * rmse_m / length_m if length_m > 0 else float("nan")

    @property
    def estimate_m(self) -> float:
        """The path length of the estimate, measured as that of the truth."""
        travelled = travelled_from_positions(self.pairs.estimate[:, :3, 3], step_of(self.settings, self.lengths_m))
        return float(travelled[-1])


def evaluate(settings: EvaluationSettings, estimate: Trajectory, truth: Trajectory) -> Evaluation:
    """Compare an estimate with the truth.

    Args:
        settings: how to compare them.
        estimate: poses of a frame, in any frame of reference.
        truth: poses of the same frame of the robot; use `Trajectory.of_frame` where they are of another one.

    Returns:
        The comparison.

    Raises:
        FusionError: fewer than two poses are at the same times, or they cannot be aligned.

    Example:
        >>> poses = np.tile(np.eye(4), (3, 1, 1))
        >>> poses[:, 0, 3] = 0, 1, 2
        >>> truth = Trajectory(stamp_ns=np.array([0, 1, 2]) * 10**9, poses=poses)
        >>> evaluate(EvaluationSettings(within_s=1.0), truth, truth).absolute.translation.tolist()
        [0.0, 0.0, 0.0]
    """
    method, offset_s = settings.association, settings.offset_s
    pairs = associate(estimate, truth, within_s=settings.within_s, method=method, offset_s=offset_s)
    if len(pairs) < 2:
        raise FusionError(f"expected poses of both at the same times, {_describe_times(estimate, truth, settings)}")
    return evaluation_of_pairs(settings, pairs)


def evaluation_of_pairs(
    settings: EvaluationSettings, pairs: PosePairs, *, thinned_m: Array | None = None
) -> Evaluation:
    """Compare pairs.

    Args:
        settings: how to compare them; association and offset are done.
        pairs: pairs (n,), n > 0, each in its own frame of reference.
        thinned_m: path length of the truth at each pair (n,), where most pairs were left out before. Relative errors
            are then divided by the path between two pairs, which may be longer than the length.

    Returns:
        The comparison.

    Raises:
        FusionError: they cannot be aligned.
    """
    positions = pairs.truth[:, :3, 3]
    lengths = settings.lengths_m or segment_lengths(float(travelled_from_positions(positions, LEAST_LENGTH_M)[-1]))
    travelled = thinned_m
    if travelled is None:
        travelled = travelled_from_positions(positions, step_of(settings, lengths))
    leveling = np.eye(4)
    # Relative errors need rotations in the truth: they are borrowed from the estimate, which has to stand level.
    if not pairs.has_orientation:
        leveling = leveling_transform(pairs)
        pairs = with_headings(replace(pairs, estimate=leveling @ pairs.estimate), travelled, reach_m=min(lengths))
    alignment = alignment_of_pairs(settings.alignment, pairs)
    whole = replace(alignment, transform=alignment.transform @ leveling)
    return Evaluation(
        settings=settings,
        pairs=alignment.of_pairs(pairs),
        travelled_m=travelled,
        alignment=whole,
        lengths_m=lengths,
        per_travelled=thinned_m is not None,
    )


def step_of(settings: EvaluationSettings, lengths_m: tuple[float, ...]) -> float:
    """Choose the minimum distance between poses when measuring path length.

    Args:
        settings: may set it.
        lengths_m: lengths of path for relative errors.

    Returns:
        The distance in m.
    """
    return settings.step_m if settings.step_m >= 0 else max(min(lengths_m) / STEPS_PER_LENGTH, LEAST_STEP_M)


def segment_lengths(path_length_m: float) -> tuple[float, ...]:
    """Choose round lengths that fit often enough into a path to compute statistics over them.

    Args:
        path_length_m: the length of the path.

    Returns:
        One length or more, ascending, in m.

    Example:
        >>> segment_lengths(40.0)
        (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
    """
    low, high = max(path_length_m * FRACTIONS[0], min(LEAST_LENGTH_M, path_length_m / 4)), path_length_m * FRACTIONS[1]
    if not high > 0:
        return (LEAST_LENGTH_M,)
    powers = 10.0 ** np.arange(np.floor(np.log10(low)) - 1, np.ceil(np.log10(high)) + 1)
    every = [length for power in powers for factor in ROUND if (length := float(f"{factor * power:.6g}")) <= high]
    return tuple(length for length in every if length >= low) or (max(every),)


def _describe_times(estimate: Trajectory, truth: Trajectory, settings: EvaluationSettings) -> str:
    """Describe why there are no pairs."""
    for name, one in (("estimate", estimate), ("truth", truth)):
        if not len(one):
            return f"there is no pose of the {name}"
    spans = [f"from {one.stamp_ns[0] / 1e9:.3f} to {one.stamp_ns[-1] / 1e9:.3f} s" for one in (estimate, truth)]
    nearness = f"within {settings.within_s:g} s, offset {settings.offset_s:g} s"
    return f"got the estimate {spans[0]} and the truth {spans[1]} ({nearness})"


# What was found of two trajectories as names with values, for a topic of diagnostics and for a table.


@dataclass(frozen=True, kw_only=True)
class ErrorSummary:
    """Statistics of one kind of error.

    Args:
        kind: ATE, RPE or relative error.
        over: the steps or the length.
        translation: in the unit of UNITS.
        rotation: the same; None where there is no orientation.
    """

    kind: str
    over: str
    translation: Statistics
    rotation: Statistics | None

    @property
    def name(self) -> str:
        """The kind with its steps."""
        return f"{self.kind} {self.over}".strip()

    @property
    def summary(self) -> str:
        """The summary as a line of text."""
        units = UNITS[self.kind]
        text = f"rmse {self.translation.rmse:.4g} {units[0]}, median {self.translation.median:.4g} {units[0]}"
        turned = "" if self.rotation is None else f", rotation {self.rotation.rmse:.3g} {units[1]}"
        return f"{text}{turned}, of {self.translation.count}"

    @property
    def values(self) -> tuple[tuple[str, float], ...]:
        """All numbers by name, the unit last."""
        values: list[tuple[str, float]] = [("count", self.translation.count)]
        parts = (("translation", self.translation), ("rotation", self.rotation))
        for (part, statistics), unit in zip(parts, UNITS[self.kind], strict=True):
            if statistics is not None:
                named = ("rmse", "mean", "median", "std", "least", "most")
                values += [(f"{part}_{name}_{unit}", getattr(statistics, name)) for name in named]
        return tuple(values)


def states_of_evaluation(name: str, evaluation: Evaluation) -> list[tuple[str, str, tuple[tuple[str, str], ...]]]:
    """Summarise a comparison as diagnostics.

    Args:
        name: put before the name of each kind of error.
        evaluation: the comparison.

    Returns:
        Name, message and values by name of each kind of error.
    """
    return [
        (f"{name}: {one.name}", one.summary, tuple((key, f"{value:.9g}") for key, value in one.values))
        for one in evaluation_summary(evaluation)
    ]


def evaluation_summary(evaluation: Evaluation) -> Iterator[ErrorSummary]:
    """Summarise a comparison.

    Args:
        evaluation: the comparison.

    Yields:
        ATE, RPE, and the relative error over each length that occurs in the path.
    """
    absolute, frames = evaluation.absolute, evaluation.over_frames
    count, which = evaluation.settings.frames, "kept pose" if evaluation.per_travelled else "pose"
    over = f"over {count} {which}{'' if count == 1 else 's'}"
    turned = evaluation.has_orientation
    yield _error_summary(
        ATE, "", absolute.translation, rotation=absolute.rotation, factors=(1.0, np.degrees(1.0)), turned=turned
    )
    yield _error_summary(
        RPE, over, frames.translation, rotation=frames.rotation, factors=(1.0, np.degrees(1.0)), turned=turned
    )
    for one in evaluation.over_lengths:
        if len(one.errors):
            errors, over = one.errors, f"over {one.length_m:g} m"
            factors = (PERCENT, np.degrees(1.0))
            yield _error_summary(
                LENGTH, over, errors.translation, rotation=errors.rotation, factors=factors, turned=turned
            )


def segment_summary(evaluation: Evaluation) -> Iterator[ErrorSummary]:
    """Summarise the errors over the segments of KITTI's benchmark.

    Args:
        evaluation: the comparison.

    Yields:
        Those of all segments, whose means are KITTI's figures, then those of each length; nothing where there are none.
    """
    segments = [(f"of {one.length_m:g} m", one.errors) for one in evaluation.segments]
    if len(segments) > 1:
        parts = [errors for _, errors in segments]
        together = compared.Errors(
            translation=np.concatenate([errors.translation for errors in parts]),
            rotation=np.concatenate([errors.rotation for errors in parts]),
        )
        segments.insert(0, ("of all lengths", together))
    for over, errors in segments:
        yield _error_summary(
            SEGMENTS, over, errors.translation, rotation=errors.rotation, factors=(PERCENT, np.degrees(1.0)),
            turned=evaluation.has_orientation,
        )  # fmt: skip


def _error_summary(
    kind: str, over: str, translation: Array, *, rotation: Array, factors: tuple[float, float], turned: bool
) -> ErrorSummary:
    return ErrorSummary(
        kind=kind,
        over=over,
        translation=statistics_of(translation * factors[0]),
        rotation=statistics_of(rotation * factors[1]) if turned else None,
    )
