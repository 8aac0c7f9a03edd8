"""`fieldplay fuse` finds the ground that IDA's tool touches, though what the tool carries weighs on it all the time."""

from pathlib import Path

import numpy as np
import pytest

import fieldplay
from fieldplay.cli.main import main
from fieldplay.geometry.transforms import rotation_from_vector, transform_from_rotation
from fieldplay_cdff.pipeline import load_pipeline
from fieldplay_cdff.steps.values import Wrench
from fieldplay_samples.write_sample import SampleOptions, write_sample
from fieldplay_samples.writers.ida.motion_table import below_ground_m

TARE = "forceMeshGenerator.GeneralParameters.TareSamples"


@pytest.fixture(scope="module")
def touched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("touch") / "touched"
    settings = {"scene": "touch", "touches": 9}
    return write_sample("ida", out, SampleOptions(seconds=50.0, settings=settings)).path


@pytest.mark.parametrize(("tare", "least", "most"), [(40, 0.001, 0.005), (0, 0.015, 0.040)])
def test_touches_lie_on_ground_where_tool_is_tared(
    touched: Path, tmp_path: Path, tare: int, least: float, most: float
) -> None:
    """0.6 kg of soil in the scoop are 2.2 N, above the threshold of 0.5 N, also where it is 3 cm above the ground."""
    arguments = ["fuse", str(touched), "HapticScanningInArmBase", str(tmp_path / "out"), "--set", f"{TARE}={tare}"]
    assert main(arguments) == 0
    with fieldplay.open(tmp_path / "out") as data:
        *_, (_, cloud) = data.clouds("haptic_scan/cloud")
    points = np.column_stack([cloud[axis] for axis in "xyz"]).astype(float)
    assert len(points) > 60
    assert least < np.median(np.abs(below_ground_m(touched, points))) < most


def test_arm_that_is_carried_about_touches_where_its_base_has_it() -> None:
    tool = transform_from_rotation(rotation_from_vector([0.3, 0.0, 1.0]), [0.5, 0.1, -0.4])
    with load_pipeline("HapticScanning") as pipeline:
        for stamp_ns, x in enumerate((1.0, 3.0)):
            base = transform_from_rotation(rotation_from_vector([0.0, 0.0, np.pi / 2]), [x, 2.0, 0.0])
            wrench = Wrench(force=np.array([0.0, 0.0, 1.0]), stamp_ns=stamp_ns)
            pipeline.feed("armBasePose", base, stamp_ns)
            pipeline.feed("armEndEffectorPose", tool, stamp_ns)
            (cloud,) = pipeline.feed("armEndEffectorWrench", wrench, stamp_ns)
    np.testing.assert_allclose(cloud.value.points, [[0.9, 2.5, -0.4], [2.9, 2.5, -0.4]], atol=1e-12)
