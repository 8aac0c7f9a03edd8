import io
import random
import tarfile
import zipfile
import zlib
from pathlib import Path

import pytest

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.io import seekable_zip as inflating
from fieldplay.io import seekable_zip as zipped
from fieldplay.io.containers import ListedFiles, is_packed, open_files
from fieldplay.io.seekable_zip import InflateError, SeekableDeflate, is_outside_archive
from fieldplay_cdff.logs.log_files import InflatedFile


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
def test_folder_and_zip_hold_same_files(tree: Path, method: int | None) -> None:
    root = tree if method is None else zip_of(tree, method)
    defects: list[Defect] = []
    with open_files(root, defects.append) as files:
        assert files.names == ["Traverse_5/GnssPose.csv", "Traverse_5/cam/MainCam_1.jpg", "readme.txt"]
        (result,) = files.matching(r"gnsspose.*\.csv")
        assert files.read(result) == b"Traverse_5/GnssPose.csv"
        assert files.size(result) == 23
        with files.open(result) as file:
            assert file.read() == b"Traverse_5/GnssPose.csv"
    assert defects == []


def tar_of(tree: Path, ending: str) -> Path:
    path = tree.parent / f"tree.tar{ending}"
    with tarfile.open(path, f"w:{ending.lstrip('.')}") as archive:  # type: ignore[call-overload]
        for file in sorted(tree.rglob("*.*")):
            archive.add(file, f"./{file.relative_to(tree)}")
    return path


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".xz"])
def test_tar_holds_same_files_however_it_is_packed(tree: Path, ending: str) -> None:
    defects: list[Defect] = []
    with open_files(tar_of(tree, ending), defects.append) as files:
        assert files.names == ["Traverse_5/GnssPose.csv", "Traverse_5/cam/MainCam_1.jpg", "readme.txt"]
        assert files.read("Traverse_5/GnssPose.csv") == b"Traverse_5/GnssPose.csv"
        assert files.size("readme.txt") == 10
        with files.open("Traverse_5/cam/MainCam_1.jpg") as file, files.open("readme.txt") as other:
            assert other.read() == b"readme.txt"
            assert file.seek(-9, io.SEEK_END) == 19 and file.read() == b"Cam_1.jpg"
            assert file.seek(3) == 3 and file.read(6) == b"verse_"
    assert defects == []


def test_parts_of_tar_are_read_as_one_whichever_is_given(tree: Path) -> None:
    (tree / "large.bin").write_bytes(random.Random(1).randbytes(50_000))
    path = tar_of(tree, ".gz")
    data = path.read_bytes()
    path.unlink()
    parts = [path.with_name(f"{path.name}.{number:02d}") for number in range(3)]
    for part, start in zip(parts, range(0, len(data), 20_000), strict=True):
        part.write_bytes(data[start : start + 20_000])
    for part in parts:
        assert is_packed(part)
        with open_files(part, [].append) as files:
            assert len(files.names) == 4 and files.size("large.bin") == 50_000
    parts[2].unlink()
    defects: list[Defect] = []
    with open_files(parts[0], defects.append) as files:
        assert files.names == ["Traverse_5/GnssPose.csv", "Traverse_5/cam/MainCam_1.jpg"]
    (defect,) = defects
    assert (defect.file, defect.kind) == ("tree.tar.gz.00", "damaged_file")
    assert "breaks off within './large.bin'" in defect.message or "breaks off within 'large.bin'" in defect.message


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_tar_that_is_cut_gives_what_lies_before(tree: Path, ending: str) -> None:
    (tree / "large.bin").write_bytes(random.Random(1).randbytes(50_000))
    path = tar_of(tree, ending)
    path.write_bytes(path.read_bytes()[:30_000])
    defects: list[Defect] = []
    with open_files(path, defects.append) as files:
        assert files.names == ["Traverse_5/GnssPose.csv", "Traverse_5/cam/MainCam_1.jpg"]
    assert [defect.kind for defect in defects] == ["damaged_file"]


def test_members_of_tar_that_leave_it_and_links_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "bad.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in ("../evil.csv", "/etc/evil.csv", "good.csv", "good.csv"):
            member = tarfile.TarInfo(name)
            member.size = 1
            archive.addfile(member, io.BytesIO(b"x"))
        link = tarfile.TarInfo("link.csv")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    defects: list[Defect] = []
    with open_files(path, defects.append) as files:
        assert files.names == ["good.csv"]
    assert sorted(defect.kind for defect in defects) == ["duplicate_member", "unsafe_path", "unsafe_path"]


@pytest.mark.parametrize("name", ["../evil.csv", "a/../../evil.csv", "/etc/evil.csv", "..\\evil.csv", "C:\\evil.csv"])
def test_member_whose_path_leaves_archive_is_refused_and_rest_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bad.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), b"x")
        archive.writestr("good.csv", b"y")
    defects: list[Defect] = []
    with open_files(path, defects.append) as files:
        assert files.names == ["good.csv"]
    assert [defect.kind for defect in defects] == ["unsafe_path"]
    assert is_outside_archive(name)


def test_folder_that_links_back_to_itself_is_read_once(tree: Path) -> None:
    (tree / "loop").symlink_to(tree)
    with open_files(tree, [].append) as files:
        assert len(files.names) == 3


def test_what_is_not_there_or_no_zip_is_error_with_its_path(tmp_path: Path) -> None:
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


def test_member_reads_and_seeks_as_plain_data_do(large_zip: tuple[Path, bytes]) -> None:
    path, plain = large_zip
    draw = random.Random(5)
    with open_files(path, [].append) as files, files.open("a.csv") as file:
        assert file.read() == plain
        for _ in range(50):
            index, size = draw.randrange(len(plain)), draw.randrange(200_000)
            file.seek(index)
            assert file.read(size) == plain[index : index + size]
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


