"""Rectified images: without the lens, and of a stereo pair with what is in a row of one in the same row of the other.

The numbers are those of CameraInfo: K and D of the camera, R and P of what is rectified.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.geometry.camera_model import CameraModel
from fieldplay.messages.image_pixels import SHAPES, decode_image, pixels_from_image
from fieldplay.messages.records import Pixels

SAME = 1e-6  # by which a matrix may differ from another
FISHEYES = ("equidistant", "fisheye")
PLAIN = {"mono8", "mono16", "16UC1", "16SC1", "32FC1", "8UC1", "bgr8"}  # which are taken as they are
INTERPOLATED = ("u1", "u2")  # numbers of brightness or colour; between others, as distances, there need be none
RECTIFIED = "_rectified"  # ends the frame of a camera whose images are rotated as they are rectified

IMAGE_RECT = "image_rect"  # how topics of rectified images are called, as in image_proc

Array = NDArray[np.float64]
Image = NDArray[Any]


def camera_of_images(topic: str, camera: CameraModel) -> CameraModel:
    """The camera of the images on a topic by its CameraInfo: K and D of that are not of rectified images, but its P.

    Rectified images are those of topics such as `left/image_rect`, `left/image_rect_color/compressed`.
    """
    name = topic.removesuffix("/compressed").rpartition("/")[2]
    return Rectification(camera).rectified if name.startswith(IMAGE_RECT) else camera


def undistortion_maps(
    matrix: Array, distortion: Array, model: str, *, rotation: Array, target: Array, size: tuple[int, int], kind: int
) -> tuple[Image, Image]:
    """Where the pixels (h, w) of a rectified image are in that of the camera, as cv2.remap takes them.

    Args:
        matrix: K (3, 3) of the camera.
        distortion: D, as the model orders it.
        model: the name of the distortion model, as CameraInfo has it.
        rotation: R (3, 3), from the camera's axes to those of the rectified image.
        target: K (3, 3) of the rectified image.
        size: its width and height.
        kind: OpenCV's type of the first map.
    """
    import cv2

    make = cv2.fisheye.initUndistortRectifyMap if model in FISHEYES else cv2.initUndistortRectifyMap
    first, second = make(matrix, distortion, rotation, target, size, kind)
    return first, second


def rectify_pair(left: CameraModel, right: CameraModel, right_t_left: Array) -> tuple[CameraModel, CameraModel]:
    """Compute R and P of a stereo pair such that no pixel of a rectified image lies outside the camera's.

    Args:
        left: the left camera.
        right: the right camera, whose distortion is of the same kind: both are fisheyes or neither is.
        right_t_left: right_T_left (4, 4) in m; it takes points of the left camera to the right one.

    Returns:
        Both cameras with R and P; P[3] of the right one is -fx times the baseline, where it is to the right.

    Raises:
        ArchiveError: they are no such pair.
    """
    import cv2

    rotation, translation = np.ascontiguousarray(right_t_left[:3, :3]), np.ascontiguousarray(right_t_left[:3, 3:])
    cameras = (left.matrix, left.coefficients, right.matrix, right.coefficients)
    size, aligned = (left.width, left.height), cv2.CALIB_ZERO_DISPARITY
    are_fisheyes = {camera.distortion_model in FISHEYES for camera in (left, right)}
    if len(are_fisheyes) > 1:
        raise ArchiveError("expected two cameras with distortion of one kind, got a fisheye and another")
    matrices: Sequence[Any]
    try:
        if are_fisheyes == {True}:
            matrices = cv2.fisheye.stereoRectify(*cameras, size, rotation, translation, aligned)
        else:
            matrices = cv2.stereoRectify(*cameras, size, rotation, translation, flags=aligned, alpha=0)
    except cv2.error as error:
        raise ArchiveError(f"expected two cameras that can be rectified, got others: {error.msg}") from None
    if not all(np.isfinite(matrix).all() for matrix in matrices[:4]):
        raise ArchiveError("expected two cameras that can be rectified, got numbers that lead to none")
    left_r, right_r, left_p, right_p = (tuple(float(value) for value in np.ravel(matrix)) for matrix in matrices[:4])
    return (
        replace(left, rectification=left_r, projection=left_p),
        replace(right, rectification=right_r, projection=right_p),
    )


class Rectification:
    """A camera by its CameraInfo, and its rectified images."""

    def __init__(self, camera: CameraModel) -> None:
        self.camera = camera
        matrix, rotation, projection = camera.matrix, camera.rotation, camera.projection_matrix
        if not (camera.fx > 0 and camera.fy > 0) or np.array_equal(matrix, np.eye(3)):
            raise ArchiveError(f"expected a camera matrix with focal lengths in pixels, got K = {matrix.tolist()}")
        self.matrix, self.rotation, self.projection = matrix, rotation, projection
        self.is_rotated = bool(np.abs(rotation - np.eye(3)).max() > SAME and rotation.any())
        bends = bool(np.nan_to_num(camera.coefficients).any())
        is_other = bool(np.abs(projection[:, :3] - matrix).max() > SAME)
        self.is_needed = bends or self.is_rotated or is_other

    @cached_property
    def rectified(self) -> CameraModel:
        """The camera that a rectified image is of: without a lens, R the identity."""
        own = self.camera.with_matrix(self.projection[:, :3], self.camera.width, self.camera.height)
        projection = tuple(map(float, self.projection.reshape(-1)))
        none = (0.0,) * 5
        return replace(own, distortion_model="plumb_bob", distortion=none, rectification=(), projection=projection)

    def frame(self, name: str) -> str:
        """The frame of rectified images, by that of the camera: another one where R rotates them."""
        return name + RECTIFIED if self.is_rotated else name

    @cached_property
    def _maps(self) -> tuple[Image, Image]:
        import cv2

        camera = self.camera
        return undistortion_maps(
            self.matrix, camera.coefficients, camera.distortion_model,
            rotation=self.rotation, target=self.projection[:, :3], size=(camera.width, camera.height),
            kind=cv2.CV_16SC2,
        )  # fmt: skip

    def image(self, image: Image) -> Image:
        """An image (h, w) or (h, w, channels) rectified; ArchiveError where it is of another size than the camera's."""
        height, width = image.shape[:2]
        if (width, height) != (self.camera.width, self.camera.height):
            expected = f"{self.camera.width} x {self.camera.height}"
            raise ArchiveError(f"its CameraInfo is for images of {expected}, this one has {width} x {height} pixels")
        if not self.is_needed:
            return image
        import cv2

        is_smooth = image.dtype.str[1:] in INTERPOLATED
        return cv2.remap(image, *self._maps, cv2.INTER_LINEAR if is_smooth else cv2.INTER_NEAREST)

    def pixels(self, data: bytes | Pixels) -> Pixels:
        """An image, as its file or its pixels, rectified."""
        image, encoding = array_and_encoding(data)
        if encoding == "16UC1" and not isinstance(data, Pixels):
            encoding = "mono16"
        pixels = np.ascontiguousarray(self.image(image))
        height, width = pixels.shape[:2]
        flat = pixels.reshape(-1).view(np.uint8).tobytes()
        return Pixels(height=height, width=width, encoding=encoding, step=len(flat) // height, data=flat)


def array_and_encoding(data: bytes | Pixels) -> tuple[Image, str]:
    """An image as an array and its encoding: grey and depth as they are, all else as bgr8."""
    if isinstance(data, Pixels):
        if data.encoding in PLAIN and not data.is_bigendian:
            kind, channels = SHAPES[data.encoding]
            used = data.width * channels * np.dtype(kind).itemsize
            rows = np.frombuffer(data.data, np.uint8)
            if len(rows) >= data.step * data.height > 0 and data.step >= used:
                rows = rows[: data.step * data.height].reshape(data.height, data.step)
                image = np.ascontiguousarray(rows[:, :used]).view(np.dtype(kind))
                return image if channels == 1 else image.reshape(data.height, data.width, channels), data.encoding
        return pixels_from_image(data), "bgr8"
    pixels = decode_image(data)
    if pixels is None:
        raise ArchiveError(f"its {len(data)} bytes do not decode as an image")
    if pixels.ndim == 2:
        return pixels, "mono8" if pixels.dtype == np.uint8 else "16UC1"
    return np.ascontiguousarray(pixels[:, :, :3]), "bgr8"
