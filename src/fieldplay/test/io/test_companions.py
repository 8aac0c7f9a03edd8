"""Files that belong to an archive, in it or next to it."""

import zipfile
from pathlib import Path

from fieldplay.core.errors import Defect
from fieldplay.io.containers import FilesBelow, open_files, read_companion


def companion(root: Path, *paths: Path, folder: str = "") -> tuple[tuple[str, bytes] | None, list[Defect]]:
    defects: list[Defect] = []
    with open_files(root, defects.append) as files:
        return read_companion(files, r"calib\.txt", paths, defects.append, folder=folder), defects


def test_file_in_archive_comes_before_those_beside_it(tmp_path: Path) -> None:
    root, beside = tmp_path / "archive", tmp_path / "calib.txt"
    (root / "deep").mkdir(parents=True)
    beside.write_text("beside")
    assert companion(root, tmp_path / "absent.txt", beside) == (("calib.txt", b"beside"), [])
    (root / "deep" / "calib.txt").write_text("inside")
    assert companion(root, beside) == (("deep/calib.txt", b"inside"), [])
    assert companion(root, beside, folder="other") == (("calib.txt", b"beside"), [])
    assert companion(root) == (("deep/calib.txt", b"inside"), [])


def test_file_may_be_in_zip_beside_archive(tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    with zipfile.ZipFile(tmp_path / "day.zip", "w") as packed:
        packed.writestr("2011/calib.txt", "packed")
    (tmp_path / "broken.zip").write_bytes(b"PK no zip")
    found, defects = companion(tmp_path / "archive", tmp_path / "broken.zip", tmp_path / "day.zip")
    assert (found, defects) == (("2011/calib.txt", b"packed"), [])


def test_damaged_file_is_reported_and_next_is_taken(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("calib.txt", "in the archive " * 40)
        offset = len("calib.txt") + 30
    data = bytearray((tmp_path / "a.zip").read_bytes())
    data[offset : offset + 10] = bytes(10)
    (tmp_path / "a.zip").write_bytes(data)
    (tmp_path / "calib.txt").write_text("beside")
    found, (defect,) = companion(tmp_path / "a.zip", tmp_path / "calib.txt")
    assert found == ("calib.txt", b"beside")
    assert (defect.file, defect.kind) == ("calib.txt", "damaged_file")


def test_files_below_folder_keep_their_names(tmp_path: Path) -> None:
    for name in ("a/x.txt", "ab/x.txt", "a/b/y.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    with open_files(tmp_path, lambda defect: None) as files:
        below = FilesBelow(files, "a")
        assert below.names == ["a/b/y.txt", "a/x.txt"]
        assert below.read("a/b/y.txt") == b"a/b/y.txt"
        assert below.size("a/x.txt") == 7
        with below.open("a/x.txt") as file:
            assert file.read() == b"a/x.txt"
        assert FilesBelow(files, "").names == files.names
