"""Steps that find surfaces by touch."""

import numpy as np

from fieldplay_fusion.dfn.rigid import moved
from fieldplay_fusion.dfn.step import Ports, Step, implements
from fieldplay_fusion.dfn.values import Array, Cloud, Wrench

AXES = "XYZ"


@implements("ForceMeshGenerator")
class ThresholdForce(Step):
    """Where a tool touches something: all places so far at which the force on it was above a threshold."""

    keeps_state = True

    def configure(self) -> None:
        self._tare = np.array([self.general[f"Tare{axis}"] for axis in AXES])
        self.reset()

    def reset(self) -> None:
        self._points = np.zeros((0, 3))

    def process(self, *, armBasePose: Array, armEndEffectorPose: Array, armEndEffectorWrench: Wrench) -> Ports:
        force = armEndEffectorWrench.force - self._tare
        if not (np.isfinite(force).all() and np.isfinite(armBasePose).all() and np.isfinite(armEndEffectorPose).all()):
            raise ValueError("expected a force and the poses of base and tool, got NaN")
        size = float(np.linalg.norm(force))
        if size > self.general["Threshold"]:
            tip = np.zeros(3) if not size else -self.general["ToolRadius"] * force / size
            point = moved(armBasePose @ armEndEffectorPose, tip[None])
            self._points = np.concatenate([self._points, point])[-self.general["MaximumPoints"] :]
        return {"outputPointCloud": Cloud(points=self._points.copy(), stamp_ns=armEndEffectorWrench.stamp_ns)}
