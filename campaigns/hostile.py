"""What is meant ill: each is refused or survived in bounded memory and time, and told in words.

./ws exec python -m campaigns.hostile [CASE ...]
"""

import argparse
import bz2
import os
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "test"))  # small archives, which tests have too

from campaigns.frame import say
from fieldplay.bags import mcap_records as records
from fieldplay.bags.compression import LZ4
from fieldplay.bags.storage import channel_of_type
from fieldplay.bags.writer import BagWriter
from fieldplay.core.errors import STEERING
from fieldplay.streams.message_block import MessageBlock, messages_of_channel
from fieldplay_testing.tiny_sherpatt import write_archive

zstd: Any = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
MOST_KB, MOST_S, KILLED_S = 500_000, 10.0, 120.0
START = 1_656_931_512
CHUNK_OF_ZEROS = 1 << 27  # bytes
GB, ZEROS = 1 << 30, bytes(1 << 24)
RETURNED = (0, 1, 2)
OWN_SIGNS = {"\n", "\t"}
Case = Callable[[Path], list[str]]


class Ending(NamedTuple):
    """How a command ended: code, seconds of its own (none of the system, as for reading), memory, what it wrote."""

    code: int
    seconds: float
    most_kb: int
    text: str

    def fault(self) -> str:
        """What is not as it must be; nothing where all is."""
        signs = set(STEERING.findall(self.text)) - OWN_SIGNS
        issues = {
            f"ended with {self.code}": self.code not in RETURNED,
            "a traceback": "Traceback" in self.text,
            f"took {self.seconds:.1f} s": self.seconds > MOST_S,
            f"took {self.most_kb // 1000} MB": self.most_kb > MOST_KB,
            f"signs that steer terminals: {sorted(signs)}": bool(signs),
            "nothing said": not self.text.strip(),
        }
        return ", ".join(message for message, is_wrong in issues.items() if is_wrong)


def ending_of(arguments: list[str]) -> Ending:
    """Run the command line with these arguments."""
    arguments_read = [
        sys.executable,
        "-c",
        "import sys; from fieldplay.cli.main import main; sys.exit(main())",
        *arguments,
    ]
    with tempfile.TemporaryFile() as out:
        started = subprocess.Popen(arguments_read, stdout=out, stderr=subprocess.STDOUT)
        until = time.monotonic() + KILLED_S
        most_kb = 0
        while not (ended := os.wait4(started.pid, os.WNOHANG))[0]:
            most_kb = max(most_kb, _peak_kb(started.pid))
            if time.monotonic() > until:
                started.kill()
            time.sleep(0.02)
        _, status, used = ended
        started.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode("utf-8", "backslashreplace")
    return Ending(started.returncode, used.ru_utime, most_kb, text)


def _peak_kb(pid: int) -> int:
    """The most memory that a process has had by now: what wait4 tells of begins with that of its parent."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def _rows() -> str:
    return "".join(f"{START + row}.5,{','.join(['0.1'] * 12)}\n" for row in range(5))


def _table(folder: Path) -> Path:
    """An archive that is as it should be, to which something is added."""
    root = folder / "archive"
    root.mkdir()
    (root / "GnssImu.csv").write_text(_rows())
    return root


def zip_of_10_gb(folder: Path) -> list[str]:
    """A megabyte that is ten members of a gigabyte, all at one place."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = b"".join([packer.compress(bytes(1 << 20)) for _ in range(1 << 10)] + [packer.flush()])
    names = ["GnssImu.csv", *(f"MainCam_{START}.{index}.jpg" for index in range(9))]
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 8, 0, 0, 0, len(data), GB, len(names[0]), 0)
    local += names[0].encode() + data
    directory = b"".join(
        struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 8, 0, 0, 0, len(data), GB, len(name), 0, 0, 0, 0, 0, 0)
        + name.encode()
        for name in names
    )
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, len(names), len(names), len(directory), len(local), 0)
    (folder / "a.zip").write_bytes(local + directory + end)
    return ["check", str(folder / "a.zip")]


