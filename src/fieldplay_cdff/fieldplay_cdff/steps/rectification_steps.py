"""Steps that undistort images and rectify pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import UsageError
from fieldplay.geometry.camera_model import (
    FISHEYE,
    PLUMB_BOB,
    RATIONAL,
    CameraModel,
    camera_from_numbers,
)
from fieldplay.messages.rectification import undistortion_maps
from fieldplay_cdff.steps.intrinsics import (
    UNSET,
    camera_of,
    matrix_of,
    require_size,
)
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import Array, Frame, FramePair

BORDERS = (cv2.BORDER_CONSTANT, cv2.BORDER_WRAP, cv2.BORDER_REFLECT)  # by the published numbers
INTERPOLATIONS = (cv2.INTER_NEAREST, cv2.INTER_LINEAR, cv2.INTER_CUBIC, cv2.INTER_LANCZOS4)
EXTERNAL = 1
KEEP = -1  # a scaling that keeps the camera's matrix
NO_DISTORTION = np.zeros(5)
Maps = tuple[NDArray[np.float32], NDArray[np.float32]]


class StereoCalibration(NamedTuple):
    """Two cameras and their extrinsics: right_T_left as a rotation (3, 3) and a shift (3,) in m."""

    left: CameraModel
    right: CameraModel
    rotation: Array
    shift: Array


def maps_to(camera: CameraModel, seen: CameraModel, turn: Array | None = None) -> Maps:
    """Return the pixels (h, w) of an undistorted camera in the distorted image, after a rotation (3, 3)."""
    turned = np.eye(3) if turn is None else turn
    model, size = "fisheye" if camera.kind == FISHEYE else "", (seen.width, seen.height)
    first, second = undistortion_maps(
        camera.matrix, _distortion(camera), model, rotation=turned, target=seen.matrix, size=size, kind=cv2.CV_32FC1
    )
    return np.asarray(first, np.float32), np.asarray(second, np.float32)


def pinhole_camera(camera: CameraModel, matrix: Array, size: tuple[int, int] | None = None) -> CameraModel:
    """Return a camera with another matrix (3, 3) and size (width, height), without distortion."""
    width, height = size or (camera.width, camera.height)
    return camera_from_numbers(matrix, NO_DISTORTION, PLUMB_BOB, width=width, height=height)


def _distortion(camera: CameraModel) -> Array:
    count = 4 if camera.kind == FISHEYE else len(camera.distortion)
    return np.concatenate([camera.coefficients, np.zeros(4)])[:count] if count else NO_DISTORTION


class RemapStep(Step):
    """Base of the steps that remap images; maps are computed once for each camera."""

    def configure(self) -> None:
        self._maps: dict[tuple[Any, ...], Maps] = {}

    def remap(
        self,
        frame: Frame,
        port: str,
        *,
        cameras: tuple[CameraModel, CameraModel],
        turn: Array | None = None,
        interpolation: int = cv2.INTER_LINEAR,
        **border: Any,
    ) -> Frame:
        """Remap an image of one camera to another camera."""
        camera, seen = cameras
        require_size(frame, camera, port)
        key = (camera, seen, None if turn is None else turn.tobytes())
        if key not in self._maps:
            self._maps = dict([*self._maps.items(), (key, maps_to(camera, seen, turn))][-2:])
        image = cv2.remap(np.asarray(frame.image), *self._maps[key], interpolation, **border)
        return replace(frame, image=image, camera=seen)


def camera_from_groups(settings: Mapping[str, Mapping[str, Any]], frame: Frame, size: tuple[int, int]) -> CameraModel:
    """Return the camera of the groups CameraMatrix and Distortion if they are set, else that of the image."""
    if settings["CameraMatrix"]["FocalLengthX"] == UNSET:
        return camera_of(frame, "image")
    options = settings["Distortion"]
    names = ["K1", "K2", "P1", "P2"] + ["K3"] * options["UseK3"] + ["K4", "K5", "K6"] * options["UseK4ToK6"]
    distortion = np.array([options[name] for name in names])
    model = RATIONAL if options["UseK4ToK6"] else PLUMB_BOB
    matrix = matrix_of(settings["CameraMatrix"])
    return camera_from_numbers(matrix, distortion, model, width=size[0], height=size[1])


@implements("ImageFiltering")
class ImageUndistortion(RemapStep):
    """Undistorts an image with an unchanged camera matrix."""

    def configure(self) -> None:
        super().configure()
        _check_distortion(self.implementation, self.settings["Distortion"])

    def process(self, *, image: Frame) -> Ports:
        camera = camera_from_groups(self.settings, image, _size(image))
        cameras = (camera, pinhole_camera(camera, camera.matrix))
        return {"image": self.remap(image, "image", cameras=cameras)}


def _check_distortion(name: str, own: Mapping[str, Any]) -> None:
    if own["UseK4ToK6"] and not own["UseK3"]:
        raise UsageError(f"{name}: expected UseK3 with UseK4ToK6, got UseK4ToK6 alone")


def _size(frame: Frame) -> tuple[int, int]:
    return frame.image.shape[1], frame.image.shape[0]


@implements("ImageFiltering")
class ImageUndistortionRectification(RemapStep):
    """Undistorts and rectifies an image: by the settings' camera, by maps in a file, or by its own camera."""

    def configure(self) -> None:
        super().configure()
        _check_distortion(self.implementation, self.settings["Distortion"])
        options = self.general
        self.turn = np.reshape(list(self.settings["RectificationMatrix"].values()), (3, 3))
        self.how: dict[str, Any] = {
            "interpolation": INTERPOLATIONS[options["InterpolationMethod"]],
            "borderMode": BORDERS[options["BorderMode"]],
            "borderValue": options["ConstantBorderValue"],
        }
        self.is_external = options["CameraConfigurationMode"] == EXTERNAL
        path = options["TransformMapsFilePath"]
        self.maps = _maps_of(Path(path)) if self.is_external and path else None

    def process(self, *, image: Frame) -> Ports:
        if self.maps is not None:
            how = dict(self.how)
            remapped = cv2.remap(np.asarray(image.image), *self.maps, how.pop("interpolation"), **how)
            return {"image": replace(image, image=remapped, camera=None)}
        size = (self.settings["ImageSize"]["Width"], self.settings["ImageSize"]["Height"])
        camera = camera_from_groups(self.settings, image, _size(image))
        is_own = camera is image.camera
        seen = pinhole_camera(camera, camera.matrix, None if is_own else size)
        return {"image": self.remap(image, "image", cameras=(camera, seen), turn=self.turn, **self.how)}


