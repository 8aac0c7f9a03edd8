"""Stereo visual odometry, SLAM and localisation in a map: a class each, on pairs of rectified grey images.

`StereoOdometry` (`stereo_odometry.py`), `StereoSlam` (`stereo_slam.py`) and `MapLocalisation` (`map_localisation.py`)
take images and a `StereoCamera`, and return poses; each file reads from top to bottom. The processing steps of
`fieldplay_cdff.steps` wrap these classes and their parts, so a pipeline gives the same numbers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fieldplay.geometry.camera_model import StereoCamera
    from fieldplay_cdff.stereo.keyframe_map import KeyframeMap
    from fieldplay_cdff.stereo.map_files import load_map, save_map
    from fieldplay_cdff.stereo.map_localisation import LocalisationSettings, MapLocalisation
    from fieldplay_cdff.stereo.stereo_odometry import OdometrySettings, StereoEstimate, StereoOdometry
    from fieldplay_cdff.stereo.stereo_slam import SlamSettings, StereoSlam

__all__ = [
    "KeyframeMap",
    "LocalisationSettings",
    "MapLocalisation",
    "OdometrySettings",
    "SlamSettings",
    "StereoCamera",
    "StereoEstimate",
    "StereoOdometry",
    "StereoSlam",
    "load_map",
    "save_map",
]

_CAMERA, _MAP_FILES = "fieldplay.geometry.camera_model", "fieldplay_cdff.stereo.map_files"
_LOCALISATION, _ODOMETRY = "fieldplay_cdff.stereo.map_localisation", "fieldplay_cdff.stereo.stereo_odometry"
_SLAM = "fieldplay_cdff.stereo.stereo_slam"
# Loaded with the first use: SciPy and OpenCV take longer to load than what only names the steps of pipelines takes.
_MODULES = {
    "KeyframeMap": "fieldplay_cdff.stereo.keyframe_map", "LocalisationSettings": _LOCALISATION,
    "MapLocalisation": _LOCALISATION, "OdometrySettings": _ODOMETRY, "SlamSettings": _SLAM, "StereoCamera": _CAMERA,
    "StereoEstimate": _ODOMETRY, "StereoOdometry": _ODOMETRY, "StereoSlam": _SLAM, "load_map": _MAP_FILES,
    "save_map": _MAP_FILES,
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
