import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldplay.core.errors import ArchiveError
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.row_files import (
    Fraction,
    cloud_stream,
    have_equal_seconds,
    image_stream,
    stamps_from_names,
    timed_files,
)
from fieldplay.datasets.spec import DatasetSpec, RowFiles
from fieldplay.io.containers import open_files
from fieldplay.messages.records import Clouds, Images
from fieldplay.streams.stream import FileStream

START = 1656931512
S = 10**9
SPEC = DatasetSpec(
    name="rover", title="", status="", reader="", namespace="", detect=(), plausible_years=(2000, 2100), streams=(),
    rows={"cam": RowFiles(files=r"cam_.*\.jpg")},
)  # fmt: skip


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(root=tmp_path, spec=SPEC, parameters={})


@pytest.fixture
def file_times(archive: Archive) -> Callable[..., tuple[list[str], list[int], list[tuple[str, str]]]]:
    """The names and times of files, and the defects: their files and kinds."""

    def of(*names: str) -> tuple[list[str], list[int], list[tuple[str, str]]]:
        for name in names:
            (archive.root / name).parent.mkdir(exist_ok=True)
            (archive.root / name).write_bytes(b"picture")
        with open_files(archive.root, archive.defects) as files:
            names_, stamps = timed_files(archive, files, "cam")
        return names_, stamps.tolist(), [(defect.file, defect.kind) for defect in archive.defects.listed]

    return of


Timed = Callable[..., tuple[list[str], list[int], list[tuple[str, str]]]]


