"""How fast and how small `convert` is, beside what one would do otherwise: ratios measured side by side in one run.

Usage: ./ws exec python bench/convert.py [--seconds 120] [--only numbers|pictures|memory]
"""

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from archive import write_clouds, write_images, write_tables
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from fieldplay.bags.writer import BagWriter
from fieldplay.convert.conversion import BagOptions, convert
from fieldplay.datasets.registry import open_dataset
from fieldplay.streams.topic_batches import batches
from fieldplay.topics.archive_topics import archive_topic_streams, channel_of_feed, window_of
from fieldplay.topics.selection import Selection

TOPICS = "imu/data_raw|platform/joint_states"
ROUNDS = 5


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="fieldplay-bench-", dir=os.environ.get("TMPDIR", "/var/tmp")) as name:
        yield Path(name)


def best(work: Callable[[], object]) -> float:
    """The shortest of a few runs, in seconds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


class UsualScript:
    """The script that one writes first: csv, a message object per row, rosbags' writer."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = get_typestore(Stores.ROS2_JAZZY)
        self.types = self.store.types

    def parse(self) -> dict[str, list[tuple[int, list[float]]]]:
        results = {}
        for name in ("GnssImu", "PlatformMotorEncoders"):
            with (self.root / f"{name}.csv").open() as file:
                results[name] = [(self._stamp(row[0]), [float(text) for text in row[1:]]) for row in csv.reader(file)]
        return results

    @staticmethod
    def _stamp(text: str) -> int:
        seconds, _, fraction = text.partition(".")
        return int(seconds) * 10**9 + int(fraction.ljust(9, "0")[:9])

    def encode(self, rows: dict[str, list[tuple[int, list[float]]]]) -> list[tuple[str, int, bytes]]:
        imu = [("imu", stamp, self._imu(stamp, values)) for stamp, values in rows["GnssImu"]]
        imu += [("joints", stamp, self._joints(stamp, values)) for stamp, values in rows["PlatformMotorEncoders"]]
        imu.sort(key=lambda item: item[1])
        return imu

    def _header(self, stamp: int, frame: str) -> object:
        time_ = self.types["builtin_interfaces/msg/Time"](sec=stamp // 10**9, nanosec=stamp % 10**9)
        return self.types["std_msgs/msg/Header"](stamp=time_, frame_id=frame)

    def _imu(self, stamp: int, v: list[float]) -> bytes:
        vector, none = self.types["geometry_msgs/msg/Vector3"], np.zeros(9)
        message = self.types["sensor_msgs/msg/Imu"](
            header=self._header(stamp, "imu_link"),
            orientation=self.types["geometry_msgs/msg/Quaternion"](x=0, y=0, z=0, w=1),
            orientation_covariance=none,
            angular_velocity=vector(x=np.radians(v[3]), y=-np.radians(v[4]), z=-np.radians(v[5])),
            angular_velocity_covariance=none,
            linear_acceleration=vector(x=v[0], y=-v[1], z=-v[2]),
            linear_acceleration_covariance=none,
        )
        return bytes(self.store.serialize_cdr(message, "sensor_msgs/msg/Imu"))

    def _joints(self, stamp: int, v: list[float]) -> bytes:
        names = [f"{kind}_{wheel}" for kind in ("drive", "steer") for wheel in (1, 2, 3, 4)]
        message = self.types["sensor_msgs/msg/JointState"](
            header=self._header(stamp, ""),
            name=names,
            position=np.array(v[8:]),
            velocity=np.zeros(0),
            effort=np.zeros(0),
        )
        return bytes(self.store.serialize_cdr(message, "sensor_msgs/msg/JointState"))

    def write(self, result: list[tuple[str, int, bytes]], target: Path) -> None:
        with Writer(target, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
            types = {"imu": "sensor_msgs/msg/Imu", "joints": "sensor_msgs/msg/JointState"}
            made_of = {
                name: writer.add_connection(f"/{name}", kind, typestore=self.store) for name, kind in types.items()
            }
            for name, stamp, data in result:
                writer.write(made_of[name], stamp, data)


def compare_numbers(seconds: int) -> None:
    """Parsing, encoding and writing of two tables, each beside the usual script."""
    with scratch() as folder:
        root = folder / "archive"
        write_tables(root, seconds, ("GnssImu", "PlatformMotorEncoders"))
        script = UsualScript(root)
        rows = script.parse()
        messages = script.encode(rows)

        def fresh(work: Callable[[Path], object]) -> Callable[[], object]:
            def run() -> object:
                shutil.rmtree(folder / "bag", ignore_errors=True)
                return work(folder / "bag")

            return run

        usual = [
            best(script.parse),
            best(lambda: script.encode(rows)),
            best(fresh(lambda bag: script.write(messages, bag))),
        ]
        ours = [*_our_parts(root, folder)]
        print(f"numbers: {len(messages)} messages of two tables, {seconds} s of data")
        print(f"  {'':10}{'usual script':>16}{'fieldplay':>14}{'times faster':>15}")
        for name, theirs, mine in zip(("parse", "encode", "write"), usual, ours, strict=True):
            show(name, theirs, mine, len(messages))
        total = best(fresh(lambda bag: _convert(root, bag, TOPICS)))
        show("all", sum(usual), total, len(messages))
        print("  (fieldplay's parse also checks each row; its bag is synced to disk)")


def show(name: str, theirs: float, ours: float, count: int) -> None:
    print(f"  {name:10}{theirs / count * 1e6:13.2f} us{ours / count * 1e6:11.2f} us{theirs / ours:14.1f}x")


def _our_parts(root: Path, folder: Path) -> Iterator[float]:
    """Seconds for parsing, encoding and writing the same messages."""
    with open_dataset(root) as archive:
        selection = Selection(topics=TOPICS)
        feeds = [feed for feed in archive_topic_streams(archive, selection) if feed.stream]
        window = window_of(archive, selection)
        streams = [archive.streams[feed.stream] for feed in feeds]
        load = best(lambda: [stream.load(i) for stream in streams for i in range(len(stream.spans))])
        both = best(lambda: list(batches(feeds, range(len(feeds)), window)))
        values = list(batches(feeds, [1 + index for index in range(len(feeds))], window))

        def write() -> None:
            shutil.rmtree(folder / "bag", ignore_errors=True)
            with BagWriter(folder / "bag") as writer:
                for feed in feeds:
                    writer.add_channel(channel_of_feed(feed))
                for batch in values:
                    writer.write(batch)

        yield from (load + best(lambda: open_dataset(root).close()), max(both - load, 1e-9), best(write))


def _convert(root: Path, bag: Path, topics: str) -> None:
    with open_dataset(root) as archive:
        convert(archive, bag, Selection(topics=topics), BagOptions())


def compare_images(seconds: int) -> None:
    """Pictures passed on as they are, beside a copy of the files."""
    with scratch() as folder:
        root = folder / "archive"
        write_images(root, "MainCam", (1080, 1920), seconds / 4)
        size = sum(path.stat().st_size for path in root.iterdir())

        def copy() -> None:
            shutil.rmtree(folder / "copy", ignore_errors=True)
            subprocess.run(["cp", "-r", root, folder / "copy"], check=True)
            subprocess.run(["sync", "-f", folder], check=True)

        def ours() -> None:
            shutil.rmtree(folder / "bag", ignore_errors=True)
            _convert(root, folder / "bag", "image")

        theirs, mine = best(copy), best(ours)
        print(f"pictures: {len(list(root.iterdir()))} files, {size / 1e6:.0f} MB")
        speeds = f"cp -r and sync {size / theirs / 1e6:.0f} MB/s, convert {size / mine / 1e6:.0f} MB/s"
        print(f"  {speeds}: {theirs / mine:.2f}")


def compare_memory(seconds: int) -> None:
    """Peak memory of a convert of archives of growing length, each in a process of its own."""
    print("memory: peak of `fieldplay convert`")
    first = 0.0
    for factor in (1, 4, 16):
        with scratch() as folder:
            root = folder / "archive"
            write_tables(root, seconds * factor // 4)
            write_images(root, "AuxCam", (720, 1280), seconds * factor / 60, rate=30)
            write_clouds(root, seconds * factor / 60)
            command = [shutil.which("fieldplay") or "fieldplay", "convert", str(root), str(folder / "bag")]
            code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True);"
            code += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
            result = subprocess.run([sys.executable, "-c", code, *command], check=True, capture_output=True, text=True)
            peak = int(result.stdout) / 1024
            first = first or peak
            size = sum(path.stat().st_size for path in root.iterdir()) / 1e6
            print(
                f"  {factor:3} x: {size:7.0f} MB of archive, {peak:5.0f} MB of memory, {peak / first:.2f} of the first"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=240, help="length of the archives")
    parser.add_argument("--only", choices=("numbers", "pictures", "memory"))
    chosen = parser.parse_args()
    for name, compare in (("numbers", compare_numbers), ("pictures", compare_images), ("memory", compare_memory)):
        if chosen.only in (None, name):
            compare(chosen.seconds)


if __name__ == "__main__":
    main()
