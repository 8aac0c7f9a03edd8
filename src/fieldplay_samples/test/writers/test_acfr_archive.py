"""A tiny sample of ACFR's datasets: the files, their lines and pictures, and the same bytes each time."""

import hashlib
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from fieldplay_samples.motion.rotations import Floats, floats
from fieldplay_samples.write_sample import SampleOptions, SampleResult, write_sample

TINY: dict[str, Any] = {"visual_rate_hz": 1.0, "ir_rate_hz": 1.0, "image_shrink": 32}
LASERS = ("LaserHorizontal", "LaserPort", "LaserStarboard", "LaserVertical")
START_S = 1224199788.106


def tiny(path: Path, workers: int = 1, **settings: Any) -> SampleResult:
    options = SampleOptions(seconds=2.0, seed=3, settings={**TINY, **settings}, workers=workers)
    return write_sample("acfr", path, options)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> SampleResult:
    return tiny(tmp_path_factory.mktemp("sample") / "30-DynamicDust", condition="dust")


def rows(folder: Path, name: str) -> list[list[str]]:
    """The lines of a file, each split at its blanks."""
    return [line.split(" ") for line in (folder / name).read_text("ascii").splitlines()]


def times_s(lines: list[list[str]]) -> Floats:
    assert all(row[0].startswith("*") and len(row[0].partition(".")[2]) == 6 for row in lines)
    return floats([float(row[0][1:]) for row in lines])


def digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_sample_has_exactly_the_published_files(sample: SampleResult) -> None:
    lasers = [f"{name}/RangeBearingQAsciiData.txt" for name in LASERS]
    radar = ["RadarRangeBearing/RangeBearingQAsciiData.txt", "RadarSpectrum/HSR_ScalarPoints1.txt"]
    logs = ["VideoIR/VideoLogAscii.txt", "VideoVisual/VideoLogAscii.txt"]
    images = [
        f"{folder}/Images/Image{second}-0{fraction}.bmp"
        for folder, fraction in (("VideoIR", "137000"), ("VideoVisual", "119000"))
        for second in (1224199788, 1224199789)
    ]
    others = ["Nav/NavQAsciiData.txt", "Payload/PayloadData1.txt"]
    assert sorted(digests(sample.path)) == sorted([*lasers, *radar, *logs, *images, *others])


@pytest.mark.parametrize("laser", LASERS)
def test_laser_line_reports_its_value_count(sample: SampleResult, laser: str) -> None:
    lines = rows(sample.path, f"{laser}/RangeBearingQAsciiData.txt")
    assert 146 <= len(lines) <= 150
    for number, row in enumerate(lines):
        start, step, end = map(float, row[2:5])
        count = 181 if number % 4 == 0 else 180
        assert (row[1], row[5], int(row[6]), len(row)) == ("RANGE_DATA", "2", count, 7 + count)
        assert np.degrees(start) == pytest.approx(-90.0 + 0.25 * (number % 4), abs=1e-5)
        assert start + (count - 1) * step == pytest.approx(end, abs=2e-6)
    values = [int(value) for row in lines for value in row[7:]]
    assert min(values) >= 10
    assert max(values) <= 8183
    assert not {value for value in values if 8115 < value < 8183}


def test_lines_of_laser_are_received_75_times_second(sample: SampleResult) -> None:
    stamps = times_s(rows(sample.path, "LaserPort/RangeBearingQAsciiData.txt"))
    steps = np.diff(stamps)
    assert steps.mean() == pytest.approx(1 / 75, abs=2e-5)
    assert 0.0 < steps.std() < 0.001
    assert stamps[0] - START_S == pytest.approx(0.0060 + 0.5 / 75 + 0.0015, abs=0.001)


def test_both_radar_files_agree(sample: SampleResult) -> None:
    peaks = rows(sample.path, "RadarRangeBearing/RangeBearingQAsciiData.txt")
    spectra = rows(sample.path, "RadarSpectrum/HSR_ScalarPoints1.txt")
    assert len(peaks) == len(spectra) == 2000
    assert {len(row) for row in peaks} == {9}
    assert {len(row) for row in spectra} == {2 + 512}
    assert {(row[1], *row[3:7]) for row in peaks} == {("RANGE_REFLECTIVITY_DATA", "0", "0", "3", "1")}
    assert [row[0] for row in peaks] == [row[0] for row in spectra]
    degrees, radians = (floats([float(row[column]) for row in lines]) for lines, column in ((spectra, 1), (peaks, 2)))
    np.testing.assert_allclose(np.degrees(radians), degrees, atol=1e-5)
    power = floats([[float(value) for value in row[2:]] for row in spectra])
    nearest = np.round((floats([float(row[7]) for row in peaks]) + 0.3507) / 0.28150254336).astype(int) - 1
    highest = power[:, 1:143].max(axis=1)
    assert (np.abs(power[np.arange(2000), nearest] - highest) < 0.11 + 1e-9).mean() > 0.99
    assert max(float(row[7]) for row in peaks) <= 40.0


