"""Files whose times a list has: by the names in its lines, or by the numbers in their own."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fieldplay.core.errors import ArchiveError
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.row_files import cloud_decoder, cloud_stream, file_table, timed_files
from fieldplay.datasets.spec import DatasetSpec, RowFiles
from fieldplay.io.containers import open_files
from fieldplay.messages.records import Clouds

START_NS = 1317042145_967790592
SPEC = DatasetSpec(
    name="rover", title="", status="", reader="", namespace="", detect=(), plausible_years=(1970, 2100), streams=(),
    rows={
        "cam": RowFiles(files=r".*\.png", folder="image_00", times=r"(timestamps\.txt|data\.csv)"),
        "oxts": RowFiles(files=r"\d+\.txt", folder="oxts", times=r"timestamps\.txt", columns=("lat", "lon")),
        "lidar": RowFiles(
            files=r"\d+\.(bin|txt)", folder="velodyne", times=r"timestamps\.txt", points=("x", "y", "z", "intensity")
        ),
    },
)  # fmt: skip
Found = tuple[list[str], list[int], list[tuple[str, int | None, str]]]


def write(root: Path, files: dict[str, str | bytes]) -> Archive:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return Archive(root=root, spec=SPEC, parameters={})


def times_of(archive: Archive, key: str = "cam") -> Found:
    with open_files(archive.root, archive.defects) as files:
        names, stamps = timed_files(archive, files, key)
    return names, stamps.tolist(), [(each.file, each.row, each.kind) for each in archive.defects.listed]


def dates(count: int) -> str:
    return "".join(f"2011-09-26 13:02:{25 + index}.967790592\n" for index in range(count))


def test_line_belongs_to_file_of_its_number(tmp_path: Path) -> None:
    archive = write(
        tmp_path, {"image_00/timestamps.txt": dates(3), **{f"image_00/data/{n:010d}.png": b"" for n in (0, 1, 2)}}
    )
    names, stamps, defects = times_of(archive)
    assert names == [f"image_00/data/{n:010d}.png" for n in (0, 1, 2)]
    assert stamps == [START_NS + n * 10**9 for n in (0, 1, 2)]
    assert defects == []


def test_missing_file_does_not_shift_the_others(tmp_path: Path) -> None:
    archive = write(
        tmp_path, {"image_00/timestamps.txt": dates(5), **{f"image_00/data/{n:010d}.png": b"" for n in (0, 3, 4)}}
    )
    _names, stamps, defects = times_of(archive)
    assert stamps == [START_NS + n * 10**9 for n in (0, 3, 4)]
    assert ("image_00/timestamps.txt", 2, "missing_file") in defects
    (missing,) = (each for each in archive.defects.listed if each.kind == "missing_file")
    assert missing.message == "expected a file for the time of lines 2 to 3, got none"


def test_files_beyond_the_list_are_reported_and_left_out(tmp_path: Path) -> None:
    archive = write(
        tmp_path, {"image_00/timestamps.txt": dates(1), **{f"image_00/data/{n:010d}.png": b"" for n in (0, 1)}}
    )
    names, _, defects = times_of(archive)
    assert names == ["image_00/data/0000000000.png"]
    assert defects == [("image_00/data/0000000001.png", None, "no_time")]


def test_line_that_is_no_time_takes_its_file_along(tmp_path: Path) -> None:
    text = dates(3).replace("13:02:26", "13:02:2x")
    archive = write(
        tmp_path, {"image_00/timestamps.txt": text, **{f"image_00/data/{n:010d}.png": b"" for n in range(3)}}
    )
    _names, stamps, defects = times_of(archive)
    assert stamps == [START_NS, START_NS + 2 * 10**9]
    assert ("image_00/timestamps.txt", 2, "not_a_time") in defects


def test_names_in_lines_count(tmp_path: Path) -> None:
    text = "#timestamp [ns],filename\n1403715273262142976,b.png\n1403715273312143104,a.png\n1403715273362142976,c.png\n"
    archive = write(tmp_path, {"image_00/data.csv": text, "image_00/data/a.png": b"", "image_00/data/b.png": b""})
    names, stamps, defects = times_of(archive)
    assert dict(zip(names, stamps, strict=True)) == {
        "image_00/data/b.png": 1403715273262142976,
        "image_00/data/a.png": 1403715273312143104,
    }
    assert defects == [("image_00/data.csv", 4, "missing_file")]
    assert "line 4 (c.png)" in archive.defects.listed[0].message


def test_names_in_lines_may_lack_their_ending(tmp_path: Path) -> None:
    text = "#timestamp [ns],filename\n1403715273262142976,b\n1403715273312143104,a\n"
    archive = write(tmp_path, {"image_00/data.csv": text, "image_00/data/a.png": b"", "image_00/data/b.png": b""})
    names, stamps, defects = times_of(archive)
    assert dict(zip(names, stamps, strict=True))["image_00/data/b.png"] == 1403715273262142976
    assert (len(names), defects) == (2, [])


def test_time_that_runs_back_is_reported_and_kept(tmp_path: Path) -> None:
    lines = dates(3).splitlines(keepends=True)
    archive = write(
        tmp_path,
        {
            "image_00/timestamps.txt": lines[0] + lines[2] + lines[1],
            **{f"image_00/data/{n:010d}.png": b"" for n in range(3)},
        },
    )
    _names, stamps, defects = times_of(archive)
    assert stamps == [START_NS, START_NS + 2 * 10**9, START_NS + 10**9]
    assert defects == [("image_00/timestamps.txt", 3, "backward_time")]


def test_without_a_list_times_in_the_names_count(tmp_path: Path) -> None:
    archive = write(tmp_path, {"image_00/data/1403715273262142976.png": b""})
    _names, stamps, defects = times_of(archive)
    assert (stamps, defects) == ([1403715273262142976], [])
    assert any("the times are those in the names" in note for note in archive.notes)


def test_without_a_list_files_of_other_names_are_left_out(tmp_path: Path) -> None:
    archive = write(tmp_path, {"image_00/data/0000000001.png": b"", "image_00/data/0000000002.png": b""})
    assert times_of(archive)[0] == []
    (defect,) = archive.defects.listed
    assert (defect.file, defect.kind) == ("image_00/data", "no_times")
    assert "expected the times of 2 files in timestamps.txt" in defect.message


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_list_without_times_is_reported_once(tmp_path: Path, text: str) -> None:
    archive = write(tmp_path, {"image_00/timestamps.txt": text, "image_00/data/0.png": b"", "image_00/data/1.png": b""})
    names, _, defects = times_of(archive)
    assert (names, defects) == ([], [("image_00/timestamps.txt", None, "no_times")])
    assert "expected the times of 2 files, got none" in archive.defects.listed[0].message


def test_rows_of_texts_have_the_columns_of_the_description(tmp_path: Path) -> None:
    files = {"oxts/timestamps.txt": dates(2), "oxts/data/0000000000.txt": "49 8\n", "oxts/data/0000000001.txt": "49\n"}
    archive = write(tmp_path, files)
    with open_files(archive.root, archive.defects) as opened:
        table = file_table(archive, opened, "oxts")
        assert table is not None
        assert table.rows(0)["lon"].tolist() == [8.0]
    (defect,) = archive.defects.listed
    assert (defect.file, defect.row, defect.kind) == ("oxts/data/0000000001.txt", 1, "short_row")


def test_empty_texts_make_no_table(tmp_path: Path) -> None:
    archive = write(tmp_path, {"oxts/timestamps.txt": dates(1), "oxts/data/0000000000.txt": ""})
    with open_files(archive.root, archive.defects) as opened:
        assert file_table(archive, opened, "oxts") is None
    assert [each.kind for each in archive.defects.listed] == ["empty_file"]


def test_clouds_are_floats_or_text(tmp_path: Path) -> None:
    points = np.float32([[1, 2, 3, 0.5], [4, 5, 6, 0.25]])
    files: dict[str, str | bytes] = {"velodyne/timestamps.txt": dates(3)}
    files["velodyne/data/0000000000.bin"] = points.tobytes()
    files["velodyne/data/0000000001.txt"] = "1 2 3 0.5\n4 5 6 0.25\n"
    files["velodyne/data/0000000002.bin"] = points.tobytes()[:-3]
    archive = write(tmp_path, files)
    with open_files(archive.root, archive.defects) as opened:
        names, stamps = timed_files(archive, opened, "lidar")
        record = cloud_stream(opened, names, stamps, cloud_decoder(archive, "lidar")).load(0)
        assert isinstance(record, Clouds)
        for row in (0, 1):
            np.testing.assert_array_equal(record.load(row).view(np.float32).reshape(-1, 4), points)
        with pytest.raises(ArchiveError, match="expected points of 16 bytes, got 29 bytes"):
            record.load(2)


def test_points_without_height_are_rejected() -> None:
    with pytest.raises(ValueError, match="points: expected x, y and z among them, got x, y"):
        RowFiles(files="a", points=("x", "y"))
    with pytest.raises(ValueError, match="times: expected a regular expression"):
        replace(SPEC.rows["cam"], times="(")
