"""The values of the ports of steps. Lengths in m, angles in rad, pixels from the centre of the first one.

A pose is an array (4, 4), several of them (n, 4, 4); the pose of a in b is b_T_a. Matrices are arrays.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.camera_model import CameraModel

Array = NDArray[np.float64]
NO_TIME = -1


def _nothing(*shape: int) -> Array:
    return np.zeros(shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class Frame:
    """An image (h, w) or (h, w, 3) with the known properties of its camera.

    `encoding` is as in sensor_msgs/Image: mono8, rgb8, bgr8, 32FC1, 16SC1. For a disparity image `scale` and
    `offset` make pixels of them: disparity = (pixel - offset) / scale. `baseline_m` is how far the camera of the right
    image of a pair is from that of the left.
    """

    image: NDArray[Any]
    encoding: str = "mono8"
    stamp_ns: int = NO_TIME
    camera: CameraModel | None = None
    baseline_m: float = 0.0
    scale: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class FramePair:
    """The images of a stereo camera."""

    left: Frame
    right: Frame

    @property
    def baseline_m(self) -> float:
        return self.right.baseline_m


@dataclass(frozen=True, eq=False, kw_only=True)
class Cloud:
    """Points (n, 3), and what more is known of each: normals (n, 3), intensity (n,), colours (n, 3) as rgb8.

    `counts` (n,) are the points that each is the mean of. An ordered cloud may have NaN rows: the row index is the
    pixel index.
    """

    points: Array
    normals: Array | None = None
    intensity: NDArray[np.float32] | None = None
    colors: NDArray[np.uint8] | None = None
    counts: Array | None = None
    stamp_ns: int = NO_TIME

    def __len__(self) -> int:
        return len(self.points)

    def subset(self, which: NDArray[np.generic]) -> "Cloud":
        """Return some of the points, by a mask or their indices."""
        parts = {name: getattr(self, name) for name in ("normals", "intensity", "colors", "counts")}
        own = {name: None if part is None else part[which] for name, part in parts.items()}
        return Cloud(points=self.points[which], stamp_ns=self.stamp_ns, **own)


@dataclass(frozen=True, eq=False, kw_only=True)
class Features2D:
    """Points (n, 2) as u v, descriptors (n, k) as bytes or numbers, and the detector's output for each point (n,)."""

    points: Array
    descriptors: NDArray[np.generic] = field(default_factory=lambda: np.zeros((0, 0), np.uint8))
    size: Array = field(default_factory=lambda: _nothing(0))
    angle_deg: Array = field(default_factory=lambda: _nothing(0))
    response: Array = field(default_factory=lambda: _nothing(0))
    octave: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    def __len__(self) -> int:
        return len(self.points)


@dataclass(frozen=True, eq=False, kw_only=True)
class Features3D:
    """Points (n, 3), or the indices in a cloud (n,) of their points, and descriptors (n, k)."""

    points: Array
    references: NDArray[np.intp] | None = None
    descriptors: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    def __len__(self) -> int:
        return len(self.points)


@dataclass(frozen=True, eq=False, kw_only=True)
class Matches2D:
    """Pixels (n, 2) of the same points in two images; the confidence of each, 0 to 1; all distances, if known."""

    source: Array
    sink: Array
    probability: Array
    distances: Array | None = None

    def __len__(self) -> int:
        return len(self.source)

    def subset(self, which: NDArray[np.generic]) -> "Matches2D":
        """Return some of the matches, by a mask or their indices."""
        return Matches2D(source=self.source[which], sink=self.sink[which], probability=self.probability[which])


@dataclass(frozen=True, eq=False, kw_only=True)
class Matches3D:
    """Points (n, 3) of the same things in two frames, and how sure each is, 0 to 1."""

    source: Array
    sink: Array
    probability: Array

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, eq=False, kw_only=True)
class PoseEstimate:
    """A pose with its covariance (6, 6), shift before rotation as in ROS.

    `correction` is what disparities lack by the calibration, offset and radial part (2,) in px, where that is known.
    """

    pose: Array
    covariance: Array
    stamp_ns: int = NO_TIME
    correction: Array | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class State:
    """Rotation vector, position, angular velocity, velocity (12,) of a body, and their covariance (12, 12)."""

    values: Array
    covariance: Array
    stamp_ns: int = NO_TIME


@dataclass(frozen=True, eq=False, kw_only=True)
class Wrench:
    """A force (3,) in N and a torque (3,) in N m."""

    force: Array
    torque: Array = field(default_factory=lambda: _nothing(3))
    stamp_ns: int = NO_TIME


@dataclass(frozen=True, eq=False, kw_only=True)
class Octree:
    """The centres (n, 3) of the occupied cells."""

    resolution_m: float
    centres: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class ElevationGrid:
    """Heights in square cells (rows, columns), rows along y; the corner of row 0, column 0 is at x_m, y_m.

    Empty cells are NaN with a count of 0. `deviation` is that of all heights of a cell from their mean.
    """

    x_m: float
    y_m: float
    resolution_m: float
    mean: Array
    deviation: Array
    lowest: Array
    highest: Array
    count: NDArray[np.int64]
    stamp_ns: int = NO_TIME
