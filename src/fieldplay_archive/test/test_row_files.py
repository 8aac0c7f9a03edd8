from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fieldplay_archive.archive import Archive
from fieldplay_archive.files.containers import open_files
from fieldplay_archive.row_files import cloud_stream, picture_stream, timed_files
from fieldplay_archive.spec import DatasetSpec, RowFiles
from fieldplay_messages.errors import ArchiveError
from fieldplay_messages.records import Clouds, Pictures
from fieldplay_messages.streams import FileStream

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
def timed(archive: Archive) -> Callable[..., tuple[list[str], list[int], list[tuple[str, str]]]]:
    """The names and times of files, and the defects: their files and kinds."""

    def of(*names: str) -> tuple[list[str], list[int], list[tuple[str, str]]]:
        for name in names:
            (archive.root / name).parent.mkdir(exist_ok=True)
            (archive.root / name).write_bytes(b"picture")
        with open_files(archive.root, archive.defects) as files:
            found, stamps = timed_files(archive, files, "cam")
        return found, stamps.tolist(), [(defect.file, defect.kind) for defect in archive.defects.kept]

    return of


Timed = Callable[..., tuple[list[str], list[int], list[tuple[str, str]]]]


def test_times_are_exact_nanoseconds_of_the_names(timed: Timed) -> None:
    names = [f"a/cam_{START}.000000001.jpg", f"a/cam_{START}.5.jpg"]
    assert timed(*names) == (names, [START * S + 1, START * S + S // 2], [])


def test_names_without_a_time_that_can_be_are_reported(timed: Timed) -> None:
    good = f"cam_{START}.jpg"
    names, stamps, defects = timed(good, "cam_x.jpg", "cam_0000000007.jpg")
    assert (names, stamps) == ([good], [START * S])
    assert sorted(defects) == [("cam_0000000007.jpg", "no_time_in_name"), ("cam_x.jpg", "no_time_in_name")]


def test_a_name_that_is_no_text_is_reported_like_any_other(timed: Timed) -> None:
    name = b"cam_\xff.jpg".decode("utf-8", "surrogateescape")
    assert timed(name) == ([], [], [(name, "no_time_in_name")])


def test_one_whole_second_for_two_files_is_no_time_for_either(timed: Timed) -> None:
    names = [f"a/cam_{START}.jpg", f"b/cam_{START}.jpg"]
    assert timed(*names) == ([], [], [(name, "time_not_unique") for name in names])


def test_the_same_time_twice_in_a_folder_is_reported_and_both_serve(timed: Timed) -> None:
    names = [f"a/cam_{START}.5.jpg", f"a/cam_{START}.50.jpg", f"b/cam_{START}.500.jpg"]
    found, _, defects = timed(*names)
    assert sorted(found) == sorted(names)
    assert [kind for _, kind in defects] == ["duplicate_time"]


def test_a_gap_is_reported_within_a_folder_but_not_between_two(timed: Timed) -> None:
    first = [f"a/cam_{START}.{k:02}.jpg" for k in range(30)]
    second = [f"b/cam_{START + 900}.{k:02}.jpg" for k in range(30)]
    late = f"b/cam_{START + 905}.00.jpg"
    assert timed(*first, *second, late)[2] == [(late, "gap")]


def test_a_stream_loads_its_files_in_the_order_of_time_when_asked(archive: Archive) -> None:
    names = [f"cam_{START + k}.0.jpg" for k in (2, 0, 1)]
    for name in names:
        (archive.root / name).write_bytes(name.encode())
    with open_files(archive.root, archive.defects) as files:
        stream = picture_stream(files, names, np.array([2, 0, 1]) * S)
        pictures = stream.load(0)
        assert isinstance(pictures, Pictures)
        assert pictures.stamp_ns.tolist() == [0, S, 2 * S]
        assert [pictures.load(row).decode() for row in range(3)] == sorted(names)
        (archive.root / names[0]).unlink()
        with pytest.raises(ArchiveError, match="cannot be read: No such file"):
            pictures.load(2)


def test_clouds_are_decoded_one_by_one(archive: Archive) -> None:
    (archive.root / "a.pcd").write_bytes(b"\x01\x02")
    with open_files(archive.root, archive.defects) as files:
        clouds = cloud_stream(
            files, ["a.pcd"], np.array([5]), lambda data, name: np.frombuffer(data, [("x", "u1")])
        ).load(0)
        assert isinstance(clouds, Clouds)
        assert clouds.load(0)["x"].tolist() == [1, 2]


def test_spans_cover_all_files_and_overlap_in_nothing() -> None:
    count = 2 * FileStream.SPAN + 5
    stamps = np.random.default_rng(1).permutation(count)
    stream = FileStream([str(stamp) for stamp in stamps], stamps, lambda names, ns: Pictures(
        stamp_ns=ns, names=names, load=lambda row: b""))  # fmt: skip
    assert [span.count for span in stream.spans] == [FileStream.SPAN, FileStream.SPAN, 5]
    assert [(span.first_ns, span.last_ns) for span in stream.spans] == [(0, 63), (64, 127), (128, count - 1)]
    loaded = stream.load(2)
    assert isinstance(loaded, Pictures)
    assert loaded.names == tuple(str(stamp) for stamp in range(128, count))
