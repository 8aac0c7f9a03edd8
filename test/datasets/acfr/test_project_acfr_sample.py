"""ACFR's horizontal laser in the pictures of the sample's static scene: its points lie on the poles that it met."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from fieldplay.datasets.registry import open_dataset
from fieldplay.projection.projection import ProjectionRequest, ProjectionResult, project
from fieldplay_samples.write_sample import SampleOptions, write_sample
from support.sampled import alone

# The static scene of the report from the laser: range in m, bearing in degrees, + to the right; the left frame pole
# lies beside the picture. Bearings are of the vehicle, in which the laser is turned by -1.63 degrees.
POLES = {"right frame pole": (3.794, 39.44), "laser poles": (6.254, -19.91), "other laser pole": (7.030, 20.83)}
LASER_YAW_DEG = -1.63
BESIDE_PX = (24, 30)  # from a pole towards the middle of the picture, where the grass is


@pytest.fixture(scope="module")
def result(pytestconfig: pytest.Config) -> ProjectionResult:
    folder = pytestconfig.cache.mkdir("samples")
    with alone(folder / "acfr_static.lock"):
        options = SampleOptions(seconds=2, seed=1, settings={"static": True, "ir_rate_hz": 1.0}, workers=1)
        archive = write_sample("acfr", folder / "acfr_static", options).path
    requested = ProjectionRequest(laser="laser_horizontal", camera="visual_camera", time="1", scans=4)
    with open_dataset(Path(archive)) as opened:
        return project(opened, requested, step=lambda fraction, count: None, report=lambda text: None)


def on_pole(result: ProjectionResult, pole: str) -> NDArray[np.intp]:
    """The points that lie at the range and the bearing of a pole."""
    points = np.concatenate([scan.points.points for scan in result.scans])
    bearing = LASER_YAW_DEG - np.degrees(np.arctan2(points[:, 1], points[:, 0]))
    range_m, bearing_deg = POLES[pole]
    return np.flatnonzero((np.abs(bearing - bearing_deg) < 5) & (np.abs(result.ranges_m - range_m) < 0.4))


@pytest.mark.parametrize("pole", POLES)
def test_what_laser_met_of_pole_lies_on_that_pole_in_image(result: ProjectionResult, pole: str) -> None:
    points = on_pole(result, pole)
    assert len(points) >= 2
    assert result.projection.is_visible[points].all()
    column, row = np.rint(result.projection.pixels[points]).astype(int).T
    image = result.image.pixels.astype(float)
    inwards = np.sign(image.shape[1] / 2 - column).astype(int)
    there, near, far = (image[row, column + aside * inwards] for aside in (0, *BESIDE_PX))
    assert (np.abs(near - far).max(axis=1) < 20).all()
    assert np.median(np.abs(there - near).max(axis=1)) > 30
    if pole == "right frame pole":
        assert (there.min(axis=1) > 220).all()  # one of its white bands


def test_left_frame_pole_lies_next_to_image(result: ProjectionResult) -> None:
    points = np.concatenate([scan.points.points for scan in result.scans])
    bearing = LASER_YAW_DEG - np.degrees(np.arctan2(points[:, 1], points[:, 0]))
    left = (np.abs(bearing + 32.96) < 3) & (np.abs(result.ranges_m - 3.492) < 0.3)
    assert left.sum() >= 2
    assert (result.projection.pixels[left, 0] < 0).all()