def test_damaged_member_is_error_that_reports_where(large_zip: tuple[Path, bytes]) -> None:
    path, _ = large_zip
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 64] = bytes(64)
    path.write_bytes(content)
    with zipfile.ZipFile(path) as archive:
        member = zipped.SeekableMember(path, archive.getinfo("a.csv"))
    with member, pytest.raises(ArchiveError, match=r"'a\.csv' in the zip is damaged, at or before byte \d+"):
        member.readall()


def test_certain_files_of_folder_are_those_and_no_others(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name)
    with ListedFiles(tmp_path, ["b.txt"]) as files:
        assert (files.names, files.matching(r".*\.txt"), files.read("b.txt")) == (["b.txt"], ["b.txt"], b"b.txt")


def test_files_of_one_name_are_distinguished_by_folder_at_any_depth(tmp_path: Path) -> None:
    names = ["A/log.txt", "set/B/log.txt", "set/B/deep/log.txt", "set/Bc/log.txt", "log.txt", "B"]
    files = ListedFiles(tmp_path, names)
    assert files.matching(r"LOG\.txt", "b|x") == ["set/B/deep/log.txt", "set/B/log.txt"]
    assert files.matching(r"log\.txt", "set") == sorted(name for name in names if name.startswith("set/"))
    assert len(files.matching(r"log\.txt")) == 5


SIZES = (1, 3, 100, 1 << 16)


def plain_data(seed: int) -> bytes:
    """Some that compress to long matches at their end, and to a few bytes in all."""
    draw = random.Random(seed)
    head = bytes(draw.choice(b"abcd") for _ in range(draw.randint(1, 400)))
    return head + bytes([draw.randrange(256)]) * draw.randint(0, 600)


def opened(data: bytes) -> InflatedFile:
    return InflatedFile(io.BufferedReader(io.BytesIO(data)), "x.zz")


def read_up_to_fault(file: InflatedFile, size: int) -> tuple[bytes, str]:
    """What can be read, so many bytes at a time, and what is said of the fault."""
    result = b""
    try:
        while data := file.read(size):
            result += data
    except ArchiveError as error:
        return result, str(error)
    return result, ""


@pytest.mark.parametrize("split", range(6))
@pytest.mark.parametrize("level", [0, 1, 9])
def test_no_byte_is_lost_to_wrong_checksum_wherever_two_reads_part(
    split: int, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(12):
        plain = plain_data(seed)
        packed = bytearray(zlib.compress(plain, level))
        packed[-1] ^= 0x55
        for behind in (b"", b"anything"):
            monkeypatch.setattr(inflating, "READ_SIZE", max(len(packed) - 2 - split, 1))
            for size in SIZES:
                actual, issue = read_up_to_fault(opened(bytes(packed) + behind), size)
                assert actual == plain
                assert issue == f"x.zz: damaged: {OTHER_SUM}, behind {len(plain)} plain bytes"


OTHER_SUM = "zlib's checksum at its end is another than that of the bytes"


@pytest.mark.parametrize("read_size", [1, 7, 1 << 16])
def test_of_data_that_are_cut_off_all_is_read_that_can_be(read_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflating, "READ_SIZE", read_size)
    plain = plain_data(1)
    packed = zlib.compress(plain, 9)
    for cut in range(2, len(packed)):
        expected = zlib.decompressobj().decompress(packed[:cut])  # by zlib, all at once
        for size in SIZES:
            actual, issue = read_up_to_fault(opened(packed[:cut]), size)
            assert actual == expected
            assert issue == f"x.zz: cut off, it ends after {len(expected)} plain bytes"


@pytest.mark.parametrize("read_size", [1, 50, 1 << 16])
def test_what_stands_before_defect_is_read_to_last_byte(read_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflating, "READ_SIZE", read_size)
    draw = random.Random(2)
    whole = bytes(draw.randrange(64) for _ in range(3000))
    for _ in range(20):
        packed = bytearray(zlib.compress(whole))
        packed[draw.randrange(100, len(packed) - 4)] ^= 0xFF
        expected, decoder = b"", zlib.decompressobj()
        try:
            for byte in packed:
                expected += decoder.decompress(bytes((byte,)))
        except zlib.error:
            pass
        for size in SIZES:
            actual, issue = read_up_to_fault(opened(bytes(packed)), size)
            assert actual == expected and "damaged: " in issue


def test_data_are_sought_in_with_few_points_and_little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflating, "FIRST_SPACING", 1 << 12)
    monkeypatch.setattr(inflating, "MOST_POINTS", 8)
    monkeypatch.setattr(inflating, "READ_SIZE", 1 << 10)
    draw = random.Random(4)
    plain = bytes(draw.randrange(16) for _ in range(300_000))
    deflated = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    file = io.BytesIO(b"head" + deflated.compress(plain) + deflated.flush() + b"tail")
    data = SeekableDeflate(file, 4)
    assert (
        b"".join(iter(lambda: data.read(5000), b"")) == plain and data.is_at_end and data.trailing_bytes(4) == b"tail"
    )
    for _ in range(30):
        index, before = draw.randrange(len(plain)), data.inflated
        assert data.seek(index) == index
        assert data.inflated - before <= len(plain) // 4
        assert data.read(10) == plain[index : index + 10]
    assert data.seek(len(plain) + 5) == len(plain)


def test_defect_is_reported_again_after_going_back() -> None:
    packed = bytearray(zlib.compress(bytes(range(256)) * 40, 0))
    packed[2] = 0xFF  # no kind of block
    data = SeekableDeflate(io.BytesIO(bytes(packed)), 2)
    for _ in range(2):
        with pytest.raises(InflateError):
            data.read(10)
        assert data.seek(0) == 0
