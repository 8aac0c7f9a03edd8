"""Parameters that follow from the camera: its focal length, baseline and image size, the rate, the first disparities.

Lengths that suit a rover, which sees the ground 2 m away, suit neither a car nor a drone. What is set to `auto` (None
in the settings of `fieldplay_cdff.stereo`) is computed here, once, from what the first pairs show. All lengths are
proportional to the median depth of the scene; a number that is given explicitly wins.
"""

from dataclasses import dataclass
from math import ceil

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.camera_model import StereoCamera
from fieldplay.geometry.transforms import Array

Grey = NDArray[np.uint8]
Values = dict[str, float]

# Odometry: limits of a motion between two pairs, and how far a key pair is kept.
ACCELERATION_M_S2 = 8.0  # of a vehicle, from the motion before
ANGULAR_ACCELERATION_RAD_S2 = 5.6
SHIFT_OF_DEPTH = 0.05  # that is always believed, whatever the rate
MINIMUM_TURN_RAD = 0.15
KEPT_OF_DEPTH = 0.03  # a parallax of 3 % of the focal length
# SLAM: distances between keyframes and the like, for a scene that is as deep as the rover's.
ROVER_DEPTH_M = 1.8
LEAST_SCALE, MOST_SCALE = 0.1, 10.0
# Reconstruction.
SMALL_WIDTH = 320  # px of an image, on which disparities are measured
INTERVALS = 16  # of which the number of disparities is a multiple
MARGIN = 1.1  # on the largest disparity that was measured
FAR_PX = 10.0  # of disparity: beyond, half a pixel is more than 5 % of the distance
FAR_OF_MEDIAN = 0.6  # of the median disparity: in a scene that is far off, most of it is to be within the limit
LEAST_PX = 1.0
VOXEL_OF_DEPTH = 0.0075  # the edge of a voxel, five to six pixels at the median depth
ROOM = 4.0  # to both sides and up and down, as a multiple of half the field of view
MIN_MEASURED = 200  # pixels of the small image with a disparity


def round_to(value: float, digits: int = 2) -> float:
    """A number with so many significant digits."""
    return float(f"{value:.{digits}g}")


def motion_limits(depth_m: float, period_s: float) -> Values:
    """Limits of the odometry.

    Args:
        depth_m: median depth of the points of the key pair.
        period_s: from pair to pair; 0 where it is not known yet.

    Returns:
        MaximumShift in m and MaximumTurn in rad from the expected motion, per pair (0, no limit, without a period),
        and KeptWithin in m.
    """
    is_timed = period_s > 0
    shift = max(ACCELERATION_M_S2 * period_s**2, SHIFT_OF_DEPTH * depth_m)
    turn = max(ANGULAR_ACCELERATION_RAD_S2 * period_s**2, MINIMUM_TURN_RAD)
    return {
        "MaximumShift": round_to(shift) if is_timed else 0.0,
        "MaximumTurn": round_to(turn) if is_timed else 0.0,
        "KeptWithin": round_to(KEPT_OF_DEPTH * depth_m),
    }


def map_scale(depth_m: float) -> float:
    """Return the ratio of map lengths to those of a rover, which sees the ground 1.8 m away.

    Args:
        depth_m: median depth of the points of the first keyframe.

    Returns:
        The factor, 0.1 to 10.
    """
    return round_to(min(max(depth_m / ROVER_DEPTH_M, LEAST_SCALE), MOST_SCALE))


# What a pair shows.


@dataclass(frozen=True, kw_only=True)
class DisparityRange:
    """Disparities of a pair, measured on a small copy of it, in px of the full images.

    Args:
        median: the median disparity.
        high: the largest that enough pixels have.
        fraction: of all pixels that have a disparity.
    """

    median: float
    high: float
    fraction: float


def measure_disparities(left: Grey, right: Grey) -> DisparityRange | None:
    """The disparities of a pair, up to half of the image's width; None where too few pixels have one."""
    shrink = max(1.0, left.shape[1] / SMALL_WIDTH)
    one, other = (cv2.resize(each, None, fx=1 / shrink, fy=1 / shrink, interpolation=cv2.INTER_AREA)
                  for each in (left, right))  # fmt: skip
    count = INTERVALS * max(1, one.shape[1] // 2 // INTERVALS)
    matcher = cv2.StereoSGBM.create(
        0, count, 7, P1=392, P2=1568, disp12MaxDiff=1, uniquenessRatio=15, speckleWindowSize=50, speckleRange=1
    )
    pad = ((0, 0), (count, 0))  # what lies left of the right image has its disparity, too
    raw = np.asarray(matcher.compute(*(np.pad(each, pad, mode="edge") for each in (one, other))))[:, count:]
    rows, columns = np.nonzero(raw > 0)
    inside = columns - raw[rows, columns] / 16 >= 0
    disparities = raw[rows, columns][inside] / 16.0 * shrink
    if len(disparities) < MIN_MEASURED:
        return None
    median, high = np.percentile(disparities, [50, 99.5])
    return DisparityRange(median=float(median), high=float(high), fraction=len(disparities) / raw.size)


def intervals_of(disparities: DisparityRange, width: int) -> int:
    """Return the number of disparities to search, a multiple of 16, at most half of an image's width in px."""
    intervals = INTERVALS * ceil((disparities.high * MARGIN + 1) / INTERVALS)
    return min(intervals, INTERVALS * max(1, width // 2 // INTERVALS))


def reconstruction_limits(disparities: DisparityRange, camera: StereoCamera, width: int) -> Values:
    """Parameters of dense stereo.

    Args:
        disparities: of the first pair.
        camera: of the rectified images.
        width: of these, px.

    Returns:
        NumberOfIntervals, the disparities that are searched, and LimitX, LimitY and LimitZ, the space in m.
    """
    intervals = intervals_of(disparities, width)
    far_px = max(min(FAR_PX, FAR_OF_MEDIAN * disparities.median), LEAST_PX)
    limit_z = round_to(camera.focal_x * camera.baseline_m / far_px)
    aside = round_to(limit_z * max(width / (2 * camera.focal_x), 0.5) * ROOM)
    return {"NumberOfIntervals": intervals, "LimitZ": limit_z, "LimitX": aside, "LimitY": aside}


def voxel_size(points: Array) -> float:
    """The edge of voxels in m that suits the points (n, 3) of a first cloud, seen from its origin; 0 without points."""
    return round_to(VOXEL_OF_DEPTH * float(np.median(np.linalg.norm(points, axis=1)))) if len(points) else 0.0
