"""The comparison of two ways as `fieldplay evaluate` makes it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from fieldplay.evaluation.ways import Ways, link_of_frames
from fieldplay_fusion.evaluation.alignment import NONE
from fieldplay_fusion.evaluation.evaluation import Evaluation, EvaluationSettings, evaluated
from fieldplay_fusion.evaluation.trajectories import Trajectory
from fieldplay_kinematics.transforms import Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Compared:
    """What was found of two ways, where the truth's frame sits in the estimate's (4, 4), and the estimate of it."""

    ways: Ways
    lever: Array
    moved: Trajectory
    evaluation: Evaluation

    @property
    def aligned(self) -> Trajectory:
        """All of the estimate, also what has no pair, as the truth's frame in the truth's parent."""
        return replace(self.moved, poses=self.evaluation.alignment.of_poses(self.moved.poses))


def compared(ways: Ways, settings: EvaluationSettings, *, lever: Array | None, tell: Callable[[str], None]) -> Compared:
    """Compare two ways; with a lever (4, 4) the truth's frame is there in the estimate's, whatever tf says."""
    estimate, truth = ways.estimate, ways.truth
    if lever is None:
        lever = link_of_frames(ways.frames, estimate.child, truth.child, tell=tell)
    moved = estimate.trajectory.of_frame(lever)
    if settings.alignment == NONE:
        parent = link_of_frames(ways.frames, truth.parent, estimate.parent, tell=tell)
        moved = replace(moved, poses=parent @ moved.poses)
    evaluation = evaluated(settings, moved, truth.trajectory)
    return Compared(ways=ways, lever=lever, moved=moved, evaluation=evaluation)
