"""The surface model beside SherpaTT's logs: which pixels become points, where they lie in the map, and the checks."""

import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

from fieldplay.core.errors import UsageError
from fieldplay.datasets.archive import Archive, chosen_parameters
from fieldplay.datasets.spec import spec_from_file
from fieldplay.io.containers import FolderFiles
from fieldplay.messages import records
from fieldplay.streams.stream import InMemoryStream
from fieldplay_cdff.datasets.sherpatt.surface import add_surface

SPEC = spec_from_file(Path(__file__).parents[3] / "config" / "datasets" / "sherpatt.yaml")
START_NS = 1_543_311_000_000_000_000
SCALE, TIE, NODATA = 33550, 33922, 42113
DOUBLE, ASCII = 12, 2
BODY_M = 0.6485
BODY_IN_UNIT = np.array([0.3, 0.0, 0.53])
LEVEL = (0.0, 0.0, 0.0, 1.0)


def tags(cell: float) -> list[Any]:
    return [
        (SCALE, DOUBLE, 3, (cell, cell, 0.0), True),
        (TIE, DOUBLE, 6, (0.0, 0.0, 0.0, 1000.0, 5000.0, 0.0), True),
        (NODATA, ASCII, 6, "-9999", True),
    ]


def slope(rows: int = 40, columns: int = 30) -> np.ndarray:
    """Heights that tell row and column."""
    return (800 + 0.01 * np.arange(rows)[:, None] + np.arange(columns)[None]).astype(np.float32)


def unit_poses(positions: np.ndarray, turn: tuple[float, ...] = LEVEL) -> InMemoryStream:
    """The satellite unit, level, a second apart each."""
    count = len(positions)
    unknown, still = np.zeros((count, 6, 6)), np.zeros((count, 3))
    return InMemoryStream(
        records.Odometry(
            stamp_ns=START_NS + np.arange(count) * 1_000_000_000, position_m=np.asarray(positions, float),
            orientation_xyzw=np.tile(turn, (count, 1)), pose_covariance=unknown, linear_velocity_m_s=still,
            angular_velocity_rad_s=still, twist_covariance=unknown,
        )
    )  # fmt: skip


def opened(
    folder: Path, heights: np.ndarray | None, name: str = "dsm.tif", *, cell: float = 0.5,
    positions: Any = ((0, 0, 0),), others: Mapping[str, InMemoryStream] | None = None, **parameters: Any,
) -> Archive:  # fmt: skip
    """An archive of the satellite unit's poses, with the model beside them."""
    if heights is not None:
        tifffile.imwrite(folder / name, heights, photometric="minisblack", metadata=None, extratags=tags(cell))
    archive = Archive(root=folder, spec=SPEC, parameters=chosen_parameters(SPEC, parameters))
    archive.streams = {"dgps_odom": unit_poses(np.array(positions)), **(others or {})}
    add_surface(archive, FolderFiles(folder, archive.defects), SPEC)
    return archive


def points(archive: Archive) -> np.ndarray:
    """The points (n, 3) of the surface."""
    record = archive.streams["surface"].load(0)
    assert isinstance(record, records.Clouds)
    assert record.stamp_ns.tolist() == [START_NS]
    result = record.load(0)
    return np.stack([result[axis] for axis in "xyz"], axis=-1).astype(float)


def measured(archive: Archive) -> str:
    for check in archive.checks:
        check(archive)
    return "\n".join(archive.notes)


def test_each_pixel_becomes_point_east_and_north_of_start(tmp_path: Path) -> None:
    archive = opened(tmp_path, slope(), surface_start="south 4.25 east 2.25", surface_z_offset_m=804.0)
    actual = points(archive)
    assert len(actual) == 40 * 30
    rows, columns = np.divmod(np.arange(1200), 30)
    # the unit is at the origin, and the body 0.3 m before it and 0.53 m above it by the level pose
    expected = np.column_stack([0.5 * columns + 0.25 - 2.25, 4.25 - 0.5 * rows - 0.25, 0.01 * rows + columns - 4])
    np.testing.assert_allclose(actual, expected + BODY_IN_UNIT, atol=1e-4)