def zip_of_a_million_files(folder: Path) -> list[str]:
    """A million names and one table."""
    names = [f"d/{index:07d}.txt".encode() for index in range(1_000_000)]
    with zipfile.ZipFile(folder / "a.zip", "w") as file:
        file.writestr("GnssImu.csv", _rows())
    whole = (folder / "a.zip").read_bytes()
    position = whole.rindex(b"PK\1\2")
    end = whole.rindex(b"PK\5\6")
    empty = struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 0, 0, 0, 0, 0, 0, len(names[0]), 0, 0, 0, 0, 0, 0)
    directory = whole[position:end] + b"".join(empty + name for name in names)
    tail = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, len(directory), position, 0)
    (folder / "a.zip").write_bytes(whole[:position] + directory + tail)
    return ["info", str(folder / "a.zip")]


def packed_log_of_10_gb(folder: Path) -> list[str]:
    """A log of ten megabytes that zlib makes ten gigabytes of."""
    packer = zlib.compressobj(9)
    head = packer.compress(b"\x81\xa6/a.bcd\xdd\xff\xff\xff\xff") + packer.flush(zlib.Z_FULL_FLUSH)
    part = packer.compress((b"\xda\xff\xff" + bytes(0xFFFF)) * 256) + packer.flush(zlib.Z_FULL_FLUSH)
    (folder / "a_Logger_InFuse.msg.zz").write_bytes(head + part * (10 * GB >> 24))
    return ["cdff", "info", str(folder / "a_Logger_InFuse.msg.zz")]


def line_of_4_gb(folder: Path) -> list[str]:
    """A table whose second line is a hole of four gigabytes."""
    root = _table(folder)
    with (root / "GnssImu.csv").open("ab") as file:
        file.truncate(4 * GB)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + _rows().encode())
    return ["check", str(root)]


def time_of_a_megabyte(folder: Path) -> list[str]:
    """Fields of hundreds of kilobytes where times and numbers should be."""
    root = _table(folder)
    many = _rows() * 2000
    rows = [f"{'9' * 200_000},{','.join(['1'] * 12)}\n", f"{START},{'9' * 200_000},{','.join(['1'] * 11)}\n"]
    (root / "GnssImu.csv").write_text(many + "".join(rows) + many)
    return ["check", str(root)]


def nested_log(folder: Path) -> list[str]:
    """Maps in maps, 100,000 deep."""
    (folder / "a_Logger_InFuse.msg").write_bytes(b"\x81\xa4/a.b\x91" + b"\x81\xa1a" * 100_000 + b"\1")
    return ["cdff", "info", str(folder / "a_Logger_InFuse.msg")]


def nested_metadata(folder: Path) -> list[str]:
    """A bag whose metadata are 100,000 lists in each other."""
    bag = folder / "bag"
    bag.mkdir()
    (bag / "metadata.yaml").write_text("rosbag2_bagfile_information: " + "[" * 100_000)
    (bag / "a.mcap").write_bytes(b"\x89MCAP0\r\n" * 2)
    return ["check", str(bag)]


def aliases(folder: Path) -> list[str]:
    """A description whose aliases are ten thousand million values."""
    lines = ["name: x", "doc: y", "a0: &a0 [x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 11)]
    (folder / "a.yaml").write_text("\n".join(lines))
    return ["cdff", "diagram", str(folder / "a.yaml"), str(folder / "a.svg")]


def image_of_100000_squared(folder: Path) -> list[str]:
    """A PNG of a few bytes that claims ten thousand million pixels."""
    root = _table(folder)
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(bytes(9)))]
    data = b"\x89PNG\r\n\x1a\n"
    for kind, content in (*chunks, (b"IEND", b"")):
        data += struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    for row in range(5):
        (root / f"MainCam_{START}.{row}.jpg").write_bytes(data)
    return ["convert", str(root), str(folder / "out"), "--images", "raw"]


def cloud_of_10_12_points(folder: Path) -> list[str]:
    """A PCD that claims a million million points."""
    root = _table(folder)
    head = (
        f"VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH {10**12}\nHEIGHT 1\nPOINTS {10**12}\n"
    )
    for kind in ("ascii", "binary", "binary_compressed"):
        position = root / f"LidarPointcloud_{START}.{len(kind)}.pcd"
        position.write_text(f"{head}DATA {kind}\n" + "1 2 3\n" * 9)
    return ["check", str(root)]


def names_that_steer(folder: Path) -> list[str]:
    """Names with signs that steer terminals, markup and line feeds, and a damaged file behind each."""
    root = _table(folder)
    for name in (
        "\x1b[2J\x1b]0;x\x07",
        "<script>alert(1)</script>".replace("/", "\u2215"),
        "a\nb\rc",
        "\u202egnp\x9b31m",
    ):
        (root / f"MainCam_{name}{START}.jpg").write_bytes(b"no picture")
        (root / name).mkdir()
        (root / name / "GnssPose.csv").write_text(f"1,2\n{name}\n")
    return ["check", str(root)]


