import io
import random
import zipfile
from pathlib import Path

import pytest

from fieldplay_archive.files import inflation as inflating
from fieldplay_archive.files import inflation as zipped
from fieldplay_archive.files.containers import ListedFiles, leaves_archive, open_files
from fieldplay_messages.errors import ArchiveError, Defect


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("Traverse_5/GnssPose.csv", "Traverse_5/cam/MainCam_1.jpg", "readme.txt"):
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    return tmp_path / "tree"


def zip_of(tree: Path, method: int) -> Path:
    path = tree.parent / "tree.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        for file in tree.rglob("*.*"):
            archive.write(file, file.relative_to(tree))
    return path


@pytest.mark.parametrize("method", [None, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_folder_and_a_zip_hold_the_same_files(tree: Path, method: int | None) -> None:
    root = tree if method is None else zip_of(tree, method)
    defects: list[Defect] = []
    with open_files(root, defects.append) as files:
        assert files.names == ["Traverse_5/GnssPose.csv", "Traverse_5/cam/MainCam_1.jpg", "readme.txt"]
        (found,) = files.matching(r"gnsspose.*\.csv")
        assert files.read(found) == b"Traverse_5/GnssPose.csv"
        assert files.size(found) == 23
        with files.open(found) as file:
            assert file.read() == b"Traverse_5/GnssPose.csv"
    assert defects == []


@pytest.mark.parametrize("name", ["../evil.csv", "a/../../evil.csv", "/etc/evil.csv", "..\\evil.csv", "C:\\evil.csv"])
def test_a_member_whose_path_leaves_the_archive_is_refused_and_the_rest_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bad.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), b"x")
        archive.writestr("good.csv", b"y")
    defects: list[Defect] = []
    with open_files(path, defects.append) as files:
        assert files.names == ["good.csv"]
    assert [defect.kind for defect in defects] == ["unsafe_path"]
    assert leaves_archive(name)


def test_a_folder_that_links_back_to_itself_is_read_once(tree: Path) -> None:
    (tree / "loop").symlink_to(tree)
    with open_files(tree, [].append) as files:
        assert len(files.names) == 3


def test_what_is_not_there_or_no_zip_is_an_error_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="no such folder"):
        open_files(tmp_path / "absent", [].append)
    (tmp_path / "text.zip").write_text("not a zip")
    with pytest.raises(ArchiveError, match=r"text\.zip: expected a zip"):
        open_files(tmp_path / "text.zip", [].append)


@pytest.fixture(params=[zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def large_zip(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, bytes]:
    """A zip whose member a.csv has many access points, and the plain data of that member."""
    monkeypatch.setattr(inflating, "FIRST_SPACING", 1 << 18)
    draw = random.Random(3)
    plain = "".join(f"{draw.random():.6f},{line}\n" for line in range(300_000)).encode()
    path = tmp_path / "large.zip"
    with zipfile.ZipFile(path, "w", request.param) as archive:
        archive.writestr("other.csv", b"first")
        archive.writestr("a.csv", plain)
    return path, plain


def test_a_member_reads_and_seeks_as_the_plain_data_do(large_zip: tuple[Path, bytes]) -> None:
    path, plain = large_zip
    draw = random.Random(5)
    with open_files(path, [].append) as files, files.open("a.csv") as file:
        assert file.read() == plain
        for _ in range(50):
            place, size = draw.randrange(len(plain)), draw.randrange(200_000)
            file.seek(place)
            assert file.read(size) == plain[place : place + size]
        assert file.seek(-10, io.SEEK_END) == len(plain) - 10
        assert file.read() == plain[-10:]


def test_seeking_inflates_no_more_than_lies_between_two_access_points(large_zip: tuple[Path, bytes]) -> None:
    path, plain = large_zip
    with zipfile.ZipFile(path) as archive:
        member = zipped.SeekableMember(path, archive.getinfo("a.csv"))
    with member:
        while member.read(1 << 16):
            pass
        before = member.inflated
        member.seek(len(plain) // 2)
        assert member.inflated - before <= (1 << 18) + (1 << 16)


def test_a_damaged_member_is_an_error_that_says_where(large_zip: tuple[Path, bytes]) -> None:
    path, _ = large_zip
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 64] = bytes(64)
    path.write_bytes(content)
    with zipfile.ZipFile(path) as archive:
        member = zipped.SeekableMember(path, archive.getinfo("a.csv"))
    with member, pytest.raises(ArchiveError, match=r"'a\.csv' in the zip is damaged, at or before byte \d+"):
        member.readall()


def test_certain_files_of_a_folder_are_those_and_no_others(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name)
    with ListedFiles(tmp_path, ["b.txt"]) as files:
        assert (files.names, files.matching(r".*\.txt"), files.read("b.txt")) == (["b.txt"], ["b.txt"], b"b.txt")


def test_files_of_one_name_are_told_apart_by_a_folder_at_any_depth(tmp_path: Path) -> None:
    names = ["A/log.txt", "set/B/log.txt", "set/B/deep/log.txt", "set/Bc/log.txt", "log.txt", "B"]
    files = ListedFiles(tmp_path, names)
    assert files.matching(r"LOG\.txt", "b|x") == ["set/B/deep/log.txt", "set/B/log.txt"]
    assert files.matching(r"log\.txt", "set") == sorted(name for name in names if name.startswith("set/"))
    assert len(files.matching(r"log\.txt")) == 5
