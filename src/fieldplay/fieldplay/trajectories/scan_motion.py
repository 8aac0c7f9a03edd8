"""How a lidar moves from scan to scan, by putting each onto the one before: enough to compare motions over seconds."""

from collections.abc import Iterable

import numpy as np
import small_gicp

from fieldplay.geometry.transforms import Array

VOXEL_M = 0.4
NEIGHBOURS = 12
FARTHEST_PAIR_M = 2.0
FEWEST_POINTS = 200


def poses_of_scans(scans: Iterable[Array]) -> Array:
    """first_T_scan (n, 4, 4) of the lidar from its scans, each points (m, 3) in its own axes, by GICP scan to scan.

    A scan with too few points keeps the motion of the one before. What moves within a scan is not undone, so a pose is
    that of the middle of its sweep.
    """
    poses, step = [np.eye(4)], np.eye(4)
    before = None
    for points in scans:
        if len(points) < FEWEST_POINTS:
            ready = None
        else:
            ready = small_gicp.preprocess_points(
                np.asarray(points, np.float64), downsampling_resolution=VOXEL_M, num_neighbors=NEIGHBOURS, num_threads=1
            )
        if before is not None and ready is not None:
            found = small_gicp.align(
                before[0], ready[0], before[1], init_T_target_source=step, registration_type="GICP",
                max_correspondence_distance=FARTHEST_PAIR_M, num_threads=1,
            )  # fmt: skip
            step = np.asarray(found.T_target_source, np.float64)
        if before is not None:
            poses.append(poses[-1] @ step)
        before = ready or before
    return np.array(poses)
