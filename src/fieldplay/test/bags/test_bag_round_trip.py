"""Whatever is written comes back with the same bytes, topic and time, in the same order, by readers of others."""

import sqlite3
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.reader import NonSeekingReader, make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.highlevel import AnyReader
from rosbags.interfaces import ConnectionExtRosbag2, QosDurability, QosHistory, QosReliability
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore

from fieldplay.bags.storage import Qos, channel_of_type
from fieldplay.bags.writer import BagWriter
from fieldplay.streams.message_block import MergedBlock, MessageBlock, merge_messages, messages_of_channel

KINDS = [("mcap", "none"), ("mcap", "zstd"), ("sqlite3", "none")]
TYPES = ["sensor_msgs/msg/Imu", "sensor_msgs/msg/Image", "sensor_msgs/msg/Imu", "tf2_msgs/msg/TFMessage"]
Batch = Sequence[tuple[int, int, bytes]]  # channel, stamp, payload


def write_bag(folder: Path, batches: Sequence[Batch], **options: object) -> Path:
    with BagWriter(folder / "bag", **options) as bag:
        for number, msgtype in enumerate(TYPES, start=1):
            assert bag.add_channel(channel_of_type(f"/topic_{number}", msgtype)) == number
        for batch in batches:
            bag.write(
                MergedBlock(
                    channel=np.array([channel for channel, _, _ in batch], np.int64),
                    stamp_ns=np.array([stamp for _, stamp, _ in batch], np.int64),
                    block=MessageBlock.of_messages([payload for _, _, payload in batch]),
                )
            )
        counts = np.bincount([channel for batch in batches for channel, _, _ in batch], minlength=len(TYPES) + 1)
        assert bag.counts.tolist() == counts[1:].tolist()
    return folder / "bag"


def read_by_rosbags(bag: Path) -> list[tuple[int, int, bytes]]:
    with Reader(bag) as reader:
        messages = [(int(c.topic[-1]), stamp, bytes(data)) for c, stamp, data in reader.messages()]
        assert reader.message_count == len(messages)
        assert {c.topic: c.msgcount for c in reader.connections} == {
            f"/topic_{n}": sum(number == n for number, _, _ in messages) for n in range(1, len(TYPES) + 1)
        }
        if messages:
            assert (reader.start_time, reader.end_time) == (messages[0][1], messages[-1][1] + 1)
        return messages


def read_by_mcap(bag: Path) -> list[tuple[int, int, bytes]]:
    with (bag / "bag_0.mcap").open("rb") as file:
        seeking = [(c.id, m.log_time, m.data) for _, c, m in make_reader(file, validate_crcs=True).iter_messages()]
        file.seek(0)
        reader = NonSeekingReader(file, validate_crcs=True)
        streamed = [(c.id, m.log_time, m.data) for _, c, m in reader.iter_messages(log_time_order=False)]
    assert seeking == streamed
    return streamed


def read_by_sqlite(bag: Path) -> list[tuple[int, int, bytes]]:
    database = sqlite3.connect(bag / "bag_0.db3")
    try:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return database.execute("SELECT topic_id, timestamp, data FROM messages ORDER BY id").fetchall()
    finally:
        database.close()


messages = st.tuples(st.integers(1, len(TYPES)), st.integers(0, 2**62) | st.integers(5, 9), st.binary(max_size=60))
ordered = st.lists(messages, max_size=60).map(lambda batch: sorted(batch, key=lambda message: message[1]))


@pytest.mark.parametrize(("storage", "compression"), KINDS)
@settings(max_examples=40, deadline=None)
@given(ordered, st.lists(st.integers(0, 60), max_size=4), st.sampled_from([1, 40, 100, 1000, 1 << 20]))
def test_random_batches_round_trip(
    storage: str, compression: str, whole: Batch, cuts: list[int], chunk_size: int
) -> None:
    bounds = [0, *sorted(cuts), len(whole)]
    batches = [whole[start:stop] for start, stop in pairwise(bounds)]
    with tempfile.TemporaryDirectory() as folder:
        bag = write_bag(Path(folder), batches, storage=storage, compression=compression, chunk_size=chunk_size)
        assert read_by_rosbags(bag) == whole
        assert (read_by_mcap if storage == "mcap" else read_by_sqlite)(bag) == whole


@pytest.mark.parametrize(("storage", "compression"), KINDS)
def test_many_messages_of_several_sources_round_trip(tmp_path: Path, storage: str, compression: str) -> None:
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 9, (20_000, 324), np.uint8)
    images = [rng.integers(0, 255, size, np.uint8) for size in rng.integers(0, 300_000, 30)]
    stamps = np.sort(rng.integers(0, 10**6, len(rows)))
    image_stamps = np.sort(rng.integers(0, 10**6, len(images)))
    with BagWriter(tmp_path / "bag", storage=storage, compression=compression) as bag:
        imu = bag.add_channel(channel_of_type("/imu", "sensor_msgs/msg/Imu"))
        image = bag.add_channel(channel_of_type("/image", "sensor_msgs/msg/Image"))
        sources = [
            messages_of_channel(imu, stamps, MessageBlock.of_rows(rows)),
            messages_of_channel(
                image, image_stamps, MessageBlock.of_messages([(b"head", pixels) for pixels in images])
            ),
        ]
        bag.write(merge_messages(sources))
    back: dict[str, list[tuple[int, bytes]]] = {"/imu": [], "/image": []}
    with Reader(tmp_path / "bag") as reader:
        for connection, stamp, data in reader.messages():
            back[connection.topic].append((stamp, bytes(data)))
    assert back["/imu"] == [(stamp, row.tobytes()) for stamp, row in zip(stamps, rows, strict=True)]
    assert back["/image"] == [
        (stamp, b"head" + pixels.tobytes()) for stamp, pixels in zip(image_stamps, images, strict=True)
    ]


