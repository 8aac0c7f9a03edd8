"""The MCAP file itself, read with the format's own library: chunks, indexes, checksums, summary."""

import io
import zlib
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap.records import Channel as ChannelRecord
from mcap.records import Chunk, Footer, Message, MessageIndex, Metadata, Schema
from mcap.stream_reader import StreamReader, breakup_chunk

from fieldplay.bags import mcap_reader
from fieldplay.bags.mcap_writer import LARGE
from fieldplay.bags.metadata import qos_text
from fieldplay.bags.storage import Qos, channel_of_type
from fieldplay.bags.writer import BagWriter
from fieldplay.streams.message_block import MergedBlock, MessageBlock

PREFIX = 31


def file_of(folder: Path, sizes: list[int], **options: object) -> Path:
    """A bag with messages of these sizes, in turn on /a and /b, one each 10 ns."""
    rng = np.random.default_rng(1)
    channel = np.arange(len(sizes)) % 2 + 1
    block = MessageBlock.of_messages([rng.integers(0, 4, size, np.uint8) for size in sizes])
    with BagWriter(folder / "bag", **options) as bag:
        bag.add_channel(channel_of_type("/a", "sensor_msgs/msg/Imu"))
        bag.add_channel(channel_of_type("/b", "sensor_msgs/msg/Imu", Qos(depth=200)))
        bag.write(MergedBlock(channel=channel, stamp_ns=np.arange(len(sizes)) * 10, block=block))
    return folder / "bag" / "bag_0.mcap"


def records_of(path: Path, **options: bool) -> list[object]:
    return list(StreamReader(io.BytesIO(path.read_bytes()), validate_crcs=True, **options).records)


def chunks_of(path: Path) -> list[Chunk]:
    return [record for record in records_of(path, emit_chunks=True) if isinstance(record, Chunk)]


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_chunks_hold_what_fits_and_larger_messages_get_own_chunks(tmp_path: Path, compression: str) -> None:
    sizes = [100, 300, 5000, 50, 1000 - PREFIX, 1000, 400, 400, 200, 20_000, 30_000]
    chunks = chunks_of(file_of(tmp_path, sizes, chunk_size=1000, compression=compression))
    assert [chunk.uncompressed_size for chunk in chunks] == [
        462, 5031, 81, 1000, 1031, 862, 231, 20_031, 30_031,
    ]  # fmt: skip
    assert [chunk.compression for chunk in chunks if chunk.uncompressed_size > 400] == [
        "" if compression == "none" else compression
    ] * 7


def test_incompressible_chunks_are_stored_uncompressed(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, 10_000, np.uint8, endpoint=True)
    with BagWriter(tmp_path / "bag", compression="zstd") as bag:
        bag.add_channel(channel_of_type("/a", "sensor_msgs/msg/Imu"))
        bag.write(
            MergedBlock(channel=np.ones(1, int), stamp_ns=np.zeros(1, int), block=MessageBlock.of_messages([noise]))
        )
    (chunk,) = chunks_of(tmp_path / "bag" / "bag_0.mcap")
    assert chunk.compression == ""
    assert breakup_chunk(chunk)[0].data == noise.tobytes()


def test_chunks_have_checksums_except_uncompressed_ones_with_images(tmp_path: Path) -> None:
    (plain,) = chunks_of(file_of(tmp_path / "plain", [100, 200]))
    assert plain.uncompressed_crc == zlib.crc32(plain.data)
    (images,) = chunks_of(file_of(tmp_path / "pictures", [100, LARGE]))
    assert images.uncompressed_crc == 0
    (compressed,) = chunks_of(file_of(tmp_path / "compressed", [100, LARGE], compression="zstd"))
    assert compressed.uncompressed_crc != 0


def test_chunks_that_unpack_to_far_more_in_total_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file_of(tmp_path, [100_000] * 20, chunk_size=200_000, compression="zstd")
    monkeypatch.setattr(mcap_reader, "FILES_GAIN", 2)
    monkeypatch.setattr(mcap_reader, "LARGEST_GAIN", 2)
    reader = mcap_reader.McapReader(path, 500_000)
    count = len(list(reader.messages()))
    reader.close()
    assert 0 < count < 20 and "--set unpack_limit_mb=1 allows it" in reader.issues[0]


def test_message_indexes_lead_to_their_messages(tmp_path: Path) -> None:
    path = file_of(tmp_path, [300, 200, 100] * 20, chunk_size=2500)
    data = path.read_bytes()
    summary = make_reader(io.BytesIO(data)).get_summary()
    assert summary is not None and len(summary.chunk_indexes) > 5
    stamps: dict[int, list[int]] = {1: [], 2: []}
    for chunk in summary.chunk_indexes:
        records = data[chunk.chunk_start_offset + 9 + 8 + 8 + 8 + 4 + 4 + 8 :][: chunk.uncompressed_size]
        end = chunk.chunk_start_offset + chunk.chunk_length + chunk.message_index_length
        assert chunk.chunk_start_offset + chunk.chunk_length in chunk.message_index_offsets.values()
        for number, offset in chunk.message_index_offsets.items():
            assert offset < end
            stream = StreamReader(io.BytesIO(data[offset:]), skip_magic=True)
            index = next(iter(stream.records))
            assert isinstance(index, MessageIndex) and index.channel_id == number
            for stamp, start in index.records:
                message = next(iter(StreamReader(io.BytesIO(records[start:]), skip_magic=True).records))
                assert isinstance(message, Message)
                assert (message.channel_id, message.log_time, message.publish_time) == (number, stamp, stamp)
                stamps[number].append(stamp)
    assert stamps == {1: list(range(0, 600, 20)), 2: list(range(10, 600, 20))}


