"""The ground that IDA's scoop touches in a hundred places: a table of errors by threshold, with and without taring.

Usage: ./ws exec python bench/touch.py [--touches 100]

Errors are how far the points lie above or below the true ground beside the sample, in mm.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

import fieldplay
from fieldplay_cdff.io.outputs import OutTopics
from fieldplay_cdff.offline.offline_run import (
    FusionPart,
    FusionRun,
    bindings,
    reader_of,
)
from fieldplay_cdff.pipeline import load_pipeline, settings_of_arguments
from fieldplay_samples.write_sample import SampleOptions, usual_seconds, write_sample
from fieldplay_samples.writers.ida.motion_table import TRUTH, below_ground_m

DFPC, GENERAL = "HapticScanningInArmBase", "forceMeshGenerator.GeneralParameters"
CASES = [(40, 0.5), (40, 1.0), (40, 2.0), (40, 4.0), (0, 0.5)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--touches", type=int, default=100)
    settings = {"scene": "touch", "touches": parser.parse_args().touches}
    with tempfile.TemporaryDirectory() as folder:
        seconds = usual_seconds("ida", settings)
        path = write_sample("ida", Path(folder) / "touched", SampleOptions(seconds=seconds, settings=settings)).path
        with np.load(path.with_name(f"{path.name}.{TRUTH}.npz")) as truth:
            print(f"{settings['touches']} touches in {seconds:g} s, pressed with up to {truth['press_n'].max():.1f} N")
        print("tare  threshold  points  median    95 %  largest  CPU")
        for tare, threshold in CASES:
            start = time.process_time()
            points = touched(path, tare, threshold)
            spent = time.process_time() - start
            errors = np.abs(below_ground_m(path, points)) * 1000
            middle, most = np.percentile(errors, [50, 95])
            row = f"{len(points):6d} {middle:7.1f} {most:7.1f} {errors.max():8.1f} {spent:4.1f} s"
            print(f"{'yes' if tare else 'no':4}  {threshold:7.1f} N  {row}")


def touched(path: Path, tare: int, threshold: float) -> np.ndarray:
    """The points (n, 3) that come of the sample."""
    arguments = [f"{GENERAL}.TareSamples={tare}", f"{GENERAL}.Threshold={threshold}"]
    with fieldplay.open(path) as data, load_pipeline(DFPC, None, settings_of_arguments(arguments)) as pipeline:
        actual = bindings(data, pipeline.inputs, [], data.archive.spec.fusion)
        outputs = OutTopics(ports=pipeline.outputs, prefix="/scan", scene="payload")
        run = FusionRun(data, pipeline, reader_of(data, actual), outputs, FusionPart())
        cloud = run.into(None).cloud
    return cloud.points if cloud else np.zeros((0, 3))


if __name__ == "__main__":
    main()
