import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fieldplay.core.errors import (
    Defect,
    DefectLocation,
    UsageError,
    UserError,
)
from fieldplay.datasets.archive import (
    LISTED_PER_KIND,
    Archive,
    IssueLog,
    chosen_parameters,
    note_ignored_files,
    open_tables,
)
from fieldplay.datasets.spec import DatasetParameter, DatasetSpec, TableFiles
from fieldplay.io.containers import Files, open_files
from fieldplay.messages.stream_spec import StreamSpec

START = 1656931512
SPEC = DatasetSpec(
    name="rover",
    title="",
    status="",
    reader="",
    namespace="rover",
    detect=(),
    plausible_years=(2000, 2100),
    streams=(StreamSpec(id="imu", topic="imu", type="x"),),
    tables={
        "imu": TableFiles(
            files=r"imu.*\.csv",
            layouts=(("time", "x", "code"),),
            header={"time": ("t",), "x": ("x",), "code": ("code",)},
            ranges={"code": (0, 7)},
        ),
        "spare": TableFiles(files=r"spare\.csv", layouts=(("time", "y"),), optional=True),
    },
    ignored_files={r".*\.mp4": "not played"},
    parameters={
        "sign": DatasetParameter(default=1, help="", choices=(1, -1)),
        "std": DatasetParameter(default=0.05, help=""),
        "count": DatasetParameter(default=3, help=""),
        "flag": DatasetParameter(default=False, help=""),
        "word": DatasetParameter(default="a", help=""),
    },
)


