"""A bag that goes on in a next file, by size or by time, as rosbags and our own reader see it."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from rosbags.rosbag2 import Reader

from fieldplay.bags.bag_reader import Ros2Bag
from fieldplay.bags.storage import channel_of_type
from fieldplay.bags.writer import BagWriter, Split, StorageName
from fieldplay.streams.message_block import MessageBlock, messages_of_channel

SIZE, COUNT = 100, 60
SECOND_NS = 10**9


def write_split_bag(path: Path, split: Split, *, storage: StorageName = "mcap", at_once: int = COUNT) -> Path:
    """A message of 100 bytes each second, from two topics: the second one comes later."""
    with BagWriter(path, storage=storage, split=split) as bag:
        numbers = [bag.add_channel(channel_of_type("/early", "sensor_msgs/msg/Imu"))]
        for start in range(0, COUNT, at_once):
            if start >= COUNT // 2:
                numbers = numbers if len(numbers) > 1 else [*numbers, bag.add_channel(late())]
            rows = np.arange(start, min(start + at_once, COUNT))
            stamps = (1000 + rows.astype(np.int64)) * SECOND_NS
            block = MessageBlock.of_rows(np.tile(rows.astype(np.uint8)[:, None], (1, SIZE)))
            bag.write(messages_of_channel(numbers[-1], stamps, block))
        assert bag.counts.sum() == COUNT
    return path


def late():
    return channel_of_type("/late", "sensor_msgs/msg/Imu")


def bag_information(path: Path) -> dict:
    return yaml.safe_load((path / "metadata.yaml").read_text())["rosbag2_bagfile_information"]


def counts(path: Path) -> list[int]:
    return [entry["message_count"] for entry in bag_information(path)["files"]]


@pytest.mark.parametrize("at_once", [COUNT, 7, 1])
@pytest.mark.parametrize(
    ("split", "expected"),
    [
        (Split(), [60]),
        (Split(size=1000), [10] * 6),
        (Split(size=1001), [11] * 5 + [5]),
        (Split(size=1), [1] * 60),
        (Split(duration_ns=20 * SECOND_NS), [21, 21, 18]),  # more than 20 s later is too late
        (Split(size=1500, duration_ns=20 * SECOND_NS), [15] * 4),
        (Split(size=10**9, duration_ns=3600 * SECOND_NS), [60]),
    ],
)
def test_file_is_split_at_its_limit(tmp_path: Path, split: Split, expected: list[int], at_once: int) -> None:
    assert counts(write_split_bag(tmp_path / "bag", split, at_once=at_once)) == expected


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_split_files_are_read_as_one_bag(tmp_path: Path, storage: StorageName) -> None:
    bag = write_split_bag(tmp_path / "trip", Split(size=1600), storage=storage, at_once=10)
    ending = "mcap" if storage == "mcap" else "db3"
    names = [f"trip_{number}.{ending}" for number in range(4)]
    information = bag_information(bag)
    assert information["relative_file_paths"] == [entry["path"] for entry in information["files"]] == names
    assert sorted(path.name for path in bag.iterdir()) == sorted(["metadata.yaml", *names])
    assert [entry["starting_time"]["nanoseconds_since_epoch"] for entry in information["files"]] == [
        (1000 + first) * SECOND_NS for first in (0, 16, 32, 48)
    ]
    assert (information["message_count"], information["duration"]["nanoseconds"]) == (COUNT, 59 * SECOND_NS)
    with Reader(bag) as reader:
        read = [(connection.topic, stamp, bytes(data)) for connection, stamp, data in reader.messages()]
    assert [data for _, _, data in read] == [bytes([row]) * SIZE for row in range(COUNT)]
    assert [topic for topic, _, _ in read] == ["/early"] * 30 + ["/late"] * 30
    issues: list[object] = []
    own = Ros2Bag(bag, issues.append)
    assert {name: len(each.offsets.stamp_ns) for name, each in own.indexed.items()} == {"/early": 30, "/late": 30}
    own.close()
    assert issues == []


def test_failed_split_bag_leaves_no_files(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), BagWriter(tmp_path / "bag", split=Split(size=1)) as bag:
        number = bag.add_channel(late())
        bag.write(messages_of_channel(number, np.arange(3), MessageBlock.of_rows(np.ones((3, SIZE), np.uint8))))
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
