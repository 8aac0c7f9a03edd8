"""ACFR's radar, from its lines to messages: revolutions, the range equation, what is cut and what is below 0 m."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fieldplay.core.errors import UsageError
from fieldplay.datasets.acfr.acfr_radar import RangeEquation, metres, peak_bins
from fieldplay.datasets.registry import open_dataset
from fieldplay.io.table import BLOCK_SIZE
from fieldplay.topics.selection import Selection
from support import tiny_acfr as tiny
from support import tiny_acfr_places as places
from support.acfr_checked import inspected, noted
from support.archive_messages import messages_of
from support.tiny_acfr import TinyAcfr
from support.tiny_acfr_places import TAU

EQUATION = RangeEquation(sweep_hz=1250000.0, hz_per_m=4336.384, offset_m=0.3507)
POINT = np.dtype([(name, "<f4") for name in ("x", "y", "z", "intensity", "time")])
Samples = list[tuple[float, float, float, float]]


@pytest.fixture
def archive(tmp_path: Path) -> TinyAcfr:
    return TinyAcfr(tmp_path / "29-DynamicDayTriangleClear")


def points_of(message: Any) -> NDArray[np.void]:
    assert [field.name for field in message.fields] == list(POINT.names or ())
    assert message.is_dense and message.height == 1
    return np.frombuffer(message.data.tobytes(), POINT)


def turning(turns: float, *, per_turn: int = 125, start: float = 0.0, sense: int = 1) -> Samples:
    """A thousand samples a second; the range grows with the sample."""
    samples = []
    for index in range(int(turns * per_turn)):
        angle = (start + sense * TAU * (index + 0.3) / per_turn) % TAU
        samples.append((index / 1000, angle, 1.0 + index / 100, 50.0 + index % 10))
    return samples


def test_range_equation_gives_report_s_numbers() -> None:
    assert EQUATION.m_per_bin(512) == pytest.approx(0.28150254336, abs=1e-11)
    assert EQUATION.m_per_bin(256) == pytest.approx(0.56300509, abs=1e-8)
    assert EQUATION.m_per_bin(1024) == pytest.approx(0.14075127, abs=1e-8)
    expected = [-0.06919746, 0.21230509, 39.90416370, 40.18566624, 143.77860220]
    np.testing.assert_allclose(EQUATION.range_m([1, 2, 143, 144, 512], 512), expected, atol=1e-8)


def test_peak_between_bins_is_top_of_parabola_through_three() -> None:
    places_of = np.array([4.3, 7.0, 11.49, 2.6])
    bins = np.arange(1, 21)
    spectrum = 80 - 3 * (bins - places_of[:, None]) ** 2
    np.testing.assert_allclose(peak_bins(spectrum), places_of, atol=1e-12)
    np.testing.assert_array_equal(peak_bins(np.array([[9.0, 5, 1, 0], [0, 1, 5, 9], [3, 3, 3, 3]])), [1, 4, 1])


def test_ranges_are_in_metres_by_their_unit() -> None:
    actual = metres(np.array([1500.0, 150, 1.5, 0.0015, 7, 7]), np.array([1.0, 2, 3, 4, 0, 9]))
    np.testing.assert_allclose(actual, [1.5, 1.5, 1.5, 1.5, np.nan, np.nan])


@pytest.mark.parametrize("sense", [1, -1])
@pytest.mark.parametrize("shift", [0.0, math.pi])  # angles from 0 to 2 pi, or from -pi to pi
def test_cloud_is_samples_from_one_wrap_to_next(archive: TinyAcfr, sense: int, shift: float) -> None:
    samples = [(t, angle - shift, r, level) for t, angle, r, level in turning(3.5, start=1.0, sense=sense)]
    places.write_radar(archive, samples)
    angles = np.array([sample[1] for sample in samples])
    starts = [0, *(np.flatnonzero(np.abs(np.diff(angles)) > math.pi) + 1).tolist(), len(samples)]
    messages = messages_of(archive.root)["radar/points"]
    assert [len(points_of(message)) for _, message in messages] == np.diff(starts).tolist()
    assert [stamp - tiny.START_NS for stamp, _ in messages] == [start * 10**6 for start in starts[:-1]]
    for (_, message), start in zip(messages, starts[:-1], strict=True):
        points = points_of(message)
        rows = samples[start : start + len(points)]
        np.testing.assert_allclose(points["x"], [r * math.cos(a) for _, a, r, _ in rows], atol=1e-5)
        np.testing.assert_allclose(points["y"], [-r * math.sin(a) for _, a, r, _ in rows], atol=1e-5)
        np.testing.assert_allclose(points["intensity"], [level for *_, level in rows])
        np.testing.assert_allclose(points["time"], np.arange(len(points)) / 1000, atol=1e-6)
        assert not points["z"].any() and message.header.frame_id == "radar"


def test_angle_may_be_taken_other_way(archive: TinyAcfr) -> None:
    places.write_radar(archive, turning(1))
    for sense in (1, -1):
        points = points_of(messages_of(archive.root, radar_angle_sense=sense)["radar/points"][0][1])
        assert np.sign(points["y"][10]) == -sense


def test_ranges_below_0_m_or_in_no_unit_are_left_out_of_cloud(archive: TinyAcfr) -> None:
    samples = turning(1)
    samples[5] = (*samples[5][:2], -0.07, 1.0)
    places.write_radar(archive, samples)
    points = points_of(messages_of(archive.root)["radar/points"][0][1])
    assert len(points) == 124 and points["time"][5] == pytest.approx(0.006)
    places.write_radar(archive, samples, unit=0)
    archive.write_nav()
    assert {defect.kind for defect in inspected(archive)[1]} == {"out_of_range"}
    assert "radar/points" not in messages_of(archive.root)


def test_lines_without_reflectivity_are_reported_with_what_was_there(archive: TinyAcfr) -> None:
    archive.write_nav()
    line = archive.line(f"{tiny.START}.5", "RANGE_REFLECTIVITY_DATA", "0.1", "0", "0", "3", "1", "5.5")
    archive.write("RadarRangeBearing/RangeBearingQAsciiData.txt", ["\n", line, line])
    _, (defect,) = inspected(archive)
    assert (defect.kind, defect.file) == ("unreadable_table", "RadarRangeBearing/RangeBearingQAsciiData.txt")
    assert f"got none; line 2: expected 7 numbers, got 6: '{tiny.START}.5 RANGE_REFLECTIVITY" in defect.message


def test_types_may_be_written_in_small_letters(archive: TinyAcfr) -> None:
    places.write_radar(archive, turning(1))
    path = archive.root / "RadarRangeBearing" / "RangeBearingQAsciiData.txt"
    path.write_text(path.read_text().lower())
    assert inspected(archive)[1] == []
    assert len(points_of(messages_of(archive.root)["radar/points"][0][1])) == 125


def test_pause_ends_revolution(archive: TinyAcfr) -> None:
    samples = [(t + (0.7 if t >= 0.05 else 0.0), angle, r, level) for t, angle, r, level in turning(1)]
    places.write_radar(archive, samples)
    assert [len(points_of(m)) for _, m in messages_of(archive.root)["radar/points"]] == [50, 75]


def test_angle_that_goes_on_beyond_turn_is_split_there(archive: TinyAcfr) -> None:
    places.write_radar(archive, [(i / 1000, TAU * (i + 0.5) / 125, 5.0, 1.0) for i in range(300)])
    assert [len(points_of(m)) for _, m in messages_of(archive.root)["radar/points"]] == [125, 125, 50]


def test_radar_that_stands_still_does_not_become_one_cloud_of_everything(archive: TinyAcfr) -> None:
    places.write_radar(archive, [(i / 1000, 1.0, 5.0, 1.0) for i in range(10_000)])
    assert [len(points_of(m)) for _, m in messages_of(archive.root)["radar/points"]] == [4096, 4096, 1808]


def spectra(turns: float, bins: int = 512) -> list[tuple[float, float, list[float]]]:
    return [
        (t, math.degrees(angle), [float(index % 50 * 1000 + b) for b in range(1, bins + 1)])
        for index, (t, angle, *_) in enumerate(turning(turns))
    ]


def test_spectra_of_revolution_are_image_and_points_across_blocks_of_file(archive: TinyAcfr) -> None:
    samples = spectra(6.5)
    places.write_spectrum(archive, samples)
    size = (archive.root / "RadarSpectrum" / "HSR_ScalarPoints1.txt").stat().st_size
    assert size > 4 * BLOCK_SIZE
    messages = messages_of(archive.root, radar_max_range_m=0.0)
    assert [stamp - tiny.START_NS for stamp, _ in messages["radar/spectrum"]] == [n * 125_000_000 for n in range(7)]
    range_m = np.arange(2, 513) * 0.28150254336 - 0.3507
    for number, ((_, image), (_, cloud)) in enumerate(
        zip(messages["radar/spectrum"], messages["radar/spectrum_points"], strict=True)
    ):
        rows = samples[125 * number : 125 * (number + 1)]
        assert (image.height, image.width, image.step, image.encoding) == (len(rows), 512, 2048, "32FC1")
        values = np.array([values for *_, values in rows])
        np.testing.assert_array_equal(image.data.view("<f4").reshape(-1, 512), values)
        points = points_of(cloud).reshape(len(rows), 511)
        angles = np.radians([angle for _, angle, _ in rows])[:, None]
        np.testing.assert_allclose(points["x"], range_m * np.cos(angles), atol=2e-4)
        np.testing.assert_allclose(points["y"], -range_m * np.sin(angles), atol=2e-4)
        np.testing.assert_array_equal(points["intensity"], values[:, 1:])
        np.testing.assert_allclose(points["time"][:, 0], np.arange(len(rows)) / 1000, atol=1e-6)


def test_spectrum_stays_image_of_floats_whatever_images_are_sent_as(archive: TinyAcfr) -> None:
    places.write_spectrum(archive, spectra(1))
    for images in ("compressed", "both"):
        messages = messages_of(archive.root, Selection(images=images))
        assert messages["radar/spectrum"][0][1].encoding == "32FC1"
        assert not any("radar/spectrum/" in topic for topic in messages)


def test_clouds_reach_as_far_as_radar_does_or_as_is_chosen(archive: TinyAcfr) -> None:
    places.write_spectrum(archive, spectra(1))
    places.write_radar(archive, [(0.0, -3.0, 39.9, 60.0), (0.001, -2.9, 40.1, 60.0), (0.002, -2.8, 150.0, 60.0)])

    def reach(**parameters: float) -> tuple[int, float, int]:
        messages = messages_of(archive.root, **parameters)
        points = points_of(messages["radar/spectrum_points"][0][1])
        farthest = float(np.hypot(points["x"], points["y"]).max())
        return len(points) // 125, round(farthest, 3), len(points_of(messages["radar/points"][0][1]))

    assert reach() == (142, 39.904, 1)
    assert reach(radar_max_range_m=20.0) == (71, 19.917, 0)
    assert reach(radar_max_range_m=0.0) == (511, 143.779, 3)
    with pytest.raises(UsageError, match="radar_max_range_m: expected metres, or 0 for no limit, got -1"):
        open_dataset(archive.root, parameters={"radar_max_range_m": -1.0})


def test_spectrum_of_fewer_bins_is_reported_and_may_be_put_where_it_belongs(archive: TinyAcfr) -> None:
    places.write_spectrum(archive, spectra(1, bins=143))
    _, (defect,) = inspected(archive)
    assert (defect.kind, defect.file) == ("bin_length", "RadarSpectrum/HSR_ScalarPoints1.txt")
    assert "expected bins of 0.2815 m, as 512 make, got 1.0079 m of 143: were the lines cut?" in defect.message
    points = points_of(messages_of(archive.root, radar_bins=512)["radar/spectrum_points"][0][1]).reshape(125, 142)
    np.testing.assert_allclose(np.hypot(points["x"], points["y"])[:, -1], 39.90416370, atol=1e-4)
    assert inspected(archive, radar_bins=512)[1] == []


def test_line_of_another_length_than_others_is_reported_and_left_out(archive: TinyAcfr) -> None:
    samples = spectra(2)
    samples[130] = (*samples[130][:2], samples[130][2][:300])
    samples[140] = (*samples[140][:2], [*samples[140][2], 1.0])
    places.write_spectrum(archive, samples)
    _, defects = inspected(archive)
    assert [(defect.kind, defect.row) for defect in defects] == [("short_row", 131), ("long_row", 141)]
    assert "expected 512 values as is usual in this file, got 300; the line is left out" in defects[0].message
    messages = messages_of(archive.root)
    assert [message.height for _, message in messages["radar/spectrum"]] == [125, 123]
    points = points_of(messages["radar/spectrum_points"][1][1])
    assert len(points) == 123 * 142
    assert 0.005 not in points["time"].round(6).tolist()


def test_lines_of_as_many_bins_as_radar_has_are_usual_ones(archive: TinyAcfr) -> None:
    samples = [(t, angle, values if t < 0.13 else values[:500]) for t, angle, values in spectra(2.08)]
    places.write_spectrum(archive, samples)
    _, defects = inspected(archive)
    assert [(defect.kind, defect.row) for defect in defects] == [("short_row", row) for row in range(131, 261)]
    assert sum(message.height for _, message in messages_of(archive.root)["radar/spectrum"]) == 130


def told(notes: list[str]) -> str:
    return noted(notes, "spectra's peaks differ from RadarRangeBearing's ranges")


def test_peaks_of_spectra_are_compared_with_archive_s_ranges(archive: TinyAcfr) -> None:
    archive.write_radar()
    archive.write_spectrum()
    notes, defects = inspected(archive)
    assert defects == []
    assert "by 0.0000 m in the median, 95 % of them by less than 0.000 m (1000 lines" in told(notes)
    assert "whose bearings differ by 0.000 deg" in told(notes)


def test_ranges_that_are_not_those_of_spectra_are_reported(archive: TinyAcfr) -> None:
    archive.write_spectrum()
    samples = [
        (index / 1000, tiny.radar_rad(index), tiny.radar_range_m(index) + 0.5, 60.0) for index in range(1000)
    ]  # fmt: skip
    places.write_radar(archive, samples)
    notes, (defect,) = inspected(archive)
    assert "by 0.5000 m in the median" in told(notes)
    assert defect.kind == "radar_ranges" and defect.message.endswith("more than a bin")


def test_damaged_number_takes_its_line_alone(archive: TinyAcfr) -> None:
    places.write_radar(archive, turning(2))
    path = archive.root / "RadarRangeBearing" / "RangeBearingQAsciiData.txt"
    lines = path.read_text().splitlines(keepends=True)
    lines[10] = lines[10].replace(" 3 1 ", " 3 1 x")
    path.write_text("".join(lines))
    _, defects = inspected(archive)
    assert [(defect.row, defect.kind) for defect in defects] == [(11, "not_a_number")]
    assert [len(points_of(m)) for _, m in messages_of(archive.root)["radar/points"]] == [124, 125]


def test_revolution_is_same_whether_its_record_is_read_alone_or_after_others(archive: TinyAcfr) -> None:
    archive.seconds = 4.0
    archive.write_spectrum()
    with open_dataset(archive.root) as opened:
        stream = opened.streams["radar_spectrum_points"]
        assert len(stream.spans) == 2
        late: Any = stream.load(1)
        last = late.load(3).copy()
        first: Any = stream.load(0)
        for row in range(len(first)):
            first.load(row)
        np.testing.assert_array_equal(late.load(3), last)
        assert [span.count for span in stream.spans] == [16, 16]
