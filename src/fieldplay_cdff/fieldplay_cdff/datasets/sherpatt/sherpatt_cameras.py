"""Camera models of a log's images: from the settings, from the sample, or the published ones of the unit."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fieldplay.datasets.archive import Archive
from fieldplay.geometry.camera_model import CameraModel
from fieldplay.messages.stream_spec import StreamSpec
from fieldplay_cdff.datasets.sherpatt.sherpatt_frames import report_settings, settings_entries
from fieldplay_cdff.logs import log_images
from fieldplay_cdff.logs.sample_rows import field, flat
from fieldplay_cdff.logs.topic_builder import BuiltStream, StreamTopics, camera_topic
from fieldplay_cdff.logs.type_table import IMAGE

RECTIFIED = "rect"
MAX_COEFFICIENTS = 5


@dataclass(frozen=True, kw_only=True)
class CameraSettings:
    """The content of a file for one camera; the baseline is with the right one of a pair."""

    file: str
    matrix: tuple[float, ...]
    coefficients: tuple[float, ...]
    baseline_m: float

    @property
    def issue(self) -> str | None:
        """The issue of the intrinsics; None if they are valid."""
        fx, fy = self.matrix[0], self.matrix[4]
        return None if fx > 0 and fy > 0 else f"expected focal lengths, got K with fx {fx:g} and fy {fy:g}"


def camera_settings(archive: Archive, settings: Mapping[str, Any]) -> dict[str, CameraSettings]:
    """The cameras of all files of settings, by the topic of their information."""
    by_topic: dict[str, CameraSettings] = {}
    for file, topic, value in settings_entries(settings, str):
        try:
            matrix = flat(field(value, "intrinsic.cameramatrix"), 9)
            distortion = field(value, "intrinsic.distcoeffs", default=())
            coefficients = tuple(float(number) for number in distortion)
            baseline = float(field(value, "baseline", default=0.0))
            if not np.isfinite([*matrix, *coefficients, baseline]).all():
                raise ValueError("numbers, got NaN")
        except (TypeError, ValueError) as error:
            report_settings(archive, file, f"{topic}: expected a camera: {error}")
            continue
        numbers = tuple(float(number) for number in matrix)
        by_topic[topic] = CameraSettings(file=file, matrix=numbers, coefficients=coefficients, baseline_m=baseline)
    return by_topic


def camera_from_settings(settings: CameraSettings, topic: str, width: int, height: int) -> CameraModel:
    """Return the camera model for an image size; a rectified pair has no distortion, whatever the settings are."""
    fx, _, cx, _, fy, cy = settings.matrix[:6]
    is_rectified = RECTIFIED in topic
    own = (*settings.coefficients, *(0.0,) * MAX_COEFFICIENTS)[:MAX_COEFFICIENTS]
    return CameraModel(
        width=width,
        height=height,
        fx=fx,
        fy=fy,
        cx=cx,
        cy=cy,
        distortion_model="plumb_bob",
        distortion=(0.0,) * MAX_COEFFICIENTS if is_rectified else own,
        projection=(fx, 0.0, cx, -fx * settings.baseline_m, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0)
        if is_rectified
        else (),
        source=settings.file,
    )


class Cameras:
    """Assigns camera models to image streams and adds them to the archive's description."""

    def __init__(self, archive: Archive, topics: StreamTopics, settings: Mapping[str, Any]) -> None:
        self._archive, self._topics = archive, topics
        self._cameras = camera_settings(archive, settings)

    def with_camera(self, item: BuiltStream) -> StreamSpec:
        """Return the description of an image stream with its camera: from the settings, from the sample, or none."""
        spec = item.spec
        if spec.type != IMAGE:
            return spec
        image = field(item.first, item.side) if item.side else item.first
        shape = log_images.frame_shape(image)
        topic = camera_topic(item.log.name)
        known = self._cameras.get(topic)
        camera: CameraModel | None = None
        if known is not None and known.issue is None:
            camera = camera_from_settings(known, topic, shape.width, shape.height)
        elif known is not None:
            self._archive.notes.append(f"{known.file}: {topic}: {known.issue}; there is no CameraInfo")
        else:
            camera = self._own_camera(item, image, shape)
        name = spec.camera or spec.id
        cameras = {key: value for key, value in self._archive.spec.cameras.items() if key != name}
        if camera is None:
            self._archive.spec = replace(self._archive.spec, cameras=cameras)
            return replace(spec, camera="")
        self._archive.spec = replace(self._archive.spec, cameras={**cameras, name: camera})
        return replace(self._topics.with_own_info(spec, item.log.name), camera=name)

    def _own_camera(self, item: BuiltStream, image: Any, shape: log_images.FrameShape) -> CameraModel | None:
        """Return the calibration that an image sample contains, else the published sample settings of its unit."""
        own = log_images.intrinsics_of_frame(image)
        if own is not None:
            settings = CameraSettings(
                file=item.log.name,
                matrix=(own[0], 0.0, own[2], 0.0, own[1], own[3], 0.0, 0.0, 1.0),
                coefficients=own[4],
                baseline_m=self._pair_baseline_m(item),
            )
            kind = RECTIFIED if item.side else item.log.name
            return camera_from_settings(settings, kind, shape.width, shape.height)
        published = self._archive.spec.cameras.get(item.spec.camera)
        if published is None or self._archive.parameters["missing_cameras"] == "none":
            return None
        if (published.width, published.height) != (shape.width, shape.height):
            size = f"{shape.width} x {shape.height}"
            self._archive.notes.append(f"{item.log.name}: no settings of its camera, and none known for {size} pixels")
            return None
        self._archive.notes.append(f"{item.log.name}: no settings of its camera: {published.source} (missing_cameras)")
        return published

    def _pair_baseline_m(self, item: BuiltStream) -> float:
        value = field(item.first, "baseline", default=0.0)
        is_right = item.side == "right" and isinstance(value, int | float)
        return float(value) if is_right else 0.0

    def baseline_m(self) -> float:
        """Of the stereo pair, from its right camera."""
        camera = self._archive.spec.cameras.get("stereo_right")
        return 0.0 if camera is None else camera.baseline_m