def _maps_of(path: Path) -> Maps:
    first, second = (numbers.astype(np.float32) for numbers in _numbers_of(path, "Map1", "Map2"))
    return first, second


def _numbers_of(path: Path, *names: str) -> list[Array]:
    """Matrices of a YAML of OpenCV by their names; UsageError where one is not there."""
    if not path.is_file():
        raise UsageError(f"{path}: expected a file of OpenCV with {', '.join(names)}, there is none")
    try:
        storage = cv2.FileStorage()
        storage.open(str(path), cv2.FILE_STORAGE_READ)
        nodes = [storage.getNode(name) for name in names]
        values = [None if node.empty() else np.asarray(node.mat() if node.isMap() else node.real()) for node in nodes]
    except cv2.error as error:
        raise UsageError(f"{path}: expected a file of OpenCV with {', '.join(names)}, got {error.err}") from None
    for name, numbers in zip(names, values, strict=True):
        if numbers is None or not np.isfinite(numbers).all():
            raise UsageError(f"{path}: expected numbers of {name}, got none")
    return [np.asarray(numbers) for numbers in values]


@implements("ImageRectification")
class ImageRectification(RemapStep):
    """Undistorts an image by its own camera; `scaling` 0 keeps only valid pixels, 1 keeps all."""

    def process(self, *, originalImage: Frame) -> Ports:
        options = self.settings["ImageRectificationParams"]
        camera = _as_fisheye(camera_of(originalImage, "originalImage"), options["fisheye"])
        size = (round(camera.width / options["xratio"]), round(camera.height / options["yratio"]))
        cameras = (camera, _target_camera(camera, size, options["scaling"], is_centred=options["centerPrincipalPoint"]))
        return {"rectifiedImage": self.remap(originalImage, "originalImage", cameras=cameras)}


def _as_fisheye(camera: CameraModel, is_fisheye: bool) -> CameraModel:
    if not is_fisheye or camera.kind == FISHEYE:
        return camera
    return replace(camera, distortion_model=FISHEYE, distortion=camera.distortion[:4])


def _target_camera(camera: CameraModel, size: tuple[int, int], scaling: float, *, is_centred: bool) -> CameraModel:
    """Return the camera without distortion that an image is remapped to."""
    whole = (camera.width, camera.height)
    if scaling == KEEP:
        scale = np.array(size) / whole
        matrix = camera.matrix.copy()
        matrix[:2] *= scale[:, None]
        matrix[:2, 2] += (scale - 1) / 2
        if is_centred:
            matrix[:2, 2] = (np.array(size) - 1) / 2
    elif camera.kind == FISHEYE:
        matrix = cv2.fisheye.estimateNewCameraMatrixForUndistortRectify(
            camera.matrix, _distortion(camera), whole, np.eye(3), balance=scaling, new_size=size
        )
    else:
        matrix = cv2.getOptimalNewCameraMatrix(camera.matrix, _distortion(camera), whole, scaling, size, is_centred)[0]
    return pinhole_camera(camera, np.asarray(matrix, np.float64), size)