class ArchiveFolder:
    """An archive in a folder of the test."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.archive = Archive(root=root, spec=SPEC, parameters={})

    def write(self, **files: str) -> Files:
        for name, text in files.items():
            (self.root / name.replace("__", ".")).write_text(text)
        return self.archive.on_close.enter_context(open_files(self.root, self.archive.defects))


@pytest.fixture
def archive_folder(tmp_path: Path) -> Iterator[ArchiveFolder]:
    instance = ArchiveFolder(tmp_path)
    with instance.archive:
        yield instance


def defect_keys(archive: Archive) -> list[tuple[str, int | None, str]]:
    return [(defect.file, defect.row, defect.kind) for defect in archive.defects.listed]


def rows(count: int, code: int = 1, delimiter: str = ",") -> str:
    return "".join(f"{START + k}{delimiter}{k}{delimiter}{code}\n" for k in range(count))


def test_tables_of_one_kind_are_joined_for_any_column_order(archive_folder: ArchiveFolder) -> None:
    files = archive_folder.write(imu_1__csv=rows(3), imu_2__csv=f"code,x,t\n5,10,{START + 10}\n5,11,{START + 11}\n")
    tables = open_tables(archive_folder.archive, files)["imu"]
    assert defect_keys(archive_folder.archive) == []
    all_rows = tables.rows_between(0, 2**62)
    assert all_rows.columns("x", "code").tolist() == [[0, 1], [1, 1], [2, 1], [10, 5], [11, 5]]
    assert archive_folder.archive.notes[-2:] == ["columns by header: imu_2.csv", "columns by position: imu_1.csv"]


def test_unreadable_table_is_reported_and_others_are_used(archive_folder: ArchiveFolder) -> None:
    files = archive_folder.write(imu_1__csv="1,2\n", imu_2__csv=rows(3))
    (archive_folder.root / "imu_3.csv").symlink_to("gone")
    files = open_files(archive_folder.root, archive_folder.archive.defects)
    assert open_tables(archive_folder.archive, files)["imu"].count == 3
    assert defect_keys(archive_folder.archive) == [
        ("imu_1.csv", None, "unreadable_table"),
        ("imu_3.csv", None, "unreadable_table"),
    ]
    assert archive_folder.archive.defects.listed[1].message == "cannot be read: No such file or directory"


def test_missing_table_is_note_and_no_defect(archive_folder: ArchiveFolder) -> None:
    assert open_tables(archive_folder.archive, archive_folder.write()) == {}
    assert defect_keys(archive_folder.archive) == []
    assert [(each.file, each.kind) for each in archive_folder.archive.missing] == [("imu*.csv", "missing_file")]
    noted = ["imu*.csv: expected files for 'imu' of this name, got none; the rest plays", "no file for 'spare'"]
    assert sorted(archive_folder.archive.notes) == noted


def test_out_of_range_numbers_are_reported_and_not_removed(archive_folder: ArchiveFolder) -> None:
    files = archive_folder.write(imu__csv=rows(2) + f"{START + 2},2,9\n")
    assert open_tables(archive_folder.archive, files)["imu"].count == 3
    (defect,) = archive_folder.archive.defects.listed
    assert str(defect) == "imu.csv:3: column code: expected 0 to 7, got 9; the row is kept"


def test_gap_is_reported_at_row_after_it(archive_folder: ArchiveFolder) -> None:
    later = "".join(f"{START + 100 + k},0,0\n" for k in range(3))
    open_tables(archive_folder.archive, archive_folder.write(imu__csv=rows(30) + later))
    (defect,) = archive_folder.archive.defects.listed
    assert str(defect) == f"imu.csv:31: no row for 71.000 s before this one, at {START + 100} s"


def test_ignored_files_are_noted(archive_folder: ArchiveFolder) -> None:
    files = archive_folder.write(imu__csv=rows(1), feed__mp4="", **{f"other{k}__txt": "" for k in range(7)})
    note_ignored_files(archive_folder.archive, files)
    others = "other0.txt, other1.txt, other2.txt, other3.txt, other4.txt, ..."
    assert archive_folder.archive.notes == [
        "feed.mp4: not played",
        f"files of other names, which are not read: 7 ({others})",
    ]


def test_pipe_does_not_block_opening(archive_folder: ArchiveFolder) -> None:
    os.mkfifo(archive_folder.root / "imu.csv")
    assert open_tables(archive_folder.archive, archive_folder.write()) == {}
    assert "got a pipe, a socket or a device" in archive_folder.archive.defects.listed[0].message


def test_unreadable_folder_is_reported(archive_folder: ArchiveFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    (archive_folder.root / "locked").mkdir()
    scandir = os.scandir

    def refuse(path: Path) -> Any:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert archive_folder.write(imu__csv=rows(1)).names == ["imu.csv"]
    assert [str(defect) for defect in archive_folder.archive.defects.listed] == [
        "locked: the folder cannot be read: Permission denied"
    ]


def test_all_defects_are_counted_and_first_of_each_kind_listed() -> None:
    log = IssueLog()
    for k in range(LISTED_PER_KIND + 5):
        log(Defect(file="a", kind="short_row", message="", row=k))
    log(Defect(file="b", kind="short_row", message=""))
    assert (log.total, len(log.listed)) == (LISTED_PER_KIND + 6, LISTED_PER_KIND + 1)
    assert log.counts["a", "short_row"] == LISTED_PER_KIND + 5
    assert log.dropped == {("a", "short_row"): 5}


def test_defects_of_row_files_share_one_limit_per_stream() -> None:
    log = IssueLog()
    for k in range(LISTED_PER_KIND + 7):
        log(Defect(file=f"cam_{k}.jpg", kind="picture_size", message="too small", stream="cam"))
    assert (log.total, len(log.listed)) == (LISTED_PER_KIND + 7, LISTED_PER_KIND)
    assert log.dropped == {("cam", "picture_size"): 7}
    first, second, *_, last = lines = log.summary_lines()
    assert (first, second) == ("1007 defects: 1007 picture_size", "  cam_0.jpg: too small")
    assert last == "  and 7 more: fieldplay check lists them" and len(lines) == LISTED_PER_KIND + 2


def test_summary_has_line_for_each_file() -> None:
    log = IssueLog()
    for k in range(300):
        log(Defect(file="a.csv", kind="short_row", message="", row=k))
    for file in ("b.csv", "c.csv", *(f"{k}.msg" for k in range(25))):
        log(Defect(file=file, kind="damaged_sample", message="cut", stream="x", sample=3))
    lines = log.summary_lines()[1:]
    assert {line.split(":")[0].strip() for line in lines[:-1]} == {defect.file for defect in log.listed}
    assert lines[-1] == "  and 299 more: fieldplay check lists them"


def test_parts_of_location_become_fields_of_defect() -> None:
    location = DefectLocation("a.msg", "sample 1 of /cam.frame at byte 4988", sample=1, byte=4988)
    defect = Defect.at(location, kind="damaged_picture", message="cut", stream="cam")
    assert (defect.file, defect.stream, defect.sample, defect.byte, defect.row) == ("a.msg", "cam", 1, 4988, None)
    assert str(defect) == "a.msg: sample 1 of /cam.frame at byte 4988: cut"
    assert Defect.at("a.jpg", kind="damaged_picture", message="cut") == Defect(
        file="a.jpg", kind="damaged_picture", message="cut"
    )


@pytest.mark.parametrize(
    ("name", "value", "taken"),
    [("sign", -1, -1), ("sign", -1.0, -1), ("std", 2, 2.0), ("std", "1e-3", 0.001), ("count", 5, 5), ("word", "b", "b"),
     ("flag", True, True)],
)  # fmt: skip
def test_parameter_accepts_values_like_its_default(name: str, value: Any, taken: Any) -> None:
    chosen = chosen_parameters(SPEC, {name: value})[name]
    assert chosen == taken
    assert type(chosen) is type(taken)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [("angle", 1, "rover has no parameter 'angle'; it has count, flag, sign, std, word"),
     ("sign", 2, r"parameter sign: expected one of \[1, -1\], got 2"), ("sign", True, "got True"),
     ("std", "much", "parameter std: expected a value such as 0.05, got 'much'"), ("std", float("inf"), "got inf"),
     ("std", None, "got None"), ("std", True, "got True"), ("std", 10**400, "got 1000"), ("count", 2.5, "got 2.5"),
     ("flag", 1, "got 1"), ("word", 7, "got 7")],
)  # fmt: skip
def test_parameter_rejects_values_of_other_type(name: str, value: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        chosen_parameters(SPEC, {name: value})
    assert issubclass(UsageError, UserError)
