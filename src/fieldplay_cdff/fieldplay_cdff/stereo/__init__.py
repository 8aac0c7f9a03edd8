"""Stereo visual odometry, SLAM and localisation in a map: a class each, on pairs of rectified grey images.

`StereoOdometry` (`stereo_odometry.py`), `StereoSlam` (`stereo_slam.py`) and `MapLocalisation` (`map_localisation.py`)
take images and a `StereoCamera`, and return poses; each file reads from top to bottom. The processing steps of
`fieldplay_cdff.steps` wrap these classes and their parts, so a pipeline gives the same numbers.
"""

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