def test_start_may_be_given_in_model_s_own_grid(tmp_path: Path) -> None:
    one = opened(tmp_path, slope(), surface_start="easting 1002.25 northing 4995.75", surface_z_offset_m=804.0)
    other = opened(tmp_path, slope(), surface_start="south 4.25 east 2.25", surface_z_offset_m=804.0)
    np.testing.assert_allclose(points(one), points(other), atol=1e-4)


def test_unknown_surface_model_starts_at_its_middle_with_a_note(tmp_path: Path) -> None:
    archive = opened(tmp_path, slope())
    measurement = measured(archive)
    assert "row 20.0 and column 15.0 (its middle, as nothing determines it: see surface_start)" in measurement
    actual = points(archive) - BODY_IN_UNIT
    assert actual[:, :2].mean(axis=0) == pytest.approx([0, 0], abs=1e-4)
    below = actual[np.argmin(np.abs(actual[:, :2] - [0.25, -0.25]).sum(axis=1))]
    assert below[2] == pytest.approx(-BODY_M, abs=1e-4)
    assert "measured: the body is 0.65 m above the surface" in measurement


def test_authors_numbers_hold_for_their_model_and_only_their_part_of_it_is_read(tmp_path: Path) -> None:
    """A file of 9000 x 8000 pixels, of which the disk has no more than what is set here."""
    path = tmp_path / "2018_11_27_xalucadunes_dsm.tif"
    heights = tifffile.memmap(
        path, shape=(9000, 8000), dtype="float32", photometric="minisblack", metadata=None, extratags=tags(0.04)
    )
    heights[6002, 3582:7420:5], heights[8175, 6818] = 868.5, 866.4
    heights.flush()
    archive = opened(tmp_path, None, positions=((-0.3, 0, -0.53),))
    tracemalloc.start()
    actual = points(archive)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(actual) == 432 * 768
    assert peak < 60e6 < path.stat().st_size
    np.testing.assert_allclose(actual[0], [3582.5 * 0.04 - 272.72, 327.0 - 5922.5 * 0.04, -867.0], atol=2e-4)
    rock = actual[actual[:, 2] > 0]
    np.testing.assert_allclose(rock[:, 1:], np.tile([327.0 - 6002.5 * 0.04, 1.5], (768, 1)), atol=1e-4)
    assert "row 8175.0 and column 6818.0; the body starts at a height of 867.00 m" in measured(archive)
    assert "measured: the body is 0.60 m above the surface" in archive.notes[-1]


def test_smaller_model_of_that_name_is_read_whole(tmp_path: Path) -> None:
    archive = opened(tmp_path, slope(), "xalucadunes_dsm.tif")
    assert len(points(archive)) == 1200
    assert (
        "surface_rows: what is known of the surface model, 5920-8080, lies beyond its 40: all are taken"
        in archive.notes
    )