def test_radar_turns_eight_times_second_and_not_in_even_steps(sample: SampleResult) -> None:
    lines = rows(sample.path, "RadarSpectrum/HSR_ScalarPoints1.txt")
    angle, stamps = floats([float(row[1]) for row in lines]), times_s(lines)
    steps = np.diff(angle) % 360.0
    assert steps.mean() == pytest.approx(2.9, abs=0.01)
    assert (np.diff(angle) < 0).sum() == 16
    assert ((angle >= 0.0) & (angle < 360.0)).all()
    assert (np.diff(stamps) > 0.0).all()
    assert np.diff(stamps).mean() == pytest.approx(0.001, abs=1e-6)


def test_line_of_nav_has_158_columns_and_covariance(sample: SampleResult) -> None:
    lines = rows(sample.path, "Nav/NavQAsciiData.txt")
    assert len(lines) == 100
    assert {(len(row), row[1]) for row in lines} == {(158, "NAV_DATA")}
    matrix = floats([float(value) for value in lines[0][14:]]).reshape(12, 12)
    np.linalg.cholesky(matrix)
    assert np.sqrt(matrix[0, 0]) == pytest.approx(0.02)
    np.testing.assert_allclose(np.diff(times_s(lines)), 0.02, atol=1e-6)


def test_lines_of_payload_have_columns_of_their_types(sample: SampleResult) -> None:
    lines = rows(sample.path, "Payload/PayloadData1.txt")
    columns = {
        "SERVO_SETPOINT_DATA": 2,
        "VELOCITY_TURN_RATE_DATA": 2,
        "SENSOR_DATA": 2,
        "BRAKE_DATA": 4,
        "ACTUATOR_SETPOINT_DATA": 4,
    }
    assert {(row[1], len(row) - 2) for row in lines} == set(columns.items())
    assert {row[2] for row in lines if row[1] == "SENSOR_DATA"} == {"0", "1", "2", "3", "4", "5"}
    assert (np.diff(times_s(lines)) >= 0.0).all()


def test_images_have_their_published_sizes_and_are_all_listed(sample: SampleResult) -> None:
    for folder, shape in (("VideoVisual", (1024, 1360, 3)), ("VideoIR", (398, 511))):
        listed = rows(sample.path, f"{folder}/VideoLogAscii.txt")
        assert {(row[1], len(row)) for row in listed} == {("VISION_FRAME", 3)}
        assert sorted(row[2] for row in listed) == sorted(
            path.name for path in (sample.path / folder / "Images").iterdir()
        )
        for row in listed:
            image = cv2.imread(str(sample.path / folder / "Images" / row[2]), cv2.IMREAD_UNCHANGED)
            assert image is not None and image.shape == shape and image.std() > 5.0


def test_static_vehicle_has_no_payload_and_may_publish_raw_images(tmp_path: Path) -> None:
    path = tiny(tmp_path / "still", static=True, bayer=True).path
    assert not (path / "Payload").exists()
    first = next((path / "VideoVisual" / "Images").iterdir())
    image = cv2.imread(str(first), cv2.IMREAD_UNCHANGED)
    assert image is not None and image.shape == (1024, 1360)
    values = floats([row[2:14] for row in rows(path, "Nav/NavQAsciiData.txt")])
    assert np.abs(values[:, :3] - values[0, :3]).max() < 0.1
    assert np.degrees(values[:, 8]).mean() == pytest.approx(178.0, abs=0.5)


def test_same_options_give_same_bytes(sample: SampleResult, tmp_path: Path) -> None:
    again = tiny(tmp_path / "30-DynamicDust", workers=2, condition="dust")
    assert digests(again.path) == digests(sample.path)
    assert again.truth.read_bytes() == sample.truth.read_bytes()
    truth_name = "30-DynamicDust.airborne.npz"
    assert (tmp_path / truth_name).read_bytes() == sample.truth.with_name(truth_name).read_bytes()


def test_airborne_truth_matches_archive_line_by_line(sample: SampleResult) -> None:
    with np.load(sample.truth.with_name("30-DynamicDust.airborne.npz")) as arrays:
        for laser in LASERS:
            lines = rows(sample.path, f"{laser}/RangeBearingQAsciiData.txt")
            stamps, kinds = arrays[f"{laser}_stamp_ns"], arrays[f"{laser}_airborne"]
            assert kinds.shape == (len(lines), 181) and kinds.dtype == np.uint8
            assert [f"*{stamp // 10**9}.{stamp % 10**9 // 1000:06d}" for stamp in stamps.tolist()] == [
                row[0] for row in lines
            ]
            assert not kinds[1::4, -1].any()
            dust_ranges = [
                row[7 + index] for row, kind in zip(lines, kinds, strict=True) for index in np.flatnonzero(kind)
            ]
            assert "8183" not in dust_ranges
        assert set(np.unique(arrays["LaserHorizontal_airborne"]).tolist()) == {0, 1}
