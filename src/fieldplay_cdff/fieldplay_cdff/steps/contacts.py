"""Steps that find surfaces by touch."""

import numpy as np

from fieldplay.geometry.transforms import transform_points
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import Array, Cloud, Wrench

AXES = "XYZ"
BASE = "Base"  # the tare is a weight, which stays in the frame of the arm's base


@implements("ForceMeshGenerator")
class ThresholdForce(Step):
    """The contact points of a tool: all positions so far at which the force on it was above a threshold.

    The force without contact, such as the tool's weight, is set or measured: the mean of the first forces,
    during which nothing counts as a contact. Without a pose of the arm's base the points are in its frame.
    """

    keeps_state = True
    optional = ("armBasePose",)

    def configure(self) -> None:
        self._tare = np.array([self.general[f"Tare{axis}"] for axis in AXES])
        self._is_weight = self.general["TareFrame"] == BASE
        self.reset()

    def reset(self) -> None:
        self._points = np.zeros((0, 3))
        self._sum, self._count = np.zeros(3), 0

    def process(
        self, *, armEndEffectorPose: Array, armEndEffectorWrench: Wrench, armBasePose: Array | None = None
    ) -> Ports:
        force, base = armEndEffectorWrench.force, np.eye(4) if armBasePose is None else armBasePose
        if not (np.isfinite(force).all() and np.isfinite(base).all() and np.isfinite(armEndEffectorPose).all()):
            raise ValueError("expected a force and the poses of base and tool, got NaN")
        touch = self._without_tare(force, armEndEffectorPose[:3, :3])
        size = float(np.linalg.norm(touch))
        if size > self.general["Threshold"]:
            tip = -self.general["ToolRadius"] * touch / size
            point = transform_points(base @ armEndEffectorPose, tip[None])
            self._points = np.concatenate([self._points, point])[-self.general["MaximumPoints"] :]
        return {"outputPointCloud": Cloud(points=self._points.copy(), stamp_ns=armEndEffectorWrench.stamp_ns)}

    def _without_tare(self, force: Array, base_r_tool: Array) -> Array:
        """The force less that without contact; None while that is measured."""
        turn = base_r_tool if self._is_weight else np.eye(3)
        rest = turn @ force - self._tare
        if self._count < self.general["TareSamples"]:
            self._sum, self._count = self._sum + rest, self._count + 1
            return np.zeros(3)
        return np.asarray(turn.T @ (rest - self._sum / max(self._count, 1)))
