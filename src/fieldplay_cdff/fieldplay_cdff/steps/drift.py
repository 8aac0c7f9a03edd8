"""How far an odometry may have drifted: deviations that grow with the root of the way, and with the time of a gap."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.geometry.transforms import inverse_from_transform, vector_from_rotation
from fieldplay_cdff.steps.pose_graph import carried
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import Array, Frame, PoseEstimate


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Deviations in m and rad after a metre, in m/s and rad/s of a gap; a turn by 1 rad counts as so many metres."""

    shift: float
    turn: float
    metres_per_turn: float
    gap_speed: float
    gap_turn: float

    @classmethod
    def of(cls, own: Mapping[str, Any]) -> "Drift":
        """As the parameters of a step tell."""
        return cls(
            shift=own["ShiftPerRoot"], turn=own["TurnPerRoot"], metres_per_turn=own["MetresPerTurn"],
            gap_speed=own["GapSpeed"], gap_turn=own["GapTurn"],
        )  # fmt: skip

    def way_m(self, step: Array) -> float:
        """How long a step (4, 4) is, its turn included."""
        turned = float(np.linalg.norm(vector_from_rotation(step[:3, :3])))
        return float(np.linalg.norm(step[:3, 3])) + self.metres_per_turn * turned

    def of_way(self, way_m: float) -> Array:
        """The covariance (6, 6) that so much of a way adds."""
        return np.diag([self.shift**2 * way_m] * 3 + [self.turn**2 * way_m] * 3)

    def of_gap(self, seconds: float) -> Array:
        """The covariance (6, 6) that a time adds in which nothing was known."""
        return np.diag([(self.gap_speed * seconds) ** 2] * 3 + [(self.gap_turn * seconds) ** 2] * 3)


def estimated(pose: Array, covariance: Array, stamp_ns: int) -> PoseEstimate:
    """A pose whose covariance (6, 6) is in its own axes, as an estimate, which has it in those of its parent."""
    turn = np.kron(np.eye(2), pose[:3, :3])
    return PoseEstimate(pose=pose, covariance=turn @ covariance @ turn.T, stamp_ns=stamp_ns)


@implements("PoseUncertainty")
class DriftingPose(Step):
    """The poses of a way, each with how far it may be off by now; a way that began anew has the gap in it, too."""

    keeps_state = True
    optional = ("pose", "accepted")

    def configure(self) -> None:
        self._drift = Drift.of(self.general)
        self._last: Array | None = None
        self._known, self._known_ns = np.zeros((6, 6)), 0
        self._is_gap = False

    def reset(self) -> None:
        self.configure()

    def process(self, *, trigger: Frame, pose: Array | None = None, accepted: bool = False) -> Ports:
        stamp_ns = trigger.stamp_ns
        if pose is None:
            self._is_gap |= accepted
            return {}
        if self._last is not None:
            step = inverse_from_transform(self._last) @ pose
            self._known = carried(self._known, step) + self._drift.of_way(self._drift.way_m(step))
            if self._is_gap:
                self._known = self._known + self._drift.of_gap((stamp_ns - self._known_ns) / NS_PER_S)
        self._last, self._known_ns, self._is_gap = pose, stamp_ns, False
        return {"estimate": estimated(pose, self._known, stamp_ns)}