@pytest.mark.parametrize(
    ("parameters", "shape", "first"),
    [
        ({"surface_rows": "10-20", "surface_columns": "5 - 9"}, (10, 4), (10, 5)),
        ({"surface_rows": "30-4000"}, (10, 30), (30, 0)),
        ({"surface_cell_m": 2.0}, (10, 7), (2, 2)),
        ({"surface_cell_m": 0.1}, (40, 30), (0, 0)),
        ({"surface_cell_m": 400.0}, (1, 1), (19, 14)),
    ],
)
def test_parts_and_distances_are_as_requested(
    tmp_path: Path, parameters: Mapping[str, Any], shape: tuple[int, int], first: tuple[int, int]
) -> None:
    heights = slope()
    actual = points(opened(tmp_path, heights, surface_z_offset_m=0.001, **parameters))
    assert len(actual) == shape[0] * shape[1]
    assert actual[0, 2] == pytest.approx(heights[first] - 0.001 + 0.53, abs=1e-4)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"surface_rows": "20-10"}, "surface_rows: expected such as 0-40, of 40, got '20-10'"),
        ({"surface_columns": "all"}, "surface_columns: expected such as 0-30"),
        ({"surface_start": "327.0 272.72"}, "surface_start: expected such as 'south 327.0 east 272.72'"),
    ],
)
def test_parameters_impossible_are_refused(tmp_path: Path, parameters: Mapping[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        opened(tmp_path, slope(), **parameters)


def test_pixels_without_height_are_no_points(tmp_path: Path) -> None:
    heights = slope()
    heights[:5, :6], heights[39, 29] = -9999.0, np.nan
    assert len(points(opened(tmp_path, heights))) == 1200 - 31


def test_start_without_height_needs_to_be_given_one(tmp_path: Path) -> None:
    heights = slope()
    heights[20, 15] = -9999.0
    archive = opened(tmp_path, heights)
    assert "surface" not in archive.streams
    (defect,) = archive.defects.listed
    assert (defect.file, defect.kind, defect.stream) == ("dsm.tif", "unreadable_surface", "surface")
    assert "no height where the drive starts: set surface_z_offset_m" in defect.message
    assert len(points(opened(tmp_path, heights, surface_z_offset_m=815.0))) == 1199


def test_model_that_lies_elsewhere_is_reported_by_trajectory_of_rover(tmp_path: Path) -> None:
    trajectory = np.column_stack([np.linspace(-5, 5, 200), np.zeros(200), np.zeros(200)])
    assert "200" not in measured(opened(tmp_path, slope(), positions=trajectory))  # fifty places are enough
    measurement = measured(
        opened(tmp_path, np.full((40, 30), 800, np.float32), positions=trajectory, surface_z_offset_m=803.0)
    )
    assert "measured: the body is 3.00 m above the surface" in measurement
    assert "it is placed wrongly, see surface_start and surface_z_offset_m" in measurement
    far = opened(tmp_path, slope(), surface_start="south -900 east 50", surface_z_offset_m=800.0, positions=trajectory)
    assert "dsm.tif: the path by the satellites is outside it; see surface_start" in measured(far)


@pytest.mark.parametrize(("yaw_deg", "is_doubted"), [(-150.0, False), (9.8, True)])
def test_heading_by_satellites_is_compared_with_authors(tmp_path: Path, yaw_deg: float, is_doubted: bool) -> None:
    """A half turn about an axis at 164.9 degrees brings the body's x axis to twice that."""
    half = np.radians(yaw_deg) / 2
    wheels = unit_poses(np.zeros((3, 3)), (0, 0, np.sin(half), np.cos(half)))
    archive = opened(tmp_path, slope(), "xalucadunes_dsm.tif", others={"wheel_odom": wheels})
    measurement = measured(archive)
    yaw = (np.degrees(2 * np.arctan2(0.260673010, -0.965427150)) - yaw_deg) % 360
    assert (
        f"the odometry's x axis points {yaw:.1f} degrees from east to north by the satellite unit, 120.0 by"
        in measurement
    )
    assert ("see dgps_frame" in measurement) == (abs(yaw - 120) > 20) == is_doubted


def test_what_is_no_geotiff_is_defect_and_rest_plays(tmp_path: Path) -> None:
    (tmp_path / "dsm.tif").write_bytes(b"II*\0 no picture")
    archive = opened(tmp_path, None)
    assert set(archive.streams) == {"dgps_odom"}
    assert [(defect.file, defect.kind) for defect in archive.defects.listed] == [("dsm.tif", "unreadable_surface")]


def test_of_several_models_one_that_is_known_is_read(tmp_path: Path) -> None:
    tifffile.imwrite(tmp_path / "a.tif", slope(8, 8), photometric="minisblack", metadata=None, extratags=tags(0.5))
    archive = opened(tmp_path, slope(), "xalucadunes_dsm.tif")
    assert len(points(archive)) == 1200
    assert "a.tif: a second surface model, which is not read" in archive.notes


def test_stream_stands_after_others_and_alone_is_nothing(tmp_path: Path) -> None:
    archive = opened(tmp_path, slope())
    assert [stream.id for stream in archive.spec.streams].count("surface") == 1
    assert [stream.id for stream in archive.spec.streams][-1] == list(archive.streams)[-1] == "surface"
    alone = Archive(root=tmp_path, spec=SPEC, parameters=chosen_parameters(SPEC, {}))
    add_surface(alone, FolderFiles(tmp_path, alone.defects), SPEC)
    assert alone.streams == {}
