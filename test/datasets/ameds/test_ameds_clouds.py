"""AMEDS's clouds as real recorders write them: times in whole nanoseconds, no returns, numbers that are none."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fieldplay.core.errors import Defect
from fieldplay.datasets.ameds.ameds_clouds import check_cloud_stamp
from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.selection import Selection
from fieldplay.topics.topic_checks import check
from support.archive_messages import messages_of, notes_of
from support.sampled import Sampled

START = 1656931512
TURN_S = 0.2
GROUPS, LASERS_DEG = 90, (-25.0, 0.0, 15.0)
COUNT = GROUPS * len(LASERS_DEG)
FIRED_S = np.repeat(TURN_S * np.arange(GROUPS) / GROUPS, len(LASERS_DEG))
NUMBERS = {4: "<u2", 7: "<f4"}
Fields = dict[str, NDArray[Any]]


def sweep() -> Fields:
    """One clockwise turn in firing order, 10 m away."""
    azimuth = -np.repeat(2 * np.pi * np.arange(GROUPS) / GROUPS, len(LASERS_DEG))
    elevation = np.tile(np.radians(LASERS_DEG), GROUPS)
    level = 10 * np.cos(elevation)
    x, y, z = level * np.cos(azimuth), level * np.sin(azimuth), 10 * np.sin(elevation)
    by_name = {"x": x, "y": y, "z": z, "intensity": np.arange(COUNT) % 200}
    return {name: values.astype("<f4") for name, values in by_name.items()}


def archive_of(folder: Path, *clouds: Fields) -> Path:
    """An archive that has these clouds alone, five in a second."""
    for index, fields in enumerate(clouds):
        points = np.empty(len(fields["x"]), [(name, values.dtype) for name, values in fields.items()])
        for name, values in fields.items():
            points[name] = values
        kinds = [values.dtype for values in fields.values()]
        header = (
            f"VERSION .7\nFIELDS {' '.join(fields)}\nSIZE {' '.join(str(kind.itemsize) for kind in kinds)}\n"
            f"TYPE {' '.join(kind.kind.upper() for kind in kinds)}\nCOUNT {' '.join('1' for _ in kinds)}\n"
            f"WIDTH {len(points)}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {len(points)}\nDATA binary\n"
        )
        name = f"LidarPointcloud_{START + index // 5}.{index % 5 * 2}.pcd"
        (folder / name).write_bytes(header.encode() + points.tobytes())
    return folder


def points_of(root: Path) -> list[NDArray[Any]]:
    results = []
    for _, message in messages_of(root)["lidar/points"]:
        assert message.is_dense
        fields = [(field.name, NUMBERS[field.datatype]) for field in message.fields]
        results.append(np.frombuffer(message.data.tobytes(), fields))
    return results


def cloud_defects(root: Path) -> list[Defect]:
    with open_dataset(root) as archive:
        return [defect for defect in check(archive, Selection()) if defect.stream == "lidar"]


def lidar_notes(root: Path) -> list[str]:
    return [note for note in notes_of(root) if "clouds" in note or note.removeprefix("warning: ").startswith("lidar")]


@pytest.mark.parametrize("name", ["time", "t", "timestamp", "offset_time"])
@pytest.mark.parametrize(
    ("kind", "unit", "per_s", "offset"),
    [
        ("<u4", "ns", 1e9, 0), ("<u8", "ns", 1e9, START * 10**9), ("<u4", "us", 1e6, 0), ("<u2", "ms", 1e3, 100),
        ("<f8", "s", 1, START), ("<f4", "s", 1, 0), ("<f4", "us", 1e6, 0), ("<f8", "ms", 1e3, 0),
    ],
)  # fmt: skip
def test_times_are_in_unit_in_which_cloud_lasts_turn(
    tmp_path: Path, *, name: str, kind: str, unit: str, per_s: float, offset: int
) -> None:
    own = np.round(FIRED_S * per_s, 6).astype(kind) + np.dtype(kind).type(offset)
    root = archive_of(tmp_path, sweep() | {name: own})
    (points,) = points_of(root)
    np.testing.assert_allclose(points["time"], FIRED_S, atol=1e-3 if unit == "ms" else 2e-6)
    (note,) = lidar_notes(root)
    assert f"the field '{name}', taken for {unit}" in note


def test_cloud_of_few_points_has_unit_of_others(tmp_path: Path) -> None:
    whole = sweep() | {"t": (FIRED_S * 1e9).astype("<u4")}
    few = {name: values[:15] for name, values in whole.items()}
    points = points_of(archive_of(tmp_path, few, whole, few))
    assert points[0]["time"][-1] == pytest.approx(FIRED_S[14])
    assert points[2]["time"][-1] == pytest.approx(FIRED_S[14])


@pytest.mark.parametrize("own", [np.zeros(COUNT), np.arange(COUNT) * 1e12], ids=["all_zero", "no_unit"])
def test_field_that_can_be_no_times_is_left_for_azimuth_and_reported(tmp_path: Path, own: NDArray[Any]) -> None:
    root = archive_of(tmp_path, sweep() | {"time": own.astype("<f8")})
    (points,) = points_of(root)
    np.testing.assert_allclose(points["time"], FIRED_S, atol=1e-5)
    (note,) = lidar_notes(root)
    assert "the field 'time' is not read as times: expected one that spans about 0.2 s" in note


@pytest.mark.parametrize("name", ["time", "intensity"])
def test_number_that_is_none_costs_its_point_alone(tmp_path: Path, name: str) -> None:
    fields = sweep() | {"time": FIRED_S.astype("<f4")}
    fields[name][[5, 70]] = [math.nan, math.inf]
    root = archive_of(tmp_path, fields)
    (points,) = points_of(root)
    remaining = np.delete(np.arange(COUNT), [5, 70])
    np.testing.assert_array_equal(points["x"], fields["x"][remaining])
    np.testing.assert_array_equal(points["intensity"], fields["intensity"][remaining])
    np.testing.assert_allclose(points["time"], FIRED_S[remaining], atol=1e-7)
    (defect,) = cloud_defects(root)
    assert (defect.kind, defect.file) == ("damaged_points", f"LidarPointcloud_{START}.0.pcd")
    assert f"got NaN, infinity or a time far from the others in 2 of {COUNT} points, which are left" in defect.message


@pytest.mark.parametrize("value", [1e9, -1e30])
def test_time_far_from_others_costs_its_point_alone(tmp_path: Path, value: float) -> None:
    own = FIRED_S.astype("<f4")
    own[7] = value
    root = archive_of(tmp_path, sweep() | {"time": own})
    (points,) = points_of(root)
    np.testing.assert_allclose(points["time"], np.delete(FIRED_S, 7), atol=1e-7)
    assert [defect.kind for defect in cloud_defects(root)] == ["damaged_points"]


def test_field_without_any_number_counts_as_absent(tmp_path: Path) -> None:
    nothing = np.full(COUNT, np.nan, "<f4")
    root = archive_of(tmp_path, sweep() | {"intensity": nothing, "time": nothing})
    (points,) = points_of(root)
    assert len(points) == COUNT and not points["intensity"].any()
    np.testing.assert_allclose(points["time"], FIRED_S, atol=1e-5)
    assert cloud_defects(root) == []


def test_points_without_return_are_left_out_wherever_they_are_put(tmp_path: Path) -> None:
    fields = sweep()
    for axis in "xyz":
        fields[axis][::4] = 0.0
        fields[axis][1::8] = math.nan
    root = archive_of(tmp_path, fields)
    (points,) = points_of(root)
    remaining = np.isfinite(fields["x"]) & (np.arange(COUNT) % 4 != 0)
    np.testing.assert_array_equal(points["x"], fields["x"][remaining])
    assert set(points["ring"].tolist()) == {0, 20, 31}  # the ranks of -25, 0 and 15 degrees among 32 lasers
    assert np.abs(points["time"] - FIRED_S[remaining]).max() < 0.01
    assert cloud_defects(root) == []


@pytest.mark.parametrize("order", ["shuffled", "reversed", "by_ring"])
def test_clouds_whose_order_gives_no_times_report_it_and_how_many_they_are(tmp_path: Path, order: str) -> None:
    rows = {
        "shuffled": np.random.default_rng(1).permutation(COUNT),
        "reversed": np.arange(COUNT)[::-1],
        "by_ring": np.arange(COUNT).reshape(GROUPS, -1).T.reshape(-1),
    }[order]
    others = {name: values[rows] for name, values in sweep().items()}
    root = archive_of(tmp_path, others, sweep(), others, others)
    fields = [points.dtype.names or () for points in points_of(root)]
    assert ["time" in names for names in fields] == [False, True, False, False]
    assert all("clouds that were looked at have no times of their points" in note for note in lidar_notes(root))
    with open_dataset(root) as archive:
        check(archive, Selection())
        assert any(note.startswith("warning: 3 of 4 clouds have no times of their points") for note in archive.notes)


def clouds_of(sample: Path, target: Path, late_s: float) -> Path:
    """The sample's tables and clouds, these with later times in their names."""
    target.mkdir()
    for path in sample.iterdir():
        name = path.name
        if path.suffix == ".pcd":
            name = f"LidarPointcloud_{float(path.stem.partition('_')[2]) + late_s:.6f}.pcd"
        if path.suffix in (".pcd", ".csv"):
            (target / name).symlink_to(path)
    return target


@pytest.mark.parametrize(("late_s", "fits"), [(0.0, "start"), (0.2, "end")])
def test_whether_names_are_of_sweep_s_start_or_end_is_measured(
    sampled_ameds: Sampled, tmp_path: Path, late_s: float, fits: str
) -> None:
    root = clouds_of(sampled_ameds.archive, tmp_path / "drive", late_s)
    for chosen in ("start", "end"):
        with open_dataset(root, None, {"cloud_stamp": chosen}) as archive:
            check_cloud_stamp(archive)
            (note,) = [note for note in archive.notes if "middle of a sweep" in note]
            defects = [defect.message for defect in archive.defects.listed if defect.kind == "unit_mismatch"]
        shift = re.search(r"sweep is (\S+) s", note)
        assert shift and float(shift[1]) == pytest.approx(0.1 - late_s, abs=0.04)
        output = [f"cloud_stamp={chosen} does not fit, --set cloud_stamp={fits} would"] * (chosen != fits)
        assert [message.partition("; ")[2] for message in defects] == output
