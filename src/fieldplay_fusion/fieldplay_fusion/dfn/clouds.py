"""Steps on clouds: moved, filtered, put together."""

from dataclasses import replace

from fieldplay_fusion.dfn.step import Ports, Step, implements
from fieldplay_fusion.dfn.values import Array, Cloud


@implements("PointCloudTransformation")
class CartesianSystemTransform(Step):
    """Moves a cloud into another frame; normals turn with it."""

    def process(self, *, pointCloud: Cloud, pose: Array) -> Ports:
        turn, shift = pose[:3, :3], pose[:3, 3]
        normals = None if pointCloud.normals is None else pointCloud.normals @ turn.T
        return {
            "transformedPointCloud": replace(pointCloud, points=pointCloud.points @ turn.T + shift, normals=normals)
        }
