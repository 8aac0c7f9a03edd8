"""Deflated data are read and sought in as the plain data, and up to their fault or cut to the last byte."""

import io
import random
import zlib

import pytest

from fieldplay_archive.files import inflation as inflating
from fieldplay_archive.files.inflation import InflateError, Inflating
from fieldplay_archive.logs.log_files import InflatedFile
from fieldplay_messages.errors import ArchiveError

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
    found = b""
    try:
        while data := file.read(size):
            found += data
    except ArchiveError as error:
        return found, str(error)
    return found, ""


@pytest.mark.parametrize("split", range(6))
@pytest.mark.parametrize("level", [0, 1, 9])
def test_no_byte_is_lost_to_a_wrong_checksum_wherever_two_reads_part(
    split: int, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(12):
        plain = plain_data(seed)
        packed = bytearray(zlib.compress(plain, level))
        packed[-1] ^= 0x55
        for behind in (b"", b"anything"):
            monkeypatch.setattr(inflating, "READ_SIZE", max(len(packed) - 2 - split, 1))
            for size in SIZES:
                found, fault = read_up_to_fault(opened(bytes(packed) + behind), size)
                assert found == plain
                assert fault == f"x.zz: damaged: {OTHER_SUM}, behind {len(plain)} plain bytes"


OTHER_SUM = "zlib's checksum at its end is another than that of the bytes"


@pytest.mark.parametrize("read_size", [1, 7, 1 << 16])
def test_of_data_that_are_cut_off_all_is_read_that_can_be(read_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflating, "READ_SIZE", read_size)
    plain = plain_data(1)
    packed = zlib.compress(plain, 9)
    for cut in range(2, len(packed)):
        expected = zlib.decompressobj().decompress(packed[:cut])  # by zlib, all at once
        for size in SIZES:
            found, fault = read_up_to_fault(opened(packed[:cut]), size)
            assert found == expected
            assert fault == f"x.zz: cut off, it ends after {len(expected)} plain bytes"


@pytest.mark.parametrize("read_size", [1, 50, 1 << 16])
def test_what_stands_before_a_fault_is_read_to_the_last_byte(read_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
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
            found, fault = read_up_to_fault(opened(bytes(packed)), size)
            assert found == expected and "damaged: " in fault


def test_data_are_sought_in_with_few_points_and_little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflating, "FIRST_SPACING", 1 << 12)
    monkeypatch.setattr(inflating, "MOST_POINTS", 8)
    monkeypatch.setattr(inflating, "READ_SIZE", 1 << 10)
    draw = random.Random(4)
    plain = bytes(draw.randrange(16) for _ in range(300_000))
    deflated = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    file = io.BytesIO(b"head" + deflated.compress(plain) + deflated.flush() + b"tail")
    data = Inflating(file, 4)
    assert b"".join(iter(lambda: data.read(5000), b"")) == plain and data.is_at_end and data.behind(4) == b"tail"
    for _ in range(30):
        place, before = draw.randrange(len(plain)), data.inflated
        assert data.seek(place) == place
        assert data.inflated - before <= len(plain) // 4
        assert data.read(10) == plain[place : place + 10]
    assert data.seek(len(plain) + 5) == len(plain)


def test_a_fault_is_told_again_after_going_back() -> None:
    packed = bytearray(zlib.compress(bytes(range(256)) * 40, 0))
    packed[2] = 0xFF  # no kind of block
    data = Inflating(io.BytesIO(bytes(packed)), 2)
    for _ in range(2):
        with pytest.raises(InflateError):
            data.read(10)
        assert data.seek(0) == 0
