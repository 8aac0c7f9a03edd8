"""The ground model beside AMEDS's recordings: heights of a GeoTIFF as a cloud in the map, and whether they fit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

import fieldplay
from fieldplay.cli.main import main
from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.selection import Selection
from fieldplay.topics.topic_checks import check, check_settings
from fieldplay_samples.write_sample import SampleOptions, write_sample
from support.archive_messages import messages_of

EAST_M, NORTH_M, ALTITUDE_M = 500588.681, 4175138.623, 2639.838  # of the lander in UTM zone 33
CELL_M, SIDE = 0.5, 40
SLOPE = 0.1  # upwards to the east


def write_model(path: Path, *, west_m: float = 10.0, epsg: int = 32633, lower_m: float = 0.4) -> None:
    """A slope about the lander, with an empty corner; heights are those of its ground, so much below the INS."""
    left, top = EAST_M - west_m, NORTH_M + 10.0
    east = np.arange(SIDE) * CELL_M + CELL_M / 2 - 10.0
    heights = np.tile(ALTITUDE_M - lower_m + SLOPE * east, (SIDE, 1)).astype(np.float32)
    heights[0, 0] = np.nan
    keys = (1, 1, 0, 2, 1024, 0, 1, 1, 1025, 0, 1, 1) + ((3072, 0, 1, epsg) if epsg else ())
    keys = (*keys[:3], len(keys) // 4 - 1, *keys[4:])
    tags = [
        (33550, 12, 3, (CELL_M, CELL_M, 0.0), True),
        (33922, 12, 6, (0.0, 0.0, 0.0, left, top, 0.0), True),
        (34735, 3, len(keys), keys, True),
    ]
    tifffile.imwrite(path, heights, photometric="minisblack", metadata=None, extratags=tags)


def points_of(root: Path, **parameters: Any) -> np.ndarray:
    with fieldplay.open(root, parameters=parameters) as data:
        ((_, cloud),) = data.clouds("ground")
        return np.stack([cloud[axis] for axis in "xyz"], axis=-1).astype(float)


def told_of(root: Path, **parameters: Any) -> list[str]:
    with open_dataset(root, None, parameters) as archive:
        check_settings(archive)
        return [note for note in archive.notes if "heightmap.tif" in note or "ground model" in note]


@pytest.mark.parametrize("epsg", [32633, 0])
def test_model_is_cloud_in_map_where_lander_is_its_origin(tiny_ameds: Any, epsg: int) -> None:
    write_model(tiny_ameds.root / "heightmap.tif", epsg=epsg)
    points = points_of(tiny_ameds.root)
    assert len(points) == SIDE**2 - 1
    np.testing.assert_allclose(points[:, 2], SLOPE * points[:, 0] - 0.4, atol=2e-3)
    np.testing.assert_allclose(points[:, :2].min(axis=0), -9.75, atol=0.02)
    np.testing.assert_allclose(points[:, :2].max(axis=0), 9.75, atol=0.02)
    messages = messages_of(tiny_ameds.root, Selection(topics="ground"))
    ((stamp, message),) = messages["ground"]
    assert (message.header.frame_id, stamp) == ("map", 1656931512 * 10**9)


def test_its_height_is_measured_by_ins(tiny_ameds: Any) -> None:
    write_model(tiny_ameds.root / "heightmap.tif")
    model, height = told_of(tiny_ameds.root)
    assert model.endswith("heightmap.tif: 40 x 40 pixels of 0.5 m in WGS 84 / UTM zone 33N; step of 1 pixel")
    assert height.startswith("measured: the INS is 0.38 m") and "positions lie on it), expected some 0.42 m" in height
    write_model(tiny_ameds.root / "heightmap.tif", lower_m=41.0)  # above the sea
    (_, height) = told_of(tiny_ameds.root)
    assert height.startswith("warning: the INS is 40.9")
    cure = float(height.partition("ground_z_offset_m=")[2].split()[0])
    assert told_of(tiny_ameds.root, ground_z_offset_m=cure)[1].startswith("measured: the INS is 0.42 m above")
    np.testing.assert_allclose(
        points_of(tiny_ameds.root, ground_z_offset_m=cure)[:, 2], points_of(tiny_ameds.root)[:, 2] + cure, atol=1e-3
    )


def test_model_of_elsewhere_is_warned_of_and_plays(tiny_ameds: Any) -> None:
    write_model(tiny_ameds.root / "heightmap.tif", west_m=1000.0)
    assert told_of(tiny_ameds.root)[1] == "warning: heightmap.tif: the recording is outside it; see ground_epsg"
    assert points_of(tiny_ameds.root)[:, 0].max() < -900


def test_it_may_be_thinned_out(tiny_ameds: Any) -> None:
    write_model(tiny_ameds.root / "heightmap.tif")
    points = points_of(tiny_ameds.root, ground_cell_m=2.0)
    assert len(points) == 100 and np.diff(np.unique(np.round(points[:, 0], 1))).min() == pytest.approx(2.0, abs=0.11)


def test_file_that_is_no_model_is_defect_and_rest_plays(tiny_ameds: Any, capsys: pytest.CaptureFixture[str]) -> None:
    tifffile.imwrite(tiny_ameds.root / "heightmap.tif", np.zeros((4, 4), np.float32), photometric="minisblack")
    with open_dataset(tiny_ameds.root) as archive:
        (defect,) = check(archive, Selection(topics="gnss"))
    assert (defect.file, defect.kind, defect.stream) == ("heightmap.tif", "unreadable_surface", "ground")
    assert "expected the tags of a GeoTIFF" in defect.message
    write_model(tiny_ameds.root / "heightmap.tif")
    with pytest.raises(SystemExit):
        main(["info", str(tiny_ameds.root), "--set", "ground_epsg=1"])
    assert "ground_epsg: 1 is no projection" in capsys.readouterr().err


def test_that_of_sample_lies_below_sample_s_wheels(tmp_path: Path) -> None:
    few = {"image_rate_hz": 0.1, "image_shrink": 24, "lidar_rate_hz": 1.0, "ground_model": True}
    result = write_sample("ameds", tmp_path / "etna", SampleOptions(seconds=4.0, seed=2, settings=few, workers=1))
    points = points_of(tmp_path / "etna")
    truth = np.genfromtxt(result.truth, delimiter=",", names=True, comments="#")
    for row in (0, len(truth) // 2, -1):
        position = np.array([truth[name][row] for name in ("x_m", "y_m", "z_m")])
        near = points[np.linalg.norm(points[:, :2] - position[:2], axis=1) < 0.5]
        assert 0.2 < position[2] - near[:, 2].mean() < 0.5
