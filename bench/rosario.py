"""Rosario: logs beside the usual script, and the authors' bag beside rosbags-convert, as ratios of one run.

Usage: ./ws exec python bench/rosario.py [--seconds 600] [--bag-seconds 10]
"""

import argparse
import shutil
import subprocess
from pathlib import Path

import numpy as np
from convert import best, scratch
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from fieldplay.convert.conversion import BagOptions, convert
from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.selection import Selection
from fieldplay_samples.write_sample import SampleOptions, write_sample

START_S = 1514557578
IMU_HZ, FIX_HZ = 140, 5
GGA = "GPGGA,142618.00,3301.7999859,S,06052.7963072,W,4,12,0.9,51.908,M,18.000,M,0.8,0000"


def write_logs(root: Path, seconds: int) -> int:
    """imu.log and gps.log of so many seconds; the number of their lines."""
    (root / "zed").mkdir(parents=True)
    rows = np.random.default_rng(1).normal(0, 1, (seconds * IMU_HZ, 6))
    times_us = np.arange(len(rows)) * 1_000_000 // IMU_HZ
    imu = [
        f"{START_S + time // 1_000_000}.{time % 1_000_000:06d} IMU: {index} "
        + " ".join(f"{value:.5f}" for value in row)
        for index, (time, row) in enumerate(zip(times_us.tolist(), rows.tolist(), strict=True))
    ]
    checksum = 0
    for letter in GGA.encode():
        checksum ^= letter
    fixes = [
        f"{START_S + index // FIX_HZ}.{index % FIX_HZ * 200_000:06d} GPS: ${GGA}*{checksum:02X}"
        for index in range(seconds * FIX_HZ)
    ]
    (root / "imu.log").write_text("\n".join(imu) + "\n")
    (root / "gps.log").write_text("\n".join(fixes) + "\n")
    return len(imu) + len(fixes)


def usual_script(root: Path, target: Path) -> None:
    """What one writes first: split(), a message object per line, rosbags' writer. It checks nothing."""
    shutil.rmtree(target, ignore_errors=True)
    store = get_typestore(Stores.ROS2_JAZZY)
    types = store.types
    header, vector, quaternion = (
        types[name] for name in ("std_msgs/msg/Header", "geometry_msgs/msg/Vector3", "geometry_msgs/msg/Quaternion")
    )

    def stamped(text: str, frame: str) -> tuple[int, object]:
        seconds, _, fraction = text.partition(".")
        stamp = int(seconds) * 10**9 + int(fraction.ljust(9, "0"))
        time = types["builtin_interfaces/msg/Time"](sec=stamp // 10**9, nanosec=stamp % 10**9)
        return stamp, header(stamp=time, frame_id=frame)

    none, unknown = np.zeros(9), np.array([-1.0, *[0.0] * 8])
    with Writer(target, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        imu = writer.add_connection("/imu", "sensor_msgs/msg/Imu", typestore=store)
        fix = writer.add_connection("/fix", "sensor_msgs/msg/NavSatFix", typestore=store)
        for line in (root / "imu.log").open():
            arguments = line.split()
            stamp, head = stamped(arguments[0], "imu")
            g, a = (
                [np.radians(float(word)) for word in arguments[3:6]],
                [float(word) * 9.80665e-3 for word in arguments[6:]],
            )
            message = types["sensor_msgs/msg/Imu"](
                head, quaternion(0, 0, 0, 1), unknown, vector(*g), none, vector(*a), none
            )
            writer.write(imu, stamp, store.serialize_cdr(message, "sensor_msgs/msg/Imu"))
        for line in (root / "gps.log").open():
            stamp, head = stamped(line.split()[0], "gps")
            fields = line.split(",")
            position = [-(float(text) // 100 + float(text) % 100 / 60) for text in (fields[2], fields[4])]
            status = types["sensor_msgs/msg/NavSatStatus"](status=2, service=1)
            message = types["sensor_msgs/msg/NavSatFix"](
                head, status, *position, float(fields[9]) + float(fields[11]), none, 0
            )
            writer.write(fix, stamp, store.serialize_cdr(message, "sensor_msgs/msg/NavSatFix"))


def ours(root: Path, target: Path) -> None:
    with open_dataset(root, "rosario") as archive:
        convert(archive, target, Selection(), BagOptions(overwrite=True))


def rosbags_convert(bag: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    command = [
        "rosbags-convert",
        "--src",
        bag,
        "--dst",
        target,
        "--dst-storage",
        "mcap",
        "--src-typestore",
        "ros1_noetic",
    ]
    subprocess.run([*map(str, command), "--dst-typestore", "ros2_jazzy"], check=True, stdout=subprocess.DEVNULL)


def compare_logs(seconds: int) -> None:
    with scratch() as folder:
        count = write_logs(folder / "sequence04", seconds)
        theirs = best(lambda: usual_script(folder / "sequence04", folder / "theirs"))
        mine = best(lambda: ours(folder / "sequence04", folder / "ours"))
        message = f"usual script {theirs:.2f} s, convert {mine:.2f} s: {theirs / mine:.1f}x"
        print(f"logs: {count} lines of {seconds} s: {message}")


def compare_bags(seconds: int) -> None:
    with scratch() as folder:
        for compression in ("none", "bz2"):
            root = folder / compression
            settings = {"bag": True, "bag_compression": compression, "image_shrink": 8, "image_rate_hz": 5.0}
            write_sample("rosario", root, SampleOptions(seconds=seconds, settings=settings))
            (bag,) = root.glob("*.bag")
            theirs = best(lambda bag=bag: rosbags_convert(bag, folder / "theirs"))
            mine = best(lambda bag=bag: ours(bag, folder / "ours"))
            size = f"{bag.stat().st_size / 1e6:.0f} MB"
            message = f"rosbags-convert {theirs:.2f} s, convert {mine:.2f} s: {theirs / mine:.1f}x"
            print(f"bag of ROS 1, {compression}, {size}: {message}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--bag-seconds", type=int, default=10)
    chosen = parser.parse_args()
    compare_logs(chosen.seconds)
    compare_bags(chosen.bag_seconds)


if __name__ == "__main__":
    main()
