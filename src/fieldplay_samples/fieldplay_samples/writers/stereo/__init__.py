"""A sample without a dataset: a stereo camera in a street or a hall, as a rosbag2 bag with rectified grey images.

It has what real pairs have: a wide baseline or fast turns, noise, motion blur, vignetting, a brighter right image,
sky, walls with repeated windows, something that moves by itself, and a calibration that is off where that is set.
The truth's map is the first left camera's optical frame, its body the left camera.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from fieldplay_samples.data import numbers_of
from fieldplay_samples.motion.rotations import floats
from fieldplay_samples.output_folder import SampleTruth
from fieldplay_samples.write_sample import SampleOptions
from fieldplay_samples.writers.parallel import Progress, run_tasks
from fieldplay_samples.writers.stereo.stereo_bag import write_bag
from fieldplay_samples.writers.stereo.street import SIDES, Shot, scenario_of, write_shot


def settings() -> dict[str, Any]:
    """What may be set, with the defaults."""
    return dict(numbers_of("stereo")["settings"])


def write_archive(folder: Path, options: SampleOptions, progress: Progress) -> SampleTruth:
    """Write a bag into a folder; the truth behind it."""
    scenario = scenario_of(options)
    shots = [Shot(number, side) for number in range(len(scenario.time_s)) for side in SIDES]
    with TemporaryDirectory(dir=folder.parent) as scratch:
        images = Path(scratch, "pictures")
        images.mkdir()
        run_tasks(write_shot, (scenario, images), shots, workers=options.workers, progress=progress)
        write_bag(Path(scratch, "bag"), scenario, images)
        for path in Path(scratch, "bag").iterdir():
            path.replace(folder / path.name)
    poses = scenario.first_T_left
    velocity = np.gradient(poses[:, :3, 3], scenario.time_s, axis=0)
    return SampleTruth(stamp_ns=scenario.stamp_ns, map_T_base=poses, velocity_m_s=floats(velocity))
