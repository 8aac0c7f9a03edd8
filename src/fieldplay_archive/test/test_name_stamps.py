import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldplay_archive.row_files import Fraction, shares_a_second, stamps_from_names
from fieldplay_messages.errors import ArchiveError


def stamp_of(name: str, fraction: Fraction = "auto") -> int | None:
    stamp_ns, good = stamps_from_names([name], fraction=fraction)
    return int(stamp_ns[0]) if good[0] else None


@pytest.mark.parametrize(
    ("name", "ns"),
    [
        ("MainCam_1656931512.jpg", 1656931512_000000000),
        ("MainCam_1656931512.123456.jpg", 1656931512_123456000),
        ("MainCam_1656931512_123456789.jpg", 1656931512_123456789),
        ("Cam2_1656931512_5.jpg", 1656931512_500000000),
        ("Cam2_1656931512.jpg", 1656931512_000000000),
        ("Cam_2_1656931512.jpg", 1656931512_000000000),
        ("Cam-1656931512.jpg", 1656931512_000000000),
        ("1656931512.pcd", 1656931512_000000000),
        ("1656931512.000000001", 1656931512_000000001),
        ("1656931512.0000000016.pcd.gz", 1656931512_000000002),
        ("915148800.5.png", 915148800_500000000),
        ("1656931512123.jpg", 1656931512_123000000),
        ("1656931512123456.jpg", 1656931512_123456000),
        ("left/1656931512123456789.png", 1656931512_123456789),
        ("traverse 5/2022.07.04/1600000000/MainCam_1656931512_05.jpg", 1656931512_050000000),
        ("C:\\data\\1600000000\\1656931512.jpg", 1656931512_000000000),
        ("Cam_819312070123_1656931512.jpg", 1656931512_000000000),  # a serial number in front
        ("Cam_1600000000_1656931512.jpg", 1656931512_000000000),
        ("Caméra1656931512.jpg", 1656931512_000000000),
    ],
)
def test_the_time_is_the_numeric_tail_of_the_name_to_the_nanosecond(name: str, ns: int) -> None:
    assert stamp_of(name) == ns


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".jpg",
        "MainCam.jpg",
        "Cam2.jpg",
        "frame_000123.jpg",
        "2022_0704.jpg",
        "12.5.png",
        "1656931512/MainCam.jpg",
        "MainCam_1656931512_left.jpg",
        "MainCam_16569315121.jpg",
        "MainCam_9999999999.jpg",  # does not fit 64 bits of nanoseconds
        "9999999999999999999.jpg",
        "1656931512.123456 (copy).jpg",
        "1656931512\n.jpg",
        "١٦٥٦٩٣١٥١٢.jpg",
    ],
)
def test_a_name_without_a_time_is_marked_and_the_others_are_read(name: str) -> None:
    stamp_ns, good = stamps_from_names(["a_1656931512.25.jpg", name])
    assert stamp_ns.tolist() == [1656931512_250000000, 0]
    assert good.tolist() == [True, False]


@pytest.mark.parametrize(
    ("name", "fraction", "ns"),
    [
        ("a_1656931512_5.jpg", "decimal", 1656931512_500000000),
        ("a_1656931512_5.jpg", "nanoseconds", 1656931512_000000005),
        ("a_1656931512.5.jpg", "decimal", 1656931512_500000000),
        ("a_1656931512.5.jpg", "nanoseconds", 1656931512_000000005),
        ("a_1656931512.0000000005.jpg", "nanoseconds", None),
        ("a_1656931512.jpg", "nanoseconds", 1656931512_000000000),
        ("1656931512123.jpg", "nanoseconds", 1656931512_123000000),
    ],
)
def test_what_the_fraction_is_can_be_said(name: str, fraction: Fraction, ns: int | None) -> None:
    assert stamp_of(name, fraction) == ns


@pytest.mark.parametrize(
    ("digits", "ns"),
    [
        (["05", "50", "99"], [50_000000, 500_000000, 990_000000]),
        (["000123456", "123456789"], [123456, 123456789]),
        (["5", "99999999", "123456789"], [5, 99999999, 123456789]),
        (["05", "5", "123456789"], [50_000000, 500_000000, 123456789]),  # no count begins with a zero
        (["0", "123456789"], [0, 123456789]),
    ],
)
def test_the_names_of_a_stream_tell_what_follows_the_line(digits: list[str], ns: list[int]) -> None:
    names = [f"Cam_1656931512_{text}.jpg" for text in digits]
    stamp_ns, good = stamps_from_names([*names, "Cam_1656931512.jpg", "Cam.jpg"])
    assert good.tolist() == [True] * (len(names) + 1) + [False]
    assert (stamp_ns[: len(names)] - 1656931512_000000000).tolist() == ns


def test_digits_after_the_line_that_tell_nothing_are_an_error() -> None:
    names = ["a_1656931512_25.jpg", "a_1656931512_5.jpg"]
    with pytest.raises(ArchiveError, match="got '_5' and '_25': say whether they are decimal or nanoseconds"):
        stamps_from_names(names)
    stamp_ns, good = stamps_from_names(names, fraction="decimal")
    assert good.all()
    assert stamp_ns.tolist() == [1656931512_250000000, 1656931512_500000000]


def test_an_unknown_fraction_is_refused() -> None:
    with pytest.raises(ValueError, match=re.escape("expected fraction to be one of auto, decimal, nanoseconds, got")):
        stamps_from_names([], fraction="float")


TIMES = st.lists(st.integers(10**17, 9_223_372_035 * 10**9), min_size=1, max_size=30)


@given(TIMES, st.sampled_from("._"))
def test_padded_times_come_back_exactly(times: list[int], mark: str) -> None:
    stamp_ns, good = stamps_from_names([f"Cam2_{ns // 10**9}{mark}{ns % 10**9:09d}.jpg" for ns in times])
    assert good.all()
    assert stamp_ns.tolist() == times


@given(TIMES)
def test_counts_of_nanoseconds_come_back_exactly(times: list[int]) -> None:
    times = [*times, 1656931512_123456789, 1656931512_000000007]
    stamp_ns, good = stamps_from_names([f"{ns // 10**9}_{ns % 10**9}.pcd" for ns in times])
    assert good.all()
    assert stamp_ns.tolist() == times


@given(st.lists(st.text(max_size=30), max_size=10))
def test_any_names_have_times_or_none_and_never_a_crash(names: list[str]) -> None:
    stamp_ns, good = stamps_from_names(names, fraction="decimal")
    assert stamp_ns.dtype == np.int64
    assert len(stamp_ns) == len(good) == len(names)
    assert not stamp_ns[~good].any()


def test_whole_seconds_that_names_share_are_found() -> None:
    names = ["a_1656931512.jpg", "a_1656931513.jpg", "b_1656931512.jpg", "a_1656931513.5.jpg", "a_1656931513_5.jpg"]
    names += ["a_1656931514.25.jpg", "b_1656931514.25.jpg", "1656931515000.jpg", "a.jpg", "b.jpg"]
    assert shares_a_second(names).tolist() == [True, False, True] + 7 * [False]


def test_no_names_give_no_times() -> None:
    stamp_ns, good = stamps_from_names([])
    assert stamp_ns.shape == good.shape == shares_a_second([]).shape == (0,)
    assert stamp_ns.dtype == np.int64
    assert good.dtype == shares_a_second([]).dtype == np.bool_
