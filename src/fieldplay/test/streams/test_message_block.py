"""Bytes reach their places, whatever mixture of sources they come from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldplay.core.errors import BagError
from fieldplay.streams.message_block import (
    MergedBlock,
    MessageBlock,
    merge_messages,
    messages_of_channel,
)


def copy_with_gaps(block: MessageBlock, gap: int = 3) -> list[bytes]:
    """The block as they stand in a buffer with gaps, which must stay untouched."""
    ends = np.cumsum(block.size + gap)
    starts = ends - block.size
    target = np.full(int(ends[-1]) + gap if len(ends) else gap, 0xEE, np.uint8)
    block.copy_to(target, starts)
    messages = [target[start:end].tobytes() for start, end in zip(starts, ends, strict=True)]
    for start, end in zip(starts, ends, strict=True):
        target[start:end] = 0xEE
    assert (target == 0xEE).all()
    return messages


@pytest.mark.parametrize("width", [0, 1, 31, 324])
def test_rows_are_copied_to_offsets(width: int) -> None:
    rows = np.random.default_rng(0).integers(0, 255, (50, width), np.uint8)
    assert copy_with_gaps(MessageBlock.of_rows(rows)) == [row.tobytes() for row in rows]


def test_non_contiguous_rows_are_copied_to_offsets() -> None:
    rows = np.arange(600).astype(np.uint8).reshape(10, 60)
    for view in (rows[::2], rows[:, 3:50], rows[:, ::2], rows[::-1, ::-1], rows.T):
        assert copy_with_gaps(MessageBlock.of_rows(view)) == [row.tobytes() for row in view]


def test_chunks_of_any_type_are_joined() -> None:
    table = np.array([(1, 2.5)], np.dtype([("a", "<i2"), ("b", ">f4")]))
    pixels = np.arange(12, dtype=np.uint16).reshape(3, 4)
    messages = [b"abc", (b"head", bytearray(b"er"), pixels.T, table), (), (memoryview(b"xyz")[::1], b""), pixels[:0]]
    expected = [b"abc", b"header" + pixels.T.tobytes() + table.tobytes(), b"", b"xyz", b""]
    assert copy_with_gaps(MessageBlock.of_messages(messages)) == expected
    assert MessageBlock.of_messages(messages).size.tolist() == [len(message) for message in expected]


batches = st.lists(
    st.one_of(
        st.lists(st.binary(max_size=20), max_size=12),
        st.integers(0, 9).flatmap(lambda size: st.lists(st.binary(min_size=size, max_size=size), min_size=1)),
    ).flatmap(
        lambda messages: st.tuples(
            st.just(messages),
            st.lists(st.integers(0, 10), min_size=len(messages), max_size=len(messages)).map(sorted),
        )
    ),
    max_size=5,
)


def payloads_of(messages: list[bytes]) -> MessageBlock:
    if len({len(message) for message in messages}) == 1:
        return MessageBlock.of_rows(np.frombuffer(b"".join(messages), np.uint8).reshape(len(messages), -1))
    return MessageBlock.of_messages(messages)


@given(batches, st.data())
def test_merged_batches_are_ordered_by_time_then_batch(
    sources: list[tuple[list[bytes], list[int]]], data: st.DataObject
) -> None:
    whole = merge_messages(
        [
            messages_of_channel(number, np.array(stamps, np.int64), payloads_of(messages))
            for number, (messages, stamps) in enumerate(sources)
        ]
    )
    expected = sorted(
        (
            (stamp, number, index, message)
            for number, (messages, stamps) in enumerate(sources)
            for index, (message, stamp) in enumerate(zip(messages, stamps, strict=True))
        ),
        key=lambda entry: entry[:3],
    )
    start = data.draw(st.integers(0, len(expected)))
    stop = data.draw(st.integers(start, len(expected)))
    for part, requested in ((whole, expected), (whole.part(start, stop), expected[start:stop])):
        assert part.stamp_ns.tolist() == [entry[0] for entry in requested]
        assert part.channel.tolist() == [entry[1] for entry in requested]
        assert copy_with_gaps(part.block) == [entry[3] for entry in requested]


@pytest.mark.parametrize(
    ("stamps", "complaint"),
    [([2, 1], "order of their times"), ([-1, 1], "before 1970"), ([1], "equally many"), ([[1, 2]], "equally many")],
)
def test_unwritable_batches_are_refused(stamps: list[int], complaint: str) -> None:
    with pytest.raises(BagError, match=complaint):
        MergedBlock(channel=np.ones(2, int), stamp_ns=np.array(stamps), block=MessageBlock.of_messages([b"a", b"b"]))


def test_non_integer_times_and_channels_are_refused() -> None:
    one, rows = np.ones(1, np.int64), MessageBlock.of_rows(np.zeros((1, 4), np.uint8))
    for channel, stamp_ns in ((one, one / 2), (one * 1.0, one), (one, one.astype(np.uint64))):
        with pytest.raises(BagError, match="stamps are int64, channels integers"):
            MergedBlock(channel=channel, stamp_ns=stamp_ns, block=rows)


def test_rows_of_wrong_shape_or_type_are_refused() -> None:
    for rows in (np.zeros(4, np.uint8), np.zeros((4, 4), np.float32)):
        with pytest.raises(BagError, match="uint8 of shape"):
            MessageBlock.of_rows(rows)