def test_sequence_numbers_count_each_channel_across_batches_and_chunks(tmp_path: Path) -> None:
    with BagWriter(tmp_path / "bag", chunk_size=100) as bag:
        first = bag.add_channel(channel_of_type("/a", "sensor_msgs/msg/Imu"))
        for start, channels in ((0, [1, 1, 1]), (10, [2, 1, 2, 2, 1])):
            if start:
                assert bag.add_channel(channel_of_type("/b", "std_msgs/msg/String")) == first + 1
            block = MessageBlock.of_messages([b"12345678"] * len(channels))
            bag.write(MergedBlock(channel=np.array(channels), stamp_ns=start + np.arange(len(channels)), block=block))
    messages = [r for r in records_of(tmp_path / "bag" / "bag_0.mcap") if isinstance(r, Message)]
    assert [(message.channel_id, message.sequence) for message in messages] == [
        (1, 0), (1, 1), (1, 2), (2, 0), (1, 3), (2, 1), (2, 2), (1, 4),
    ]  # fmt: skip


def test_summary_is_complete_with_valid_checksum(tmp_path: Path) -> None:
    path = file_of(tmp_path, [100] * 30, chunk_size=1000)
    data = path.read_bytes()
    footer = records_of(path)[-1]
    assert isinstance(footer, Footer)
    assert zlib.crc32(data[footer.summary_start : -8 - 4]) == footer.summary_crc
    reader = make_reader(io.BytesIO(data))
    header, summary = reader.get_header(), reader.get_summary()
    assert (header.profile, header.library) == ("ros2", "fieldplay")
    assert summary is not None and summary.statistics is not None
    statistics = summary.statistics
    assert statistics.channel_message_counts == {1: 15, 2: 15}
    assert (statistics.message_count, statistics.channel_count, statistics.schema_count) == (30, 2, 1)
    assert (statistics.message_start_time, statistics.message_end_time) == (0, 290)
    assert statistics.chunk_count == len(summary.chunk_indexes) == len(chunks_of(path))
    assert [channel.topic for channel in summary.channels.values()] == ["/a", "/b"]
    assert [index.name for index in summary.metadata_indexes] == ["rosbag2"]


def test_summary_offsets_point_at_groups_of_records(tmp_path: Path) -> None:
    data = file_of(tmp_path, [100] * 30, chunk_size=1000).read_bytes()
    footer_size = 9 + 20 + 8
    footer = data[-footer_size:]
    position = int.from_bytes(footer[17:25], "little")
    end_of_last_group = int.from_bytes(footer[9:17], "little")
    groups = []
    while position < len(data) - footer_size:
        assert data[position] == 0x0E
        op = data[position + 9]
        start, length = (int.from_bytes(data[position + at : position + at + 8], "little") for at in (10, 18))
        assert start == end_of_last_group and data[start] == op
        end_of_last_group = start + length
        groups.append(op)
        position += 9 + 17
    assert groups == [0x03, 0x04, 0x0B, 0x0D, 0x08]
    assert end_of_last_group == int.from_bytes(footer[17:25], "little")


def test_channels_have_type_hash_and_qos_and_precede_messages(tmp_path: Path) -> None:
    records = records_of(file_of(tmp_path, [10, 10]))
    kinds = [type(record) for record in records]
    assert kinds.index(Schema) < kinds.index(ChannelRecord) < kinds.index(Message)
    schema = records[kinds.index(Schema)]
    expected = channel_of_type("/b", "sensor_msgs/msg/Imu", Qos(depth=200))
    assert (schema.name, schema.encoding, schema.data.decode()) == (expected.msgtype, "ros2msg", expected.msgdef)
    channel = next(record for record in records if isinstance(record, ChannelRecord) and record.topic == "/b")
    assert channel.message_encoding == "cdr"
    assert channel.metadata == {
        "offered_qos_profiles": qos_text(expected.qos),
        "topic_type_hash": expected.type_hash,
    }


def test_file_contains_rosbag2_metadata(tmp_path: Path) -> None:
    path = file_of(tmp_path, [10, 10, 10])
    (metadata,) = (record for record in records_of(path) if isinstance(record, Metadata))
    inside = metadata.metadata["serialized_metadata"].splitlines()
    outside = (path.parent / "metadata.yaml").read_text().splitlines()
    assert (metadata.name, outside[0]) == ("rosbag2", "rosbag2_bagfile_information:")
    assert inside == [line[2:] for line in outside[1:]]
