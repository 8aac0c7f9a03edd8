"""`fieldplay fuse` finds the ground that IDA's tool touches, though what the tool carries weighs on it all the time."""

from pathlib import Path

import numpy as np
import pytest

import fieldplay
from fieldplay.cli.main import main
from fieldplay_samples.sample import SampleOptions, write_sample
from fieldplay_samples.writers.ida.ground import below_ground_m

TARE = "forceMeshGenerator.GeneralParameters.TareSamples"


@pytest.fixture(scope="module")
def touched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("touch") / "touched"
    settings = {"scene": "touch", "touches": 9}
    return write_sample("ida", out, SampleOptions(seconds=50.0, settings=settings)).path


@pytest.mark.parametrize(("tare", "least", "most"), [(40, 0.001, 0.005), (0, 0.015, 0.040)])
def test_touches_lie_on_the_ground_where_the_tool_is_tared(
    touched: Path, tmp_path: Path, tare: int, least: float, most: float
) -> None:
    """0.6 kg of soil in the scoop are 2.2 N, above the threshold of 0.5 N, also where it is 3 cm above the ground."""
    words = ["fuse", str(touched), "HapticScanningInArmBase", str(tmp_path / "out"), "--set", f"{TARE}={tare}"]
    assert main(words) == 0
    with fieldplay.open(tmp_path / "out") as data:
        *_, (_, cloud) = data.clouds("haptic_scan/cloud")
    points = np.column_stack([cloud[axis] for axis in "xyz"]).astype(float)
    assert len(points) > 60
    assert least < np.median(np.abs(below_ground_m(touched, points))) < most