@pytest.mark.parametrize(("storage", "compression"), KINDS)
def test_messages_of_same_time_keep_their_order(tmp_path: Path, storage: str, compression: str) -> None:
    whole = [(number % 4 + 1, 7, bytes([number])) for number in range(200)]
    bag = write_bag(tmp_path, [whole[:90], whole[90:]], storage=storage, compression=compression, chunk_size=500)
    assert read_by_rosbags(bag) == whole


@pytest.mark.parametrize(("storage", "compression"), KINDS)
def test_empty_bag_is_valid(tmp_path: Path, storage: str, compression: str) -> None:
    with BagWriter(tmp_path / "bag", storage=storage, compression=compression):
        pass
    with Reader(tmp_path / "bag") as reader:
        assert (reader.message_count, reader.duration, reader.connections) == (0, 0, [])
        assert list(reader.messages()) == []
    assert read_by_rosbags(write_bag(tmp_path / "topics only", [], storage=storage, compression=compression)) == []


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_qos_round_trips(tmp_path: Path, storage: str) -> None:
    with BagWriter(tmp_path / "bag", storage=storage) as bag:
        latched = Qos(durability="transient_local", depth=1)
        bag.add_channel(channel_of_type("/tf_static", "tf2_msgs/msg/TFMessage", latched))
        bag.add_channel(channel_of_type("/scan", "sensor_msgs/msg/LaserScan", Qos(reliability="best_effort", depth=5)))
    for path in (tmp_path / "bag", next((tmp_path / "bag").glob("bag_0.*"))):
        with Reader(path) as reader:
            profiles = []
            for connection in reader.connections:
                assert isinstance(connection.ext, ConnectionExtRosbag2)
                (qos,) = connection.ext.offered_qos_profiles
                profiles.append((qos.reliability, qos.durability, qos.history, qos.depth))
        assert profiles == [
            (QosReliability.RELIABLE, QosDurability.TRANSIENT_LOCAL, QosHistory.KEEP_LAST, 1),
            (QosReliability.BEST_EFFORT, QosDurability.VOLATILE, QosHistory.KEEP_LAST, 5),
        ]


@pytest.mark.parametrize(("storage", "compression"), KINDS)
def test_definitions_are_readable_by_other_readers(tmp_path: Path, storage: str, compression: str) -> None:
    store = get_typestore(Stores.ROS2_JAZZY)
    point, vector = store.types["geometry_msgs/msg/PointStamped"], store.types["geometry_msgs/msg/Point"]
    header, time = store.types["std_msgs/msg/Header"], store.types["builtin_interfaces/msg/Time"]
    message = point(header(time(3, 4), "map"), vector(1.5, -2.0, 0.25))
    data = store.serialize_cdr(message, "geometry_msgs/msg/PointStamped")
    with BagWriter(tmp_path / "bag", storage=storage, compression=compression) as bag:
        number = bag.add_channel(channel_of_type("/point", "geometry_msgs/msg/PointStamped"))
        bag.write(messages_of_channel(number, np.array([3_000_000_004]), MessageBlock.of_messages([data])))
    with AnyReader([tmp_path / "bag"]) as reader:
        ((connection, stamp, raw),) = reader.messages()
        back = reader.deserialize(raw, connection.msgtype)
        assert (stamp, back.header.frame_id, back.point.y) == (3_000_000_004, "map", -2.0)
    if storage == "mcap":
        with (tmp_path / "bag" / "bag_0.mcap").open("rb") as file:
            ((_, _, _, decoded),) = make_reader(file, decoder_factories=[DecoderFactory()]).iter_decoded_messages()
        assert (decoded.header.stamp.nanosec, decoded.point.z) == (4, 0.25)


def test_database_has_the_tables_of_jazzy(tmp_path: Path) -> None:
    bag = write_bag(tmp_path, [[(1, 5, b"a")]], storage="sqlite3")
    database = sqlite3.connect(bag / "bag_0.db3")
    columns = {
        table: [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        for (table,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    }
    indexes = database.execute("SELECT name, tbl_name FROM sqlite_schema WHERE type = 'index'").fetchall()
    schema = database.execute("SELECT * FROM schema").fetchall()
    definitions = database.execute("SELECT topic_type, encoding FROM message_definitions ORDER BY id").fetchall()
    ((version, metadata),) = database.execute("SELECT metadata_version, metadata FROM metadata").fetchall()
    database.close()
    assert columns == {
        "schema": ["schema_version", "ros_distro"],
        "metadata": ["id", "metadata_version", "metadata"],
        "topics": ["id", "name", "type", "serialization_format", "offered_qos_profiles", "type_description_hash"],
        "message_definitions": [
            "id", "topic_type", "encoding", "encoded_message_definition", "type_description_hash",
        ],
        "messages": ["id", "topic_id", "timestamp", "data"],
    }  # fmt: skip
    assert indexes == [("timestamp_idx", "messages")]
    assert schema == [(4, "jazzy")]
    assert definitions == [(msgtype, "ros2msg") for msgtype in dict.fromkeys(TYPES)]
    assert version == 9
    assert metadata.splitlines() == [line[2:] for line in (bag / "metadata.yaml").read_text().splitlines()[1:]]
