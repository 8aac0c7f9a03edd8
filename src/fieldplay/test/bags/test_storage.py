"""Chunks that are kept while their messages are read: within a limit, whatever their number and size."""

from fieldplay.bags import storage
from fieldplay.bags.storage import BufferPool, UnpackedBlocks


def test_small_buffers_have_their_own_size_and_large_ones_are_used_again() -> None:
    pool = BufferPool()
    small = [pool.take(300) for _ in range(1000)]
    assert {len(buffer) for buffer in small} == {300}, "thousands of chunks of a few bytes take no megabyte each"
    large = pool.take(3_000_000)
    assert len(large) >= 3_000_000
    address = id(large)
    del large
    assert id(pool.take(2_500_000)) == address


def test_blocks_are_kept_up_to_a_limit_of_bytes_the_last_used_ones() -> None:
    unpacked: list[int] = []

    def unpack(block: int) -> bytes:
        unpacked.append(block)
        return bytes(1_000_000)

    blocks = UnpackedBlocks(unpack)
    count = storage.CACHE_BYTES // 1_000_000
    for block in range(count):
        assert len(blocks[block]) == 1_000_000
    assert blocks[0] and len(unpacked) == count, "all of them are there"
    assert blocks[count] and blocks[0], "the one that was used last stays"
    assert unpacked == list(range(count + 1))
    assert blocks[1] and unpacked[-1] == 1, "the one that was not used for longest is unpacked again"