@implements("StereoRectification")
class StereoRectification(RemapStep):
    """Rectifies a pair, so that a point has the same row in both images.

    The file `calibrationFilePath` holds the poses of the cameras; without one they have the same orientation.
    """

    def configure(self) -> None:
        super().configure()
        path = self.settings["StereoRectificationParams"]["calibrationFilePath"]
        self.calibration = calibration_of(Path(path)) if path else None

    def process(self, *, originalStereoPair: FramePair) -> Ports:
        options, left, right = (
            self.settings["StereoRectificationParams"],
            originalStereoPair.left,
            originalStereoPair.right,
        )
        calibration = self.calibration
        if calibration is None:
            if not right.baseline_m > 0:
                raise ValueError(f"originalStereoPair: expected a baseline above 0, got {right.baseline_m:g} m")
            cameras = (camera_of(left, "originalStereoPair.left"), camera_of(right, "originalStereoPair.right"))
            calibration = StereoCalibration(*cameras, np.eye(3), np.array([-right.baseline_m, 0, 0]))
        first, second = (_as_fisheye(camera, options["fisheye"]) for camera in calibration[:2])
        calibration = calibration._replace(left=first, right=second)
        size = (round(first.width / options["xratio"]), round(first.height / options["yratio"]))
        turns, seen, baseline = rectify(calibration, size, options["scaling"])
        frames = [
            self.remap(frame, f"originalStereoPair.{side}", cameras=(camera, to), turn=turn)
            for frame, side, camera, to, turn in zip(
                (left, right), ("left", "right"), calibration[:2], seen, turns, strict=True
            )
        ]
        return {"rectifiedStereoPair": FramePair(left=frames[0], right=replace(frames[1], baseline_m=baseline))}


def rectify(
    calibration: StereoCalibration, size: tuple[int, int], scaling: float
) -> tuple[tuple[Array, Array], tuple[CameraModel, CameraModel], float]:
    """Return the rotation (3, 3) of each camera, the rectified cameras, and the baseline in m."""
    first, second = calibration.left, calibration.right
    cameras = (
        first.matrix,
        _distortion(first),
        second.matrix,
        _distortion(second),
        (first.width, first.height),
        calibration.rotation,
    )
    shift = calibration.shift.reshape(3, 1)
    result: Sequence[Any]
    if first.kind == FISHEYE:
        flags, balance = cv2.CALIB_ZERO_DISPARITY, max(scaling, 0.0)
        result = cv2.fisheye.stereoRectify(*cameras, shift, flags, newImageSize=size, balance=balance)
    else:
        flags = cv2.CALIB_ZERO_DISPARITY
        result = cv2.stereoRectify(*cameras, shift, flags=flags, alpha=scaling, newImageSize=size)
    left_turn, right_turn, left_matrix, right_matrix = (np.asarray(numbers, np.float64) for numbers in result[:4])
    seen = pinhole_camera(first, left_matrix[:, :3], size), pinhole_camera(second, right_matrix[:, :3], size)
    return (left_turn, right_turn), seen, float(-right_matrix[0, 3] / right_matrix[0, 0])


def calibration_of(path: Path) -> StereoCalibration:
    """Read two cameras from an OpenCV file, or from the only .yml of a folder; UsageError if that fails."""
    files = sorted(path.glob("*.yml")) if path.is_dir() else [path]
    if len(files) != 1:
        names = ", ".join(file.name for file in files) or "none"
        raise UsageError(f"calibrationFilePath {path}: expected one .yml in this folder, got {names}")
    file = files[0]
    sizes = ("image_width", "image_height")
    pairs = [f"{name}_{number}" for name in ("camera_matrix", "distortion_coefficients") for number in (1, 2)]
    width, height, *rest = _numbers_of(file, *sizes, *pairs, "rotation_matrix", "translation_coefficients")
    first, second, first_distortion, second_distortion, rotation, shift = rest
    cameras = []
    for matrix, distortion in ((first, first_distortion), (second, second_distortion)):
        numbers = np.asarray(distortion, np.float64).ravel()
        model = RATIONAL if len(numbers) > len(NO_DISTORTION) else PLUMB_BOB
        cameras.append(camera_from_numbers(matrix, numbers, model, width=int(width), height=int(height)))
    shift = np.asarray(shift, np.float64).ravel()
    if shift.shape != (3,) or np.shape(rotation) != (3, 3) or not shift[0] < 0:
        raise UsageError(f"{file}: expected a rotation (3, 3) and a shift of the left camera to the right one with x "
                         f"below 0, got {np.shape(rotation)} and {shift.tolist()}")  # fmt: skip
    return StereoCalibration(cameras[0], cameras[1], np.asarray(rotation, np.float64), shift)
