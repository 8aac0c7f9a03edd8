"""A sample without a dataset: a tumbling satellite before a stereo camera, as a rosbag2 bag with the model beside.

Images as a camera has them, bent by its lens; `init` says once where the satellite is, `ground_truth` with each
image. `model.obj` is its shape. The truth's map is the left camera's optical frame.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fieldplay_samples.data import numbers_of
from fieldplay_samples.motion.rotations import floats
from fieldplay_samples.output_folder import SampleTruth
from fieldplay_samples.write_sample import SampleOptions
from fieldplay_samples.writers.parallel import Progress, run_tasks
from fieldplay_samples.writers.satellite.satellite_images import Shot, write_shot
from fieldplay_samples.writers.satellite.scenario import SatelliteScenario, scenario_of, write_bag, write_model

SIDES = ("left", "right")


def settings() -> dict[str, Any]:
    """What may be set, with the defaults."""
    return dict(numbers_of("satellite")["settings"])


def write_archive(folder: Path, options: SampleOptions, progress: Progress) -> SampleTruth:
    """Write a bag into a folder; the truth behind it."""
    scenario = scenario_of(options)
    shots = [Shot(number, side) for number in range(len(scenario.time_s)) for side in SIDES]

    with TemporaryDirectory(dir=folder.parent) as scratch:
        images = Path(scratch, "pictures")
        images.mkdir()
        state: tuple[SatelliteScenario, Path] = (scenario, images)
        run_tasks(write_shot, state, shots, workers=options.workers, progress=progress)
        write_bag(Path(scratch, "bag"), scenario, images)
        for path in Path(scratch, "bag").iterdir():
            path.replace(folder / path.name)
    write_model(folder / "model.obj", scenario.boxes)
    return SampleTruth(
        stamp_ns=scenario.stamp_ns,
        map_T_base=scenario.camera_T_body,
        velocity_m_s=floats(scenario.velocity_m_s),
    )
