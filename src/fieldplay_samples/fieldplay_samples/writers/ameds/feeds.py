"""The videos of AMEDS, made from the pictures, small and without times."""

from pathlib import Path

import cv2
import numpy as np

from fieldplay_samples.writers.ameds.scenario import AmedsScenario

FEEDS = {"main_cam": ("MainCam_*.jpg", "MainCamVideoFeed.mp4"), "aux_cam": ("AuxCam_*.jpg", "AuxCamVideoFeed.mp4")}


def write_feeds(scenario: AmedsScenario, folder: Path) -> None:
    """Write both videos beside their pictures, at the pictures' rate."""
    for camera, (pattern, name) in FEEDS.items():
        width, height = scenario.numbers["mp4"]["sizes"][camera]
        _write_video(scenario, folder / name, sorted(folder.glob(pattern)), size=(width, height))


def _write_video(scenario: AmedsScenario, path: Path, pictures: list[Path], *, size: tuple[int, int]) -> None:
    codec = cv2.VideoWriter.fourcc(*scenario.numbers["mp4"]["codec"])
    video = cv2.VideoWriter(str(path), codec, float(scenario.settings["image_rate_hz"]), size)
    try:
        for picture in pictures:
            small = cv2.imdecode(np.frombuffer(picture.read_bytes(), np.uint8), cv2.IMREAD_REDUCED_COLOR_4)
            video.write(cv2.resize(np.asarray(small), size, interpolation=cv2.INTER_AREA))
    finally:
        video.release()
