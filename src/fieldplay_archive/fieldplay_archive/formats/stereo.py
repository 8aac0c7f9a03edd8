"""The rectification of a pair of cameras; the one place here that needs OpenCV."""

from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay_messages.errors import ArchiveError
from fieldplay_messages.spec import Camera


def rectified_pair(left: Camera, right: Camera, right_t_left: NDArray[np.float64]) -> tuple[Camera, Camera]:
    """Both cameras with R and P of the rectified pair: no pixel of a rectified picture lies outside the camera's.

    right_T_left (4, 4) takes points of the left camera to the right one, in metres. P[3] of the right camera is -fx
    times the baseline, where it stands at the right of the left one. ArchiveError where they are no such pair.
    """
    turn, way = np.ascontiguousarray(right_t_left[:3, :3]), np.ascontiguousarray(right_t_left[:3, 3:])
    cameras = (_intrinsics(left), np.array(left.distortion), _intrinsics(right), np.array(right.distortion))
    size = (left.width, left.height)
    try:
        found = cv2.stereoRectify(*cameras, size, turn, way, flags=cv2.CALIB_ZERO_DISPARITY, alpha=0)
    except cv2.error as error:
        raise ArchiveError(f"expected two cameras that can be rectified, got others: {error.msg}") from None
    if not all(np.isfinite(matrix).all() for matrix in found[:4]):
        raise ArchiveError("expected two cameras that can be rectified, got numbers that lead to none")
    left_r, right_r, left_p, right_p = (tuple(float(value) for value in np.ravel(matrix)) for matrix in found[:4])
    return (
        replace(left, rectification=left_r, projection=left_p),
        replace(right, rectification=right_r, projection=right_p),
    )


def _intrinsics(camera: Camera) -> NDArray[np.float64]:
    return np.array([[camera.fx, 0, camera.cx], [0, camera.fy, camera.cy], [0, 0, 1.0]])