def test_file_names_give_exact_nanoseconds(file_times: Timed) -> None:
    names = [f"a/cam_{START}.000000001.jpg", f"a/cam_{START}.5.jpg"]
    assert file_times(*names) == (names, [START * S + 1, START * S + S // 2], [])


def test_names_without_plausible_time_are_reported(file_times: Timed) -> None:
    good = f"cam_{START}.jpg"
    names, stamps, defects = file_times(good, "cam_x.jpg", "cam_0000000007.jpg")
    assert (names, stamps) == ([good], [START * S])
    assert sorted(defects) == [("cam_0000000007.jpg", "no_time_in_name"), ("cam_x.jpg", "no_time_in_name")]


def test_time_beyond_message_range_is_rejected(file_times: Timed) -> None:
    last, beyond = f"cam_{2**31 - 1}.jpg", f"cam_{2**31}.jpg"
    assert file_times(last, beyond) == ([last], [(2**31 - 1) * S], [(beyond, "no_time_in_name")])


def test_undecodable_name_is_reported(file_times: Timed) -> None:
    name = b"cam_\xff.jpg".decode("utf-8", "surrogateescape")
    assert file_times(name) == ([], [], [(name, "no_time_in_name")])


def test_ambiguous_whole_second_gives_no_time(file_times: Timed) -> None:
    names = [f"a/cam_{START}.jpg", f"b/cam_{START}.jpg"]
    assert file_times(*names) == ([], [], [(name, "time_not_unique") for name in names])


def test_duplicate_time_is_reported_and_both_files_are_used(file_times: Timed) -> None:
    names = [f"a/cam_{START}.5.jpg", f"a/cam_{START}.50.jpg", f"b/cam_{START}.500.jpg"]
    names_, _, defects = file_times(*names)
    assert sorted(names_) == sorted(names)
    assert [kind for _, kind in defects] == ["duplicate_time"]


def test_gap_is_reported_within_folder_only(file_times: Timed) -> None:
    first = [f"a/cam_{START}.{k:02}.jpg" for k in range(30)]
    second = [f"b/cam_{START + 900}.{k:02}.jpg" for k in range(30)]
    late = f"b/cam_{START + 905}.00.jpg"
    assert file_times(*first, *second, late)[2] == [(late, "gap")]


def test_stream_loads_files_in_time_order(archive: Archive) -> None:
    names = [f"cam_{START + k}.0.jpg" for k in (2, 0, 1)]
    for name in names:
        (archive.root / name).write_bytes(name.encode())
    with open_files(archive.root, archive.defects) as files:
        stream = image_stream(files, names, np.array([2, 0, 1]) * S)
        images = stream.load(0)
        assert isinstance(images, Images)
        assert images.stamp_ns.tolist() == [0, S, 2 * S]
        assert [images.load(row).decode() for row in range(3)] == sorted(names)
        (archive.root / names[0]).unlink()
        with pytest.raises(ArchiveError, match="cannot be read: No such file"):
            images.load(2)


def test_clouds_are_decoded_lazily(archive: Archive) -> None:
    (archive.root / "a.pcd").write_bytes(b"\x01\x02")
    with open_files(archive.root, archive.defects) as files:
        clouds = cloud_stream(
            files, ["a.pcd"], np.array([5]), lambda data, name: np.frombuffer(data, [("x", "u1")])
        ).load(0)
        assert isinstance(clouds, Clouds)
        assert clouds.load(0)["x"].tolist() == [1, 2]


def test_spans_cover_all_files_without_overlap() -> None:
    count = 2 * FileStream.SPAN + 5
    stamps = np.random.default_rng(1).permutation(count)
    stream = FileStream([str(stamp) for stamp in stamps], stamps, lambda names, ns: Images(
        stamp_ns=ns, names=names, load=lambda row: b""))  # fmt: skip
    assert [span.count for span in stream.spans] == [FileStream.SPAN, FileStream.SPAN, 5]
    assert [(span.first_ns, span.last_ns) for span in stream.spans] == [(0, 63), (64, 127), (128, count - 1)]
    loaded = stream.load(2)
    assert isinstance(loaded, Images)
    assert loaded.names == tuple(str(stamp) for stamp in range(128, count))


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
def test_time_is_numeric_suffix_of_name_in_nanoseconds(name: str, ns: int) -> None:
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
def test_name_without_time_is_marked_and_others_are_read(name: str) -> None:
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
def test_meaning_of_fraction_can_be_chosen(name: str, fraction: Fraction, ns: int | None) -> None:
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
def test_fraction_is_detected_from_all_names(digits: list[str], ns: list[int]) -> None:
    names = [f"Cam_1656931512_{text}.jpg" for text in digits]
    stamp_ns, good = stamps_from_names([*names, "Cam_1656931512.jpg", "Cam.jpg"])
    assert good.tolist() == [True] * (len(names) + 1) + [False]
    assert (stamp_ns[: len(names)] - 1656931512_000000000).tolist() == ns


def test_ambiguous_fraction_is_an_error() -> None:
    names = ["a_1656931512_25.jpg", "a_1656931512_5.jpg"]
    with pytest.raises(ArchiveError, match="got '_5' and '_25': say whether they are decimal or nanoseconds"):
        stamps_from_names(names)
    stamp_ns, good = stamps_from_names(names, fraction="decimal")
    assert good.all()
    assert stamp_ns.tolist() == [1656931512_250000000, 1656931512_500000000]


def test_unknown_fraction_is_rejected() -> None:
    with pytest.raises(ValueError, match=re.escape("expected fraction to be one of auto, decimal, nanoseconds, got")):
        stamps_from_names([], fraction="float")


TIMES = st.lists(st.integers(10**17, 9_223_372_035 * 10**9), min_size=1, max_size=30)


@given(TIMES, st.sampled_from("._"))
def test_padded_times_round_trip(times: list[int], mark: str) -> None:
    stamp_ns, good = stamps_from_names([f"Cam2_{ns // 10**9}{mark}{ns % 10**9:09d}.jpg" for ns in times])
    assert good.all()
    assert stamp_ns.tolist() == times


@given(TIMES)
def test_nanosecond_counts_round_trip(times: list[int]) -> None:
    times = [*times, 1656931512_123456789, 1656931512_000000007]
    stamp_ns, good = stamps_from_names([f"{ns // 10**9}_{ns % 10**9}.pcd" for ns in times])
    assert good.all()
    assert stamp_ns.tolist() == times


@given(st.lists(st.text(max_size=30), max_size=10))
def test_arbitrary_names_never_crash(names: list[str]) -> None:
    stamp_ns, good = stamps_from_names(names, fraction="decimal")
    assert stamp_ns.dtype == np.int64
    assert len(stamp_ns) == len(good) == len(names)
    assert not stamp_ns[~good].any()


def test_equal_whole_seconds_are_detected() -> None:
    names = ["a_1656931512.jpg", "a_1656931513.jpg", "b_1656931512.jpg", "a_1656931513.5.jpg", "a_1656931513_5.jpg"]
    names += ["a_1656931514.25.jpg", "b_1656931514.25.jpg", "1656931515000.jpg", "a.jpg", "b.jpg"]
    assert have_equal_seconds(names).tolist() == [True, False, True] + 7 * [False]


def test_no_names_give_no_times() -> None:
    stamp_ns, good = stamps_from_names([])
    assert stamp_ns.shape == good.shape == have_equal_seconds([]).shape == (0,)
    assert stamp_ns.dtype == np.int64
    assert good.dtype == have_equal_seconds([]).dtype == np.bool_
