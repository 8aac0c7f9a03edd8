"""What steps take from an image: its camera, unless the settings have another one, and its grey values."""

from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.camera_model import CameraModel, StereoCamera
from fieldplay_cdff.steps.values import Array, Frame

UNSET = 1.0  # the published default of a focal length or a baseline, which means that it is not set
TO_GREY = {"rgb8": cv2.COLOR_RGB2GRAY, "bgr8": cv2.COLOR_BGR2GRAY, "rgba8": cv2.COLOR_RGBA2GRAY,
           "bgra8": cv2.COLOR_BGRA2GRAY}  # fmt: skip
SAME = ("mono8", "8UC1")
DEEP = ("mono16", "16UC1")


def matrix_of(group: Mapping[str, Any]) -> Array:
    """Return the matrix (3, 3) of a group of settings; at the published defaults that of pixels in lengths of f."""
    centre = [value for name in ("Principle", "Principal") for axis in "XY"
              if (value := group.get(f"{name}Point{axis}")) is not None]  # fmt: skip
    return np.array([[group["FocalLengthX"], 0, centre[0]], [0, group["FocalLengthY"], centre[1]], [0, 0, 1.0]])


def camera_of(frame: Frame, port: str) -> CameraModel:
    """Return the camera of an image; ValueError if it is unknown or belongs to images of another size."""
    if frame.camera is None:
        raise ValueError(f"{port}: expected an image of a known camera, got one without")
    require_size(frame, frame.camera, port)
    return frame.camera


def require_size(frame: Frame, camera: CameraModel, port: str) -> None:
    """Raise ValueError if an image does not have the size of a camera."""
    shape = frame.image.shape[:2]
    if shape != (camera.height, camera.width):
        raise ValueError(
            f"{port}: expected an image of {camera.width} x {camera.height} pixels as its camera has, "
            f"got {' x '.join(map(str, shape[::-1]))}"
        )


def stereo_camera(
    frame: Frame, port: str, *, baseline_m: float, group: Mapping[str, Any] | None = None
) -> StereoCamera:
    """Return the camera of a left image at a baseline, unless a group of settings (StereoCamera) has another one."""
    parameters = {} if group is None else group
    baseline = parameters.get("Baseline", UNSET) if parameters.get("Baseline", UNSET) != UNSET else baseline_m
    if not baseline > 0:
        raise ValueError(f"{port}: expected a baseline above 0, got {baseline:g} m")
    focal = parameters.get("LeftFocalLength", UNSET)
    if focal != UNSET:
        center_x, center_y = (parameters[f"LeftPrinciplePoint{axis}"] for axis in "XY")
        return StereoCamera(focal_x=focal, focal_y=focal, center_x=center_x, center_y=center_y, baseline_m=baseline)
    return StereoCamera.from_matrix(camera_of(frame, port).matrix, baseline)


def grey_of(frame: Frame, port: str) -> NDArray[np.uint8]:
    """Return the grey values (h, w) of an image; ValueError if it has none."""
    image: NDArray[Any] = frame.image
    if image.size == 0:
        raise ValueError(f"{port}: expected an image, got one of {' x '.join(map(str, image.shape))} pixels")
    if frame.encoding in SAME and image.ndim == 2 and image.dtype == np.uint8:
        return np.ascontiguousarray(image)
    if frame.encoding in DEEP and image.ndim == 2 and image.dtype == np.uint16:
        return np.asarray(image >> 8, np.uint8)
    if frame.encoding in TO_GREY and image.ndim == 3 and image.dtype == np.uint8:
        return np.asarray(cv2.cvtColor(image, TO_GREY[frame.encoding]), np.uint8)
    known = ", ".join((*SAME, *DEEP, *TO_GREY))
    raise ValueError(f"{port}: expected an image in {known}, got {frame.encoding} as {image.dtype} {image.shape}")


def grey_pair(
    first: Frame, second: Frame, ports: tuple[str, str] = ("left", "right")
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the grey values of two images of one size."""
    images = grey_of(first, ports[0]), grey_of(second, ports[1])
    if images[0].shape != images[1].shape:
        sizes = [" x ".join(map(str, image.shape[::-1])) for image in images]
        raise ValueError(f"{ports[1]}: expected an image of {sizes[0]} pixels as {ports[0]}, got {sizes[1]}")
    return images