def zip_that_leaves(folder: Path) -> list[str]:
    """Members that lie above the archive, or have signs that steer terminals."""
    with zipfile.ZipFile(folder / "a.zip", "w") as file:
        for name in (
            "GnssImu.csv",
            "../../GnssPose.csv",
            "/etc/x.csv",
            "C:\\x.csv",
            "\x1b[31m/GnssPose.csv",
            "a\n../b",
        ):
            file.writestr(name, _rows())
    return ["check", str(folder / "a.zip")]


def report_of_names(folder: Path) -> list[str]:
    """The same names in a report."""
    return ["report", names_that_steer(folder)[1], str(folder / "report.html")]


def _bag_of_a_chunk(folder: Path, compression: str, packed: bytes, size: int) -> list[str]:
    """An MCAP file of one chunk, which claims what it unpacks to."""
    chunk = records.chunk_head((1, 2), size=size, crc=0, compression=compression, stored=len(packed)) + packed
    parts = [records.MAGIC, records.header("ros2", ""), chunk, records.data_end()]
    (folder / "a.mcap").write_bytes(b"".join(parts))
    return ["check", str(folder / "a.mcap")]


def _of_zeros(packer: Any, size: int) -> bytes:
    """So many zeros as a packer has them."""
    return b"".join([packer.compress(ZEROS) for _ in range(size // len(ZEROS))] + [packer.flush()])


def chunk_of_4_gb_by_zstd(folder: Path) -> list[str]:
    """An MCAP chunk of zeros."""
    return _bag_of_a_chunk(folder, "zstd", _of_zeros(zstd.ZstdCompressor(), 4 * GB), 4 * GB)


def chunk_of_4_gb_by_lz4(folder: Path) -> list[str]:
    """The same by lz4, which makes more of it."""
    packer = LZ4.LZ4FrameCompressor()
    return _bag_of_a_chunk(folder, "lz4", packer.begin() + _of_zeros(packer, 4 * GB), 4 * GB)


def chunks_of_zeros(folder: Path) -> list[str]:
    """A thousand MCAP chunks of zeros, each of which could be nine million records."""
    packed = zstd.compress(bytes(CHUNK_OF_ZEROS))
    chunk = records.chunk_head((1, 2), size=CHUNK_OF_ZEROS, crc=0, compression="zstd", stored=len(packed)) + packed
    parts = [records.MAGIC, records.header("ros2", ""), *[chunk] * 1000, records.data_end()]
    (folder / "a.mcap").write_bytes(b"".join(parts))
    return ["check", str(folder / "a.mcap")]


def _bag_of_ros1(folder: Path, compression: str, packed: bytes, size: int) -> list[str]:
    """A bag of ROS 1 without an index at its end, so that its chunk must be looked into."""

    def record(fields: Mapping[bytes, bytes], data: bytes) -> bytes:
        pairs = [name + b"=" + value for name, value in fields.items()]
        head = b"".join(struct.pack("<I", len(pair)) + pair for pair in pairs)
        return struct.pack("<I", len(head)) + head + struct.pack("<I", len(data)) + data

    number = struct.pack("<I", 1)
    first = {b"op": b"\3", b"index_pos": bytes(8), b"conn_count": number, b"chunk_count": number}
    chunk = {b"op": b"\5", b"compression": compression.encode(), b"size": struct.pack("<I", size % (1 << 32))}
    index = {b"op": b"\4", b"ver": number, b"conn": bytes(4), b"count": number}
    data = [record(first, bytes(4096)), record(chunk, packed), record(index, bytes(12))]
    (folder / "a.bag").write_bytes(b"#ROSBAG V2.0\n" + b"".join(data))
    return ["check", str(folder / "a.bag")]


def ros1_chunk_of_a_gb_by_bz2(folder: Path) -> list[str]:
    """A kilobyte that is a gigabyte."""
    return _bag_of_ros1(folder, "bz2", _of_zeros(bz2.BZ2Compressor(), GB), GB)


def ros1_chunk_of_4_gb_by_lz4(folder: Path) -> list[str]:
    """The same by lz4."""
    packer = LZ4.LZ4FrameCompressor()
    return _bag_of_ros1(folder, "lz4", packer.begin() + _of_zeros(packer, 4 * GB), 4 * GB)


def database_of_20_gb(folder: Path) -> list[str]:
    """A bag's database that is packed as a whole, and would fill the disk."""
    bag = folder / "bag"
    bag.mkdir()
    (bag / "a.db3.zstd").write_bytes(zstd.compress(b"SQLite format 3\0" + bytes(1 << 26)) * (20 * GB >> 26))
    return ["check", str(bag)]


def messages_of_4_gb(folder: Path) -> list[str]:
    """Messages of a bag that are packed one by one."""
    bag, text = folder / "bag", "std_msgs/msg/String"
    packed = np.frombuffer(_of_zeros(zstd.ZstdCompressor(), 4 * GB), np.uint8)
    with BagWriter(bag) as writer:
        number = writer.add_channel(channel_of_type("/a", text))
        writer.write(messages_of_channel(number, np.arange(9), MessageBlock.of_messages([packed] * 9)))
    message = bag / "metadata.yaml"
    message.write_text(message.read_text().replace('compression_mode: ""', "compression_mode: MESSAGE"))
    return ["check", str(bag)]


def geotiff_of_a_billion_tiles(folder: Path) -> list[str]:
    """A heightmap of 2^19 x 2^19 pixels in tiles of 16 x 16, whose places are a hole of the file."""
    side, tiles = 1 << 19, 1 << 30
    position = {324: 4096, 325: 4096, 33550: 512, 33922: 544}
    entries = [(256, 4, 1, side), (257, 4, 1, side), (258, 3, 1, 32), (259, 3, 1, 1), (262, 3, 1, 1), (277, 3, 1, 1),
               (322, 3, 1, 16), (323, 3, 1, 16), (324, 4, tiles, 0), (325, 4, tiles, 0), (339, 3, 1, 3),
               (33550, 12, 3, 0), (33922, 12, 6, 0)]  # fmt: skip
    data = b"II" + struct.pack("<HHHQQ", 43, 8, 0, 16, len(entries))
    for code, kind, count, value in entries:
        data += struct.pack("<HHQQ", code, kind, count, position.get(code, value))
    data = data.ljust(512, b"\0") + struct.pack("<4d", 0.5, 0.5, 0, 0) + struct.pack("<6d", 0, 0, 0, 400, 900, 0)
    write_archive(folder / "archive")
    with (folder / "archive" / "surface.tif").open("wb") as file:
        file.write(data)
        file.truncate(4096 + 4 * tiles)
    return ["check", str(folder / "archive")]


CASES: Mapping[str, Case] = {
    case.__name__: case
    for case in (
        zip_of_10_gb, zip_of_a_million_files, packed_log_of_10_gb, line_of_4_gb, time_of_a_megabyte, nested_log,
        nested_metadata, aliases, image_of_100000_squared, cloud_of_10_12_points, names_that_steer, zip_that_leaves,
        report_of_names, chunk_of_4_gb_by_zstd, chunk_of_4_gb_by_lz4, chunks_of_zeros, ros1_chunk_of_a_gb_by_bz2,
        ros1_chunk_of_4_gb_by_lz4, database_of_20_gb, messages_of_4_gb, geotiff_of_a_billion_tiles,
    )
}  # fmt: skip


def judged(case: Case) -> tuple[Ending, str]:
    """What became of a case, and what is wrong with that."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        ending = ending_of(case(Path(folder)))
        pages = [path.read_text("utf-8") for path in Path(folder).glob("*.html")]
    issue = ending.fault()
    return ending, issue or "markup out of a name" * any("<script>alert" in page for page in pages)


def main() -> int:
    """The exit code: 1 where a case is not survived as it must be."""
    parser = argparse.ArgumentParser(prog="campaigns.hostile", description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES), metavar="CASE", help=", ".join(CASES))
    issues = 0
    for name in parser.parse_args().cases:
        actual, issue = judged(CASES[name])
        lines = actual.text.strip().splitlines()
        shown = lines[-1][:160] if lines else ""
        used = f"{actual.seconds:.1f} s, {actual.most_kb // 1000} MB"
        say(f"{name}: {issue or 'survived'}; {used}, {actual.code}: {shown!r}")
        issues += bool(issue)
    return int(issues > 0)


if __name__ == "__main__":
    sys.exit(main())
