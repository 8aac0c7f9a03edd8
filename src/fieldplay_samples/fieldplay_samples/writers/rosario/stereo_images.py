"""The images of Rosario's stereo camera, in pairs of equal stamps; all rows of one at once (no rolling shutter)."""

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from fieldplay_samples.motion.rotations import Floats, floats
from fieldplay_samples.sensors.camera import render
from fieldplay_samples.world.scene import Scene
from fieldplay_samples.writers.rosario.scenario import RosarioScenario
from fieldplay_samples.writers.text_tables import stamp_texts


@dataclass(frozen=True, eq=False, kw_only=True)
class RosarioStage:
    """What every image needs: the scenario, the scene, and where the files go."""

    scenario: RosarioScenario
    scene: Scene
    folder: Path


@dataclass(frozen=True, kw_only=True)
class RosarioView:
    """An image to be made: `left` or `right`, and its time in s."""

    side: str
    time_s: float


def image_times(scenario: RosarioScenario) -> Floats:
    """When pairs are taken (n,)."""
    rate = float(scenario.settings["image_rate_hz"])
    first = min(scenario.numbers["picture_offset_s"], 0.5 / rate)
    return floats(np.arange(max(1, round(scenario.seconds * rate))) / rate + first)


def views_of(scenario: RosarioScenario) -> list[RosarioView]:
    """All the images of a sample, in the order of time."""
    return [
        RosarioView(side=side, time_s=time) for time in image_times(scenario).tolist() for side in ("left", "right")
    ]


def image_path(folder: Path, scenario: RosarioScenario, view: RosarioView) -> Path:
    """Where an image lies: its name has its camera and unix time."""
    return folder / f"{view.side}_{stamp_texts(scenario.unix_ns(floats([view.time_s])))[0]}.png"


def write_image(stage: RosarioStage, view: RosarioView) -> None:
    """Render one image and write it."""
    scenario = stage.scenario
    world_T_base = scenario.drive.motion.pose_at(floats([view.time_s]))[0]
    image = render(
        stage.scene,
        scenario.rig.cameras[view.side],
        world_T_base @ scenario.rig.base_T_camera[view.side],
        shrink=int(scenario.settings["image_shrink"]),
    )
    _, data = cv2.imencode(".png", cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
    image_path(stage.folder, scenario, view).write_bytes(data.tobytes())
