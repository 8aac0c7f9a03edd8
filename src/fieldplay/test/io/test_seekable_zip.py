"""The directory of a zip beside what `zipfile` makes of it: names, contents, refusals."""

import io
import random
import tracemalloc
import warnings
import zipfile
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldplay.core.errors import ArchiveError
from fieldplay.io import seekable_zip
from fieldplay.io.containers import ZIP_ERRORS, open_files
from fieldplay.io.seekable_zip import END, ZipDirectory

METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
Member = tuple[str, bytes, int, bytes]  # name, content, method, comment
MEMBERS = st.lists(
    st.tuples(
        st.text("aé/\\._1", min_size=1, max_size=6),
        st.binary(max_size=40),
        st.sampled_from(METHODS),
        st.binary(max_size=9),
    ),
    max_size=6,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.zip"


DIRECTORY_END = b"PK\x05\x06"  # in a comment zipfile takes it for that of the archive, and refuses it


@given(
    members=MEMBERS,
    before=st.binary(max_size=30),
    comment=st.binary(max_size=30).filter(lambda c: DIRECTORY_END not in c),
)
def test_members_equal_those_of_zipfile(
    tmp_path_factory: pytest.TempPathFactory,
    members: list[tuple[str, bytes, int, bytes]],
    before: bytes,
    comment: bytes,
) -> None:
    path = tmp_path_factory.mktemp("zips") / "some.zip"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that come twice
        write(path, members, before, comment)
    with zipfile.ZipFile(path) as expected, closing(ZipDirectory(path)) as directory:
        plain = {member.filename: member for member in expected.infolist() if not member.is_dir()}
        assert {*directory.table.names, *directory.unsafe} == plain.keys()
        for name, member in plain.items():
            assert directory.read(name) == expected.read(member)
            got = directory.member(name)
            assert (got.header_offset, got.file_size, got.CRC) == (member.header_offset, member.file_size, member.CRC)


def write(path: Path, members: list[Member], before: bytes, comment: bytes) -> None:
    with path.open("wb") as file:
        file.write(before)
        with zipfile.ZipFile(file, "a") as archive:
            for name, data, method, note in members:
                info = zipfile.ZipInfo(name)
                info.comment, info.compress_type = note, method
                with archive.open(info, "w", force_zip64=len(data) % 2 == 1) as member:
                    member.write(data)
            archive.comment = comment


def test_zip64_lengths_and_offsets_are_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 10)
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("a", "b"):
            archive.writestr(name, name.encode() * 100)
    monkeypatch.undo()
    assert path.read_bytes().count(b"PK\x06\x06") == 1  # the end of long zips
    with closing(ZipDirectory(path)) as directory:
        assert {name: directory.read(name) for name in directory.table.names} == {"a": b"a" * 100, "b": b"b" * 100}
        assert directory.member("b").header_offset > directory.member("a").header_offset == 0


def test_last_of_two_members_with_same_name_counts(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("a", b"first")
        archive.writestr("a", b"last")
    with closing(ZipDirectory(path)) as directory:
        assert directory.read("a") == b"last"
        assert directory.repeated == {"a": 2}


@given(offset=st.integers(0), value=st.integers(0, 255), cut=st.booleans())
def test_damage_raises_only_zip_errors(
    tmp_path_factory: pytest.TempPathFactory, offset: int, value: int, cut: bool
) -> None:
    plain = io.BytesIO()
    with zipfile.ZipFile(plain, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", b"1,2,3\n" * 20)
        archive.writestr("b.jpg", bytes(range(256)))
    data = bytearray(plain.getvalue())
    offset %= len(data)
    if cut:
        del data[offset:]
    else:
        data[offset] = value
    path = tmp_path_factory.mktemp("zips") / "damaged.zip"
    path.write_bytes(data)
    with suppress(*ZIP_ERRORS), closing(ZipDirectory(path)) as directory:
        for name in directory.table.names:
            with suppress(*ZIP_ERRORS):
                directory.read(name)


def test_directory_before_file_start_is_refused(path: Path) -> None:
    path.write_bytes(END.pack(b"PK\x05\x06", 0, 0, 1, 1, 500, 0, 0))
    with pytest.raises(zipfile.BadZipFile, match="Bad offset"):
        ZipDirectory(path)


def small(path: Path) -> bytearray:
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("a", "b"):
            archive.writestr(name, name.encode() * 100)
    return bytearray(path.read_bytes())


def test_members_after_missing_bytes_are_read(path: Path) -> None:
    data = small(path)
    path.write_bytes(data[:50] + data[51:])
    with open_files(path, lambda defect: None) as files:
        assert (files.names, files.read("b")) == (["a", "b"], b"b" * 100)
        for ask in (files.read, files.open, files.size):
            with pytest.raises(ArchiveError, match="expected the member at byte -1, which the file has not"):
                ask("a")


@pytest.mark.parametrize(
    ("offset", "value", "message"),
    [(6, 128, "zip file version 12.8"), (30, 9, "cannot be read"), (42, 0xFFFFFF, "which the file has not")],
    ids=["a version that is not known", "an extra field that is none", "a offset behind the end"],
)
def test_member_with_damaged_record_is_reported_on_every_access(
    path: Path, offset: int, value: int, message: str
) -> None:
    data = small(path)
    record = data.index(b"PK\x01\x02")
    data[record + offset : record + offset + 3] = value.to_bytes(3, "little")
    path.write_bytes(data)
    with suppress(ArchiveError), open_files(path, lambda defect: None) as files:
        for ask in (files.read, files.open, files.size):
            with pytest.raises(ArchiveError, match=message):
                ask("a")


def test_member_that_claims_gigabytes_allocates_no_memory(path: Path) -> None:
    data = small(path)
    record = data.index(b"PK\x01\x02")
    data[record + 20 : record + 24] = (1 << 31).to_bytes(4, "little")
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with open_files(path, lambda defect: None) as files, suppress(ArchiveError):
            files.read("a")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_member_that_unpacks_to_far_more_than_its_size_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (seekable_zip, seekable_zip):
        monkeypatch.setattr(module, "MUCH", 1 << 20)
    plain = random.Random(1).randbytes(1 << 18) + bytes(1 << 21)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("bomb", bytes(1 << 22))
        file.writestr("whole", plain)
    with open_files(path, lambda defect: None) as files:
        assert files.read("whole") == plain
        with files.open("whole") as file:
            assert file.read() == plain
        with pytest.raises(ArchiveError, match="more than 500 times"):
            files.read("bomb")
        with files.open("bomb") as file:
            start = file.read(1 << 16)
            with pytest.raises(ArchiveError, match="more than 500 times"):
                file.read()
    assert start == bytes(1 << 16)
